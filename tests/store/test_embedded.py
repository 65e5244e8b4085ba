"""The embedded store under bad conditions. It is adopted and stopped whatever its disk contains, and no
server is left behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from gossamer.config.data_files import make_folder, make_private, open_file
from gossamer.errors import ConfigError, DiskFull, InUse, StoreDamaged, StoreError
from gossamer.store import embedded
from gossamer.store.blocking_call import call_socket
from gossamer.store.embedded import MAX_RESTARTS, Embedded
from support import fork_server


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    return tmp_path / "data"


def servers(data: Path) -> list[int]:
    """Returns the processes that work in the store's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str((data / "store").resolve()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def refuse_writes(url: str, data: Path) -> None:
    """Make the store answer MISCONF, as with a full disk, by blocking the path of its snapshot."""
    (data / "store" / "dump.rdb").mkdir()
    with redis.Redis.from_url(url, retry=None) as client:
        client.config_set("save", "3600 1")
        client.config_set("shutdown-on-sigterm", "force")
        client.set("a", 1)
        client.bgsave()
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            client.ping()


def readable_by_others(folder: Path) -> dict[str, str]:
    """Returns the modes of the files and folders that other users can read."""
    paths = [folder, *folder.rglob("*")]
    return {
        str(path.relative_to(folder)): oct(mode) for path in paths if (mode := path.stat().st_mode) & 0o077
    }


def test_only_the_owner_reads_the_files_of_the_store(data: Path) -> None:
    store = Embedded(data)
    store.start()
    store.leave()
    assert readable_by_others(data / "store") == {}
    for path in (data / "store", *(data / "store").rglob("*")):  # as another program left them
        path.chmod(0o755 if path.is_dir() else 0o644)
    store.start()
    try:
        assert (data / "store" / "appendonlydir").is_dir()
        assert readable_by_others(data / "store") == {}
    finally:
        store.leave()


def test_a_folder_and_its_files_become_private(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "crawl", tmp_path / "elsewhere"
    folder.mkdir(0o755)
    for path in (folder / "cold.db", elsewhere):
        path.touch(0o644)
    (folder / "link").symlink_to(elsewhere)
    make_private(folder)
    os.close(open_file(folder / "new", os.O_CREAT | os.O_WRONLY))
    make_folder(folder / "failed")
    assert {str(path) for path in readable_by_others(folder)} == {"link"}
    assert elsewhere.stat().st_mode & 0o777 == 0o644


def test_a_store_that_refuses_writes_is_adopted_and_ended(data: Path) -> None:
    first, second = Embedded(data), Embedded(data)
    url = first.start()
    try:
        refuse_writes(url, data)
        assert second.start() == url
        assert len(servers(data)) == 1
    finally:
        second.leave()
        first.leave()
    assert servers(data) == []
    assert not (data / "store" / "run.json").exists()


def test_who_comes_while_the_last_one_leaves_has_a_server_that_stays(data: Path) -> None:
    """For example `gossamer status` next to a crawl that ends. The server answers the command until the
    command disconnects."""

    def comes_and_goes() -> None:
        for _ in range(10):
            door = Embedded(data)
            url = door.start()
            try:
                for _ in range(20):
                    call_socket(url.removeprefix("unix://"), 5.0, "INCR", "calls")
            finally:
                door.leave()

    with ThreadPoolExecutor() as threads:
        for one in [threads.submit(comes_and_goes) for _ in range(3)]:
            one.result()
    assert servers(data) == []
    door = Embedded(data)
    try:
        assert call_socket(door.start().removeprefix("unix://"), 5.0, "GET", "calls") == b"600"
    finally:
        door.leave()


def test_none_is_left_when_its_whereabouts_cannot_be_written(data: Path) -> None:
    (data / "store" / "run.json").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"run\.json is not a regular file"):
        Embedded(data).start()
    assert servers(data) == []
    assert list((data.parent / "t").iterdir()) == []


def test_files_that_are_broken_are_named_in_plain_words(data: Path) -> None:
    one = Embedded(data)
    with redis.Redis.from_url(one.start()) as client:
        client.mset({f"key{n}": n for n in range(100)})
    one.leave()
    broken = next((data / "store" / "appendonlydir").glob("*.incr.aof"))
    raw = broken.read_bytes()
    broken.write_bytes(raw[: len(raw) // 2] + b"X" * 40 + raw[len(raw) // 2 + 40 :])
    with pytest.raises(StoreError, match=r"did not start: Bad file format .*incr\.aof.*valkey\.log"):
        Embedded(data).start()
    assert servers(data) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root mounts a small disk")
def test_a_full_disk_at_the_start_is_no_damage(data: Path) -> None:
    data.mkdir(exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(data)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        (data / "much").write_bytes(bytes(80 << 10))
        with pytest.raises(DiskFull, match="free some space, then run the same command again"):
            Embedded(data).start()
    finally:
        subprocess.run(["umount", "-l", str(data)], check=True)


def test_one_that_dies_again_and_again_is_given_up(data: Path) -> None:
    one = Embedded(data)
    one.start()
    try:
        for _ in range(MAX_RESTARTS):
            os.kill(servers(data)[0], 9)
            one.again()
        os.kill(servers(data)[0], 9)
        with pytest.raises(StoreError, match=r"valkey\.log, then run the same command again"):
            one.again()
    finally:
        one.leave()
    until(lambda: servers(data) == [])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the time after which an unresponsive server is stopped."""
    monkeypatch.setattr(embedded, "UNANSWERED_S", 0.5)
    monkeypatch.setattr(embedded, "MESSAGE_AFTER_S", 0.1)


def is_ours(pid: int) -> bool:
    """Returns whether a process exists, also as a zombie."""
    return Path(f"/proc/{pid}").exists()


def test_a_stopped_server_is_ended_before_another_starts(data: Path, impatient: None, capfd: Any) -> None:
    one, two = Embedded(data), Embedded(data)
    url = one.start()
    try:
        with redis.Redis.from_url(url) as client:
            client.set("a", 1)
        old = servers(data)
        os.kill(old[0], signal.SIGSTOP)
        fresh = two.start()
        assert fresh != url
        assert len(servers(data)) == 1
        assert servers(data) != old
        assert not is_ours(old[0])
        with redis.Redis.from_url(fresh) as client:
            assert client.get("a") == b"1"
        assert "does not answer, which is stopped; waiting" in capfd.readouterr().err
    finally:
        two.leave()
        one.leave()
    assert servers(data) == []


def test_a_server_that_goes_on_in_time_is_adopted(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Embedded(data), Embedded(data)
    url = one.start()
    (old,) = servers(data)
    os.kill(old, signal.SIGSTOP)
    monkeypatch.setattr(embedded, "MESSAGE_AFTER_S", 0.0)
    monkeypatch.setattr(embedded, "_tell", lambda line: os.kill(old, signal.SIGCONT))
    try:
        assert two.start() == url
        assert servers(data) == [old]
    finally:
        two.leave()
        one.leave()


def test_a_command_that_waits_in_a_stopped_server_is_not_run_later(data: Path) -> None:
    one = Embedded(data)
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as raw:
        raw.connect(one.start().removeprefix("unix://"))
        try:
            pid = servers(data)[0]
            os.kill(pid, signal.SIGSTOP)
            raw.sendall(b"SET late 1\r\n" * 100 + b"SET later ")
            os.kill(pid, signal.SIGCONT)
            url = one.again()
            with contextlib.suppress(OSError):
                raw.sendall(b"1\r\n")
            with redis.Redis.from_url(url) as client:
                assert client.get("later") is None
                assert client.get("later") is None
        finally:
            one.leave()


def test_the_lock_outlives_the_door_and_is_nobody_elses(data: Path) -> None:
    one = Embedded(data)
    one.start()
    (pid,) = servers(data)
    held = os.stat(data / "store" / "server.lock")
    try:
        with open(data / "store" / "server.lock") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = [
            os.stat(f"/proc/self/fd/{fd}")
            for fd in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{fd}")
        ]
        assert not any(os.path.samestat(one, held) for one in ours)
        # the child process that rewrites the files has the lock, too
        with redis.Redis.from_url(one.url() or "") as client:
            client.set("a", 1)
            client.bgrewriteaof()
    finally:
        one.leave()
    assert not is_ours(pid)
    with open(data / "store" / "server.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("socket", ["{home}/s", "/dev/null", "", "{tmp}/gossamer-x/s"])
def test_a_process_that_is_not_proven_ours_is_left_alone(data: Path, socket: str, impatient: None) -> None:
    """A run.json of another machine, or from before a reboot. Its pid and the folder of its socket belong to
    another program."""
    other = subprocess.Popen(["sleep", "600"])
    try:
        home = data.parent / "home"
        home.mkdir(mode=0o700)
        (home / "precious").write_text("1")
        (data / "store").mkdir(parents=True)
        where = socket.format(home=home, tmp=data.parent / "t")
        (data / "store" / "run.json").write_text(json.dumps({"pid": other.pid, "socket": where}))
        one = Embedded(data)
        one.start()
        one.leave()
        assert other.poll() is None
        assert (home / "precious").exists()
    finally:
        other.kill()
        other.wait()


def test_a_copy_of_a_living_folder_has_a_server_of_its_own(data: Path) -> None:
    one = Embedded(data)
    url = one.start()
    try:
        with redis.Redis.from_url(url) as client:
            client.set("a", 1)
        copy = data.with_name("copy")
        shutil.copytree(data, copy)
        other = Embedded(copy)
        assert other.start() != url
        other.leave()
        with redis.Redis.from_url(url) as client:
            assert client.get("a") == b"1"
    finally:
        one.leave()


def test_the_lock_held_by_something_else_is_told(data: Path, impatient: None) -> None:
    (data / "store").mkdir(parents=True)
    holder = fork_server.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print(flush=True); input()",
            str(data / "store" / "server.lock"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(InUse, match="run by a process that cannot be seen from here"):
            Embedded(data).start()
        assert holder.poll() is None
    finally:
        holder.communicate(b"\n")


@pytest.mark.parametrize(
    "name",
    [
        "store",
        "store/run.json",
        "store/start.lock",
        "store/doors.lock",
        "store/server.lock",
        "store/valkey.log",
        "store/appendonlydir",
        "store/appendonlydir/appendonly.aof.1.incr.aof",
    ],
)
def test_links_in_the_folder_are_refused(data: Path, name: str) -> None:
    elsewhere = data.parent / "elsewhere"
    path = data / name
    path.parent.mkdir(parents=True)
    if name in ("store", "store/appendonlydir"):
        elsewhere.mkdir()
    else:
        elsewhere.write_text("precious")
    path.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="is a symbolic link") as raised:
        Embedded(data).start()
    assert str(path) in str(raised.value)
    assert servers(data) == []
    assert list(elsewhere.iterdir()) == [] if elsewhere.is_dir() else elsewhere.read_text() == "precious"


def test_the_data_folder_itself_may_be_a_link(data: Path) -> None:
    real = data.with_name("real")
    real.mkdir()
    data.symlink_to(real)
    one = Embedded(data)
    one.start()
    assert one.lost() is None
    one.leave()
    assert (real / "store" / "server.lock").exists()


def test_a_fifo_does_not_hold_it_up(data: Path) -> None:
    (data / "store").mkdir(parents=True)
    os.mkfifo(data / "store" / "valkey.log")
    with pytest.raises(ConfigError, match="is not a regular file"):
        Embedded(data).start()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: shutil.rmtree(data), "was removed while"),
        (
            lambda data: data.rename(data.with_name("other")),
            "was moved while the crawl ran .it is .*/other now",
        ),
        (lambda data: (data.rename(data.with_name("other")), data.mkdir()), "was (moved|replaced) while"),
        (
            lambda data: (
                data.rename(data.with_name("other")),
                shutil.copytree(data.with_name("other"), data),
            ),
            "was replaced while",
        ),
        (lambda data: (shutil.rmtree(data), data.symlink_to("/nowhere")), "was removed while"),
    ],
)
def test_a_folder_that_goes_away_leaves_no_server(
    data: Path, change: Callable[[Path], object], said: str
) -> None:
    one = Embedded(data)
    one.start()
    (pid,) = servers(data)
    assert one.lost() is None
    change(data)
    assert (lost := one.lost()) is not None
    assert re.search(said, str(lost))
    one.leave()
    assert not is_ours(pid)
    assert [path for path in (data.parent / "t").iterdir() if said.startswith("was moved")] == []


def filled(data: Path) -> Path:
    """Fills a store with keys and stops it. Returns its last append-only file."""
    one = Embedded(data)
    with redis.Redis.from_url(one.start()) as client:
        for n in range(100):
            client.set(f"key{n}", f"value{n}")
        with client.pipeline(transaction=True) as pipe:
            for n in range(50):
                pipe.hset("all", f"f{n}", "x" * n)
            pipe.execute()
        client.set("last", "1")
    one.leave()
    return next((data / "store" / "appendonlydir").glob("*.incr.aof"))


def kept(data: Path) -> tuple[int, int]:
    """Returns the number of keys in the store, and the number of fields in the hash that was written in one
    transaction."""
    one = Embedded(data)
    with redis.Redis.from_url(one.start()) as client:
        found = client.dbsize(), client.hlen("all")
    one.leave()
    return found


@pytest.mark.parametrize("zeros", [0, 1, 5000])
def test_a_torn_end_is_mended(data: Path, zeros: int, capfd: Any) -> None:
    path = filled(data)
    raw, wrong = path.read_bytes(), list[object]()
    before = data.with_name("before")
    shutil.copytree(data, before)
    begins = raw.rindex(b"*3\r\n$3\r\nSET\r\n$4\r\nlast")
    multi = raw.index(b"*1\r\n$5\r\nMULTI")
    cuts = {begins + n: (101, 50) for n in range(1, len(raw) - begins, 3)}
    cuts |= {multi + n: (100, 0) for n in (1, 8, 15, 40, 700)}
    for cut, want in cuts.items():
        shutil.rmtree(data)
        shutil.copytree(before, data)
        path.write_bytes(raw[:cut] + bytes(zeros))
        if (found := kept(data)) != want:
            wrong.append((cut, found, want))
        torn = next((data / "store").glob("torn-*"))
        assert raw[:cut].endswith(torn.read_bytes().rstrip(b"\0"))
    assert wrong == []
    assert "torn, as after a crash of the machine: they are cut off" in capfd.readouterr().err


MANIFEST, BASE, INCR = "appendonly.aof.manifest", "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (MANIFEST, None),
        (MANIFEST, lambda raw: b""),
        (MANIFEST, lambda raw: b"\0\1junk"),
        (BASE, None),
        (BASE, lambda raw: b""),
        (BASE, lambda raw: raw[:40] + bytes([raw[40] ^ 1]) + raw[41:]),
        (BASE, lambda raw: raw[:40] + bytes(len(raw) - 40)),
        (INCR, None),
        (INCR, lambda raw: raw.replace(b"SET", b"SEU", 1)),
        (INCR, lambda raw: raw.replace(b"$6\r\nvalue1", b"$9\r\nvalue1", 1)),
        # the length points beyond the end of the file
        (INCR, lambda raw: raw.replace(b"$6\r\nvalue1", b"$66666\r\nvalue1", 1)),
        (INCR, lambda raw: raw[:500] + bytes(300) + raw[800:]),
        ("", None),
    ],
)
def test_worse_damage_is_told(data: Path, name: str, change: Callable[[bytes], bytes] | None) -> None:
    folder = filled(data).parent
    if not name:
        shutil.rmtree(folder)
    elif change is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(change((folder / name).read_bytes()))
    was = {path.name: path.read_bytes() for path in folder.glob("*")}
    for _ in range(2):
        with pytest.raises(StoreDamaged, match=r"gossamer doctor --repair --data .*data"):
            Embedded(data).start()
    assert {path.name: path.read_bytes() for path in folder.glob("*")} == was
    assert servers(data) == []
    one = Embedded(data)
    aside = one.set_aside()
    assert aside is None if not name else {path.name: path.read_bytes() for path in aside.iterdir()} == was
    assert kept(data) == (0, 0)


def test_a_server_killed_before_it_wrote_anything_is_no_damage(data: Path) -> None:
    folder = filled(data).parent
    (folder / MANIFEST).unlink()
    (folder / INCR).write_bytes(b"")
    (data / "store" / "server.lock").write_bytes(b"")
    assert kept(data) == (0, 0)


OWNER = """
import os, signal, sys
from pathlib import Path
from gossamer.store.embedded import Embedded
Embedded(Path(sys.argv[1])).start()
print("up", flush=True)
os._exit(0) if sys.argv[2] == "exit" else signal.pause()
"""


def test_no_server_survives_an_owner_that_ends_without_leaving(data: Path) -> None:
    """The owner calls `os._exit`, or a signal ends it. A second process that uses the folder keeps its
    server."""
    ends = ("exit", "SIGKILL", "SIGTERM", "shared")
    folders = {how: data.with_name(how) for how in ends}
    owners = {
        how: fork_server.Popen(
            [sys.executable, "-c", OWNER, str(folder), how], stdout=subprocess.PIPE, text=True
        )
        for how, folder in folders.items()
    }
    for owner in owners.values():
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
    store = Embedded(folders["shared"])
    url = store.start()
    owners["SIGKILL"].kill()
    owners["SIGTERM"].terminate()
    owners["shared"].kill()
    for owner in owners.values():
        owner.communicate()
    for how in ("exit", "SIGKILL", "SIGTERM"):
        until(lambda how=how: servers(folders[how]) == [])  # type: ignore[misc]
    assert call_socket(url.removeprefix("unix://"), 5.0, "PING")
    store.leave()
    assert servers(folders["shared"]) == []

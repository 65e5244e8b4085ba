"""Tests of the removal of leftovers in the data folder and the temporary folder: abandoned stores,
sockets, locks, logs and cached pages."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cleanup.crawls_in_every_state import DAY, Bed
from e2e.runs import SRC, kill, socket_of, store_pid
from gossamer.cli.commands import run
from gossamer.state.proxy_stats import ProxyStatistics
from gossamer.store import orphan_servers
from support import fork_server

DOOR = """
import sys, time
from pathlib import Path
from gossamer.store.embedded import Embedded
one = Embedded(Path(sys.argv[1]))
print(one.start(), flush=True)
time.sleep(60)
"""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set up a temporary folder for one test, with a path short enough for a Unix socket."""
    folder = Path(tempfile.mkdtemp(prefix="gt-", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    for data in folder.glob("data*"):
        kill(store_pid(data))
    shutil.rmtree(folder, ignore_errors=True)


def door(data: Path) -> subprocess.Popen[str]:
    """Start a process that runs the embedded store of a data folder."""
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    process = fork_server.Popen(
        [sys.executable, "-c", DOOR, str(data)], stdout=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("unix://")
    return process


def ended(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def lives(pid: int | None) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int | None) -> bool:
    deadline = time.monotonic() + 10
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not lives(pid)


def sweep(age: float = 0.0) -> list[orphan_servers.Orphan]:
    found = list(orphan_servers.find_orphans(age))
    for one in found:
        orphan_servers.remove_orphan(one)
    return found


def test_a_store_whose_doors_were_killed_is_ended_and_keeps_what_it_has(short: Path) -> None:
    process = door(short / "data")
    url, pid = socket_of(short / "data"), store_pid(short / "data")
    import redis

    with redis.Redis.from_url(str(url)) as client:
        client.set("gossamer:crawls", "kept")
    assert sweep() == []  # the process that uses the store is alive
    ended(process)
    # the store is too young to be removed, because a new process may still connect to it
    assert list(orphan_servers.find_orphans(3600)) == []
    assert lives(pid)
    (one,) = sweep()
    assert (one.alive, one.store) == (True, (short / "data" / "store").resolve())
    assert gone(pid)
    assert list(short.glob("gossamer-*")) == []
    process = door(short / "data")
    with redis.Redis.from_url(str(socket_of(short / "data"))) as client:
        assert client.get("gossamer:crawls") == b"kept"
    ended(process)


def test_a_store_whose_folder_was_deleted_is_ended(short: Path) -> None:
    process = door(short / "data")
    pid = store_pid(short / "data")
    ended(process)
    shutil.rmtree(short / "data")
    (one,) = sweep()
    assert (one.alive, one.store) == (True, None)
    assert gone(pid)
    assert list(short.glob("gossamer-*")) == []


def test_sockets_of_dead_stores_and_nothing_else(short: Path) -> None:
    process = door(short / "data")
    kill(store_pid(short / "data"))
    ended(process)
    strangers = [short / "gossamer-work", short / "gossamer-open", short / "other"]
    for folder in strangers:
        folder.mkdir(mode=0o700)
    (strangers[0] / "books.jsonl").write_text("somebody's")
    strangers[1].chmod(0o755)
    (one,) = sweep()
    assert not one.alive
    assert sorted(short.glob("gossamer-*")) == sorted(strangers[:2])
    assert (strangers[0] / "books.jsonl").exists()


def aged(path: Path, days: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * 10)
    os.utime(path, (time.time() - days * DAY,) * 2)
    return path


async def test_files_by_age(bed: Bed) -> None:
    await bed.left("lives", "stopped")
    data, cache = bed.data, bed.folder / "cache"
    old = [
        aged(data / "gone" / "lock", 2),
        aged(data / "gone" / "output.lock", 2),
        aged(data / "lives" / "surprises.log", 40),
        aged(data / "gossamer-error-20260101-000000-1.txt", 40),
        aged(cache / "ab" / ("0" * 46), 40),
        aged(cache / "ab" / "new-12-3", 40),
    ]
    stays = [
        aged(data / "lives" / "lock", 2),
        aged(data / "lives" / "output.lock", 2),
        aged(data / "young" / "lock", 0.5),
        aged(data / "lives" / "attempts.jsonl", 400),
        aged(data / "store" / "start.lock", 400),
        aged(data / "other" / "surprises.log", 3),
        aged(cache / "ab" / ("1" * 46), 3),
        aged(cache / "ab" / "notes.txt", 400),
        aged(cache / "README", 400),
    ]
    would = await bed.clean(dry=True, settings={"cache": str(cache)})
    assert {part: one.count for part, one in would.items() if one.count} == {
        "locks": 2,
        "logs": 2,
        "cache": 2,
    }
    assert all(path.exists() for path in old)
    done = await bed.clean(settings={"cache": str(cache)})
    assert {part: (one.count, one.bytes) for part, one in done.items() if one.count} == dict.fromkeys(
        ("locks", "logs", "cache"), (2, 20)
    )
    assert [path for path in old if path.exists()] == []
    assert [path for path in stays if not path.exists()] == []
    assert not (data / "gone").exists()


async def test_a_lock_that_is_held_stays(bed: Bed) -> None:
    from gossamer.frontier.crawl_lock import hold_lock

    await bed.left("lives", "stopped")
    with hold_lock(bed.data / "unknown", "unknown"):
        os.utime(bed.data / "unknown" / "lock", (time.time() - 9 * DAY,) * 2)
        assert (await bed.clean())["locks"].count == 0
    assert (await bed.clean())["locks"].count == 1


def test_the_verb_and_doctor(short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    page = tmp_path / "archive" / "a.example" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<title>x</title>")
    words = ["--data", str(data)]
    assert (
        run(
            [
                "crawl",
                "https://a.example/",
                "--archive",
                str(tmp_path / "archive"),
                "--name",
                "c",
                "--quiet",
                "--json",
                *words,
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert run(["clean", "--older", "soon", *words]) == 2
    assert "--older 'soon': must be a time" in capsys.readouterr().err
    assert run(["clean", "--what", "craws", *words]) == 2
    assert "did you mean crawls?" in capsys.readouterr().err
    assert run(["clean", "--what", "crawls", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)[0]["count"] == 0
    aged(data / "c" / "surprises.log", 40)
    assert run(["doctor", "--json", *words]) in (0, 4)
    (told,) = [one for one in json.loads(capsys.readouterr().out) if one["what"] == "cleaning"]
    assert told["found"] == "1 logs: 10 B"
    assert run(["clean", "--what", "crawls,logs", "--older", "0", *words]) == 0
    out = capsys.readouterr().out
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["crawls", "1"], ["logs", "1"]]
    assert run(["status", *words]) == 0
    assert "there is no crawl yet" in capsys.readouterr().err


async def test_the_scheduler_cleans_every_hour(bed: Bed) -> None:
    from gossamer.app.cleanup import Hourly

    said: list[str] = []
    hourly = Hourly(
        bed.settings(),
        bed.store,
        lambda event, **facts: said.append(f"{event} {facts['count']} {facts['part']}"),
    )
    await bed.crawl("c")
    await bed.date("c")
    for minutes, expected in (
        (0, []),
        (30, []),
        (31, []),
        (43_200, ["cleaned 1 crawls"]),
        (10, ["cleaned 1 crawls"]),
    ):
        bed.moved.move(minutes * 60)
        await hourly(bed.moved.now())
        assert [one for one in said if "crawls" in one] == expected
    other = Hourly(
        bed.settings(), bed.store, lambda event, **_: said.append(event)
    )  # a scheduler that takes over waits for the next hourly cleaning
    before = len(said)
    await bed.crawl("c")
    await bed.date("c")
    await other(bed.moved.now())
    assert len(said) == before
    await asyncio.sleep(0)


def marked(owner: int, profile: Path) -> subprocess.Popen[bytes]:
    """Start a process whose command line marks it as a browser that the process `owner` started."""
    profile.mkdir()
    words = [f"--gossamer-pid={owner}", f"--user-data-dir={profile}", "--headless"]
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *words])


def profiles(folder: Path) -> list[str]:
    return [one.name for one in folder.glob("profile-*")]


def ended_process() -> int:
    """Return the process ID of a process that has ended."""
    dead = fork_server.Popen([sys.executable, "-c", ""])
    dead.wait()
    return dead.pid


async def test_browsers_of_killed_processes_are_ended(bed: Bed, short: Path) -> None:
    orphan, kept = marked(ended_process(), short / "profile-1"), marked(os.getpid(), short / "profile-2")
    try:
        assert (await bed.clean(what=["browsers"]))["browsers"].count == 0, "they are younger than an hour"
        assert (await bed.clean(what=["browsers"], older=0, dry=True))["browsers"].count == 1
        assert orphan.poll() is None
        assert (await bed.clean(what=["browsers"], older=0))["browsers"].count == 1
        assert orphan.wait(10) == -signal.SIGKILL
        assert kept.poll() is None
        assert profiles(short) == ["profile-2"]
    finally:
        for process in (orphan, kept):
            process.kill()
            process.wait()


async def test_proxies_without_reports_are_forgotten(bed: Bed) -> None:
    statistics = ProxyStatistics(bed.store, "c")
    report = (0, 3, 0.0, 3, 3, 60_000, 900_000)  # three failures quarantine a proxy
    await statistics.exchange({f"old-{n}": report for n in range(700)})
    bed.moved.move(6 * DAY)
    await statistics.exchange({"new": report})
    assert (await bed.clean(what=["proxies"]))["proxies"].count == 0
    assert (await bed.clean(what=["proxies"], older=5 * DAY, dry=True))["proxies"].count == 700
    assert (await bed.clean(what=["proxies"], older=5 * DAY))["proxies"].count == 700
    assert (await ProxyStatistics(bed.store, "c").exchange({}))[1].keys() == {"new"}
    assert (await bed.clean(what=["proxies"], older=0))["proxies"].count == 1

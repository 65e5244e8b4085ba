"""Tests of the data folder and the processes that use it: stopped and continued processes, and removed,
moved or linked folders. The outputs are exact, or the crawl ends with one line that names the remedy."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gossamer
from e2e.runs import begin, children_of, command, end_all, job, rows, store_pid, wrong_rows
from gossamer.app.job import Job
from gossamer.errors import GossamerError
from web import preset, serve

IMPATIENT = (
    "from gossamer.store import embedded, store; embedded.UNANSWERED_S, embedded.MESSAGE_AFTER_S = 3.0, 0.5; "
    "store.connect.__defaults__ = (2.0,); from gossamer.cli import main; main()"
)
"""Runs the command line with short timeouts: commands of the store fail after 2 s, and a store that does
not respond is ended after 3 s."""
HOSTS, PAGES = 4, 100


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    end_all(tmp_path / "data")


def under_way(door: subprocess.Popen[str], one: Job, least: int = 40) -> None:
    """Wait until the log contains `least` attempts."""
    log, deadline = Path(one.settings.data) / "c" / "attempts.jsonl", time.monotonic() + 60
    while not log.exists() or log.read_bytes().count(b"\n") < least:
        assert door.poll() is None, door.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while state(pid) not in ("", "Z"):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def servers_in(folder: Path) -> list[int]:
    """Return the servers that hold the lock of a store's folder."""
    found, lock = [], folder / "store" / "server.lock"
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and any(os.path.samefile(fd, lock) for fd in (entry / "fd").iterdir()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("order", "seconds", "processes"),
    [
        ("store", 1.0, 1),
        ("store", 4.0, 1),
        ("store", 9.0, 1),
        ("store", 4.0, 2),
        ("door", 9.0, 1),
        ("store door", 9.0, 1),
        ("door store", 9.0, 1),
        ("child store", 9.0, 2),
        ("store child", 4.0, 2),
        ("store door child", 4.0, 2),
    ],
)
def test_stopped_and_continued(work: Path, order: str, seconds: float, processes: int) -> None:
    """Stop the processes together, and continue them in the given order. After a pause of 4 s the store is
    adopted, and after 9 s it has been replaced."""
    with serve(preset("tiny", hosts=HOSTS, pages=PAGES, latency=0.01, spread=0.03)) as web:
        one = job(web.plan.seeds(), work, per_host=4, processes=processes)
        door = begin(command(one), IMPATIENT)
        under_way(door, one)
        store = store_pid(Path(one.settings.data))
        assert store is not None
        children = [pid for pid in children_of(door.pid) if pid != store]
        pids = {"store": [store], "door": [door.pid], "child": children}
        for name in order.split():
            for pid in pids[name]:
                os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        for name in order.split():
            for pid in pids[name]:
                if state(pid):
                    os.kill(pid, signal.SIGCONT)
            time.sleep(0.3)
        out, err = door.communicate(timeout=90)
        assert door.returncode == 0, err
        summary = json.loads(out)
        assert (summary["state"], summary["pages"], summary["pending"], summary["dead"]) == (
            "finished",
            HOSTS * PAGES,
            0,
            0,
        ), err
        assert wrong_rows(rows(work / "out.jsonl"), web.plan) == []
        assert servers_in(work / "data") == []
        assert gone(store)
        if order == "store" and seconds > 5:
            assert "the store that did not answer was ended" in err


def test_a_stopped_store_then_kill_and_resume(work: Path) -> None:
    """If a store is stopped when its command is killed, the next command's store does not run beside the
    old one."""
    with serve(preset("tiny", hosts=HOSTS, pages=PAGES, latency=0.01, spread=0.03)) as web:
        one = job(web.plan.seeds(), work, per_host=4)
        door = begin(command(one), IMPATIENT)
        under_way(door, one)
        store = store_pid(Path(one.settings.data))
        assert store is not None
        os.kill(store, signal.SIGSTOP)
        door.kill()
        door.communicate()
        door = begin(command(one), IMPATIENT)
        time.sleep(5)
        if state(store):
            os.kill(store, signal.SIGCONT)
        out, err = door.communicate(timeout=90)
        assert door.returncode == 0, err
        assert json.loads(out)["pending"] == 0
        assert wrong_rows(rows(work / "out.jsonl"), web.plan) == []
        again = begin(command(one), IMPATIENT)
        assert again.communicate(timeout=60)[0]
        assert again.returncode == 0
        assert servers_in(work / "data") == []


def remove(folder: Path) -> None:
    """Remove a folder in which a running crawl creates files meanwhile."""
    while folder.exists():
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)


def replace(folder: Path) -> None:
    """Puts another folder in the place of a folder, with no time between in which a crawl sees no folder."""
    new = folder.with_name("new")
    (new / "store").mkdir(parents=True)
    (new / "c").mkdir()
    folder.rename(folder.with_name("other"))
    new.rename(folder)


GONE: list[tuple[Callable[[Path], object], str]] = [
    (remove, "was removed while the crawl ran"),
    (
        lambda data: data.rename(data.with_name("other")),
        r"was moved while the crawl ran \(it is .*other now\)",
    ),
    (replace, "was replaced while"),
    (lambda data: remove(data / "c"), "was removed while the crawl ran"),
    (lambda data: remove(data / "store"), "was removed while the crawl ran"),
    (
        lambda data: (data.rename(data.with_name("other")), data.symlink_to(data.parent)),
        "was (moved|replaced) while",
    ),
]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(("change", "said"), GONE)
def test_a_folder_that_goes_away_in_mid_run(
    work: Path, change: Callable[[Path], object], said: str, processes: int
) -> None:
    # slow pages, so that the crawl lasts some seconds
    with serve(preset("tiny", hosts=HOSTS, pages=150, latency=0.1, spread=0.1)) as web:
        one = job(web.plan.seeds(), work, per_host=2, processes=processes)
        door = begin(command(one))
        under_way(door, one)
        pids = [pid for pid in (*children_of(door.pid), store_pid(Path(one.settings.data))) if pid]
        change(Path(one.settings.data))
        err = door.communicate(timeout=60)[1]
        assert door.returncode == 4, err
        assert len(err.splitlines()) == 1, err
        assert re.search(said, err)
        assert all(gone(pid) for pid in pids)
        if "moved" in said and (work / "other").exists() and not (work / "data").exists():  # no data was lost
            (work / "other").rename(work / "data")
            out, err = begin(command(one)).communicate(timeout=90)
            assert json.loads(out)["pending"] == 0, err
            assert wrong_rows(rows(work / "out.jsonl"), web.plan) == []


@pytest.mark.parametrize(
    "name",
    [
        "c",
        "c/lock",
        "c/output.lock",
        "c/attempts.jsonl",
        "c/kept.json",
        "c/known.jsonl",
        "c/failed",
        "c/rejected.jsonl",
        "c/refused.jsonl",
        "c/surprises.log",
        "store/run.json",
        "store/valkey.log",
        "store",
    ],
)
def test_links_are_refused(work: Path, name: str) -> None:
    folder = name in ("c", "c/failed", "store")
    path, elsewhere = work / "data" / name, work / "elsewhere"
    path.parent.mkdir(parents=True)
    elsewhere.mkdir() if folder else elsewhere.write_text("precious")
    path.symlink_to(elsewhere)
    with serve(preset("tiny", hosts=1, pages=5)) as web:
        door = begin(command(job(web.plan.seeds(), work)))
        out, err = door.communicate(timeout=60)
    assert door.returncode == 4, (out, err)
    assert len(err.splitlines()) == 1
    assert f"{path} is a symbolic link" in err
    assert list(elsewhere.iterdir()) == [] if folder else elsewhere.read_text() == "precious"


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_a_read_only_copy(work: Path) -> None:
    try:
        subprocess.run([sys.executable, "-c", ""], user=65534, check=True)
    except PermissionError:
        pytest.skip(f"another user cannot run {sys.executable}")
    with serve(preset("tiny", hosts=1, pages=5)) as web:
        one = job(web.plan.seeds(), work)
        for user in (None, 65534):
            door = begin(
                command(one), **({} if user is None else {"user": user, "group": user, "extra_groups": []})
            )
            err = door.communicate(timeout=60)[1]
            for path in (work / "data", *(work / "data").rglob("*")):
                path.chmod(0o555 if path.is_dir() else 0o444)
            for path in (work, *work.parents):
                path.chmod(path.stat().st_mode | 0o055)
    assert door.returncode == 4, err
    assert len(err.splitlines()) == 1, err
    assert "Permission denied" in err


def descriptors() -> list[str]:
    """Return the open file descriptors of this process: the path, or the kind of a descriptor without a
    path."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # this descriptor belongs to the listing itself
            found.append(os.readlink(f"/proc/self/fd/{number}").partition(":[")[0])
    return sorted(found)


def statistics() -> tuple[list[str], int, list[str], list[str]]:
    """Return the file descriptors, the number of threads and the children of this process (dead children
    are marked), and the folders of sockets."""
    gc.collect()  # closes what earlier tests left
    children = [f"{pid}{' dead' if state(pid) == 'Z' else ''}" for pid in _children()]
    sockets = sorted(str(path) for path in Path(os.environ["TMPDIR"]).glob("gossamer-*"))
    return descriptors(), threading.active_count(), children, sockets


def _children() -> list[int]:
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError):  # the thread has ended in the meantime
            found += map(int, Path(f"/proc/self/task/{task}/children").read_text().split())
    return found


def test_thirty_runs_leave_nothing_behind(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    (work / "t").mkdir()
    monkeypatch.setenv("TMPDIR", str(work / "t"))
    monkeypatch.setattr(tempfile, "tempdir", str(work / "t"))
    quick: dict[str, object] = {"delay": "0s", "allow_private": "127.0.0.0/8", "scope": "host"}
    with serve(preset("tiny", hosts=1, pages=6)) as web:
        seed = web.plan.seeds()[0]

        def once(n: int) -> None:
            data = work / f"data{n}"
            if n % 6 == 0:
                gossamer.run(seed, output=work / f"{n}.jsonl", data=data, **quick)
            elif n % 6 == 1:
                assert len(list(gossamer.crawl(seed, **quick))) > 1
            elif n % 6 == 2:
                for _ in gossamer.crawl(seed, **quick):  # the loop is left early
                    break
            elif n % 6 == 3:
                with pytest.raises(GossamerError):
                    gossamer.run(seed, output=work / "no" / "such" / "folder.jsonl", data=data, **quick)
            elif n % 6 == 4:
                with contextlib.suppress(GossamerError):
                    gossamer.run("http://nobody.invalid/", data=data, retries="", **quick)
            else:
                asyncio.run(_interrupted(seed, data, quick, n / 100))

        for n in range(6):  # the first runs create the resources that a process keeps
            once(n)
        before = statistics()
        for n in range(6, 36):
            once(n)
        # the web server in this process closes its side of the connections shortly afterwards
        ends = time.monotonic() + 10
        while statistics() != before and time.monotonic() < ends:
            time.sleep(0.05)
        assert statistics() == before
        assert before[3] == []
        assert not any("Z" in child for child in before[2])


async def test_a_cancellation_at_the_end_of_the_work_closes_all_files(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gossamer.api import job_of
    from gossamer.app.runner import CrawlWorker, crawl
    from gossamer.worker.outputs import Outputs

    async def run(self: CrawlWorker) -> str:
        await self.outputs.open()
        assert any(path.endswith("output.lock") for path in descriptors())
        return "finished"

    async def finish(self: Outputs, *, wait: bool = False) -> None:
        works = asyncio.current_task()
        assert works is not None
        asyncio.get_running_loop().call_soon(works.cancel)

    monkeypatch.setattr(CrawlWorker, "run", run)
    monkeypatch.setattr(Outputs, "finish", finish)
    job = job_of(["http://127.0.0.1:9/"], {"data": work / "data", "allow_private": "127.0.0.0/8"})
    with pytest.raises(asyncio.CancelledError):
        await crawl(job)
    assert not any(path.endswith("output.lock") for path in descriptors())


async def _interrupted(seed: str, data: Path, quick: dict[str, object], after: float) -> None:
    from gossamer.api import job_of
    from gossamer.app.runner import crawl

    running = asyncio.create_task(crawl(job_of([seed], {"data": data, **quick})))
    await asyncio.sleep(after)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

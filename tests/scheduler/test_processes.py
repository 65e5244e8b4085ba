"""Schedulers as processes: one of two is killed with SIGKILL, a wrong clock, the embedded store, and the
commands."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import SRC, begin, kill, rows, socket_of, store_pid
from gossamer.app.open_store import open_url
from gossamer.state.schedules import ScheduledRun, Schedules
from support import fork_server
from support.moving_clock import Moved, faked
from web import Web, preset, serve


class Desk:
    """Runs the command line on one store, and starts scheduler processes."""

    def __init__(self, folder: Path, *where: str) -> None:
        self.folder, self.where = folder, where
        self.schedulers: list[subprocess.Popen[str]] = []

    def __call__(self, *words: str, code: int = 0) -> str:
        process = begin([*words, *self.where], cwd=self.folder)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, (out, err)
        return out + err

    def list(self) -> Any:
        process = begin(["schedule", "list", "--json", *self.where], cwd=self.folder)
        return json.loads(process.communicate(timeout=60)[0])

    def scheduler(self, **more: str) -> subprocess.Popen[str]:
        """Starts one more scheduler, whose events go to a file."""
        env = {
            k: v for k, v in (faked(**more) if more else os.environ).items() if not k.startswith("GOSSAMER_")
        }
        with (self.folder / f"log{len(self.schedulers)}").open("w") as log:
            words = [sys.executable, "-m", "gossamer", "scheduler", "--json", "--here", *self.where]
            process = fork_server.Popen(
                words, cwd=self.folder, stdout=log, stderr=log, text=True, env=with_path(env)
            )
        self.schedulers.append(process)
        return process

    def events(self, number: int | None = None) -> list[dict[str, Any]]:
        """Returns the events of one scheduler, or of all schedulers."""
        logs = sorted(self.folder.glob("log*")) if number is None else [self.folder / f"log{number}"]
        return [
            json.loads(line) for log in logs for line in log.read_text().splitlines() if line.startswith("{")
        ]

    def said(self, event: str, number: int | None = None) -> list[dict[str, Any]]:
        return [one for one in self.events(number) if one["event"] == event]


def with_path(env: dict[str, str]) -> dict[str, str]:
    return {**env, "PYTHONPATH": f"{SRC}{os.pathsep}{SRC.parent / 'tests'}"}


def wait(what: Callable[[], Any], seconds: float = 40) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)
    return found


@pytest.fixture
def desk(moved: Moved, tmp_path: Path) -> Iterator[Desk]:
    one = Desk(tmp_path, "--store", moved.url, "--data", str(tmp_path / "data"))
    yield one
    for process in one.schedulers:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=1, pages=30)) as found:
        yield found


def add(desk: Desk, web: Web, name: str, line: str, *words: str) -> None:
    desk(
        "schedule",
        "add",
        name,
        line,
        *web.plan.seeds(),
        "--allow-private",
        "127.0.0.0/8",
        "--delay",
        "0.05",
        *words,
    )


def ended(url: str, name: str) -> list[ScheduledRun]:
    async def inside() -> list[ScheduledRun]:
        store = await open_url(url, embedded=False)
        try:
            return await Schedules(store).ended(name)
        finally:
            await store.close()

    return asyncio.run(inside())


def test_the_leader_is_killed_in_the_middle_of_a_run_and_the_other_goes_on(
    desk: Desk, moved: Moved, web: Web
) -> None:
    moved.set("2026-11-21T03:58:00Z")
    add(desk, web, "nightly", "0 4 * * *", "-o", "{run}.jsonl")
    first = desk.scheduler()
    wait(lambda: desk.said("leads", 0))
    desk.scheduler()
    wait(lambda: desk.said("stands by", 1))
    moved.set("2026-11-21T04:00:01Z")
    wait(lambda: web.stats()["requests"] > 10)
    os.kill(first.pid, signal.SIGKILL)
    killed = time.monotonic()
    wait(lambda: desk.said("leads", 1))
    assert time.monotonic() - killed < 15
    wait(lambda: desk.said("ended", 1))
    assert [one["crawl"] for one in desk.said("taken up", 1)] == ["nightly-20261121T0400"]
    (run,) = ended(moved.url, "nightly")
    assert (run.state, run.crawl) == ("finished", "nightly-20261121T0400")
    urls = [row["url"] for row in rows(desk.folder / "20261121T0400.jsonl")]
    assert len(urls) == len(set(urls)) == 30
    process = desk.schedulers[1]
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_leader_stopped_for_longer_than_its_lead_writes_nothing_over(
    desk: Desk, moved: Moved, web: Web, when: str
) -> None:
    """The leader gets SIGSTOP, another scheduler takes over, and the former leader gets SIGCONT. There is one
    run, whichever scheduler reports on it."""
    moved.set("2026-11-21T03:58:00Z")
    add(desk, web, "nightly", "0 4 * * *", "-o", "{run}.jsonl")
    first = desk.scheduler()
    wait(lambda: desk.said("leads", 0))
    if when == "after":
        moved.set("2026-11-21T04:00:01Z")
        wait(lambda: web.stats()["requests"] > 10)
    os.kill(first.pid, signal.SIGSTOP)
    desk.scheduler()
    wait(lambda: desk.said("leads", 1))
    moved.set("2026-11-21T04:00:01Z")
    wait(lambda: desk.said("begun", 1) or desk.said("taken up", 1))
    os.kill(first.pid, signal.SIGCONT)
    wait(lambda: ended(moved.url, "nightly"))
    wait(lambda: desk.said("stands by"))
    assert [(run.state, run.times) for run in ended(moved.url, "nightly")] == [("finished", 1)]
    assert len(desk.said("begun")) == 1
    urls = [row["url"] for row in rows(desk.folder / "20261121T0400.jsonl")]
    assert len(urls) == len(set(urls)) == 30


@pytest.mark.parametrize("offset", ["-3600", "+3600"])
def test_a_wrong_clock_of_one_machine_changes_nothing(
    desk: Desk, moved: Moved, web: Web, offset: str
) -> None:
    moved.set("2026-11-21T03:58:00Z")
    add(desk, web, "nightly", "0 4,5 * * *", "-o", "{run}.jsonl")
    wrong = desk.scheduler(FAKETIME=offset)
    wait(lambda: desk.said("leads", 0))
    desk.scheduler()
    wait(lambda: desk.said("stands by", 1))
    assert not desk.said("begun")
    moved.set("2026-11-21T04:00:01Z")
    wait(lambda: len(ended(moved.url, "nightly")) == 1)
    os.kill(wrong.pid, signal.SIGKILL)
    wait(lambda: desk.said("leads", 1))
    moved.set("2026-11-21T05:00:01Z")
    wait(lambda: len(ended(moved.url, "nightly")) == 2)
    assert [one["crawl"] for one in desk.said("begun")] == ["nightly-20261121T0400", "nightly-20261121T0500"]
    assert all(run.begun is not None and 0 <= run.begun - run.due < 60 for run in ended(moved.url, "nightly"))


def test_schedules_without_a_server_and_the_verbs(tmp_path: Path, web: Web) -> None:
    """With the embedded store, the scheduler runs the crawls itself, notices a schedule that is added while
    it runs, and stops gracefully."""
    desk = Desk(tmp_path)
    assert "no schedules yet" in desk("schedule", "list")
    soon = datetime.fromtimestamp(time.time() + 90, UTC)
    scheduler = desk.scheduler()
    try:
        wait(lambda: desk.said("leads"))
        add(desk, web, "often", "* * * * *", "-o", "{run}.jsonl", "--limit", "5")
        wait(lambda: desk.said("scheduled"), 5)
        add(desk, web, "late", f"{soon.minute} {soon.hour} 1 1 *", "-o", "late.jsonl")
        desk("schedule", "run", "late", "--quiet")
        assert len(rows(tmp_path / "late.jsonl")) == 30
        wait(lambda: desk.said("ended"), 90)
        often, late = sorted(desk.list(), key=lambda row: str(row["schedule"]), reverse=True)
        assert (often["outcome"], often["failed"], often["state"]) == ("limited", 0, "waiting")
        assert (late["outcome"], late["runs"]) == ("finished", 1)
        assert len(rows(next(tmp_path.glob("20*.jsonl")))) == 5
        assert "is paused" in desk("schedule", "pause", "often")
        assert "is resumed" in desk("schedule", "resume", "often")
        assert "is removed" in desk("schedule", "remove", "often")
        assert "there are: late" in desk("schedule", "remove", "often", code=2)
        scheduler.send_signal(signal.SIGTERM)
        assert scheduler.wait(10) == 0
    finally:
        scheduler.kill()
    assert socket_of(tmp_path / ".gossamer") is None, "the last door ends the store"


def test_the_store_dies_under_an_embedded_scheduler(tmp_path: Path, web: Web) -> None:
    desk = Desk(tmp_path)
    scheduler = desk.scheduler()
    try:
        wait(lambda: desk.said("leads"))
        kill(store_pid(tmp_path / ".gossamer"))
        wait(lambda: desk.said("store is back"))
        add(desk, web, "x", "0 4 1 1 *")
        wait(lambda: desk.said("scheduled"), 5)
        scheduler.send_signal(signal.SIGTERM)
        assert scheduler.wait(10) == 0
    finally:
        scheduler.kill()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("x", "61 * * * *", "https://a.example"), "minute '61'"),
        (("x", "@daily", "https://a.example", "--tz", "Mars/Base"), "time zone 'Mars/Base'"),
        (("x/y", "@daily", "https://a.example"), "schedule 'x/y'"),
        (("x", "@daily"), "no TARGET"),
        (("x", "@daily", "-"), "no standard input"),
        (("x", "@daily", "sitemap:https://a.example/map.xml", "--watch", "1h"), "give --time-limit"),
        (("x", "@daily", "https://a.example", "kafka://127.0.0.1:9092/urls"), "give --time-limit"),
        (("x", "@daily", "https://a.example", "-o", "-"), "no standard output"),
        (("x", "@daily", "https://a.example", "-o", "{day}.jsonl"), "there are {date} and {run}"),
        (("x", "@daily", "https://a.example", "-o", "out.xyz"), "no format for .xyz"),
        (
            ("x", "@daily", "https://a.example", "https://b.example", "--spread", "1h", "-o", "out.jsonl"),
            "put {run}",
        ),
        (("x", "@daily", "https://a.example", "--jitter", "soon"), "--jitter 'soon': must be a time"),
        (("x", "@daily", "https://a.example", "--missed", "some"), "run, skip, all"),
        (("x", "@daily", "https://a.example", "--missed", "all:0"), "from 1 to 1000"),
        (("x", "@daily", "https://a.example", "--overlap", "both"), "skip, queue"),
        (("x", "@daily", "https://a.example", "--depth", "deep"), "--depth"),
        (("x", "@daily", "https://a.example", "--name", "y"), "no option --name"),
        (("x", "@daily", "https://a.example", "--fail-on", "sucess<1"), "did you mean success"),
        (("x", "@daily", "nowhere.py"), "no such file"),
    ],
)
def test_a_bad_schedule_is_one_line(
    tmp_path: Path, words: tuple[str, ...], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from gossamer.cli.commands import run

    assert run(["schedule", "add", *words, "--data", str(tmp_path / "d")]) == 2
    err = capfd.readouterr().err
    assert told in err
    assert err.count("\n") == 1
    assert not (tmp_path / "d").exists()


def test_a_run_may_watch_for_as_long_as_it_is_told(tmp_path: Path, web: Web) -> None:
    desk = Desk(tmp_path)
    scheduler = desk.scheduler()
    try:
        wait(lambda: desk.said("leads"))
        words = (
            "sitemap:http://127.0.0.1:1/map.xml",
            "--watch",
            "1s",
            "--time-limit",
            "4s",
            "--retries",
            "none",
        )
        desk("schedule", "add", "news", "* * * * *", *words)
        wait(lambda: desk.said("ended"), 90)
        (run,) = desk.said("ended")
        assert run["state"] == "limited", run
    finally:
        scheduler.send_signal(signal.SIGTERM)
        scheduler.wait(10)
        scheduler.kill()

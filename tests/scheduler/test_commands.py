"""Scheduled commands: real child processes on a store whose clock the test moves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gossamer.observability.alert_rules import AlertSettings, SnapshotHistory
from gossamer.observability.alert_states import evaluate
from gossamer.observability.snapshot import Observer
from gossamer.scheduler import commands
from gossamer.state.schedules import Schedules
from scheduler.scheduler_bed import Bed

UNLIKE = (
    "import sys; print('{}'); print('gossamer: the field price is missing', file=sys.stderr); sys.exit(31)"
)
SLOW = "import sys, time; open('begun', 'a').write('x'); time.sleep(60)"


def stand_in(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Runs Python code in place of a command, for an end that no use has."""
    monkeypatch.setattr(commands, "CHILD", ("-c", code))


def log_of(place: object) -> Path:
    """Returns the path of a log. With a shared store, the name of the machine comes first."""
    return Path(str(place).partition(":")[2])


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    """Waits until a condition holds."""
    for _ in range(1000):
        if await what():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it does not happen")


async def opened(bed: Bed, number: int) -> bool:
    return len(await bed.schedules.open("s")) >= number


async def exists(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


async def test_a_due_command_runs_once_in_its_folder_and_its_output_is_kept(bed: Bed) -> None:
    bed.moved.set("2026-11-21T03:58:00Z")
    (bed.folder / "targets.csv").write_text("url,key\nhttps://shop.example/a,a\nhttps://shop.example/b,b\n")
    await bed.add_command("prices", "plan", "targets.csv", "--delay", "5", cron="0 4 * * *")
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T04:00:01Z")
        (run,) = await bed.ended(1)
        begun = await bed.heard("begun")
        ended = await bed.heard("ended")
    assert (run.state, run.exit_code, run.reason, run.crawl) == ("finished", 0, "", "")
    log = log_of(run.log)
    assert begun["log"] == run.log
    assert ended["exit_code"] == 0
    assert log == bed.folder / "data" / "schedules" / "s" / "20261121T0400.log"
    first, *rest = log.read_text().splitlines()
    assert first.endswith(" gossamer prices plan targets.csv --delay 5")
    assert any("shop.example" in line for line in rest)
    assert (await bed.schedules.need("s")).counts["runs"] == 1


async def test_the_date_of_a_run_is_in_its_words(bed: Bed) -> None:
    bed.moved.set("2026-11-21T03:58:00Z")
    (bed.folder / "2026-11-21.csv").write_text("url\nhttps://shop.example/a\n")
    await bed.add_command("prices", "plan", "{date}.csv", "--rejected", "x{3}", cron="0 4 * * *")
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T04:00:01Z")
        (run,) = await bed.ended(1)
    assert (run.state, run.exit_code) == ("finished", 0)
    assert "'x{3}'" in log_of(run.log).read_text()


async def test_a_command_that_fails_has_its_exit_code_its_message_and_an_alert(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:59:00Z")
    settings, observer = AlertSettings(), Observer(bed.store)
    history = SnapshotHistory(settings.longest)
    await bed.add_command("prices", "run", "gone.csv")
    history.add(await observer.look())
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        (run,) = await bed.ended(1)
    assert (run.state, run.exit_code) == ("failed", 2)
    assert run.reason.startswith("gone.csv: there is no such file")
    assert (await bed.schedules.need("s")).counts["failed"] == 1
    history.add(found := await observer.look())
    changed = evaluate(settings, {}, history, ["r"], found.now)
    alert = changed["GossamerScheduleMissed{schedule=s}"]
    assert alert is not None
    assert alert.state == "firing"
    assert "exit code 2 (wrong arguments): gone.csv: there is no such file" in alert.text


async def test_a_run_unlike_the_good_ones_is_a_gate(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, UNLIKE)
    bed.moved.set("2026-11-21T00:59:00Z")
    await bed.add_command("prices", "run", "targets.csv")
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        (run,) = await bed.ended(1)
    assert (run.state, run.exit_code, run.reason) == ("gate", 31, "the field price is missing")
    assert (await bed.schedules.need("s")).counts["failed"] == 1


async def test_a_folder_that_this_machine_lacks_is_named(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:59:00Z")
    task = (await bed.add_command("clean")).task
    schedule = (await bed.schedules.need("s")).schedule
    away = {**{name: getattr(task, name) for name in task.__struct_fields__}, "folder": "/no/such/folder"}
    fields = {name: getattr(schedule, name) for name in schedule.__struct_fields__}
    await bed.schedules.put(type(schedule)(**{**fields, "task": type(task)(**away)}), from_now=True)
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        (run,) = await bed.ended(1)
    assert (run.state, run.exit_code) == ("failed", 4)
    assert "there is no folder /no/such/folder on " in run.reason


async def test_clean_works_on_the_store_of_the_scheduler(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:59:00Z")
    await bed.add(name="crawl", cron="0 1 * * *")
    await bed.add_command("clean", "--what", "crawls", "--older", "1s", "--json", cron="0 2 * * *")
    async with bed.scheduler():
        await bed.heard("scheduled", 2)
        bed.moved.set("2026-11-21T01:00:01Z")
        await bed.ended(1, "crawl")
        bed.moved.set("2026-11-21T02:00:01Z")
        (run,) = await bed.ended(1)
    assert (run.state, run.exit_code) == ("finished", 0)
    (line,) = [line for line in log_of(run.log).read_text().splitlines() if line.startswith("[")]
    assert json.loads(line)[0]["count"] == 1, "the ended crawl is removed"


@pytest.mark.parametrize(("overlap", "states"), [("skip", ["skipped"]), ("queue", [])])
async def test_due_while_the_last_command_still_runs(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, overlap: str, states: list[str]
) -> None:
    stand_in(monkeypatch, SLOW)
    bed.moved.set("2026-11-21T00:59:00Z")
    await bed.add_command("audit", "https://a.example/", overlap=overlap)
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        await until(lambda: exists(bed.folder / "begun"))
        bed.moved.set("2026-11-21T02:00:01Z")
        if overlap == "skip":
            await bed.heard("skipped")
        else:
            await until(lambda: opened(bed, 2))
    assert [run.state for run in await bed.schedules.ended("s")] == states
    assert (bed.folder / "begun").read_text() == "x"


async def test_a_stopped_scheduler_leaves_the_command_to_the_next(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "TAKE_OVER_S", 0.0)
    bed.moved.set("2026-11-21T00:59:00Z")
    await bed.add_command("prices", "run", "gone.csv")
    with monkeypatch.context() as slow:
        stand_in(slow, SLOW)
        async with bed.scheduler():
            await bed.heard("scheduled")
            bed.moved.set("2026-11-21T01:00:01Z")
            await bed.heard("begun")
            await until(lambda: exists(bed.folder / "begun"))
        await bed.heard("left")
    assert [run.state for run in await bed.schedules.open("s")] == ["launched"]
    async with bed.scheduler():
        await bed.heard("taken up")
        (run,) = await bed.ended(1)
    assert (run.exit_code, run.times) == (2, 1)
    assert log_of(run.log).read_text().count(" gossamer prices run gone.csv\n") == 2


async def test_a_command_that_ended_while_its_scheduler_was_frozen_is_not_repeated(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "TAKE_OVER_S", 0.0)
    stand_in(monkeypatch, SLOW)
    bed.moved.set("2026-11-21T00:59:00Z")
    await bed.add_command("prices", "run", "targets.csv")
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        await bed.heard("begun")
        await until(lambda: exists(bed.folder / "begun"))
    await bed.heard("left")
    (run,) = await bed.schedules.open("s")
    log_of(run.log).with_suffix(".exit").write_text("5")  # as the child would have
    async with bed.scheduler():
        (run,) = await bed.ended(1)
    assert (run.state, run.exit_code) == ("failed", 5)
    assert (bed.folder / "begun").read_text() == "x"


@pytest.mark.parametrize(
    ("end", "left"), [("sys.exit(5)", "5"), ("sys.exit(0)", "0"), ("os.kill(os.getpid(), 15)", None)]
)
def test_a_command_leaves_its_exit_code_unless_it_was_stopped(
    tmp_path: Path, end: str, left: str | None
) -> None:
    code = (
        "import os, sys; import gossamer.cli.command_process as child\n"
        "def main():\n"
        f"  try: {end}\n"
        "  except KeyboardInterrupt: sys.exit(11)\n"
        "child.main = main; child.run()"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "x.exit")]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as child:
        assert child.wait(30) == (11 if left is None else int(left))
    found = (tmp_path / "x.exit").read_text() if (tmp_path / "x.exit").exists() else None
    assert found == left


async def test_missed_commands_are_reported_and_one_makes_up_for_them(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:30:00Z")
    await bed.add_command("prices", "run", "gone.csv")
    async with bed.scheduler():
        await bed.heard("scheduled")
    bed.moved.set("2026-11-21T03:05:00Z")
    async with bed.scheduler():
        missed, run = await bed.ended(2)
    assert (missed.state, missed.times, run.state) == ("missed", 2, "failed")
    assert "no scheduler ran" in missed.reason


async def test_no_more_commands_run_at_once_than_allowed(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, SLOW)
    bed.moved.set("2026-11-21T00:59:00Z")
    for name in "xyz":
        await bed.add_command("clean", name=name)
    async with bed.scheduler(at_once=2):
        await bed.heard("scheduled", 3)
        bed.moved.set("2026-11-21T01:00:01Z")
        await bed.heard("begun", 2)
        bed.moved.move(5)
        states = [run.state for name in "xyz" for run in await Schedules(bed.store).open(name)]
    assert sorted(state == "waiting" for state in states) == [False, False, True]


@pytest.mark.parametrize("end", ["closed", "silent"])
def test_a_command_ends_if_its_scheduler_is_gone(tmp_path: Path, end: str) -> None:
    """The scheduler was killed (its end of the pipe is closed), or is frozen (no heartbeat arrives)."""
    code = (
        "import gossamer.cli.command_process as child; child.BEAT_TIMEOUT_S = 1; "
        "child.main = lambda: (print('begins', flush=True), __import__('time').sleep(60)); child.run()"
    )
    words = [sys.executable, "-c", code, ""]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "begins\n"
        if end == "closed":
            child.stdin.close()
        try:
            assert child.wait(30) != 0
        finally:
            child.kill()


def test_a_command_that_is_stopped_by_a_supervisor_ends_like_after_ctrl_c(tmp_path: Path) -> None:
    code = (
        "import gossamer.cli.command_process as child; "
        "child.main = lambda: (print('begins', flush=True), __import__('time').sleep(60)); child.run()"
    )
    words = [sys.executable, "-c", code, ""]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=tmp_path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begins\n"
        os.kill(child.pid, signal.SIGTERM)
        try:
            _, said = child.communicate(timeout=30)
        finally:
            child.kill()
        assert b"KeyboardInterrupt" in said


def test_the_line_that_explains_a_failure() -> None:
    output = b"gossamer: 3 pages\n{}\ngossamer: no such file\nsummary\n"
    assert commands.last_line(output) == "no such file"
    assert commands.last_line(b"Traceback\nValueError: x\n") == "ValueError: x"
    assert commands.last_line(b"") == ""

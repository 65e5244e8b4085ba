"""Each due time becomes exactly one run: missed, overlapping, spread, changed and removed while a scheduler
runs."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest

from gossamer.frontier.crawls import Crawls
from gossamer.recrawl.due_times import start_times
from gossamer.scheduler.jobs import made
from scheduler.scheduler_bed import Bed


def hours(found: list[object]) -> list[tuple[int, str, int]]:
    return [(datetime.fromtimestamp(run.due, UTC).hour, run.state, run.times) for run in found]  # type: ignore[attr-defined]


async def test_a_due_time_is_one_crawl_with_its_own_name_and_output(bed: Bed) -> None:
    bed.moved.set("2026-11-21T03:58:00Z")
    await bed.add(cron="0 4 * * *", outputs=("{date}.jsonl", "{run}.csv"))
    async with bed.scheduler():
        await bed.heard("scheduled")
        assert await bed.schedules.ended("s") == []
        bed.moved.set("2026-11-21T04:00:01Z")
        (run,) = await bed.ended(1)
    assert (run.state, run.crawl, run.reason) == ("finished", "s-20261121T0400", "")
    assert [
        json.loads(line)["title"] for line in (bed.folder / "2026-11-21.jsonl").read_text().splitlines()
    ] == ["a"]
    assert len((bed.folder / "20261121T0400.csv").read_text().splitlines()) == 2
    assert (await Crawls(bed.store).need("s-20261121T0400")).state == "finished"
    # without repetitions, because the lead expires when the clock is moved
    said = list(dict.fromkeys(event for event, _ in bed.events))
    assert said == ["leads", "scheduled", "begun", "ended", "stops"]


async def test_the_date_of_an_output_is_that_of_the_schedule_s_zone(bed: Bed) -> None:
    schedule = await bed.add(cron="30 0 * * *", zone="Europe/Berlin", outputs=("{date}.jsonl", "{run}.csv"))
    due = datetime(2026, 11, 20, 23, 30, tzinfo=UTC).timestamp()
    run = made(schedule, schedule.task, due, due, 0)
    assert run.task is not None
    assert [path.rpartition("/")[2] for path, _ in run.task.outputs] == [
        "2026-11-21.jsonl",
        "20261120T2330.csv",
    ]


@pytest.mark.parametrize(
    ("missed", "away", "expected"),
    [
        ("run", "03:05", [(2, "missed", 2), (3, "finished", 1)]),
        # the run that is on time makes up for the missed ones
        ("run", "03:00:20", [(2, "missed", 2), (3, "finished", 1)]),
        ("run", "01:10", [(1, "finished", 1)]),
        ("skip", "03:05", [(3, "missed", 3)]),
        ("skip", "03:00:20", [(2, "missed", 2), (3, "finished", 1)]),
        ("all", "03:05", [(1, "finished", 1), (2, "finished", 1), (3, "finished", 1)]),
        ("all", "05:05", [(2, "missed", 2), (3, "finished", 1), (4, "finished", 1), (5, "finished", 1)]),
        ("all", "03:00:20", [(1, "finished", 1), (2, "finished", 1), (3, "finished", 1)]),
    ],
)
async def test_times_that_nobody_was_there_for(
    bed: Bed, missed: str, away: str, expected: list[tuple[int, str, int]]
) -> None:
    bed.moved.set("2026-11-21T00:30:00Z")
    await bed.add(missed=missed, most=3)
    async with bed.scheduler():
        await bed.heard("scheduled")
    bed.moved.set(f"2026-11-21T{away}{':00' if away.count(':') == 1 else ''}Z")
    async with bed.scheduler():
        assert hours(await bed.ended(len(expected))) == expected  # type: ignore[arg-type]
    counts = (await bed.schedules.need("s")).counts
    assert counts["runs"] == sum(state == "finished" for _, state, _ in expected)
    assert counts["missed"] == sum(times for _, state, times in expected if state == "missed")


@pytest.mark.parametrize(
    ("overlap", "expected"), [("skip", ["finished", "skipped"]), ("queue", ["finished", "finished"])]
)
async def test_due_while_the_last_run_still_goes(bed: Bed, overlap: str, expected: list[str]) -> None:
    bed.moved.set("2026-11-21T00:59:00Z")
    pages = "".join(f"<a href='/{n}'>{n}</a>" for n in range(9))
    (bed.archive / "a.example" / "index.html").write_text(pages)
    await bed.add(overlap=overlap, options={"delay": 0.3})
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        await bed.heard("begun")
        bed.moved.set("2026-11-21T02:00:01Z")
        runs = await bed.ended(2)
    assert [run.state for run in runs] == expected
    first, second = runs
    assert second.due - first.due == 3600
    if overlap == "queue":
        assert second.begun is not None
        assert first.ended is not None
        assert second.begun >= first.ended
    else:
        assert "still goes" in second.reason
        assert (await bed.schedules.need("s")).counts["skipped"] == 1


async def test_spread_and_jitter(bed: Bed) -> None:
    bed.moved.set("2026-11-21T03:58:00Z")
    targets = tuple(f"https://{host}.example/" for host in "abc")
    await bed.add(cron="0 4 * * *", targets=targets, spread=3600.0, jitter=600.0)
    due = datetime(2026, 11, 21, 4, tzinfo=UTC).timestamp()
    times = start_times("s", due, 3, 600.0, 3600.0)
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T04:00:00Z")
        await bed.decided()
        for number, at in enumerate(times):
            bed.moved.move(at - 2 - bed.moved.now())
            await asyncio.sleep(0.3)
            assert len(await bed.schedules.ended("s")) == number, "too soon"
            bed.moved.move(at + 0.5 - bed.moved.now())
            await bed.ended(number + 1)
        runs = await bed.ended(3)
    assert [run.crawl for run in runs] == [f"s-20261121T0400-{part}" for part in (1, 2, 3)]
    assert [run.at for run in runs] == times
    assert all(run.begun is not None and 0 <= run.begun - run.at < 10 for run in runs)
    rows = [
        json.loads((bed.folder / f"out-20261121T0400-{part}.jsonl").read_text())["title"]
        for part in (1, 2, 3)
    ]
    assert rows == ["a", "b", "c"]


async def test_changed_paused_and_removed_while_a_scheduler_runs(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:30:00Z")
    schedule = await bed.add(cron="0 12 * * *")
    async with bed.scheduler():
        await bed.heard("scheduled")
        await bed.add(cron="0 1 * * *")  # sooner
        await bed.heard("scheduled", 2)
        bed.moved.set("2026-11-21T01:00:01Z")
        assert hours(await bed.ended(1)) == [(1, "finished", 1)]  # type: ignore[arg-type]
        await bed.schedules.put(
            type(schedule)(**{**_fields(schedule), "cron": "0 2 * * *", "paused": True}), from_now=True
        )
        await bed.heard("paused")
        bed.moved.set("2026-11-21T02:00:01Z")
        await asyncio.sleep(0.3)
        await bed.add(cron="0 3 * * *")
        await bed.schedules.drop("s")
        await bed.heard("removed")
        bed.moved.set("2026-11-21T03:00:01Z")
        await asyncio.sleep(0.3)
    assert await bed.schedules.ended("s") == []
    assert [event for event, _ in bed.events].count("begun") == 1


def _fields(schedule: object) -> dict[str, object]:
    return {name: getattr(schedule, name) for name in schedule.__struct_fields__}  # type: ignore[attr-defined]


async def test_daylight_saving_end_to_end(bed: Bed) -> None:
    bed.moved.set("2026-03-29T00:30:00Z")
    await bed.add(cron="30 2 * * *", zone="Europe/Berlin")
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-03-29T01:00:02Z")  # 03:00 local time, because 02:30 does not exist on this day
        await bed.ended(1)
        bed.moved.set("2026-03-29T01:30:30Z")
        await asyncio.sleep(0.3)
        bed.moved.set("2026-10-25T00:29:00Z")
        await bed.ended(3)  # the missed times are one record, and one run makes up for them
        bed.moved.set("2026-10-25T00:30:02Z")  # 02:30 for the first time
        await bed.ended(4)
        bed.moved.set("2026-10-25T01:30:02Z")  # 02:30 for the second time
        await asyncio.sleep(0.3)
    runs = [run for run in await bed.ended(0) if run.times == 1 and run.state == "finished"]
    moments = [datetime.fromtimestamp(run.due, UTC).isoformat() for run in runs]
    assert moments == ["2026-03-29T01:00:00+00:00", "2026-10-24T00:30:00+00:00", "2026-10-25T00:30:00+00:00"]


@pytest.mark.parametrize(
    ("more", "state", "reason"),
    [
        ({"fail_on": ["pages<5"]}, "gate", "pages<5"),
        ({"fail_on": ["pages<1"]}, "finished", ""),
        (
            {"options": {"ca_file": "/nowhere.pem"}},
            "failed",
            "--ca_file: ca_file = /nowhere.pem: there is no such file",
        ),
        ({"outputs": ("no/such/folder/x.jsonl",)}, "failed", "x.jsonl"),
    ],
)
async def test_what_becomes_of_a_run(bed: Bed, more: dict[str, object], state: str, reason: str) -> None:
    bed.moved.set("2026-11-21T00:59:00Z")
    # a valid option may have become invalid by the time of the run
    if state == "failed" and "options" in more:
        schedule = await bed.add()
        task = type(schedule.task)(
            schedule.task.targets, {**schedule.task.options, "ca_file": "/nowhere.pem"}, schedule.task.outputs
        )
        await bed.schedules.put(type(schedule)(**{**_fields(schedule), "task": task}))
    else:
        if "outputs" in more:
            (bed.folder / "no").write_text("a file")
        await bed.add(**more)  # type: ignore[arg-type]
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        (run,) = await bed.ended(1)
    assert run.state == state
    assert reason in run.reason
    assert (await bed.schedules.need("s")).counts["failed"] == (state != "finished")


async def test_a_graceful_stop_leaves_the_run_to_the_next_scheduler(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:59:00Z")
    links = "".join(f"<a href='/{n}.html'>{n}</a>" for n in range(20))
    (bed.archive / "a.example" / "index.html").write_text(links)
    for n in range(20):
        (bed.archive / "a.example" / f"{n}.html").write_text("x")
    await bed.add(options={"delay": 0.1})
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        await bed.heard("begun")
        await asyncio.sleep(0.5)
    await bed.heard("left")
    assert [run.state for run in await bed.schedules.open("s")] == ["launched"]
    async with bed.scheduler():
        await bed.heard("taken up")
        (run,) = await bed.ended(1)
    assert run.state == "finished"
    rows = [
        json.loads(line)["url"] for line in (bed.folder / "out-20261121T0100.jsonl").read_text().splitlines()
    ]
    assert len(rows) == len(set(rows)) == 21


async def test_one_of_two_leads_and_the_other_takes_over(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:30:00Z")
    await bed.add()
    async with bed.scheduler() as first:
        await bed.heard("leads")
        async with bed.scheduler():
            await bed.heard("stands by")
            bed.moved.set("2026-11-21T01:00:01Z")
            await bed.ended(1)
            first.set()
            for _ in range(200):
                if [event for event, _ in bed.events].count("leads") >= 2:
                    break
                await asyncio.sleep(0.05)
            bed.moved.set("2026-11-21T02:00:01Z")
            runs = await bed.ended(2)
    assert hours(runs) == [(1, "finished", 1), (2, "finished", 1)]  # type: ignore[arg-type]
    assert [facts["crawl"] for event, facts in bed.events if event == "begun"] == [
        "s-20261121T0100",
        "s-20261121T0200",
    ]

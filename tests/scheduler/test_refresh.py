"""A schedule with --refresh. All of its runs belong to one crawl, and each run stores only the changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.app.job import Job
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.scheduler.jobs import start_of
from scheduler.scheduler_bed import HOST, Bed

TARGETS = (f"{HOST}/", "https://b.example/")


def titles(path: Path) -> list[str]:
    return [json.loads(line)["title"] for line in path.read_text().splitlines()] if path.exists() else []


async def test_each_run_stores_only_what_changed_since_the_last(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:58:00Z")
    await bed.add(targets=TARGETS, outputs=("{run}.jsonl",), options={"refresh": True})
    async with bed.scheduler():
        await bed.heard("scheduled")
        bed.moved.set("2026-11-21T01:00:01Z")
        await bed.ended(1)
        (bed.archive / "b.example" / "index.html").write_text("<title>other</title>")
        bed.moved.set("2026-11-21T02:00:01Z")
        await bed.ended(2)
        bed.moved.set("2026-11-21T03:00:01Z")
        found = await bed.ended(3)
    assert [(run.crawl, run.state) for run in found] == [("s", "finished")] * 3, found
    rows = [titles(bed.folder / f"20261121T0{hour}00.jsonl") for hour in (1, 2, 3)]
    assert [sorted(some) for some in rows] == [["a", "b"], ["other"], []]


async def test_parts_of_a_spread_schedule_each_have_a_crawl(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:58:00Z")
    await bed.add(targets=TARGETS, spread=2.0, options={"refresh": True})
    async with bed.scheduler():
        await bed.heard("scheduled")
        for number, hour in enumerate((1, 2), 1):
            bed.moved.set(f"2026-11-21T0{hour}:00:05Z")
            found = await bed.ended(2 * number)
    assert [run.crawl for run in found] == ["s-1", "s-2", "s-1", "s-2"]


@pytest.mark.parametrize(
    ("exists", "waiting", "begun", "expected"),
    [
        (False, 0, 0.0, (False, False)),  # the first run crawls
        (True, 0, 1e10, (True, True)),  # every later run begins a new pass
        (True, 3, 1e10, (False, True)),  # the last run left URLs waiting, which come first
        (True, 3, 0.0, (False, False)),  # a scheduler died in the middle of this run
        (True, 0, 0.0, (False, False)),
    ],
)
async def test_how_a_run_starts(
    bed: Bed, exists: bool, waiting: int, begun: float, expected: tuple[bool, bool]
) -> None:
    job = Job(targets=[f"{HOST}/"], settings=Settings(), name="s", refresh=True)
    if exists:
        await Crawls(bed.store).begin("s", Spec(job.targets), [])
        await bed.store.client.hset("{b:000}s:n", "open", str(waiting))  # type: ignore[misc]
    start = await start_of(bed.store, job, begun)
    assert (start.job.refresh, start.anew) == expected


@pytest.mark.parametrize(
    ("exists", "begun", "anew"), [(False, 0.0, False), (True, 1e10, True), (True, 0.0, False)]
)
async def test_how_a_run_by_age_starts(bed: Bed, exists: bool, begun: float, anew: bool) -> None:
    """The crawl decides whether it begins a pass, because it knows whether its last run was interrupted."""
    job = Job(targets=[f"{HOST}/"], settings=Settings(if_older=86_400.0), name="s")
    if exists:
        await Crawls(bed.store).begin("s", Spec(job.targets), [])
    assert await start_of(bed.store, job, begun) == (job, anew)


async def test_each_run_leaves_out_what_an_earlier_run_visited_recently(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:58:00Z")
    await bed.add(targets=TARGETS, outputs=("{run}.jsonl",), options={"if_older": "24h"})
    async with bed.scheduler():
        await bed.heard("scheduled")
        for number in (1, 2):
            bed.moved.set(f"2026-11-21T0{number}:00:01Z")
            found = await bed.ended(number)
            (bed.archive / "b.example" / "index.html").write_text("<title>other</title>")
    assert [(run.crawl, run.state) for run in found] == [("s", "finished")] * 2, found
    rows = [titles(bed.folder / f"20261121T0{hour}00.jsonl") for hour in (1, 2)]
    assert [sorted(some) for some in rows] == [["a", "b"], []]


async def test_a_schedule_whose_name_cannot_be_a_crawl_is_refused(bed: Bed) -> None:
    with pytest.raises(UsageError, match="not h or o"):
        await bed.add(name="h", options={"refresh": True})


async def test_runs_that_visit_again_go_on_with_one_crawl(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:58:00Z")
    options = {"revisit": "auto", "time_limit": "2s", "min_age": "1s"}
    await bed.add(targets=TARGETS, outputs=("{run}.jsonl",), options=options)
    async with bed.scheduler():
        await bed.heard("scheduled")
        for number in (1, 2):
            bed.moved.set(f"2026-11-21T0{number}:00:01Z")
            found = await bed.ended(number)
    assert [(run.crawl, run.state) for run in found] == [("s", "limited")] * 2
    rows = [titles(bed.folder / f"20261121T0{hour}00.jsonl") for hour in (1, 2)]
    assert [sorted(some) for some in rows] == [["a", "b"], []]


async def test_a_run_that_would_never_end_is_refused(bed: Bed) -> None:
    with pytest.raises(UsageError, match="--revisit never ends"):
        await bed.add(options={"revisit": "auto"})

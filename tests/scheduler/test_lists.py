"""Runs on a fleet whose targets are long lists. The scheduler continues an interrupted submission, and a
scheduler can be stopped during one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gossamer.app import producer_runner
from gossamer.app.job import Job
from gossamer.config.settings import Settings
from gossamer.frontier import producer_positions
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.scheduler import runs
from gossamer.scheduler.runs import Fleet
from scheduler.scheduler_bed import Bed

JOB = Job(targets=["long.txt.gz"], settings=Settings(), name="run")


async def nothing() -> None:
    """A confirmation callback that does nothing."""


async def begun(bed: Bed, done: bool) -> Crawls:
    """Begins a crawl whose list of targets is completely added (`done`) or not."""
    crawls = Crawls(bed.store)
    await crawls.begin("run", Spec(JOB.targets), [])
    await crawls.seeded("run")
    client: Any = bed.store.client
    await client.hset(
        producer_positions.positions_key("run"), "list long.txt.gz", json.dumps({"at": None, "done": done})
    )
    return crawls


async def test_a_list_that_a_dead_scheduler_did_not_read_to_its_end_is_gone_on_with(
    bed: Bed, monkeypatch: Any
) -> None:
    monkeypatch.setattr(runs, "CHECK_INTERVAL_S", 0.02)
    crawls, launched, again = await begun(bed, done=False), list[str | None](), asyncio.Event()
    await producer_runner._hold(bed.store, "run", "a door that lives")

    async def launch(job: Job) -> str:
        launched.append(job.name)
        await begun(bed, done=True)
        again.set()
        return "run"

    watching = asyncio.create_task(Fleet(bed.store, asyncio.Event(), launch).crawl(JOB, nothing))
    await asyncio.sleep(0.2)
    assert launched == []
    await crawls.set("run", "paused")
    await bed.store.client.delete(producer_positions.leases_key("run"))
    await asyncio.sleep(0.2)
    assert launched == []  # an operator paused the crawl
    await crawls.set("run", "running")
    await asyncio.wait_for(again.wait(), 10)
    await crawls.set("run", "finished")
    outcome = await asyncio.wait_for(watching, 10)
    assert outcome is not None
    assert (outcome.state, launched) == ("finished", ["run"])


async def test_it_stops_while_a_list_is_added(bed: Bed) -> None:
    stop, cut = asyncio.Event(), asyncio.Event()

    async def launch(job: Job) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            cut.set()
        return "run"

    watching = asyncio.create_task(Fleet(bed.store, stop, launch).crawl(JOB, nothing))
    await asyncio.sleep(0.1)
    stop.set()
    async with asyncio.timeout(5):
        assert await watching is None
    assert cut.is_set()

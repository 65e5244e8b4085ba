"""The steps of a run in the store. There is one leader at a time, and writes of a former leader are
refused."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from gossamer.scheduler.jobs import runs
from gossamer.state.schedules import Unread
from scheduler.scheduler_bed import Bed


async def test_a_former_leader_writes_nothing(bed: Bed) -> None:
    bed.moved.set("2026-11-21T00:30:00Z")
    schedule = await bed.add()
    entry = await bed.schedules.need("s")
    first = await bed.schedules.lead("one", 7)
    assert first.token
    assert (await bed.schedules.lead("two", 7)).token == 0
    bed.moved.move(8)
    second = await bed.schedules.lead("two", 7)
    assert second.token > first.token
    assert (await bed.schedules.lead("one", 7)).token == 0
    due = entry.mark + 1800
    (run,) = runs(schedule, due, late=False, now=due)
    assert await bed.schedules.due(first.token, entry, due, [run], [], {}) == -1
    assert await bed.schedules.open("s") == []
    assert await bed.schedules.due(second.token, entry, due, [run], [], {}) == 1
    assert await bed.schedules.due(second.token, entry, due, [run], [], {}) == 0  # decided already
    taken = msgspec.structs.replace(run, state="launching")
    assert await bed.schedules.turn(first.token, "s", run, taken) == -1
    assert await bed.schedules.turn(second.token, "s", run, taken) == 1
    assert await bed.schedules.turn(second.token, "s", run, taken) == 0
    assert await bed.schedules.open("s") == [taken]
    await bed.schedules.lead("two", 0)
    assert (await bed.schedules.lead("one", 7)).token > second.token


async def test_a_changed_schedule_is_not_decided_by_what_it_was(bed: Bed) -> None:
    schedule = await bed.add()
    entry = await bed.schedules.need("s")
    token = (await bed.schedules.lead("one", 7)).token
    await bed.schedules.put(msgspec.structs.replace(schedule, cron="@yearly"))
    assert await bed.schedules.due(token, entry, entry.mark + 3600, [], [], {}) == 0
    assert (await bed.schedules.need("s")).mark == entry.mark


async def test_a_launch_that_nobody_confirmed_is_made_by_the_next_leader(bed: Bed) -> None:
    """The leader died after it had marked the run as launching, before or after the launch itself. In either
    case there is one crawl."""
    bed.moved.set("2026-11-21T00:59:00Z")
    schedule = await bed.add()
    entry = await bed.schedules.need("s")
    dead = await bed.schedules.lead("dead", 7)
    due = entry.mark + 60
    (run,) = runs(schedule, due, late=False, now=due)
    assert await bed.schedules.due(dead.token, entry, due, [run], [], {}) == 1
    assert (
        await bed.schedules.turn(
            dead.token, "s", run, msgspec.structs.replace(run, state="launching", begun=due)
        )
        == 1
    )
    bed.moved.move(70)
    async with bed.scheduler():
        await bed.heard("taken up")
        (over,) = await bed.ended(1)
    assert (over.state, over.crawl) == ("finished", run.crawl)
    await asyncio.sleep(0)
    assert len(list(bed.folder.glob("out-*.jsonl"))) == 1


async def test_a_record_of_another_version_is_said_and_left_alone(bed: Bed) -> None:
    schedule = await bed.add("new")
    await bed.schedules.put(msgspec.structs.replace(schedule, version=9))
    await bed.add("known")
    async with bed.scheduler():
        told = await bed.heard("cannot be read")
        await bed.heard("scheduled")
    assert told["schedule"] == "new"
    assert "version 9" in told["reason"]
    assert await bed.schedules.names() == ["known", "new"]
    client: Any = bed.store.client
    await client.hset("{b:000}@schedule:new", "spec", '{"version": 9, "tune": "a form that nobody knows"}')
    await client.rpush(
        "{b:000}@runs:new", '{"version": 1, "due": 1, "at": 1, "state": "finished"}', '{"version": 9}'
    )
    (unread,) = [one for one in await bed.schedules.all() if isinstance(one, Unread)]
    assert "of version 9" in unread.why
    assert await bed.schedules.forget("new", 1e12, dry=False) == (0, 0)

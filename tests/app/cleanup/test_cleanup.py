"""Tests of `clean`: tables of crawls in every state, on a real store with a movable clock, show which
crawls are removed and which stay."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from app.cleanup.crawls_in_every_state import DAY, Bed
from gossamer.errors import InUse, UsageError
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.stats import CrawlStatistics
from gossamer.state.schedules import Schedule, ScheduledRun, ScheduledTask, Schedules
from gossamer.state.workers import Refusals, WorkerRecord, WorkerRecords
from gossamer.store.keys import known


async def test_a_finished_crawl_goes_at_its_age_and_not_before(bed: Bed) -> None:
    await bed.crawl("old")
    await bed.date("old")
    assert (await bed.clean())["crawls"].count == 0
    bed.moved.move(29 * DAY)
    await bed.crawl("new")
    await bed.date("new")
    assert (await bed.clean())["crawls"].count == 0
    bed.moved.move(1.1 * DAY)
    before = await bed.dump()
    would = await bed.clean(dry=True)
    assert (would["crawls"].count, await bed.dump()) == (1, before)
    size = would["crawls"].bytes
    done = await bed.clean()
    assert (done["crawls"].count, done["crawls"].bytes) == (1, size)
    assert size > 500
    assert await bed.names() == ["new"]
    left = await bed.dump()
    assert not [key for key in left if b"}old:" in key or key.endswith(b":old")]
    assert [key for key in left if not known(key.decode())] == []
    again = await bed.crawl("old")  # the crawl starts from scratch and appends to its output file
    assert (again.state, again.pages) == ("finished", 17)
    assert len((bed.folder / "old.jsonl").read_text().splitlines()) == 34


@pytest.mark.parametrize(
    "state", ["limited", "stopped", "failed", "paused", "running", "stopping", "cancelling"]
)
async def test_a_crawl_with_a_queue_is_never_touched(bed: Bed, state: str) -> None:
    """Cleaning also keeps the crawl's dead letters, seen set and committed lengths: every key keeps its
    value, byte for byte."""
    await bed.left("c", state)
    frontier = Frontier(bed.store, "c", Policy(delay=0, obey_robots=False))
    del frontier
    before = await bed.dump("c")
    assert any(b":g" in key for key in before)
    assert any(key.endswith(b"c:f") for key in before)
    bed.moved.move(1000 * DAY)
    done = await bed.clean()
    assert {part: one.count for part, one in done.items() if one.count and part != "hosts"} == {}
    assert await bed.dump("c") == before
    done = await bed.clean(older=0)
    assert await bed.dump("c") == before
    await bed.date("c", "stopped")
    assert (await bed.crawl("c")).pages == 17


@pytest.mark.parametrize(
    ("state", "seeded", "gone"),
    [
        ("finished", "1", True),
        ("cancelled", "1", True),
        ("limited", "1", True),
        ("stopped", "1", True),
        ("failed", "1", True),
        ("stopped", "0", False),
        ("failed", "0", False),
        ("paused", "1", False),
        ("running", "1", False),
        ("removing", "1", True),
    ],
)
async def test_a_crawl_without_a_queue_goes_when_it_has_ended(
    bed: Bed, state: str, seeded: str, gone: bool
) -> None:
    await bed.crawl("c")
    await bed.date("c", state)
    await cast(Any, bed.store.client.hset("gossamer:crawl:c", "seeded", seeded))
    bed.moved.move(31 * DAY)
    await bed.clean()
    assert await bed.names() == ([] if gone else ["c"])


@pytest.mark.parametrize(
    ("state", "done", "gone"),
    [
        ("stopped", "false", False),
        ("limited", "false", False),
        ("failed", "false", False),
        ("stopped", "true", True),
        ("cancelled", "false", True),
        ("finished", "true", True),
    ],
)
async def test_a_crawl_whose_producers_were_not_at_their_end_stays(
    bed: Bed, state: str, done: str, gone: bool
) -> None:
    """A crawl whose producer is unfinished (a half-read list, a watched sitemap, a topic) has an empty
    queue, but a later run continues the producer."""
    await bed.crawl("c")
    await bed.date("c", state)
    await cast(Any, bed.store.client.hset("{b:000}c:po", "list a.txt", f'{{"at": null, "done": {done}}}'))
    bed.moved.move(31 * DAY)
    await bed.clean()
    assert await bed.names() == ([] if gone else ["c"])


async def test_a_cancelled_crawl_goes(bed: Bed) -> None:
    from gossamer.frontier.crawls import drop_queue

    await bed.left("c", "cancelled")
    assert await drop_queue(bed.store, "c") > 0
    bed.moved.move(31 * DAY)
    assert (await bed.clean())["crawls"].count == 1
    assert await bed.names() == []


async def _with_letters(bed: Bed, name: str) -> int:
    """Create a finished crawl with dead letters: the targets refuse every connection."""
    from gossamer.app.job import Job
    from gossamer.app.runner import crawl

    targets = [f"http://127.0.0.1:1/{n}" for n in range(5)]
    settings = bed.settings(allow_private=("127.0.0.0/8",), ignore_robots=True, allow_port=(1,))
    return (await crawl(Job(targets=targets, settings=settings, name=name))).dead


async def test_dead_letters_by_age_and_only_of_what_has_ended(bed: Bed) -> None:
    assert await _with_letters(bed, "done") == 5
    assert await _with_letters(bed, "lives") == 5
    await bed.date("done")
    await bed.date("lives", "paused")
    bed.moved.move(10 * DAY)
    assert (await bed.clean(what=["dead"]))["dead"].count == 0
    before = await bed.dump("lives")
    assert (await bed.clean(what=["dead"], older=5 * DAY, dry=True))["dead"].count == 5
    assert (await bed.clean(what=["dead"], older=5 * DAY))["dead"].count == 5
    assert await bed.dump("lives") == before
    summary = await CrawlStatistics(bed.store).summary("done")
    assert (summary.dead, summary.failed, summary.adds_up()) == (0, 5, True)
    # the dead letters of an unfinished crawl are removed only if the call names this crawl
    assert (await bed.clean(what=["dead"], older=0, crawl="lives"))["dead"].count == 5
    assert (await CrawlStatistics(bed.store).summary("lives")).dead == 0


async def test_requeued_letters_keep_their_crawl(bed: Bed) -> None:
    await _with_letters(bed, "c")
    await bed.date("c")
    bed.moved.move(40 * DAY)
    assert await OperatorCommands(bed.store).letters("c", "requeue") == 5
    before = await bed.dump("c")
    await bed.clean()
    assert await bed.dump("c") == before


async def test_leases_of_ended_crawls_return(bed: Bed) -> None:
    await bed.left("c", "stopped")
    frontier = Frontier(bed.store, "c", Policy(delay=0, obey_robots=False))
    claims = [
        claim for bucket in range(bed.store.buckets) for claim in (await frontier.claim(bucket, 9)).claims
    ]
    assert claims
    # the worker that holds the leases may still be alive
    assert (await bed.clean(what=["leases"]))["leases"].count == 0
    open_ = (await CrawlStatistics(bed.store).summary("c")).pending
    bed.moved.move(60)
    assert (await bed.clean(what=["leases"], dry=True))["leases"].count == len(claims)
    assert (await bed.clean(what=["leases"]))["leases"].count == len(claims)
    assert await CrawlStatistics(bed.store).in_flight("c") == 0
    assert (await CrawlStatistics(bed.store).summary("c")).pending == open_
    assert (await bed.crawl("c")).pages == 17


async def test_leases_of_a_living_crawl_stay(bed: Bed) -> None:
    await bed.left("c", "paused")
    frontier = Frontier(bed.store, "c", Policy(delay=0, obey_robots=False))
    claims = [
        claim for bucket in range(bed.store.buckets) for claim in (await frontier.claim(bucket, 9)).claims
    ]
    bed.moved.move(60)
    assert (await bed.clean())["leases"].count == 0
    assert await CrawlStatistics(bed.store).in_flight("c") == len(claims)


async def test_hosts_that_nobody_asks_for(bed: Bed) -> None:
    client = bed.store.client
    await cast(Any, client.hset("{b:001}h:alone.example", mapping={"i": 0, "n": 1}))
    # no worker will ever release the busy slot of this host
    await cast(Any, client.hset("{b:001}h:lost.example", mapping={"i": 1, "n": 1}))
    await cast(Any, client.hset("{b:001}h:wanted.example", mapping={"i": 0, "n": 1}))
    await cast(Any, client.hset("{b:001}h:timed.example", mapping={"i": 0, "n": 1}))
    await client.pexpire("{b:001}h:timed.example", int(90 * DAY * 1000))
    await cast(Any, client.sadd("{b:001}c", "c"))
    await Crawls(bed.store).begin("c", Spec(targets=[]), [])
    await cast(Any, client.hset("{b:001}c:h:wanted.example", "q", 1))
    assert (await bed.clean())["hosts"].count == 0
    bed.moved.move(3 * DAY)
    assert (await bed.clean(dry=True))["hosts"].count == 2
    assert (await bed.clean())["hosts"].count == 2
    left = sorted(key.decode() for key in await client.keys("*}h:*"))
    assert left == [f"{{b:001}}h:{name}.example" for name in ("timed", "wanted")]


async def test_what_a_late_worker_left_of_a_crawl_that_is_gone(bed: Bed) -> None:
    await bed.left("lives", "stopped")
    client = bed.store.client
    await cast(Any, client.hset("{b:002}gone:n", "pages", 1))
    await cast(Any, client.rpush("{b:002}gone:q:x.example:0", "entry"))
    before = await bed.dump("lives")
    # the crawl that owns these keys may have started a moment ago
    assert (await bed.clean(what=["keys"]))["keys"].count == 0
    bed.moved.move(2 * DAY)
    done = (await bed.clean(what=["keys"]))["keys"]
    assert done.count == 2
    assert await bed.dump("gone") == {}
    assert await bed.dump("lives") == before


async def test_records_of_workers_that_are_gone(bed: Bed) -> None:
    crew = WorkerRecords(bed.store)
    for name in ("old@a", "new@a"):
        if name == "new@a":
            bed.moved.move(1.5 * DAY)
        await crew.beat(WorkerRecord(name=name, host="a", pid=1, lanes=["http"], processes=1, version="1"))
        await Refusals(bed.store).refuse(name, "c", "no such site")
        await cast(Any, bed.store.client.hset("gossamer:orders", name, "drain"))
    await bed.left("c", "paused")
    await Refusals(bed.store).refuse("new@a", "gone", "no such site")
    assert (await bed.clean(what=["workers"], dry=True))["workers"].count == 4
    assert (await bed.clean(what=["workers"]))["workers"].count == 4
    assert [worker.name for worker in await crew.all()] == ["new@a"]
    client = bed.store.client
    assert set(await cast(Any, client.hgetall("gossamer:orders"))) == {b"new@a"}
    assert set(await cast(Any, client.hgetall("gossamer:refused"))) == {b"new@a\tc"}


async def test_records_of_runs_but_for_the_last(bed: Bed) -> None:
    schedules = Schedules(bed.store)
    await schedules.put(Schedule(name="s", cron="@hourly", task=ScheduledTask(["https://a.example/"])))
    for n in range(5):
        now = bed.moved.now()
        run = ScheduledRun(due=now, at=now, state="finished", crawl=f"s-{n}", begun=now, ended=now)
        assert await schedules.turn(None, "s", None, run) == 1
        bed.moved.move(10 * DAY)
    assert (await bed.clean(what=["runs"]))["runs"].count == 3
    assert [run.crawl for run in await schedules.ended("s")] == ["s-4", "s-3"]
    bed.moved.move(100 * DAY)
    await bed.clean(what=["runs"])
    assert [run.crawl for run in await schedules.ended("s")] == ["s-4"]


async def test_cleaning_while_a_crawl_runs_costs_it_nothing(bed: Bed) -> None:
    """Repeated cleaning, with any minimum age, during a crawl does not change the result of the crawl."""
    for name in ("a", "b"):
        await bed.crawl(name)
        await bed.date(name)
    bed.moved.move(40 * DAY)
    work = asyncio.create_task(bed.crawl("c", delay=(0.2, 0.2)))
    rounds = 0
    while not work.done():
        if "c" in await bed.names():
            await bed.clean(older=0)
            rounds += 1
        await asyncio.sleep(0.01)
        await bed.date("c") if "c" in await bed.names() and not work.done() else None
    summary = work.result()
    assert rounds > 2
    assert (summary.state, summary.pages, summary.adds_up()) == ("finished", 17, True)
    assert len((bed.folder / "c.jsonl").read_text().splitlines()) == 17


async def test_a_crawl_that_is_taken_up_is_not_removed_and_one_being_removed_is_not_begun(bed: Bed) -> None:
    await bed.crawl("c")
    await bed.date("c")
    bed.moved.move(40 * DAY)
    from gossamer.frontier.crawl_lock import hold_lock

    with hold_lock(bed.data / "c", "c"):  # a process on this machine holds the lock of the crawl
        assert (await bed.clean(what=["crawls"]))["crawls"].count == 0
    await cast(Any, bed.store.client.hset("gossamer:crawl:c", "state", "removing"))
    with pytest.raises(InUse, match="is being removed"):
        await bed.crawl("c")
    assert (await bed.clean(what=["crawls"]))["crawls"].count == 1
    assert (await bed.crawl("c")).pages == 17


async def test_wrong_words(bed: Bed) -> None:
    with pytest.raises(UsageError, match="did you mean crawls"):
        await bed.clean(what=["crawl"])
    with pytest.raises(UsageError, match="no crawl is named"):
        await bed.clean(crawl="nobody")
    await bed.crawl("c")
    with pytest.raises(UsageError, match="crawls or dead"):
        await bed.clean(crawl="c", what=["hosts"])

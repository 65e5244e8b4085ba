"""Tests of control commands for a crawl that changes its state at the same time, or that belongs to a
fleet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from cli.test_control_commands import A, B, Desk, desk, fill, state
from gossamer.app import steering
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.visit import Settle
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.state.workers import WorkerRecord, WorkerRecords
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store

__all__ = ["desk"]


@pytest.mark.parametrize("verb", ["pause", "stop", "cancel"])
def test_a_crawl_that_ends_while_a_verb_looks_at_it_stays_ended(desk: Desk, verb: str) -> None:
    async def late(store: Store) -> tuple[str, int]:
        await fill(store, "one", pid=os.getpid())
        seen = await Crawls(store).need("one")
        await Crawls(store).set("one", "cancelled")
        act: Callable[..., Awaitable[tuple[str, int]]] = getattr(steering, f"_{verb}")
        return await act(Crawls(store), seen, True)

    said, code = desk.do(late)
    assert code == 0
    assert "cancelled" in said
    assert "kept" not in said
    assert state(desk) == "cancelled"


def test_a_crawl_of_a_fleet_without_workers_is_stopped_and_named_as_it_was_submitted(desk: Desk) -> None:
    async def submitted(store: Store) -> None:
        await fill(store, "one")
        await FleetCrawls(store).submit("one", b"{}")

    desk.do(submitted)
    _, _, err = desk("stop", "one")
    assert (
        "no worker of the fleet is at work. Continue with: gossamer submit https://a.example/ --name one"
        in err
    )
    assert "gossamer submit" in desk("resume", "one")[2]


def test_top_prints_json_when_it_is_asked_to(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert [crawl["crawl"] for crawl in desk.json("top", "--once")["crawls"]] == ["one"]


def worker(state: str, lane: str = "http") -> WorkerRecord:
    return WorkerRecord(
        name="w@here", host="here", pid=1, lanes=[lane], processes=1, version="1", state=state
    )


@pytest.mark.parametrize(("verb", "ends"), [("stop", "stopped"), ("cancel", "cancelled")])
@pytest.mark.parametrize("doing", ["draining", "stopping"])
def test_workers_that_begin_nothing_more_end_no_crawl(desk: Desk, verb: str, ends: str, doing: str) -> None:
    async def submitted(store: Store) -> None:
        await fill(store, "one")
        await FleetCrawls(store).submit("one", b"{}")
        await WorkerRecords(store).beat(worker(doing))

    desk.do(submitted)
    said = desk.json(verb, "one")
    assert said["state"] == ends
    assert "has not ended" not in said["said"]


@pytest.mark.parametrize(("verb", "ends"), [("stop", "stopped"), ("cancel", "cancelled")])
@pytest.mark.parametrize("when", [0.0, 0.5], ids=["before", "meanwhile"])
def test_workers_that_were_told_so_just_now_end_no_crawl_either(
    desk: Desk, verb: str, ends: str, when: float
) -> None:
    """Workers receive the order immediately, and their records show the new state two seconds later."""

    async def told(store: Store) -> tuple[str, int]:
        await fill(store, "one")
        await FleetCrawls(store).submit("one", b"{}")
        crew, crawls = WorkerRecords(store), Crawls(store)
        await crew.beat(worker("running"))
        seen = await crawls.need("one")
        if not when:
            await crew.order("all", "drain")
        act: Callable[..., Awaitable[tuple[str, int]]] = getattr(steering, f"_{verb}")
        ending = asyncio.create_task(act(crawls, seen, await steering._served(crawls, seen)))
        await asyncio.sleep(when)
        if when:
            await crew.order("all", "drain")
        return await ending

    assert "has not ended" not in desk.do(told)[0]
    assert state(desk) == ends


def test_what_a_draining_worker_is_at_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command waits for the claims of a draining worker before it ends the crawl, so a dropped queue
    is complete."""
    monkeypatch.setattr(steering, "END_TIMEOUT_S", 0.3)

    async def at_work(store: Store) -> tuple[bool, bool]:
        await fill(store, "one")
        await FleetCrawls(store).submit("one", b"{}")
        crew, crawls = WorkerRecords(store), Crawls(store)
        await crew.beat(worker("running"))
        lives = await steering._served(crawls, await crawls.need("one"))
        await crew.beat(worker("draining"))
        frontier = Frontier(store, "one", Policy(delay=0, obey_robots=False))
        (claim,) = (await frontier.claim(bucket_of(B, store.buckets), 1)).claims
        waited = asyncio.create_task(steering._served(crawls, await crawls.need("one")))
        await asyncio.sleep(0.15)
        assert not waited.done()
        await frontier.settle(claim.bucket, [Settle(claim.token, "b", since=-1)], {}, {})
        await asyncio.sleep(0.15)
        assert waited.done()
        return lives, await waited

    assert desk.do(at_work) == (True, False)


def test_a_host_is_named_as_its_urls_are(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    waiting = desk.json("priority", "one", "3", "--host", B)["urls"]
    assert waiting == 6
    assert desk.json("priority", "one", "4", "--host", f"http://{B.upper()}/path")["urls"] == waiting
    letters = desk.json("dead", "list", "one", "--host", A)
    assert letters["host"] == A
    assert desk.json("dead", "list", "one", "--host", f"https://{A}/") == letters
    assert desk("priority", "one", "3", "--host", "")[0] == 2


def test_a_pause_says_what_was_paused_and_until_when(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert "geheim" not in desk("host", "pause", f"http://me:geheim@{B}/")[1]
    assert "paused until it is resumed" in desk("host", "show", B)[1]
    desk("host", "pause", B, "--for", "2h")
    assert "paused, 1h 59m left" in desk("host", "show", B)[1]
    for words in (
        ("host", "pause", B, "--for", "0"),
        ("host", "pause", "*.example.com"),
        ("host", "rate", "*", "1"),
    ):
        code, out, err = desk(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_what_stays_fixed_is_said(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    desk("host", "rate", B, "1", "--per-host", "4")
    assert "4 at once, as fixed before; --per-host 0 ends that" in desk("host", "rate", B, "auto")[1]
    desk("host", "rate", B, "auto", "--per-host", "0")
    assert "at once" not in desk("host", "rate", B, "auto")[1]


def test_a_cap_of_a_lane_that_nobody_serves_is_told(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one"))
    assert desk("rate", "slow", "5")[2] == "", "a crawl of one process serves all lanes"
    desk.do(lambda store: WorkerRecords(store).beat(worker("running", "slow")))
    assert desk("rate", "slow", "5")[2] == ""
    assert desk("rate", "slwo", "5")[2] == "gossamer: no worker serves the lane slwo now; there are: slow\n"

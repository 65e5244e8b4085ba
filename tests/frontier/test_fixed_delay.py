"""A delay that an operator fixes for a host. The delay applies from now on until it is removed, and is never
taken for a learned delay."""

from __future__ import annotations

import asyncio

import pytest

from frontier.claims import A, Beds
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.stats import CrawlStatistics
from gossamer.store.keys import tag
from gossamer.store.store import Store

HOST = "a.example"
SLOW, QUICK = 20_000, 100


async def starts_in(store: Store) -> float:
    """Returns the seconds until the next request to the host is allowed."""
    return (await CrawlStatistics(store).host(HOST)).next


@pytest.mark.parametrize("uncommitted", [True, False], ids=["landed", "under way"])
async def test_a_shorter_delay_holds_from_now_on(bed: Beds, store: Store, uncommitted: bool) -> None:
    b = bed(delay=SLOW)
    await b.add(*(f"{A}/{n}" for n in range(9)))
    (claim,) = await b.claim()
    if uncommitted:
        await b.end(claim, delay=SLOW)
        assert await starts_in(store) > 15
    await OperatorCommands(store).rate(HOST, QUICK / 1000)
    if not uncommitted:
        await b.end(claim, delay=SLOW)
    assert await starts_in(store) <= QUICK / 1000
    await asyncio.sleep(QUICK / 1000)
    assert len(await b.claim()) == 1


async def test_what_is_undone_holds_nobody_up(bed: Beds, store: Store) -> None:
    b, steer = bed(delay=QUICK), OperatorCommands(store)
    await b.add(*(f"{A}/{n}" for n in range(9)))
    await steer.rate(HOST, SLOW / 1000)
    (claim,) = await b.claim()
    await b.end(claim, delay=SLOW)
    assert await starts_in(store) > 15
    await steer.rate(HOST, None)
    assert await starts_in(store) <= QUICK / 1000
    await asyncio.sleep(QUICK / 1000)
    (claim,) = await b.claim()
    assert claim.delay == QUICK / 1000


async def test_a_delay_fixed_by_hand_is_none_that_was_learned(bed: Beds, store: Store) -> None:
    b, steer = bed(delay=-1), OperatorCommands(store)
    await b.add(*(f"{A}/{n}" for n in range(9)))
    (claim,) = await b.claim()
    await b.end(claim, delay=QUICK, pace="0.050,0,0")
    await steer.rate(HOST, 0.3)
    await asyncio.sleep(0.3)
    (claim,) = await b.claim()
    await b.end(claim, delay=300, pace="0.050,0,0")
    await steer.rate(HOST, SLOW / 1000)
    await steer.rate(HOST, None)
    view = await CrawlStatistics(store).host(HOST)
    assert (view.delay, view.fixed_delay) == (QUICK / 1000, None)
    assert view.next <= QUICK / 1000


async def test_a_host_that_asked_for_time_gets_it(bed: Beds, store: Store) -> None:
    b = bed(delay=QUICK)
    await b.add(*(f"{A}/{n}" for n in range(9)))
    (claim,) = await b.claim()
    await b.end(claim, "r", reason="rate-limited", delay=SLOW, pace="0.050,1,0", host_wait=SLOW)
    await OperatorCommands(store).rate(HOST, QUICK / 1000)
    assert await starts_in(store) > 15


async def test_a_crawl_delay_stays_the_floor(bed: Beds, store: Store) -> None:
    b = bed(delay=SLOW)
    await b.add(*(f"{A}/{n}" for n in range(9)))
    (claim,) = await b.claim()
    await b.end(claim, delay=SLOW)
    await store.client.hset(f"{tag(0)}h:{HOST}", "cd", "5000")  # type: ignore[misc] # redis's types join both kinds
    await OperatorCommands(store).rate(HOST, QUICK / 1000)
    assert 4 < await starts_in(store) <= 5


async def test_what_was_fixed_outlives_the_host_s_rest(bed: Beds, store: Store) -> None:
    b, steer, key = bed(), OperatorCommands(store), f"{tag(0)}h:{HOST}"
    await b.add(*(f"{A}/{n}" for n in range(9)))
    days = 86_400_000
    for fix, undo in (
        (steer.rate(HOST, 1.0), steer.rate(HOST, None)),
        (steer.at_once(HOST, 3), steer.at_once(HOST, None)),
    ):
        await fix
        await b.claim(1)
        assert await store.client.pttl(key) > 3000 * days
        await undo
        assert await store.client.pttl(key) <= 2 * days

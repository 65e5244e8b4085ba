"""The working time of a fleet's crawl: every second between its first worker and its end counts once."""

from __future__ import annotations

import asyncio

from gossamer.frontier.crawls import Crawls, Spec, store_time
from gossamer.state.fleet_crawls import MAX_UNCOUNTED_S, FleetCrawls
from gossamer.store.store import Store


async def submitted(store: Store) -> FleetCrawls:
    await Crawls(store).begin("c", Spec([]), [], state="paused")
    crawls = FleetCrawls(store)
    await crawls.submit("c", b"{}")
    return crawls


async def spent(store: Store) -> float:
    return (await Crawls(store).need("c")).spent


async def test_a_crawl_that_ends_before_the_leader_counts_has_its_time(store: Store) -> None:
    crawls = await submitted(store)
    began = await store_time(store)
    await crawls.begin_time("c")
    await asyncio.sleep(0.02)
    await crawls.turn("c", "running", "ending", ends_as="finished")
    assert 0.02 <= await spent(store) <= await store_time(store) - began + 0.001


async def test_each_second_counts_once(store: Store) -> None:
    crawls = await submitted(store)
    began = await store_time(store)
    for _ in range(3):
        await crawls.begin_time("c")  # every worker begins
        await asyncio.sleep(0.01)
        await crawls.count_time("c", 60)
    await crawls.turn("c", "running", "ending")
    found = await spent(store)
    assert 0.03 <= found <= await store_time(store) - began + 0.001
    await crawls.turn("c", "ending", "finished")
    await crawls.count_time("c", 60)
    assert await spent(store) == found


async def test_time_without_workers_does_not_count(store: Store) -> None:
    crawls = await submitted(store)
    await crawls.count_time("c", 60)
    assert await spent(store) == 0, "no worker has begun"
    await crawls.begin_time("c")
    past = await store_time(store) - 3600
    await store.client.hset("gossamer:crawl:c", "timed_at", repr(past))
    await crawls.count_time("c", 2.0)
    assert await spent(store) == 2.0
    await store.client.hset("gossamer:crawl:c", "timed_at", repr(past))
    await crawls.turn("c", "running", "ending")
    assert await spent(store) == 2.0 + MAX_UNCOUNTED_S

"""A crawl that is removed leaves its hosts free for other crawls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from frontier.claims import A, Beds, paths
from gossamer.frontier.crawls import drop_queue, forget_crawl
from gossamer.store.store import Store

Clear = Callable[[Store, str], Awaitable[Any]]


@pytest.mark.parametrize("clear", [forget_crawl, drop_queue])
@pytest.mark.parametrize("obey", [False, True])
async def test_claims_of_a_dead_process_hold_no_host_up(
    bed: Beds, store: Store, clear: Clear, obey: bool
) -> None:
    dead = bed("dead", per_host=1, obey_robots=obey, first_delay=0)
    await dead.add(f"{A}/1", f"{A}/2")
    assert [claim.kind for claim in await dead.claim()] == ["robots" if obey else "page"]
    other = bed("other", per_host=1, obey_robots=obey, first_delay=0)
    await other.add(f"{A}/3")
    assert await other.claim() == []
    await clear(store, "dead")
    while not (got := await other.claimed()).claims:
        assert got.next_at > 0, "the host is shut"
        # the host waits for its delay, because the dead process may just have sent a request
        await asyncio.sleep(0.01)
    assert paths(got.claims) == ["/robots.txt" if obey else "/3"]


async def test_a_forgotten_crawl_leaves_nothing_but_its_hosts(bed: Beds, store: Store) -> None:
    b = bed("gone")
    await b.add(f"{A}/1", "https://b.example/2")
    await b.claim()
    await forget_crawl(store, "gone")
    left = sorted([key.decode() async for page in store.scan("*") for key in page])
    assert left == ["gossamer", "{b:000}@totals", "{b:000}e", "{b:000}h:a.example", "{b:000}h:b.example"]


async def test_a_cancelled_crawl_still_adds_up(bed: Beds, store: Store) -> None:
    b = bed("one")
    await b.add(f"{A}/1", f"{A}/2", "https://b.example/2")
    await b.claim(1)
    assert await drop_queue(store, "one") == 3
    assert (await b.counts())["failed"] == (await b.counts())["err:expired"] == 3
    assert await b.adds_up()

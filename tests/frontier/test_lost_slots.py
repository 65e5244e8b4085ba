"""Slots that no lease holds are found and freed, and removing a crawl never leaves any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from frontier.claims import A, Beds, paths
from gossamer.frontier import crawls, lost_slots
from gossamer.frontier.crawls import drop_queue, forget_crawl
from gossamer.store import keys
from gossamer.store.store import Store


async def lose_leases(store: Store, crawl: str) -> None:
    """Deletes the leases of a crawl without freeing their slots, as no script does."""
    for bucket in range(store.buckets):
        for name in ("l", "lp"):
            await store.client.delete(f"{keys.tag(bucket)}{crawl}:{name}")


@pytest.mark.parametrize("obey", [False, True])
async def test_a_slot_without_a_lease_is_named_and_freed(bed: Beds, store: Store, obey: bool) -> None:
    b = bed("one", per_host=2, obey_robots=obey, first_delay=0, delay=0)
    other = bed("two", per_host=2, obey_robots=obey, first_delay=0, delay=0)
    await b.add(f"{A}/1", f"{A}/2")
    await other.add(f"{A}/3")
    assert await b.claim()
    assert await lost_slots.wrong_hosts(store, correct=True) == []
    await lose_leases(store, "one")
    assert await other.claim() == []
    [wrong] = await lost_slots.wrong_hosts(store, correct=False)
    assert (wrong.host, wrong.leases, wrong.robots) == ("a.example", 0, obey)
    assert f"{wrong.in_flight} requests in flight, but 0 leases" in str(wrong)
    assert await other.claim() == [], "looking changes nothing"
    assert await lost_slots.wrong_hosts(store, correct=True) == [wrong]
    assert paths(await other.claim()) == ["/robots.txt" if obey else "/3"]
    assert await lost_slots.wrong_hosts(store, correct=False) == []


async def test_slots_of_other_leases_stay(bed: Beds, store: Store) -> None:
    lost = bed("lost", per_host=3, first_delay=0, delay=0)
    kept = bed("kept", per_host=3, first_delay=0, delay=0)
    await lost.add(f"{A}/1")
    await lost.claim()
    await kept.add(*(f"{A}/{n}" for n in range(2, 9)))
    claims = await kept.claim()
    assert len(claims) == 2
    await lose_leases(store, "lost")
    assert [(one.in_flight, one.leases) for one in await lost_slots.wrong_hosts(store, correct=True)] == [
        (3, 2)
    ]
    assert len(await kept.claim()) == 1


async def test_a_lease_without_a_slot_is_named_and_gets_one(bed: Beds, store: Store) -> None:
    b = bed("one", per_host=1, first_delay=0, delay=0)
    await b.add(f"{A}/1", f"{A}/2")
    assert len(await b.claim()) == 1
    await store.client.hset(f"{keys.tag(keys.bucket_of('a.example', store.buckets))}h:a.example", "i", 0)
    [wrong] = await lost_slots.wrong_hosts(store, correct=True)
    assert str(wrong) == "a.example: 0 requests in flight, but 1 leases"
    assert await lost_slots.wrong_hosts(store, correct=False) == []
    assert await b.claim() == [], "the host has one slot"


async def test_a_wrong_number_of_queued_urls_is_corrected(bed: Beds, store: Store) -> None:
    b = bed("one", per_host=1, first_delay=0)
    await b.add(f"{A}/1", f"{A}/2", f"{A}/3")
    assert len(await b.claim()) == 1
    host = f"{keys.tag(keys.bucket_of('a.example', store.buckets))}one:h:a.example"
    await store.client.hset(host, "q", 7)
    [wrong] = await lost_slots.wrong_hosts(store, correct=True)
    assert str(wrong) == "a.example: a wrong number of queued URLs"
    assert int(await store.client.hget(host, "q")) == 2


async def test_one_worker_of_a_store_sweeps(bed: Beds, store: Store) -> None:
    b = bed("one", first_delay=0)
    await b.add(f"{A}/1")
    await b.claim()
    await lost_slots.sweep(store)
    await lose_leases(store, "one")
    await lost_slots.sweep(store)
    assert await lost_slots.wrong_hosts(store, correct=False), "another worker has just swept"
    await store.client.delete(keys.SWEPT)
    await lost_slots.sweep(store)
    assert await lost_slots.wrong_hosts(store, correct=False) == []


@pytest.mark.parametrize("clear", [forget_crawl, drop_queue])
async def test_a_worker_that_still_claims_loses_no_slot(
    bed: Beds, store: Store, clear: Callable[[Store, str], Awaitable[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker adds and claims a URL while its crawl is removed."""
    b = bed("one", per_host=3, first_delay=0, delay=0)
    await b.add(f"{A}/1")
    assert await b.claim()
    give_back, times = crawls._give_back, 0

    async def then_claim(*args: Any) -> Any:
        nonlocal times
        given = await give_back(*args)
        if (times := times + 1) == 1:  # as the links of a page that is settled now
            await b.add("https://b.example/1")
            assert await b.claim()
        return given

    monkeypatch.setattr(crawls, "_give_back", then_claim)
    await clear(store, "one")
    assert await lost_slots.wrong_hosts(store, correct=False) == []


@pytest.mark.parametrize("level", [0, 7])
@pytest.mark.parametrize("clear", [forget_crawl, drop_queue])
async def test_urls_that_are_added_during_a_cancel_are_counted(
    bed: Beds, store: Store, clear: Callable[[Store, str], Awaitable[Any]], level: int
) -> None:
    b = bed("one", per_host=3, first_delay=0, delay=0)
    hosts = [f"https://h{n}.example" for n in range(50)]
    for turn in range(10):
        await b.add(*(f"{host}/{turn}-{n}" for host in hosts for n in range(3)))
        drop = asyncio.ensure_future(clear(store, "one"))
        number = 0
        while not drop.done():
            number += 1
            await b.add(f"{hosts[number % 50]}/late-{turn}-{number}", priority=level)
        await drop
        assert await lost_slots.wrong_hosts(store, correct=False) == []
    await b.add(*(f"{host}/last" for host in hosts))
    claimed: list[str] = []
    while claims := await b.claim():
        claimed += paths(claims)
        for claim in claims:
            await b.end(claim)
    assert claimed.count("/last") == 50

"""The buckets that a worker asks for claims, and the number of claims, in a real Valkey. They depend on the
heaps that the worker serves and on the caps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gossamer.frontier.frontier_client import Frontier
from gossamer.frontier.policy import Policy
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Claim
from gossamer.state.rates import Caps, Rates
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store, connect
from gossamer.worker.claim_poller import ClaimPoller

BUCKETS = 4
HOSTS = [f"h{n}.example" for n in range(12)]


@pytest.fixture
async def wide(valkey_url: str) -> AsyncIterator[Store]:
    """A store of several buckets."""
    store = connect(valkey_url)
    await store.open(BUCKETS, "test")
    yield store
    await store.close()


def frontier(store: Store, *lanes: str) -> Frontier:
    return Frontier(store, "c", Policy(delay=0, per_host=1000, obey_robots=False, lanes=lanes or None))


async def add(one: Frontier, lane: str, hosts: list[str]) -> None:
    adds: Adds = {}
    for host in hosts:
        _, stored = pack(Request(f"http://{host}/"))
        half = one.remainder(hash((host, "s")) & (2**64 - 1))
        adds[bucket_of(host, BUCKETS), host, 0, lane, "o", ""] = [*half, stored]
    await one.add(adds)


async def asked(asking: ClaimPoller, want: int = 100) -> list[Claim]:
    return [claim for one in await asking.claims(want) for claim in one.claims]


@pytest.mark.parametrize(
    ("lanes", "served"),
    [(("http",), HOSTS[:4]), (("slow", "slow@eu"), HOSTS[4:]), (("slow",), HOSTS[4:8]), ((), HOSTS)],
)
async def test_buckets_are_asked_for_the_heaps_that_are_served(
    wide: Store, lanes: tuple[str, ...], served: list[str]
) -> None:
    one = frontier(wide, *lanes)
    await add(one, "http", HOSTS[:4])
    await add(one, "slow", HOSTS[4:8])
    await add(one, "slow@eu", HOSTS[8:])
    assert set(await one.all_buckets.due()) == {bucket_of(host, BUCKETS) for host in served}
    assert sorted(claim.host for claim in await asked(ClaimPoller(one, BUCKETS))) == sorted(served)


async def test_hosts_that_are_left_to_better_workers_are_due_later(wide: Store) -> None:
    one = frontier(wide, "http")
    await add(one, "http", HOSTS)
    one.waits = (60_000, 0)
    assert all(50 < bucket.wait <= 60 for bucket in (await one.all_buckets.due()).values())
    assert await asked(ClaimPoller(one, BUCKETS)) == []
    one.waits = (0, 60_000)
    assert len(await asked(ClaimPoller(one, BUCKETS))) == len(HOSTS)


async def test_caps_bound_what_is_asked_for(wide: Store) -> None:
    one, rates = frontier(wide, "http"), Rates(wide)
    asking = ClaimPoller(one, BUCKETS, Caps(wide, ("http",)))
    await add(one, "http", HOSTS)
    await rates.set("http", 2.0)
    assert len(await asked(asking)) == 1
    assert (await asked(asking), asking.next_at > 0) == ([], True)
    await rates.set("http", None)
    await asyncio.sleep(0.55)
    assert len(await asked(asking)) == len(HOSTS) - 1


async def test_what_was_not_claimed_goes_back_to_the_cap(wide: Store) -> None:
    one, rates = frontier(wide, "http"), Rates(wide)
    asking = ClaimPoller(one, BUCKETS, Caps(wide, ("http",)))
    await add(one, "http", HOSTS[:2])
    await rates.set("http", 50.0)
    assert len(await asked(asking)) == 2
    assert (await rates.permits(100, ("http",)))[0] >= 3, "a tenth of a second less the two"


class Wide:
    """Adds URLs of given levels to new hosts in a given bucket."""

    def __init__(self, one: Frontier, buckets: int) -> None:
        self.one, self.number = one, 0
        self.hosts: dict[int, list[str]] = {bucket: [] for bucket in range(buckets)}
        while min(map(len, self.hosts.values())) < 60:
            self.number += 1
            host = f"w{self.number}.example"
            self.hosts[bucket_of(host, buckets)].append(host)

    async def add(self, bucket: int, level: int, n: int) -> None:
        """Adds a URL to each of `n` new hosts."""
        adds: Adds = {}
        for _ in range(n):
            host = self.hosts[bucket].pop()
            _, stored = pack(Request(f"http://{host}/", priority=level))
            half = self.one.remainder(hash((host, level)) & (2**64 - 1))
            adds[bucket, host, level, "http", "o", ""] = [*half, stored]
        await self.one.add(adds)


@pytest.fixture
async def spread(any_url: str) -> AsyncIterator[Store]:
    """A store of several buckets, on one server and on a Cluster."""
    store = connect(any_url)
    await store.open(BUCKETS, "test")
    yield store
    await store.close()


def priorities(claims: list[Claim]) -> list[int]:
    return [claim.request.priority for claim in claims]


async def test_urgent_hosts_of_one_bucket_come_before_ordinary_ones_of_all(spread: Store) -> None:
    one = frontier(spread, "http")
    web = Wide(one, BUCKETS)
    for bucket in range(BUCKETS):
        await web.add(bucket, 0, 20)
    await web.add(2, 5, 20)
    found = priorities(await asked(ClaimPoller(one, BUCKETS), 16))
    assert (len(found), found.count(5)) == (16, 15), "and the one that is due longest"
    found = priorities(await asked(ClaimPoller(one, BUCKETS), 100))
    assert found.count(5) == 5
    assert len(found) > 60, "what room is left goes to the others"


async def test_a_few_urgent_hosts_in_each_of_many_buckets_come_first(spread: Store) -> None:
    """A small round asks a few buckets at first, and then the other buckets with the highest rank."""
    one = frontier(spread, "http")
    web = Wide(one, BUCKETS)
    for bucket in range(BUCKETS - 1):
        await web.add(bucket, 5, 1)
    await web.add(BUCKETS - 1, 0, 20)
    found = priorities(await asked(ClaimPoller(one, BUCKETS), 4))
    assert (len(found), found.count(5)) == (4, BUCKETS - 1)


async def test_levels_of_all_buckets_come_in_their_order(spread: Store) -> None:
    one = frontier(spread, "http")
    web = Wide(one, BUCKETS)
    for bucket, level in ((0, 9), (1, 4), (2, -3), (3, 4), (0, 4), (1, 0), (3, 9), (2, 0)):
        await web.add(bucket, level, 4)
    asking, found = ClaimPoller(one, BUCKETS), list[int]()
    while len(found) < 32:
        got = priorities(await asked(asking, 6))
        assert got
        found += got
    assert sorted(found[:14], reverse=True)[:7] == [9] * 7, "at most one in eight is another"
    assert sum(found[:16]) >= 8 * 9 + 6 * 4 - 3 - 3
    assert found[-1] < 4


async def test_no_bucket_starves_beside_urgent_ones(spread: Store) -> None:
    """Urgent hosts are added to one bucket again and again. The ordinary host of another bucket still gets
    its turn."""
    one = frontier(spread, "http")
    web, asking, turns = Wide(one, BUCKETS), ClaimPoller(one, BUCKETS), 0
    await web.add(3, 0, 2)
    for _ in range(20):
        await web.add(0, 7, 4)
        found = priorities(await asked(asking, 2))
        turns += len(found)
        if found.count(0):
            break
    else:
        pytest.fail("it never came")
    assert turns <= 18


async def test_an_urgent_url_that_is_added_to_another_bucket_is_seen(spread: Store) -> None:
    one = frontier(spread, "http")
    web, asking = Wide(one, BUCKETS), ClaimPoller(one, BUCKETS)
    for bucket in range(BUCKETS):
        await web.add(bucket, 0, 20)
    assert set(priorities(await asked(asking, 6))) == {0}
    await web.add(1, 3, 4)
    asking.touch(1)
    assert priorities(await asked(asking, 6)).count(3) >= 4


async def test_with_limits_of_the_crawl_the_order_is_the_same(spread: Store) -> None:
    one = frontier(spread, "http")
    one.change_policy(limit=30)
    web = Wide(one, BUCKETS)
    for bucket in range(BUCKETS):
        await web.add(bucket, 0, 20)
    await web.add(2, 5, 12)
    assert priorities(await asked(ClaimPoller(one, BUCKETS), 8)).count(5) >= 7


async def test_a_crawl_of_one_level_asks_as_before(wide: Store) -> None:
    """One call asks all due buckets, and no bucket gets an extra call for its turn."""
    one = frontier(wide, "http")
    web, asking = Wide(one, BUCKETS), ClaimPoller(one, BUCKETS)
    for bucket in range(BUCKETS):
        await web.add(bucket, 4, 20)
    await asked(asking, 4)
    before = wide.used
    assert len(await asked(asking, 16)) == 16
    assert wide.used - before == BUCKETS


async def test_it_tells_a_cap_from_hosts_that_wait(wide: Store) -> None:
    one = frontier(wide)
    await add(one, "http", HOSTS)
    await Rates(wide).set("http", 1)
    poller = ClaimPoller(one, BUCKETS, Caps(wide, ("http",)))
    await asked(poller)
    assert poller.capped
    await Rates(wide).set("http", None)
    free = ClaimPoller(one, BUCKETS, Caps(wide, ("http",)))
    await asked(free)
    assert (free.capped, free.short) == (False, True)

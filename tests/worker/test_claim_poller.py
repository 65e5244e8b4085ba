"""Which buckets are asked, and for how much: the heaps that a worker serves, the caps that it is under;
against a real Valkey."""

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
    assert set(await one.everywhere.due()) == {bucket_of(host, BUCKETS) for host in served}
    assert sorted(claim.host for claim in await asked(ClaimPoller(one, BUCKETS))) == sorted(served)


async def test_hosts_that_are_left_to_better_workers_are_due_later(wide: Store) -> None:
    one = frontier(wide, "http")
    await add(one, "http", HOSTS)
    one.waits = (60_000, 0)
    assert all(50 < bucket.wait <= 60 for bucket in (await one.everywhere.due()).values())
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

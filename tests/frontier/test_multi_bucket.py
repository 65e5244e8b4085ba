"""Verbs over many buckets at once, on a server and on a Cluster. The result is the same as with one bucket
after another, and a single server applies a call completely or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from gossamer.errors import Moved, Stale
from gossamer.frontier import multi_bucket
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Claim, Commit, Settle
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store, connect
from gossamer.worker.claim_poller import POLL_ALL_INTERVAL_S, QUIET_S, ClaimPoller

HOSTS = [f"h{n}.site{n}.example" for n in range(40)]


@pytest.fixture
async def store(any_url: str) -> AsyncIterator[Store]:
    opened = connect(any_url)
    await opened.open(opened.usual_buckets, "test")
    yield opened
    await opened.close()


def frontier_of(store: Store, **policy: object) -> Frontier:
    return Frontier(store, "c", Policy(**({"obey_robots": False, "delay": 0, "per_host": 9} | policy)))  # type: ignore[arg-type]


def links(frontier: Frontier, *names: str, hosts: list[str] = HOSTS) -> Adds:
    adds: Adds = {}
    for host in hosts:
        for name in names:
            _, entry = pack(Request(f"http://{host}/{name}"))
            group = (bucket_of(host, frontier.store.buckets), host, 0, "http", "o", "")
            adds.setdefault(group, []).extend((*frontier.remainder(hash((host, name)) & (2**64 - 1)), entry))
    return adds


def buckets(store: Store) -> list[int]:
    return sorted({bucket_of(host, store.buckets) for host in HOSTS})


async def all_claims(frontier: Frontier, k: int = 9) -> list[Claim]:
    got = await frontier.all_buckets.claim([(bucket, k) for bucket in await frontier.all_buckets.due()])
    return [claim for one in got for claim in one.claims]


def commits(claims: list[Claim]) -> list[Commit]:
    found: dict[int, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.bucket, []).append(claim)
    return [
        Commit(b, [Settle(c.token, "d", since=0) for c in some], {"pages": len(some)}, {})
        for b, some in sorted(found.items())
    ]


async def test_what_is_due_is_seen_claimed_and_settled_everywhere(store: Store) -> None:
    frontier = frontier_of(store)
    assert await frontier.all_buckets.due() == {}
    assert await frontier.add(links(frontier, "1", "2")) == (80, 0, 0)
    due = await frontier.all_buckets.due()
    assert sorted(due) == buckets(store)
    assert max(bucket.wait for bucket in due.values()) <= 0
    assert sorted(await frontier.all_buckets.due(buckets(store)[:5])) == buckets(store)[:5]
    claims = await all_claims(frontier)
    assert len(claims) == len({claim.request.url for claim in claims}) == 80
    assert await frontier.all_buckets.due() == {}
    assert await frontier.all_buckets.left() == (80, 80)
    outcomes = await frontier.settle_all(commits(claims))
    assert all(isinstance(outcome, tuple) for outcome in outcomes)
    assert await frontier.all_buckets.left() == (0, 80)
    assert (await crawl_counts(store, "c"))["pages"] == 80


async def test_links_go_with_the_settle_of_their_page_whatever_their_bucket(store: Store) -> None:
    frontier = frontier_of(store)
    await frontier.add(links(frontier, "1", hosts=HOSTS[:2]))
    some = commits(await all_claims(frontier))
    some[0] = some[0]._replace(adds=links(frontier, "2", "3"))
    await frontier.settle_all(some)
    assert await frontier.all_buckets.left() == (80, 82)
    assert len(await all_claims(frontier)) == 80


async def test_tokens_are_told_apart_by_their_buckets(store: Store) -> None:
    frontier = frontier_of(store, lease=60_000)
    await frontier.add(links(frontier, "1"))
    claims = await all_claims(frontier)
    assert len({claim.token for claim in claims}) < len(claims), "each bucket counts for itself"
    gone = claims[0]
    await frontier.settle(gone.bucket, [Settle(gone.token, "d", since=0)], {"pages": 1}, {})
    held: dict[int, list[int]] = {}
    for claim in claims:
        held.setdefault(claim.bucket, []).append(claim.token)
    assert await frontier.all_buckets.renew(held) == [(gone.bucket, gone.token)]


async def test_leases_that_ran_out_return_from_all_buckets(store: Store) -> None:
    frontier = frontier_of(store, lease=150)
    await frontier.add(links(frontier, "1"))
    assert len(await all_claims(frontier)) == 40
    await frontier.all_buckets.requeue_expired()
    assert await frontier.all_buckets.due() == {}, "none has run out yet"
    await asyncio.sleep(0.2)
    await frontier.all_buckets.requeue_expired()
    assert {claim.crashes for claim in await all_claims(frontier)} == {1}


async def test_a_crawl_whose_workers_all_died_does_not_keep_its_hosts_from_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = Frontier(store, "dead", Policy(obey_robots=False, delay=0, per_host=1, lease=1_500))
    await dead.add(links(dead, "1"))
    assert len(await all_claims(dead)) == 40
    lives = frontier_of(store, per_host=1)
    await lives.add(links(lives, "1"))
    assert not await all_claims(lives), "each host answers somebody"
    monkeypatch.setattr(multi_bucket, "LOOK_INTERVAL_S", 0.0)
    monkeypatch.setattr(multi_bucket, "MAX_LEASE_DELAY_MS", 100)
    monkeypatch.setattr(multi_bucket, "MAX_SEARCHED_BUCKETS", 256)
    for _ in range(store.buckets // multi_bucket.MAX_SEARCHED_BUCKETS + 1):
        await lives.all_buckets.requeue_expired()
    assert not await all_claims(lives), "a lease that may be renewed yet is left alone"
    freed = 0
    async with asyncio.timeout(20):
        while freed < 40:
            await lives.all_buckets.requeue_expired()
            freed += len(await all_claims(lives))
            await asyncio.sleep(0.02)
    assert freed == 40
    assert (await crawl_counts(store, "dead"))["open"] == 40, "what it had out waits for it"


async def test_a_host_is_free_when_its_request_landed(store: Store) -> None:
    frontier = frontier_of(store, per_host=1)
    await frontier.add(links(frontier, "1", "2"))
    claims = await all_claims(frontier)
    assert await frontier.all_buckets.due() == {}
    ends: dict[int, list[Settle]] = {}
    for claim in claims:
        ends.setdefault(claim.bucket, []).append(Settle(claim.token, "d", since=0))
    await frontier.all_buckets.free_slots(ends)
    assert len(await all_claims(frontier)) == 40


async def test_one_stale_token_lets_nothing_through_where_buckets_settle_together(store: Store) -> None:
    frontier = frontier_of(store)
    await frontier.add(links(frontier, "1"))
    claims = await all_claims(frontier)
    some = commits(claims)
    lost = some[3].settles[0].token
    await frontier.settle(some[3].bucket, [Settle(lost, "b")], {}, {})
    before = await frontier.all_buckets.left()
    servers = await frontier.together([one.bucket for one in some])
    assert len(servers) == (1 if store.together else 3)
    beside = next(server for server in servers if some[3].bucket in server)
    if store.together:
        some[0] = some[0]._replace(files=[("out", 0, 500)])
    outcomes = await frontier.settle_all(some)
    assert isinstance(outcomes[3], Stale)
    assert outcomes[3].tokens == [lost]
    stale = {one.bucket for one, outcome in zip(some, outcomes, strict=True) if isinstance(outcome, Stale)}
    assert stale == set(beside), "those on the same server, and no others"
    if store.together:
        assert (await frontier.all_buckets.left(), await frontier.lengths(["out"])) == (before, [None])
        rest = [some[0], *some[1:3], some[3]._replace(settles=some[3].settles[1:]), *some[4:]]
        assert all(isinstance(outcome, tuple) for outcome in await frontier.settle_all(rest))
        assert await frontier.lengths(["out"]) == [500]
        (moved,) = await frontier.settle_all([Commit(some[0].bucket, [], {}, {}, [("out", 100, 200)])])
        assert isinstance(moved, Moved)
    else:
        assert (await frontier.all_buckets.left())[0] == before[0] - len(some) + len(beside)
        again = [one for one in some if one.bucket in beside and one is not some[3]]
        assert all(isinstance(outcome, tuple) for outcome in await frontier.settle_all(again))
        files = [one._replace(files=[("out", 0, 500)]) for one in commits(claims)]
        assert all(isinstance(outcome, Stale) for outcome in await frontier.settle_all(files)), (
            "no script vouches for two servers"
        )
        assert await frontier.lengths(["out"]) == [None]
    assert (await frontier.all_buckets.left())[0] >= 1


@pytest.mark.parametrize("limit", [7, 40])
async def test_a_limit_is_exact_over_all_buckets_at_once(store: Store, limit: int) -> None:
    frontiers = [frontier_of(store, limit=limit) for _ in range(3)]
    await frontiers[0].add(links(frontiers[0], "1", "2"))
    some = await asyncio.gather(*(all_claims(frontier) for frontier in frontiers))
    claims = [claim for each in some for claim in each]
    assert len(claims) == limit
    await frontiers[0].settle_all(commits(claims[:-1]))
    assert await all_claims(frontiers[1]) == []
    await frontiers[0].settle_all([Commit(claims[-1].bucket, [Settle(claims[-1].token, "b")], {}, {})])
    assert len(await all_claims(frontiers[2])) == 1, "what came to nothing is free again"


async def test_a_worker_asks_where_something_is_due_and_sees_what_others_add(store: Store) -> None:
    frontier = frontier_of(store)
    asking = ClaimPoller(frontier, store.buckets)
    assert await asking.claims(100) == []
    assert not asking.waiting
    used = store.used
    assert await asking.claims(100) == []
    assert store.used == used, "nothing is asked before the next look"
    await frontier_of(store).add(links(frontier, "1", hosts=HOSTS[:30]))
    await asyncio.sleep(QUIET_S)
    got = await asking.claims(12)
    assert len(got) == 3, "each is asked for four, not twelve for one"
    assert 3 <= sum(len(one.claims) for one in got) <= 12
    assert asking.waiting
    while claims := [claim for one in await asking.claims(100) for claim in one.claims]:
        await frontier.settle_all(commits(claims))
    await asyncio.sleep(POLL_ALL_INTERVAL_S)
    await asking.claims(100)
    assert not asking.waiting


async def test_what_a_worker_has_settled_it_sees_at_once(store: Store) -> None:
    frontier = frontier_of(store, per_host=1)
    asking = ClaimPoller(frontier, store.buckets)
    await frontier.add(links(frontier, "1", "2"))
    first = [claim for one in await asking.claims(1) for claim in one.claims]
    await frontier.settle_all(commits(first))
    asking.touch(first[0].bucket)
    assert asking.next_at == 0.0
    hosts: list[str] = []
    while first[0].host not in hosts:
        got = [claim for one in await asking.claims(80) for claim in one.claims]
        assert got, "its host is free"
        hosts += [claim.host for claim in got]


async def test_each_worker_goes_round_in_an_order_of_its_own(store: Store) -> None:
    frontier = frontier_of(store)
    await frontier.add(links(frontier, "1"))
    seen = set()
    for _ in range(6):
        asking = ClaimPoller(frontier, store.buckets)
        claims = [claim for one in await asking.claims(4) for claim in one.claims]
        seen.add(claims[0].bucket)
        await frontier.settle_all([Commit(c.bucket, [Settle(c.token, "b")], {}, {}) for c in claims])
    assert len(seen) > 1

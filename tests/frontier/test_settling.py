"""Leases, settling and limits in a real Valkey."""

from __future__ import annotations

import asyncio

import pytest

from frontier.claims import A, Beds, paths
from gossamer.errors import Moved, Stale
from gossamer.model.visit import Settle
from gossamer.store.store import Store, connect


async def test_an_expired_lease_returns_and_its_token_is_worth_nothing(bed: Beds) -> None:
    b = bed(lease=30_000)
    await b.add(f"{A}/1")
    (claim,) = await b.claim()
    assert (await b.frontier.requeue_expired(0))[0] == 0
    await b.later(30_000)
    assert (await b.frontier.requeue_expired(0))[0] == 1
    with pytest.raises(Stale) as stale:
        await b.end(claim)
    assert stale.value.tokens == [claim.token]
    (again,) = await b.claim()
    assert (again.crashes, again.attempt) == (1, 0), "a kill is not an attempt"
    await b.end(again)
    assert await b.frontier.requeue_expired(0) == (0, 0, 1, 0)


async def test_renewal_keeps_a_lease_and_tells_of_lost_ones(bed: Beds) -> None:
    b = bed(lease=60_000)
    await b.add(f"{A}/1")
    (claim,) = await b.claim()
    for _ in range(4):
        await b.later(30_000)
        assert await b.frontier.renew(0, [claim.token, 12345]) == [12345]
    assert (await b.frontier.requeue_expired(0))[0] == 0
    await b.end(claim)


async def test_a_url_that_kills_its_workers_ends_as_a_dead_letter(bed: Beds, store: Store) -> None:
    b = bed(lease=60_000)
    await b.add(f"{A}/poison")
    for crashes in range(10):
        (claim,) = await b.claim()
        assert claim.crashes == crashes
        await b.later(60_000)
        await b.frontier.requeue_expired(0)
    assert await b.claim() == []
    assert ((await b.counts())["dead"], (await b.counts())["err:crash"]) == (1, 1)
    # once requeued, its earlier crashes no longer count
    assert await store.run("dead_letters", 0, "c", "requeue", "", 1) == 1
    for crashes in range(2):
        (claim,) = await b.claim()
        assert claim.crashes == crashes
        await b.later(60_000)
        await b.frontier.requeue_expired(0)


async def test_when_nobody_lives_all_leases_return_and_nobody_is_blamed(bed: Beds) -> None:
    b = bed(delay=40_000, per_host=1)
    await b.add(f"{A}/1", "https://b.example/1")
    assert len(await b.claim()) == 2
    assert (await b.frontier.requeue_expired(0, nobody_lives=True))[0] == 2
    assert await b.claim() == [], "the dead may just have asked: each host waits its delay"
    await b.later(40_000)
    assert [c.crashes for c in await b.claim()] == [0, 0]


async def test_when_nobody_lives_what_was_being_read_is_blamed(bed: Beds) -> None:
    b = bed(delay=0, per_host=2)
    await b.add(f"{A}/1", f"{A}/2")
    one, two = await b.claim()
    assert (await b.frontier.requeue_expired(0, nobody_lives=True, blamed=[two.token, 12345]))[0] == 2
    assert {c.request.url: c.crashes for c in await b.claim()} == {one.request.url: 0, two.request.url: 1}


async def test_a_claim_whose_rows_were_not_durable_when_its_worker_died_returns(bed: Beds) -> None:
    b = bed(delay=0)
    await b.add(f"{A}/1")
    [one] = await b.claim()
    assert await b.frontier.free_slots(0, [Settle(one.token, "d")]) == 1
    assert (await b.frontier.requeue_expired(0, nobody_lives=True))[0] == 1
    assert paths(await b.claim()) == ["/1"]


async def test_settle_is_all_or_nothing(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    one, two = await b.claim()
    await b.end(one)
    adds = {(0, "a.example", 0, "http", "o", ""): [1, 2, b"h00\x93\xa2/3\x01\xc0"]}
    with pytest.raises(Stale):
        await b.frontier.settle(
            0, [Settle(one.token, "d"), Settle(two.token, "d")], {"pages": 2}, adds, [("out", 0, 10)]
        )
    assert (await b.counts())["pages"] == 1
    assert await b.frontier.lengths(["out"]) == [None]
    await b.frontier.settle(0, [Settle(two.token, "d")], {"pages": 1}, adds, [("out", 0, 10)])
    assert await b.frontier.lengths(["out"]) == [10]
    assert paths(await b.claim()) == ["/3"]


async def test_a_file_length_that_moved_settles_nothing(bed: Beds) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    one, two = await b.claim()
    await b.frontier.settle(0, [Settle(one.token, "d")], {}, {}, [("out", 0, 10)])
    with pytest.raises(Moved) as moved:
        await b.frontier.settle(0, [Settle(two.token, "d")], {}, {}, [("out", 5, 20)])
    assert (moved.value.file, moved.value.length) == ("out", 10)
    assert (await b.counts())["open"] == 1


async def test_landed_frees_the_host_before_the_settle(bed: Beds) -> None:
    b = bed(delay=20, per_host=1)
    await b.add(f"{A}/1", f"{A}/2")
    (one,) = await b.claim()
    assert await b.frontier.free_slots(0, [Settle(one.token, "d", since=20, delay=20)]) == 1
    (two,) = await b.claim()
    await b.end(one)
    assert await b.claim() == [], "the settle frees no second slot"
    await b.end(two, delay=20)
    assert (await b.counts())["open"] == 0


@pytest.mark.parametrize("workers", [1, 5])
async def test_the_page_limit_is_exact(bed: Beds, workers: int) -> None:
    b = bed(limit=7)
    await b.add(*(f"{A}/{i}" for i in range(30)))
    pages = 0
    for _ in range(20):
        for claims in await asyncio.gather(*(b.claim(4) for _ in range(workers))):
            for n, claim in enumerate(claims):
                no_page = n == 0
                await b.end(claim, "x" if no_page else "d", reason="dns")
                pages += not no_page
    assert pages <= 7
    assert pages == (await b.counts())["pages"]
    if workers > 1:
        return
    assert (await b.claimed()).limit == ("pages" if pages == 7 else "")


async def test_the_byte_limit_stops_claims(bed: Beds) -> None:
    b = bed(size_limit=100)
    await b.add(f"{A}/1", f"{A}/2")
    (one, _) = await b.claim()
    await b.frontier.settle(0, [Settle(one.token, "d", since=0)], {"bytes": 100}, {})
    assert (await b.claimed()).limit == "bytes"


async def test_the_rate_cap_of_a_crawl(bed: Beds) -> None:
    b = bed(rate=100.0)
    await b.add(*(f"{A}/{i}" for i in range(100)))
    first = await b.claimed()
    assert 0 < len(first.claims) <= 11
    second = await b.claimed()
    assert len(second.claims) <= 1
    assert second.next_at >= second.now
    loop = asyncio.get_running_loop()
    began, got = loop.time(), len(first.claims) + len(second.claims)
    while got < 40:
        got += len(await b.claim())
        await asyncio.sleep(0.005)
    assert got / (loop.time() - began + 0.1) <= 105


async def test_limits_are_exact_over_many_buckets(valkey_url: str) -> None:
    from gossamer.frontier.frontier_client import Frontier, Policy
    from gossamer.model.request import make_entry

    stores = [connect(valkey_url) for _ in range(3)]
    for store in stores:
        await store.open(8, "test")
    policy = Policy(delay=0, per_host=100, obey_robots=False, limit=25)
    workers = [Frontier(store, "c", policy) for store in stores]
    adds = {
        (bucket, f"h{bucket}.example", 0, "http", "o", ""): [
            x
            for i in range(20)
            for x in (
                *workers[0].remainder(hash((bucket, i)) & (2**64 - 1)),
                make_entry("http", f"/{i}", 0, None),
            )
        ]
        for bucket in range(8)
    }
    await workers[0].add(adds)
    pages, limits = 0, set()

    async def work(frontier: Frontier) -> None:
        nonlocal pages
        for turn in range(24):
            got = await frontier.claim(turn % 8, 5)
            limits.add(got.limit)
            for n, claim in enumerate(got.claims):
                ends = Settle(claim.token, "x" if n == 1 else "d", since=0, reason="dns")
                await frontier.settle(claim.bucket, [ends], {"pages": int(n != 1)}, {})
                pages += n != 1

    await asyncio.gather(*(work(frontier) for frontier in workers))
    assert pages == 25
    assert limits == {"", "pages"}
    for store in stores:
        await store.close()


async def test_the_first_length_of_a_file_is_on_the_disk_before_any_row(bed: Beds, store: Store) -> None:
    """Otherwise, after a power cut in the first second, the crawl would not know about rows in the file, and
    would write them twice."""
    b, server = bed(), (await store.client.servers.serving("{b:000}")).client
    await server.config_resetstat()
    await b.frontier.base("one", 7)
    await b.frontier.base("one", 99)
    assert await b.frontier.lengths(["one"]) == [7]
    waited = (await server.info("commandstats"))["cmdstat_waitaof"]
    assert (waited["calls"], waited["failed_calls"], waited["rejected_calls"]) == (2, 0, 0)
    assert (await server.config_get("appendfsync"))["appendfsync"] == "everysec"


async def test_a_store_that_keeps_nothing_on_disk_is_not_waited_for(bed: Beds, store: Store) -> None:
    server = (await store.client.servers.serving("{b:000}")).client
    await server.config_set("appendonly", "no")
    try:
        await bed().frontier.base("one", 7)
    finally:
        await server.config_set("appendonly", "yes")
    assert await bed().frontier.lengths(["one"]) == [7]


async def test_one_call_frees_a_host_and_claims_its_next_url(bed: Beds) -> None:
    b = bed(delay=0, per_host=1)
    await b.add(f"{A}/1", f"{A}/2", f"{A}/3")
    (one,) = await b.claim()
    assert await b.claim() == []
    (got,) = await b.frontier.all_buckets.claim([(0, 10)], uncommitted={0: [Settle(one.token, "d", since=5)]})
    assert paths(got.claims) == ["/2"]
    await b.end(one)
    assert await b.claim() == [], "the settle frees no second slot"
    (got,) = await b.frontier.all_buckets.claim([(0, 10)], uncommitted={0: [Settle(one.token, "d", since=5)]})
    assert got.claims == [], "a request lands once"
    assert (await b.counts())["pages"] == 1


async def test_a_host_that_asks_for_time_gets_it_though_it_is_free(bed: Beds) -> None:
    b = bed(delay=0, per_host=1)
    await b.add(f"{A}/1", f"{A}/2")
    (one,) = await b.claim()
    asked = Settle(one.token, "r", since=0, host_wait=60_000, wait=60_000)
    (got,) = await b.frontier.all_buckets.claim([(0, 10)], uncommitted={0: [asked]})
    assert got.claims == []
    assert got.next_at - got.now == pytest.approx(60_000, abs=1000)


async def test_a_late_settle_does_not_undo_the_pace_of_a_later_request(bed: Beds) -> None:
    b = bed(delay=-1, per_host=1)
    await b.add(f"{A}/1", f"{A}/2", f"{A}/3")
    (one,) = await b.claim()
    await b.later(60_000)
    uncommitted = {0: [Settle(one.token, "d", since=0, delay=250, pace="first")]}
    await b.frontier.all_buckets.free_slots(uncommitted)
    await b.later(60_000)
    (two,) = await b.claim()
    slow = Settle(two.token, "r", since=0, delay=8000, pace="slowed", wait=1000)
    await b.frontier.all_buckets.free_slots({0: [slow]})
    await b.end(one, delay=250, pace="first")
    await b.later(60_000)
    (three,) = await b.claim()
    assert (three.pace, three.delay) == ("slowed", 8.0)


async def test_a_page_limit_holds_while_requests_land_before_their_settle(bed: Beds) -> None:
    b = bed(delay=0, per_host=1, limit=3)
    await b.add(*(f"{A}/{i}" for i in range(9)))
    claims, uncommitted = await b.claim(), dict[int, list[Settle]]()
    while True:
        uncommitted = {0: [Settle(claims[-1].token, "d", since=0)]}
        (got,) = await b.frontier.all_buckets.claim([(0, 10)], uncommitted=uncommitted)
        if not got.claims:
            break
        claims += got.claims
    assert len(claims) == 3
    for claim in claims:
        await b.end(claim)
    assert (await b.frontier.claim(0, 10)).limit == "pages"

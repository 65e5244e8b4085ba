"""Limits on the bytes and the time of one host, in real stores. The limits are exact for any number of
workers, and waiting URLs are parked until the limits are raised."""

from __future__ import annotations

import asyncio
import itertools

from frontier.claims import A, Beds, paths
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.host_limits import requeue_parked
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack
from gossamer.model.visit import Claim, Commit, Settle
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store, connect

B = "https://b.example"
MINUTE = 60_000


async def end(b: object, claim: Claim, size: int, action: str = "d", **how: int) -> None:
    counted = {"bytes": size} | ({"pages": 1} if action == "d" else {})
    settle = Settle(claim.token, action, since=0, **how)  # type: ignore[arg-type]
    (outcome,) = await b.frontier.settle_all([Commit(0, [settle], counted, {}, hosts={claim.host: size})])  # type: ignore[attr-defined]
    assert not isinstance(outcome, Exception)


async def test_no_claim_of_a_host_once_its_bytes_are_reached(bed: Beds) -> None:
    b = bed(host_bytes=100, per_host=2)
    await b.add(*(f"{A}/{n}" for n in range(6)), *(f"{B}/{n}" for n in range(3)))
    await b.add(f"{A}/urgent", priority=3)
    await b.add(f"{A}/sitemap.xml", flags="oi", use="@sitemap", priority=-2)
    first = {claim.request.url: claim for claim in await b.claim()}
    assert set(first) == {f"{A}/urgent", f"{A}/0", f"{B}/0", f"{B}/1"}
    await end(b, first[f"{A}/urgent"], 99)
    await end(b, first[f"{B}/0"], 0)
    await end(b, first[f"{B}/1"], 0)
    assert paths(await b.claim()) == ["/1", "/2"], "a byte is left to a.example, and b.example has its own"
    await end(b, first[f"{A}/0"], 1, "r", wait=MINUTE)
    assert await b.claim() == []
    n = await b.counts()
    assert n["skip:budget"] == 5, (
        "4 that were queued, and the one that was to be retried; the sitemap is not a page"
    )
    assert (n["open"], n["infra"]) == (2, 0), "what is out"
    assert await b.adds_up()
    await b.add(f"{A}/late")
    assert await b.claim() == []
    assert (await b.counts())["skip:budget"] == 6
    assert await b.adds_up()


async def test_larger_limits_take_it_back_in_order(bed: Beds, store: Store) -> None:
    b = bed(host_bytes=10, per_host=2000)
    await b.add(*(f"{A}/{n}" for n in range(1300)))
    await b.add(f"{A}/low", priority=-1)
    first, *others = await b.claim(2)
    await end(b, first, 10)
    while (await b.counts())["open"] > len(others):
        assert await b.claim() == []
    assert (await b.counts())["skip:budget"] == 1300 - len(others)
    assert await requeue_parked(store, "c") == 1300 - len(others)
    assert await b.adds_up()
    assert await b.claim() == [], "over what it may have: parked again"
    while (await b.counts())["open"] > len(others):
        await b.claim()
    await requeue_parked(store, "c")
    more = bed(host_bytes=11, per_host=2000)
    got = [claim for _ in range(3) for claim in await more.claim(700)]
    fresh = [path for path in paths(got) if path != "/low"]
    assert fresh == [f"/{n}" for n in range(1 + len(others), 1300)]
    assert "/low" in paths(got)
    assert await more.adds_up()
    assert (await more.counts())["skip:budget"] == 0


async def test_many_workers_pass_the_bytes_by_what_is_out_alone(bed: Beds, store: Store) -> None:
    first = bed(host_bytes=50, per_host=3)
    await first.add(*(f"{A}/{n}" for n in range(200)))
    got: list[int] = []
    stores = [connect(store.url) for _ in range(4)]

    async def work(mine: Store) -> None:
        await mine.open(1, "test")
        frontier = Frontier(mine, "c", first.frontier.policy)
        while (await first.counts())["open"] > 0:
            for claim in (await frontier.claim(0, 9)).claims:
                got.append(claim.token)
                await asyncio.sleep(0)
                ends = [Settle(claim.token, "d", since=0)]
                await frontier.settle_all([Commit(0, ends, {"pages": 1}, {}, hosts={claim.host: 10})])

    await asyncio.gather(*(work(one) for one in stores))
    for one in stores:
        await one.close()
    assert 5 <= len(got) <= 5 + 2, "the fifth reaches it; two more may be out"
    assert (await first.counts())["skip:budget"] == 200 - len(got)


async def test_no_claim_after_the_time_of_a_host(bed: Beds, store: Store) -> None:
    b = bed(host_time=10 * MINUTE, per_host=1)
    await b.add(*(f"{A}/{n}" for n in range(5)), f"{B}/0", f"{B}/1")
    first = {claim.host: claim for claim in await b.claim()}
    began = int(await store.client.hget("{b:000}c:h:a.example", "F"))
    for claim in first.values():
        await b.end(claim)
    await store.client.hset("{b:000}c:h:a.example", "F", began - 9 * MINUTE)
    second = {claim.host: claim for claim in await b.claim()}
    assert paths([second["a.example"], second["b.example"]]) == ["/1", "/1"], "a minute is left"
    await b.end(second["a.example"])
    await store.client.hset("{b:000}c:h:a.example", "F", began - 10 * MINUTE)
    assert await b.claim() == []
    n = await b.counts()
    assert (n["skip:budget"], n["open"]) == (3, 1)
    assert await b.adds_up()
    assert int(await store.client.hget("{b:000}c:h:b.example", "F")) >= began


async def test_the_time_of_a_host_stands_still_while_the_crawl_does(bed: Beds, store: Store) -> None:
    b = bed(host_time=10 * MINUTE)
    await b.add(f"{A}/0")
    await b.end((await b.claim())[0])
    await store.client.hincrby("{b:000}c:h:a.example", "F", -30 * MINUTE)
    later = bed(host_time=10 * MINUTE, idle=25 * MINUTE)
    await later.add(f"{A}/1")
    assert paths(await later.claim()) == ["/1"], "five minutes at work"


async def test_bytes_of_many_buckets_come_in_one_commit(any_url: str) -> None:
    store = connect(any_url)
    await store.open(store.usual_buckets, "test")
    frontier = Frontier(store, "c", Policy(delay=0, per_host=1, obey_robots=False, host_bytes=100))
    hosts = [f"h{n}.site{n}.example" for n in range(12)]
    for number, host in itertools.product(range(3), hosts):
        _, entry = pack(Request(f"https://{host}/{number}"))
        mark = frontier.remainder(hash((host, number)) & (2**64 - 1))
        await frontier.add({(bucket_of(host, store.buckets), host, 0, "http", "o", ""): [*mark, entry]})

    async def claims() -> list[Claim]:
        asks = [(bucket, 20) for bucket in await frontier.all_buckets.due()]
        return [claim for one in await frontier.all_buckets.claim(asks) for claim in one.claims]

    got = await claims()
    assert sorted(claim.host for claim in got) == sorted(hosts)
    large = set(hosts[::2])
    commits: dict[int, Commit] = {}
    for claim in got:
        one = commits.setdefault(claim.bucket, Commit(claim.bucket, [], {}, {}, hosts={}))
        commits[claim.bucket] = one._replace(
            settles=[*one.settles, Settle(claim.token, "d", since=0)],
            hosts={**one.hosts, claim.host: 100 if claim.host in large else 99},
        )
    assert not any(isinstance(one, Exception) for one in await frontier.settle_all(list(commits.values())))
    assert sorted(claim.host for claim in await claims()) == sorted(set(hosts) - large)
    assert (await crawl_counts(store, "c"))["skip:budget"] == 2 * len(large)
    await store.close()

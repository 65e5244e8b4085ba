"""The read model and the operators' commands, in a real Valkey that the frontier's own verbs fill."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from gossamer import url as urls
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Claim, Settle
from gossamer.observability.snapshot import Observer
from gossamer.store import keys
from gossamer.store.store import Store, connect

A, B = "a.example", "b.test:8080"
QUICK = Policy(delay=0, obey_robots=False, per_host=100, sets=4)


@pytest.fixture(
    params=[("valkey_url", 1), ("valkey_url", 4), ("cluster_url", 1024)], ids=["1", "4", "cluster"]
)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    url, buckets = request.param
    opened = connect(request.getfixturevalue(url))
    await opened.open(buckets, "test")
    yield opened
    await opened.close()


async def begun(store: Store, name: str = "c", policy: Policy = QUICK) -> Frontier:
    await Crawls(store).begin(name, Spec(["https://a.example/"], seen=policy.seen), ["out.jsonl"])
    return Frontier(store, name, policy)


def adds(frontier: Frontier, *found: str | Request, flags: str = "o") -> Adds:
    made: Adds = {}
    for one in found:
        request = one if isinstance(one, Request) else Request(one)
        host, entry = pack(request)
        mark = urls.fingerprint(urls.canonical(request.url) or "", frontier.store.seed)
        bucket = keys.bucket_of(host, frontier.store.buckets)
        made.setdefault((bucket, host, request.priority, "http", flags, ""), []).extend(
            (*frontier.remainder(mark), entry)
        )
    return made


async def claims(frontier: Frontier, k: int = 100) -> list[Claim]:
    return [
        claim
        for bucket in range(frontier.store.buckets)
        for claim in (await frontier.claim(bucket, k)).claims
    ]


async def settle(
    frontier: Frontier, claim: Claim, action: str = "d", counts: dict[str, int] | None = None, **more: object
) -> None:
    await frontier.settle(claim.bucket, [Settle(claim.token, action, **more)], counts or {}, {})  # type: ignore[arg-type] # fields by name


async def where(statistics: CrawlStatistics, url: str, name: str = "c") -> str:
    mark = urls.fingerprint(urls.canonical(url) or "", statistics.store.seed)
    return (await statistics.locate(name, url, mark, urls.canonical)).state


async def test_the_summary_adds_up_at_every_moment(store: Store) -> None:
    frontier, statistics = await begun(store), CrawlStatistics(store)
    # another instance, because each instance caches slow counts for a while
    assert (await CrawlStatistics(store).summary("c")).found == 0
    pages = [f"http://{host}/{n}" for host in (A, B, "c.test", "d.test") for n in range(5)]
    await frontier.add(adds(frontier, *pages))
    await frontier.add(adds(frontier, *pages[:7]))
    first = await statistics.summary("c")
    assert (first.found, first.pending, first.skipped, first.hosts) == (27, 20, {"duplicate": 7}, 4)
    assert first.adds_up()
    got = await claims(frontier)
    assert (await statistics.in_flight("c")) == 20
    ends = ["d", "d", "d", "x", "r", "b", "d"]
    counts = [
        {"pages": 1, "succeeded": 1, "bytes": 10},
        {"redirected": 1},
        {"skip:robots": 1},
        {},
        {},
        {},
        {"pages": 1, "err:parse": 1},
    ]
    for claim, action, changes in zip(got, ends, counts, strict=False):
        await settle(frontier, claim, action, changes, reason="dns", wait=60_000)
        assert (await statistics.summary("c")).adds_up()
    last = await statistics.summary("c")
    assert (last.pages, last.succeeded, last.redirected, last.dead, last.retried, last.bytes) == (
        2,
        1,
        1,
        1,
        1,
        10,
    )
    assert last.errors == {"dns": 1, "parse": 1}
    assert last.skipped == {"duplicate": 7, "robots": 1}
    assert (last.state, last.outputs, last.pending) == ("running", ["out.jsonl"], 15)


async def test_sitemaps_are_no_pending_pages(store: Store) -> None:
    frontier, statistics = await begun(store), CrawlStatistics(store)
    await frontier.add(adds(frontier, f"http://{A}/sitemap.xml", flags="oi"))
    summary = await statistics.summary("c")
    assert (summary.found, summary.pending) == (0, 0)


@pytest.mark.parametrize("seen", ["default", "exact", "bloom"])
async def test_where_a_url_is(store: Store, seen: str) -> None:
    policy = Policy(delay=0, obey_robots=False, per_host=100, sets=4, seen=seen, host_pages=-1)
    frontier, statistics = await begun(store, policy=policy), CrawlStatistics(store)
    one, two, three, four, five = (f"https://{A}/{n}?b=1&a={n}" for n in range(5))
    assert await where(statistics, one) == "unknown"
    await frontier.add(adds(frontier, one, two, three, Request(four, priority=-1), Request(five, priority=7)))
    place = await statistics.locate(
        "c", three, urls.fingerprint(urls.canonical(three) or "", store.seed), urls.canonical
    )
    assert (place.state, place.level, place.position) == ("pending", 0, 2)
    assert await where(statistics, f"https://{A}/1?utm_source=x&a=1&b=1") == "pending"  # another spelling
    held = {claim.request.url: claim for claim in await claims(frontier)}
    assert {await where(statistics, url) for url in (one, two, three, four, five)} == {"leased"}
    await settle(frontier, held[one], "d")
    await settle(frontier, held[two], "r", wait=90_000)
    await settle(frontier, held[three], "x", reason="dns", detail="no such\tname")
    await settle(frontier, held[four], "b")
    assert [await where(statistics, url) for url in (one, two, three, four, five)] == [
        "done",
        "retrying",
        "dead",
        "pending",
        "leased",
    ]
    late = await statistics.locate(
        "c", two, urls.fingerprint(urls.canonical(two) or "", store.seed), urls.canonical
    )
    assert late.attempt == 1
    assert late.due is not None
    assert 80 < late.due <= 90
    await frontier.add(adds(frontier, "https://spam.test/1", "https://spam.test/2", flags=""))
    assert await where(statistics, "https://spam.test/2") == "parked"
    assert await where(statistics, "https://nobody.test/") == "unknown"


async def test_a_seen_set_of_many_generations_is_asked_whole(store: Store) -> None:
    frontier, statistics = (
        await begun(store, policy=Policy(delay=0, obey_robots=False, sets=1)),
        CrawlStatistics(store),
    )
    for first in range(0, 3000, 100):
        await frontier.add(adds(frontier, *(f"http://{A}/{n}" for n in range(first, first + 100))))
    states = {await where(statistics, f"http://{A}/{n}") for n in range(0, 3000, 499)}
    assert states == {"pending"}
    assert await where(statistics, f"http://{A}/3000") == "unknown"


async def test_hosts_and_one_host(store: Store) -> None:
    frontier, statistics, steer = await begun(store), CrawlStatistics(store), OperatorCommands(store)
    await frontier.add(
        adds(frontier, *(f"http://{A}/{n}" for n in range(5)), Request(f"http://{B}/", priority=3))
    )
    lines = await CrawlStatistics(store).hosts("c")
    assert [(line.host, line.waiting, line.state) for line in lines] == [(A, 5, "ready"), (B, 1, "ready")]
    assert [line.host for line in await CrawlStatistics(store).hosts("c", 1, "host")] == [A]
    await steer.pause(A)
    assert (await CrawlStatistics(store).hosts("c"))[0].state == "paused"
    assert {claim.host for claim in await claims(frontier)} == {B}
    view = await statistics.host(A)
    assert view.paused > 1e6
    assert view.crawls[0].levels == {0: 5}
    await steer.resume(A)
    await steer.rate(A, 2.5)
    assert [await steer.at_once(A, 3) for _ in range(2)] == [True, False]
    view = await statistics.host(A)
    assert (view.paused, view.fixed_delay, view.at_once) == (0, 2.5, 3)
    assert [len(await claims(frontier)) for _ in range(2)] == [1, 0]
    await steer.rate(A, None)
    assert (await statistics.host(A)).fixed_delay is None
    assert not (await statistics.host("nobody.test")).known


async def test_dead_letters_are_listed_filtered_requeued_and_dropped(store: Store) -> None:
    frontier, statistics, steer = await begun(store), CrawlStatistics(store), OperatorCommands(store)
    await frontier.add(
        adds(frontier, *(f"http://{A}/{n}" for n in range(7)), *(f"http://{B}/{n}" for n in range(3)))
    )
    for claim in await claims(frontier):
        await settle(
            frontier, claim, "x", reason="dns" if claim.host == A else "timeout", detail=f"of {claim.host}"
        )
    found = [letter async for letter in statistics.dead("c", page=2)]
    assert len(found) == 10
    (crawl,) = (await Observer(store).look()).crawls
    assert (crawl.count("letter"), crawl.dead) == (10, [(A, "dns", 7), (B, "timeout", 3)])
    assert {letter.reason for letter in found if letter.host == A} == {"dns"}
    assert {letter.url async for letter in statistics.dead("c", reason="timeout")} == {
        f"http://{B}/{n}" for n in range(3)
    }
    now = await statistics.now()
    assert [letter async for letter in statistics.dead("c", since=now + 60)] == []
    assert len([letter async for letter in statistics.dead("c", since=now - 60)]) == 10
    assert await steer.letters("c", "requeue", host=B, dry_run=True) == 3
    assert (await statistics.summary("c")).dead == 10
    assert await steer.letters("c", "requeue", host=B) == 3
    assert await steer.letters("c", "drop", reason="dns") == 7
    summary = await statistics.summary("c")
    assert (summary.dead, summary.failed, summary.pending, summary.errors) == (0, 7, 3, {"dns": 7})
    assert summary.adds_up()
    assert len(await claims(frontier)) == 3


async def test_priorities_change_while_a_crawl_runs(store: Store) -> None:
    frontier, steer = await begun(store), OperatorCommands(store)
    pages = [f"http://{A}/{kind}/{n}" for n in range(1500) for kind in ("new", "old")]
    await frontier.add(adds(frontier, *pages, f"http://{B}/new/"))
    assert await steer.priority("c", 5, match=re.compile("/new/"), dry_run=True) == 1501
    assert await steer.priority("c", 5, match=re.compile("/new/")) == 1501
    assert (await CrawlStatistics(store).host(A)).crawls[0].levels == {5: 1500, 0: 1500}
    assert await steer.priority("c", -3, host=A, match=re.compile("/old/1$")) == 1
    assert await steer.priority("c", 5, match=re.compile("/new/")) == 0
    order = [claim.request.url for claim in await claims(frontier, 6) if claim.host == A]
    assert all("/new/" in url for url in order[:5])
    assert (await CrawlStatistics(store).summary("c")).pending == 3001


async def test_one_crawl_does_not_see_another(store: Store) -> None:
    ours, other = await begun(store, "c"), await begun(store, "c.d")
    await ours.add(adds(ours, f"http://{A}/1"))
    await other.add(adds(other, f"http://{A}/2", f"http://{B}/"))
    statistics = CrawlStatistics(store)
    assert [(await statistics.summary(name)).hosts for name in ("c", "c.d")] == [1, 2]
    assert [line.host for line in await statistics.hosts("c")] == [A]
    assert [held.crawl for held in (await statistics.host(A)).crawls] == ["c", "c.d"]
    assert await where(statistics, f"http://{A}/2") == "unknown"


async def test_the_buckets_of_a_registered_domain_are_one() -> None:
    assert keys.bucket_of("www.example.co.uk:81", 64) == keys.bucket_of("example.co.uk", 64)
    assert len({keys.bucket_of(f"host{n}.test", 64) for n in range(500)}) > 50

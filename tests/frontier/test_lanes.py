"""Lanes and regions in a real Valkey: the hosts that each worker gets, and the hosts that wait for a
worker."""

from __future__ import annotations

import asyncio

from frontier.claims import A, Beds, paths
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds
from gossamer.politeness.breaker import HostTrouble
from gossamer.state.fleet_crawls import Edit, FleetCrawls
from gossamer.state.lane_backlog import heap_of_host, heaps_of_crawl
from gossamer.state.workers import Refusals, WorkerRecord, WorkerRecords
from gossamer.store.store import Store

B = "https://b.example"


async def add(b: object, *requests: Request | str, lane: str = "http", flags: str = "o") -> None:
    """Adds requests and marks those with a region of their own, as a worker does."""
    frontier = b.frontier  # type: ignore[attr-defined] # a bed
    adds: Adds = {}
    for one in requests:
        request = one if isinstance(one, Request) else Request(one)
        host, stored = pack(request)
        group = (0, host, request.priority, lane + ("?" if request.region else ""), flags, "")
        adds.setdefault(group, []).extend((*frontier.remainder(hash(request.url) & (2**64 - 1)), stored))
    await frontier.add(adds)


async def standing(store: Store) -> dict[str, list[str]]:
    """Returns the hosts of each ready heap."""
    keys = sorted([key.decode() async for page in store.scan("{b:000}c:r:*") for key in page])
    return {key[11:]: [host.decode() for host in await store.client.zrange(key, 0, -1)] for key in keys}


async def test_a_worker_gets_the_hosts_of_its_lanes_alone(bed: Beds, store: Store) -> None:
    plain, slow, eu = bed(lanes=("http",)), bed(lanes=("slow",)), bed(lanes=("http", "http@eu"))
    await add(plain, f"{A}/1")
    await add(plain, f"{B}/1", lane="slow")
    await add(plain, "https://c.example/1", lane="http@eu")
    assert await standing(store) == {"http": ["a.example"], "http@eu": ["c.example"], "slow": ["b.example"]}
    assert [c.host for c in await slow.claim()] == ["b.example"]
    assert sorted(c.host for c in await eu.claim()) == ["a.example", "c.example"]
    assert await plain.claim() == []


async def test_a_worker_without_lanes_of_its_own_serves_all(bed: Beds) -> None:
    b = bed()
    await add(b, f"{A}/1", lane="slow@us")
    await add(b, f"{B}/1", Request(f"{B}/2", region="eu"))
    assert sorted(paths(await b.claim())) == ["/1", "/1", "/2"]


async def test_the_lane_of_a_host_is_that_it_was_first_added_with(bed: Beds, store: Store) -> None:
    b = bed(lanes=("http",))
    await add(b, f"{A}/1")
    await add(b, f"{A}/2", lane="slow")
    await add(b, f"{B}/1", lane="slow")
    await add(b, f"{B}/2")
    assert await standing(store) == {"http": ["a.example"], "slow": ["b.example"]}
    assert paths(await b.claim()) == ["/1", "/2"]


async def test_no_heap_starves_another(bed: Beds) -> None:
    b = bed(lanes=("http", "http@eu"), delay=1, per_host=1)
    for i in range(40):
        await add(b, f"https://h{i}.example/")
    await add(b, "https://far.example/", lane="http@eu")
    hosts = []
    for _ in range(12):
        hosts += [c.host for c in await b.claim(1)]
        await asyncio.sleep(0.003)
    assert "far.example" in hosts, "the plain heap alone would have kept it busy"


async def test_hosts_are_left_to_better_workers_for_a_while(bed: Beds) -> None:
    best, other = bed(), bed()
    other.frontier.waits = (60_000, 200_000)
    await add(best, *(f"{B}/{i}" for i in range(8)))
    for claim in await best.claim(4):
        await best.end(claim, "b", since=0, health="b")
    assert [c.host for c in (await other.claimed()).claims] == []
    await add(best, f"{A}/1")
    got = await other.claimed()
    assert (got.claims, 0 < got.next_at - got.now <= 60_000) == ([], True)
    await best.later(70_000)
    assert [c.host for c in await other.claim()] == ["a.example"]
    await best.later(140_000)
    (first, *_) = await other.claim()
    assert (first.host, HostTrouble.of(first.trouble).hard) == ("b.example", True)


async def test_a_host_waits_for_the_region_of_its_next_request(bed: Beds, store: Store) -> None:
    plain, eu, us = (bed(lanes=lanes) for lanes in (("http",), ("http", "http@eu"), ("http", "http@us")))
    await add(plain, f"{A}/1", Request(f"{A}/2", region="eu"), f"{A}/3", Request(f"{A}/4", region="us"))
    assert await standing(store) == {"http": ["a.example"]}
    first = await plain.claim()
    assert paths(first) == ["/1", "/3"], "several were taken at once: those for others went back"
    assert await standing(store) == {"http@eu": ["a.example"]}
    assert await plain.claim() == []
    assert await us.claim() == []
    got = await eu.claim()
    assert (paths(got), got[0].request.region, got[0].attempt) == (["/2"], "eu", 0)
    assert await standing(store) == {"http@us": ["a.example"]}
    assert paths(await us.claim()) == ["/4"]
    for claim in (*first, *got):
        await plain.end(claim)
    assert await standing(store) == {}
    assert await plain.adds_up()


async def test_the_turn_of_the_lowest_level_does_not_stop_a_host(bed: Beds, store: Store) -> None:
    b = bed(lanes=("http",), delay=1, per_host=1)
    await add(b, Request(f"{A}/low", region="nowhere", priority=-5), *(f"{A}/{i}" for i in range(12)))
    done = []
    for _ in range(40):
        for claim in await b.claim():
            done += paths([claim])
            await b.end(claim, delay=0)
        await asyncio.sleep(0.002)
    assert len(done) == 12, "every 16th turn is for what nobody here may have"
    assert await standing(store) == {"http@nowhere": ["a.example"]}


async def test_retries_go_where_they_must(bed: Beds, store: Store) -> None:
    eu = bed(lanes=("http", "http@eu"))
    await add(eu, Request(f"{A}/1", region="eu"))
    (claim,) = await eu.claim()
    await eu.end(claim, "r", wait=0)
    assert await standing(store) == {"http@eu": ["a.example"]}
    (claim,) = await eu.claim()
    assert claim.attempt == 1


async def test_a_redirect_to_the_front_moves_the_host(bed: Beds, store: Store) -> None:
    b = bed(lanes=("http",))
    await add(b, f"{A}/1", f"{A}/2")
    await add(b, Request(f"{A}/child", region="eu"), flags="orf")
    assert await standing(store) == {"http@eu": ["a.example"]}


async def test_what_waits_for_nobody_is_seen(bed: Beds, store: Store) -> None:
    b = bed()
    await Crawls(store).begin("c", Spec([A]), [])
    await add(b, f"{A}/1", f"{B}/1", lane="http@eu")
    await add(b, "https://c.example/1")
    (own, eu) = await heaps_of_crawl(store, "c")
    assert (own.workers, eu.workers, eu.region, eu.ready, eu.stranded) == (None, None, "eu", 2, False)
    await FleetCrawls(store).submit("c", b"{}")
    worker = WorkerRecord(name="w@h", host="h", pid=1, lanes=["http"], processes=1, version="1")
    await WorkerRecords(store).beat(worker)
    (own, eu) = await heaps_of_crawl(store, "c")
    assert (own.workers, own.stranded, eu.workers, eu.stranded) == (1, False, 0, True)
    worker.region = "eu"
    await WorkerRecords(store).beat(worker)
    where = await heap_of_host(store, "c", "a.example")
    assert where is not None
    assert (where.region, where.workers, where.stranded) == ("eu", 1, False)
    await store.client.delete("gossamer:workers")


async def test_a_host_is_handed_over_and_comes_home(bed: Beds, store: Store) -> None:
    plain, eyes = bed(lanes=("http", "http@eu")), bed(lanes=("browser", "browser@eu"))
    await add(plain, *(f"{A}/{n}" for n in range(4)))
    await add(plain, f"{B}/1", f"{B}/2", lane="http@eu")
    claims = await plain.claim(2)
    assert sorted(c.host for c in claims) == ["a.example", "b.example"]
    for one in claims:
        assert await plain.frontier.handover(0, one.host, "browser")
        await plain.end(one, "b")
    assert await standing(store) == {"browser": ["a.example"], "browser@eu": ["b.example"]}
    assert await plain.claim() == []
    (a, b) = sorted(await eyes.claim(2), key=lambda c: c.host)
    assert (a.host, a.attempt, a.crashes, b.host) == ("a.example", 0, 0, "b.example"), "at no cost"
    assert not await eyes.frontier.handover(0, "b.example", "browser")
    assert await eyes.frontier.handover(0, "a.example", "http")
    await eyes.end(a, "d")
    heaps = await standing(store)
    assert (heaps["http"], heaps.get("browser")) == (["a.example"], None)
    assert [c.host for c in await plain.claim(1)] == ["a.example"]


async def test_a_host_is_set_apart_for_those_that_have_its_sites(bed: Beds, store: Store) -> None:
    part, whole = (
        bed(lanes=("http", "http@eu")),
        bed(lanes=("http", "http+shop", "browser+shop", "http+shop@eu")),
    )
    await add(part, *(f"{A}/{n}" for n in range(4)))
    await add(part, Request(f"{B}/1", region="eu"), lane="http@us")
    for one in await part.claim(2):
        assert await part.frontier.handover(0, one.host, "+shop")
        await part.end(one, "b")
    assert await standing(store) == {"http+shop": ["a.example"], "http+shop@eu": ["b.example"]}
    assert await part.claim() == []
    (a, b) = sorted(await whole.claim(2), key=lambda c: c.host)
    assert (a.host, a.attempt, b.host) == ("a.example", 0, "b.example"), "at no cost"
    assert not await whole.frontier.handover(0, "a.example", "+shop")
    assert await whole.frontier.handover(0, "a.example", "browser")
    await whole.end(a, "b")
    assert (await standing(store))["browser+shop"] == ["a.example"]
    (a,) = await whole.claim(1)
    assert await whole.frontier.handover(0, "a.example", "http")
    await whole.end(a, "d")
    assert (await standing(store))["http+shop"] == ["a.example"], "it stays apart in every lane"


async def test_who_serves_what_is_set_apart(bed: Beds, store: Store) -> None:
    b, crew, refusals, tasks = bed(), WorkerRecords(store), Refusals(store), FleetCrawls(store)
    await Crawls(store).begin("c", Spec([A]), [], {"news": "1", "shop": "1"})
    await add(b, f"{A}/1")
    (one,) = await b.claim(1)
    await b.frontier.handover(0, one.host, "+news+shop")
    await b.end(one, "b")
    await tasks.submit("c", b"{}", {"shop": b"what is known of it"})
    for name in ("v@h", "w@h"):
        await crew.beat(WorkerRecord(name=name, host="h", pid=1, lanes=["http"], processes=1, version="1"))
    await refusals.refuse("w@h", "c", "no file", "shop")
    assert await refusals.refused() == {("w@h", "c", "shop"): "no file"}
    (line,) = await heaps_of_crawl(store, "c")
    assert (line.lane, line.sites, line.workers, line.stranded) == (
        "http+news+shop",
        ["news", "shop"],
        1,
        False,
    )
    assert await refusals.others("c"), "v has all"
    await refusals.refuse("v@h", "c", "another version", "news")
    (line,) = await heaps_of_crawl(store, "c")
    assert (line.workers, line.stranded, await refusals.others("c")) == (0, True, False)
    for group in ("shop", "news+shop", "shop"):
        await tasks.apart("c", group)
    edits = [Edit("shop", "1", "2", b"more"), Edit("news", "0", "2", b"too late")]
    assert await tasks.edit("c", edits) == {"news": "1", "shop": "2"}
    assert await tasks.site_reaches("c", ["shop", "news"]) == [b"more", None]
    (task,) = await tasks.tasks()
    assert (task.sites, task.apart) == ({"news": "1", "shop": "2"}, ("shop", "news+shop"))
    for key in ("gossamer:workers", "gossamer:refused"):
        await store.client.delete(key)

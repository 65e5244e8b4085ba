"""The verbs of the frontier against a real Valkey."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gossamer.errors import Moved, Stale
from gossamer.frontier.store import Store, connect
from gossamer.visit import Claim, Settle

Beds = Callable[..., Any]
A = "https://a.example"


def paths(claims: list[Claim]) -> list[str]:
    return [claim.request.url.split("example", 1)[1] for claim in claims]


async def test_a_url_is_taken_once(bed: Beds) -> None:
    b = bed()
    assert await b.add(f"{A}/1", f"{A}/2") == (2, 0, 0)
    assert await b.add(f"{A}/1", f"{A}/3") == (1, 1, 0)
    assert paths(await b.claim()) == ["/1", "/2", "/3"]
    assert await b.counts() | {"token": 0} == {"added": 3, "open": 3, "found": 4, "skip:duplicate": 1, "token": 0}
    assert await b.adds_up()


async def test_many_producers_at_once_add_each_url_once(bed: Beds, valkey_url: str) -> None:
    b = bed()
    stores = [connect(valkey_url) for _ in range(8)]
    for store in stores:
        await store.open(1, "test")
    producers = [type(b)(store) for store in stores]
    urls = [f"{A}/{i}" for i in range(200)]
    results = await asyncio.gather(*(producer.add(*urls) for producer in producers))
    assert sum(new for new, _, _ in results) == 200
    assert len(await b.claim(500)) == 200
    for store in stores:
        await store.close()


async def test_higher_priority_comes_first_and_a_low_one_does_not_starve(bed: Beds) -> None:
    b = bed(delay=1)
    await b.add(*(f"{A}/low{i}" for i in range(5)), priority=-3)
    await b.add(*(f"{A}/high{i}" for i in range(30)), priority=12)
    await b.add(*(f"{A}/mid{i}" for i in range(5)), priority=2)
    order = []
    for _ in range(16):
        (claim,) = await b.claim()
        order += paths([claim])
        await b.end(claim, delay=0)
    assert [path for path in order if "low" in path] == ["/low0", "/low1"], "every 8th claim is the lowest level's"
    assert order[:7] == [f"/high{i}" for i in range(7)]
    assert "mid" not in "".join(order)


async def test_a_child_of_a_redirect_goes_to_the_front(bed: Beds) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    await b.add(f"{A}/child", flags="rf")
    assert paths(await b.claim()) == ["/child", "/1", "/2"]


async def test_one_claim_a_host_and_its_next_start(bed: Beds) -> None:
    b = bed(delay=60_000, per_host=1)
    await b.add(f"{A}/1", f"{A}/2", "https://b.example/1")
    claims = await b.claim()
    assert sorted(c.host for c in claims) == ["a.example", "b.example"]
    assert await b.claim() == []
    one = next(c for c in claims if c.host == "a.example")
    await b.end(one, since=1000, delay=60_000)
    got = await b.claimed()
    assert got.claims == []
    assert 55_000 < got.next_at - got.now <= 59_000, "from the start of the request, a second ago"


async def test_the_gap_holds_with_several_at_once(bed: Beds) -> None:
    b = bed(delay=30, per_host=3)
    await b.add(*(f"{A}/{i}" for i in range(9)))
    starts = []
    for _ in range(2000):
        got = await b.claimed()
        for claim in got.claims:
            starts.append(got.now)
            if len(starts) > 3:
                await b.end(claim, delay=30)
        if len(starts) == 3:
            break
    assert len(starts) == 3
    assert min(b - a for a, b in zip(starts, starts[1:], strict=False)) >= 30
    assert (await b.counts())["open"] == 9
    await asyncio.sleep(0.05)
    assert await b.claim() == [], "three are out"


async def test_a_refused_claim_gives_its_turn_back_and_the_next_is_a_gate(bed: Beds) -> None:
    b = bed(delay=60_000, per_host=1)
    await b.add(*(f"{A}/{i}" for i in range(20)))
    (first,) = await b.claim()
    await b.end(first, "k")
    gate = await b.claim()
    assert (len(gate), {c.kind for c in gate}) == (16, {"gate"})
    refused, chosen, rest = gate[:2], gate[2], gate[3:]
    ends = [Settle(c.token, "k") for c in refused] + [Settle(c.token, "b") for c in rest]
    await b.frontier.settle(0, ends, {"skip:robots": 2}, {})
    assert await b.claim() == [], "the one that was allowed is out"
    await b.end(chosen, since=59_990, delay=60_000)
    await asyncio.sleep(0.02)
    (*_, last) = gate = await b.claim()
    assert paths(gate) == [f"/{i}" for i in range(4, 20)], "what went back keeps its order"
    assert await b.adds_up()
    del last


async def test_robots_come_before_pages_and_are_shared(bed: Beds) -> None:
    b, other = bed(obey_robots=True), bed("other", obey_robots=True)
    await b.add(f"{A}/1", f"{A}/2")
    await other.add(f"{A}/9")
    (claim,) = await b.claim()
    assert (claim.kind, claim.request.url) == ("robots", f"{A}/robots.txt")
    assert await other.claim() == [], "the other crawl waits for the same robots.txt"
    kept = b.frontier.robots
    assert await kept(claim, version=7, holds=60_000, crawl_delay=0, settle=Settle(claim.token, "d", since=0), rules=b"R")
    assert [c.robots for c in await b.claim()] == [7, 7]
    assert paths(await other.claim()) == ["/9"]
    assert await b.frontier.rules(0, "a.example", "s") == b"R"
    assert not await kept(claim, version=8, holds=1, crawl_delay=0, settle=Settle(claim.token, "d"))


async def test_each_scheme_has_its_own_robots(bed: Beds) -> None:
    b = bed(obey_robots=True)
    await b.add(f"{A}/1", "http://a.example/1")
    (first,) = await b.claim()
    await b.frontier.robots(first, version=7, holds=60_000, crawl_delay=0, settle=Settle(first.token, "d", since=0))
    claims = await b.claim()
    kinds = {c.request.url for c in claims}
    second = [c for c in claims if c.kind == "robots"] or await b.claim()
    assert {c.request.url for c in second} | kinds >= {"http://a.example/robots.txt", f"{A}/1"} or len(second) == 1


async def test_a_closed_host_is_asked_again_after_its_wait(bed: Beds) -> None:
    b = bed(obey_robots=True)
    await b.add(f"{A}/1")
    (claim,) = await b.claim()
    assert claim.robots == 0
    settle = Settle(claim.token, "d", since=0, host_wait=40)
    await b.frontier.robots(claim, version=1, holds=0, crawl_delay=0, settle=settle)
    assert await b.claim() == []
    await asyncio.sleep(0.06)
    (again,) = await b.claim()
    assert (again.kind, again.robots) == ("robots", 1)


async def test_a_crawl_delay_is_a_floor(bed: Beds) -> None:
    b = bed(obey_robots=True, per_host=1)
    await b.add(f"{A}/1", f"{A}/2")
    (claim,) = await b.claim()
    await b.frontier.robots(claim, version=7, holds=60_000, crawl_delay=50, settle=Settle(claim.token, "d", since=0))
    assert await b.claim() == [], "robots.txt was a request, too"
    await asyncio.sleep(0.06)
    (page,) = await b.claim()
    assert (page.delay, page.floor) == (0.05, 0.05)


async def test_retries_wait_and_go_behind_fresh_urls(bed: Beds) -> None:
    b = bed(delay=1)
    await b.add(f"{A}/bad")
    (bad,) = await b.claim()
    await b.end(bad, "r", wait=30)
    assert (await b.counts())["open"] == 1
    assert await b.claim() == []
    await asyncio.sleep(0.05)
    await b.add(f"{A}/fresh")
    (fresh,) = await b.claim()
    assert paths([fresh]) == ["/fresh"]
    await b.end(fresh)
    await asyncio.sleep(0.005)
    (again,) = await b.claim()
    assert (paths([again]), again.attempt) == (["/bad"], 1)


async def test_dead_letters_requeue_and_drop(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    for claim in await b.claim():
        await b.end(claim, "x", reason="dns", detail="no\taddress\n")
    counts = await b.counts()
    assert (counts["dead"], counts["err:dns"], counts["open"]) == (2, 2, 0)
    assert await b.adds_up()
    assert await store.run("dead", 0, "c", "requeue", 1, 99) == 1
    assert await store.run("dead", 0, "c", "drop", 2) == 1
    (back,) = await b.claim()
    assert (paths([back]), back.attempt, back.crashes) == (["/1"], 0, 0)
    assert (await b.counts())["failed"] == 1
    assert await b.adds_up()


async def test_an_expired_lease_returns_and_its_token_is_worth_nothing(bed: Beds) -> None:
    b = bed(lease=30)
    await b.add(f"{A}/1")
    (claim,) = await b.claim()
    await asyncio.sleep(0.05)
    assert (await b.frontier.sweep(0))[0] == 1
    with pytest.raises(Stale) as stale:
        await b.end(claim)
    assert stale.value.tokens == [claim.token]
    (again,) = await b.claim()
    assert (again.crashes, again.attempt) == (1, 0), "a kill is not an attempt"
    await b.end(again)
    assert await b.frontier.sweep(0) == (0, 0, 1, 0)


async def test_renewal_keeps_a_lease_and_tells_of_lost_ones(bed: Beds) -> None:
    b = bed(lease=60)
    await b.add(f"{A}/1")
    (claim,) = await b.claim()
    for _ in range(4):
        await asyncio.sleep(0.03)
        assert await b.frontier.renew(0, [claim.token, 12345]) == [12345]
    assert (await b.frontier.sweep(0))[0] == 0
    await b.end(claim)


async def test_a_url_that_kills_its_workers_ends_as_a_dead_letter(bed: Beds) -> None:
    b = bed(lease=1)
    await b.add(f"{A}/poison")
    for crashes in range(10):
        (claim,) = await b.claim()
        assert claim.crashes == crashes
        await asyncio.sleep(0.003)
        await b.frontier.sweep(0)
    assert await b.claim() == []
    assert ((await b.counts())["dead"], (await b.counts())["err:crash"]) == (1, 1)


async def test_when_nobody_lives_all_leases_return_and_nobody_is_blamed(bed: Beds) -> None:
    b = bed(delay=40, per_host=1)
    await b.add(f"{A}/1", "https://b.example/1")
    assert len(await b.claim()) == 2
    assert (await b.frontier.sweep(0, nobody_lives=True))[0] == 2
    assert await b.claim() == [], "the dead may just have asked: each host waits its delay"
    await asyncio.sleep(0.06)
    assert [c.crashes for c in await b.claim()] == [0, 0]


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
    assert await b.frontier.lengths(0, ["out"]) == [None]
    await b.frontier.settle(0, [Settle(two.token, "d")], {"pages": 1}, adds, [("out", 0, 10)])
    assert await b.frontier.lengths(0, ["out"]) == [10]
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
    assert await b.frontier.landed(0, [Settle(one.token, "d", since=20, delay=20)]) == 1
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
    assert (len(second.claims) <= 1) and second.next_at > second.now
    loop = asyncio.get_running_loop()
    began, got = loop.time(), len(first.claims) + len(second.claims)
    while got < 40:
        got += len(await b.claim())
        await asyncio.sleep(0.005)
    assert got / (loop.time() - began + 0.1) <= 105


async def test_two_crawls_share_a_host_s_turns(bed: Beds) -> None:
    one, two = bed("one", delay=60_000, per_host=1), bed("two", delay=60_000, per_host=1)
    await one.add(f"{A}/1")
    await two.add(f"{A}/2")
    (claim,) = await one.claim()
    assert await two.claim() == []
    await one.end(claim, since=0, delay=30)
    assert await two.claim() == []
    await asyncio.sleep(0.05)
    assert paths(await two.claim()) == ["/2"], "the settle armed the other crawl as well"


async def test_a_paused_host_waits_and_the_others_go_on(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", "https://b.example/1")
    now = (await b.claimed(0)).now
    await store.run("hold", 0, "", "a.example", "p", now + 3_600_000)
    assert [c.host for c in await b.claim()] == ["b.example"]
    await store.run("hold", 0, "", "a.example", "p", "")
    assert [c.host for c in await b.claim()] == ["a.example"]


async def test_an_operator_s_delay_beats_the_crawl_s(bed: Beds, store: Store) -> None:
    b = bed()
    await b.add(f"{A}/1", f"{A}/2")
    await store.run("hold", 0, "", "a.example", "D", 60_000)
    (claim,) = await b.claim()
    assert (claim.delay, claim.rate) == (60.0, 60.0)


async def test_priorities_change_while_urls_wait(bed: Beds, store: Store) -> None:
    b = bed(delay=1)
    await b.add(f"{A}/1", f"{A}/2", f"{A}/3")
    entries = await store.client.lrange("{b:000}c:q:a.example:0", 1, 2)
    assert await store.run("move", 0, "c", "a.example", 0, 9, entries[0], entries[1], b"gone") == 2
    order = []
    for _ in range(3):
        (claim,) = await b.claim()
        order += paths([claim])
        await b.end(claim)
    assert order == ["/2", "/3", "/1"]
    assert not await store.client.exists("{b:000}c:q:a.example:0", "{b:000}c:q:a.example:9")


async def test_a_discovered_host_s_budget_grows_with_its_standing(bed: Beds) -> None:
    b = bed(host_pages=100)
    assert await b.add(*(f"{A}/{i}" for i in range(10)), flags="", voucher="1") == (10, 0, 8), "2 % for one voucher"
    assert await b.add(f"{A}/x", flags="", voucher="1") == (1, 0, 1), "the same domain vouches once"
    assert (await b.counts())["skip:budget"] == 9
    assert await b.adds_up()
    await b.add(f"{A}/y", flags="", voucher="2")
    assert (await b.counts())["skip:budget"] == 2, "10 %: parked ones came back"
    await b.add(f"{A}/z", flags="", voucher="3")
    assert (await b.counts())["skip:budget"] == 0
    assert len(await b.claim()) == 13
    assert await b.adds_up()


async def test_a_host_that_one_domain_vouches_for_has_little_and_more_as_the_crawl_grows(bed: Beds) -> None:
    b = bed()
    urls = [f"{A}/{i}" for i in range(20)]
    assert await b.add(*urls, flags="", voucher="1") == (20, 0, 15)
    await b.frontier.count({"pages": 3000, "found": 3000})
    await b.add(f"{A}/x", flags="", voucher="1")
    assert (await b.counts())["skip:budget"] == 13, "three more, a thousandth"
    await b.frontier.count({"pages": 1_000_000, "found": 1_000_000})
    await b.add(f"{A}/y", flags="", voucher="1")
    assert (await b.counts())["skip:budget"] == 0
    assert await b.adds_up()


async def test_a_flat_budget_asks_for_no_standing(bed: Beds) -> None:
    b = bed(host_pages=-3)
    assert await b.add(*(f"{A}/{i}" for i in range(10)), flags="") == (10, 0, 7)


async def test_strangers_live_on_a_share_of_the_crawl(bed: Beds) -> None:
    b = bed()
    urls = [f"https://s{i}.example/" for i in range(50)]
    assert await b.add(*urls, flags="") == (50, 0, 45)
    await b.frontier.count({"pages": 100, "found": 100})
    assert await b.add(*(f"{url}x" for url in urls[:10]), flags="") == (10, 0, 9)
    assert await b.adds_up()


@pytest.mark.parametrize("seen", ["default", "exact", "bloom"])
async def test_the_seen_set_grows_and_forgets_nothing(bed: Beds, store: Store, seen: str) -> None:
    b = bed(seen=seen, sets=2 if seen != "bloom" else 64)
    urls = [f"{A}/{i}" for i in range(3000)]
    for first in range(0, len(urls), 400):
        await b.add(*urls[first : first + 400])
    added = (await b.counts())["added"]
    assert added >= len(urls) - (0 if seen != "bloom" else len(urls) // 50)
    assert int(await store.client.hget("{b:000}c:g", "n")) >= 2
    new, known, _ = await b.add(*urls)
    assert (new, known) == (0, len(urls))
    if seen == "default":
        sizes = [await store.client.scard(key) async for key in store.client.scan_iter("{b:000}c:s:*")]
        assert max(sizes) < 512, "512 is where Valkey gives the compact form up"
        kinds = {await store.client.object("encoding", key) async for key in store.client.scan_iter("{b:000}c:s:*")}
        assert kinds <= {b"intset"}


async def test_sitemaps_are_open_but_not_found(bed: Beds) -> None:
    b = bed()
    await b.add(f"{A}/sitemap.xml", flags="oi", use="@sitemap")
    counts = await b.counts()
    assert (counts["open"], counts["infra"], counts.get("found", 0)) == (1, 1, 0)
    assert await b.adds_up()
    (claim,) = await b.claim()
    assert claim.request.use == "@sitemap"


async def test_a_request_keeps_all_its_needs(bed: Beds) -> None:
    b = bed()
    needs: dict[str, Any] = {
        "depth": 3, "priority": 7, "referrer": "https://else.example/x", "hops": ("https://z.example/",), "method": "POST",
        "headers": {"X-A": "b"}, "body": "b=1", "use": "f", "carry": {"a": [1]}, "id": "7", "country": "de", "proxy": "residential",
        "rung": "plain", "added_at": 5.0,
    }  # fmt: skip
    await b.add(f"{A}/p?q=1", **needs)
    (claim,) = await b.claim()
    for name, value in needs.items():
        assert getattr(claim.request, name) == value


async def test_limits_are_exact_over_many_buckets(valkey_url: str) -> None:
    from gossamer.frontier.verbs import Frontier, Policy
    from gossamer.request import entry

    stores = [connect(valkey_url) for _ in range(3)]
    for store in stores:
        await store.open(8, "test")
    policy = Policy(delay=0, per_host=100, obey_robots=False, limit=25)
    workers = [Frontier(store, "c", policy) for store in stores]
    adds = {
        (bucket, f"h{bucket}.example", 0, "http", "o", ""): [
            x for i in range(20) for x in (*workers[0].remainder(hash((bucket, i)) & (2**64 - 1)), entry("http", f"/{i}", 0, None))
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

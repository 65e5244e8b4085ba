"""URLs added to the frontier in a real Valkey: the seen set, the budgets of discovered hosts, and the fields
of an entry."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from frontier.claims import A, Beds, paths
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.multi_bucket import READ_INTERVAL_S
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store, connect


async def test_a_url_is_taken_once(bed: Beds) -> None:
    b = bed()
    assert await b.add(f"{A}/1", f"{A}/2") == (2, 0, 0)
    assert await b.add(f"{A}/1", f"{A}/3") == (1, 1, 0)
    assert paths(await b.claim()) == ["/1", "/2", "/3"]
    assert await b.counts() | {"token": 0} == {
        "added": 3,
        "open": 3,
        "found": 4,
        "skip:duplicate": 1,
        "token": 0,
    }
    assert await b.adds_up()


async def test_many_producers_at_once_add_each_url_once(bed: Beds, any_url: str) -> None:
    b = bed()
    stores = [connect(any_url) for _ in range(8)]
    for store in stores:
        await store.open(1, "test")
    producers = [type(b)(store) for store in stores]
    urls = [f"{A}/{i}" for i in range(200)]
    results = await asyncio.gather(*(producer.add(*urls) for producer in producers))
    assert sum(new for new, _, _ in results) == 200
    assert len(await b.claim(500)) == 200
    for store in stores:
        await store.close()


async def test_a_discovered_host_s_budget_grows_with_its_standing(bed: Beds) -> None:
    b = bed(host_pages=100)
    assert await b.add(*(f"{A}/{i}" for i in range(10)), flags="", voucher="1") == (10, 0, 8), (
        "2 % for one voucher"
    )
    assert await b.add(f"{A}/x", flags="", voucher="1") == (1, 0, 1), "the same domain vouches once"
    assert (await b.counts())["skip:budget"] == 9
    assert await b.adds_up()
    await b.add(f"{A}/y", flags="", voucher="2")
    assert (await b.counts())["skip:budget"] == 2, "10 %: parked ones came back"
    await b.add(f"{A}/z", flags="", voucher="3")
    assert (await b.counts())["skip:budget"] == 0
    assert len(await b.claim()) == 13
    assert await b.adds_up()


async def test_a_link_to_a_known_url_raises_the_standing_of_its_host_too(bed: Beds) -> None:
    b = bed(host_pages=1000)
    urls = [f"{A}/{i}" for i in range(10)]
    assert await b.add(*urls, flags="") == (10, 0, 5), "nobody vouches: five pages"
    assert await b.add(*urls[:1], flags="", voucher="1") == (0, 1, -5), "all are back"
    assert len(await b.claim()) == 10
    assert await b.adds_up()


async def test_hosts_that_one_domain_vouches_for_have_little_and_more_as_the_crawl_grows(bed: Beds) -> None:
    b = bed()
    assert await b.add(*(f"{A}/{i}" for i in range(70)), flags="", voucher="1") == (70, 0, 40), (
        "5 of its own, 25 shared"
    )
    other = [f"https://b.example/{i}" for i in range(20)]
    assert await b.add(*other, flags="", voucher="1") == (20, 0, 20 - 5), "the shared ones are gone"
    await b.frontier.count({"pages": 3000, "found": 3000})
    await b.add("https://b.example/x", flags="", voucher="1")
    assert (await b.counts())["skip:budget"] < 45, "a thousandth of its own, a hundredth shared"
    await b.frontier.count({"pages": 1_000_000, "found": 1_000_000})
    await b.add(f"{A}/y", flags="", voucher="1")
    await b.add("https://b.example/y", flags="", voucher="1")
    assert (await b.counts())["skip:budget"] == 0
    assert await b.adds_up()


async def test_a_flat_budget_asks_for_no_standing(bed: Beds) -> None:
    b = bed(host_pages=-3)
    assert await b.add(*(f"{A}/{i}" for i in range(10)), flags="") == (10, 0, 7)


async def test_strangers_live_on_a_share_of_the_crawl(bed: Beds) -> None:
    b = bed()
    urls = [f"https://s{i}.example/" for i in range(50)]
    assert await b.add(*urls, flags="") == (50, 0, 45)
    await b.frontier.count({"pages": 200, "found": 200})
    assert await b.add(*(f"{url}x" for url in urls[:10]), flags="") == (10, 0, 9)
    assert await b.adds_up()


async def test_shares_are_of_the_crawl_in_a_store_of_many_buckets(any_url: str) -> None:
    """Spam hosts lie in all buckets. Together they get the same share as they would in one bucket."""
    stores = [connect(any_url) for _ in range(2)]
    for one in stores:
        await one.open(64, "test")
    workers = [Frontier(one, "c", Policy(delay=0, obey_robots=False)) for one in stores]

    def spam(names: range, voucher: str, path: str = "") -> Adds:
        adds: Adds = {}
        for n in names:
            host, entry = pack(Request(f"http://spam{n}.example{n}.test/{path}"))
            group = (bucket_of(host, 64), host, 0, "http", "", voucher)
            adds.setdefault(group, []).extend(
                (*workers[0].remainder(hash((host, path)) & (2**64 - 1)), entry)
            )
        return adds

    async def taken() -> int:
        return (await crawl_counts(stores[0], "c"))["open"]

    await workers[0].add(spam(range(500), ""))
    assert await taken() == 5, "strangers share 5 pages"
    await asyncio.sleep(READ_INTERVAL_S + 0.01)
    await workers[1].settle(9, [], {}, spam(range(500, 1000), ""))
    assert await taken() == 5, "another worker learns of them"
    await workers[1].count({"pages": 1000, "found": 1000}, bucket=17)
    await asyncio.sleep(READ_INTERVAL_S + 0.01)
    await workers[0].add(spam(range(1000), "", "more"))
    assert await taken() == 5 + 5, "a two-hundredth of the pages, wherever those lie"
    await asyncio.sleep(READ_INTERVAL_S + 0.01)
    for k in range(20):
        await workers[k % 2].add(spam(range(100, 150), "7", f"single{k}"))
        await asyncio.sleep(READ_INTERVAL_S + 0.01 if k < 8 else 0)
    assert await taken() <= 10 + 50 * 6 + 35, "6 of each host's own, and 25 and a hundredth shared"
    for one in stores:
        await one.close()


@pytest.mark.parametrize("seen", ["default", "exact", "bloom"])
async def test_the_seen_set_grows_and_forgets_nothing(bed: Beds, store: Store, seen: str) -> None:
    b = bed(seen=seen, sets=2)
    urls = [f"{A}/{i}" for i in range(3000)]
    for first in range(0, len(urls), 400):
        await b.add(*urls[first : first + 400])
    added = (await b.counts())["added"]
    assert added >= len(urls) - (0 if seen != "bloom" else len(urls) // 300)
    state = {k.decode(): int(v) for k, v in (await store.client.hgetall("{b:000}c:g")).items()}
    assert max(state["n"], state["s1"]) >= 2
    assert (state["lost"] > 0) == (seen != "exact")
    new, known, _ = await b.add(*urls)
    assert (new, known) == (0, len(urls))
    if seen == "default":
        sets = [key async for page in store.scan("{b:000}c:s:*") for key in page]
        sizes = [await store.client.scard(key) for key in sets]
        assert max(sizes) < 512, "512 is where Valkey gives the compact form up"
        kinds = {await store.client.object("encoding", key) for key in sets}
        assert kinds <= {b"intset"}


@pytest.mark.parametrize("seen", ["default", "bloom"])
async def test_the_loss_is_as_stated_and_so_is_the_room(bed: Beds, store: Store, seen: str) -> None:
    """Checks measured values: the new URLs that were taken for known ones, and the bytes per URL at several
    sizes."""
    b, rng, done, most = bed(seen=seen), random.Random(3), 0, {"default": 5.0, "bloom": 3.1}[seen]
    for size in (10_000, 20_000, 35_000, 60_000, 100_000, 150_000):
        while done < size:
            flat = [x for _ in range(500) for x in (*b.frontier.remainder(rng.getrandbits(64)), b"h00")]
            await b.frontier.add({(0, "a.example", 0, "http", "o", ""): flat})
            done += 500
        if seen == "bloom":
            keys = [key async for key in store.client.scan_iter("{b:000}c:b:*", count=1000)]
            pipe = store.client.pipeline(transaction=False)
            for key in keys:
                pipe.memory_usage(key)
            assert sum(await pipe.execute()) / done < most
    lost = done - (await b.counts())["added"]
    expected = int(await store.client.hget("{b:000}c:g", "lost")) / 1e12
    assert lost <= done * (1e-7 if seen == "default" else 1e-3)
    assert abs(lost - expected) <= 5 * expected**0.5 + 0.01
    assert expected > 0


async def test_pages_of_the_filter_that_split_very_often_still_know_all(bed: Beds, store: Store) -> None:
    """Each split removes one bit of the fingerprints in a page of the filter. After fifteen splits only the
    cell of a URL is left."""
    b, rng = bed(seen="bloom"), random.Random(8)
    flat = [x for _ in range(300) for x in (*b.frontier.remainder(rng.getrandbits(64)), b"h00")]
    group = (0, "a.example", 0, "http", "o", "")
    assert await b.frontier.add({group: flat}) == (300, 0, 0)
    for level in range(1, 19):  # as if that many other URLs had been added in between
        await store.client.hset("{b:000}c:g", "c1", 2**level * 768)
        assert await b.frontier.add({group: flat}) == (0, 300, 0)
    assert int(await store.client.hget("{b:000}c:g", "s1")) == 2**18


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
        "depth": 3,
        "priority": 7,
        "referrer": "https://else.example/x",
        "hops": ("https://z.example/",),
        "method": "POST",
        "headers": {"X-A": "b"},
        "body": "b=1",
        "use": "f",
        "carry": {"a": [1]},
        "id": "7",
        "country": "de",
        "proxy": "residential",
        "rung": "plain",
        "added_at": 5.0,
    }
    await b.add(f"{A}/p?q=1", **needs)
    (claim,) = await b.claim()
    for name, value in needs.items():
        assert getattr(claim.request, name) == value


async def test_a_mark_without_an_entry_only_enters_the_seen_set(bed: Beds) -> None:
    b = bed()
    host, entry = pack(Request(f"{A}/1"))
    again, plain = b.frontier.remainder(1), b.frontier.remainder(2)
    adds: Adds = {(0, host, 0, "http", "o", ""): [*again, entry, *plain, b""]}
    assert await b.frontier.add(adds) == (1, 0, 0)
    assert await b.frontier.known(0, 2)
    assert await b.frontier.add(adds) == (0, 1, 0)
    link: Adds = {(0, host, 0, "http", "o", ""): [*plain, entry]}
    assert await b.frontier.add(link) == (0, 1, 0)
    assert paths(await b.claim()) == ["/1"]
    assert await b.adds_up()

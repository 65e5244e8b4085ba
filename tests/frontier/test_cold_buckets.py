"""The cold store of a store with many buckets."""

from __future__ import annotations

import asyncio

from gossamer.frontier.cold import ColdServer, run_spiller, set_hot_limit
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack
from gossamer.model.visit import Adds, Settle
from gossamer.store import keys
from gossamer.store.store import connect

HOT = 4


async def test_a_store_of_many_buckets(valkey_url: str, other_server: str) -> None:
    store = connect(valkey_url)
    await store.open(16, "test")
    cold = ColdServer(connect(other_server), "many")
    await set_hot_limit(store, "many", HOT)
    frontier = Frontier(store, "many", Policy(delay=0, obey_robots=False, per_host=10))
    adds: Adds = {}
    for n in range(600):
        host, stored = pack(Request(f"https://site{n % 20}.example/{n}"))
        group = (keys.bucket_of(host, 16), host, 0, "http", "o", "")
        adds.setdefault(group, []).extend((*frontier.remainder(hash((n, "s")) & (2**64 - 1)), stored))
    await frontier.add(adds)
    found: list[str] = []
    async with run_spiller(store, "many", cold, HOT):
        async with asyncio.timeout(60):
            while len(found) < 600:
                for bucket in range(16):
                    got = await frontier.claim(bucket, 20)
                    found += [claim.request.url for claim in got.claims]
                    ends = [Settle(claim.token, "d", since=0) for claim in got.claims]
                    await frontier.settle(bucket, ends, {"pages": len(ends)}, {})
                await asyncio.sleep(0.01)
    assert len(set(found)) == 600
    for host in range(20):
        numbers = [int(url.rsplit("/", 1)[1]) for url in found if f"//site{host}." in url]
        assert numbers == sorted(numbers), "in the order of their arrival"
    assert (await crawl_counts(store, "many"))["open"] == 0
    await cold.close()
    await store.close()

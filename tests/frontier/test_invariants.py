"""Random sequences of verbs, by several clients on one store with several buckets. The invariants hold after
each verb."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gossamer import url as urls
from gossamer.errors import Stale
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.frontier.operator import OperatorCommands
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, pack, unpack
from gossamer.model.visit import Adds, Claim, Settle
from gossamer.store import keys
from gossamer.store.store import Store, connect
from support.repetitions import repetitions

HOSTS = [f"h{n}.site{n % 5}.example" for n in range(8)]
CRAWLS = ("one", "two")
SEEDS = range(repetitions(10, 3))


class Fleet:
    """Several clients with a record of their actions, which the audit compares with the store."""

    def __init__(self, stores: list[Store], rng: random.Random, **policy: Any) -> None:
        self.rng, self.store = rng, stores[0]
        self.policy = Policy(
            **({"delay": 15, "obey_robots": False, "lease": 60, "per_host": rng.choice((1, 1, 3))} | policy)
        )
        self.clients = {crawl: [Frontier(store, crawl, self.policy) for store in stores] for crawl in CRAWLS}
        self.held: list[tuple[str, Claim, float]] = []
        """Claims that a client holds: the crawl, the claim, and the store's time of the claim in ms."""
        self.known: dict[str, set[str]] = {crawl: set() for crawl in CRAWLS}
        self.ended: dict[str, Counter[str]] = {crawl: Counter() for crawl in CRAWLS}
        self.starts: dict[str, list[int]] = defaultdict(list)
        """By host, the store's times of claims that led to a request."""
        self.stale = 0

    def client(self, crawl: str) -> Frontier:
        return self.rng.choice(self.clients[crawl])

    async def step(self) -> None:
        verbs = (
            self.add,
            self.claim,
            self.claim,
            self.end,
            self.end,
            self.end,
            self.renew,
            self.requeue_expired,
            self.steer,
            self.letters,
        )
        await self.rng.choice(verbs)(self.rng.choice(CRAWLS))
        if self.rng.random() < 0.2:
            await asyncio.sleep(self.rng.choice((0.001, 0.01, 0.03)))

    async def add(self, crawl: str) -> None:
        adds: Adds = {}
        frontier = self.client(crawl)
        for _ in range(self.rng.randrange(1, 8)):
            request = Request(
                f"http://{self.rng.choice(HOSTS)}/{self.rng.randrange(40)}",
                priority=self.rng.choice((0, 0, 0, -2, 5)),
            )
            host, entry = pack(request)
            group = (keys.bucket_of(host, self.store.buckets), host, request.priority, "http", "o", "")
            mark = frontier.remainder(urls.fingerprint(request.url, 1))
            adds.setdefault(group, []).extend((*mark, entry))
            self.known[crawl].add(request.url)
        await frontier.add(adds)

    async def claim(self, crawl: str) -> None:
        for bucket in self.rng.sample(range(self.store.buckets), self.store.buckets):
            got = await self.client(crawl).claim(bucket, self.rng.choice((1, 3, 20)))
            gates: set[str] = set()
            for claim in got.claims:
                self.held.append((crawl, claim, got.now))
                # of the gate claims of a host, at most one may lead to a request
                if claim.kind == "gate" and claim.host in gates:
                    await self.end(crawl, self.rng.choice("kb"), len(self.held) - 1)
                gates.add(claim.host)

    async def end(self, crawl: str, action: str = "", which: int = -1) -> None:
        if not self.held:
            return
        crawl, claim, at = self.held.pop(which if which >= 0 else self.rng.randrange(len(self.held)))
        action = action or self.rng.choice("dddrxkb")
        asked = action not in "kb"
        now = await self.now()
        settle = Settle(
            claim.token,
            action,
            since=now - at if asked else -1,
            delay=15,
            reason="dns",
            wait=self.rng.choice((0, 20)),
            host_wait=self.rng.choice((0, 0, 30)),
        )
        counted = {"pages": 1} if action == "d" else {"skip:robots": 1} if action == "k" else {}
        frontier = self.client(crawl)
        if asked and self.rng.random() < 0.3:
            await frontier.free_slots(claim.bucket, [settle])
        try:
            await frontier.settle(claim.bucket, [settle], counted, {})
        except Stale:
            assert now - at > self.policy.lease - 5, "no lease is lost before its time"
            self.stale += 1
        else:
            if action in "dk":
                self.ended[crawl][claim.request.url] += 1
            if not asked:
                return
        self.starts[claim.host].append(at)

    async def renew(self, crawl: str) -> None:
        some = [claim for owner, claim, _ in self.held if owner == crawl and self.rng.random() < 0.5]
        for claim in some:
            lost = await self.client(crawl).renew(claim.bucket, [claim.token])
            if lost:
                with pytest.raises(Stale):
                    await self.client(crawl).settle(
                        claim.bucket, [Settle(claim.token, "d", since=0)], {"pages": 1}, {}
                    )

    async def requeue_expired(self, crawl: str) -> None:
        for bucket in range(self.store.buckets):
            await self.client(crawl).requeue_expired(bucket)

    async def steer(self, crawl: str) -> None:
        steer, host = OperatorCommands(self.store), self.rng.choice(HOSTS)
        match self.rng.randrange(4):
            case 0:
                await steer.pause(host, 0.02)
            case 1:
                await steer.resume(host)
            case 2:
                await steer.priority(crawl, self.rng.choice((-5, 0, 9)), host=host)
            case 3:
                await steer.at_once(host, self.rng.choice((None, 1, 2)))

    async def letters(self, crawl: str) -> None:
        verb = self.rng.choice(("requeue", "requeue", "drop"))
        if verb == "requeue":
            await OperatorCommands(self.store).letters(crawl, verb, host=self.rng.choice(HOSTS))

    async def now(self) -> int:
        seconds, micros = await self.store.client.time()
        return int(seconds) * 1000 + int(micros) // 1000


async def audit(fleet: Fleet) -> None:
    """Compares the store's records with one another and with the record of the clients."""
    client, out = fleet.store.client, Counter[str]()
    for crawl in CRAWLS:
        places: Counter[str] = Counter(fleet.ended[crawl])
        waiting: dict[str, int] = {}
        leased = dead = 0
        for bucket in range(fleet.store.buckets):
            tag = f"{keys.tag(bucket)}{crawl}:"
            records = await client.hgetall(f"{tag}lp")
            assert set(records) == set(await client.zrange(f"{tag}l", 0, -1))
            for record in records.values():
                host, level, kind, _, _, entry = record.split(b"\t", 5)
                places[unpack(host.decode(), entry, int(level)).url] += 1
                out[host.decode()] += kind != b"landed"
                leased += 1
            for letter in (await client.hgetall(f"{tag}x")).values():
                _, _, host, level, _, entry = letter.split(b"\t", 5)
                places[unpack(host.decode(), entry, int(level)).url] += 1
                dead += 1
        for host in HOSTS:
            entries = await waiting_at(fleet.store, crawl, host)
            waiting[host] = len(entries)
            places.update(entries)
        assert places == Counter(fleet.known[crawl]), "every URL in one place"
        n = await crawl_counts(fleet.store, crawl)
        assert n["open"] == leased + sum(waiting.values())
        assert (n["dead"], n["pages"] + n["skip:robots"]) == (dead, sum(fleet.ended[crawl].values()))
        assert n["found"] == n["pages"] + n["dead"] + n["open"] + n["skip:robots"] + n["skip:duplicate"]
        await heap_is_right(fleet.store, crawl, waiting)
    for host in HOSTS:
        bucket = keys.bucket_of(host, fleet.store.buckets)
        i = await client.hget(f"{keys.tag(bucket)}h:{host}", "i")
        assert int(i or 0) == out[host], "slots taken are claims out"


async def waiting_at(store: Store, crawl: str, host: str) -> list[str]:
    client, tag = store.client, f"{keys.tag(keys.bucket_of(host, store.buckets))}{crawl}:"
    levels, queued = await client.hmget(f"{tag}h:{host}", ["L", "q"])
    listed = [int(level) for level in (levels or b"").decode().split(",") if level]
    assert listed == sorted(listed, reverse=True)
    assert {f"{tag}q:{host}:{level}" for level in listed} == {
        key.decode() async for found in store.scan(f"{tag}q:{host}:*") for key in found
    }
    entries = [e for level in listed for e in await client.lrange(f"{tag}q:{host}:{level}", 0, -1)]
    assert int(queued or 0) == len(entries)
    entries += [member.split(b"\t", 1)[1] for member in await client.zrange(f"{tag}t:{host}", 0, -1)]
    return [unpack(host, entry).url for entry in entries]


async def heap_is_right(store: Store, crawl: str, waiting: dict[str, int]) -> None:
    """Checks that a host is in the ready heap exactly if it has URLs and a free slot, and that its score is
    its next start."""
    for host, n in waiting.items():
        tag = keys.tag(keys.bucket_of(host, store.buckets))
        i, m, usual, start = await store.client.hmget(f"{tag}h:{host}", ["i", "m", "M", "n"])
        score = await store.client.zscore(f"{tag}{crawl}:r:http", host)
        assert (score is not None) == (n > 0 and int(i or 0) < int(m or usual or 1))
        assert score is None or score >= int(start or 0)
        await order_is_right(store, f"{tag}{crawl}:", host, score)


async def order_is_right(store: Store, crawl: str, host: str, at: float | None) -> None:
    """Checks that the heap by level contains the same hosts as the heap by time, each at the level of its
    next URL, once the crawl has used several levels."""
    client = store.client
    first = (await client.hget(f"{crawl}g", "lv") or b"").decode()
    place = await client.zscore(f"{crawl}u:http", host)
    if not first.endswith("*") or at is None:
        assert place is None
        return
    assert place is not None
    levels = (await client.hget(f"{crawl}h:{host}", "L") or b"").decode()
    retries = await client.zrange(f"{crawl}t:{host}", 0, 0)
    top = levels.split(",")[0] or retries[0].split(b"\t")[0]
    assert (place % 2**42, int(first[:-1]) - place // 2**42) == (at, int(top))


@pytest.fixture
async def stores(any_url: str) -> AsyncIterator[Any]:
    opened: list[Store] = []

    async def some(buckets: int, n: int = 3) -> list[Store]:
        for _ in range(n):
            opened.append(connect(any_url))
            await opened[-1].open(buckets, "test")
        return opened

    yield some
    for store in opened:
        await store.close()


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_the_clients_do(stores: Any, seed: int) -> None:
    rng = random.Random(seed)
    fleet = Fleet(await stores(rng.choice((1, 4, 16))), rng)
    for crawl in CRAWLS:
        await fleet.store.client.sadd(keys.CRAWLS, crawl)
    for turn in range(300):
        await fleet.step()
        if turn % 10 == 0:
            await audit(fleet)
    for host in HOSTS:
        await OperatorCommands(fleet.store).resume(host)
    for _ in range(2000):  # until all remaining URLs are done
        for crawl in CRAWLS:
            await fleet.requeue_expired(crawl)
            await OperatorCommands(fleet.store).letters(crawl, "requeue")
            await fleet.claim(crawl)
        while fleet.held:
            await fleet.end("one", "d")
        left = [
            await fleet.clients[crawl][0].requeue_expired(b)
            for crawl in CRAWLS
            for b in range(fleet.store.buckets)
        ]
        assert (sum(is_open for _, is_open, _, _ in left) == 0) == all(
            set(fleet.ended[crawl]) == fleet.known[crawl] for crawl in CRAWLS
        ), "it is finished exactly when nothing is left"
        if not any(is_open for _, is_open, _, _ in left):
            break
        await asyncio.sleep(0.002)
    await audit(fleet)
    assert all(set(fleet.ended[crawl].values()) == {1} for crawl in CRAWLS)
    gaps = [b - a for starts in map(sorted, fleet.starts.values()) for a, b in itertools.pairwise(starts)]
    assert len(gaps) > 50
    assert min(gaps) >= 15, "in the store's clock, whoever asked"


@pytest.mark.parametrize("buckets", [1, 16])
async def test_limits_hold_with_many_clients_at_once(stores: Any, buckets: int) -> None:
    """The limit of pages is exact, and the limit of bytes is exceeded at most by the requests in flight,
    despite redirects, retries and lost leases."""
    fleet = Fleet(await stores(buckets, 4), random.Random(buckets), delay=0, per_host=4, limit=60, lease=300)
    for _ in range(60):
        await fleet.add("one")
    pages = 0

    async def work(frontier: Frontier, rng: random.Random) -> None:
        nonlocal pages
        for _ in range(60):
            got = await frontier.claim(rng.randrange(buckets), 7)
            await asyncio.sleep(rng.choice((0, 0.002)))
            for claim in got.claims:
                action = rng.choice("dddrx")
                if rng.random() < 0.02:
                    continue  # the client died
                await frontier.settle(
                    claim.bucket,
                    [Settle(claim.token, action, since=0, reason="dns")],
                    {"pages": int(action == "d")},
                    {},
                )
                pages += action == "d"

    await asyncio.gather(
        *(work(frontier, random.Random(n)) for n, frontier in enumerate(fleet.clients["one"]))
    )
    assert pages <= 60
    while pages < 60:
        await asyncio.sleep(0.05)
        await fleet.requeue_expired("one")
        await OperatorCommands(fleet.store).letters("one", "requeue")
        for bucket in range(buckets):
            for claim in (await fleet.clients["one"][0].claim(bucket, 50)).claims:
                await fleet.clients["one"][0].settle(
                    claim.bucket, [Settle(claim.token, "d", since=0)], {"pages": 1}, {}
                )
                pages += 1
    assert pages == 60
    assert (await crawl_counts(fleet.store, "one"))["pages"] == 60
    assert {(await fleet.client("one").claim(bucket, 5)).limit for bucket in range(buckets)} == {"pages"}

"""What a frontier tells the scripts of a bucket, as the parts of it that work on several buckets see it.

Limits of a crawl in a store of many buckets, where no script sees them all: claims take turns, and each
sums up first.

A turn is a short lock in the first bucket. Pages and bytes that are counted and claims that are out in the
other buckets are taken off what one bucket may claim, so the page limit is exact with any number of workers;
the rate cap is kept in the first bucket. Crawls without such limits never come here.


Budgets of discovered hosts in a store of many buckets: they are shares of the whole crawl, and no script
sees all of it.

So an add brings along what the other buckets hold: the pages that were fetched, and what discovered hosts
took of their shares. The sums are read now and then; what this client adds in between is counted at once.
Crawls that meet no discovered hosts, and stores of one bucket, never come here.


The verbs over many buckets at once: one call a server where only looking is meant, one pipeline a server
where scripts act.

No bucket waits for another: what fails in passing is left out and comes again in the next round.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from gossamer.errors import Away, GossamerError
from gossamer.frontier.policy import Policy
from gossamer.model.visit import Adds, Claimed, Settle
from gossamer.store.client import Unsure
from gossamer.store.keys import tag
from gossamer.store.reconnect import Patience
from gossamer.store.store import Store


class AllBuckets(Protocol):
    """The counts of a crawl in all buckets (`multi_bucket`)."""

    async def counts(self, *names: str) -> list[list[int]]: ...


class BucketSums(Protocol):
    """What the other buckets hold (`host_budgets`)."""

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]: ...

    def took(self, bucket: int, strangers: int, singles: int) -> None: ...


class BucketCalls(Protocol):
    """The arguments of the calls of one crawl, and what their replies mean (`verbs.Frontier`)."""

    store: Store
    crawl: str
    policy: Policy
    waits: tuple[int, int]

    @property
    def patience(self) -> Patience: ...

    @property
    def everywhere(self) -> AllBuckets: ...

    @property
    def shares(self) -> BucketSums: ...

    def remainder(self, fingerprint: int) -> tuple[int, int]: ...

    async def adding(self, bucket: int, adds: Adds) -> tuple[str | int, ...]: ...

    def claiming(
        self, k: int, limit: int | None = None, size_limit: int | None = None, rate: float | None = None
    ) -> Any: ...

    def claimed(self, bucket: int, got: Any) -> Claimed: ...

    def landing(self, settles: Sequence[Settle]) -> Any: ...

    def sweeping(self) -> Any: ...


LONGEST = 5000
"""Milliseconds after which the turn of a dead worker is over."""
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Turns:
    """The turns of one crawl. Nothing is waited for here but others' turns: an outage raises Away."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store = frontier, frontier.store
        self._key = f"{tag(0)}{frontier.crawl}:turn"
        self._counts = f"{tag(0)}{frontier.crawl}:n"

    async def claim(self, asks: Sequence[tuple[int, int]]) -> list[Claimed]:
        """Claims of some buckets (bucket, k), one after another, within the limits; ends early when the turn
        grows long."""
        p, found = self._frontier.policy, list[Claimed]()
        async with self._turn() as began:
            counts = await self._frontier.everywhere.counts("pages", "bytes", "leases")
            pages, size, out = (sum(one[j] for one in counts) for j in range(3))
            reached = "pages" if 0 <= p.limit <= pages else "bytes" if 0 <= p.size_limit <= size else ""
            if reached:
                return [Claimed(0, -1, reached, [], asks[0][0])]
            left, tat, now = await self._allowed(sum(k for _, k in asks), p.rate)
            if left <= 0:
                return [Claimed(now, int(tat + 1000 / p.rate) + 1, "", [], bucket) for bucket, _ in asks]
            for bucket, k in asks:
                if left <= 0 or time.monotonic() - began > LONGEST / 2000:
                    break
                own_pages, own_size, own_out = counts[bucket]
                limit = max(p.limit - (pages - own_pages) - (out - own_out), 0) if p.limit >= 0 else -1
                size_limit = p.size_limit - (size - own_size) if p.size_limit >= 0 else -1
                one = await self._claim(bucket, min(k, left), limit, size_limit)
                n = len(one.claims)
                left, out, counts[bucket][2], tat = (
                    left - n,
                    out + n,
                    own_out + n,
                    tat + (n * 1000 / p.rate if p.rate else 0),
                )
                found.append(one)
            if p.rate > 0:
                await self._store.once("HSET", self._counts, "tat", repr(tat))
        return found

    async def _claim(self, bucket: int, k: int, limit: int, size_limit: int) -> Claimed:
        call = (bucket, self._frontier.claiming(k, limit, size_limit, 0.0))
        (reply,) = await self._store.run_all("claim", [call], confirm=True)
        if isinstance(reply, Exception):
            raise reply
        one = self._frontier.claimed(bucket, reply.reply if isinstance(reply, Unsure) else reply)
        one.sure = not isinstance(reply, Unsure)
        one.limit = ""  # what is out in other buckets may still come to nothing
        return one

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[float]:
        """Wait for the turn, have it, give it back; gives when it began."""
        mine = secrets.token_hex(8)
        while True:
            began = time.monotonic()
            if await self._store.once("SET", self._key, mine, "NX", "PX", LONGEST):
                break
            await asyncio.sleep(0.005)  # others have it
        try:
            yield began
        finally:
            await self._store.once("EVAL", _LEAVE, 1, self._key, mine)

    async def _allowed(self, k: int, rate: float) -> tuple[int, float, int]:
        """Claims that the rate cap leaves, its arrival time, and the store's clock in ms."""
        if rate <= 0:
            return k, 0.0, 0
        now, kept = await self._store.once("EVAL", _CLOCK, 1, self._counts)
        tat = max(float(kept or 0), now - max(100, 1000 / rate))
        return min(k, int((now - tat) * rate / 1000 + 1e-3)), tat, now


_CLOCK = """local t = redis.call('TIME')
return {t[1] * 1000 + math.floor(t[2] / 1000), redis.call('HGET', KEYS[1], 'tat')}"""


READ_INTERVAL_S = 0.2
"""Seconds for which the sums are good: what other workers take in that time may pass the shares."""
_COUNTS = ("pages", "strangers", "singles")


class Shares:
    """What each bucket of one crawl holds, as far as this client knows."""

    def __init__(self, store: Store, everywhere: Everywhere) -> None:
        self._store, self._everywhere = store, everywhere
        self._known: list[list[int]] = []
        self._sums = [0, 0, 0]
        self._read_at = 0.0

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]:
        """Pages, and pages of hosts for which nobody vouches and of those with one voucher, in the other
        buckets."""
        if self._store.buckets == 1:
            return 0, 0, 0
        if not self._known or time.monotonic() - self._read_at > READ_INTERVAL_S:
            self._known = await self._everywhere.counts(*_COUNTS)
            self._sums = [sum(counts[j] for counts in self._known) for j in range(3)]
            self._read_at = time.monotonic()
        pages, strangers, singles = (self._sums[j] - self._known[bucket][j] for j in range(3))
        return pages, strangers, singles

    def took(self, bucket: int, strangers: int, singles: int) -> None:
        """An add of ours took so many."""
        if self._known:
            for j, n in ((1, strangers), (2, singles)):
                self._known[bucket][j] += n
                self._sums[j] += n


LOOK_INTERVAL_S, LONG, MOST = 10.0, 5_000, 8
"""Seconds between looks for leases of crawls that nobody runs; ms that they must be over; buckets that are
looked at in one."""


class Everywhere:
    """One crawl's frontier in all buckets of its store."""

    def __init__(self, frontier: BucketCalls) -> None:
        self._frontier, self._store, self._crawl = frontier, frontier.store, frontier.crawl
        self._turns = Turns(frontier)
        self._looked, self._from, self._outages = 0.0, 0, 0

    async def due(self, buckets: Sequence[int] | None = None) -> dict[int, float]:
        """Seconds from now until a host may start, of the buckets (all, or these) in which hosts wait."""
        return await self._heads(self._frontier.policy.heaps(self._frontier.waits), buckets)

    async def claim(self, asks: Sequence[tuple[int, int]]) -> list[Claimed]:
        """About k claims of each bucket (bucket, k), in their order; without those that could not be asked."""
        if self._store.buckets > 1 and self._frontier.policy.limited:
            try:
                return await self._turns.claim(asks)
            except Away as error:
                self._store.note(error)
                return []
        calls = [(bucket, self._frontier.claiming(k)) for bucket, k in asks]
        replies = await self._store.run_all("claim", calls, confirm=True)
        found = []
        for (bucket, _), reply in zip(asks, replies, strict=True):
            got = reply.reply if isinstance(reply, Unsure) else reply
            if self._came(got):
                one = self._frontier.claimed(bucket, got)
                one.sure = not isinstance(reply, Unsure)
                found.append(one)
        return found

    async def sweep(self) -> None:
        """Return the claims whose lease ran out."""
        over = [bucket for bucket, wait in (await self._heads("l", None)).items() if wait <= 0]
        for reply in await self._store.run_all(
            "sweep", [(bucket, self._frontier.sweeping()) for bucket in over]
        ):
            self._came(reply)
        if time.monotonic() >= self._looked + LOOK_INTERVAL_S:
            await self._sweep_others()

    async def _sweep_others(self) -> None:
        """Claims of a crawl that died hold slots of hosts that we wait for, too, and nobody else would return
        them."""
        self._looked, outages = time.monotonic(), self._frontier.patience.outages
        if outages != self._outages:  # who lives renews first
            self._outages = outages
            return
        buckets = [(self._from + j) % self._store.buckets for j in range(min(MOST, self._store.buckets))]
        self._from = (buckets[-1] + 1) % self._store.buckets
        calls = [
            (group[place], (name.decode(), *self._frontier.sweeping()[1:]))
            for group, reply in await self._at_servers("lapsed", buckets, LONG)
            if self._came(reply)
            for place, name in zip(reply[::2], reply[1::2], strict=True)
        ]
        for reply in await self._store.run_all("sweep", calls):
            self._came(reply)

    async def left(self) -> tuple[int, int]:
        """URLs that are open (and producers that may add some), and URLs that were ever added."""
        counts = await self.counts("open", "added", "producers")
        return sum(one[0] + one[2] for one in counts), sum(one[1] for one in counts)

    async def counts(self, *names: str) -> list[list[int]]:
        """Some counts of the crawl, bucket by bucket; the last may be `leases` or `producers`. Raises Away."""
        out: list[list[int]] = [[] for _ in range(self._store.buckets)]
        for buckets, reply in await self._at_servers("counts", None, len(names), *names):
            if isinstance(reply, GossamerError):
                raise reply
            for j, bucket in enumerate(buckets):
                out[bucket] = reply[j * len(names) : (j + 1) * len(names)]
        return out

    async def renew(self, held: Mapping[int, Sequence[int]], *, dead: bool = False) -> list[tuple[int, int]]:
        """Keep the leases of tokens, by bucket, or (`dead`: who held them is) let them run out now; returns
        (bucket, token) of those that were lost."""
        lost = []
        lease = 0 if dead else self._frontier.policy.lease
        calls = [(bucket, (self._crawl, lease, *tokens)) for bucket, tokens in held.items()]
        for (bucket, _), reply in zip(calls, await self._store.run_all("renew", calls), strict=True):
            if self._came(reply):
                lost += [(bucket, int(token)) for token in reply]
        return lost

    async def landed(self, settles: Mapping[int, Sequence[Settle]]) -> None:
        """Free the slots of requests that are over, by bucket."""
        calls = [(bucket, self._frontier.landing(some)) for bucket, some in settles.items()]
        for reply in await self._store.run_all("landed", calls):
            self._came(reply)

    async def _heads(self, what: str, buckets: Sequence[int] | None) -> dict[int, float]:
        due: dict[int, float] = {}
        for asked, reply in await self._at_servers("heads", buckets, what):
            if self._came(reply):
                now = reply[0]
                due |= {asked[j]: (at - now) / 1000 for j, at in zip(reply[1::2], reply[2::2], strict=True)}
        return due

    async def _at_servers(
        self, verb: str, buckets: Sequence[int] | None, *args: Any
    ) -> list[tuple[list[int], Any]]:
        """Call a script once for all buckets that a server has: (its buckets, its reply)."""
        try:
            groups = await self._store.by_server(buckets)
        except Away as error:
            return [(list(buckets or range(self._store.buckets)), error)]
        calls = [(group[0], (self._crawl, *args, *map(tag, group))) for group in groups]
        return list(zip(groups, await self._store.run_all(verb, calls), strict=True))

    def _came(self, reply: Any) -> bool:
        """Whether there is a reply; raises what is more than an outage, and an outage where nobody waits."""
        if isinstance(reply, GossamerError):
            self._store.note(reply)
            return False
        return True

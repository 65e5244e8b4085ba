"""Limits of a crawl in a store of many buckets, where no script sees them all: claims take turns, and each
sums up first.

A turn is a short lock in the first bucket. Pages and bytes that are counted and claims that are out in the
other buckets are taken off what one bucket may claim, so the page limit is exact with any number of workers;
the rate cap is kept in the first bucket. Crawls without such limits never come here.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gossamer.frontier.bucket_calls import BucketCalls
from gossamer.model.visit import Claimed
from gossamer.store.client import Unsure
from gossamer.store.keys import tag

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

"""Limits of a crawl in a store of many buckets, where no script sees them all: claims take turns, and each sums up first.

A turn is a short lock in the first bucket. Pages and bytes that are counted and claims that are out in the other buckets are
taken off what one bucket may claim, so the page limit is exact with any number of workers; the rate cap is kept in the first
bucket. Crawls without such limits never come here.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, cast

from gossamer.frontier.keys import tag
from gossamer.frontier.store import Store

LONGEST = 5000
"""Milliseconds after which the turn of a dead worker is over."""
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Turns:
    """The turns of one crawl."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._key = f"{tag(0)}{crawl}:turn"

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn, have it, give it back."""
        client, mine = self._store.client, secrets.token_hex(8)
        while not await self._store.guard(client.set(self._key, mine, nx=True, px=LONGEST)):  # noqa: ASYNC110 - others hold it
            await asyncio.sleep(0.005)
        try:
            yield
        finally:
            await self._store.guard(client.eval(_LEAVE, 1, self._key, mine))

    async def elsewhere(self, bucket: int) -> tuple[int, int, int, int]:
        """(pages of all buckets, bytes of all, pages and claims out in the others, bytes in the others)."""
        pipe = self._store.client.pipeline(transaction=False)
        for other in range(self._store.buckets):
            pipe.hmget(f"{tag(other)}{self._crawl}:n", ["pages", "bytes"])
            pipe.zcard(f"{tag(other)}{self._crawl}:l")
        found = await self._store.guard(pipe.execute())
        pages = size = others = other_size = 0
        for other in range(self._store.buckets):
            (p, b), out = found[2 * other], found[2 * other + 1]
            pages, size = pages + int(p or 0), size + int(b or 0)
            if other != bucket:
                others, other_size = others + int(p or 0) + int(out), other_size + int(b or 0)
        return pages, size, others, other_size

    async def allowed(self, k: int, rate: float) -> tuple[int, float, int]:
        """Claims that the rate cap leaves, its arrival time to be kept with `spent`, and the store's clock in ms."""
        client = self._store.client
        seconds, micros = await self._store.guard(client.time())
        now = seconds * 1000 + micros // 1000
        kept = await self._store.guard(cast(Awaitable[Any], client.hget(f"{tag(0)}{self._crawl}:n", "tat")))
        tat = max(float(kept or 0), now - max(100, 1000 / rate))
        return min(k, int((now - tat) * rate / 1000 + 1e-3)), tat, now

    async def spent(self, tat: float, claims: int, rate: float) -> None:
        """Keep the arrival time after claims were made."""
        field = f"{tag(0)}{self._crawl}:n"
        await self._store.guard(
            cast(Awaitable[Any], self._store.client.hset(field, "tat", repr(tat + claims * 1000 / rate)))
        )

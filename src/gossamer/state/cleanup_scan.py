"""What cleaning works with: scans, looks and removals in small steps, between which the store is left alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from typing import Any, cast

import msgspec

from gossamer.frontier.summary import scan
from gossamer.store.store import Store

SHARE = 4
"""Times as long as a step took the store is left alone."""
MEASURED, EACH = 10_000, 100
"""Keys whose bytes are asked for one by one; beyond them one of so many stands for all."""


class Removed(msgspec.Struct, frozen=True):
    """What was, or would be, removed."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.count + other.count, self.bytes + other.bytes)


class Broom:
    """Cleans one store. `now`: its clock, seconds since the epoch; `dry`: only counts."""

    def __init__(self, store: Store, now: float, *, dry: bool) -> None:
        self.store, self.now, self.dry = store, now, dry

    async def pages(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """Keys that match, in pages."""
        began = time.monotonic()
        async for page in scan(self.store, pattern):
            yield page
            await rest(began)
            began = time.monotonic()

    async def step(self, call: Awaitable[Any]) -> Any:
        """A call that costs the store something."""
        began = time.monotonic()
        found = await call
        await rest(began)
        return found

    async def do(self, call: Any) -> Any:
        """A call that costs next to nothing."""
        return await self.store.guard(cast(Awaitable[Any], call))

    async def idle(self, page: list[bytes], age: float) -> list[bytes]:
        """Those that nobody read or wrote for so long."""
        pipe = self.store.client.pipeline(transaction=False)
        for key in page:
            pipe.object("IDLETIME", key)
        got = await self.store.guard(pipe.execute(raise_on_error=False)) if page else []
        return [key for key, idle in zip(page, got, strict=True) if isinstance(idle, int) and idle >= age]

    async def unlink(self, found: Iterable[bytes], before: int = 0) -> Removed:
        """Remove keys; how many, and about how many bytes. `before`: how many were measured already."""
        page = list(found)
        if not page:
            return Removed()
        asked = page if before < MEASURED else page[::EACH]
        pipe = self.store.client.pipeline(transaction=False)
        for key in asked:
            pipe.memory_usage(key)
        size = sum(
            x for x in await self.store.guard(pipe.execute(raise_on_error=False)) if isinstance(x, int)
        )
        if not self.dry:
            pipe = self.store.client.pipeline(transaction=False)
            for key in page:  # one by one: they lie in many slots
                pipe.unlink(key)
            await self.store.guard(pipe.execute())
        return Removed(len(page), size * len(page) // len(asked))


async def rest(began: float) -> None:
    """Leave the store alone after a step that began then."""
    await asyncio.sleep(min(0.1, SHARE * (time.monotonic() - began)))

"""The time that a crawl is at work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from gossamer.errors import GossamerError
from gossamer.frontier.crawls import Crawls, Record
from gossamer.store.store import Store


@contextlib.asynccontextmanager
async def timed(store: Store, record: Record) -> AsyncIterator[None]:
    """Within it the crawl is at work: the seconds are written down as they pass, so that a kill forgets one
    at most."""
    began = time.monotonic() - record.spent

    async def note() -> None:
        with contextlib.suppress(GossamerError):  # whoever works hears of it
            await Crawls(store).spend(record.name, time.monotonic() - began)

    async def every_second() -> None:
        while True:
            await asyncio.sleep(1)
            await note()

    clock = asyncio.create_task(every_second())
    try:
        yield
    finally:
        clock.cancel()
        await asyncio.gather(clock, return_exceptions=True)
        await note()

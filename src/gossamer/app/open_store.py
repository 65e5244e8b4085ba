"""Opens the store of a command or a process: the shared store that the settings name, or the embedded store of the
data folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from gossamer import url as urls
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.cold import Cold, open_cold
from gossamer.store.embedded import Embedded
from gossamer.store.store import BUCKETS_EMBEDDED, Store, connect
from gossamer.store.store_check import wait_until_ready


async def open_store(settings: Settings) -> tuple[Store, Embedded | None]:
    """Opens the configured store: a shared store by URL, or the data folder's embedded store. If the embedded
    store is not running, it is started."""
    embedded = None
    if settings.store is None:
        embedded = Embedded(Path(settings.data))
        url = await start_store(embedded)
    else:
        url = settings.store
    try:
        store = await open_url(url, embedded=embedded is not None)
    except BaseException:
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)
        raise
    return store, embedded


@contextlib.asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the configured store, and closes it at the end. Creates the store if it does not exist."""
    store, embedded = await open_store(settings)
    try:
        yield store
    finally:
        await store.close()
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)


@contextlib.asynccontextmanager
async def open_existing_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the store of existing crawls. Raises UsageError if the data folder has never contained a
    crawl."""
    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        raise UsageError(
            f"there is no crawl in {settings.data} yet: start one with gossamer crawl URL, or "
            "give its folder with --data DIR"
        )
    async with opened_store(settings) as store:
        yield store


async def start_store(embedded: Embedded) -> str:
    """Starts the store of a data folder. If the store already runs, uses the running store. Returns its URL.
    If the call is cancelled while the server starts, the server is stopped."""
    starting = asyncio.ensure_future(asyncio.to_thread(embedded.start))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        embedded.cancelled.set()
        await asyncio.gather(starting, return_exceptions=True)
        await asyncio.to_thread(embedded.leave)
        raise


async def open_url(url: str, *, embedded: bool, patience: float = 0.0) -> Store:
    """Opens and checks a store by URL. `patience`: the number of seconds to wait while the store is
    unreachable."""
    store = connect(url, patience=patience, embedded=embedded)
    try:
        await wait_until_ready(store, 5.0)
        await store.open(BUCKETS_EMBEDDED if embedded else store.usual_buckets, urls.psl_hash())
    except BaseException:
        await store.close()
        raise
    return store


def cold_settings(settings: Settings, crawl: str) -> tuple[Cold | None, int]:
    """Returns the cold store of a crawl, or None if the crawl has none. The second value limits how many URLs
    per host and priority level stay in memory."""
    return open_cold(settings.cold, None if settings.store else Path(settings.data) / crawl, crawl)

"""The store that schedules are kept in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.store.store import Store


HAND = 30.0
"""Seconds that a scheduler leaves a person's own run alone."""


@asynccontextmanager
async def kept(settings: Settings) -> AsyncIterator[Store]:
    """The store that schedules are kept in; made when there is none yet."""
    from gossamer.app.wiring import open_store

    store, embedded = await open_store(settings)
    try:
        yield store
    finally:
        await store.close()
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)

"""Opens the store that contains the schedules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.store.store import Store


MANUAL_RUN_S = 30.0
"""For this many seconds, a scheduler does not take over a run that a user started by hand."""


@asynccontextmanager
async def schedule_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the store that contains the schedules. Creates the store if it does not exist."""
    from gossamer.app.wiring import open_store

    store, embedded = await open_store(settings)
    try:
        yield store
    finally:
        await store.close()
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)

"""A process of a worker: it runs slices, one after another, on a loop and with connections that it keeps between them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from gossamer.assemble import open_url
from gossamer.errors import StoreError
from gossamer.fleet.works import LOOK, Me, Works
from gossamer.frontier.slots import BEAT, Slots
from gossamer.frontier.store import Store

PATIENCE = 40.0
"""Seconds for which a slice waits for a store that is away; less than it may hang."""
TICK = 0.5
"""Seconds between looks whether the worker was told to stop."""
log = logging.getLogger("gossamer.worker")


class Child:
    """Slices of one process."""

    def __init__(self, me: Me) -> None:
        self.me = me
        self._store: Store | None = None
        self._works: Works | None = None
        self._halt = asyncio.Event()
        self._away = False

    async def slice(self, lane: str, slot: int, ticket: str) -> str | None:
        """Crawl for a while. A ticket for the next slice of this slot; None when there is none, or the slot was not ours to take."""
        store, works = await self._opened()
        slots = Slots(store)
        if self.me.stopping():
            await slots.unqueue(lane, slot, ticket)
            return None
        token = await slots.take(lane, slot, ticket)
        if token is None:
            return None
        self._halt.clear()
        beating = asyncio.create_task(self._beat(slots, lane, slot, token))
        broken = False
        try:
            await self._until(time.monotonic() + self.me.settings.slice, works)
        except StoreError:
            broken = True
            raise
        finally:
            self._halt.set()
            await works.rest(broken or self._away)
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            with contextlib.suppress(StoreError):
                await slots.leave(lane, slot, token)
        return None if self.me.stopping() else await slots.queue(lane, slot)

    async def _until(self, end: float, works: Works) -> None:
        look_at = 0.0
        while (asked := time.monotonic()) < end and not self._halt.is_set() and not self.me.stopping():
            if asked >= look_at:
                await works.look()
                asked = time.monotonic()
                look_at = asked + LOOK
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._halt.wait(), TICK)
            works.load.late(time.monotonic() - asked - TICK)

    async def _beat(self, slots: Slots, lane: str, slot: int, token: str) -> None:
        """Signs of life; a slot that others took ends the slice."""
        self._away = False
        while True:
            await asyncio.sleep(BEAT)
            try:
                if not await slots.keep(lane, slot, token):
                    log.warning("slot %s:%d was taken by another: this slice ends", lane, slot)
                    self._halt.set()
                if self._works is not None:
                    await self._works.beat()
            except StoreError:
                self._away = True
                self._halt.set()

    async def _opened(self) -> tuple[Store, Works]:
        if self._store is None or self._works is None:
            self._store = await open_url(self.me.settings.store or "", embedded=False, patience=PATIENCE)
            self._works = Works(self.me, self._store, self._halt)
        return self._store, self._works

    async def close(self) -> None:
        """Let all go."""
        if self._works is not None:
            await self._works.close()
        if self._store is not None:
            await self._store.close()

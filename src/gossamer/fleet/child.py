"""A process of a worker. It runs slices one after another on one event loop, with connections that it keeps
between them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from gossamer.app.wiring import open_url
from gossamer.errors import StoreChanged, StoreError
from gossamer.fleet.active_crawls import LOOK, Me, Works
from gossamer.state.slots import BEAT, Slots
from gossamer.store.store import Store

PATIENCE = 40.0
"""Seconds for which a slice waits for a store that is away. Must be less than its time limit."""
TICK = 0.5
"""Seconds between checks whether the worker was told to stop."""
AWAY, STOP = 6.0, 7.8
"""Seconds that a slice has to end after the worker was told to stop, with the store away and without. Claims
that are open after that are visited again."""
LAST = 0.3
"""Seconds for a last write to a store that may be away."""
log = logging.getLogger("gossamer.worker")


class SliceProcess:
    """Runs the slices of one process."""

    def __init__(self, me: Me) -> None:
        self.me = me
        self._store: Store | None = None
        self._works: Works | None = None
        self._halt = asyncio.Event()
        self._away = self._cut = False

    async def slice(self, lane: str, slot: int, ticket: str) -> str | None:
        """Crawls for the length of a slice. Returns a ticket for the next slice of this slot. Returns None if
        there is none, or if another process has the slot."""
        self._halt.clear()
        self._cut = False
        work, told = asyncio.create_task(self._slice(lane, slot, ticket)), asyncio.create_task(self._told())
        await asyncio.wait((work, told), return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            await asyncio.wait((work,), timeout=AWAY)
            if self._store is not None and not self._store.client.patience.away:
                await asyncio.wait((work,), timeout=STOP - AWAY)
        told.cancel()
        if work.done():
            return work.result()
        log.warning(
            "slot %s:%d: the store is away, or slow: what is under way is left to be visited again",
            lane,
            slot,
        )
        self._cut = work.cancel()
        await asyncio.wait((work,), timeout=2 * LAST)
        if self._works is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._works.close(forget=True), LAST)
        return None

    async def _told(self) -> None:
        """Waits until the worker is told to stop. Then notifies everything in this process, including calls
        that wait for the store."""
        while not self.me.stopping():  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(TICK / 2)
        self._halt.set()

    async def _slice(self, lane: str, slot: int, ticket: str) -> str | None:
        store, works = await self._opened()
        slots = Slots(store)
        if self.me.stopping():
            await slots.unqueue(lane, slot, ticket)
            return None
        token = await slots.take(lane, slot, ticket)
        if token is None:
            return None
        beating = asyncio.create_task(self._beat(slots, lane, slot, token))
        try:
            await self._crawl(works)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LAST if self._cut else None):
                    await slots.leave(lane, slot, token)
        return None if self.me.stopping() else await slots.queue(lane, slot)

    async def _crawl(self, works: Works) -> None:
        broken = changed = False
        try:
            await self._until(time.monotonic() + self.me.settings.slice, works)
        except StoreError as error:
            broken, changed = True, isinstance(error, StoreChanged)
            raise
        finally:
            self._halt.set()
            if not self._cut:
                await works.rest(broken or self._away)
            if changed:
                await self._forget()

    async def _forget(self) -> None:
        """Drops what belongs to a store that was replaced. The next slice opens the new store."""
        works, store, self._works, self._store = self._works, self._store, None, None
        if works is not None:
            await works.close(forget=True)
        if store is not None:
            await store.close()

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
        """Sends heartbeats. The slice ends if another process took the slot."""
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
        """Closes all connections."""
        if self._works is not None:
            await self._works.close()
        if self._store is not None:
            await self._store.close()

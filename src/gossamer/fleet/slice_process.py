"""One of the processes in which a worker crawls. The process runs one slice after another. The event loop and
the connections stay open between slices."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial

from gossamer.app.open_store import open_url
from gossamer.errors import RightsMissing, StoreChanged, StoreError
from gossamer.fleet.active_crawls import READ_INTERVAL_S, ActiveCrawls, WorkerProcess
from gossamer.frontier.crawls import store_time
from gossamer.model.wall_clock import CLOCK
from gossamer.state.slots import RENEW_INTERVAL_S, Slots
from gossamer.store.store import Store

MAX_OUTAGE_S = 40.0
"""Seconds for which a slice waits for a store that does not answer. This number is less than `HANG_TIMEOUT_S`
of `fleet.app`, so that a waiting slice is not killed."""
TICK_S = 0.5
"""Seconds between checks for an order to stop the worker."""
AWAY_STOP_S, STOP_S = 6.0, 7.8
"""Seconds within which a slice must finish after an order to stop. `AWAY_STOP_S` applies if the store does
not answer, otherwise `STOP_S` applies. If the slice does not finish in time, the URLs of its remaining claims
are visited again later."""
LAST_CALLS_S = 0.3
"""Number of seconds for which an aborted slice waits for its last calls to the store to return. The timeout
is necessary in case the store does not answer."""
log = logging.getLogger("gossamer.worker")


class SliceProcess:
    """Runs the slices of one of a worker's processes."""

    def __init__(self, me: WorkerProcess) -> None:
        self.me = me
        self._store: Store | None = None
        self._works: ActiveCrawls | None = None
        self._halt = asyncio.Event()
        self._away = self._cut = False

    async def slice(self, lane: str, slot: int, ticket: str) -> str | None:
        """Runs one slice, during which this process crawls. Returns a ticket for the next slice of this slot.
        Returns None if there is no next slice, or if the slot could not be taken."""
        self._halt.clear()
        self._cut = False
        work, told = asyncio.create_task(self._slice(lane, slot, ticket)), asyncio.create_task(self._told())
        await asyncio.wait((work, told), return_when=asyncio.FIRST_COMPLETED)
        if told.done():
            await asyncio.wait((work,), timeout=AWAY_STOP_S)
            if self._store is not None and not self._store.client.patience.away:
                await asyncio.wait((work,), timeout=STOP_S - AWAY_STOP_S)
        told.cancel()
        if work.done():
            return work.result()
        log.warning(
            "slot %s:%d: the store does not answer, or is slow: claims in flight are visited again later",
            lane,
            slot,
        )
        self._cut = work.cancel()
        await asyncio.wait((work,), timeout=2 * LAST_CALLS_S)
        if self._works is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._works.close(forget=True), LAST_CALLS_S)
        return None

    async def _told(self) -> None:
        """Waits until the worker is ordered to stop, and then ends the slice. The slice ends even if one of
        its calls is still waiting for the store."""
        while not self.me.stopping():  # noqa: ASYNC110 - the order comes from another process
            await asyncio.sleep(TICK_S / 2)
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
        await CLOCK.measure(partial(store_time, store))
        beating = asyncio.create_task(self._beat(slots, lane, slot, token))
        try:
            await self._crawl(works)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(LAST_CALLS_S if self._cut else None):
                    await slots.leave(lane, slot, token)
        return None if self.me.stopping() else await slots.queue(lane, slot)

    async def _crawl(self, works: ActiveCrawls) -> None:
        broken = changed = False
        try:
            await self._until(time.monotonic() + self.me.settings.slice, works)
        except StoreError as error:
            broken, changed = True, isinstance(error, StoreChanged | RightsMissing)
            raise
        finally:
            self._halt.set()
            if not self._cut:
                await works.rest(broken or self._away)
            if changed:
                await self._forget()

    async def _forget(self) -> None:
        """Closes the connection to a store that was replaced or whose rights are missing, and all objects that
        use this connection. The next slice opens the store again, and first checks the rights."""
        works, store, self._works, self._store = self._works, self._store, None, None
        if works is not None:
            await works.close(forget=True)
        if store is not None:
            await store.close()

    async def _until(self, end: float, works: ActiveCrawls) -> None:
        look_at = 0.0
        while (asked := time.monotonic()) < end and not self._halt.is_set() and not self.me.stopping():
            if asked >= look_at:
                await works.look()
                asked = time.monotonic()
                look_at = asked + READ_INTERVAL_S
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._halt.wait(), TICK_S)
            works.load.late(time.monotonic() - asked - TICK_S)

    async def _beat(self, slots: Slots, lane: str, slot: int, token: str) -> None:
        """Renews the slot. Ends the slice if another process took the slot, or if the store does not
        answer."""
        self._away = False
        while True:
            await asyncio.sleep(RENEW_INTERVAL_S)
            try:
                if not await slots.keep(lane, slot, token):
                    log.warning("slot %s:%d was taken by another: this slice ends", lane, slot)
                    self._halt.set()
                if self._works is not None:
                    await self._works.beat()
            except StoreError:
                self._away = True
                self._halt.set()

    async def _opened(self) -> tuple[Store, ActiveCrawls]:
        if self._store is None or self._works is None:
            self._store = await open_url(self.me.settings.store or "", embedded=False, patience=MAX_OUTAGE_S)
            self._works = ActiveCrawls(self.me, self._store, self._halt)
        return self._store, self._works

    async def close(self) -> None:
        """Leaves all crawls and closes the store."""
        if self._works is not None:
            await self._works.close()
        if self._store is not None:
            await self._store.close()

"""Slots limit how many slices of work a fleet runs at once. A lane has as many slots as its living workers
have processes.

A slot is free, queued or taken. A queued slot waits for a worker to receive the slot's message. The key of a
slot expires, so the slot of a dead worker becomes free. The holder of a slot has a fencing token. If the slot
contains another token, the process has lost the slot and stops. Some tasks may run in only one process at a
time. A process must hold the lead of such a task. Like a slot, a lead expires if the process does not renew
it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, cast

from gossamer.errors import StoreError, StoreFull
from gossamer.store import keys
from gossamer.store.store import Store

LEASE_MS = 6_000
"""The number of milliseconds after which a taken slot becomes free, unless its holder renews the slot."""
QUEUED_MS = 6_000
"""The number of milliseconds for which a slot stays queued. If no worker receives the slot's message within
this time, the slot becomes free, and gossamer sends another message."""
LEAD_MS = 6_000
RENEW_INTERVAL_S = 2.0
"""The interval in seconds at which a process renews a slot or a lead that it holds."""

_TAKE = """
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""
_KEEP = (
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], "
    "ARGV[2]) end return 0"
)
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class TaskLead:
    """The lead of a task. True while this process has the lead. `renewed`: the monotonic time of the last
    renewal."""

    def __init__(self, held: bool) -> None:
        self.held = held
        self.renewed = time.monotonic()

    def __bool__(self) -> bool:
        return self.held


class Slots:
    """Manages the slots of all lanes, and the leads of tasks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def queue(self, lane: str, slot: int) -> str | None:
        """Marks a free slot as queued, because a message for it is about to be sent. Returns the ticket for
        the message, or None if the slot is not free."""
        ticket = f"queued {secrets.token_hex(8)}"
        done = await self._do(self._store.client.set(_key(lane, slot), ticket, nx=True, px=QUEUED_MS))
        return ticket if done else None

    async def waits(self, lane: str, slot: int, ticket: str) -> bool:
        """Returns whether a slot is still waiting for the message with this ticket."""
        found = await self._do(self._store.client.get(_key(lane, slot)))
        return found is not None and found.decode() == ticket

    async def unqueue(self, lane: str, slot: int, ticket: str) -> None:
        """Frees a queued slot, because its message could not be sent."""
        await self._do(self._store.client.eval(_LEAVE, 1, _key(lane, slot), ticket))

    async def take(self, lane: str, slot: int, ticket: str) -> str | None:
        """Takes a queued slot, using the ticket from its message. Returns the fencing token. Returns None if
        another process has the slot, or if the ticket is outdated."""
        token = secrets.token_hex(8)
        args = (ticket, token, str(LEASE_MS))
        return token if await self._do(self._store.client.eval(_TAKE, 1, _key(lane, slot), *args)) else None

    async def keep(self, lane: str, slot: int, token: str) -> bool:
        """Renews a slot. Returns whether this process still holds the slot."""
        return bool(await self._do(self._store.client.eval(_KEEP, 1, _key(lane, slot), token, str(LEASE_MS))))

    async def leave(self, lane: str, slot: int, token: str) -> None:
        """Frees a slot that this process holds."""
        await self._do(self._store.client.eval(_LEAVE, 1, _key(lane, slot), token))

    @asynccontextmanager
    async def lead(self, what: str) -> AsyncIterator[TaskLead]:
        """A context manager that tries to take the lead of the task `what`. Yields a `TaskLead`, which is true as
        long as this process has the lead. Renews the lead during the `with` block."""
        key, token = f"{keys.LEAD}{what}", secrets.token_hex(8)
        lead = TaskLead(held=False)
        lead.held = await self._take_lead(key, token)
        if not lead:
            yield lead
            return

        async def beat() -> None:
            while lead:
                await asyncio.sleep(RENEW_INTERVAL_S)
                began = time.monotonic()
                try:
                    # after an outage, the lead may have expired
                    kept = await self._do(self._store.client.eval(_KEEP, 1, key, token, str(LEAD_MS)))
                    lead.held = bool(kept) or await self._take_lead(key, token)
                    lead.renewed = began
                except StoreFull:
                    lead.held = False
                except StoreError:
                    continue

        beating = asyncio.create_task(beat())
        try:
            yield lead
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            await self._do(self._store.client.eval(_LEAVE, 1, key, token))

    async def _take_lead(self, key: str, token: str) -> bool:
        return bool(await self._do(self._store.client.set(key, token, nx=True, px=LEAD_MS)))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _key(lane: str, slot: int) -> str:
    return f"gossamer:slot:{lane}:{slot}"

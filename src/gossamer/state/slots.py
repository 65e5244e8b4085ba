"""Slots: the places of a fleet's running slices. A lane has as many as its living workers have processes.

A slot is free, queued (a message for it is on its way) or taken; what says so expires, so a dead taker frees
it. The taker's token fences: whoever lost its slot stops. A thing that one process alone may do, it does
under a lead, which expires alike.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, cast

from gossamer.store.store import Store

LEASE = 6_000
"""Milliseconds that a taken slot stays so without a sign of its taker."""
QUEUED = 6_000
"""Milliseconds that a message for a slot is waited for before another one is sent."""
LEAD = 6_000
BEAT = 2.0
"""Seconds between signs of who holds a slot or a lead."""

_TAKE = """
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""
_KEEP = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Slots:
    """The slots of all lanes, and the leads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def queue(self, lane: str, slot: int) -> str | None:
        """Say that a message for a free slot is sent: its ticket, None when the slot is not free."""
        ticket = f"queued {secrets.token_hex(8)}"
        done = await self._do(self._store.client.set(_key(lane, slot), ticket, nx=True, px=QUEUED))
        return ticket if done else None

    async def waits(self, lane: str, slot: int, ticket: str) -> bool:
        """Whether a slot waits for the message with this ticket."""
        found = await self._do(self._store.client.get(_key(lane, slot)))
        return found is not None and found.decode() == ticket

    async def unqueue(self, lane: str, slot: int, ticket: str) -> None:
        """The message could not be sent after all."""
        await self._do(self._store.client.eval(_LEAVE, 1, _key(lane, slot), ticket))

    async def take(self, lane: str, slot: int, ticket: str) -> str | None:
        """Take a slot by its ticket: the token that fences it, None when others have it or the ticket is old."""
        token = secrets.token_hex(8)
        args = (ticket, token, str(LEASE))
        return token if await self._do(self._store.client.eval(_TAKE, 1, _key(lane, slot), *args)) else None

    async def keep(self, lane: str, slot: int, token: str) -> bool:
        """A sign of life; whether the slot is still ours."""
        return bool(await self._do(self._store.client.eval(_KEEP, 1, _key(lane, slot), token, str(LEASE))))

    async def leave(self, lane: str, slot: int, token: str) -> None:
        """Free a slot of ours."""
        await self._do(self._store.client.eval(_LEAVE, 1, _key(lane, slot), token))

    @asynccontextmanager
    async def lead(self, what: str) -> AsyncIterator[bool]:
        """Whether this process alone does `what`, kept while the body runs."""
        key, token = f"gossamer:lead:{what}", secrets.token_hex(8)
        if not await self._do(self._store.client.set(key, token, nx=True, px=LEAD)):
            yield False
            return

        async def beat() -> None:
            while True:
                await asyncio.sleep(BEAT)
                await self._do(self._store.client.eval(_KEEP, 1, key, token, str(LEAD)))

        beating = asyncio.create_task(beat())
        try:
            yield True
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            await self._do(self._store.client.eval(_LEAVE, 1, key, token))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _key(lane: str, slot: int) -> str:
    return f"gossamer:slot:{lane}:{slot}"

"""The answers to requests with an idempotency key. A repeated request gets the first answer again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

from gossamer.errors import GossamerError
from gossamer.store import keys
from gossamer.store.store import Store

KEPT_S = 86_400
LEASE_MS = 30_000
RENEW_INTERVAL_S = 10.0
_TAKE = """
local kept = redis.call('GET', KEYS[1])
if kept then return {'kept', kept} end
local holder = redis.call('GET', KEYS[2])
if holder then return {'running', holder} end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return {'taken', ''}
"""
_KEEP = """
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return redis.call('DEL', KEYS[2])
"""


class KeptAnswers:
    """The kept answers of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def take(self, key: str, request: str) -> tuple[str, bytes]:
        """Begins a request. `key`: a hash of the idempotency key and its owner. `request`: a hash of the request.

        Returns `('taken', b'')` if the request may run now, `('running', HASH)` if the request with this hash is
        still running, or `('kept', ANSWER)`."""
        found = await self._do(self._store.client.eval(_TAKE, 2, *_keys(key), request, LEASE_MS))
        return found[0].decode(), found[1]

    @contextlib.asynccontextmanager
    async def renewed(self, key: str) -> AsyncIterator[None]:
        """Keeps the lease of a running request. If this process is killed, the lease expires."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(RENEW_INTERVAL_S)
                with contextlib.suppress(GossamerError):
                    await self._do(self._store.client.pexpire(_keys(key)[1], LEASE_MS))

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def keep(self, key: str, answer: bytes) -> None:
        """Keeps the answer to a request for 24 hours."""
        await self._do(self._store.client.eval(_KEEP, 2, *_keys(key), answer, KEPT_S))

    async def release(self, key: str) -> None:
        """Ends a request whose answer is not kept, so that it may be repeated."""
        await self._do(self._store.client.delete(_keys(key)[1]))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))


def _keys(key: str) -> tuple[str, str]:
    return keys.kept_answer(key), keys.running_request(key)

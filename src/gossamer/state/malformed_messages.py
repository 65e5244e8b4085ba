"""Keeps the malformed messages that workers removed from the broker's queues: the newest messages and the
total number."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from gossamer.store import keys
from gossamer.store.store import Store

MAX_KEPT = 100
HOLD_S = 30 * 86400
"""The store removes all malformed messages when this many seconds have passed without another malformed
message."""


class MalformedMessages:
    """The malformed messages that the workers of a fleet received."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, found: Sequence[Mapping[str, object]]) -> None:
        """Stores more messages. Only the newest MAX_KEPT are kept."""
        pipe = self._store.client.pipeline(transaction=False)
        pipe.lpush(keys.MALFORMED, *[json.dumps(one) for one in found[-MAX_KEPT:]])
        pipe.ltrim(keys.MALFORMED, 0, MAX_KEPT - 1)
        pipe.incrby(keys.MALFORMED_COUNT, len(found))
        for key in (keys.MALFORMED, keys.MALFORMED_COUNT):
            pipe.expire(key, HOLD_S)
        await self._store.guard(pipe.execute())

    async def count(self) -> int:
        """Returns how many malformed messages there were in total."""
        found = await self._store.guard(cast(Awaitable[Any], self._store.client.get(keys.MALFORMED_COUNT)))
        return int(found) if found is not None and found.isdigit() else 0

    async def newest(self, n: int = MAX_KEPT) -> list[dict[str, Any]]:
        """Returns the newest messages, latest first. Each message is a dict with the keys `at`, `worker`,
        `queue`, `reason`, `body` and `size`."""
        found = await self._store.guard(
            cast(Awaitable[Any], self._store.client.lrange(keys.MALFORMED, 0, n - 1))
        )
        kept = []
        for raw in found:
            try:
                one = json.loads(raw)
            except ValueError:
                continue
            if isinstance(one, dict):
                kept.append(one)
        return kept


def malformed_text(count: int, newest: Sequence[Mapping[str, Any]]) -> str:
    """Returns one line with the number of malformed messages, and the reason why the latest message is
    malformed."""
    last = newest[0] if newest else {}
    why = f"; the last one, on queue {last.get('queue')}: {last.get('reason')}" if last else ""
    return f"{count} malformed message{'s' * (count != 1)} rejected{why}"

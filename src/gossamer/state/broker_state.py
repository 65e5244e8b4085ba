"""The state of the fleet's broker, as the worker knows it that sends the messages for free slots."""

from __future__ import annotations

from typing import Any, cast

from gossamer.store import keys
from gossamer.store.store import Store

EXPIRES_S = 60
"""Seconds after which a broker's error is forgotten, unless a worker reports it again."""


class BrokerState:
    """Reads and writes the broker's last error in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def report(self, error: str) -> None:
        """Stores the error with which the broker refused a message. '': the broker took a message."""
        client = self._store.client
        call: Any = client.set(keys.BROKER, error, ex=EXPIRES_S) if error else client.delete(keys.BROKER)
        await self._store.guard(call)

    async def error(self) -> str:
        """Returns the broker's error, or '' if the broker takes messages."""
        found = await self._store.guard(cast(Any, self._store.client.get(keys.BROKER)))
        return found.decode("utf-8", "replace") if found else ""

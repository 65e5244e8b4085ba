"""The score records of workers (`politeness.scores`), in one hash: each writes its own and reads all, every few seconds."""

from __future__ import annotations

from typing import Any, cast

from gossamer.frontier.store import Store

KEY = "gossamer:scores"


class Scores:
    """The records of one crawl's workers. Records are JSON."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl

    async def put(self, name: str, record: bytes) -> None:
        """Write a worker's record."""
        await self._do(self._store.client.hset(KEY, f"{self._crawl}\t{name}", record))

    async def all(self) -> list[bytes]:
        """The records of the crawl's workers, dead ones included."""
        found = await self._do(self._store.client.hgetall(KEY))
        mine = f"{self._crawl}\t".encode()
        return [raw for field, raw in found.items() if field.startswith(mine)]

    @staticmethod
    async def of_all(store: Store) -> list[bytes]:
        """The records of the workers of all crawls."""
        return list((await store.guard(cast(Any, store.client.hgetall(KEY)))).values())

    async def drop(self, name: str) -> None:
        """A worker is gone."""
        await self._do(self._store.client.hdel(KEY, f"{self._crawl}\t{name}"))

    async def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        seconds, micros = await self._do(self._store.client.time())
        return float(seconds) + float(micros) / 1e6

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))

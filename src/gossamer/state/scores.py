"""Stores the score records of workers. A record (`politeness.scores.WorkerScore`) contains how often and how
fast a worker's recent visits succeeded. The scores determine which workers visit hard hosts. All records are
in one hash. Every few seconds, each worker writes its own record and reads those of all workers."""

from __future__ import annotations

from typing import Any, cast

from gossamer.store.store import Store

KEY = "gossamer:scores"


class Scores:
    """Stores one score record, encoded as JSON, for each worker of a crawl."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl

    async def tell(self, name: str, record: bytes) -> tuple[float, list[bytes]]:
        """Writes a worker's record. Returns the store's time in seconds since the epoch, and the records of
        the crawl's workers, including dead ones."""
        pipe = self._store.client.pipeline(transaction=False)
        pipe.time()
        pipe.hset(KEY, f"{self._crawl}\t{name}", record)
        pipe.hgetall(KEY)
        now, _, found = await self._do(pipe.execute())
        mine = f"{self._crawl}\t".encode()
        return _seconds(now), [raw for field, raw in found.items() if field.startswith(mine)]

    @staticmethod
    async def of_all(store: Store) -> list[bytes]:
        """Returns the records of the workers of all crawls."""
        return list((await store.guard(cast(Any, store.client.hgetall(KEY)))).values())

    @staticmethod
    async def by_crawl(store: Store) -> dict[str, list[bytes]]:
        """Returns the records of the workers of each crawl, including dead ones."""
        found: dict[str, list[bytes]] = {}
        for field, raw in (await store.guard(cast(Any, store.client.hgetall(KEY)))).items():
            found.setdefault(field.decode("utf-8", "replace").partition("\t")[0], []).append(raw)
        return found

    async def drop(self, name: str) -> None:
        """Deletes the record of a worker that has ended."""
        await self._do(self._store.client.hdel(KEY, f"{self._crawl}\t{name}"))

    async def now(self) -> float:
        """Returns the store's time in seconds since the epoch."""
        return _seconds(await self._do(self._store.client.time()))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Any, call))


def _seconds(time: tuple[int, int]) -> float:
    seconds, micros = time
    return float(seconds) + float(micros) / 1e6

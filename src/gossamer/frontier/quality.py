"""The last good runs of each site, for drift: kept in the store, bounded, shared by all crawls of the site."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, cast

import msgspec

from gossamer.frontier import keys
from gossamer.frontier.store import Store
from gossamer.quality import KEPT, Run

TTL = 400 * 86_400


class Runs:
    """The remembered runs of a store's sites."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self, sites: Sequence[str]) -> dict[str, list[Run]]:
        """The last good runs of each site, the last one first. One that a newer gossamer wrote otherwise is left out."""
        pipe = self._store.client.pipeline(transaction=False)
        for site in sites:
            pipe.lrange(keys.quality(site), 0, KEPT - 1)
        found: list[list[bytes]] = await self._do(pipe.execute()) if sites else []
        read = [[_read(line) for line in lines] for lines in found]
        return {site: [run for run in runs if run is not None] for site, runs in zip(sites, read, strict=True)}

    async def keep(self, site: str, run: Run) -> None:
        """Remember a run; the same run of a crawl once."""
        last = (await self.load([site]))[site]
        if any((run.crawl, run.at) == (one.crawl, one.at) for one in last):
            return
        key = keys.quality(site)
        await self._do(self._store.client.lpush(key, msgspec.json.encode(run)))
        await self._do(self._store.client.ltrim(key, 0, KEPT - 1))
        await self._do(self._store.client.expire(key, TTL))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _read(raw: bytes) -> Run | None:
    try:
        return msgspec.json.decode(raw, type=Run)
    except msgspec.MsgspecError:
        return None

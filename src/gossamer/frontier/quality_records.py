"""Stores quality data: the last good runs of each site, and counts of the last pages of each crawl.

All crawls of a site share the site's good runs. Drift is measured against the site's last good runs. All
processes of a crawl share the counts of the crawl's last pages, which the quality gates test.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

import msgspec

from gossamer.model.quality import KEPT_RUNS, GoodRun, SitePart
from gossamer.store import keys
from gossamer.store.store import Store

TTL_S = 400 * 86_400
MAX_ENTRIES = 100
"""Maximum number of entries in the stream that counts a crawl's last pages. Unless the crawl is slow, each
entry contains the counts of at least two pages."""
ENTRIES_TTL_S = 86_400
WARNED_TTL_S = 3600


class GoodRuns:
    """Stores the last good runs of each site."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def load(self, sites: Sequence[str]) -> dict[str, list[GoodRun]]:
        """Returns the last good runs of each site, newest first. Skips runs in a format that this version
        cannot read."""
        pipe = self._store.client.pipeline(transaction=False)
        for site in sites:
            pipe.lrange(keys.quality(site), 0, KEPT_RUNS - 1)
        found: list[list[bytes]] = await self._do(pipe.execute()) if sites else []
        read = [[_read(line) for line in lines] for lines in found]
        return {
            site: [run for run in runs if run is not None] for site, runs in zip(sites, read, strict=True)
        }

    async def keep(self, site: str, run: GoodRun) -> None:
        """Stores a good run. Storing the same run of a crawl again has no effect."""
        last = (await self.load([site]))[site]
        if any((run.crawl, run.at) == (one.crawl, one.at) for one in last):
            return
        key = keys.quality(site)
        await self._do(self._store.client.lpush(key, msgspec.json.encode(run)))
        await self._do(self._store.client.ltrim(key, 0, KEPT_RUNS - 1))
        await self._do(self._store.client.expire(key, TTL_S))

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


class HeldRows:
    """Stores the rows that a run holds back. A run holds rows back if they lack values that good runs usually
    have. The rows are stored in encoded form.

    The rows stay in the store until a decision releases or rejects the rows. A row may be stored more than
    once.
    """

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._key = store, f"{keys.tag(0)}{crawl}:hd"

    async def push(self, rows: Sequence[bytes]) -> None:
        """Stores encoded rows. The stored rows are as durable as the crawl's queue."""
        await self._do(self._store.client.rpush(self._key, *rows))

    async def load(self) -> list[bytes]:
        """Returns all stored rows."""
        return list(await self._do(self._store.client.lrange(self._key, 0, -1)))

    async def clear(self, counts: Mapping[str, int]) -> None:
        """Deletes the rows that the run held back, and in the same step adds `counts` to the counts of the
        crawl. Called after each of these rows was either released to the outputs or rejected."""
        pipe = self._store.client.pipeline(transaction=True)
        for name, n in counts.items():
            pipe.hincrby(f"{self._key.removesuffix(':hd')}:n", name, n)
        pipe.delete(self._key)
        await self._do(pipe.execute())

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


class RecentPages:
    """A stream that contains the counts of a crawl's last pages. Each process appends the counts of its own
    pages, and reads the counts of all processes."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl, self._key = store, crawl, keys.lately(crawl)
        self._at = b"0-0"

    async def begin(self, anew: bool = False) -> None:
        """Starts reading at the current end of the stream. If `anew` is true, also deletes the records that
        `first` has stored, so that everything may be reported again."""
        if anew:
            await self._store.guard(self._store.client.delete(keys.told(self._crawl)))
        last = await self._store.guard(self._store.client.xrevrange(self._key, count=1))
        self._at = last[0][0] if last else b"0-0"

    async def share(self, part: SitePart) -> list[SitePart]:
        """Appends one entry. Returns all entries that were appended since the last call, including the new
        entry. If a reply is lost, the entry may be appended twice."""
        pipe = self._store.client.pipeline(transaction=False)
        told: dict[Any, Any] = {"w": part.who, "p": part.pages, "n": msgspec.json.encode(part.counts)}
        pipe.xadd(self._key, told, maxlen=MAX_ENTRIES, approximate=False)
        pipe.xrange(self._key, b"(" + self._at)
        pipe.expire(self._key, ENTRIES_TTL_S)
        _, found, _ = await self._store.guard(pipe.execute())
        self._at = found[-1][0] if found else self._at
        return [
            SitePart(one[b"w"].decode(), int(one[b"p"]), msgspec.json.decode(one[b"n"])) for _, one in found
        ]

    async def first(self, what: str) -> bool:
        """Returns whether this is the first report of `what`, and records the report. All recorded reports
        expire WARNED_TTL_S seconds after the last call of this method."""
        pipe = self._store.client.pipeline(transaction=False)
        pipe.sadd(keys.told(self._crawl), what)
        pipe.expire(keys.told(self._crawl), WARNED_TTL_S)
        new, _ = await self._store.guard(pipe.execute())
        return bool(new)


def _read(raw: bytes) -> GoodRun | None:
    try:
        return msgspec.json.decode(raw, type=GoodRun)
    except msgspec.MsgspecError:
        return None

"""Stores the good runs with which later runs are compared, and the sample pages of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, cast

import msgspec

from gossamer.frontier.quality_records import TTL_S
from gossamer.frontier.summary import crawl_counts
from gossamer.model.quality import COMPARED_RUNS, RunRecord
from gossamer.store import keys
from gossamer.store.store import Store

COUNTED = ("q|", "fate:")
"""The beginnings of the names of the counts that are stored, besides `pages` and `succeeded`."""


FATES = {"|n": "fate:new", "|c": "fate:changed", "|u": "fate:unchanged"}
"""The names under which a run's record sums the fates of the items of all kinds, by the end of the count's
name."""
ASIDE = "@likeness"
"""The field that contains the likeness of an unlike run, among the sample pages."""


class RunRecords:
    """Stores runs. All methods raise StoreError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, crawl: str, at: str) -> RunRecord:
        """Returns the record of a crawl's present run, which began at `at`."""
        counts = await crawl_counts(self._store, crawl)
        for name, n in list(counts.items()):
            if name.startswith("fate|") and name[-2:] in FATES:
                counts[FATES[name[-2:]]] += n
        samples = await self._do(self._store.client.hgetall(_samples(crawl)))
        return RunRecord(
            crawl,
            at,
            {
                name: n
                for name, n in sorted(counts.items())
                if name.startswith(COUNTED) or name in ("pages", "succeeded")
            },
            {name.decode(): url.decode() for name, url in sorted(samples.items()) if name[:1] != b"@"},
        )

    async def add_samples(self, crawl: str, samples: Mapping[str, str]) -> None:
        """Stores sample pages. The first page of each name stays."""
        if not samples:
            return
        pipe = self._store.client.pipeline(transaction=False)
        for name, url in samples.items():
            pipe.hsetnx(_samples(crawl), name, url)
        await self._do(pipe.execute())

    async def set_aside(self, crawl: str, likeness: str) -> None:
        """Stores the likeness of a run that is unlike the good runs, for `likeness_aside`."""
        await self._do(self._store.client.hset(_samples(crawl), ASIDE, likeness))

    async def likeness_aside(self, crawl: str) -> str:
        """Returns the likeness of a crawl's run that is unlike the good runs, or ''."""
        return ((await self._do(self._store.client.hget(_samples(crawl), ASIDE))) or b"").decode()

    async def load(self, likeness: str) -> list[RunRecord]:
        """Returns the last good runs, newest first. Skips runs in a format that this version cannot read."""
        found = []
        for raw in await self._do(self._store.client.lrange(keys.runs(likeness), 0, COMPARED_RUNS - 1)):
            try:
                found.append(msgspec.json.decode(raw, type=RunRecord))
            except msgspec.MsgspecError:
                continue
        return found

    async def keep(self, likeness: str, run: RunRecord) -> None:
        """Stores a good run. Storing the same run of a crawl again has no effect."""
        if any((run.crawl, run.at) == (one.crawl, one.at) for one in await self.load(likeness)):
            return
        key = keys.runs(likeness)
        pipe = self._store.client.pipeline()
        pipe.lpush(key, msgspec.json.encode(run))
        pipe.ltrim(key, 0, COMPARED_RUNS - 1)
        pipe.expire(key, TTL_S)
        await self._do(pipe.execute())

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _samples(crawl: str) -> str:
    return f"{keys.tag(0)}{crawl}:gs"

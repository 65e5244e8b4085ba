"""Reads the limits of concurrent visits of worker processes, and the reason for each limit, from the
processes' score records."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from gossamer.politeness.scores import alive, read
from gossamer.state.scores import Scores
from gossamer.store.store import Store


class ProcessLevel(NamedTuple):
    """A process that works on a crawl. `visits`: the maximum number of concurrent visits of the process, over
    all of its crawls. `limit`: what keeps the process from running more concurrent visits of this crawl
    (`worker.concurrency_level`). `age`: seconds since the last record of the process."""

    crawl: str
    process: str
    visits: int
    limit: str
    age: float

    def plain(self) -> dict[str, Any]:
        """Returns the values as `status --json` prints them."""
        return {"concurrency": self.visits, "limit": self.limit, "last_sign": round(self.age, 1)}


async def process_levels(store: Store, crawls: Collection[str], now: float) -> list[ProcessLevel]:
    """Returns the living processes that work on the given crawls, sorted by crawl and name. `now`: the store's
    time in seconds."""
    found = await Scores.by_crawl(store)
    return [level for crawl in sorted(crawls) for level in _levels(crawl, found.get(crawl, ()), now)]


def _levels(crawl: str, raws: Iterable[bytes], now: float) -> list[ProcessLevel]:
    return sorted(
        ProcessLevel(crawl, one.name, one.concurrency, one.limit, max(0.0, now - one.at))
        for one in read(raws)
        if alive(one, now)
    )

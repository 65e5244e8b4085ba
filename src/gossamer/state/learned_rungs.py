"""Stores which collectors can fetch the pages of each host. Workers learn from their visits which collectors
work for a host. A collector is a rung of a ladder. There is one record per host. The record is the JSON text
of a `politeness.ladder.Ladder`. Records are cached."""

from __future__ import annotations

import time
from collections.abc import Callable

from gossamer.store.keys import bucket_of
from gossamer.store.store import Store

CACHE_TTL_S = 10.0
"""When the cached record of a host is this many seconds old, the worker reads the record from the store
again."""
MAX_HOSTS = 10_000
"""Maximum number of hosts whose records are cached."""


class LearnedRungs:
    """The records of all hosts. All crawls and workers of a store share the records."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[float, str]] = {}

    async def known(self, host: str) -> str:
        """Returns the record of a host, or '' if there is none. The result may be up to CACHE_TTL_S seconds
        old."""
        at, text = self._known.get(host, (0.0, ""))
        if not at or time.monotonic() - at > CACHE_TTL_S:
            _, text = await self._run(host)
        return text

    async def learn(self, host: str, change: Callable[[str], str]) -> str:
        """Applies `change` to the current record of a host, stores the result and returns it. `change` may be
        called several times."""
        was = await self.known(host)
        while (wanted := change(was)) != was:
            done, was = await self._run(host, was, wanted)
            if done:
                break  # otherwise, another worker has changed the record
        return wanted

    async def _run(self, host: str, *words: str) -> tuple[bool, str]:
        bucket = bucket_of(host, self._store.buckets)
        done, raw = await self._store.run("learned_rung", bucket, "", host, *words)
        text = raw.decode()
        if len(self._known) >= MAX_HOSTS:
            self._known.clear()
        self._known[host] = time.monotonic(), text
        return bool(done), text

"""Budgets of discovered hosts in a store of many buckets: they are shares of the whole crawl, and no script sees all of it.

So an add brings along what the other buckets hold: the pages that were fetched, and what discovered hosts took of their
shares. The sums are read now and then; what this client adds in between is counted at once. Crawls that meet no
discovered hosts, and stores of one bucket, never come here.
"""

from __future__ import annotations

import time

from gossamer.frontier.keys import tag
from gossamer.frontier.store import Store

LOOK = 0.2
"""Seconds for which the sums are good: what other workers take in that time may pass the shares."""
_COUNTS = ("pages", "strangers", "singles")


class Shares:
    """What each bucket of one crawl holds, as far as this client knows."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._known: list[list[int]] = []
        self._read_at = 0.0

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]:
        """Pages, and pages of hosts for which nobody vouches and of those with one voucher, in the other buckets."""
        if self._store.buckets == 1:
            return 0, 0, 0
        if not self._known or time.monotonic() - self._read_at > LOOK:
            pipe = self._store.client.pipeline(transaction=False)
            for other in range(self._store.buckets):
                pipe.hmget(f"{tag(other)}{self._crawl}:n", list(_COUNTS))
            found = await self._store.guard(pipe.execute())
            self._known = [[int(n or 0) for n in counts] for counts in found]
            self._read_at = time.monotonic()
        own = self._known[bucket]
        pages, strangers, singles = (sum(counts[j] for counts in self._known) - own[j] for j in range(3))
        return pages, strangers, singles

    def took(self, bucket: int, strangers: int, singles: int) -> None:
        """An add of ours took so many."""
        if self._known:
            self._known[bucket][1] += strangers
            self._known[bucket][2] += singles

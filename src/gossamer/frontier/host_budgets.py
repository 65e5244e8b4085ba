"""Budgets of discovered hosts in a store of many buckets: they are shares of the whole crawl, and no script
sees all of it.

So an add brings along what the other buckets hold: the pages that were fetched, and what discovered hosts
took of their shares. The sums are read now and then; what this client adds in between is counted at once.
Crawls that meet no discovered hosts, and stores of one bucket, never come here.
"""

from __future__ import annotations

import time

from gossamer.frontier.multi_bucket import Everywhere
from gossamer.store.store import Store

LOOK = 0.2
"""Seconds for which the sums are good: what other workers take in that time may pass the shares."""
_COUNTS = ("pages", "strangers", "singles")


class Shares:
    """What each bucket of one crawl holds, as far as this client knows."""

    def __init__(self, store: Store, everywhere: Everywhere) -> None:
        self._store, self._everywhere = store, everywhere
        self._known: list[list[int]] = []
        self._sums = [0, 0, 0]
        self._read_at = 0.0

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]:
        """Pages, and pages of hosts for which nobody vouches and of those with one voucher, in the other
        buckets."""
        if self._store.buckets == 1:
            return 0, 0, 0
        if not self._known or time.monotonic() - self._read_at > LOOK:
            self._known = await self._everywhere.counts(*_COUNTS)
            self._sums = [sum(counts[j] for counts in self._known) for j in range(3)]
            self._read_at = time.monotonic()
        pages, strangers, singles = (self._sums[j] - self._known[bucket][j] for j in range(3))
        return pages, strangers, singles

    def took(self, bucket: int, strangers: int, singles: int) -> None:
        """An add of ours took so many."""
        if self._known:
            for j, n in ((1, strangers), (2, singles)):
                self._known[bucket][j] += n
                self._sums[j] += n

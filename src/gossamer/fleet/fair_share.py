"""Divides the capacity of one process among crawls by weight, without leaving capacity idle (stride
scheduling).

Each crawl has a number, its pass, that grows by 1 / weight with each claim. While several crawls want more
claims than they get, the crawl with the highest pass waits for the others. If a crawl was offered capacity
and claimed nothing, it needs no more, so no crawl waits for it. If a crawl claimed something, it is expected
to claim again at once, because one call does not reach all buckets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

HUNGRY_S = 0.5
"""Seconds for which a crawl is assumed to want more capacity than it got."""


class FairShares:
    """Divides the capacity of a process among its crawls. `most()` returns the maximum number of claims of
    all crawls together."""

    def __init__(self, most: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._clock = most, clock
        self._shares: dict[str, CrawlShare] = {}

    def share(self, name: str, weight: int) -> CrawlShare:
        """Returns the share of a crawl. Creates the share if needed, and updates its weight."""
        if name not in self._shares:
            self._shares[name] = CrawlShare(self)
        share = self._shares[name]
        share.weight = max(1, weight)
        return share

    def drop(self, name: str) -> None:
        """Removes the share of a crawl."""
        self._shares.pop(name, None)

    def ask(self, share: CrawlShare) -> int:
        """Returns how many claims a crawl may make now."""
        most, now = self.most(), self._clock()
        # the minimum number of claims that justifies a call, and by how many claims a crawl of weight 1 may
        # be ahead of the others
        quantum = max(1, most // 10)
        free = most - sum(one.busy for one in self._shares.values())
        others = [one.passed for one in self._shares.values() if one is not share and one.hungry_until > now]
        if others:
            # a crawl that was idle cannot catch up on the claims that it did not make meanwhile
            share.passed = max(share.passed, min(others) - quantum)
            free = min(free, round((min(others) - share.passed + quantum) * share.weight))
        if free < quantum:
            share.hungry_until = now + HUNGRY_S
            return 0
        return free  # `took` records whether the crawl used them

    def took(self, share: CrawlShare, claims: int) -> None:
        """Records how many claims a crawl made of those it was offered."""
        share.busy += claims
        share.passed += claims / share.weight
        share.hungry_until = self._clock() + HUNGRY_S if claims else 0.0


class CrawlShare:
    """The share of one crawl. It implements `worker.capacity.ClaimAllowance`."""

    def __init__(self, fair: FairShares) -> None:
        self.passed, self.weight, self.busy, self.hungry_until = 0.0, 1, 0, 0.0
        self._fair = fair

    def ask(self, busy: int) -> int:
        """See `worker.capacity.ClaimAllowance`."""
        self.busy = busy
        return self._fair.ask(self)

    def took(self, claims: int) -> None:
        """See `worker.capacity.ClaimAllowance`."""
        self._fair.took(self, claims)

    def rests(self, busy: int) -> None:
        """See `worker.capacity.ClaimAllowance`."""
        self.busy, self.hungry_until = busy, 0.0

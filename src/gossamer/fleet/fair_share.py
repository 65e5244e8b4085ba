"""Divides the capacity of one process among crawls by precedence and weight, without leaving capacity idle
(stride scheduling).

While a crawl wants more claims than it gets, crawls of a lower precedence make no claims. The crawl then gets
all capacity that becomes free. The crawls of a lower precedence get the capacity that it does not use, for
example while its hosts wait for their delay.

Among crawls of one precedence, each has a counter (its *pass*) that grows by 1 / weight for each claim. While
several of them want more claims than they get, the crawl with the highest pass waits for the others. If a
crawl was offered capacity and claimed nothing, it needs no more, and no crawl waits for it. If a crawl
claimed something, it is expected to claim again immediately, because one call does not claim from all
buckets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

HUNGRY_S = 0.5
"""For how many seconds a crawl is assumed to want more capacity, after it claimed something or was
refused."""


class FairShares:
    """Divides the capacity of a process among its crawls. `most()` returns the maximum number of claims of
    all crawls together."""

    def __init__(self, most: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._clock = most, clock
        self._shares: dict[str, CrawlShare] = {}

    def share(self, name: str, weight: int, precedence: int = 0) -> CrawlShare:
        """Returns the share of a crawl, with its weight and its precedence updated."""
        if name not in self._shares:
            self._shares[name] = CrawlShare(self)
        share = self._shares[name]
        share.weight, share.precedence = max(1, weight), precedence
        return share

    def drop(self, name: str) -> None:
        """Removes the share of a crawl."""
        self._shares.pop(name, None)

    def ask(self, share: CrawlShare) -> int:
        """Returns how many claims a crawl may make now."""
        most, now = self.most(), self._clock()
        # Two uses: the minimum number of claims that justifies a call, and the number of claims by which a
        # crawl of weight 1 may be ahead of the others.
        quantum = max(1, most // 10)
        free = most - sum(one.busy for one in self._shares.values())
        hungry = [one for one in self._shares.values() if one is not share and one.hungry_until > now]
        others = [one.passed for one in hungry if one.precedence == share.precedence]
        if any(one.precedence > share.precedence for one in hungry):
            free = 0
        elif others:
            # a crawl that was idle does not get the claims that it could have made meanwhile
            share.passed = max(share.passed, min(others) - quantum)
            free = min(free, round((min(others) - share.passed + quantum) * share.weight))
        if free < quantum:
            share.hungry_until = now + HUNGRY_S
            return 0
        return free  # `took` records how many of them the crawl makes

    def took(self, share: CrawlShare, claims: int) -> None:
        """Records how many of the offered claims a crawl made."""
        share.busy += claims
        share.passed += claims / share.weight
        share.hungry_until = self._clock() + HUNGRY_S if claims else 0.0


class CrawlShare:
    """The share of one crawl in the capacity of a process. It implements `worker.capacity.ClaimAllowance`."""

    def __init__(self, fair: FairShares) -> None:
        self.passed, self.weight, self.precedence, self.busy, self.hungry_until = 0.0, 1, 0, 0, 0.0
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

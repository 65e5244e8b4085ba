"""Divides the capacity of one process among crawls by precedence and weight. The method is stride scheduling,
which leaves no capacity idle.

While a crawl wants more claims, crawls of a lower precedence make no claims. The crawl therefore gets all
capacity that becomes free. If the crawl cannot use all capacity, for example while its hosts wait for their
delay, crawls of a lower precedence get the rest.

Each crawl has a counter, the crawl's *pass*. Each claim adds 1 / weight to the crawl's pass. The pass of a
crawl is compared only with the passes of crawls of the same precedence. If several of these crawls want more
claims than they get, a crawl with a high pass waits until the passes of the others have caught up. If a crawl
was offered capacity and claimed nothing, the process assumes that the crawl wants no more claims, and the
other crawls do not wait for this crawl. If a crawl made any claims, the process assumes that the crawl wants
more claims. A small number of claims does not mean that the crawl has no more URLs, because one call does not
claim from all buckets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

HUNGRY_S = 0.5
"""After a crawl has made claims or was refused capacity, the process assumes for this many seconds that the
crawl wants more capacity."""


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
        # A crawl gets either at least `quantum` claims or none, because a call for fewer claims is not
        # worthwhile. The pass of a crawl may exceed the lowest pass of the other crawls by at most `quantum`.
        quantum = max(1, most // 10)
        free = most - sum(one.busy for one in self._shares.values())
        hungry = [one for one in self._shares.values() if one is not share and one.hungry_until > now]
        others = [one.passed for one in hungry if one.precedence == share.precedence]
        if any(one.precedence > share.precedence for one in hungry):
            free = 0
        elif others:
            # while a crawl is idle, its pass falls behind by at most `quantum`
            share.passed = max(share.passed, min(others) - quantum)
            free = min(free, round((min(others) - share.passed + quantum) * share.weight))
        if free < quantum:
            share.hungry_until = now + HUNGRY_S
            return 0
        return free  # `took` records how many of these claims the crawl makes

    def took(self, share: CrawlShare, claims: int) -> None:
        """Records how many claims the crawl has made after a call of `ask`."""
        share.busy += claims
        share.passed += claims / share.weight
        share.hungry_until = self._clock() + HUNGRY_S if claims else 0.0


class CrawlShare:
    """The share of one crawl in the capacity of a process. Implements `worker.capacity.ClaimAllowance`."""

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

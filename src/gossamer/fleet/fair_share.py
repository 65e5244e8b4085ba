"""Divides the claims of one process among its crawls: by weight, and so that no capacity is idle (stride
scheduling).

Each crawl has a pass that grows by 1 / weight for each claim. While several crawls want more claims than they
get, the one that is ahead waits for the others. A crawl that was offered claims and took none wants no more,
so no other crawl waits for it. A crawl that took some asks again at once, because one call does not ask all
buckets.
"""

from __future__ import annotations

import time
from collections.abc import Callable

HUNGRY = 0.5
"""Seconds for which a crawl is believed to want more claims than it got."""


class Fair:
    """Divides the `most()` claims of a process among its crawls."""

    def __init__(self, most: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._clock = most, clock
        self._shares: dict[str, Share] = {}

    def share(self, name: str, weight: int) -> Share:
        """Returns the share of a crawl."""
        if name not in self._shares:
            self._shares[name] = Share(self)
        share = self._shares[name]
        share.weight = max(1, weight)
        return share

    def drop(self, name: str) -> None:
        """Removes a crawl that ended."""
        self._shares.pop(name, None)

    def ask(self, share: Share) -> int:
        """Returns how many claims a share may make now."""
        most, now = self.most(), self._clock()
        # fewer claims do not justify a call; a crawl of weight 1 may be this much ahead
        quantum = max(1, most // 10)
        free = most - sum(one.busy for one in self._shares.values())
        others = [one.passed for one in self._shares.values() if one is not share and one.hungry_until > now]
        if others:
            # an idle crawl does not collect claims for later
            share.passed = max(share.passed, min(others) - quantum)
            free = min(free, round((min(others) - share.passed + quantum) * share.weight))
        if free < quantum:
            share.hungry_until = now + HUNGRY
            return 0
        return free  # whether the crawl wants them shows when it takes some

    def took(self, share: Share, claims: int) -> None:
        """Records how many of the offered claims a share made."""
        share.busy += claims
        share.passed += claims / share.weight
        share.hungry_until = self._clock() + HUNGRY if claims else 0.0


class Share:
    """One crawl's part of a process's claims. Implements the claim allowance of `worker.loop`."""

    def __init__(self, fair: Fair) -> None:
        self.passed, self.weight, self.busy, self.hungry_until = 0.0, 1, 0, 0.0
        self._fair = fair

    def ask(self, busy: int) -> int:
        """See the protocol in `worker.loop`."""
        self.busy = busy
        return self._fair.ask(self)

    def took(self, claims: int) -> None:
        """See the protocol in `worker.loop`."""
        self._fair.took(self, claims)

    def rests(self, busy: int) -> None:
        """See the protocol in `worker.loop`."""
        self.busy, self.hungry_until = busy, 0.0

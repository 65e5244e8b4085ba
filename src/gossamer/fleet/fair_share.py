"""How one process divides its room among crawls: by weight, and so that no room is left idle (stride
scheduling).

Each crawl has a pass that grows by 1 / weight for each claim. While several want more than they get, the one
that is ahead waits for the others. Who was offered room and took none of it wants no more, so nobody waits
for it; who took some will ask again at once, as not all buckets are asked at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

HUNGRY = 0.5
"""Seconds that a crawl is believed to want more room than it got."""


class Fair:
    """The room of a process: `most()` claims, of all crawls together."""

    def __init__(self, most: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._clock = most, clock
        self._shares: dict[str, Share] = {}

    def share(self, name: str, weight: int) -> Share:
        """The share of a crawl."""
        if name not in self._shares:
            self._shares[name] = Share(self)
        share = self._shares[name]
        share.weight = max(1, weight)
        return share

    def drop(self, name: str) -> None:
        """A crawl is over."""
        self._shares.pop(name, None)

    def ask(self, share: Share) -> int:
        """How many claims a share may make now."""
        most, now = self.most(), self._clock()
        # fewer claims are not worth a call; so many may a crawl of weight 1 be ahead
        quantum = max(1, most // 10)
        free = most - sum(one.busy for one in self._shares.values())
        others = [one.passed for one in self._shares.values() if one is not share and one.hungry_until > now]
        if others:
            # who slept has no claim on what it missed
            share.passed = max(share.passed, min(others) - quantum)
            free = min(free, round((min(others) - share.passed + quantum) * share.weight))
        if free < quantum:
            share.hungry_until = now + HUNGRY
            return 0
        return free  # whether it wants that is known when it took some

    def took(self, share: Share, claims: int) -> None:
        """What a share made of an offer."""
        share.busy += claims
        share.passed += claims / share.weight
        share.hungry_until = self._clock() + HUNGRY if claims else 0.0


class Share:
    """One crawl's part of the room: `road.worker.Room`."""

    def __init__(self, fair: Fair) -> None:
        self.passed, self.weight, self.busy, self.hungry_until = 0.0, 1, 0, 0.0
        self._fair = fair

    def ask(self, busy: int) -> int:
        """See `road.worker.Room`."""
        self.busy = busy
        return self._fair.ask(self)

    def took(self, claims: int) -> None:
        """See `road.worker.Room`."""
        self._fair.took(self, claims)

    def rests(self, busy: int) -> None:
        """See `road.worker.Room`."""
        self.busy, self.hungry_until = busy, 0.0

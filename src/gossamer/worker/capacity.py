"""How much a worker may take on: its share of its process, and the caps that it is under."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

CUT_S, GROW_S, HOLD_S = 0.5, 2.0, 60.0
"""Seconds between two cuts; of quiet before more is taken on; before the level at which something ran short
is tried again."""
GIVE_UP_S = 15.0
"""Seconds in which not even one visit at a time got through, after which the worker ends."""
REPEAT_S = 600.0
"""Seconds until the same shortage is told again."""


class Limiter:
    """How many visits a process may have under way, by what it has of its own: descriptors, memory, threads,
    ports.

    A shortage halves `visits` at once; quiet raises it again, by an eighth each two seconds, up to `most`.
    `log(line)` is called when the process runs short of something, once for each thing in ten minutes.
    """

    def __init__(
        self,
        most: int,
        log: Callable[[str], None] = lambda _: None,
        *,
        begins: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = self.visits = self._ceiling = most
        self.over = ""
        """What not even one visit at a time got enough of."""
        self._log, self._clock, self._begins = log, clock, begins
        self._cut_at = self._grown_at = self._hit_at = -REPEAT_S
        self._told: dict[str, float] = {}
        self._since: float | None = None

    def begin(self) -> None:
        """Log `begins`, why fewer visits than wanted are allowed from the beginning; once."""
        if self._begins:
            self._log(self._begins)
            self._begins = ""

    @property
    def calm(self) -> bool:
        """Whether nothing ran short of late."""
        return self.visits >= self.most and self._since is None

    def short(self, what: str, measured: bool = False) -> None:
        """A visit found that the process is short of something; or (`measured`) it is all but so."""
        now = self._clock()
        self._grown_at = now
        if now - self._cut_at >= CUT_S:
            if self.visits > 1 or self._ceiling > 1:
                self._ceiling, self._hit_at = max(1, self.visits * 3 // 4), now
            self.visits, self._cut_at = max(1, self.visits // 2), now
        if now - self._told.get(what, -REPEAT_S) >= REPEAT_S:
            self._told[what] = now
            self._log(
                f"short of {what}: {self.visits} pages at once for now instead of {self.most}; no page is counted as failed for it"
            )
        if self.visits == 1 and not measured:
            self._since = self._since or now
            if now - self._since >= GIVE_UP_S:
                self.over = what

    def fine(self) -> None:
        """A visit got through."""
        self._since = None
        if self.visits >= self.most:
            return
        now = self._clock()
        if now - self._hit_at >= HOLD_S:
            self._ceiling = self.most
        if now - self._grown_at >= GROW_S and self.visits < self._ceiling:
            self.visits, self._grown_at = min(self._ceiling, self.visits + max(1, self.visits // 8)), now


class Room(Protocol):
    """How much one crawl may take on: its share of a process that works on several."""

    def ask(self, busy: int) -> int:
        """How many more claims it may make beside those that it has; 0 where so few are not worth a call."""

    def took(self, claims: int) -> None:
        """So many were made."""

    def rests(self, busy: int) -> None:
        """It wants no more than it has just now."""


class FleetCaps(Protocol):
    """Caps on what many workers do together (`frontier.rates`)."""

    async def take(self, n: int) -> int: ...
    async def back(self, n: int) -> None: ...


class Alone:
    """The room of a worker that has its process to itself: a quarter more than run at once waits, so that
    none idles."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def ask(self, busy: int) -> int:
        """See `Room`."""
        visits = self._limiter.visits
        free = visits + visits // 4 - busy
        return free if free >= max(1, visits // 8) else 0

    def took(self, claims: int) -> None:
        """See `Room`."""

    def rests(self, busy: int) -> None:
        """See `Room`."""

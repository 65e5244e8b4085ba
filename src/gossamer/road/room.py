"""How much a worker may take on: its share of its process, and the caps that it is under."""

from __future__ import annotations

from typing import Protocol


class Room(Protocol):
    """How much one crawl may take on: its share of a process that works on several."""

    def ask(self, busy: int) -> int:
        """How many more claims it may make beside those that it has; 0 where so few are not worth a call."""

    def took(self, claims: int) -> None:
        """So many were made."""

    def rests(self, busy: int) -> None:
        """It wants no more than it has just now."""


class Caps(Protocol):
    """Caps on what many workers do together (`frontier.rates`)."""

    async def take(self, n: int) -> int: ...
    async def back(self, n: int) -> None: ...


class Alone:
    """The room of a worker that has its process to itself: a quarter more than run at once waits, so that none idles."""

    def __init__(self, concurrency: int) -> None:
        self._most, self._least = concurrency + concurrency // 4, max(1, concurrency // 8)

    def ask(self, busy: int) -> int:
        """See `Room`."""
        free = self._most - busy
        return free if free >= self._least else 0

    def took(self, claims: int) -> None:
        """See `Room`."""

    def rests(self, busy: int) -> None:
        """See `Room`."""

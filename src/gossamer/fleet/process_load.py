"""Limits the claims of a process. The limit falls when memory is scarce or the CPU cannot keep up."""

from __future__ import annotations

from collections.abc import Callable

from gossamer.config.resources import free_memory_share, resident_memory

MAX_LOOP_DELAY_S = 0.5
"""If the event loop is delayed by more than this many seconds, the process claims fewer URLs."""


def allowed_claims(most: int, *, used: int, limit: int, free: float, pace: float) -> int:
    """Returns the number of claims that a process may hold, at most `most`. `used` is the process's memory
    and `limit` is the limit on it, both in bytes. `free` is the free share of the machine's memory. `pace` is
    the share of the work that the CPU can finish in time. The share is a number from 0 to 1.

    >>> allowed_claims(80, used=100, limit=600, free=0.5, pace=1.0), allowed_claims(80, used=590, limit=600, free=0.5, pace=1.0)
    (80, 0)
    """
    own = (0.95 - used / limit) / 0.15 if limit else 1.0
    machine = (free - 0.03) / 0.07
    return max(0, round(most * max(0.0, min(1.0, own, machine, max(pace, 0.1)))))


class ProcessLoad:
    """Measures the memory and the pace of this process from time to time, and limits its claims."""

    def __init__(self, most: Callable[[], int], limit: int) -> None:
        """`most` returns the maximum number of claims. A process that uses more than `limit` bytes of memory
        is replaced."""
        self.most, self.limit, self.pace = most, limit, 1.0
        self._used, self._free = 0, 1.0

    def late(self, seconds: float) -> None:
        """Records a delay of the event loop, and measures the memory. `seconds`: how late the event loop woke
        up."""
        self.pace = max(0.1, self.pace * 0.7) if seconds > MAX_LOOP_DELAY_S else min(1.0, self.pace + 0.1)
        self._used, self._free = resident_memory(), free_memory_share()

    def share(self) -> tuple[float, str]:
        """Returns two values. The first value is a factor from 0 to 1 for the maximum number of claims. The
        second value is the scarce resource, which is `memory` or `processor`, or '' if neither is scarce."""
        by_memory, now = (
            allowed_claims(100, used=self._used, limit=self.limit, free=self._free, pace=pace) / 100
            for pace in (1.0, self.pace)
        )
        return now, "processor" if now < by_memory else "memory" if now < 1 else ""

    def claims(self) -> int:
        """Returns the number of claims that the process may hold now."""
        return allowed_claims(self.most(), used=self._used, limit=self.limit, free=self._free, pace=self.pace)

"""How many claims a process may hold: fewer if memory is scarce or its processor cannot keep up."""

from __future__ import annotations

from gossamer.config.resources import free, memory

LATE = 0.5
"""Seconds of event-loop delay above which a process takes fewer claims."""


def allowed(most: int, *, used: int, limit: int, free: float, pace: float) -> int:
    """Returns how many claims a process may hold. `used`, `limit`: bytes of its memory. `free`: the free
    share of the machine's memory. `pace`: the share of its work that the processor keeps up with (0 to 1).

    >>> allowed(80, used=100, limit=600, free=0.5, pace=1.0), allowed(80, used=590, limit=600, free=0.5, pace=1.0)
    (80, 0)
    """
    own = (0.95 - used / limit) / 0.15 if limit else 1.0
    machine = (free - 0.03) / 0.07
    return max(0, round(most * max(0.0, min(1.0, own, machine, max(pace, 0.1)))))


class ProcessLoad:
    """Measures the load of this process from time to time."""

    def __init__(self, most: int, limit: int) -> None:
        """`most`: the maximum number of claims. `limit`: bytes of memory above which the process is replaced."""
        self.most, self.limit, self.pace = most, limit, 1.0
        self._now = most

    def late(self, seconds: float) -> None:
        """Records that the event loop woke so many seconds late. Checks the memory, too."""
        self.pace = max(0.1, self.pace * 0.7) if seconds > LATE else min(1.0, self.pace + 0.1)
        self._now = allowed(self.most, used=memory(), limit=self.limit, free=free(), pace=self.pace)

    def claims(self) -> int:
        """Returns how many claims the process may hold now."""
        return self._now

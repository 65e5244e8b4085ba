"""How much a process may take on: less when memory gets scarce or its processor cannot keep up."""

from __future__ import annotations

from gossamer.config.resources import free, memory

LATE = 0.5
"""Seconds that the loop may be late before less is taken on."""


def allowed(most: int, *, used: int, limit: int, free: float, pace: float) -> int:
    """Claims that a process may hold: `used` and `limit` are bytes of its memory, `free` the machine's free
    share of it, `pace` what the processor keeps up with (0 to 1).

    >>> allowed(80, used=100, limit=600, free=0.5, pace=1.0), allowed(80, used=590, limit=600, free=0.5, pace=1.0)
    (80, 0)
    """
    own = (0.95 - used / limit) / 0.15 if limit else 1.0
    machine = (free - 0.03) / 0.07
    return max(0, round(most * max(0.0, min(1.0, own, machine, max(pace, 0.1)))))


class ProcessLoad:
    """What this process weighs, looked at now and then."""

    def __init__(self, most: int, limit: int) -> None:
        """At best `most` claims; `limit`: bytes beyond which the process is replaced."""
        self.most, self.limit, self.pace = most, limit, 1.0
        self._now = most

    def late(self, seconds: float) -> None:
        """The loop woke so much later than it wanted to; looks at memory, too."""
        self.pace = max(0.1, self.pace * 0.7) if seconds > LATE else min(1.0, self.pace + 0.1)
        self._now = allowed(self.most, used=memory(), limit=self.limit, free=free(), pace=self.pace)

    def claims(self) -> int:
        """Claims that it may hold now."""
        return self._now

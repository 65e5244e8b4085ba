"""How much a process may take on: less when memory gets scarce or its processor cannot keep up."""

from __future__ import annotations

import os
import sys
from pathlib import Path

LATE = 0.5
"""Seconds that the loop may be late before less is taken on."""


def allowed(most: int, *, used: int, limit: int, free: float, pace: float) -> int:
    """Claims that a process may hold: `used` and `limit` are bytes of its memory, `free` the machine's free share of it,
    `pace` what the processor keeps up with (0 to 1).

    >>> allowed(80, used=100, limit=600, free=0.5, pace=1.0), allowed(80, used=590, limit=600, free=0.5, pace=1.0)
    (80, 0)
    """
    own = (0.95 - used / limit) / 0.15 if limit else 1.0
    machine = (free - 0.03) / 0.07
    return max(0, round(most * max(0.0, min(1.0, own, machine, max(pace, 0.1)))))


class Load:
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


def memory(pid: int | str = "self") -> int:
    """Resident bytes of a process."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        if pid != "self":
            return 0
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def free() -> float:
    """The share of the machine's memory, or of the container's, that is free; 1.0 where nobody can tell."""
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        share = int(lines["MemAvailable"].split()[0]) / int(lines["MemTotal"].split()[0])
    except (OSError, ValueError, KeyError, ZeroDivisionError):
        return 1.0
    try:
        most = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        cache = dict(line.split() for line in Path("/sys/fs/cgroup/memory.stat").read_text().splitlines())
        used -= int(cache.get("inactive_file", 0))
        return min(share, 1 - used / int(most)) if most != "max" else share
    except (OSError, ValueError, ZeroDivisionError):
        return share

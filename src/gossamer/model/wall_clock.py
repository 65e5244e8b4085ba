"""The time of day in rows, records and the attempts log.

All of these times are the store's time, so that the rows of a fleet are comparable. The clock of a machine of the
fleet may be wrong, so each of the fleet's processes measures once per slice how far its machine's clock is ahead
of the store's clock. An embedded store has the same clock as the machine."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

MAX_CLOCK_OFF_S = 5.0
"""The number of seconds by which a clock may differ from the store's clock without counting as wrong."""
MAX_ANSWER_S = 1.0
"""A reply of the store that took longer than this number of seconds measures nothing."""


class WallClock:
    """The clock of this process. `ahead`: the seconds by which the machine's clock is ahead of the store's clock, or
    0 if the difference is small."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        """Returns the store's time in seconds since the epoch."""
        return time.time() - self.ahead

    async def measure(self, store_time: Callable[[], Awaitable[float]]) -> None:
        """Measures how far the machine's clock is ahead. `store_time` returns the store's time."""
        began = time.time()
        there = await store_time()
        ended = time.time()
        if 0 <= ended - began <= MAX_ANSWER_S:
            ahead = (began + ended) / 2 - there
            self.ahead = ahead if abs(ahead) > MAX_CLOCK_OFF_S else 0.0


CLOCK = WallClock()

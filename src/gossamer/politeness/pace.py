"""How soon a host may be asked again: pure functions of its answers so far.

The delay is measured from start to start: twice the moving mean of the host's response times, within 0.25 and
30 seconds, or the fixed one of the crawl. A 429 or 503 doubles it, at most to an hour; twenty good answers
take one doubling back. A Crawl-delay and 1 / Request-rate are floors that the frontier keeps.
"""

from __future__ import annotations

import random

import msgspec

LEAST, MOST, CAP = 0.25, 30.0, 3600.0
STEP_BACK = 20


class HostPace(msgspec.Struct, frozen=True):
    """What is remembered of a host. `mean` in seconds, 0 when it never answered."""

    mean: float = 0.0
    doublings: int = 0
    good: int = 0
    """Good answers since the last change."""

    def text(self) -> str:
        """The form kept by the frontier."""
        return f"{self.mean:.3f},{self.doublings},{self.good}"


def parse(text: str) -> HostPace:
    """The pace of its stored form; an empty or strange text is a fresh pace.

    >>> parse("0.200,1,3").doublings
    1
    """
    try:
        mean, doublings, good = text.split(",")
        return HostPace(float(mean), int(doublings), int(good))
    except ValueError:
        return HostPace()


def after(pace: HostPace, elapsed: float, slow_down: bool) -> HostPace:
    """The pace after an answer that took `elapsed` seconds; `slow_down`: the host said 429 or 503."""
    if slow_down:
        return HostPace(pace.mean, min(pace.doublings + 1, 24), 0)
    mean = elapsed if pace.mean == 0.0 else 0.8 * pace.mean + 0.2 * elapsed
    if pace.doublings and pace.good + 1 >= STEP_BACK:
        return HostPace(mean, pace.doublings - 1, 0)
    return HostPace(mean, pace.doublings, pace.good + 1 if pace.doublings else 0)


class Delay(msgspec.Struct, frozen=True):
    """A fixed delay in seconds, or one drawn for each start from a range."""

    low: float
    high: float

    def draw(self) -> float:
        """One delay."""
        return self.low if self.low == self.high else random.uniform(self.low, self.high)


def delay(pace: HostPace, fixed: Delay | None) -> float:
    """Seconds from this start to the next one."""
    base = fixed.draw() if fixed is not None else min(max(2 * pace.mean, LEAST), MOST)
    if pace.doublings:
        base = min(max(base, LEAST) * 2.0**pace.doublings, CAP)
    return base


def exhausted(pace: HostPace, fixed: Delay | None, asked: float) -> bool:
    """Whether the host asks for more patience than an hour: then its URL is dead rather than retried."""
    low = fixed.low if fixed is not None else min(max(2 * pace.mean, LEAST), MOST)
    return asked > CAP or (pace.doublings > 0 and max(low, LEAST) * 2.0 ** (pace.doublings - 1) >= CAP)

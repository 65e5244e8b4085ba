"""Computes how soon a host may be requested again, as pure functions of its responses so far.

The delay is the time between the starts of two requests. A crawl may set a fixed delay. Otherwise, the delay
is twice the moving average of the host's response times, but at least 0.25 and at most 30 seconds. A 429 or
503 doubles the delay, up to an hour. Twenty good responses cancel one doubling. The Crawl-delay and 1 /
Request-rate of robots.txt are minimum delays, which the frontier stores.
"""

from __future__ import annotations

import random

import msgspec

MIN_DELAY_S, MAX_DELAY_S, MAX_RETRY_AFTER_S = 0.25, 30.0, 3600.0
STEP_BACK = 20
ROUNDING_S = 0.002
"""Maximum difference in seconds between two delays that count as equal. The tolerance is needed because the
store rounds delays."""


class HostPace(msgspec.Struct, frozen=True):
    """The stored data about a host's pace. `mean`: the average response time in seconds, or 0 if the host has
    never answered."""

    mean: float = 0.0
    doublings: int = 0
    good: int = 0
    """Number of good responses since `doublings` last changed."""

    def text(self) -> str:
        """Returns the pace as text, in the form that the frontier stores."""
        return f"{self.mean:.3f},{self.doublings},{self.good}"


def parse(text: str) -> HostPace:
    """Decodes a stored pace. For an empty or unknown text, returns the pace of a new host.

    >>> parse("0.200,1,3").doublings
    1
    """
    try:
        mean, doublings, good = text.split(",")
        return HostPace(float(mean), int(doublings), int(good))
    except ValueError:
        return HostPace()


def after(pace: HostPace, elapsed: float, slow_down: bool) -> HostPace:
    """Returns the pace after a response that took `elapsed` seconds. `slow_down`: whether the status was 429
    or 503."""
    if slow_down:
        return HostPace(pace.mean, min(pace.doublings + 1, 24), 0)
    mean = elapsed if pace.mean == 0.0 else 0.8 * pace.mean + 0.2 * elapsed
    if pace.doublings and pace.good + 1 >= STEP_BACK:
        return HostPace(mean, pace.doublings - 1, 0)
    return HostPace(mean, pace.doublings, pace.good + 1 if pace.doublings else 0)


class Delay(msgspec.Struct, frozen=True):
    """A fixed delay in seconds, or a range from which each delay is drawn."""

    low: float
    high: float

    def draw(self) -> float:
        """Returns the fixed delay, or a random delay from the range."""
        return self.low if self.low == self.high else random.uniform(self.low, self.high)


def delay(pace: HostPace, fixed: Delay | None) -> float:
    """Returns the seconds from the start of this request to the start of the next one."""
    base = fixed.draw() if fixed is not None else min(max(2 * pace.mean, MIN_DELAY_S), MAX_DELAY_S)
    if pace.doublings:
        base = min(max(base, MIN_DELAY_S) * 2.0**pace.doublings, MAX_RETRY_AFTER_S)
    return base


def why_delay(delay: float, pace: str, fixed: float | None, floor: float) -> str:
    """Returns the reason why the requests to a host start `delay` seconds apart. `pace`: the stored pace.
    `fixed`: the delay that an operator has set, or None. `floor`: the delay that robots.txt requires, or 0.

    >>> why_delay(0.25, "0.100,0,0", None, 0.0), why_delay(0.1, "0.100,0,0", None, 0.0)
    ('learned from its response times', 'set by --delay or site')
    """
    held = parse(pace)
    if floor and delay <= floor + ROUNDING_S:
        return "robots.txt asks for it"
    if fixed is not None:
        return "fixed by hand"
    if held.doublings:
        return "the host asked to slow down"
    if held.mean and abs(delay - min(max(2 * held.mean, MIN_DELAY_S), MAX_DELAY_S)) <= ROUNDING_S:
        return "learned from its response times"
    return "set by --delay or site"


def is_exhausted(
    pace: HostPace, fixed: Delay | None, asked: float, longest: float = MAX_RETRY_AFTER_S
) -> bool:
    """Returns whether the host demands a delay of more than `longest` seconds (the setting `rate_limit_wait`). Then the
    requested URL becomes a dead letter and is not retried."""
    low = fixed.low if fixed is not None else min(max(2 * pace.mean, MIN_DELAY_S), MAX_DELAY_S)
    return asked > longest or (
        pace.doublings > 0 and max(low, MIN_DELAY_S) * 2.0 ** (pace.doublings - 1) >= longest
    )

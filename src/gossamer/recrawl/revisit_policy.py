"""Decides when pages are visited again, so that a limited number of visits keeps the pages as fresh as
possible.

The policy is the harmonic one (Kolobov et al., "Staying up to date with online content changes using
reinforcement learning for scheduling", NeurIPS 2019): no page starves, however often it changes. A page with
the change rate D and the importance m is due after the time t at which `t - (1 - exp(-D t)) / D` reaches
`price / m`. The price is the same for all pages. It is solved so that all pages together need as many visits
as the budget allows. Times are in days, rates in visits or changes a day.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

JITTER = 0.05
"""The share of an interval by which due times are spread."""
GONE_VISITS = 3
"""The number of visits in a row that find a page gone, after which the page is dropped."""
MAX_INTERVAL = 365.0
"""The longest interval in days without a maximum age."""
NEWTON_STEPS, BISECTIONS = 4, 26
MIN_PRICE, MAX_PRICE = 1e-12, 1e12


class Sample(NamedTuple):
    """A known page as the price needs it: its estimated change rate and its importance."""

    rate: float
    weight: float = 1.0


class Bounds(NamedTuple):
    """The shortest and the longest interval between two visits of a page, in days."""

    least: float = 0.0
    most: float = MAX_INTERVAL


def interval(rate: float, price: float, weight: float = 1.0, bounds: Bounds = Bounds()) -> float:  # noqa: B008 - immutable
    """Returns the days after which a page is due again.

    >>> round(interval(1.0, 1.0), 3)
    1.841
    """
    y = rate * price / weight
    if y < 0.5:
        x = math.sqrt(2 * y) + y / 3
    else:
        x = y + 1 - math.exp(-min(y + 1, 700.0))
    for _ in range(NEWTON_STEPS if x > 1e-4 else 0):
        off = math.exp(-x)
        x -= (x - 1 + off - y) / (1 - off)
    return min(bounds.most, max(bounds.least, x / rate))


def solve_price(sample: Sequence[Sample], pages: float, visits: float, bounds: Bounds = Bounds()) -> float:  # noqa: B008 - immutable
    """Returns the price at which `pages` pages, represented by a sample, need `visits` visits a day. Returns
    the highest price if the maximum age alone needs more, and the lowest if the pages need fewer."""
    if not sample or visits <= 0:
        return MAX_PRICE
    low, high = math.log(MIN_PRICE), math.log(MAX_PRICE)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if needed_visits(sample, pages, math.exp(middle), bounds) > visits:
            low = middle
        else:
            high = middle
    return math.exp(high)


def needed_visits(sample: Sequence[Sample], pages: float, price: float, bounds: Bounds) -> float:
    """Returns the visits a day that `pages` pages need at a price."""
    if not sample:
        return 0.0
    total = math.fsum(1 / max(1e-9, interval(one.rate, price, one.weight, bounds)) for one in sample)
    return total * pages / len(sample)


class HostLoad(NamedTuple):
    """The known pages of a host: their number, a sample of them, and the visits a day that the host's
    politeness allows."""

    pages: int
    sample: Sequence[Sample]
    allowed: float


def solve_prices(
    hosts: Mapping[str, HostLoad],
    visits: float,
    bounds: Bounds = Bounds(),  # noqa: B008 - immutable
) -> tuple[float, dict[str, float]]:
    """Returns the price of the crawl, and the own price of each host whose pages need more visits at that
    price than its politeness allows. What such a host cannot use goes to the others."""
    own: dict[str, float] = {}
    left = visits
    while True:
        free = [load for name, load in hosts.items() if name not in own]
        pages = sum(load.pages for load in free)
        price = _joint_price(free, pages, left, bounds)
        bound = [
            name
            for name, load in hosts.items()
            if name not in own and needed_visits(load.sample, load.pages, price, bounds) > load.allowed
        ]
        if not bound:
            return price, own
        for name in bound:
            load = hosts[name]
            own[name] = solve_price(load.sample, load.pages, load.allowed, bounds)
            left = max(0.0, left - load.allowed)


def _joint_price(loads: Sequence[HostLoad], pages: int, visits: float, bounds: Bounds) -> float:
    """Returns the price at which all pages of several hosts need `visits` visits a day."""
    if not pages or visits <= 0:
        return MAX_PRICE
    low, high = math.log(MIN_PRICE), math.log(MAX_PRICE)
    for _ in range(BISECTIONS):
        middle = math.exp((low + high) / 2)
        needed = math.fsum(needed_visits(load.sample, load.pages, middle, bounds) for load in loads)
        if needed > visits:
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    return math.exp(high)


def spread_interval(days: float, url: str, visits: int, most: float = math.inf) -> float:
    """Returns an interval with jitter of up to 5 %, which depends only on the URL and the number of the
    visit. Pages that were found together do not stay together. The result is at most `most`."""
    mark = hashlib.blake2b(f"{url} {visits}".encode(), digest_size=4).digest()
    return min(most, days * (1 + JITTER * (int.from_bytes(mark, "big") / 2**31 - 1)))


def gone_interval(days: float, gone: int) -> float | None:
    """Returns the interval after `gone` visits in a row that found a page gone: twice the last one each time.
    Returns None when the page is dropped.

    >>> gone_interval(1.0, 1), gone_interval(1.0, 3)
    (2.0, None)
    """
    return None if gone >= GONE_VISITS else days * 2**gone


def unkept_window(pages: int, window: float, visits: float) -> float | None:
    """Returns the visits a day that a window of `window` days needs, if the budget does not allow them.

    >>> unkept_window(1000, 0.5, 1500.0)
    2000.0
    """
    needed = pages / window
    return needed if needed > visits * (1 + 1e-9) else None


class SignalRecord(NamedTuple):
    """How well the signals of a crawl (sitemap lastmod, feeds) announced changes so far."""

    signals: float = 0.0
    """Signals received."""
    confirmed: float = 0.0
    """Signals whose visit found a change."""
    missed: float = 0.0
    """Changes that were found without a signal."""
    days: float = 0.0
    """Page-days that the visits covered."""


def signal_age(record: SignalRecord) -> float:
    """Returns the days of extra age that a signal gives a page: ln(g / v) / a, where g is the rate of
    signals, v the rate of false ones and a the rate of changes without a signal.

    Source: "Efficient and Optimal Policies for Crawling with Noisy Change-Indicating Signals"
    (arXiv 2502.02430).
    """
    false = max(0.0, record.signals - record.confirmed) + 0.5
    ratio = (record.signals + 2.0) / false
    missed = (record.missed + 0.5) / (record.days + 10.0)
    return max(0.0, math.log(ratio)) / missed


def stale_share(rate: float, days: float) -> float:
    """Returns the expected share of time for which the copy of a page is stale, if the page is visited every
    `days` days.

    >>> round(stale_share(1.0, 1.0), 3)
    0.368
    """
    x = rate * days
    return x / 2 if x < 1e-6 else 1 + math.expm1(-x) / x


def stale_days(rate: float, gap: float) -> float:
    """Returns the expected days for which a copy was stale, if a visit after `gap` days found a change: half
    the gap for a page that changes rarely, nearly all of it for one that changes often.

    >>> round(stale_days(0.001, 1.0), 3), round(stale_days(100.0, 1.0), 3)
    (0.5, 0.99)
    """
    x = rate * gap
    return gap / 2 if x < 1e-6 else gap * stale_share(rate, gap) / -math.expm1(-x)


def stale_now(rate: float, age: float) -> float:
    """Returns the probability that a page changed in the `age` days since its visit."""
    return -math.expm1(-rate * max(0.0, age))


def uniform_visits(rates: Sequence[float], pages: int, stale: float) -> float:
    """Returns the visits a day with which equal intervals would keep `pages` pages, represented by a sample
    of their rates, as fresh as the mean share `stale`."""
    if not rates or stale <= 0:
        return 0.0
    low, high = math.log(1e-6), math.log(1e6)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        mean = math.fsum(stale_share(rate, math.exp(middle)) for rate in rates) / len(rates)
        if mean > stale:
            high = middle
        else:
            low = middle
    return pages / math.exp(low)

"""Decides when pages are visited again, so that a limited number of visits keeps the pages as fresh as
possible.

The policy is the harmonic policy (Kolobov et al., "Staying up to date with online content changes using
reinforcement learning for scheduling", NeurIPS 2019). This policy visits every page from time to time, even a
page that changes very often.

If a page has the change rate D, its copy is expected to be stale for `t - (1 - exp(-D t)) / D` of the first t
days. A page with the importance m is due when the expected stale time reaches `price / m`. Therefore, the
*price of a visit* is a number of days. A page with the importance 1 is due when its expected stale time
reaches the price.

The price of a visit is the same for all pages, except for the pages of some hosts. The price is chosen so
that all pages together need as many visits as the budget allows. A host has a separate, higher price only if,
at the common price, its pages need more visits than politeness allows. Times are in days. Rates are in visits
or changes per day.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

JITTER = 0.05
"""The maximum jitter of an interval, as a share of the interval."""
GONE_VISITS = 3
"""A page that is gone is dropped after this many failed visits in a row."""
MAX_INTERVAL = 365.0
"""The longest interval in days if no maximum age is set."""
NEWTON_STEPS, BISECTIONS = 4, 26
MIN_PRICE, MAX_PRICE = 1e-12, 1e12


class Sample(NamedTuple):
    """The properties of a known page that influence the price of a visit: its estimated change rate and its
    importance."""

    rate: float
    weight: float = 1.0


class Bounds(NamedTuple):
    """The shortest and the longest interval between two visits of a page, in days."""

    least: float = 0.0
    most: float = MAX_INTERVAL


def interval(rate: float, price: float, weight: float = 1.0, bounds: Bounds = Bounds()) -> float:  # noqa: B008 - immutable
    """Returns the number of days after which a page is due again. `price`: the price of a visit, in days of
    expected stale time. `weight`: the importance of the page.

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
    """Returns the price of a visit at which `pages` pages need `visits` visits per day. `sample`: pages that
    represent all pages. If, because of their maximum age, the pages need more than `visits` visits even at
    the highest price, returns the highest price (MAX_PRICE). If the pages need fewer than `visits` visits
    even at the lowest price, returns the lowest price (about MIN_PRICE)."""
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
    """Returns the number of visits per day that `pages` pages need if each visit has the price `price`.
    `sample`: pages that represent all pages."""
    if not sample:
        return 0.0
    total = math.fsum(1 / max(1e-9, interval(one.rate, price, one.weight, bounds)) for one in sample)
    return total * pages / len(sample)


class HostLoad(NamedTuple):
    """Describes how many visits the known pages of a host need. `pages`: the number of known pages. `sample`:
    a sample of these pages. `allowed`: the number of visits per day that the host's politeness allows."""

    pages: int
    sample: Sequence[Sample]
    allowed: float


def solve_prices(
    hosts: Mapping[str, HostLoad],
    visits: float,
    bounds: Bounds = Bounds(),  # noqa: B008 - immutable
) -> tuple[float, dict[str, float]]:
    """Returns the price of a visit for all pages, and a dict with the separate prices of some hosts. A host
    has a separate price if, at the common price, its pages would need more visits than politeness allows. The
    other hosts share the rest of the budget. `visits`: the budget of the crawl, in visits per day."""
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
    """Returns the price of a visit at which several hosts together need `visits` visits per day."""
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
    """Adds jitter of up to 5 % to an interval in days, so that pages that were found together are not always
    visited together. The jitter depends only on the URL and the number of the visit. The result is at most
    `most`."""
    mark = hashlib.blake2b(f"{url} {visits}".encode(), digest_size=4).digest()
    return min(most, days * (1 + JITTER * (int.from_bytes(mark, "big") / 2**31 - 1)))


def gone_interval(days: float, gone: int) -> float | None:
    """Returns the days until the next visit of a page that the last `gone` visits did not find. `days`: the
    interval that the page would have if the visits had found it. Each of these visits doubles the interval.
    Returns None if the page must be dropped.

    >>> gone_interval(1.0, 1), gone_interval(1.0, 3)
    (2.0, None)
    """
    return None if gone >= GONE_VISITS else days * 2**gone


def unkept_window(pages: int, window: float, visits: float) -> float | None:
    """Returns the number of visits per day that are needed to visit each page once within `window` days.
    Returns None if the budget `visits` allows this number of visits.

    >>> unkept_window(1000, 0.5, 1500.0)
    2000.0
    """
    needed = pages / window
    return needed if needed > visits * (1 + 1e-9) else None


class SignalRecord(NamedTuple):
    """Numbers that show how often the signals of a crawl announced real changes. A newer lastmod in a sitemap
    and a feed entry are examples of signals."""

    signals: float = 0.0
    """The number of signals received."""
    confirmed: float = 0.0
    """The number of signals after which a visit found a change."""
    missed: float = 0.0
    """The number of changes that visits found without a signal."""
    days: float = 0.0
    """The number of days since the previous visit of the same page, summed over all visits."""


def signal_age(record: SignalRecord) -> float:
    """Returns the number of days that each change signal adds to a page's age. This number is ln(g / v) / a.
    Here, g is the rate of signals, v is the rate of false signals, and a is the rate of changes without a
    signal.

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


def stale_now(rate: float, age: float) -> float:
    """Returns the probability that a page changed in the `age` days since its last visit."""
    return -math.expm1(-rate * max(0.0, age))


def uniform_visits(rates: Sequence[float], pages: int, stale: float) -> float:
    """Returns the number of visits per day that `pages` pages would need if all pages had the same interval.
    The interval is the longest interval at which the mean share of stale time does not exceed `stale`.
    `rates`: the change rates of a sample of the pages."""
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

"""Estimates how often a page changes, from visits at irregular times. Stores two numbers per page instead of
a list of visits.

A page's changes are modelled as a Poisson process. A visit only shows whether the page changed at least once
since the last visit. The estimate is the posterior mean under a gamma prior, which is fitted to the pages of
the same host or crawl. Times are in days. Rates are in changes per day.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FORGETTING = 2 ** (-1 / 30)
"""The factor by which each visit multiplies the weight of all earlier visits. The weight of a visit falls to
one half after 30 further visits."""
MIN_STRENGTH, MAX_STRENGTH = 0.5, 8.0
"""The bounds of the strength of a prior. If the prior is weak, the estimated rate of a page depends mostly on
the visits of the page. If the pages of a crawl change at similar rates, the prior is strong."""
MIN_RATE, MAX_RATE = 1e-5, 1e4
"""The bounds of an estimated rate, in changes per day."""
ESTIMATE_STEPS = 4
HOST_WEIGHT = 4.0
"""The mean change rate of a host is computed as if this many additional changes had been observed at the
crawl's mean change rate."""


class ChangeHistory(NamedTuple):
    """The change history of a page. `changes`: the expected number of changes of the page. `days`: the number
    of days over which the page was observed. Older visits have less weight."""

    changes: float = 0.0
    days: float = 0.0

    def observe(self, gap: float, changed: bool, prior: Prior) -> ChangeHistory:
        """Returns the history after one more visit. This visit was made `gap` days after the previous visit.
        A visit shows only that the page changed, not how many times. The expected number of changes and the
        estimated rate depend on each other. A few iterations compute both numbers."""
        found = ChangeHistory(self.changes * FORGETTING, self.days * FORGETTING + max(0.0, gap))
        if not changed:
            return found
        before = found.changes
        found = found._replace(changes=before + 1.0)
        for _ in range(ESTIMATE_STEPS):
            x = prior.rate(found) * gap
            found = found._replace(changes=before + (x / -math.expm1(-x) if x > 1e-9 else 1.0))
        return found


class Prior(NamedTuple):
    """A gamma distribution of change rates. `mean`: the mean rate, in changes per day. `strength`: the weight
    of the prior, as a number of changes."""

    mean: float = 0.05
    strength: float = 1.0

    def rate(self, history: ChangeHistory) -> float:
        """Returns the estimated change rate of a page.

        >>> Prior(0.1, 1.0).rate(ChangeHistory())
        0.1
        """
        found = (history.changes + self.strength) / (history.days + self.strength / self.mean)
        return min(MAX_RATE, max(MIN_RATE, found))

    def stale_days(self, history: ChangeHistory, gap: float) -> float:
        """Returns the expected number of days for which a copy was stale before a visit found a change. The
        visit was made `gap` days after the previous visit. `history`: the page's change history before this
        visit. The result is a mean over all change rates that the page may have. If only the estimated rate
        were used, the result would be too small, because a page that changed probably changes more often than
        estimated.

        >>> Prior(0.001, 1.0).stale_days(ChangeHistory(), 1.0) < 0.51
        True
        >>> Prior(100.0, 1.0).stale_days(ChangeHistory(), 1.0) > 0.9
        True
        """
        changes, days = history.changes + self.strength, history.days + self.strength / self.mean
        if gap < 1e-6 * days:
            return gap / 2
        grown = math.log1p(gap / days)
        off = changes - 1
        fresh = days * (grown if abs(off) < 1e-9 else -math.expm1(-off * grown) / off)
        return min(gap, max(0.0, gap - fresh) / -math.expm1(-changes * grown))


def fit_prior(histories: Iterable[ChangeHistory], before: Prior | None = None) -> Prior:
    """Returns the prior that fits the pages of a crawl, by the method of moments. `before`: an earlier prior,
    which is returned if no page was visited twice."""
    seen = [one for one in histories if one.days > 0]
    changes, days = math.fsum(one.changes for one in seen), math.fsum(one.days for one in seen)
    if not seen or days <= 0:
        return before or Prior()
    first = before or Prior()
    mean = min(MAX_RATE, max(MIN_RATE, (changes + 0.5) / (days + 0.5 / first.mean)))
    if len(seen) < 3:
        return Prior(mean, first.strength)
    return Prior(mean, _strength(seen, mean))


def _strength(seen: Sequence[ChangeHistory], mean: float) -> float:
    """Returns the strength of the prior, which is mean^2 / (variance of the rates - variance of the
    observations). In the variance of the rates, each page is weighted by the number of days over which the
    page was observed."""
    days = math.fsum(one.days for one in seen)
    spread = math.fsum(one.days * (one.changes / one.days - mean) ** 2 for one in seen) / days
    noise = mean * len(seen) / days
    if spread - noise <= mean * mean / MAX_STRENGTH:
        return MAX_STRENGTH
    return min(MAX_STRENGTH, max(MIN_STRENGTH, mean * mean / (spread - noise)))


def host_prior(crawl: Prior, changes: float, days: float) -> Prior:
    """Returns the prior of a host. `changes` and `days` are the sums of its pages' change histories. If a
    host has little data, its mean is close to the mean of the crawl."""
    mean = (changes + HOST_WEIGHT) / (days + HOST_WEIGHT / crawl.mean)
    return Prior(min(MAX_RATE, max(MIN_RATE, mean)), crawl.strength)

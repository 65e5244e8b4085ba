"""Response times are counted in fixed intervals. This module contains the bounds of the intervals, and
estimates quantiles from the counts."""

from __future__ import annotations

from collections.abc import Sequence

BOUNDS_S = (0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 90, 180)
"""The upper bounds of the intervals into which response times are counted, in seconds. Response times above
the last bound are counted in one further interval."""


def quantile(share: float, counts: Sequence[int]) -> float | None:
    """Returns the time in seconds within which this share of the requests ended, or None if there were no
    requests. Assumes that times are evenly spread within an interval, as Prometheus' `histogram_quantile`
    does.

    >>> quantile(0.5, [0, 0, 10])
    0.075
    """
    rank, below, bound = share * sum(counts), 0, 0.0
    if not rank:
        return None
    for upper, n in zip(BOUNDS_S, counts, strict=False):
        if n and below + n >= rank:
            return round(bound + (upper - bound) * (rank - below) / n, 4)
        below, bound = below + n, upper
    return float(BOUNDS_S[-1])

"""Response times are counted in fixed intervals. This module contains the bounds of the intervals, and
estimates quantiles from the counts."""

from __future__ import annotations

from collections.abc import Sequence

BOUNDS_S = (0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 90, 180)
"""The upper bounds of the intervals into which response times are counted, in seconds. Response times above
the last bound are counted in one further interval."""


def quantile(share: float, counts: Sequence[int], mean: float | None = None) -> float | None:
    """Returns the time in seconds within which this share of the requests ended, or None if there were no
    requests. Assumes that times are evenly spread within an interval, as Prometheus' `histogram_quantile`
    does. `mean`: the exact average in seconds, if it is known. It bounds the result, because times above
    `mean / (1 - share)` cannot have a larger share than `1 - share` (Markov's inequality). Without this bound,
    the median of many requests of 2 ms would be the middle of the first interval, 12.5 ms.

    >>> quantile(0.5, [0, 0, 10])
    0.075
    >>> quantile(0.5, [10], mean=0.002)
    0.004
    """
    if mean is not None and (found := quantile(share, counts)) is not None:
        return min(found, round(mean / (1 - share), 4))
    rank, below, bound = share * sum(counts), 0, 0.0
    if not rank:
        return None
    for upper, n in zip(BOUNDS_S, counts, strict=False):
        if n and below + n >= rank:
            return round(bound + (upper - bound) * (rank - below) / n, 4)
        below, bound = below + n, upper
    return float(BOUNDS_S[-1])

"""The rules of a crawl that visits its pages again (`--revisit`). The rules are parsed from settings and site
files.

Times are in seconds, as in the settings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.config import value_parsers
from gossamer.url import patterns

DAY_S = 86_400.0
MAX_INLINKS_WEIGHT = 10.0
"""The maximum factor by which inlinks increase a page's importance. The factor reaches its maximum at about
8,000 inlinks."""
DEFAULT_BUDGET = "10%"
DEFAULT_MIN_AGE_S = 3600.0
DEFAULT_MAX_AGE_S = 365 * DAY_S


class RevisitRules(NamedTuple):
    """The rules that determine when the pages of a crawl are visited again."""

    window: float | None
    """The time after which every page is visited again. If `window` is None, the crawl learns a separate
    interval for each page."""
    budget: tuple[float, str]
    """The budget for repeated visits. The unit "%" means a share of the pages that the crawl may fetch, for
    example (0.1, "%"). The unit "/d" means visits per day, for example (5000.0, "/d")."""
    max_age: float = DEFAULT_MAX_AGE_S
    min_age: float = DEFAULT_MIN_AGE_S
    """The minimum age at which a page is visited again, in seconds. No page is visited before its minimum
    age, even if budget is left."""
    weights: tuple[tuple[patterns.Searcher, float], ...] = ()
    """Pairs of a URL pattern and the importance of the pages that match the pattern. If a URL matches several
    patterns, the first pattern applies. A page that matches no pattern has the importance 1."""
    inlinks: bool = False
    """Whether the importance also grows with the number of pages that link to a page."""

    def weight(self, url: str, inlinks: int = 0) -> float:
        """Returns the importance of a page to which `inlinks` pages link.

        >>> [round(RevisitRules(None, (0.1, "%"), inlinks=True).weight("", n), 1) for n in (0, 1, 20, 10**9)]
        [1.0, 1.7, 4.0, 10.0]
        """
        more = min(MAX_INLINKS_WEIGHT, 1 + math.log1p(inlinks)) if self.inlinks else 1.0
        for pattern, weight in self.weights:
            if patterns.found(pattern, url, False):
                return weight * more
        return more

    def visits_per_day(self, capacity: float) -> float:
        """Returns the budget in visits per day. `capacity`: the number of pages per day that the crawl may
        fetch."""
        number, unit = self.budget
        return number * capacity if unit == "%" else number


def rules_of(
    revisit: str | None,
    budget: str | None,
    max_age: float | None,
    min_age: float | None,
    importance: Sequence[str],
) -> RevisitRules | None:
    """Returns the rules for these settings, or None if pages are not visited again. Raises ValueError if the
    settings contradict one another."""
    if revisit is None:
        if given := next((name for name, value in (("budget", budget), ("max_age", max_age)) if value), None):
            raise ValueError(f"{given} needs revisit: auto, or a time such as 24h")
        return None
    window = None if revisit == value_parsers.AUTO else value_parsers.span(revisit)
    most = window if window is not None else max_age or DEFAULT_MAX_AGE_S
    if window is not None and max_age is not None and max_age < window:
        raise ValueError("max_age is shorter than the window of revisit: leave one of them out")
    least = min(DEFAULT_MIN_AGE_S, most / 4) if min_age is None else min_age
    if least > most:
        raise ValueError("min_age is longer than max_age")
    weights = [value_parsers.weight(text) for text in importance if text != value_parsers.INLINKS]
    compiled = tuple((patterns.compile_(pattern), number) for pattern, number in weights)
    spent, inlinks = value_parsers.budget_value(budget or DEFAULT_BUDGET), value_parsers.INLINKS in importance
    return RevisitRules(window, spent, most, least, compiled, inlinks)

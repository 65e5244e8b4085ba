"""Estimates the requests, hours and credits of a run before the run starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from gossamer.uses.ranks.model import Search
from gossamer.uses.ranks.pages_to_fetch import Depth, mean_requests
from gossamer.uses.ranks.result_page_sources import ResultPageSource


class EnginePlan(msgspec.Struct, frozen=True):
    """The estimated number of requests to one engine."""

    engine: str
    searches: int
    expected: float
    """The expected number of requests, which is the mean number for the chosen strategy."""
    most: int
    """The maximum number of requests. The strategy `smart` needs fewer requests if it finds the domains
    early."""


class RankPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated cost of a run. Credits are the units in which the provider charges for requests. A page
    costs 1 credit unless the provider's option `cost=` sets another number."""

    way: str
    strategy: str
    depth: int
    searches: int
    refused: int
    engines: list[EnginePlan]
    hours: float
    """The expected duration of the run in hours."""
    credits: float
    most_credits: int
    left: int | None
    """The number of credits that are left of today's budget, or None if the user set no budget."""
    price: float | None = None
    """The expected cost in money, or None if the user gave no price per 1,000 credits."""

    @property
    def fits(self) -> bool:
        """Whether the remaining credits of today's budget cover the expected cost."""
        return self.left is None or self.credits <= self.left


def make_plan(
    searches: Mapping[str, Search],
    last: Mapping[str, int],
    depth: Depth,
    source: ResultPageSource,
    *,
    price: float | None = None,
    exits: int = 1,
) -> RankPlan:
    """Estimates the cost of a run. `last`: maps each search id to the number of the result page on which the
    last check found the user's domain. `price`: the price of 1,000 credits. `exits`: the number of exits that
    search an engine at the same time."""
    depth = depth._replace(cumulative=source.cumulative)
    able = {name: one for name, one in searches.items() if not source.refuses(one)}
    expected: Counter[str] = Counter()
    most: Counter[str] = Counter()
    counts: Counter[str] = Counter(one.engine for one in able.values())
    paid = worst = 0.0
    for name, one in able.items():
        pages = mean_requests(depth, last.get(name))
        expected[one.engine] += 1 if source.cumulative else pages  # type: ignore[assignment]
        most[one.engine] += 2 if source.cumulative else depth.pages
        paid += source.cost(1, 1) * pages
        worst += (
            source.cost(1, 1) * depth.pages * (2 if source.cumulative and depth.strategy == "smart" else 1)
        )
    engines = [
        EnginePlan(engine, counts[engine], round(expected[engine], 1), most[engine])
        for engine in sorted(counts)
    ]
    paying = source.account is not None
    return RankPlan(
        way=source.name,
        strategy=depth.strategy,
        depth=min(depth.results, depth.pages * 10),
        searches=len(searches),
        refused=len(searches) - len(able),
        engines=engines,
        hours=_hours([one.expected for one in engines], source, exits),
        credits=round(paid, 1) if paying else 0.0,
        most_credits=round(worst) if paying else 0,
        left=source.account.left if source.account else None,
        price=None if price is None or not paying else paid * price / 1000,
    )


def _hours(requests: Sequence[float], source: ResultPageSource, exits: int) -> float:
    """Returns the expected duration in hours. A provider processes `at_once` requests at the same time.
    Direct searches have a separate delay for each engine at each exit."""
    if source.account is not None:
        return sum(requests) * source.seconds / source.account.at_once / 3600
    return max(requests, default=0.0) * source.seconds / exits / 3600

"""Computes the cost of a run before it starts: requests, hours and credits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from gossamer.uses.ranks.model import Search
from gossamer.uses.ranks.result_page_sources import ResultPageSource
from gossamer.uses.ranks.strategy import Depth, mean_requests


class EnginePlan(msgspec.Struct, frozen=True):
    """The part of the plan that belongs to one engine."""

    engine: str
    searches: int
    expected: float
    """The expected number of requests, which most runs need approximately."""
    most: int
    """The number of requests if every domain has left its page."""


class RankPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of a run. Credits are credits of the provider. A page costs 1 credit unless `cost=` sets another
    number."""

    way: str
    strategy: str
    depth: int
    searches: int
    refused: int
    engines: list[EnginePlan]
    hours: float
    """The expected time, in hours."""
    credits: float
    most_credits: int
    left: int | None
    """The credits that are left today, or None if there is no budget."""
    price: float | None = None
    """The expected cost in money, if the price of 1,000 credits is given."""

    @property
    def fits(self) -> bool:
        """Whether the credits that are left today suffice for the expected cost."""
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
    """Returns the plan of a run. `last`: the page of the last position, by search. `price`: the price of
    1,000 credits. `exits`: the number of own searches of an engine at once."""
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
    """Returns the expected time in hours. Each engine has its own pace for own searches, at each exit. A provider
    answers `at_once` requests at the same time."""
    if source.account is not None:
        return sum(requests) * source.seconds / source.account.at_once / 3600
    return max(requests, default=0.0) * source.seconds / exits / 3600

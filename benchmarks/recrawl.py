"""Simulates adaptive recrawls on histories of real page changes, without a network.

    python benchmarks/recrawl.py --histories change-histories.jsonl.gz [--set terms] [--days DAYS]

The result is the mean share of time for which the copy of a page is stale. The histories are JSON lines,
optionally gzipped. Each history has the fields `set`, `host` and `changes`. The changes are ascending days
since 1970, and the first one is the creation of the page. All policies make the same number of visits: one
every 1/R days, to the page that is due first. The first quarter of the time is for learning and is not
scored. The peers are equal intervals (the floor), the adaptive schedule of Nutch, and an oracle. Nutch
multiplies the interval by 0.8 after a change, and by 1.2 otherwise. The oracle uses the same policy with the
true mean rates. If the file is missing, the command ends with exit code 0.
"""

from __future__ import annotations

import argparse
import bisect
import gzip
import heapq
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gossamer.recrawl.change_rate import ChangeHistory, Prior, fit_prior, host_prior
from gossamer.recrawl.revisit_policy import Bounds, Sample, interval, solve_price

SAMPLE = 200
DAYS = 1308.0
"""The number of simulated days, which end with the last change of the set."""


class PageHistory(NamedTuple):
    """The change history of a page. Times are in days."""

    host: str
    changes: list[float]


class Scores(NamedTuple):
    """The result of a run: mean share of stale time, used share of the budget, and maximum age."""

    stale: float
    used: float
    oldest: float


class World(NamedTuple):
    """The pages, the time range and the budget of a simulation."""

    pages: list[PageHistory]
    begin: float
    end: float
    period: float
    """The number of days in which the budget allows one visit to each page."""


class Policy:
    """Decides the next due time of a page. The base class uses equal intervals."""

    def __init__(self, world: World) -> None:
        self.world = world

    def daily(self, known: list[int]) -> None:
        """Updates the policy, once per simulated day with the known pages."""

    def due(self, page: int, now: float, gap: float, changed: bool) -> float:
        """Returns the time of the next visit. `gap` is the number of days since the last visit, or 0 at the
        first visit."""
        return now + self.world.period


class Nutch(Policy):
    """Follows AdaptiveFetchSchedule of Nutch: the interval x 0.8 after a change, and x 1.2 otherwise."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.intervals = [world.period] * len(world.pages)

    def due(self, page: int, now: float, gap: float, changed: bool) -> float:
        if gap:
            self.intervals[page] *= 0.8 if changed else 1.2
            self.intervals[page] = min(365.0, max(1 / 24, self.intervals[page]))
        return now + self.intervals[page]


class Adaptive(Policy):
    """Uses gossamer's own policy."""

    def __init__(self, world: World, bounds: Bounds = Bounds()) -> None:  # noqa: B008 - immutable
        super().__init__(world)
        self.histories = [ChangeHistory()] * len(world.pages)
        self.prior, self.hosts = Prior(), dict[str, Prior]()
        self.price, self.bounds = 1.0, bounds
        self.random = random.Random(1)

    def prior_of(self, page: int) -> Prior:
        """Returns the prior of a page's host."""
        return self.hosts.get(self.world.pages[page].host, self.prior)

    def rate(self, page: int) -> float:
        """Returns the estimated change rate of a page."""
        return self.prior_of(page).rate(self.histories[page])

    def daily(self, known: list[int]) -> None:
        self.fit(known)
        sample = self.random.sample(known, min(SAMPLE, len(known)))
        self.price = solve_price(
            [Sample(self.rate(page)) for page in sample],
            len(known),
            len(known) / self.world.period,
            self.bounds,
        )

    def fit(self, known: list[int]) -> None:
        """Fits the priors."""
        self.prior = fit_prior((self.histories[page] for page in known), self.prior)
        sums: dict[str, tuple[float, float]] = {}
        for page in known:
            a, b = sums.get(self.world.pages[page].host, (0.0, 0.0))
            sums[self.world.pages[page].host] = (
                a + self.histories[page].changes,
                b + self.histories[page].days,
            )
        self.hosts = {host: host_prior(self.prior, a, b) for host, (a, b) in sums.items()}

    def due(self, page: int, now: float, gap: float, changed: bool) -> float:
        if gap:
            self.histories[page] = self.histories[page].observe(gap, changed, self.prior_of(page))
        return now + interval(self.rate(page), self.price, 1.0, self.bounds)


class Oracle(Adaptive):
    """Uses gossamer's own policy with the true mean rates."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.true = [
            max(
                0.5,
                bisect.bisect_right(one.changes, world.end)
                - bisect.bisect_right(one.changes, world.begin)
                - (one.changes[0] > world.begin),
            )
            / (world.end - max(world.begin, one.changes[0]) + 1e-9)
            for one in world.pages
        ]

    def fit(self, known: list[int]) -> None:
        """Does nothing, because the rates are known."""

    def rate(self, page: int) -> float:
        return max(1e-5, self.true[page])


def simulate(world: World, policy: Policy) -> Scores:
    """Runs a policy. Each visit goes to the page that is due first, at the pace of the budget."""
    pages, now, scored = world.pages, world.begin, world.begin + (world.end - world.begin) / 4
    new = sorted(range(len(pages)), key=lambda j: pages[j].changes[0], reverse=True)
    last: list[float] = [0.0] * len(pages)
    stale = [0.0] * len(pages)
    known: list[int] = []
    heap: list[tuple[float, int]] = []
    day, used, ticks, oldest = world.begin, 0, 0, 0.0
    while now < world.end:
        while new and pages[new[-1]].changes[0] <= now:
            known.append(page := new.pop())
            last[page] = now
            heapq.heappush(heap, (policy.due(page, now, 0.0, False), page))
        if now >= day:
            policy.daily(known)
            day += 1.0
        if not known:
            now += 0.1
            continue
        ticks += 1
        used += 1
        _, page = heapq.heappop(heap)
        changed = _visit(pages[page].changes, last[page], now, scored, stale, page)
        if last[page] >= scored:
            oldest = max(oldest, now - last[page])
        gap, last[page] = now - last[page], now
        heapq.heappush(heap, (policy.due(page, now, gap, changed), page))
        now += world.period / len(known)
    for page in known:
        _visit(pages[page].changes, last[page], world.end, scored, stale, page)
    shares = [
        stale[page] / (world.end - max(scored, pages[page].changes[0]))
        for page in known
        if world.end - max(scored, pages[page].changes[0]) > 30
    ]
    return Scores(sum(shares) / len(shares), used / ticks, oldest)


def _visit(
    changes: list[float], last: float, now: float, scored: float, stale: list[float], page: int
) -> bool:
    """Adds the stale time of a page since its last visit. Returns whether the page has changed since then."""
    at = bisect.bisect_right(changes, last)
    if at == len(changes) or changes[at] > now:
        return False
    stale[page] += max(0.0, now - max(changes[at], scored))
    return True


def read(path: Path) -> dict[str, list[PageHistory]]:
    """Returns the page histories of each set."""
    opened = gzip.open if path.suffix == ".gz" else open
    sets: dict[str, list[PageHistory]] = {}
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            sets.setdefault(row["set"], []).append(PageHistory(row["host"], row["changes"]))
    return sets


def world_of(pages: list[PageHistory], period: float, days: float = DAYS) -> World:
    """Returns the simulation of the last days of a set."""
    end = max(one.changes[-1] for one in pages)
    return World(pages, end - days, end, period)


POLICIES: dict[str, Callable[[World], Policy]] = {
    "uniform": Policy,
    "nutch": Nutch,
    "oracle": Oracle,
    "adaptive": Adaptive,
}


def main() -> None:
    """Prints a table of all sets and budgets."""
    options = argparse.ArgumentParser(description="Freshness of adaptive recrawls on real change histories.")
    options.add_argument("--histories", type=Path, required=True)
    options.add_argument("--set", action="append")
    options.add_argument("--days", type=float, default=DAYS)
    given = options.parse_args()
    if not given.histories.exists():
        print(f"{given.histories} is absent: nothing to measure")
        sys.exit(0)
    print("set    period  uniform  nutch  oracle  adaptive  /uniform  /nutch  /oracle  budget  seconds")
    for name, pages in read(given.histories).items():
        for period in (7.0, 30.0) if given.set is None or name in given.set else ():
            world = world_of(pages, period, given.days)
            began = time.perf_counter()
            found = {label: simulate(world, make(world)) for label, make in POLICIES.items()}
            took = time.perf_counter() - began
            ours = found["adaptive"]
            print(
                f"{name:6} {period:6.0f}  {found['uniform'].stale:7.2%} {found['nutch'].stale:6.2%} "
                f"{found['oracle'].stale:7.2%} {ours.stale:9.2%} {ours.stale / found['uniform'].stale:9.3f} "
                f"{ours.stale / found['nutch'].stale:7.3f} {ours.stale / found['oracle'].stale:8.3f} "
                f"{ours.used:7.1%} {took:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Which page of the results is fetched next. The three strategies have the names that SerpBear gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.uses.ranks.model import PAGE_RESULTS

STRATEGIES = ("basic", "custom", "smart")
"""`basic`: page 1 alone. `custom`: all pages up to the depth. `smart`: the page of the last position, then its
neighbours, then (unless told otherwise) the other pages up to the depth; pages after the one that has the domain
are not fetched."""
DEPTH = 20
MAX_DEPTH = 200
"""The most results, a multiple of 10."""
GOOD, FAILED, END = "good", "failed", "end"
"""The state of a fetched page. END: it has no results, so there are no later pages."""


class Depth(NamedTuple):
    """How deep a check looks."""

    strategy: str = "smart"
    results: int = DEPTH
    """The first N organic results."""
    fallback: bool = True
    """`smart`: whether the other pages follow if the domain is neither on its last page nor beside it."""
    cumulative: bool = False
    """Whether one request returns all results up to a page, and cannot begin later."""

    @property
    def pages(self) -> int:
        """The pages of the first N results. `basic` has one."""
        return 1 if self.strategy == "basic" else -(-self.results // PAGE_RESULTS)


def next_pages(depth: Depth, last: int | None, fetched: Mapping[int, str], found: bool) -> list[int]:
    """Returns the pages to fetch next, [] if the check is over.

    `last`: the page of the last known position, None if there is none. `fetched`: the state of each page that was
    fetched in this check. `found`: whether all followed domains of the user are on these pages.

    >>> next_pages(Depth(results=100), 4, {}, False), next_pages(Depth(results=100), 4, {4: "good"}, False)
    ([4], [3, 5])
    """
    if FAILED in fetched.values():
        return []  # a later run tries again; more pages would be paid for, and decide nothing
    end = min((page for page, state in fetched.items() if state == END), default=depth.pages + 1)
    wanted = [page for page in range(1, depth.pages + 1) if page not in fetched and page < end]
    if not wanted or (found and depth.strategy != "custom"):
        return []
    if depth.cumulative:
        return _cumulative(depth, last, fetched)
    if depth.strategy != "smart":
        return wanted
    if last is None or last > depth.pages:
        return wanted[:1]
    if not fetched:
        return [last]
    beside = [page for page in wanted if abs(page - last) == 1]
    if beside:
        return beside
    return wanted[:1] if depth.fallback else []


def _cumulative(depth: Depth, last: int | None, fetched: Mapping[int, str]) -> list[int]:
    """Each request has all pages up to one: first up to the page after the last position, then all."""
    if depth.strategy != "smart":
        return [] if fetched else [depth.pages]
    if not fetched:
        known = last is not None and last <= depth.pages
        return [min((last or 0) + 1, depth.pages)] if known else [min(depth.pages, 2)]
    if max(fetched) < depth.pages and (depth.fallback or last is None):
        return [depth.pages]
    return []


def mean_requests(depth: Depth, last: int | None) -> float:
    """Returns the pages that a check is expected to need (in cumulative requests: pages that are paid for).

    Assumes that 8 of 10 positions stay on their page, that half of the others move to a page beside it, and that
    a keyword without a position has none again.
    """
    if depth.strategy != "smart":
        return float(depth.pages)
    if last is None or last > depth.pages:
        return float(depth.pages)
    if depth.cumulative:
        first = min(last + 1, depth.pages)
        return first + (0.1 * depth.pages if first < depth.pages and depth.fallback else 0.0)
    beside = sum(1 for page in (last - 1, last + 1) if 1 <= page <= depth.pages)
    rest = max(0, depth.pages - 1 - beside) if depth.fallback else 0
    return 1 + 0.2 * beside + 0.1 * rest

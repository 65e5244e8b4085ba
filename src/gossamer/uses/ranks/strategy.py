"""Decides which page of the results is fetched next. The three strategies have the names that SerpBear gives
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.uses.ranks.model import PAGE_RESULTS

STRATEGIES = ("basic", "custom", "smart")
"""`basic` fetches only page 1. `custom` fetches all pages up to the depth. `smart` fetches the page of the
last position, then its neighbours, and then the other pages up to the depth (unless `fallback` is off). It
stops as soon as the domain is found."""
DEPTH = 20
MAX_DEPTH = 200
"""Maximum number of results of a check. A multiple of 10."""
GOOD, FAILED, END = "good", "failed", "end"
"""The states of a fetched page. END: the page has no results, so there are no later pages."""


class Depth(NamedTuple):
    """The depth and the strategy of a check."""

    strategy: str = "smart"
    results: int = DEPTH
    """The number of first organic results that are checked."""
    fallback: bool = True
    """For `smart`: whether the other pages are fetched if the domain is neither on its last page nor on the
    pages beside it."""
    cumulative: bool = False
    """Whether a request always returns all results from the first one up to a page."""

    @property
    def pages(self) -> int:
        """The number of pages that contain the first `results` results. 1 for `basic`."""
        return 1 if self.strategy == "basic" else -(-self.results // PAGE_RESULTS)


def next_pages(depth: Depth, last: int | None, fetched: Mapping[int, str], found: bool) -> list[int]:
    """Returns the pages to fetch next, or [] if the check is complete. `last`: the page of the last known
    position, or None if there is none. `fetched`: the state of each page that was fetched in this check.
    `found`: whether all followed domains of the user are on these pages.

    >>> next_pages(Depth(results=100), 4, {}, False), next_pages(Depth(results=100), 4, {4: "good"}, False)
    ([4], [3, 5])
    """
    if FAILED in fetched.values():
        return []  # A later run tries again. More pages would cost money without completing the check.
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
    """Returns the next page for cumulative requests, each of which returns all pages up to that page. The
    first request goes to the page after the last position, and the second to the last page."""
    if depth.strategy != "smart":
        return [] if fetched else [depth.pages]
    if not fetched:
        known = last is not None and last <= depth.pages
        return [min((last or 0) + 1, depth.pages)] if known else [min(depth.pages, 2)]
    if max(fetched) < depth.pages and (depth.fallback or last is None):
        return [depth.pages]
    return []


def mean_requests(depth: Depth, last: int | None) -> float:
    """Returns the expected number of pages that a check needs. For cumulative requests, this is the number of
    pages that are paid for.

    Assumes that 8 of 10 positions stay on their page, that half of the others move to a page beside it, and
    that a keyword without a position does not get one.
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

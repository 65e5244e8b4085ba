"""Decides which result pages of a search are fetched next. The names of the three strategies are the same as
in SerpBear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.uses.ranks.model import PAGE_RESULTS

STRATEGIES = ("basic", "custom", "smart")
"""The strategies for fetching result pages. The strategy `basic` fetches only page 1. The strategy `custom`
fetches all pages up to the depth. The strategy `smart` first fetches the page of the last known position,
then the neighbouring pages, and then, unless `fallback` is off, the other pages up to the depth. The strategy
`smart` stops fetching pages as soon as all followed domains of the user are found."""
DEPTH = 20
MAX_DEPTH = 200
"""The maximum number of results of a check. The maximum is a multiple of 10."""
GOOD, FAILED, END = "good", "failed", "end"
"""The states of a fetched page. The state END means that the page has no results, and that later pages do not
exist."""


class Depth(NamedTuple):
    """The strategy of a check, and the number of results to check."""

    strategy: str = "smart"
    results: int = DEPTH
    """The number of organic results that a check covers, starting with position 1."""
    fallback: bool = True
    """Whether the strategy `smart` also fetches the remaining pages if the domain is neither on the page of
    its last known position nor on a neighbouring page."""
    cumulative: bool = False
    """Whether the source answers each request with all results from page 1 up to the requested page."""

    @property
    def pages(self) -> int:
        """The number of result pages that contain the first `results` results. The strategy `basic` always
        has 1 page."""
        return 1 if self.strategy == "basic" else -(-self.results // PAGE_RESULTS)


def next_pages(depth: Depth, last: int | None, fetched: Mapping[int, str], found: bool) -> list[int]:
    """Returns the numbers of the pages to fetch next, or [] if the check needs no further pages. `last`: the
    number of the page with the last known position, or None if no position is known. `fetched`: the state of
    each page that was fetched in this check. `found`: whether the fetched pages contain all of the user's
    domains.

    >>> next_pages(Depth(results=100), 4, {}, False), next_pages(Depth(results=100), 4, {4: "good"}, False)
    ([4], [3, 5])
    """
    if FAILED in fetched.values():
        return []  # A later run fetches the failed page again. Fetching other pages now would waste money.
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
    """Returns the number of the next page to request if requests are cumulative. A cumulative request returns
    all results up to the requested page. The strategy `smart` first requests one page more than the page of
    the last known position, or page 2 if no position is known. If this request does not find all domains,
    `smart` may then request the last page within the depth."""
    if depth.strategy != "smart":
        return [] if fetched else [depth.pages]
    if not fetched:
        known = last is not None and last <= depth.pages
        return [min((last or 0) + 1, depth.pages)] if known else [min(depth.pages, 2)]
    if max(fetched) < depth.pages and (depth.fallback or last is None):
        return [depth.pages]
    return []


def mean_requests(depth: Depth, last: int | None) -> float:
    """Returns the expected number of pages that a check needs. For cumulative requests, the result is the
    number of pages for which the provider charges.

    The estimate assumes that 8 of 10 positions stay on the same result page, and that half of the other
    positions move to a neighbouring page. The estimate also assumes that a domain without a position stays
    without a position.
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

"""Whether the pages of an engine can still be read. A changed layout must never become a position.

Pages are compared within groups: engine, form (HTML, or a provider's JSON) and device.
"""

from __future__ import annotations

from typing import NamedTuple

MIN_PAGES = 5
"""Fewer pages of a group do not judge a layout."""
UNREADABLE_SHARE = 0.3
"""The layout has changed if so many pages are `layout_unknown`."""
MIN_FIRST_PAGES, MIN_USUAL_PAGES = 10, 20
"""Pages 1 of a run, and earlier ones, that are needed to compare the number of their results."""
FEW_RESULTS = 0.6
"""The layout has changed if page 1 has, on average, less than this share of its usual organic results."""
MEMORY_PAGES = 500
"""About how many pages the usual number remembers."""


class LayoutPages(NamedTuple):
    """The pages of a group in a run. `organic`: the organic results of the pages 1 that can be read."""

    pages: int
    unreadable: int
    organic: tuple[int, ...]


class LayoutVerdict(NamedTuple):
    """`state`: `ok` or `drift`. `withheld`: why positions of readable pages are not trusted, ''."""

    state: str
    detail: str = ""
    withheld: str = ""


def judge(found: LayoutPages, usual: float, usual_pages: int) -> LayoutVerdict:
    """Judges the layout of a group. `usual`: the usual number of organic results on page 1, the mean of
    `usual_pages`.

    >>> judge(LayoutPages(10, 4, (10,) * 6), 9.5, 100).detail
    '4 of 10 pages have an unknown layout'
    """
    if found.pages >= MIN_PAGES and found.unreadable >= UNREADABLE_SHARE * found.pages:
        return LayoutVerdict("drift", f"{found.unreadable} of {found.pages} pages have an unknown layout")
    if len(found.organic) >= MIN_FIRST_PAGES and usual_pages >= MIN_USUAL_PAGES:
        mean = sum(found.organic) / len(found.organic)
        if mean < FEW_RESULTS * usual:
            detail = f"page 1 has {mean:.1f} organic results on average, usually {usual:.1f}"
            return LayoutVerdict("drift", detail, f"layout drift: {detail}; its positions are not stored")
    return LayoutVerdict("ok")


def remember(usual: float, usual_pages: int, organic: tuple[int, ...]) -> tuple[float, int]:
    """Returns the usual number of organic results and of how many pages it is the mean, with those of a run."""
    if not organic:
        return usual, usual_pages
    before = min(usual_pages, MEMORY_PAGES)
    total = before + len(organic)
    return (usual * before + sum(organic)) / total, usual_pages + len(organic)

"""Decides whether the pages of an engine can still be read. No position may be derived from a page with a
changed layout. Pages are compared in groups. A group consists of an engine, a form (HTML, or a provider's
JSON) and a device.
"""

from __future__ import annotations

from typing import NamedTuple

MIN_PAGES = 5
"""The layout of a group is judged only if it has at least this many pages."""
UNREADABLE_SHARE = 0.3
"""The layout has changed if at least this share of the pages is `layout_unknown`."""
MIN_FIRST_PAGES, MIN_USUAL_PAGES = 10, 20
"""Minimum numbers of first result pages, in the run and from earlier runs, that are needed to compare their
numbers of results."""
FEW_RESULTS = 0.6
"""The layout has changed if the average number of organic results on page 1 is less than this share of the
usual number."""
MEMORY_PAGES = 500
"""Approximate number of last pages on which the usual number is based."""


class LayoutPages(NamedTuple):
    """The pages of a group in a run. `organic`: the number of organic results on each page 1 that can be
    read."""

    pages: int
    unreadable: int
    organic: tuple[int, ...]


class LayoutVerdict(NamedTuple):
    """The verdict on a layout. `state`: `ok` or `drift`. `withheld`: why positions of readable pages are not
    trusted, or '' if they are."""

    state: str
    detail: str = ""
    withheld: str = ""


def judge(found: LayoutPages, usual: float, usual_pages: int) -> LayoutVerdict:
    """Judges the layout of a group. `usual`: the usual number of organic results on page 1, which is the mean
    over `usual_pages` pages.

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
    """Returns the usual number of organic results, updated with the pages of a run, and the number of pages
    over which it is the mean."""
    if not organic:
        return usual, usual_pages
    before = min(usual_pages, MEMORY_PAGES)
    total = before + len(organic)
    return (usual * before + sum(organic)) / total, usual_pages + len(organic)

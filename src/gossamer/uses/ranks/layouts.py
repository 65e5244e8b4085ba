"""Detects changes in the layout of an engine's result pages. A page with a changed layout must not produce a
position, because the parser could misread the page. The layout is judged for groups of pages. The pages of a
group have the same engine, format (HTML or a provider's JSON) and device.
"""

from __future__ import annotations

from typing import NamedTuple

MIN_PAGES = 5
"""The share of unreadable pages is judged only in a layout group with at least this number of pages."""
UNREADABLE_SHARE = 0.3
"""The layout of a group counts as changed if at least this share of its pages has the verdict
`layout_unknown`."""
MIN_FIRST_PAGES, MIN_USUAL_PAGES = 10, 20
"""The number of results on page 1 is compared with the usual number only if the current run has at least
MIN_FIRST_PAGES first pages, and the earlier runs together have at least MIN_USUAL_PAGES."""
FEW_RESULTS = 0.6
"""The layout of a group counts as changed if the mean number of organic results on page 1 is below
FEW_RESULTS times the usual number."""
MEMORY_PAGES = 500
"""Approximate number of recent pages that determine the usual number of results."""


class LayoutPages(NamedTuple):
    """The page counts of a layout group in one run. `organic`: the number of organic results on each readable
    page 1."""

    pages: int
    unreadable: int
    organic: tuple[int, ...]


class LayoutVerdict(NamedTuple):
    """The decision on the layout of a group of pages. `state`: `ok` or `drift`. `withheld`: the reason why
    the positions from readable pages are not stored, or '' if the positions are stored."""

    state: str
    detail: str = ""
    withheld: str = ""


def judge(found: LayoutPages, usual: float, usual_pages: int) -> LayoutVerdict:
    """Judges whether the layout of a group of pages has changed. `usual`: the usual number of organic results
    on page 1, which is the mean over `usual_pages` pages.

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
    """Updates the usual number of organic results on page 1 with the pages of a run. Returns the new mean,
    and the number of pages that have contributed to the mean."""
    if not organic:
        return usual, usual_pages
    before = min(usual_pages, MEMORY_PAGES)
    total = before + len(organic)
    return (usual * before + sum(organic)) / total, usual_pages + len(organic)

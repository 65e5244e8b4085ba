"""Quality of the data that a site yields: field coverage, a score, and drift against earlier runs. The
quality is computed from counts that are committed together with the pages.

The name of a count begins with `q|`, and `|` separates the parts of the name. The name of a site never
contains `|`. A field is not counted if its name contains `|`. Items that steps dropped are not counted. The
prefix `q|` is followed by one of these forms:

- `SITE|p|TEMPLATE`: pages that were read. A template is the page function that reads the pages. Earlier
  versions counted all templates together as `SITE|p`
- `SITE|e`: pages that were read and contained neither items nor links
- `SITE|u`: pages that could not be read
- `SITE|h`: items that were held back, and rejected at the end of the run (`absence`)
- `SITE|i|KIND`: items
- `SITE|b|KIND`: rejected items
- `SITE|f|KIND|FIELD`: items in which the field has a value
- `SITE|v|KIND|FIELD`: the sum of the magnitudes of the field's numbers. The magnitude of x is 100 log10(1 + |x|)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from gossamer.model.item import has_value

MAX_FIELDS = 50
"""Maximum number of fields per kind that are counted."""
NAMED = re.compile(r"[^\W\d][\w .-]{0,59}")
NUMBERS = (int, float, Decimal)
KEPT_RUNS = 10
"""Number of runs of a site that are stored."""
COMPARED_RUNS = 30
"""Number of good runs that are stored and compared with a run (`model.run_guard`)."""
UNLIKE = "not like the last "
"""The reason of a finished crawl begins with this text if the run was unlike the good runs."""
MIN_ITEMS = 20
"""Minimum number of items of a run that is stored as a good run. A window of recent pages also needs at least
MIN_ITEMS items before a field's coverage is judged."""


class Quality(msgspec.Struct):
    """The quality of a site in one crawl or in one window of it. Shares are between 0 and 1."""

    pages: int = 0
    """Number of pages that the site's page functions could read."""
    unread: int = 0
    """Number of pages that could not be read, including pages that lack required content."""
    items: int = 0
    rejected: int = 0
    """Rejected items."""
    empty: int = 0
    """Pages that were read and contained neither items nor links."""
    held: int = 0
    """Items that were held back because they lack usual values, and that were rejected at the end of the run
    (`model.absence`)."""
    quality: float = 1.0
    """The product of two shares: the share of pages that could be read, and the share of items that are
    valid."""
    coverage: dict[str, float] = {}
    """Maps each `KIND.FIELD` to the share of items that have a value in the field. Rejected items count, too.
    The share is NaN if the kind has fewer items than the argument `least` of `of_counts`."""
    drift: dict[str, float] = {}
    """Maps each measure that is below the median of the last good runs to its distance from this median.
    Other measures are not in the dict. The measures are `KIND.FIELD` for the coverage of a field, `yield` for
    the number of items per page, and `quality`. For `yield`, the distance is a share of the median: 0.2 means
    20 % fewer items per page."""

    @property
    def per_page(self) -> float:
        """Items per page."""
        return self.items / (self.pages + self.unread) if self.pages + self.unread else 0.0


class GoodRun(msgspec.Struct):
    """The quality data of a good run of a site, as stored. `at`: when the run began, RFC 3339."""

    crawl: str
    at: str
    items: int
    quality: float
    per_page: float
    coverage: dict[str, float]
    empty: int = 0


class RunRecord(msgspec.Struct):
    """The counts of a run. `at`: when the run began, RFC 3339. `samples`: see `SiteCounts`."""

    crawl: str
    at: str
    counts: dict[str, int]
    samples: dict[str, str] = {}


class SitePart(NamedTuple):
    """The counts for the pages that one process (`who`) handled. `counts` contains the counts that the module
    docstring lists, and the counts `pages`, `succeeded` and `dead`. If `pages` is 0, this object only records
    that the process paused the crawl."""

    who: str
    pages: int
    counts: dict[str, int]


class SiteCounts:
    """Counts the pages and items of one site, so that the numbers can be added to the counts of the crawl."""

    def __init__(self, site: str) -> None:
        self._site, self._known = f"q|{site}|", dict[str, dict[str, str]]()
        self.samples: dict[str, str] = {}
        """Maps counts to the URL of the first page that they describe. The count of a field is mapped to a
        page with an item that lacks the field. Each `q|SITE|t|KIND` is mapped to the template of the kind."""
        self._untold: list[str] = []
        """The kinds whose template is not known yet."""

    def page(
        self, counts: dict[str, int], read: bool, empty: bool = False, template: str = "", url: str = ""
    ) -> None:
        """Counts one page. `read`: whether the page could be read. `empty`: whether the page contained
        neither items nor links. `template`: the page function."""
        name = f"{self._site}p|{template}" if read else self._site + "u"
        counts[name] = 1
        if name not in self.samples:
            self.samples[name] = url
        while self._untold:
            self.samples[f"{self._site}t|{self._untold.pop()}"] = template
        if empty:
            name = self._site + "e"
            counts[name] = 1
            self.samples.setdefault(name, url)

    def item(
        self, counts: dict[str, int], kind: str, fields: Mapping[str, Any], good: bool, url: str = ""
    ) -> None:
        """Counts an item, and each of its fields that has a value. `url`: the item's page."""
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = {}
        name = f"{self._site}i|{kind}"
        if name not in self.samples:
            self.samples[name] = url
            self._untold.append(kind)
        counts[name] = counts.get(name, 0) + 1
        if not good:
            name = f"{self._site}b|{kind}"
            counts[name] = counts.get(name, 0) + 1
        for field, value in fields.items():
            name = known.get(field) or self._name(kind, field)
            if name != "-" and has_value(value):
                counts[name] = counts.get(name, 0) + 1
                if type(value) in NUMBERS:
                    name = f"{self._site}v|{kind}|{field}"
                    counts[name] = counts.get(name, 0) + _magnitude(value)
            elif name != "-":
                counts.setdefault(name, 0)
                if name not in self.samples:
                    self.samples[name] = url

    def _name(self, kind: str, field: str) -> str:
        """Returns the name of a field's count, or `-` if the field is not counted."""
        known = self._known[kind]
        if len(known) >= MAX_FIELDS or not NAMED.fullmatch(field):
            return "-"
        known[field] = f"{self._site}f|{kind}|{field}"
        return known[field]


def of_counts(
    counts: Mapping[str, int], runs: Mapping[str, Iterable[GoodRun]] | None = None, least: int = 1
) -> dict[str, Quality]:
    """Computes the quality of each site of a crawl from the crawl's counts. `runs`: the last good runs of
    each site.

    >>> of_counts({"q|a|p": 4, "q|a|i|book": 4, "q|a|b|book": 1, "q|a|f|book|price": 3})["a"].coverage
    {'book.price': 0.75}
    """
    found: dict[str, Quality] = {}
    items: dict[tuple[str, str], int] = {}
    fields: list[tuple[str, str, str, int]] = []
    for name, n in counts.items():
        if not name.startswith("q|"):
            continue
        _, site, what, *rest = name.split("|", 4)
        one = found.setdefault(site, Quality())
        if what == "p":
            one.pages += n
        elif what == "u":
            one.unread = n
        elif what == "e":
            one.empty = n
        elif what == "h":
            one.held = n
        elif what == "i":
            one.items += n
            items[site, rest[0]] = n
        elif what == "b":
            one.rejected += n
        elif what == "f":
            fields.append((site, rest[0], rest[1], n))
    for site, kind, field, n in sorted(fields):
        of = items.get((site, kind), 0)
        found[site].coverage[f"{kind}.{field}"] = round(n / of, 4) if of >= least else math.nan
    for site, one in found.items():
        whole = one.pages + one.unread
        read = one.pages / whole if whole else 1.0
        one.quality = round(read * ((one.items - one.rejected) / one.items if one.items else 1.0), 4)
        _drift(one, [run for run in (runs or {}).get(site, ()) if run.items >= MIN_ITEMS], least)
    return found


def run_of(crawl: str, at: str, one: Quality) -> GoodRun:
    """Converts the quality of a site's run to the form that is stored."""
    return GoodRun(crawl, at, one.items, one.quality, round(one.per_page, 4), one.coverage, one.empty)


def _magnitude(value: float | Decimal) -> int:
    try:
        return round(100 * math.log10(1 + abs(float(value))))
    except (OverflowError, ValueError):  # infinite, or not a number
        return 0


def _drift(one: Quality, runs: list[GoodRun], least: int) -> None:
    if not runs or not one.pages + one.unread:
        return
    from statistics import median

    fallen = {"quality": median(run.quality for run in runs) - one.quality}
    usual = median(run.per_page for run in runs)
    fallen["yield"] = (usual - one.per_page) / usual if usual else 0.0
    lost = {name: 0.0 for run in runs for name in run.coverage} if one.items >= least else {}
    for name, now in (lost | one.coverage).items():  # a field that no item has any longer has coverage 0
        if before := [run.coverage[name] for run in runs if name in run.coverage]:
            fallen[name] = median(before) - now
    one.drift = {name: round(by, 4) for name, by in fallen.items() if by > 0}

"""Measures how often page dates are right, and how often wrong, if the most reliable sources of a page are
missing.

    python benchmarks/page_dates_hidden.py [FOLDER]

htmldate (extra `text`) is measured on the same pages in the same run. Each page is scored several times, each
time without some of its sources: without JSON-LD, without meta elements, without both, without the date in
its URL, without the marked dates of microdata and time elements, without scripts, and with only the text that
readers see. The sources are removed from the HTML before the page is read.

FOLDER (default `../shared/data`) contains `page-dates` and `articles-news`, whose days of publication are
known. FOLDER also contains `articles-zyte`, `articles-trafilatura` and `structured-recipes`, which have no
such labels. For these pages, the day is taken from the sources that are removed: a day counts as known if
JSON-LD, meta elements and the URL contain at least two days of publication, and all of them are the same.
Pages that are also in `page-dates` are left out. The intervals are 95 % Wilson intervals.
"""

from __future__ import annotations

import json
import logging
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

from extraction import Row, body, rows
from page_dates import ours, theirs

from gossamer.parsing.encodings import decode

_LD = re.compile(r"<script[^>]*ld\+json.*?</script>", re.DOTALL | re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b.*?</script>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_META = re.compile(r"<(?:meta|link)\b[^>]*?\b(?:19|20)\d\d\b[^>]*>", re.IGNORECASE)
_MARK = re.compile(
    r"\s(?:datetime|itemprop|pubdate|data-[\w-]*|title|content)\s*=\s*(?:\"[^\"]*\"|'[^']*')", re.IGNORECASE
)
_TIME = re.compile(r"<(/?)time\b", re.IGNORECASE)
_STYLE = re.compile(r"\s(?:class|id)\s*=\s*(?:\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_DATE_IN_URL = re.compile(r"(?:19|20)\d\d[/_.-]?(?:0?[1-9]|1[0-2])[/_.-]?(?:[0-3]?\d)(?!\d)")
_PUBLISHED = re.compile(r'"datePublished"\s*:\s*"(\d{4}-\d\d-\d\d)')
_PUBLISHED_META = re.compile(
    r"<meta[^>]*(?:article:published_time|datePublished|publish-?date|pubdate)[^>]*content=[\"'](\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_DAY_IN_URL = re.compile(r"(20[0-2]\d)/(0?[1-9]|1[0-2])/(0?[1-9]|[12]\d|3[01])(?!\d)")


def no_marks(page: str) -> str:
    return _TIME.sub(r"<\1span", _MARK.sub("", page))


def no_metadata(page: str) -> str:
    return _META.sub("", _LD.sub("", page))


HIDDEN: dict[str, tuple[Callable[[str], str], bool]] = {
    "nothing": (lambda page: page, False),
    "JSON-LD": (lambda page: _LD.sub("", page), False),
    "meta": (lambda page: _META.sub("", page), False),
    "URL": (lambda page: page, True),
    "JSON-LD and meta": (no_metadata, True),
    "time and microdata": (lambda page: no_marks(no_metadata(page)), True),
    "and scripts": (lambda page: no_marks(no_metadata(_SCRIPT.sub("", page))), True),
    "all but the text": (lambda page: _STYLE.sub("", no_marks(no_metadata(_SCRIPT.sub("", page)))), True),
}
"""For each row: the function that removes sources from the HTML, and whether the date is removed from the
URL."""


def stated(page: str, url: str) -> str | None:
    """Returns the day of publication that at least two sources contain and no source contradicts."""
    linked, meta, path = (
        _PUBLISHED.findall(page),
        _PUBLISHED_META.findall(page),
        _DAY_IN_URL.search(url),
    )
    days = [linked[0] if linked else None, meta[0] if meta else None]
    days.append(f"{path[1]}-{int(path[2]):02}-{int(path[3]):02}" if path else None)
    known = [day for day in days if day]
    return known[0] if len(known) > 1 and len({*known}) == 1 and len({*linked}) < 2 else None


def known_pages(folder: Path) -> dict[str, list[tuple[str, str, str]]]:
    """Returns the pages of each set as tuples of page, URL and day."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    labelled: set[str] = set()
    for name in ("page-dates", "articles-news"):
        some = [row for row in rows(folder, name) if isinstance(row.get("date"), str)]
        labelled |= {row["url"] for row in some}
        found[name] = [(decode(body(row), None), row["url"], row["date"]) for row in some]
    others: list[tuple[str, str, str]] = []
    for name in ("articles-zyte", "articles-trafilatura", "structured-recipes"):
        for row in rows(folder, name):
            page, url = decode(body(row), None), url_of(row)
            if url not in labelled and (day := stated(page, url)):
                others.append((page, url, day))
    return {**found, "not labelled": others}


def url_of(row: Row) -> str:
    return str(row.get("url") or json.loads(json.dumps(row.get("base") or "")) or "https://www.example.com/")


def wilson(right: int, count: int) -> str:
    """Returns the share of right pages and its 95 % interval."""
    share, z = right / count, 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    wide = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return f"{share:.3f} ({middle - wide:.3f} to {middle + wide:.3f})"


def line(find: Callable[[bytes, str], str], pages: list[tuple[str, str, str]]) -> str:
    found = [(find(page.encode(), url), day) for page, url, day in pages]
    right, none = sum(got == day for got, day in found), sum(not got for got, _ in found)
    return f"right {wilson(right, len(found))}, wrong {len(found) - right - none:3}, none {none:3}"


def main(folder: Path) -> None:
    logging.disable()
    for name, pages in known_pages(folder).items():
        for label, (change, without_path) in HIDDEN.items():
            hidden = [
                (change(page), _DATE_IN_URL.sub("x", url) if without_path else url, day)
                for page, url, day in pages
            ]
            for way, find in (("gossamer", ours), ("htmldate", theirs)):
                print(
                    f"{name:14} {len(hidden):3} pages, hidden: {label:20} {way} {line(find, hidden)}",
                    flush=True,
                )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))

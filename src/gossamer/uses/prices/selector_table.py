"""Reads a table of selectors by domain (`selectors.csv`). A value that a selector finds takes precedence over
the value of the generic extractor.

    domain,path,field,selector,pattern
    shop.example,^/p/,price,.buybox .amount::text,
    shop.example,,sku,[data-id]::attr(data-id),

`domain` is a host, and includes its subdomains. `path` is a regular expression that the URL's path and query
must match. An empty `path` matches all URLs of the domain. `pattern` is a regular expression for the text
that the selector finds. The first group of `pattern` is the value. If `pattern` has no group, the whole match
is the value. The first line that finds a value for a field is used.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gossamer.client.source_rows import read_list_file
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer import PageView

COLUMNS = ("domain", "path", "field", "selector", "pattern")
FIELDS = (
    *("price", "regular_price", "currency", "availability", "seller", "shipping"),
    *("name", "sku", "gtin", "mpn", "brand"),
)
"""The names of the fields for which a line of the selector table may contain a selector."""


class SelectorLine(NamedTuple):
    """A line of the table: a selector for one field on the pages of a domain."""

    domain: str
    path: re.Pattern[str] | None
    field: str
    selector: str
    pattern: re.Pattern[str] | None

    def value(self, page: PageView) -> str | None:
        """Returns the value that the selector of the line finds on a page, or None if the selector finds no
        value."""
        for text in _texts(page, self.selector):
            if self.pattern is None:
                found = text
            else:
                match = self.pattern.search(text)
                found = "" if match is None else match[1] if self.pattern.groups else match[0]
            if found := " ".join((found or "").split()):
                return found
        return None


def _texts(page: PageView, selector: str) -> Iterator[str]:
    for one in page.css(selector):
        text = one.get() if "::" in selector else one.xpath("string(.)").get()
        if text:
            yield text


class SelectorTable:
    """A table of selectors, which contains lines for each domain."""

    def __init__(self, lines: list[SelectorLine] | None = None, version: str = "") -> None:
        self._lines: dict[str, list[SelectorLine]] = {}
        self.version = version
        """A hash of the selector table. If the hash of the selector table changes, gossamer reads pages again
        even if the server reports the pages as unchanged."""
        for line in lines or ():
            self._lines.setdefault(line.domain, []).append(line)

    def values(self, page: PageView) -> dict[str, tuple[str, str]]:
        """Returns the fields that the table finds on a page: field -> (text, selector)."""
        found: dict[str, tuple[str, str]] = {}
        if not self._lines:
            return found
        parts = urlsplit(page.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        for line in self._of(parts.netloc):
            if line.field in found or (line.path is not None and not line.path.search(path)):
                continue
            if (text := line.value(page)) is not None:
                found[line.field] = (text, line.selector)
        return found

    def lines_for(self, url: str) -> list[tuple[str, str, str]]:
        """Returns the lines for a URL as tuples (field, selector, pattern), for `CarriedSelectors`."""
        if not self._lines:
            return []
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return [
            (line.field, line.selector, line.pattern.pattern if line.pattern else "")
            for line in self._of(parts.netloc)
            if line.path is None or line.path.search(path)
        ]

    def _of(self, host: str) -> Iterator[SelectorLine]:
        """Yields the lines for a host. The lines of the longest domain come first."""
        for name in dict.fromkeys((host, host.partition(":")[0])):
            while name:
                yield from self._lines.get(name, ())
                name = name.partition(".")[2]


class CarriedSelectors(NamedTuple):
    """The lines of a selector table that apply to one page. The request for the page carries the lines as
    tuples (field, selector, pattern)."""

    lines: Sequence[tuple[str, str, str]] = ()

    def values(self, page: PageView) -> dict[str, tuple[str, str]]:
        """Maps each field that a line finds on a page to a tuple of the text and the selector."""
        found: dict[str, tuple[str, str]] = {}
        for field, selector, pattern in self.lines:
            if field not in found:
                line = SelectorLine("", None, field, selector, re.compile(pattern) if pattern else None)
                if (text := line.value(page)) is not None:
                    found[field] = (text, selector)
        return found


def read_selectors(path: str | None) -> SelectorTable:
    """Reads a table. If `path` is None, returns an empty table. Raises ConfigError, whose message names the
    line."""
    if path is None:
        return SelectorTable()
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"the table of selectors {path} cannot be read: {error.strerror}") from error

    def check_names(names: Sequence[str]) -> None:
        if missing := [one for one in ("domain", "field", "selector") if one not in names]:
            raise ConfigError(f"{path} has no column {missing[0]}: its columns are {', '.join(COLUMNS)}")

    found = []
    for row in read_list_file(Path(path), check_names, form=".csv"):
        try:
            if row.columns is None:
                raise ValueError(row.reason)
            found.append(_line({name: (row.columns.get(name) or "").strip() for name in COLUMNS}))
        except ValueError as error:
            raise ConfigError(f"{path} line {row.line}: {error}") from None
    return SelectorTable(found, hashlib.blake2b(raw, digest_size=6).hexdigest())


def _line(columns: dict[str, str]) -> SelectorLine:
    domain, field, selector = columns["domain"].lower(), columns["field"], columns["selector"]
    if not domain or "/" in domain:
        raise ValueError(f"the domain {domain!r} is not a host such as shop.example")
    if field not in FIELDS:
        raise ValueError(f"the field {field!r} is unknown: write one of {', '.join(FIELDS)}")
    _check_selector(selector)
    return SelectorLine(domain, _pattern(columns["path"]), field, selector, _pattern(columns["pattern"]))


def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise ValueError(f"the regular expression {text!r}: {error}") from None


def _check_selector(selector: str) -> None:
    """Raises ValueError for an invalid selector."""
    from gossamer.parsing.html import parse
    from gossamer.parsing.selectors import Selector

    if not selector:
        raise ValueError("the selector is empty")
    Selector(parse(b"<p>", None, None).tree).css(selector)


def add_line(path: str, domain: str, field: str, selector: str) -> None:
    """Adds a line to a table. Creates the table if it does not exist. Raises ConfigError."""
    file = Path(path)
    try:
        is_new = not file.exists() or not file.stat().st_size
        joins = "" if is_new or file.read_bytes().endswith(b"\n") else "\n"
        with file.open("a", newline="", encoding="utf-8") as lines:
            lines.write(joins)
            table = csv.writer(lines)
            if is_new:
                table.writerow(COLUMNS)
            table.writerow((domain, "", field, selector, ""))
    except OSError as error:
        raise ConfigError(f"the table of selectors {path} cannot be written: {error.strerror}") from error

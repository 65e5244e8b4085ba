"""The records that the tables of a keyword run contain, as outputs of rows receive them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec


class _OfRun(msgspec.Struct, kw_only=True):
    id: str
    """The id of the record, which is its key."""
    run: str
    time: datetime | None
    """The time of the page's fetch. For counts of several pages, the time of the last fetch."""


class _Counts(_OfRun, kw_only=True):
    count: int
    density: float
    in_title: int
    in_headings: int
    anchors: int
    alt: int
    meta: int
    tfidf: float
    contexts: list[str]
    """The keyword with the text on both sides, for the first occurrences."""


class KeywordTotalRecord(_Counts, kw_only=True):
    """The counts of a keyword on a site, or on all sites (`site` is then '')."""

    keyword: str
    site: str
    pages: int
    share: float
    idf: float | None


class KeywordPageRecord(_Counts, kw_only=True):
    """The counts of a keyword on a page."""

    keyword: str
    url: str
    domain: str
    """The host of the page without `www.`."""
    site: str
    words: int
    prominence: float | None


class KeywordTermRecord(_OfRun, kw_only=True):
    """A discovered term."""

    site: str
    language: str
    words: int
    term: str
    count: int
    pages: int
    density: float
    tfidf: float
    score: float
    npmi: float | None


class CountedPageRecord(_OfRun, kw_only=True):
    """A counted page."""

    url: str
    domain: str
    site: str
    language: str
    title: str
    words: int | None
    copy_of: str | None
    """The URL of the original page, if this page is a copy."""


class KeywordTable(NamedTuple):
    """A table of a run. `key`: the columns that identify a row of a run."""

    table: str
    record: type[msgspec.Struct]
    key: tuple[str, ...]


TABLES: Final = {
    "totals": KeywordTable("keyword_totals", KeywordTotalRecord, ("keyword", "site")),
    "pages": KeywordTable("keyword_pages", KeywordPageRecord, ("keyword", "url")),
    "terms": KeywordTable("keyword_terms", KeywordTermRecord, ("site", "language", "term")),
    "counted": KeywordTable("counted_pages", CountedPageRecord, ("url",)),
}
"""The tables by the names that users choose."""


def keyed_rows(
    table: KeywordTable, run: str, names: list[str], rows: Iterator[tuple[Any, ...]], between: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the rows of a table as records, each with its key. `names`: the columns of the rows. `between`:
    the separator of the contexts."""
    fields = table.record.__struct_fields__
    for row in rows:
        values = {"run": run, **dict(zip(names, row, strict=True))}
        parts = "\0".join([run, *(str(values[name]) for name in table.key)])
        values["id"] = hashlib.blake2b(parts.encode("utf-8", "replace"), digest_size=12).hexdigest()
        values["time"] = datetime.fromisoformat(values["time"]) if values["time"] else None
        if "contexts" in values:
            values["contexts"] = values["contexts"].split(between) if values["contexts"] else []
        yield values["id"], {name: values[name] for name in fields}

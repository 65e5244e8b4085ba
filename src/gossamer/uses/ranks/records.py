"""The records that a rank history sends to outputs: positions, results, checks and events."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from gossamer.uses.prices.database import Database
from gossamer.uses.ranks.checks import WRITES
from gossamer.uses.ranks.page_rows import unpack_results
from gossamer.uses.record_stream import KeyedRow, RecordKind, keyed_rows

_SEARCH = "s.keyword, s.engine, s.country, s.language, s.location, s.device"
_JOIN = "JOIN rank_searches s ON s.id = r.search"
_BATCH = "WHERE r.seq > ? AND r.seq <= ? ORDER BY r.seq, r.search"


class _OfSearch(msgspec.Struct, kw_only=True):
    id: str
    """The id of the record, which is its key."""
    time: datetime
    """The time at which the first page of the check was fetched."""
    keyword: str
    engine: str
    country: str
    language: str
    location: str
    device: str


class RankRecord(_OfSearch, kw_only=True):
    """The position of a followed domain in a check."""

    domain: str
    own: bool | None
    """Whether the domain is the user's. A competitor's domain is not."""
    position: int | None
    """The position among the organic results, or None if the domain is not in the first `depth` results."""
    depth: int
    absolute: int | None
    """The position among all blocks of the result page."""
    page: int | None
    url: str
    title: str
    urls: list[str]
    """The URLs of all pages of the domain in the results."""
    volume: int | None
    note: str
    run: int


class RankResultRecord(_OfSearch, kw_only=True):
    """A result on a readable result page."""

    page: int
    type: str
    rank: int | None
    position: int | None
    title: str
    url: str
    text: str
    pixel: float | None
    run: int


class RankCheckRecord(_OfSearch, kw_only=True):
    """The state of a check."""

    state: str
    error: str
    depth: int
    requests: int
    credits: int
    run: int


def _positions(database: Database, after: int, last: int) -> list[KeyedRow]:
    rows = database.rows(
        f"SELECT r.search, r.time, {_SEARCH}, r.domain, d.own, r.position, r.depth, r.absolute, r.page, r.url, "
        f"r.title, r.urls, s.volume, r.note, r.run FROM rank_positions r {_JOIN} LEFT JOIN rank_domains d "
        f"ON d.search = r.search AND d.domain = r.domain {_BATCH}, r.domain",
        [after, last],
    )
    return keyed_rows(RankRecord, ((f"{row[0]}-{row[-1]}-{row[8]}", *row[1:]) for row in rows))


def _results(database: Database, after: int, last: int) -> list[KeyedRow]:
    marks = ", ".join("?" * len(WRITES))
    rows = database.rows(
        f"SELECT r.search, r.time, {_SEARCH}, r.page, r.run, r.results FROM rank_pages r {_JOIN} "
        f"{_BATCH.replace('ORDER', f'AND r.verdict IN ({marks}) ORDER')}, r.page",
        [after, last, *sorted(WRITES)],
    )
    found: list[tuple[Any, ...]] = []
    for search, *shared, page, run, results in rows:
        found += [
            (
                *(f"{search}-{run}-{page}-{number}", *shared, page, one.type, one.rank, one.position),
                *(one.title, one.url, one.text, one.pixel, run),
            )
            for number, one in enumerate(unpack_results(results), 1)
        ]
    return keyed_rows(RankResultRecord, found)


def _checks(database: Database, after: int, last: int) -> list[KeyedRow]:
    rows = database.rows(
        f"SELECT r.search, r.time, {_SEARCH}, r.state, r.error, r.depth, r.requests, r.credits, r.run "
        f"FROM rank_checks r {_JOIN} {_BATCH}",
        [after, last],
    )
    return keyed_rows(RankCheckRecord, ((f"{row[0]}-{row[-1]}", *row[1:]) for row in rows))


_EVENT = (
    *("id", "kind", "time", "engine", "search", "domain", "before", "after", "detail"),
    *("keyword", "country", "language", "location", "device"),
)


def _events(database: Database, after: int, last: int) -> list[KeyedRow]:
    rows = database.rows(
        f"SELECT {', '.join(f'r.{name}' for name in _EVENT[:9])}, {', '.join(f's.{name}' for name in _EVENT[9:])} "
        f"FROM rank_events r LEFT {_JOIN} {_BATCH}, r.id",
        [after, last],
    )
    return [(str(row[0]), dict(zip(_EVENT, row, strict=True))) for row in rows]


KINDS: Final = {
    "positions": RecordKind("rank", "rank_positions", _positions, RankRecord),
    "results": RecordKind("rank_result", "rank_pages", _results, RankResultRecord),
    "checks": RecordKind("rank_check", "rank_checks", _checks, RankCheckRecord),
    "events": RecordKind("rank_event", "rank_events", _events),
}
"""The kinds of records by the names that users choose."""

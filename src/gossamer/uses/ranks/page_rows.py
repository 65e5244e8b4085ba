"""Converts fetched result pages to database rows of the rank history, and converts rows to pages."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.ranks.checks import WRITES, CheckedPage
from gossamer.uses.ranks.model import FetchedResultPage
from gossamer.uses.ranks.schema import RankDatabase

TEXT_CHARS = 200
"""Maximum length of a stored snippet in characters."""
MAX_BODY = 8 << 20
"""Maximum size of a stored body in bytes."""
_COLUMNS = (
    *("search", "run", "page", "first", "time", "source", "form", "url", "verdict", "reason", "results"),
    *("organic", "unknown", "data_version", "credits", "body", "note"),
    "seq",
)
_FIELDS = ("type", "rank", "position", "title", "url", "text", "sub", "votes", "pixel")


def write_pages(database: RankDatabase, run: int, pages: Iterable[FetchedResultPage], *, keep: bool) -> None:
    """Writes fetched result pages to the database. Replaces a page that was already written in this run.
    `keep`: whether to store the bodies of the pages."""
    rows = []
    seq = database.next_seq()
    for one in pages:
        parsed = one.parsed
        results = parsed.results if parsed else ()
        body = gzip.compress(one.body, 6, mtime=0) if keep and 0 < len(one.body) <= MAX_BODY else None
        rows.append(
            (
                *(one.search, run, one.page, one.first, one.time, one.source, one.form, one.url),
                *(one.verdict, (parsed.reason if parsed else one.error)[:500], pack_results(results)),
                *(organic_count(results), parsed.unknown if parsed else 0),
                *(parsed.data_version if parsed else "", one.credits, body, "", seq),
            )
        )
    changed = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[3:])
    database.many(
        f"INSERT INTO rank_pages ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
        f"ON CONFLICT (search, run, page) DO UPDATE SET {changed}",
        rows,
    )


def read_pages(
    database: RankDatabase, run: int, searches: Sequence[str] | None = None
) -> dict[str, list[CheckedPage]]:
    """Returns the result pages of a run, keyed by search id. `searches`: the ids of the searches to read. The
    default is all searches."""
    columns = "search, page, first, verdict, reason, results, time, note"
    if searches is None:
        rows = database.rows(f"SELECT {columns} FROM rank_pages WHERE run = ? ORDER BY search, page", [run])
    else:
        rows = database.rows_in(
            f"SELECT {columns} FROM rank_pages WHERE run = {int(run)} AND search IN (?) ORDER BY search, page",
            searches,
        )
    found: dict[str, list[CheckedPage]] = {}
    for search, page, first, verdict, reason, results, time, note in rows:
        one = CheckedPage(page, first, verdict, reason, unpack_results(results), time, note)
        found.setdefault(search, []).append(one)
    return found


def rewrite_page(database: RankDatabase, key: tuple[str, int, int], parsed: ResultPage, note: str) -> None:
    """Replaces the stored results of a page that was parsed again. `key`: the primary key of the page, which
    is a tuple (search, run, page)."""
    database.execute(
        "UPDATE rank_pages SET verdict = ?, reason = ?, results = ?, organic = ?, unknown = ?, data_version = ?, "
        "note = ?, seq = ? WHERE search = ? AND run = ? AND page = ?",
        [
            *(
                parsed.verdict,
                parsed.reason[:500],
                pack_results(parsed.results),
                organic_count(parsed.results),
            ),
            *(parsed.unknown, parsed.data_version, note, database.next_seq(), *key),
        ],
    )


def body_of(packed: Any) -> bytes | None:
    """Decompresses the stored body of a page. Returns None if the body cannot be decompressed."""
    try:
        return gzip.decompress(bytes(packed))
    except (OSError, EOFError, zlib.error, TypeError):
        return None


def organic_count(results: Iterable[Result]) -> int:
    """Returns the number of organic results that have a rank."""
    return sum(1 for one in results if one.type == "organic" and one.rank is not None)


def pack_results(results: Iterable[Result]) -> str:
    """Encodes results as JSON, with one list per result. Truncates long snippets."""
    rows = [
        [
            one.type,
            one.rank,
            one.position,
            one.title,
            one.url,
            one.text[:TEXT_CHARS],
            one.sub,
            one.votes,
            one.pixel,
        ]
        for one in results
    ]
    return msgspec.json.encode(rows).decode()


def unpack_results(text: str) -> tuple[Result, ...]:
    """Decodes the results that `pack_results` has encoded."""
    return tuple(Result(**dict(zip(_FIELDS, row, strict=True))) for row in msgspec.json.decode(text))


def is_trusted(verdict: str) -> bool:
    """Whether the results of a page with this verdict are used for positions."""
    return verdict in WRITES

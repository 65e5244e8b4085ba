"""Upsert and history in SQLite: what `history` says, as statements inside the transaction of a batch. Names
come quoted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.model.visit import Row
from gossamer.sinks.history import COLUMNS, HISTORY, SIGHTINGS, ItemState, Past, fold, stored
from gossamer.sinks.jsonl import text, whole

CHUNK = 500
_ITEMS = "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = '_deleted_at'"


_BESIDE = {
    COLUMNS: ("_table", "_column"),
    HISTORY: ("_kind", "_key", "_from", "_until", "_hash", "_data"),
    SIGHTINGS: ("_kind", "_key", "_run"),
}
_KEYS = {COLUMNS: 2, HISTORY: 3, SIGHTINGS: 2}


def prepare(base: sqlite3.Connection, table: str, items: str = "") -> str:
    """Make what a kind needs beside its table, one of items (`items`: the kind) also its history; the name of
    a table that is in the way, '' when none is."""
    for column in ("_url", "_changed_at") if items else ():
        base.execute(f"CREATE INDEX IF NOT EXISTS {quoted(f'{column} of {items}')} ON {table} ({column})")
    for name, columns in _BESIDE.items() if items else [(COLUMNS, _BESIDE[COLUMNS])]:
        body, key = (", ".join(some) for some in ([f"{one} TEXT" for one in columns], columns[: _KEYS[name]]))
        base.execute(f"CREATE TABLE IF NOT EXISTS {name} ({body}, PRIMARY KEY ({key})) WITHOUT ROWID")
        if not {*columns} <= {column for _, column, *_ in base.execute(f"PRAGMA table_info({name})")}:
            return name
    return ""


def ours(base: sqlite3.Connection, table: str, names: Iterable[str], untyped: Iterable[str]) -> set[str]:
    """Note that these columns of a table are ours; all that are, in small letters. `untyped`: of a table that
    was made before this was noted."""
    known = {name for (name,) in base.execute(f"SELECT _column FROM {COLUMNS} WHERE _table = ?", (table,))}  # noqa: S608
    if new := {name.lower() for name in (*names, *(() if known else untyped))} - known:
        base.executemany(f"INSERT INTO {COLUMNS} VALUES (?, ?)", [(table, name) for name in sorted(new)])  # noqa: S608
    return known | new


def changed(base: sqlite3.Connection, table: str, rows: Sequence[Row]) -> list[Row]:
    """The rows of one kind that are to be written, with the columns STORED; what they replace is in the
    history by then."""
    if runs := [(row.kind, clean(row.key), row.run) for row in rows if row.run]:
        base.executemany(
            f"INSERT INTO {SIGHTINGS} VALUES (?, ?, ?) ON CONFLICT (_kind, _key) DO UPDATE SET _run = excluded._run "  # noqa: S608
            "WHERE _run != excluded._run",
            runs,
        )
    folded = fold(rows, _known(base, table, rows))
    if folded.past:
        base.executemany(
            f"INSERT OR IGNORE INTO {HISTORY} VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
            [_ended(base, table, past) for past in folded.past],
        )
    return [
        Row(row.kind, row.key, {**_data(row), **stored(row, state)}) for row, state in folded.rows.values()
    ]


def gone(base: sqlite3.Connection, pages: Sequence[tuple[str, str]]) -> None:
    """Mark the items of pages that are gone: (url, when)."""
    for (table,) in base.execute(_ITEMS).fetchall():
        base.executemany(
            f"UPDATE {quoted(table)} SET _deleted_at = ? WHERE _url = ? AND _deleted_at IS NULL AND _seen_at <= ?",  # noqa: S608
            [(at, clean(url), at) for url, at in pages],
        )


def missing(base: sqlite3.Connection, site: str, run: str, at: str) -> tuple[int, int]:
    """How many of a site's items a run did not see, and how many are stored and not gone."""
    left = stored = 0
    for (table,) in base.execute(_ITEMS).fetchall():
        unmet, there = base.execute(
            f"SELECT coalesce(sum(NOT EXISTS (SELECT 1 FROM {SIGHTINGS} s WHERE s._kind = t._kind AND s._key = t._key "  # noqa: S608
            f"AND s._run = :run)), 0), count(*) FROM {quoted(table)} t WHERE _site = :site AND _deleted_at IS NULL AND _seen_at <= :at",
            {"at": at, "site": site, "run": run},
        ).fetchone()
        left, stored = left + unmet, stored + there
    return left, stored


def fates(base: sqlite3.Connection, sites: Sequence[str], since: str) -> tuple[int, int, int]:
    """How many items of these sites are new, changed, and gone since a moment."""
    total = [0, 0, 0]
    for (table,) in base.execute(_ITEMS).fetchall():
        found = base.execute(
            "SELECT coalesce(sum(_first_seen_at >= ?1), 0), coalesce(sum(_seen_at >= ?1 AND _first_seen_at < ?1), 0), "  # noqa: S608
            f"coalesce(sum(_deleted_at >= ?1), 0) FROM {quoted(table)} WHERE (_seen_at >= ?1 OR _deleted_at >= ?1) "
            f"AND _site IN ({', '.join('?' * len(sites))})",
            [since, *sites],
        ).fetchone()
        total = [one + more for one, more in zip(total, found, strict=True)]
    return total[0], total[1], total[2]


def unseen(base: sqlite3.Connection, site: str, run: str, at: str) -> int:
    """Mark a site's items that a run did not see; how many."""
    total = 0
    for (table,) in base.execute(_ITEMS).fetchall():
        total += base.execute(
            f"UPDATE {quoted(table)} SET _deleted_at = :at WHERE _site = :site AND _deleted_at IS NULL AND _seen_at <= :at "  # noqa: S608
            f"AND NOT EXISTS (SELECT 1 FROM {SIGHTINGS} s WHERE s._kind = {quoted(table)}._kind AND s._key = {quoted(table)}._key "
            "AND s._run = :run)",
            {"at": at, "site": site, "run": run},
        ).rowcount
    return total


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def clean(value: str) -> str:
    """A text that can be encoded."""
    return value if value.isascii() else whole(value)


def _known(base: sqlite3.Connection, table: str, rows: Sequence[Row]) -> dict[tuple[str, str], ItemState]:
    """The states of the rows that the table has. A row of an older gossamer has no hash: whatever comes is a
    change."""
    kind, keys = rows[0].kind, list({clean(row.key): row.key for row in rows}.items())
    known = {}
    for first in range(0, len(keys), CHUNK):
        names = dict(keys[first : first + CHUNK])
        for key, content, began, seen, since, deleted in base.execute(
            f"SELECT _key, _hash, _first_seen_at, _seen_at, _changed_at, _deleted_at FROM {table} "  # noqa: S608
            f"WHERE _key IN ({', '.join('?' * len(names))})",
            list(names),
        ):
            known[kind, names[key]] = ItemState(
                content or "", began or seen or "", seen or "", since or seen or "", deleted
            )
    return known


def _ended(base: sqlite3.Connection, table: str, past: Past) -> tuple[str, ...]:
    kind, key = past.name
    if past.row is not None:
        data = {**_data(past.row), **stored(past.row, past.state)}
    else:
        found = base.execute(f"SELECT * FROM {table} WHERE _key = ?", (clean(key),))  # noqa: S608
        data = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
    return clean(kind), clean(key), past.state.seen_at, past.until, past.state.hash, text(data)


def _data(row: Row) -> dict[str, Any]:
    assert type(row.data) is dict
    return row.data

"""SQLite: one table a kind, keyed by `_key`; rows are upserted, so writing one twice is the same as writing it once.

Items that did not change are not written, what they were before is kept: `history`.

WAL with `synchronous=FULL`: a commit returns when it is on the disk; readers never wait, several processes may write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from gossamer import wal
from gossamer.errors import ConfigError, DiskFull, GossamerError, SinkError, UsageError
from gossamer.sinks import sqlite_history as past
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import EXTRA, MOST, OURS, Column, Columns, cell, loose_names, undeclared
from gossamer.sinks.history import STORED, TAKEN
from gossamer.sinks.jsonl import text
from gossamer.sinks.sqlite_history import quoted as _quoted
from gossamer.visit import PageRecord, Row

_TYPES = {"int": "INTEGER", "float": "REAL", "bool": "INTEGER", "decimal": "NUMERIC", "any": ""}
_SIZES = (64, 16, 4, 1)
"""Rows of a statement: few sizes, as compiled statements are kept."""
_KEPT = frozenset((str, int, bool, type(None)))
_WIDE = 2**63
_RECORD = frozenset(PageRecord.__struct_fields__)


class Sqlite:
    """The TableSink of `.sqlite`. Columns that a table lacks are added, those of untyped dicts as they come.

    Decimals are NUMERIC (15 digits).
    """

    def __init__(self, path: str, columns: Columns, *, overwrite: bool = False, wait: float = 60.0) -> None:
        self.path = os.path.abspath(path)
        self._columns = columns
        self._overwrite = overwrite
        self._wait = wait
        """Seconds to wait for another process's transaction."""
        self._base: sqlite3.Connection | None = None
        self._inserts: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {}

    def target(self) -> str:
        """Absolute path of the database."""
        return self.path

    def prepare(self) -> int:
        """Make the file and the tables of the declared kinds (overwrite: of a new file); always 0."""
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise UsageError(f"{self.path}: there is no folder {folder}; make it first")
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise UsageError(f"{self.path} is no plain file")
        with self._mapped():
            if self._overwrite:
                self.close()
                for ending in ("-wal", "-shm", "-journal", ""):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self.path + ending)
            with self._transaction() as base:
                for kind in self._columns:
                    self._table(base, kind)
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """See `parts.TableSink`."""
        kinds: dict[str, list[Row]] = {}
        for row in rows:
            kinds.setdefault(row.kind, []).append(row)
        with self._mapped(), self._transaction() as base:
            for kind, group in kinds.items():
                loose = () if kind in self._columns else loose_names(group)
                names, insert = self._inserts.get(kind) or self._table(base, kind, loose)
                if kind not in RECORDS:
                    group = past.changed(base, _name(kind), group)
                values = _values(names, group)
                try:
                    _insert(base, insert, values)
                except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, an integer beyond 64 bits
                    _insert(base, insert, [_careful(names, row) for row in values])

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """See `parts.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            past.gone(base, pages)

    def unseen(self, site: str, run: str, at: str) -> int:
        """See `parts.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return past.unseen(base, site, run, at)

    def close(self) -> None:
        """Let the connection go; the last one folds the WAL into the file, also that of processes that are gone."""
        if self._base is None and os.path.exists(f"{self.path}-wal"):
            with self._mapped():
                self._connect().execute("SELECT count(*) FROM sqlite_master")  # the file is opened when it is read
        if self._base is not None:
            self._base.close()
        self._base = None
        self._inserts.clear()

    def _connect(self) -> sqlite3.Connection:
        if self._base is None:
            # the road calls from one thread at a time, not always the same one
            self._base = wal.connect(self.path, self._wait, by_hand=True)
        return self._base

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        base = self._connect()
        base.execute("BEGIN IMMEDIATE")
        try:
            yield base
            base.execute("COMMIT")
        except BaseException:
            self._inserts.clear()  # a table made in this transaction is gone with it
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise

    def _table(
        self, base: sqlite3.Connection, kind: str, loose: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], tuple[str, str]]:
        """Make or widen the table of a kind inside the transaction; its column names, and what stands around the rows in its upsert.

        `loose`: fields of untyped dicts; then the names are all that the table has, whoever added them.
        """
        columns = self._declared(kind)
        table = _name(kind)
        body = ", ".join(_column(column) for column in columns)
        base.execute(f"CREATE TABLE IF NOT EXISTS {table} ({body})")
        known = {name.lower(): name for _, name, *_ in base.execute(f"PRAGMA table_info({table})")}
        if "_key" not in known:
            raise UsageError(
                f"{self.path} has a table {kind} that is not gossamer's: give another file, or overwrite with -O"
            )
        room = max(0, MOST + len(columns) - len(known))
        columns += [Column(name, "any") for name in loose if name.lower() not in known][:room]
        for column in columns:
            if column.name.lower() not in known:
                base.execute(f"ALTER TABLE {table} ADD COLUMN {_column(column)}")
        if kind not in RECORDS:
            past.prepare(base, table, _quoted(f"_url of {kind}"))
        names = tuple(column.name for column in columns)
        if kind not in self._columns:
            between = {*known.values(), *names} - {"_key", EXTRA}
            names = ("_key", *sorted(between), EXTRA)
        listed = ", ".join(map(_quoted, names))
        changed = ", ".join(f"{_quoted(name)}=excluded.{_quoted(name)}" for name in names if name != "_key")
        head = f"INSERT INTO {table} ({listed}) VALUES "  # noqa: S608  names are quoted
        insert = head, f" ON CONFLICT (_key) DO UPDATE SET {changed}"
        if kind in self._columns:
            self._inserts[kind] = names, insert
        return names, insert

    def _declared(self, kind: str) -> list[Column]:
        declared = self._columns.get(kind)
        more = STORED if kind not in RECORDS else ()
        own = (*(declared or OURS), *more)
        columns = [Column("_key"), *(column for column in own if column.name != "_key"), Column(EXTRA)]
        lower = [column.name.lower() for column in columns]
        if twice := {name for name in lower if lower.count(name) > 1}:
            raise ConfigError(
                f"SQLite cannot hold the fields {', '.join(sorted(twice))} of {kind}: only their case differs"
            )
        return columns

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise _failure(self.path, error) from error


def _values(names: tuple[str, ...], rows: Sequence[Row]) -> list[list[Any]]:
    """The rows as lists in the order of the columns: `_key` first, `_extra` last."""
    between, known = names[1:-1], frozenset(names)
    record = attrgetter(*between) if len(between) > 1 and known - {"_key", EXTRA} <= _RECORD else None
    values = []
    for row in rows:
        data, extra = row.data, None
        if type(data) is dict:
            found: Any = map(data.get, between)
            if undeclared_fields := undeclared(row, known):
                extra = text(undeclared_fields)
        else:
            found = record(data) if record else [getattr(data, name, None) for name in between]
        values.append([row.key, *[v if type(v) in _KEPT else cell(v) for v in found], extra])
    return values


def _insert(base: sqlite3.Connection, around: tuple[str, str], values: list[list[Any]]) -> None:
    """Many rows a statement: each statement lets go of the interpreter, and a busy loop does not give it back soon."""
    width = len(values[0]) if values else 1
    most = base.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // width
    row = f"({', '.join('?' * width)})"
    while values:
        size = next(size for size in _SIZES if size <= max(1, min(most, len(values))))
        base.execute(", ".join([row] * size).join(around), [one for some in values[:size] for one in some])
        values = values[size:]


def _careful(names: tuple[str, ...], row: list[Any]) -> list[Any]:
    """A row whose texts can be encoded; an integer beyond 64 bits is kept in `_extra`, with all its digits."""
    row = [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in row]
    wide = {
        name: value
        for name, value in zip(names, row, strict=True)
        if isinstance(value, int) and not -_WIDE <= value < _WIDE
    }
    if wide:
        row = [None if name in wide else value for name, value in zip(names, row, strict=True)]
        row[-1] = text(wide | (msgspec.json.decode(row[-1]) if row[-1] else {}))
    return row


def _name(kind: str) -> str:
    """The table of a kind, quoted; names that SQLite or we keep for ourselves get a `_`."""
    return _quoted(f"_{kind}" if kind.lower().startswith("sqlite_") or kind.lower() in TAKEN else kind)


def _column(column: Column) -> str:
    return f"{_quoted(column.name)} {_TYPES.get(column.type, 'TEXT')}" + (
        " PRIMARY KEY" if column.name == "_key" else ""
    )


def _failure(path: str, error: sqlite3.Error | OSError) -> GossamerError:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in (28, 122):
        return DiskFull(f"no space left for {path}: free some, then run the same command again")
    if code == sqlite3.SQLITE_NOTADB:
        return SinkError(f"{path} is no SQLite database: give another file, or overwrite it with -O")
    return SinkError(f"cannot write {path}: {error}")

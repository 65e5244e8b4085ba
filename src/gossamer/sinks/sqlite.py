"""SQLite: one table a kind, keyed by `_key`; rows are upserted, so writing one twice is the same as writing
it once.

Items that did not change are not written, what they were before is kept: `history`.

WAL with `synchronous=FULL`: a commit returns when it is on the disk; readers never wait, several processes
may write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gossamer.errors import ConfigError, DiskFull, GossamerError, SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks import sqlite_history as past
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import EXTRA, MOST, OURS, Column, Columns, cell, loose_names
from gossamer.sinks.history import STORED, TAKEN
from gossamer.sinks.rejects import Aside, Refuse, counting
from gossamer.sinks.rows import Misfit, binary
from gossamer.sinks.sqlite_history import quoted as _quoted
from gossamer.sinks.sqlite_rows import careful, insert, loose, values, without_loss
from gossamer.store import sqlite_wal

_TYPES = {
    "int": "INTEGER",
    "float": "REAL",
    "bool": "INTEGER",
    "decimal": "NUMERIC",
    "bytes": "BLOB",
    "any": "",
}


class Sqlite:
    """The TableSink of `.sqlite`. Columns that a table lacks are added, those of untyped dicts as they come.

    Decimals are NUMERIC (15 digits).
    """

    def __init__(
        self,
        path: str,
        columns: Columns,
        *,
        overwrite: bool = False,
        wait: float = 60.0,
        refuse: Refuse | None = None,
    ) -> None:
        self.path = os.path.abspath(path)
        self._columns = columns
        self._overwrite = overwrite
        self.refused: Counter[str] = Counter()
        """Rows that were refused, by kind, until somebody clears it."""
        self._refuse: Refuse = counting(refuse or Aside(os.path.dirname(self.path)).refuse, self.refused)
        self._wait = wait
        """Seconds to wait for another process's transaction."""
        self._base: sqlite3.Connection | None = None
        self._inserts: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {}
        self._types: dict[str, dict[str, str]] = {}
        """By kind: the types of the columns that need a look at each value, as the table has them."""
        self._misfits: list[Misfit] = []

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
        with self._mapped():
            try:
                self._put(kinds)
            except sqlite3.IntegrityError:
                self._put(kinds, singly=True)

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """See `parts.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            past.gone(base, pages)

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """See `parts.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return past.missing(base, site, run, at)

    def fates(self, sites: Sequence[str], since: str) -> tuple[int, int, int]:
        """See `parts.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return past.fates(base, sites, since)

    def unseen(self, site: str, run: str, at: str) -> int:
        """See `parts.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return past.unseen(base, site, run, at)

    def close(self) -> None:
        """Let the connection go; the last one folds the WAL into the file, also that of processes that are
        gone."""
        if self._base is None and os.path.exists(f"{self.path}-wal"):
            with self._mapped():
                # the file is opened when it is read
                self._connect().execute("SELECT count(*) FROM sqlite_master")
        if self._base is not None:
            self._base.close()
        self._base = None
        self._inserts.clear()

    def _put(self, kinds: Mapping[str, list[Row]], *, singly: bool = False) -> None:
        """Write rows by their kind; those with values that do not fit are kept aside, too. `singly`: some
        table has rules that somebody gave it; rows that it refuses are kept aside. (Not always so: what a
        savepoint keeps costs 2 us a row.)"""
        self._misfits.clear()
        with self._transaction() as base:
            for kind, group in kinds.items():
                typed = kind in self._columns
                into = self._inserts.get(kind) or self._table(base, kind, () if typed else loose_names(group))
                for rows in ([row] for row in group) if singly else [group]:
                    try:
                        with _savepoint(base) if singly else contextlib.nullcontext():
                            _put(
                                base,
                                kind,
                                into,
                                rows,
                                cell if typed else loose,
                                self._types.get(kind, {}),
                                self._misfits,
                            )
                    except sqlite3.IntegrityError as error:
                        if not singly:
                            raise
                        self._refuse(self.path, rows[0], str(error))
        for row, why in self._misfits:
            self._refuse(self.path, row, why)

    def _connect(self) -> sqlite3.Connection:
        if self._base is None:
            # the road calls from one thread at a time, not always the same one
            self._base = sqlite_wal.connect(self.path, self._wait, by_hand=True)
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
        """Make or widen the table of a kind inside the transaction; its column names, and what stands around
        the rows in its upsert.

        `loose`: fields of untyped dicts; then the names are all that such rows ever had.
        """
        columns = _all_of(kind, self._columns.get(kind))
        table = _name(kind)
        body = ", ".join(_column(column) for column in columns)
        base.execute(f"CREATE TABLE IF NOT EXISTS {table} ({body})")
        there = base.execute(f"PRAGMA table_info({table})").fetchall()
        known = {name.lower(): name for _, name, *_ in there}
        if "_key" not in known:
            raise UsageError(_foreign(self.path, kind))
        if why := _held({name.lower(): kept for _, name, kept, *_ in there}, columns):
            raise SinkError(f"{self.path}: {kind}: {why}: give another file with -o, or overwrite it with -O")
        room = max(0, MOST + len(columns) - len(known))
        columns += [Column(name, "any") for name in loose if name.lower() not in known][:room]
        for column in columns:
            if column.name.lower() not in known:
                base.execute(f"ALTER TABLE {table} ADD COLUMN {_column(column)}")
        if foreign := past.prepare(base, table, "" if kind in RECORDS else kind):
            raise UsageError(_foreign(self.path, foreign))
        names = tuple(column.name for column in columns)
        if kind not in self._columns:
            names = (*names, *(name for name in loose if known.get(name.lower()) == name))
        ours = past.ours(base, table, names, [name for _, name, kept, *_ in there if not kept])
        former = [
            name
            for _, name, _, must, value, *_ in there
            if name.lower() in ours and not must and value is None
        ]
        if kind not in self._columns:
            names = ("_key", *sorted({*former, *names} - {"_key", EXTRA}), EXTRA)
        listed = ", ".join(map(_quoted, names))
        head = f"INSERT INTO {table} ({listed}) VALUES "  # noqa: S608  names are quoted
        around = head, f" ON CONFLICT (_key) DO UPDATE SET {_changed(names, former)}"
        if not _keyed(base, around, len(names)):
            raise UsageError(_foreign(self.path, kind))
        if kind in self._columns:
            self._inserts[kind] = names, around
            there = base.execute(f"PRAGMA table_info({table})").fetchall()
            wanted = {column.name.lower() for column in columns if column.type in ("decimal", "bytes")}
            found = {name: kept.upper() for _, name, kept, *_ in there if name.lower() in wanted}
            self._types[kind] = {name: kept for name, kept in found.items() if kept in ("NUMERIC", "BLOB")}
        return names, around

    @contextlib.contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise _failure(self.path, error) from error


def _all_of(kind: str, declared: Sequence[Column] | None) -> list[Column]:
    """The columns of a table: those of its kind, and ours."""
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
def _savepoint(base: sqlite3.Connection) -> Iterator[None]:
    """All that is done within, or nothing of it."""
    base.execute("SAVEPOINT row")
    try:
        yield
    except sqlite3.IntegrityError:
        base.execute("ROLLBACK TO row")
        raise
    finally:
        if base.in_transaction:
            base.execute("RELEASE row")


def _put(
    base: sqlite3.Connection,
    kind: str,
    into: tuple[tuple[str, ...], tuple[str, str]],
    rows: Sequence[Row],
    cell: Callable[[Any], Any],
    types: Mapping[str, str],
    misfits: list[Misfit],
) -> None:
    """Write rows of a kind. `types`: of columns that need a look; `misfits` gets the rows with values that do
    not fit."""
    if kind not in RECORDS:
        rows = past.changed(base, _name(kind), rows)
    names = into[0]
    cells = values(names, rows, cell)
    if types:
        decimals = [n for n, name in enumerate(names) if types.get(name) == "NUMERIC"]
        binaries = [n for n, name in enumerate(names) if types.get(name) == "BLOB"]
        for row, cells_of_row in zip(rows, cells, strict=True):
            if decimals and (lost := without_loss(names, decimals, cells_of_row)):
                misfits.append((row, f"{', '.join(lost)}: SQLite has 15 digits; the row has all in {EXTRA}"))
            for n in binaries:
                if type(cells_of_row[n]) is str:
                    cells_of_row[n] = binary(cells_of_row[n]) or cells_of_row[n]
    try:
        insert(base, into[1], cells)
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, an integer beyond 64 bits
        for at, row in enumerate(rows):
            careful_cells = careful(names, cells[at])
            if any(type(value) is int and careful_cells[n] is None for n, value in enumerate(cells[at])):
                misfits.append((row, f"an integer of more than 64 bits; the row has it in {EXTRA}"))
            cells[at] = careful_cells
        insert(base, into[1], cells)


def _changed(names: Sequence[str], there: Sequence[str]) -> str:
    """What becomes of the columns of a row that is written again; `there`: columns of the table that rows had
    once are null."""
    ours = {name.lower() for name in names}
    new = [f"{_quoted(name)}=excluded.{_quoted(name)}" for name in names if name != "_key"]
    return ", ".join(new + [f"{_quoted(name)}=NULL" for name in there if name.lower() not in ours])


def _keyed(base: sqlite3.Connection, around: tuple[str, str], width: int) -> bool:
    """Whether rows can be upserted: the `_key` of a table is one."""
    try:
        base.execute(f"EXPLAIN {around[0]} ({', '.join('?' * width)}) {around[1]}", [None] * width)
    except sqlite3.OperationalError as error:
        if "ON CONFLICT" in str(error):
            return False
        raise
    return True


def _held(there: Mapping[str, str], columns: Sequence[Column]) -> str:
    """What would be kept otherwise than it is: texts in a column of numbers, which makes `7` of `007`.
    `there`: types of the columns."""
    for column in columns:
        kept, wanted = there.get(column.name.lower(), ""), _type(column)
        if kept and column.type != "time" and _holds_text(wanted) and not _holds_text(kept):
            return f"column {column.name} is {kept}, the items' is {wanted}"
    return ""


def _foreign(path: str, kind: str) -> str:
    return f"{path} has a table {kind} that is not gossamer's, its _key is no primary key: give another file, or overwrite it with -O"


def _name(kind: str) -> str:
    """The table of a kind, quoted; names that SQLite or we keep for ourselves get a `_`."""
    return _quoted(f"_{kind}" if kind.lower().startswith("sqlite_") or kind.lower() in TAKEN else kind)


def _column(column: Column) -> str:
    return f"{_quoted(column.name)} {_type(column)}" + (" PRIMARY KEY" if column.name == "_key" else "")


def _type(column: Column) -> str:
    return _TYPES.get(column.type, "TEXT")


def _holds_text(kept: str) -> bool:
    """Whether a column of a type keeps text that looks like a number as it is: SQLite's own rule."""
    kept = kept.upper()
    return "INT" not in kept and any(word in kept for word in ("CHAR", "CLOB", "TEXT", "BLOB"))


def _failure(path: str, error: sqlite3.Error | OSError) -> GossamerError:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in (28, 122):
        return DiskFull(f"no space left for {path}: free some, then run the same command again")
    if code == sqlite3.SQLITE_NOTADB:
        return SinkError(f"{path} is no SQLite database: give another file, or overwrite it with -O")
    return SinkError(f"cannot write {path}: {error}")

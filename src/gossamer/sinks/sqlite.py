"""SQLite: one table per kind, keyed by `_key`. Rows are upserted, so writing a row twice is the same as
writing it once.

An item that has not changed is not written again. The former states of a changed item are kept in the history
(module `history`). The functions that maintain the history run inside the transaction of a batch. The
arguments of these functions are quoted table names. The database uses WAL with `synchronous=FULL`. A commit
is on disk when it returns. Readers never wait. Several processes may write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import attrgetter
from types import UnionType
from typing import Any, get_args, get_type_hints

from gossamer.errors import ConfigError, DiskFull, GossamerError, SinkError, UsageError
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import (
    EXTRA,
    MAX_COLUMNS,
    OURS,
    Column,
    Columns,
    cell_value,
    extra_fields,
    given_fields,
    loose_names,
)
from gossamer.sinks.history import (
    COLUMNS,
    HISTORY,
    SIGHTINGS,
    STORED,
    TAKEN,
    Arrival,
    ItemState,
    PastState,
    PendingWrites,
    fold_writes,
    stored_columns,
)
from gossamer.sinks.jsonl import decode, encodable, exact_number, text
from gossamer.sinks.refused_rows import Refuse, RefusedRowsFile, note_refused
from gossamer.sinks.row_fitting import Misfit, binary
from gossamer.store import sqlite_wal

_STATEMENT_ROWS = (64, 16, 4, 1)
"""The possible numbers of rows in one INSERT statement. There are only a few different statements, so SQLite
can cache the compiled statements."""
_KEPT = frozenset((str, int, bool, type(None)))
_WIDE = 2**63
_EXACT_DIGITS = 15
"""SQLite stores every decimal of up to this many characters exactly."""
_RECORD = frozenset(PageRecord.__struct_fields__)
_PLAIN = frozenset(
    name
    for name, kind in get_type_hints(PageRecord).items()
    if {*(get_args(kind) if isinstance(kind, UnionType) else [kind])} <= {str, int, type(None)}
)
"""The fields of a page record whose values are stored in cells without conversion."""


def row_values(names: tuple[str, ...], rows: Sequence[Row], cell: Callable[[Any], Any]) -> list[list[Any]]:
    """Returns the rows as lists of cells in the order of the columns: `_key` first, `_extra` last."""
    between, known = names[1:-1], frozenset(names)
    record = attrgetter(*between) if len(between) > 1 and known - {"_key", EXTRA} <= _RECORD else None
    odd = [n for n, name in enumerate(between, 1) if name not in _PLAIN]
    found_rows = []
    for row in rows:
        data, extra = row.data, None
        if record and type(data) is PageRecord:
            given = given_fields(data, known)
            cells = [row.key, *record(data), given and text(given)]
            for n in odd:
                cells[n] = cell(cells[n])
            found_rows.append(cells)
            continue
        if type(data) is dict:
            found: Any = map(data.get, between)
            if undeclared_fields := extra_fields(row, known):
                extra = text(undeclared_fields)
        else:
            found = [getattr(data, name, None) for name in between]
        found_rows.append([row.key, *[v if type(v) in _KEPT else cell(v) for v in found], extra])
    return found_rows


def untyped_cell(value: Any) -> Any:
    """Converts a value to a cell of a column without a type. In a column without a type, SQLite does not
    convert text to a number. Therefore, this function converts a Decimal to a number if the number is
    exact."""
    if isinstance(value, Decimal) and isinstance(
        found := exact_number(value) if value.is_finite() else None, float | None
    ):
        return found
    return cell_value(value)


def insert(base: sqlite3.Connection, around: tuple[str, str], values: list[list[Any]]) -> None:
    """Inserts rows, with many rows in each statement. Each statement releases the interpreter lock, and a
    busy event loop is slow to give the lock back. Therefore, a few large statements are faster than many
    small statements."""
    width = len(values[0]) if values else 1
    most = base.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // width
    row = f"({', '.join('?' * width)})"
    while values:
        size = next(size for size in _STATEMENT_ROWS if size <= max(1, min(most, len(values))))
        base.execute(", ".join([row] * size).join(around), [one for some in values[:size] for one in some])
        values = values[size:]


def without_loss(names: tuple[str, ...], decimals: Sequence[int], row: list[Any]) -> list[str]:
    """Moves decimals from the row to `_extra` if their column cannot hold them exactly. Returns the names of
    the columns whose decimals were moved."""
    lost: dict[str, Any] = {}
    for n in decimals:
        told = row[n]
        if type(told) is str and len(told) > _EXACT_DIGITS and not isinstance(_number_of(told), float | int):
            lost[names[n]], row[n] = Decimal(told), None
    if lost:
        row[-1] = text(lost | (decode(row[-1]) if row[-1] else {}))
    return [*lost]


def _number_of(told: str) -> float | int | Decimal | None:
    """Returns the number to which a NUMERIC column converts the text of a decimal, or None if digits would be
    lost."""
    try:
        exact = Decimal(told)
        if exact == exact.to_integral_value() and abs(exact) < _WIDE:
            return int(exact)
        return exact_number(exact) if len(exact.normalize().as_tuple().digits) <= 15 else None
    except (ArithmeticError, ValueError):
        return None


def encodable_row(names: tuple[str, ...], row: list[Any]) -> list[Any]:
    """Returns a copy of the row that SQLite can store. Replaces unpaired surrogates in texts. Moves an
    integer of more than 64 bits to `_extra`, with all its digits."""
    row = [encodable(value) if isinstance(value, str) else value for value in row]
    wide = {
        name: value
        for name, value in zip(names, row, strict=True)
        if isinstance(value, int) and not -_WIDE <= value < _WIDE
    }
    if wide:
        row = [None if name in wide else value for name, value in zip(names, row, strict=True)]
        row[-1] = text(wide | (decode(row[-1]) if row[-1] else {}))
    return row


CHUNK_ROWS = 500
_ITEMS = "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = '_deleted_at'"


_BESIDE = {
    COLUMNS: ("_table", "_column"),
    HISTORY: ("_kind", "_key", "_from", "_until", "_hash", "_data"),
    SIGHTINGS: ("_kind", "_key", "_run"),
}
_KEYS = {COLUMNS: 2, HISTORY: 3, SIGHTINGS: 2}


def prepare(base: sqlite3.Connection, table: str, items: str = "") -> str:
    """Creates the additional tables of a kind: COLUMNS and, if the rows of the kind are items, also HISTORY,
    SIGHTINGS and indexes. `items`: the name of the kind if its rows are items, otherwise "". If another
    program already uses one of these names for its own table, returns that name, otherwise ""."""
    for column in ("_url", "_changed_at") if items else ():
        base.execute(f"CREATE INDEX IF NOT EXISTS {quoted(f'{column} of {items}')} ON {table} ({column})")
    for name, columns in _BESIDE.items() if items else [(COLUMNS, _BESIDE[COLUMNS])]:
        body, key = (", ".join(some) for some in ([f"{one} TEXT" for one in columns], columns[: _KEYS[name]]))
        base.execute(f"CREATE TABLE IF NOT EXISTS {name} ({body}, PRIMARY KEY ({key})) WITHOUT ROWID")
        if not {*columns} <= {column for _, column, *_ in base.execute(f"PRAGMA table_info({name})")}:
            return name
    return ""


def note_columns(
    base: sqlite3.Connection, table: str, names: Iterable[str], untyped: Iterable[str]
) -> set[str]:
    """Stores in the table COLUMNS which columns of a table gossamer created. Returns the lower-case names of
    all columns that gossamer created. `names`: the columns to store. `untyped`: the columns without a
    declared type. If COLUMNS has no entry for the table, the function also stores the untyped columns."""
    known = {name for (name,) in base.execute(f"SELECT _column FROM {COLUMNS} WHERE _table = ?", (table,))}  # noqa: S608
    if new := {name.lower() for name in (*names, *(() if known else untyped))} - known:
        base.executemany(f"INSERT INTO {COLUMNS} VALUES (?, ?)", [(table, name) for name in sorted(new)])  # noqa: S608
    return known | new


def keep_history(base: sqlite3.Connection, table: str, rows: Sequence[Row]) -> PendingWrites:
    """Copies stored rows to the history before new rows of the same kind replace them. Returns the new rows
    that must be written."""
    if runs := [(row.kind, encodable_text(row.key), row.run) for row in rows if row.run]:
        base.executemany(
            f"INSERT INTO {SIGHTINGS} VALUES (?, ?, ?) ON CONFLICT (_kind, _key) DO UPDATE SET _run = excluded._run "  # noqa: S608
            "WHERE _run != excluded._run",
            runs,
        )
    folded = fold_writes(rows, _known(base, table, rows))
    if folded.past:
        base.executemany(
            f"INSERT OR IGNORE INTO {HISTORY} VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
            [_ended(base, table, past) for past in folded.past],
        )
    return folded


def gone(base: sqlite3.Connection, pages: Sequence[tuple[str, str]]) -> None:
    """Marks the items of deleted pages as deleted. `pages` contains pairs of a page's URL and the time of its
    deletion (RFC 3339)."""
    for (table,) in base.execute(_ITEMS).fetchall():
        base.executemany(
            f"UPDATE {quoted(table)} SET _deleted_at = ? WHERE _url = ? AND _deleted_at IS NULL AND _seen_at <= ?",  # noqa: S608
            [(at, encodable_text(url), at) for url, at in pages],
        )


def missing(base: sqlite3.Connection, site: str, run: str, at: str) -> tuple[int, int]:
    """Counts the stored items of a site that are not marked as deleted. Returns the number of items that the
    run did not see, and the number of all items."""
    left = stored = 0
    for (table,) in base.execute(_ITEMS).fetchall():
        unmet, there = base.execute(
            f"SELECT coalesce(sum(NOT EXISTS (SELECT 1 FROM {SIGHTINGS} s WHERE s._kind = t._kind AND s._key = t._key "  # noqa: S608
            f"AND s._run = :run)), 0), count(*) FROM {quoted(table)} t WHERE _site = :site AND _deleted_at IS NULL AND _seen_at <= :at",
            {"at": at, "site": site, "run": run},
        ).fetchone()
        left, stored = left + unmet, stored + there
    return left, stored


def deleted(base: sqlite3.Connection, sites: Sequence[str], since: str) -> int:
    """Returns how many items of these sites were marked as deleted since a time (RFC 3339)."""
    places, total = ", ".join("?" * len(sites)), 0
    for (table,) in base.execute(_ITEMS).fetchall():
        where = f"_deleted_at >= ? AND _site IN ({places})"
        total += base.execute(
            f"SELECT count(*) FROM {quoted(table)} WHERE {where}",  # noqa: S608
            [since, *sites],
        ).fetchone()[0]
    return total


def unseen(base: sqlite3.Connection, site: str, run: str, at: str) -> int:
    """Marks items of a site as deleted if the run did not see these items. Returns the number of marked
    items."""
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
    """Quotes a name for SQL."""
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def encodable_text(value: str) -> str:
    """Returns the text with each unpaired surrogate replaced by U+FFFD."""
    return value if value.isascii() else encodable(value)


def _known(base: sqlite3.Connection, table: str, rows: Sequence[Row]) -> dict[tuple[str, str], ItemState]:
    """Returns the states of the given rows that the table already contains. A row that an older version of
    gossamer wrote has no hash, so any new content counts as a change."""
    kind, keys = rows[0].kind, list({encodable_text(row.key): row.key for row in rows}.items())
    known = {}
    for first in range(0, len(keys), CHUNK_ROWS):
        names = dict(keys[first : first + CHUNK_ROWS])
        for key, content, began, seen, since, deleted, url in base.execute(
            f"SELECT _key, _hash, _first_seen_at, _seen_at, _changed_at, _deleted_at, _url FROM {table} "  # noqa: S608
            f"WHERE _key IN ({', '.join('?' * len(names))})",
            list(names),
        ):
            known[kind, names[key]] = ItemState(
                content or "", began or seen or "", seen or "", since or seen or "", deleted, url or ""
            )
    return known


def _ended(base: sqlite3.Connection, table: str, past: PastState) -> tuple[str, ...]:
    kind, key = past.name
    if past.row is not None:
        data = {**_data(past.row), **stored_columns(past.row, past.state)}
    else:
        found = base.execute(f"SELECT * FROM {table} WHERE _key = ?", (encodable_text(key),))  # noqa: S608
        data = dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))
    return (
        encodable_text(kind),
        encodable_text(key),
        past.state.seen_at,
        past.until,
        past.state.hash,
        text(data),
    )


def _data(row: Row) -> dict[str, Any]:
    assert type(row.data) is dict
    return row.data


_TYPES = {
    "int": "INTEGER",
    "float": "REAL",
    "bool": "BOOLEAN",
    "decimal": "NUMERIC",
    "bytes": "BLOB",
    "any": "",
}


class Sqlite:
    """The TableSink for `.sqlite`. Missing columns are added to a table. For untyped dicts, each new field
    adds a column.

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
        self.arrivals: list[Arrival] = []
        """The rows of items that the last `upsert` wrote or found unchanged."""
        self.refused: list[Row] = []
        """The rows that the last `upsert` could not write completely."""
        self._refuse: Refuse = note_refused(
            refuse or RefusedRowsFile(os.path.dirname(self.path)).refuse, self.refused
        )
        self._wait = wait
        """The maximum time in seconds to wait for another process's transaction."""
        self._base: sqlite3.Connection | None = None
        self._inserts: dict[str, tuple[tuple[str, ...], tuple[str, str]]] = {}
        self._types: dict[str, dict[str, str]] = {}
        """Maps each kind to a dict of its decimal and binary columns. The dict maps each column with the
        declared type NUMERIC or BLOB to this type. Gossamer checks each value before it writes the value to
        such a column."""
        self._misfits: list[Misfit] = []

    def target(self) -> str:
        """Returns the absolute path of the database."""
        return self.path

    def prepare(self) -> int:
        """Creates the file and the tables of the declared kinds. If the sink has the option `overwrite`,
        first deletes an existing file. Returns 0. Raises UsageError, SinkError, DiskFull."""
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise UsageError(f"{self.path}: the folder {folder} does not exist; create it first")
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise UsageError(f"{self.path} is not a regular file")
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
        """See `interfaces.TableSink`."""
        kinds: dict[str, list[Row]] = {}
        for row in rows:
            kinds.setdefault(row.kind, []).append(row)
        with self._mapped():
            try:
                self._put(kinds)
            except sqlite3.IntegrityError:
                self._put(kinds, singly=True)

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """See `interfaces.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            gone(base, pages)

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """See `interfaces.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return missing(base, site, run, at)

    def deleted(self, sites: Sequence[str], since: str) -> int:
        """See `interfaces.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return deleted(base, sites, since)

    def unseen(self, site: str, run: str, at: str) -> int:
        """See `interfaces.HistorySink`."""
        with self._mapped(), self._transaction() as base:
            return unseen(base, site, run, at)

    def close(self) -> None:
        """Closes the connection. When the last connection closes, SQLite merges the WAL into the file. This
        also merges the WAL of processes that were killed."""
        if self._base is None and os.path.exists(f"{self.path}-wal"):
            with self._mapped():
                # the file is opened only when it is read
                self._connect().execute("SELECT count(*) FROM sqlite_master")
        if self._base is not None:
            self._base.close()
        self._base = None
        self._inserts.clear()

    def _put(self, kinds: Mapping[str, list[Row]], *, singly: bool = False) -> None:
        """Writes rows by kind. If a value does not fit its column, the row is written with this value in
        `_extra` instead. The row is also recorded as refused (`rejects`).

        `singly`: whether each row is written in its own savepoint. If `singly` is true, a row that violates a
        constraint of the table is recorded as refused, and all other rows are written. Users can add
        constraints to the table. Savepoints are not the default, because they cost 2 us per row.
        """
        self._misfits.clear()
        self.arrivals.clear()
        self.refused.clear()
        with self._transaction() as base:
            for kind, group in kinds.items():
                typed = kind in self._columns
                into = self._inserts.get(kind) or self._table(base, kind, () if typed else loose_names(group))
                for rows in ([row] for row in group) if singly else [group]:
                    try:
                        with _savepoint(base) if singly else contextlib.nullcontext():
                            arrivals = _put(
                                base,
                                kind,
                                into,
                                rows,
                                cell_value if typed else untyped_cell,
                                self._types.get(kind, {}),
                                self._misfits,
                            )
                    except sqlite3.IntegrityError as error:
                        if not singly:
                            raise
                        self._refuse(self.path, rows[0], str(error))
                    else:
                        self.arrivals += arrivals
        for row, why in self._misfits:
            self._refuse(self.path, row, why)

    def _connect(self) -> sqlite3.Connection:
        if self._base is None:
            # the worker makes one call at a time, but not always from the same thread
            self._base = sqlite_wal.open_sqlite(self.path, self._wait, by_hand=True)
        return self._base

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        base = self._connect()
        base.execute("BEGIN IMMEDIATE")
        try:
            yield base
            base.execute("COMMIT")
        except BaseException:
            # The rollback also removes the tables that this transaction created.
            self._inserts.clear()
            if base.in_transaction:
                base.execute("ROLLBACK")
            raise

    def _table(
        self, base: sqlite3.Connection, kind: str, loose: Sequence[str] = ()
    ) -> tuple[tuple[str, ...], tuple[str, str]]:
        """Creates the table of a kind inside the transaction, or adds the columns that it lacks. Returns the
        column names of the table, and the two pieces of SQL that enclose the rows in its upsert statement.

        `loose`: the fields of untyped dicts. For untyped dicts, the returned names include the fields of all
        earlier rows of the kind.
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
        room = max(0, MAX_COLUMNS + len(columns) - len(known))
        columns += [Column(name, "any") for name in loose if name.lower() not in known][:room]
        for column in columns:
            if column.name.lower() not in known:
                base.execute(f"ALTER TABLE {table} ADD COLUMN {_column(column)}")
        if foreign := prepare(base, table, "" if kind in RECORDS else kind):
            raise UsageError(_foreign(self.path, foreign))
        names = tuple(column.name for column in columns)
        if kind not in self._columns:
            names = (*names, *(name for name in loose if known.get(name.lower()) == name))
        ours = note_columns(base, table, names, [name for _, name, kept, *_ in there if not kept])
        former = [
            name
            for _, name, _, must, value, *_ in there
            if name.lower() in ours and not must and value is None
        ]
        if kind not in self._columns:
            names = ("_key", *sorted({*former, *names} - {"_key", EXTRA}), EXTRA)
        listed = ", ".join(map(quoted, names))
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
    """Returns the columns of a table, which are the columns of its kind and the columns that gossamer adds.
    Raises ConfigError."""
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
    """Opens a savepoint for the block, and rolls it back after an IntegrityError."""
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
) -> list[Arrival]:
    """Writes rows of a kind. `types`: the columns whose values must be checked, with their declared types.
    Rows with values that do not fit are added to `misfits`. Returns the arrivals of the items among the
    rows."""
    names, arrivals, complete = into[0], list[Arrival](), rows
    if kind not in RECORDS:
        folded = keep_history(base, _name(kind), rows)
        arrivals, rows = folded.arrivals, [row for row, _ in folded.rows.values()]
        complete = [
            Row(kind, row.key, {**_data(row), **stored_columns(row, state)})
            for row, state in folded.rows.values()
        ]
    cells = row_values(names, complete, cell)
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
    except (UnicodeEncodeError, OverflowError):  # an unpaired surrogate, or an integer of more than 64 bits
        for at, row in enumerate(rows):
            careful_cells = encodable_row(names, cells[at])
            if any(type(value) is int and careful_cells[n] is None for n, value in enumerate(cells[at])):
                misfits.append((row, f"an integer of more than 64 bits; the row has it in {EXTRA}"))
            cells[at] = careful_cells
        insert(base, into[1], cells)
    return arrivals


def _changed(names: Sequence[str], there: Sequence[str]) -> str:
    """Returns the SET clause of an upsert. Columns that are in `there` but not in `names` become null, so
    that no value of the replaced row remains."""
    ours = {name.lower() for name in names}
    new = [f"{quoted(name)}=excluded.{quoted(name)}" for name in names if name != "_key"]
    return ", ".join(new + [f"{quoted(name)}=NULL" for name in there if name.lower() not in ours])


def _keyed(base: sqlite3.Connection, around: tuple[str, str], width: int) -> bool:
    """Returns whether the table supports upserts, that is, whether `_key` is a unique key."""
    try:
        base.execute(f"EXPLAIN {around[0]} ({', '.join('?' * width)}) {around[1]}", [None] * width)
    except sqlite3.OperationalError as error:
        if "ON CONFLICT" in str(error):
            return False
        raise
    return True


def _held(there: Mapping[str, str], columns: Sequence[Column]) -> str:
    """Returns a message about the first column whose declared type would change texts, or "" if there is no
    such column. A column with a numeric type stores text as numbers, so `007` would become `7`. `there` maps
    the lower-case name of each column to its declared type."""
    for column in columns:
        kept, wanted = there.get(column.name.lower(), ""), _type(column)
        if kept and column.type != "time" and _holds_text(wanted) and not _holds_text(kept):
            return f"column {column.name} is {kept}, the items' is {wanted}"
    return ""


def _foreign(path: str, kind: str) -> str:
    return f"{path} has a table {kind} that is not gossamer's, its _key is not a primary key: give another file, or overwrite it with -O"


def _name(kind: str) -> str:
    """Returns the quoted table name of a kind. A name that SQLite or gossamer reserves gets a leading `_`."""
    return quoted(f"_{kind}" if kind.lower().startswith("sqlite_") or kind.lower() in TAKEN else kind)


def _column(column: Column) -> str:
    return f"{quoted(column.name)} {_type(column)}" + (" PRIMARY KEY" if column.name == "_key" else "")


def _type(column: Column) -> str:
    return _TYPES.get(column.type, "TEXT")


def _holds_text(kept: str) -> bool:
    """Returns whether a column with the declared type `kept` stores text unchanged, even if the text looks
    like a number. The result follows from SQLite's type affinity rules."""
    kept = kept.upper()
    return "INT" not in kept and any(word in kept for word in ("CHAR", "CLOB", "TEXT", "BLOB"))


def _failure(path: str, error: sqlite3.Error | OSError) -> GossamerError:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in (28, 122):
        return DiskFull(f"no space left for {path}: free some, then run the same command again")
    if code == sqlite3.SQLITE_NOTADB:
        return SinkError(f"{path} is not an SQLite database: give another file, or overwrite it with -O")
    return SinkError(f"cannot write {path}: {error}")

"""PostgreSQL: one table per kind, keyed by `_key`. Needs the extra `postgres`.

Rows are copied into a temporary table with COPY, and then written with a single upsert. Missing tables and
columns are created. `?table=NAME` sets the name of the table. In this name, `{kind}` stands for the kind, and
a dot separates the schema from the table. `?as=jsonb` stores an item's own fields in one JSON column.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, SinkAway, SinkError, UsageError
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import Column, Columns
from gossamer.sinks.history import (
    COLUMNS,
    COLUMNS_COLUMNS,
    HISTORY,
    HISTORY_COLUMNS,
    SIGHTINGS,
    SIGHTINGS_COLUMNS,
    STORED,
    ItemState,
    Name,
    PastState,
)
from gossamer.sinks.jsonl import text
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.row_fitting import FITS as FITS_OF_ARROW
from gossamer.sinks.row_fitting import Misfit, binary, number_within
from gossamer.sinks.sink_url import SinkUrl, table_name
from gossamer.sinks.upsert_sink import (
    BatchRefused,
    HistoryUpserts,
    TableColumns,
    Written,
    state_of,
    storable_text,
)

TYPES = {
    "str": "text",
    "json": "jsonb",
    "int": "bigint",
    "float": "double precision",
    "bool": "boolean",
    "decimal": "numeric",
    "time": "timestamptz",
    "date": "date",
    "strings": "text[]",
    "clock": "time without time zone",
    "span": "interval",
    "bytes": "bytea",
    "uuid": "uuid",
}
FITS = FITS_OF_ARROW | {"decimal": number_within(131_072, 16_383), "bytes": binary}
"""The functions that convert values to PostgreSQL's types."""
_WIDER = {
    "text": ("character varying", "character"),
    "bigint": ("integer", "smallint", "numeric", "text"),
    "jsonb": ("json", "text"),
    "double precision": ("numeric", "real", "text"),
    "timestamptz": ("timestamp with time zone", "text"),
    "text[]": (),
    "date": ("text",),
}
"""Maps each column type of gossamer to compatible types, which hold the same values without silent loss.
Gossamer accepts an existing column with a compatible type if another program created the column."""


def make_table(base: Any, where: str, called: str, columns: Sequence[Column], key: str) -> list[str]:
    """Creates a table, or adds the columns that it lacks. Returns the names of the table's other columns,
    except columns that are NOT NULL or have a default. `called`: the quoted name of the table. Raises
    UsageError, SinkError."""
    found = base.execute(
        "SELECT attname, format_type(atttypid, NULL), attnotnull OR atthasdef FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
        [called],
    ).fetchall()
    known = {column: kind for column, kind, _ in found}
    if not known:
        body = ", ".join(f"{quoted(column.name)} {TYPES[column.type]}" for column in columns)
        base.execute(f"CREATE TABLE IF NOT EXISTS {called} ({body}, PRIMARY KEY ({key}))")
        return []
    if not {*key.split(", ")} <= known.keys():
        raise UsageError(
            f"table {called} of {where} is not gossamer's: name another with ?table=, or ?table=SCHEMA.NAME"
        )
    names = {cut_name(column.name) for column in columns}
    for column in columns:
        kind, there = TYPES[column.type], known.get(cut_name(column.name))
        if (
            there is not None
            and there != kind
            and there not in _WIDER.get(kind, ("text", "character varying"))
        ):
            raise SinkError(
                f"{where}: column {column.name} of {called} is {there}, the rows' is {kind}: "
                "change it, or name another table with ?table="
            )
    if missing := [column for column in columns if cut_name(column.name) not in known]:
        added = ", ".join(f"ADD COLUMN IF NOT EXISTS {quoted(one)} {TYPES[kind]}" for one, kind, _ in missing)
        base.execute(f"ALTER TABLE {called} {added}")
    return [column for column, _, own in found if not own and column not in names]


def record_created_columns(
    base: Any, beside: str, where: str, called: str, names: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Records in the table `beside` that gossamer created these columns of a table. Returns the columns in
    `others` that gossamer created earlier, or [] if the database user may not access `beside`."""
    import psycopg

    try:
        with base.transaction():
            make_table(base, where, beside, COLUMNS_COLUMNS, "_table, _column")
            ours = {
                one for (one,) in base.execute(f"SELECT _column FROM {beside} WHERE _table = %s", [called])
            }
            if new := sorted({cut_name(one) for one in names} - ours):
                base.execute(
                    f"INSERT INTO {beside} SELECT %s, unnest(%s::text[]) ON CONFLICT DO NOTHING",
                    [called, new],
                )
    except psycopg.errors.InsufficientPrivilege:
        return []
    return [one for one in others if one in ours]


def forget_table(base: Any, beside: str, called: str) -> None:
    """Deletes the entries of a dropped table from the table `beside`. The table `beside` records the columns
    that gossamer created."""
    if base.execute("SELECT to_regclass(%s)", [beside]).fetchone()[0] is not None:
        base.execute(f"DELETE FROM {beside} WHERE _table = %s", [called])


def quoted(called: str) -> str:
    """Quotes a name for SQL."""
    return '"' + cut_name(called).replace('"', '""') + '"'


def cut_name(called: str) -> str:
    """Shortens a name to the 63 bytes that PostgreSQL allows. PostgreSQL would cut a longer name itself, and
    two names could then become equal."""
    called = storable_text(called)
    raw = called.encode()
    if len(raw) <= 63:
        return called
    return raw[:50].decode("utf-8", "ignore") + hashlib.blake2b(raw, digest_size=6).hexdigest()


_STATES = ("_first_seen_at", "_seen_at", "_changed_at", "_deleted_at")
_TIME = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'
_UNFIT = ("21", "22", "23", "54")
_PASSING = ("08", "25006", "40", "53", "55P03", "57")
_HOPELESS = ("28", "42501", "3D", "3F")
_REFUSED = (
    "authentication failed",
    "does not exist",
    "permission denied",
    "no pg_hba.conf entry",
    "is not permitted to log in",
    "no password supplied",
    "invalid connection option",
    "invalid URI",
    "invalid port",
    "invalid sslmode",
)


def postgresql(
    place: SinkUrl, columns: Columns, refuse: Refuse, *, overwrite: bool = False
) -> HistoryUpserts:
    """Returns the TableSink for a `postgresql://` URL. Raises ConfigError if the driver is not installed.
    Raises UsageError if the parameter `as` is invalid."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise ConfigError(f"-o {place.where} needs a driver: {install_command('postgres')}") from None
    if place.given.get("as", "columns") not in ("columns", "jsonb"):
        raise UsageError(f"-o {place.where}: as={place.given['as']} is neither columns nor jsonb")
    return HistoryUpserts(Postgres(place, columns, overwrite=overwrite), columns, refuse)


class Postgres:
    """The Driver for PostgreSQL. The driver connects when it first needs a connection."""

    def __init__(self, place: SinkUrl, columns: Columns, *, overwrite: bool = False) -> None:
        self.where = place.where
        self._url, self._given, self._overwrite = place.url, place.given, overwrite
        self._columns = columns
        self.misfits: list[Misfit] = []
        self._base: Any = None
        self._tables: dict[str, tuple[TableColumns, str, str, str]] = {}
        """Maps each kind to its columns, the table's quoted name, the COPY statement and the upsert
        statement."""

    def prepare(self, kinds: Sequence[str]) -> None:
        """See `upsert_sink.Driver`. If `overwrite` is set, first drops the tables of these kinds and deletes
        their history."""
        with self.begin():
            self._alone()
            if self._overwrite:
                for kind in kinds:
                    self._base.execute(f"DROP TABLE IF EXISTS {self._name(kind)}")
                    forget_table(self._base, self._beside(COLUMNS), self._name(kind))
                make_table(
                    self._base, self.where, self._beside(HISTORY), HISTORY_COLUMNS, "_kind, _key, _from"
                )
                self._base.execute(
                    f"DELETE FROM {self._beside(HISTORY)} WHERE _kind = ANY(%s)", [list(kinds)]
                )
            for kind in kinds:
                self._table(kind)

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """Opens a transaction for a batch. Connects if necessary, and converts the errors of psycopg."""
        import psycopg

        try:
            if self._base is None:
                self._connect()
            try:
                with self._base.transaction():
                    yield
            except BaseException:
                self._tables.clear()  # the rollback also removes the tables that this transaction created
                raise
        except psycopg.Error as error:
            raise self._failure(error) from error
        except UnicodeError as error:
            raise BatchRefused(str(error)) from error

    def known(self, kind: str, keys: Sequence[str]) -> Mapping[Name, ItemState]:
        """See `upsert_sink.Driver`. No other gossamer process writes the table until the transaction ends."""
        _, table, _, _ = self._table(kind)
        names = {storable_text(key): key for key in keys}
        self._base.execute("SELECT pg_advisory_xact_lock(%s)", [_number(table)])
        states = ", ".join(f"to_char({column} AT TIME ZONE 'UTC', '{_TIME}')" for column in _STATES)
        found = self._base.execute(
            f"SELECT _key, _hash, {states}, _url FROM {table} WHERE _key = ANY(%s)", [[*names]]
        )
        return {(kind, names[key]): state_of(*state) for key, *state in found}

    def past(self, kind: str, past: Sequence[PastState]) -> None:
        """See `upsert_sink.Driver`."""
        _, table, _, _ = self._table(kind)
        for one in past:
            key, was = storable_text(one.name[1]), "to_jsonb(t)"
            given = [kind, key, one.state.seen_at, one.until, one.state.hash, key]
            source = f"FROM {table} t WHERE _key = %s"
            if one.row is not None:
                was, source, given[-1] = "%s::jsonb", "", storable_text(text(one.row.data))
            self._base.execute(
                f"INSERT INTO {self._beside(HISTORY)} (_kind, _key, _from, _until, _hash, _data) "
                f"SELECT %s, %s, %s::timestamptz, %s::timestamptz, %s, {was} {source} ON CONFLICT DO NOTHING",
                given,
            )

    def put(self, kind: str, rows: Sequence[Written], careful: bool) -> None:
        """See `upsert_sink.Driver`. Uses COPY, and then a single upsert."""
        table, _, copy, insert = self._table(kind)
        with self._base.cursor() as cursor:
            with cursor.copy(copy) as lines:
                for row in table.values(rows, careful):
                    lines.write_row(row)
            cursor.execute(insert)

    def sighted(self, kind: str, runs: Sequence[tuple[str, str]]) -> None:
        """See `upsert_sink.HistoryDriver`."""
        self._table(kind)
        self._base.execute(
            f"INSERT INTO {self._beside(SIGHTINGS)} AS s SELECT %s, * FROM unnest(%s::text[], %s::text[]) "
            "ON CONFLICT (_kind, _key) DO UPDATE SET _run = excluded._run WHERE s._run <> excluded._run",
            [kind, [storable_text(key) for key, _ in runs], [run for _, run in runs]],
        )

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """See `upsert_sink.HistoryDriver`."""
        urls, times = [storable_text(url) for url, _ in pages], [at for _, at in pages]
        for table in self._items().values():
            self._base.execute(
                f"UPDATE {table} SET _deleted_at = p.at FROM unnest(%s::text[], "
                "%s::timestamptz[]) AS p (url, at) "
                "WHERE _url = p.url AND _deleted_at IS NULL AND _seen_at <= p.at",
                [urls, times],
            )

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """See `upsert_sink.HistoryDriver`."""
        left = stored = 0
        for kind, table in self._items().items():
            unmet, there = self._base.execute(
                "SELECT count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM "
                f"{self._beside(SIGHTINGS)} s WHERE s._kind = %s "
                f"AND s._key = t._key AND s._run = %s)), count(*) FROM {table} t "
                "WHERE _site = %s AND _deleted_at IS NULL AND _seen_at <= %s",
                [kind, run, site, at],
            ).fetchone()
            left, stored = left + unmet, stored + there
        return left, stored

    def deleted(self, sites: Sequence[str], since: str) -> int:
        """See `upsert_sink.HistoryDriver`."""
        total = 0
        for table in self._items().values():
            (found,) = self._base.execute(
                f"SELECT count(*) FROM {table} WHERE _deleted_at >= %s AND _site = ANY(%s)",
                [since, list(sites)],
            ).fetchone()
            total += found
        return total

    def unseen(self, site: str, run: str, at: str) -> int:
        """See `upsert_sink.HistoryDriver`."""
        return sum(
            self._base.execute(
                f"UPDATE {table} t SET _deleted_at = %s WHERE _site = %s AND "
                "_deleted_at IS NULL AND _seen_at <= %s "
                f"AND NOT EXISTS (SELECT 1 FROM {self._beside(SIGHTINGS)} s WHERE s._kind = %s "
                "AND s._key = t._key AND s._run = %s)",
                [at, site, at, kind, run],
            ).rowcount
            for kind, table in self._items().items()
        )

    def _items(self) -> dict[str, str]:
        """Returns the table of each kind of items, also of kinds that only other processes have written."""
        found = {kind: self._table(kind)[1] for kind in {*self._columns, *self._tables} - {*RECORDS}}
        make_table(self._base, self.where, self._beside(SIGHTINGS), SIGHTINGS_COLUMNS, "_kind, _key")
        told = {
            kind for (kind,) in self._base.execute(f"SELECT DISTINCT _kind FROM {self._beside(SIGHTINGS)}")
        }
        for kind in (told | self._written_kinds()) - {*found, *RECORDS}:
            if self._base.execute("SELECT to_regclass(%s)", [self._name(kind)]).fetchone()[0] is not None:
                found[kind] = self._name(kind)
        return found

    def _written_kinds(self) -> set[str]:
        """Returns the kinds of the rows in the tables of items that gossamer created."""
        import psycopg

        kinds = set()
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege), self._base.transaction():
            if self._base.execute("SELECT to_regclass(%s)", [self._beside(COLUMNS)]).fetchone()[0] is None:
                return set()
            for (table,) in self._base.execute(
                f"SELECT _table FROM {self._beside(COLUMNS)} t WHERE _column = %s "
                "AND to_regclass(_table) IS NOT NULL",
                [STORED[0].name],
            ).fetchall():
                kinds |= {kind for (kind,) in self._base.execute(f"SELECT _kind FROM {table} LIMIT 1")}
        return kinds - {None}

    def drop(self) -> None:
        """See `upsert_sink.Driver`."""
        base, self._base = self._base, None
        self._tables.clear()
        if base is not None:
            base.close()

    def _connect(self) -> None:
        import psycopg

        base: Any = psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=2,
            application_name="gossamer",
            client_encoding="UTF8",
            connect_timeout=10,
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            tcp_user_timeout=60_000,
        )
        self._base = base
        base.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE "
            "current_setting('synchronous_commit') = 'off'"
        )
        base.execute("SET lock_timeout = '30s'")

    def _table(self, kind: str) -> tuple[TableColumns, str, str, str]:
        """Returns the table of a kind. Creates the table inside the transaction, or adds the columns that it
        lacks."""
        if kind in self._tables:
            return self._tables[kind]
        self._alone()
        whole = self._given.get("as") == "jsonb"
        table = TableColumns(kind, self._columns, FITS, self.misfits, whole=whole, strict=True)
        called = self._name(kind)
        if kind not in RECORDS:
            make_table(self._base, self.where, self._beside(HISTORY), HISTORY_COLUMNS, "_kind, _key, _from")
            make_table(self._base, self.where, self._beside(SIGHTINGS), SIGHTINGS_COLUMNS, "_kind, _key")
        others = make_table(self._base, self.where, called, table.columns, "_key")
        former = record_created_columns(
            self._base, self._beside(COLUMNS), self.where, called, table.names, others
        )
        if kind not in RECORDS:
            for column in ("_url", "_changed_at"):
                index = quoted(f"{called.rpartition('.')[2].strip(chr(34))}_{column}")
                if not self._base.execute(
                    "SELECT 1 FROM pg_indexes WHERE indexname = %s", [index.strip('"')]
                ).fetchone():
                    self._base.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {called} ({column})")
        incoming = quoted(f"_in {kind}")
        typed = ", ".join(f"{quoted(column.name)} {TYPES[column.type]}" for column in table.columns)
        self._base.execute(f"DROP TABLE IF EXISTS pg_temp.{incoming}")
        self._base.execute(f"CREATE TEMPORARY TABLE {incoming} ({typed}) ON COMMIT DELETE ROWS")
        listed = ", ".join(map(quoted, table.names))
        changed = ", ".join(
            [f"{quoted(one)} = excluded.{quoted(one)}" for one in table.names[1:]]
            + [f"{quoted(one)} = NULL" for one in former]
        )
        insert = (
            f"INSERT INTO {called} ({listed}) SELECT {listed} FROM pg_temp.{incoming} ORDER BY _key "
            f"ON CONFLICT (_key) DO UPDATE SET {changed}"
        )
        # If the table's _key is not a unique key, this statement fails before the first row is written.
        self._base.execute(f"EXPLAIN {insert}")
        self._tables[kind] = table, called, f"COPY pg_temp.{incoming} ({listed}) FROM STDIN", insert
        return self._tables[kind]

    def _alone(self) -> None:
        """Takes a lock so that no other gossamer process creates tables until the transaction ends. If two
        processes created the same table at once, one would fail."""
        self._base.execute("SELECT pg_advisory_xact_lock(%s)", [_number("gossamer makes tables")])

    def _name(self, kind: str) -> str:
        called = table_name(self._given.get("table"), kind, next(iter(self._columns), kind))
        schema, dot, own = called.partition(".") if self._given.get("table") else ("", "", called)
        return f"{quoted(schema)}.{quoted(own)}" if dot else quoted(called)

    def _beside(self, own: str) -> str:
        schema, dot, _ = self._given.get("table", "").partition(".")
        return f"{quoted(schema)}.{own}" if dot else own

    def _failure(self, error: Any) -> Exception:
        import psycopg

        code, why = error.sqlstate or "", " ".join(str(error).split())[:300]
        if code.startswith(_UNFIT) or (not code and isinstance(error, psycopg.DataError)):
            return BatchRefused(why)
        if code.startswith(_HOPELESS) or (not code and any(words in why for words in _REFUSED)):
            return SinkError(f"{self.where}: {why}")
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) or code.startswith(_PASSING):
            return SinkAway(f"{self.where} does not accept rows: {why}")
        if code == "42804":
            return SinkError(
                f"{self.where}: the items do not fit an existing column: {why}; name another "
                "table with ?table="
            )
        return SinkError(f"{self.where}: {why}")


def _number(called: str) -> int:
    return int.from_bytes(hashlib.blake2b(called.encode(), digest_size=8).digest(), "big", signed=True)

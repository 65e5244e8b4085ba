"""Cassandra and databases with its protocol: one table per kind, keyed by `_key`. Needs the extra
`cassandra`.

Each row is written with one upsert at LOCAL_QUORUM. Many upserts run in parallel. Cassandra has no
transactions. Therefore, the sink writes the history before the row. Writing the same batch again changes
nothing. With `commitlog_sync: periodic`, a single node loses the writes of its last seconds when it is
killed. Therefore, a warning is printed on stderr. The values `batch` and `group` of `commitlog_sync`, or
several replicas, prevent the loss. `?table=NAME` sets the name of the table, in which `{kind}` stands for the
kind. Items are not marked as deleted in Cassandra. If a page is deleted, the sink would have to search for
the items of the page, and such a search would be slow.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, SinkAway, SinkError
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import Column, Columns
from gossamer.sinks.history import (
    COLUMNS,
    COLUMNS_COLUMNS,
    HISTORY,
    HISTORY_COLUMNS,
    ItemState,
    Name,
    PastState,
)
from gossamer.sinks.jsonl import text
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.row_fitting import FITS, Misfit, binary, number_within, time_in_milliseconds
from gossamer.sinks.sink_url import SinkUrl, table_name
from gossamer.sinks.upsert_sink import BatchRefused, TableColumns, Upserts, Written, state_of, storable_text

_TYPES = {
    "str": "text",
    "json": "text",
    "int": "bigint",
    "float": "double",
    "bool": "boolean",
    "decimal": "decimal",
    "time": "timestamp",
    "date": "date",
    "strings": "list<text>",
    "clock": "text",
    "span": "text",
    "bytes": "blob",
    "uuid": "uuid",
}
_FITS = FITS | {"decimal": number_within(10_000, 10_000), "time": time_in_milliseconds, "bytes": binary}
"""Converters that fit values to Cassandra's types. The number of digits of a decimal is limited because
Cassandra's own tools cannot show a longer decimal."""
_STATES = ("_hash", "_url", "_first_seen_at", "_seen_at", "_changed_at", "_deleted_at")
MAX_ROW_BYTES = 15 << 20
"""The maximum size of a row in bytes. Cassandra refuses a write that is larger than half of a commit log
segment, and 15 MiB is a little less than half of a segment of the default size."""
_MAX_CONCURRENT = 64


def cassandra(place: SinkUrl, columns: Columns, refuse: Refuse, *, overwrite: bool = False) -> Upserts:
    """Returns the TableSink of a `cassandra://` URL. Raises ConfigError if the driver is not installed."""
    try:
        import cassandra.cluster  # noqa: F401
    except ImportError:
        raise ConfigError(f"-o {place.where} needs a driver: {install_command('cassandra')}") from None
    return Upserts(Cassandra(place, columns, overwrite=overwrite), columns, refuse)


class Cassandra:
    """The Driver for Cassandra. The session manages the connections."""

    def __init__(self, place: SinkUrl, columns: Columns, *, overwrite: bool = False) -> None:
        self.where, self._place, self._columns, self._overwrite = place.where, place, columns, overwrite
        self._keyspace = urlsplit(place.url).path.strip("/")
        self.misfits: list[Misfit] = []
        self._cluster: Any = None
        self._session: Any = None
        self._tables: dict[str, tuple[TableColumns, Any, Any, int]] = {}
        """Maps each kind to a tuple of its columns, the prepared INSERT, the prepared SELECT, and the number
        of its former columns. A former column is a column of the table whose field was removed from the item
        class."""
        self._there: set[Name] = set()
        """The kind and key of each item in the current batch, if the item already has a row in the store."""
        self._past: Any = None
        logging.getLogger("cassandra").setLevel(logging.CRITICAL)  # this module reports the errors itself

    def prepare(self, kinds: Sequence[str]) -> None:
        """See `upsert_sink.Driver`. If `overwrite` is set, the tables of these kinds are dropped first, but
        their history stays."""
        with self.begin():
            self._warn()
            for kind in kinds:
                if self._overwrite:
                    self._session.execute(f"DROP TABLE IF EXISTS {self._name(kind)}")
                    self._forget(self._name(kind).strip('"'))
                self._table(kind)

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """Connects if necessary, and converts the driver's errors. There is no transaction."""
        import cassandra as words
        from cassandra.cluster import NoHostAvailable
        from cassandra.protocol import ErrorMessage, RequestValidationException

        try:
            if self._session is None:
                self._connect()
            yield
        except (words.Unauthorized, words.AuthenticationFailed) as error:
            raise SinkError(f"{self.where}: {_line(error)}") from error
        except NoHostAvailable as error:
            causes = [*error.errors.values()] if isinstance(error.errors, dict) else [error]
            if causes and all(isinstance(one, words.AuthenticationFailed) for one in causes):
                raise SinkError(f"{self.where}: {_line(causes[0])}") from error
            raise SinkAway(f"{self.where} does not accept rows: {_line(error)}") from error
        except words.InvalidRequest as error:
            if "unconfigured table" in str(error) or "eyspace" in str(error):
                raise SinkError(f"{self.where}: {_line(error)}") from error
            raise BatchRefused(_line(error)) from error
        except RequestValidationException as error:  # the server lacks a statement or option
            raise SinkError(f"{self.where}: {_line(error)}") from error
        except (UnicodeError, TypeError, OverflowError) as error:
            raise BatchRefused(_line(error)) from error
        except (words.DriverException, words.RequestExecutionException, ErrorMessage, OSError) as error:
            raise SinkAway(f"{self.where} does not accept rows: {_line(error)}") from error

    def known(self, kind: str, keys: Sequence[str]) -> Mapping[Name, ItemState]:
        """See `upsert_sink.Driver`."""
        _, _, select, _ = self._table(kind)
        found = {}
        for key, rows in zip(keys, self._all(select, [(storable_text(key),) for key in keys]), strict=True):
            for content, url, *times in rows:
                first, seen, changed, deleted = map(_text, times)
                found[kind, key] = state_of(content, first, seen, changed, deleted, url)
        self._there = {*found}
        return found

    def past(self, kind: str, past: Sequence[PastState]) -> None:
        """See `upsert_sink.Driver`."""
        self._table(kind)
        given = []
        for one in past:
            key = storable_text(one.name[1])
            if one.row is None:
                rows = self._session.execute(
                    f'SELECT JSON * FROM {self._name(kind)} WHERE "_key" = %s', (key,)
                )
                was = rows.one()[0]
            else:
                was = storable_text(text(one.row.data))
            given.append((kind, key, _time(one.state.seen_at), _time(one.until), one.state.hash, was))
        self._all(self._past, given)

    def put(self, kind: str, rows: Sequence[Written], careful: bool) -> None:
        """See `upsert_sink.Driver`."""
        from cassandra.query import UNSET_VALUE

        table, insert, _, former = self._table(kind)
        given = []
        for (row, state), values in zip(rows, table.values(rows, careful), strict=True):
            if sum(len(value) for value in values if isinstance(value, str)) > MAX_ROW_BYTES:
                raise BatchRefused(f"a row may have {MAX_ROW_BYTES} bytes")
            if not 0 < len(values[0].encode()) < 65_536:
                raise BatchRefused("a key may have 65,535 bytes, and at least one")
            # A new row replaces no old values, so its missing values need not be set to null.
            new = state is not None and (kind, row.key) not in self._there
            given.append(
                [
                    UNSET_VALUE if new and value is None else _FIT[column.type](value)
                    for column, value in zip(table.columns, values, strict=True)
                ]
                + [UNSET_VALUE if new else None] * former
            )
        self._all(insert, given)

    def drop(self) -> None:
        """See `upsert_sink.Driver`."""
        cluster, self._cluster, self._session = self._cluster, None, None
        self._tables.clear()
        if cluster is not None:
            cluster.shutdown()

    def _all(self, statement: Any, given: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Runs a statement once for each list of arguments, and returns a list of rows for each run. Many
        runs are concurrent. Raises the first error after all runs have ended."""
        from cassandra.concurrent import execute_concurrent_with_args

        found = execute_concurrent_with_args(
            self._session, statement, given, concurrency=_MAX_CONCURRENT, raise_on_first_error=False
        )
        for good, result in found:
            if not good:
                raise result
        return [[*result] for _, result in found]

    def _connect(self) -> None:
        import cassandra as words
        from cassandra.auth import PlainTextAuthProvider
        from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
        from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
        from cassandra.query import tuple_factory

        split = urlsplit(self._place.url)
        user, _, hosts = split.netloc.rpartition("@")
        called, _, password = user.partition(":")
        addresses = [host.rpartition(":")[0] or host if ":" in host else host for host in hosts.split(",")]
        port = next((int(host.rpartition(":")[2]) for host in hosts.split(",") if ":" in host), 9042)
        profile = ExecutionProfile(
            load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy()),
            consistency_level=words.ConsistencyLevel.LOCAL_QUORUM,
            request_timeout=30,
            row_factory=tuple_factory,
        )
        self._cluster = Cluster(
            addresses,
            port,
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            connect_timeout=10,
            ssl_context=self._tls(),
            auth_provider=PlainTextAuthProvider(unquote(called), unquote(password)) if user else None,
        )
        self._session = self._cluster.connect(self._keyspace)
        self._make(HISTORY, HISTORY_COLUMNS, '("_kind", "_key"), "_from"')
        self._past = self._session.prepare(_insert(f'"{HISTORY}"', HISTORY_COLUMNS))

    def _warn(self) -> None:
        """Warns on stderr if the server acknowledges writes that are not on its disk yet."""
        import cassandra as words

        with contextlib.suppress(words.InvalidRequest, words.Unauthorized):  # a server without that table
            found = self._session.execute(
                "SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'"
            ).one()
            if found and found[0] == "periodic":
                print(
                    f"gossamer: {self.where}: commitlog_sync is periodic: a killed node without "
                    "replicas loses its last seconds",
                    file=sys.stderr,
                )

    def _tls(self) -> Any:
        given = self._place.given
        if given.get("tls") != "yes" and "ca_file" not in given:
            return None
        import ssl

        return ssl.create_default_context(cafile=given.get("ca_file"))

    def _table(self, kind: str) -> tuple[TableColumns, Any, Any, int]:
        """Returns the table of a kind. Creates the table, or adds the columns that it lacks."""
        if kind not in self._tables:
            table, called = TableColumns(kind, self._columns, _FITS, self.misfits), self._name(kind)
            bare = called.strip('"')
            former = self._lost(bare, table.names, self._make(bare, table.columns, '"_key"'))
            states = ", ".join(f'"{column}"' for column in _STATES)
            select = 'SELECT {} FROM {} WHERE "_key" = ?'.format(
                states if kind not in RECORDS else '"_key"', called
            )
            insert = self._session.prepare(_insert(called, [*table.columns, *map(Column, former)]))
            self._tables[kind] = table, insert, self._session.prepare(select), len(former)
        return self._tables[kind]

    def _there_are(self, called: str) -> dict[str, str]:
        """Returns the columns of a table with their types."""
        return dict(
            self._session.execute(
                "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = %s AND "
                "table_name = %s",
                (self._keyspace, called),
            )
        )

    def _make(self, called: str, columns: Sequence[Column], key: str) -> list[str]:
        """Creates a table, or adds the columns that it lacks. Returns the names of the columns that exist in
        the table but not in `columns`. Raises SinkError if the table is not gossamer's, or if a column has
        the wrong type."""
        known = self._there_are(called)
        if not known:
            body = ", ".join(f'"{column.name}" {_TYPES[column.type]}' for column in columns)
            self._session.execute(f'CREATE TABLE IF NOT EXISTS "{called}" ({body}, PRIMARY KEY ({key}))')
            return []
        if not {*re.findall(r'"(.+?)"', key)} <= known.keys():
            raise SinkError(f"{self.where}: the table {called} is not gossamer's: name another with ?table=")
        for column in columns:
            if column.name not in known:
                self._session.execute(f'ALTER TABLE "{called}" ADD "{column.name}" {_TYPES[column.type]}')
            elif known[column.name] != _TYPES[column.type]:
                raise SinkError(
                    f"{self.where}: column {column.name} of {called} is {known[column.name]}, the "
                    f"items' is {_TYPES[column.type]}: "
                    "name another table with ?table="
                )
        names = {column.name for column in columns}
        return [column for column in known if column not in names]

    def _forget(self, called: str) -> None:
        """Deletes the entries for a dropped table from the table COLUMNS."""
        import cassandra as words

        with contextlib.suppress(
            words.InvalidRequest, words.Unauthorized
        ):  # the table COLUMNS does not exist, or is not accessible
            self._session.execute(f'DELETE FROM "{COLUMNS}" WHERE "_table" = %s', (called,))

    def _lost(self, called: str, names: Sequence[str], others: Sequence[str]) -> list[str]:
        """Records in the table COLUMNS that gossamer created the columns `names` of a table. Returns the
        columns in `others` that gossamer created earlier, or [] if the user may not access COLUMNS."""
        import cassandra as words

        try:
            self._make(COLUMNS, COLUMNS_COLUMNS, '"_table", "_column"')
            found = self._session.execute(f'SELECT "_column" FROM "{COLUMNS}" WHERE "_table" = %s', (called,))
            ours = {column for (column,) in found}
            if new := sorted({*names} - ours):
                note = self._session.prepare(_insert(f'"{COLUMNS}"', COLUMNS_COLUMNS))
                self._all(note, [(called, column) for column in new])
        except words.Unauthorized:
            return []
        return [column for column in others if column in ours]

    def _name(self, kind: str) -> str:
        """Returns the quoted table name of a kind, which has at most 48 letters, digits and _."""
        called = table_name(self._place.given.get("table"), kind, next(iter(self._columns), kind))
        safe = re.sub(r"\W", "_", called, flags=re.ASCII)
        if safe != called or len(safe) > 48:
            safe = (
                safe[:39]
                + "_"
                + hashlib.blake2b(called.encode("utf-8", "replace"), digest_size=4).hexdigest()
            )
        return f'"{safe}"'


def _insert(called: str, columns: Sequence[Column]) -> str:
    listed = ", ".join(f'"{column.name}"' for column in columns)
    return f"INSERT INTO {called} ({listed}) VALUES ({', '.join('?' * len(columns))})"


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value.replace("Z", "+00:00")).astimezone(UTC)


def _text(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="milliseconds") + "Z"


def _same(value: Any) -> Any:
    return value


_FIT: dict[str, Any] = dict.fromkeys(_TYPES, _same) | {
    "time": _time,
    "decimal": lambda value: None if value is None else Decimal(value),
    "date": lambda value: None if value is None else date.fromisoformat(value),
    "uuid": lambda value: None if value is None else UUID(value),
}


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]

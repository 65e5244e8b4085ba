"""The database of the price history: a SQLite file, or PostgreSQL. Both databases run the same statements,
with `?` for a value. Only one transaction writes at a time, and other writers wait. In PostgreSQL, an
advisory lock makes the other writers wait. Readers never wait.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from gossamer.client.install_command import install_command
from gossamer.errors import ConfigError, DiskFull, GossamerError
from gossamer.uses.prices.schema import INDEXES, TABLES, VERSION

WAIT_S = 60.0
"""Seconds to wait for the transactions of other processes."""
_LOCK = 0x676F7373_70726963
"""The key of the advisory lock in PostgreSQL."""


class Database:
    """A connection with the tables of the price history. Only one thread at a time may use a connection.

    `url`: the path of a SQLite file, or `postgresql://...`. Raises ConfigError if the database cannot be
    used. Errors of statements are GossamerErrors, too. For another kind of history, a subclass defines the
    tables.
    """

    tables: tuple[str, ...] = TABLES
    indexes: tuple[str, ...] = INDEXES
    version = VERSION
    kind = "price"
    """The prefix of the names of all tables of the history. The table of the history with the suffix `_meta`
    contains the version of the schema."""

    def __init__(self, url: str) -> None:
        self.is_sqlite = not url.startswith(("postgresql://", "postgres://"))
        self.name = url if self.is_sqlite else "the PostgreSQL database"
        self._base: Any = None
        self._is_writing = False
        self._errors: type[Exception] = sqlite3.Error
        with self._reported(ConfigError):
            self._base = self._sqlite(url) if self.is_sqlite else self._postgresql(url)
        try:
            self._prepare()
        except GossamerError:
            self.close()
            raise

    def _sqlite(self, path: str) -> sqlite3.Connection:
        # an amount is sent as exact text, and a NUMERIC column converts the text to a number
        sqlite3.register_adapter(Decimal, str)
        base = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        until = time.monotonic() + WAIT_S
        while True:  # SQLite's own timeout does not apply to PRAGMA journal_mode
            try:
                base.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    base.close()
                    raise
                time.sleep(0.01)
        base.execute("PRAGMA synchronous=FULL")
        return base

    def _postgresql(self, url: str) -> Any:
        try:
            import psycopg
        except ImportError:
            raise ConfigError(
                f"a {self.kind} history in PostgreSQL needs another package: {install_command('postgres')}"
            ) from None
        self._errors = psycopg.Error
        return psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=2,
            application_name=f"gossamer {self.kind}s",
            connect_timeout=10,
        )

    def _prepare(self) -> None:
        """Creates the tables that do not exist. Refuses a database of a later version."""
        words = (
            {"id": "INTEGER", "without_rowid": "WITHOUT ROWID", "bytes": "BLOB"}
            if self.is_sqlite
            else {"id": "BIGINT", "without_rowid": "", "bytes": "BYTEA"}
        )
        with self.transaction():
            for statement in self.tables:
                self.execute(statement.format(**words))
            for statement in self.indexes:
                self.execute(statement.format(**words))
            self.execute(
                f"INSERT INTO {self.kind}_meta (name, value) VALUES ('version', ?) ON CONFLICT (name) DO NOTHING",
                [str(self.version)],
            )
            ((version,),) = self.rows(f"SELECT value FROM {self.kind}_meta WHERE name = 'version'")
        if int(version) > self.version:
            raise ConfigError(
                f"{self.name} was written by a later gossamer (version {version} of its tables, this one knows "
                f"{self.version}): upgrade gossamer"
            )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A context manager for a transaction that writes. Other writers wait until the transaction ends. An
        inner transaction is part of the outer transaction."""
        if self._is_writing:
            yield
            return
        with self._reported():
            self._base.execute("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")
            self._is_writing = True
            try:
                if not self.is_sqlite:
                    self._base.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
                yield
                self._base.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(self._errors):
                    self._base.execute("ROLLBACK")
                raise
            finally:
                self._is_writing = False

    def next_seq(self) -> int:
        """Returns the number of this transaction, which its records get in the column `seq`. Transactions that
        write records follow one another, so no record with a lower number appears later."""
        meta = f"{self.kind}_meta"
        assert self._is_writing, "outside a transaction, the order of the records is not known"
        self.execute(
            f"INSERT INTO {meta} (name, value) VALUES ('seq', '1') ON CONFLICT (name) DO UPDATE "
            f"SET value = CAST(CAST({meta}.value AS BIGINT) + 1 AS TEXT)"
        )
        ((value,),) = self.rows(f"SELECT value FROM {meta} WHERE name = 'seq'")
        return int(value)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Runs one statement. Returns the number of changed rows."""
        with self._reported():
            return int(self._base.execute(self._written(sql), self._bound(values)).rowcount)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs one statement for each row."""
        bound = [self._bound(row) for row in rows]
        if not bound:
            return
        with self._reported():
            self._base.cursor().executemany(self._written(sql), bound)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs a query. Returns its rows. The type of amounts depends on the database (see `amount`)."""
        with self._reported():
            found: list[tuple[Any, ...]] = self._base.execute(
                self._written(sql), self._bound(values)
            ).fetchall()
        return found

    def rows_in(
        self, sql: str, names: Iterable[str] | Iterable[int], size: int = 500
    ) -> list[tuple[Any, ...]]:
        """Runs a query that contains `IN (?)` for many names. `size`: the number of names per query."""
        found: list[tuple[Any, ...]] = []
        wanted: list[str | int] = list(dict.fromkeys(names))
        for start in range(0, len(wanted), size):
            part = wanted[start : start + size]
            places = min(size, 1 << (len(part) - 1).bit_length())  # powers of two: few statements to compile
            part += part[-1:] * (places - len(part))
            found += self.rows(sql.replace("IN (?)", f"IN ({', '.join('?' * places)})"), part)
        return found

    def close(self) -> None:
        """Closes the connection."""
        if self._base is not None:
            self._base.close()
            self._base = None

    def _written(self, sql: str) -> str:
        return sql if self.is_sqlite else sql.replace("?", "%s")

    def _bound(self, values: Sequence[Any]) -> Sequence[Any]:
        if self.is_sqlite:
            return values
        return [int(value) if isinstance(value, bool) else value for value in values]

    @contextlib.contextmanager
    def _reported(self, kind: type[GossamerError] = GossamerError) -> Iterator[None]:
        """A context manager that converts a database error to an error with a one-line message."""
        try:
            yield
        except self._errors as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code & 0xFF == sqlite3.SQLITE_FULL:
                raise DiskFull(
                    f"{self.name}: the disk is full: free space, and run the same command again"
                ) from None
            raise kind(f"{self.name} cannot be used: {' '.join(str(error).split())[:300]}") from None


def amount(value: Any) -> Decimal | None:
    """Converts a number from the database to a Decimal."""
    return None if value is None else Decimal(str(value))

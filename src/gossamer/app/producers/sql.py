"""Reads the rows of a query from SQLite, or from PostgreSQL (with the extra `postgres`). Streams the rows, so
the rows are never all in memory at the same time.

The query returns a column `url`. The query may also return columns with the names of other fields of a JSON
lines seed (docs/records.md), such as `priority`. If the query contains `:after` and returns a column `after`,
an interrupted read continues after the last value that was added. The first read uses 0 for `:after`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gossamer.app.producers.source import BATCH_URLS, UrlBatch
from gossamer.app.targets import Rejected, SeedLine, seed
from gossamer.config.optional_deps import install_command
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, GossamerError, StoreError, UsageError
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

_AFTER = re.compile(r"(?<!:):after\b")
_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


class SqlUrls:
    """The producer for the target `DATABASE QUERY`: the database's URL, then the query. The URL may contain
    references to secrets: `${env:NAME}`, `${file:PATH}`."""

    beside = "*"

    def __init__(self, text: str) -> None:
        database, _, self.query = text.partition(" ") if " " in text else text.partition("\n")
        self.name = f"sql {text}"
        self.query = self.query.strip().rstrip(";")
        self._after = _AFTER.search(self.query) is not None
        self._row = 0
        self.url = _REFERENCE.sub(_secret, database)
        self._base: Any = None

    async def open(self, collector: Collector | None = None) -> None:
        """Connects, and lets the database check the query."""
        if self.url.startswith("sqlite:"):
            await self._open_file()
        elif self.url.startswith(("postgresql://", "postgres://")):
            await self._open_server()
        else:
            raise UsageError(f"{mask(self.url)}: the database must be sqlite:FILE or postgresql://...")

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields all rows, or only the rows after the stored position. Rows with the same `after` value may
        span two batches. The position advances to a value only after all rows with this value were read."""
        done = last = _value(position["after"]) if position and self._after else 0
        is_checked = False
        async with contextlib.aclosing(self.rows(last)) as found:
            async for names, some in found:
                if not is_checked:
                    self._columns(names)
                    is_checked = True
                if self._after and "after" not in names:
                    raise ConfigError(
                        "a query with :after must return a column `after`, for example SELECT id AS "
                        "after, url ..."
                    )
                requests, rejected = self._taken(names, some)
                for value in (row[names.index("after")] for row in some if self._after):
                    if value is not None and value != last:
                        done, last = last, value
                yield UrlBatch(requests, rejected, {"after": _kept(done)} if self._after else None)
        if self._after:
            yield UrlBatch([], [], {"after": _kept(last)})

    async def rows(self, after: Any = 0) -> AsyncGenerator[tuple[list[str], list[Any]], None]:
        """Yields pairs of the column names and the next rows. The columns may have any names. If the query
        has no rows, yields one pair with the column names. `after`: the value of the query's parameter
        `:after`."""
        found = self._of_file(after) if self.url.startswith("sqlite:") else self._of_server(after)
        async with contextlib.aclosing(found):
            async for names, some in found:
                yield names, some

    async def added(self, batch: UrlBatch) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Closes the connection."""
        if isinstance(self._base, sqlite3.Connection):
            await asyncio.to_thread(self._base.close)
        elif self._base is not None:
            await self._base.close()
        self._base = None

    def _taken(self, names: list[str], rows: Sequence[Sequence[Any]]) -> tuple[list[Request], list[Rejected]]:
        requests, rejected = [], []
        for row in rows:
            self._row += 1
            fields = {name: value for name, value in zip(names, row, strict=True) if value is not None}
            fields.pop("after", None)
            if isinstance(number := fields.get("id"), int):
                fields["id"] = str(number)
            try:
                for name in ("headers", "carry"):
                    if isinstance(fields.get(name), str):
                        fields[name] = json.loads(fields[name])
                requests.append(seed(msgspec.convert(fields, SeedLine)))
            except (msgspec.ValidationError, UsageError, ValueError) as error:
                rejected.append(Rejected("sql", self._row, str(fields.get("url", ""))[:500], str(error)))
        return requests, rejected

    async def _open_file(self) -> None:
        path = Path(self.url.removeprefix("sqlite:").removeprefix("//"))

        def opened() -> sqlite3.Connection:
            base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            base.execute(f"EXPLAIN {self.query}", self._given(0)).close()
            return base

        try:
            self._base = await asyncio.to_thread(opened)
        except sqlite3.Error as error:
            raise _off(path, self.query, error) from error

    async def _of_file(self, after: Any) -> AsyncGenerator[tuple[list[str], list[Any]], None]:
        try:
            cursor = await asyncio.to_thread(self._base.execute, self.query, self._given(after))
            names = [column[0] for column in cursor.description or ()]
            yield names, []
            while rows := await asyncio.to_thread(cursor.fetchmany, BATCH_URLS):
                yield names, rows
        except sqlite3.Error as error:
            raise _off(self.url, self.query, error) from error

    async def _open_server(self) -> None:
        try:
            import psycopg
        except ImportError:
            raise ConfigError(f"sql:postgresql://... needs a driver: {install_command('postgres')}") from None
        try:
            self._base = await psycopg.AsyncConnection.connect(self.url, connect_timeout=10)
        except psycopg.OperationalError as error:
            raise StoreError(f"the database {mask(self.url)} does not answer: {_line(error)}") from error
        except psycopg.Error as error:
            raise _off(self.url, self.query, error) from error

    async def _of_server(self, after: Any) -> AsyncGenerator[tuple[list[str], list[Any]], None]:
        import psycopg

        text, given = self.query, None
        if self._after:
            text, given = _AFTER.sub("%(after)s", text.replace("%", "%%")), {"after": after}
        try:
            async with self._base.cursor(name="gossamer") as cursor:
                await cursor.execute(text, given)
                names = [column.name for column in cursor.description or ()]
                yield names, []
                while rows := await cursor.fetchmany(BATCH_URLS):
                    yield names, rows
        except psycopg.OperationalError as error:
            raise StoreError(
                f"the database {mask(self.url)} closed the connection: {_line(error)}; run it again"
            ) from error
        except psycopg.Error as error:
            raise _off(self.url, self.query, error, first=self._after and after == 0) from error

    def _given(self, after: Any) -> dict[str, Any]:
        return {"after": after} if self._after else {}

    def _columns(self, names: list[str]) -> None:
        if "url" not in names:
            raise ConfigError(
                f"the query returns no column `url` but {', '.join(names) or 'nothing'}: write "
                "SELECT ... AS url"
            )
        known = {*SeedLine.__struct_fields__, "after"}
        if strange := [name for name in names if name not in known]:
            raise ConfigError(
                f"the query returns an unknown column `{strange[0]}`; the columns of a seed are "
                f"{', '.join(sorted(known))}"
            )


def _kept(after: Any) -> Any:
    """Converts a value of the column `after` to a form that JSON can represent."""
    if isinstance(after, bytes):
        return {"bytes": base64.b64encode(after).decode()}
    return after if after is None or isinstance(after, int | float | str) else str(after)


def _value(kept: Any) -> Any:
    return base64.b64decode(kept["bytes"]) if isinstance(kept, dict) else kept


def _off(where: object, query: str, error: Exception, *, first: bool = False) -> GossamerError:
    hint = (
        "; :after is 0 at first: compare it with extract(epoch FROM ...) of a time, or with a numeric id"
        if first
        else ""
    )
    return ConfigError(f"{mask(str(where))}: {_line(error)}{hint}; the query was: {query[:200]}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _secret(found: re.Match[str]) -> str:
    kind, name = found.groups()
    try:
        return os.environ[name] if kind == "env" else Path(name).expanduser().read_text("utf-8").strip()
    except KeyError:
        raise ConfigError(f"sql: the environment has no {name}") from None
    except OSError as error:
        raise ConfigError(f"sql: the file {name} cannot be read: {error.strerror}") from None

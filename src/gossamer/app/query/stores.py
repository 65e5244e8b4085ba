"""Reads the rows of stores: PostgreSQL, MongoDB, Cassandra, hashes and lists of Valkey. The sinks provide the
connections and convert the errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from gossamer.errors import ConfigError, GossamerError
from gossamer.sinks.columns import EXTRA, OURS
from gossamer.sinks.history import STORED, TAKEN
from gossamer.sinks.jsonl import decode
from gossamer.sinks.sink_url import SinkUrl
from gossamer.sinks.upsert_sink import BatchRefused
from gossamer.store.blocking_client import BlockingClient

Row = dict[str, Any]
_BESIDE = {"_key", EXTRA, *(column.name for column in (*OURS, *STORED))}


def read_stored_rows(at: SinkUrl) -> Iterator[Row]:
    """Yields the rows of a store with the values that its driver returns. Raises ConfigError if the store
    cannot be read."""
    if "***" in at.url:
        raise ConfigError(
            f"{at.where}: its password was not kept; crawl with -o and a reference to it, as ${{env:NAME}}"
        )
    reader = READERS.get(at.kind)
    if reader is None:
        raise ConfigError(
            f"{at.where}: rows in this output cannot be read back; crawl with a second -o that can be read"
        )
    try:
        yield from reader(at)
    except ConfigError:
        raise
    except ImportError as error:
        raise ConfigError(f"{at.where} cannot be read: {error}") from error
    except (GossamerError, BatchRefused) as error:
        raise ConfigError(f"{at.where} cannot be read: {error}") from error


def _postgresql(at: SinkUrl) -> Iterator[Row]:
    from psycopg import rows, sql
    from psycopg.types.json import set_json_loads

    from gossamer.sinks.postgresql import Postgres

    driver = Postgres(at, {})
    schema, dot, _ = at.given.get("table", "").partition(".")
    with contextlib.closing(_Closed(driver.drop)), driver.begin():
        base = driver._base
        set_json_loads(decode, base)
        found = base.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = '_key' AND NOT a.attisdropped "
            "WHERE c.relkind = 'r' AND CASE WHEN %s THEN n.nspname = %s ELSE pg_table_is_visible(c.oid) "
            "AND n.nspname !~ '^pg_temp' END ORDER BY 1, 2",
            [bool(dot), schema],
        ).fetchall()
        for space, table in found:
            if not _named(at.given.get("table", "").rpartition(".")[2], table):
                continue
            with base.cursor(f"gossamer {table}"[:60], row_factory=rows.dict_row) as cursor:
                cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(space, table)))
                for row in cursor:
                    yield _whole(row)


def _mongodb(at: SinkUrl) -> Iterator[Row]:
    from bson import Decimal128

    from gossamer.sinks.mongodb import Mongo

    def natural(value: Any) -> Any:
        if isinstance(value, Decimal128):
            return value.to_decimal()
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC)
        if isinstance(value, dict):
            return {name: natural(part) for name, part in value.items()}
        return [natural(part) for part in value] if isinstance(value, list) else value

    driver = Mongo(at, {})
    with contextlib.closing(_Closed(driver.drop)), driver.begin():
        for called in sorted(driver._base.list_collection_names()):
            if not _named(at.given.get("collection", ""), called):
                continue
            for one in driver._base[called].find():
                key, row = one.pop("_id"), natural(one)
                extra = row.pop(EXTRA, None) or {}
                for name, told in extra.items() if isinstance(extra, dict) else ():
                    row[name] = told if name == "_id" else _parsed(told)
                yield row if "_kind" in row else {"_key": key, **row}


def _cassandra(at: SinkUrl) -> Iterator[Row]:
    from cassandra.util import Date, SortedSet

    from gossamer.sinks.cassandra import Cassandra

    def natural(value: Any) -> Any:
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC)
        if isinstance(value, Date):
            return value.date()
        return list(value) if isinstance(value, SortedSet) else value

    driver = Cassandra(at, {})
    with contextlib.closing(_Closed(driver.drop)), driver.begin():
        session = driver._session
        found = session.execute(
            "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = %s",
            (driver._keyspace,),
        )
        tables = sorted({table for table, column in found if column == "_key"})
        for table in tables:
            if _named(at.given.get("table", ""), table):
                rows = session.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a name out of the catalogue, quoted
                names = rows.column_names
                for row in rows:
                    yield _whole({name: natural(value) for name, value in zip(names, row, strict=True)})


def _valkey(at: SinkUrl) -> Iterator[Row]:
    from gossamer.sinks.valkey import ValkeyConnection

    client = ValkeyConnection(at)
    with contextlib.closing(_Closed(client.drop)), client.use() as base:
        if "list" in at.given:
            start = 0
            while lines := base.lrange(at.given["list"], start, start + 999):
                yield from filter(None, map(_row, lines))
                start += len(lines)
            return
        pattern = at.given["hash"]
        names = [pattern.encode()]
        if "{" in pattern:
            glob = re.sub(r"([*?\[\]\\^-])", r"\\\1", pattern).replace("{kind}", "*").replace("{key}", "*")
            names = sorted(_hashes(base, glob))
        for name in names:
            if name.decode("utf-8", "replace") in TAKEN:
                continue
            if "{key}" in pattern:
                yield {
                    n.decode("utf-8", "replace"): v.decode("utf-8", "replace")
                    for n, v in base.hgetall(name).items()
                }
            else:
                cursor = None
                while cursor != 0:
                    cursor, found = base.hscan(name, cursor or 0, count=1000)
                    yield from filter(None, map(_row, found.values()))


def _hashes(base: BlockingClient, glob: str) -> set[bytes]:
    """Returns the keys of all hashes that match a pattern."""
    names: set[bytes] = set()
    cursor = None
    while cursor != 0:
        cursor, found = base.execute_command(
            "SCAN", cursor or 0, "MATCH", glob, "COUNT", 1000, "TYPE", "hash"
        )
        names.update(found)
    return names


READERS: dict[str, Callable[[SinkUrl], Iterator[Row]]] = {
    "postgresql": _postgresql,
    "mongodb": _mongodb,
    "cassandra": _cassandra,
    "valkey": _valkey,
}


class _Closed:
    def __init__(self, close: Callable[[], None]) -> None:
        self.close = close


def _named(pattern: str, called: str) -> bool:
    """Returns whether an output with `table=PATTERN` may have created the table named `called`."""
    if called in TAKEN:
        return False
    if not pattern:
        return True
    parts = [re.escape(part) for part in pattern.split("{kind}")]
    return (
        re.fullmatch(".*".join(parts) if len(parts) > 1 else f"{parts[0]}(_.*)?", called, re.DOTALL)
        is not None
    )


def _whole(row: Row) -> Row:
    """Converts a table row to a row in which each field of the item is a separate field. An item that is an
    untyped dict is stored in the single column `data`."""
    if row.keys() - _BESIDE == {"data"}:
        own = _parsed(row["data"])
        if isinstance(own, dict):
            return {**own, **{name: value for name, value in row.items() if name != "data"}}
    return row


def _row(told: bytes) -> Row | None:
    found = _parsed(told)
    return found if isinstance(found, dict) else None


def _parsed(told: Any) -> Any:
    try:
        return decode(told) if isinstance(told, str | bytes) else told
    except msgspec.DecodeError:
        return told

"""Sends the records and events of a history to outputs: every store, stream and file to which rows can be
appended.

The history stays complete whatever the outputs do. Each output receives each kind of records in the order in
which they were written, from its own position on. The position is stored in the history after the output has
received the records. So a record is sent at least once, always with the same id as its key.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import msgspec

from gossamer.client.row_outputs import RowOutputs, check_output_spec, is_file_missing, output_name
from gossamer.errors import GossamerError, UsageError
from gossamer.uses.prices.database import Database, amount

BATCH_ROWS = 500
_BEFORE_ALL = -(1 << 62)
KeyedRow = tuple[str, Mapping[str, Any]]


class RecordKind(NamedTuple):
    """A kind of records. `name`: the kind of the rows in the outputs. `table`: the table of the history that
    contains the records. `read(database, after, last)`: returns the records whose `seq` is greater than
    `after` and at most `last`, each with its key. `record`: the class that declares the columns, or None for
    rows without declared columns."""

    name: str
    table: str
    read: Callable[[Database, int, int], list[KeyedRow]]
    record: type[msgspec.Struct] | None = None


class SentRecords(NamedTuple):
    """The records of a kind that an output has received."""

    output: str
    """The name of the output, without secrets."""
    kind: str
    rows: int


def chosen_kinds(kinds: Mapping[str, RecordKind], what: Sequence[str]) -> list[RecordKind]:
    """Returns the kinds that a user has chosen by their names. Without names, returns the first kind. Raises
    UsageError for an unknown name."""
    for name in what:
        if name not in kinds:
            raise UsageError(f"--what {name}: choose {', '.join(kinds)}")
    return [kinds[name] for name in dict.fromkeys(what)] or [next(iter(kinds.values()))]


def check_outputs(outputs: Sequence[str], kinds: Sequence[RecordKind], folder: str) -> None:
    """Opens outputs before a run begins. Raises UsageError, ConfigError, SinkError or SinkAway for an output
    that cannot receive records."""
    for output in outputs:
        # a SQLite file would be created, and no longer count as a new output
        if check_output_spec(output) != "sqlite":
            RowOutputs([output], "gossamer", "check", folder, _classes(kinds)).close()


def send_records(
    database: Database,
    outputs: Sequence[str],
    folder: str,
    kinds: Sequence[RecordKind],
    *,
    again: bool = False,
) -> list[SentRecords]:
    """Sends the records that the outputs do not have yet. Returns what was sent, by output and kind.

    `outputs`: the outputs in the syntax of the option `-o`. `folder`: the folder for rows that are not sent
    yet. `again`: whether to send all records of the history, for example because an output lost its rows. If
    an output fails, the other outputs still receive their records. Then the first error is raised:
    UsageError, ConfigError, SinkError, SinkAway or DiskFull. The next call sends the records that are left.
    """
    sent: list[SentRecords] = []
    failed: GossamerError | None = None
    for output in outputs:
        try:
            _send(database, output, folder, kinds, again, sent)
        except GossamerError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return sent


def _send(
    database: Database,
    output: str,
    folder: str,
    kinds: Sequence[RecordKind],
    again: bool,
    sent: list[SentRecords],
) -> None:
    name = output_name(output)
    places = {kind.name: f"sent {kind.name} {name}" for kind in kinds}
    begins = {
        kind.name: _BEFORE_ALL
        if again or is_file_missing(output, kind.name)
        else _read_position(database, places[kind.name])
        for kind in kinds
    }
    batch = " ".join(f"{kind}:{begins[kind]}" for kind in sorted(begins))
    rows = RowOutputs([output], f"gossamer {database.kind}s", batch, folder, _classes(kinds))
    try:
        for kind in kinds:
            after, count = begins[kind.name], 0
            while (last := _end_of_batch(database, kind.table, after)) is not None:
                found = kind.read(database, after, last)
                for start in range(0, len(found), BATCH_ROWS):
                    rows.send(kind.name, found[start : start + BATCH_ROWS])
                after, count = last, count + len(found)
                _write_position(database, places[kind.name], after)
            if count:
                sent.append(SentRecords(name, kind.name, count))
    finally:
        rows.close()


def _classes(kinds: Sequence[RecordKind]) -> dict[str, type[msgspec.Struct]]:
    return {kind.name: kind.record for kind in kinds if kind.record is not None}


def _end_of_batch(database: Database, table: str, after: int) -> int | None:
    """Returns the last `seq` of the next batch, or None if there are no more records. All records with the
    same `seq` are in one batch."""
    ordered = f"SELECT seq FROM {table} WHERE seq > ? ORDER BY seq"
    rows = database.rows(f"{ordered} LIMIT 1 OFFSET {BATCH_ROWS - 1}", [after]) or database.rows(
        f"{ordered} DESC LIMIT 1", [after]
    )
    return int(rows[0][0]) if rows else None


def _read_position(database: Database, name: str) -> int:
    rows = database.rows(f"SELECT value FROM {database.kind}_meta WHERE name = ?", [name])
    return int(rows[0][0]) if rows else _BEFORE_ALL


def _write_position(database: Database, name: str, seq: int) -> None:
    with database.transaction():
        database.execute(
            f"INSERT INTO {database.kind}_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value",
            [name, str(seq)],
        )


def keyed_rows(record: type[msgspec.Struct], rows: Iterable[Sequence[Any]]) -> list[KeyedRow]:
    """Converts rows of a history to records. Each row contains the fields of the record in their order. The
    first field is the key."""
    names, converters = record.__struct_fields__, _converters(record)
    found: list[KeyedRow] = []
    for row in rows:
        values = [
            value if value is None or convert is None else convert(value)
            for value, convert in zip(row, converters, strict=True)
        ]
        found.append((str(values[0]), dict(zip(names, values, strict=True))))
    return found


@cache
def _converters(record: type[msgspec.Struct]) -> list[Callable[[Any], Any] | None]:
    """Returns for each field the function that converts the value from the database, or None."""
    hints = typing.get_type_hints(record)
    known: dict[Any, Callable[[Any], Any]] = {
        datetime: lambda value: datetime.fromtimestamp(value, UTC),
        Decimal: amount,
        bool: bool,
        float: float,
        list[str]: msgspec.json.Decoder(list[str]).decode,
    }
    found = []
    for name in record.__struct_fields__:
        hint = hints[name]
        inner = next((one for one in typing.get_args(hint) if one is not type(None)), hint)
        found.append(known.get(hint) or known.get(inner))
    return found

"""Writes the tables of a program to an Excel, Parquet, CSV, JSON Lines or SQLite file."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from gossamer.errors import UsageError
from gossamer.model.visit import Row
from gossamer.sinks.columns import Column
from gossamer.sinks.field_types import FieldType, common_shape, of_value
from gossamer.sinks.output_spec import WHOLE, OpenedOutput, open_output, parse
from gossamer.sinks.sink_url import kind_of


class TableRows(NamedTuple):
    """A table. `names`: the column names. `rows`: the rows. Each row contains Python values, such as numbers,
    decimals, datetimes and strings."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]


def text_rows(table: TableRows) -> list[list[str]]:
    """Returns the rows of a table as texts. Times are in UTC, and an amount has all its digits."""
    return [[_text(name, value) for name, value in zip(table.names, row, strict=True)] for row in table.rows]


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, Decimal):
        return f"{value:+f}" if name == "percent" else f"{value:f}"
    return str(value)


def write_tables(spec: str, tables: Mapping[str, TableRows]) -> list[str]:
    """Writes tables to a file, and returns the paths of the written files. `spec`: the output, in the syntax
    of the option `-o`. `tables`: the tables by name. An existing file is replaced. An Excel file has one
    sheet per table. If several tables are written as CSV or Parquet, each table has its own file. Raises
    UsageError, ConfigError, SinkError or DiskFull."""
    path, form = parse(spec)
    if form in WHOLE or kind_of(spec) or "://" in path:
        raise UsageError(
            f"-o {spec}: a table is written to a file: .xlsx, .parquet, .csv, .jsonl, .json or .sqlite"
        )
    columns = {name: _columns(table) for name, table in tables.items()}
    with tempfile.TemporaryDirectory(prefix="gossamer-") as folder, contextlib.ExitStack() as ends:
        output = open_output(spec, columns, overwrite=True, owner="gossamer tables", folder=folder)
        made = [
            Row(name, str(number), dict(zip(table.names, values, strict=True)))
            for name, table in tables.items()
            for number, values in enumerate(table.rows, 1)
        ]
        if not isinstance(output, OpenedOutput):
            ends.callback(output.close)
            output.prepare()
            output.upsert(made)
            return [os.path.abspath(path)]
        lengths = {sink.target(): sink.prepare() for sink in output.sinks()}
        for sink, part in output.route(made):
            known = lengths.get(sink.target())
            lengths[sink.target()] = sink.append(sink.prepare() if known is None else known, part)
        for sink in output.sinks():
            sink.close(lengths[sink.target()])
        return sorted(lengths)


def _columns(table: TableRows) -> tuple[Column, ...]:
    return tuple(_column(name, [row[place] for row in table.rows]) for place, name in enumerate(table.names))


def _column(name: str, values: Sequence[Any]) -> Column:
    known: FieldType | None = None
    for value in values:
        if (shape := of_value(value)) is not None:
            known = shape if known is None else common_shape(known, shape)
    if known is None:
        return Column(name, "str")
    return Column(name, known.kind, known if known.kind == "decimal" else None)

"""Writes the tables of a program to a file of any format: Excel, Parquet, CSV, JSON lines or SQLite."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gossamer.errors import UsageError
from gossamer.model.visit import Row
from gossamer.sinks.columns import Column
from gossamer.sinks.field_types import FieldType, common_shape, of_value
from gossamer.sinks.output_spec import WHOLE, OpenedOutput, open_output, parse
from gossamer.sinks.sink_url import kind_of


class TableRows(NamedTuple):
    """A table: the names of its columns, and its rows with values such as numbers, decimals, times and texts."""

    names: Sequence[str]
    rows: Sequence[Sequence[Any]]


def write_tables(spec: str, tables: Mapping[str, TableRows]) -> list[str]:
    """Writes tables by name to a file, and returns the paths. An existing file is replaced. Excel files have
    one sheet per table. For CSV and Parquet, several tables are written to one file each. `spec`: an output
    as given after `-o`. Raises UsageError, ConfigError, SinkError and DiskFull."""
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

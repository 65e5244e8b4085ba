"""Yields the rows of outputs and logs one by one."""

from __future__ import annotations

import contextlib
import csv
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from gossamer.app.query.stores import read_stored_rows
from gossamer.config.optional_deps import install_command
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, GossamerError
from gossamer.model.item import to_json_value
from gossamer.sinks.columns import EXTRA, Column
from gossamer.sinks.csv import unguarded
from gossamer.sinks.history import TAKEN
from gossamer.sinks.jsonl import decode, exact_number
from gossamer.sinks.output_spec import is_formula_guarded, is_kind_link, parse
from gossamer.sinks.rows_in_data_folder import NAME, iterate_kept
from gossamer.sinks.sink_url import FORMS, parse_sink_url

Row = dict[str, Any]


def rows_of(spec: str) -> Iterator[Row]:
    """Yields the rows of the output `spec`, with the values that a JSON lines output would contain. `spec` is
    in the form of `-o`. Raises ConfigError if the output cannot be read."""
    if parse(spec).format in ("jsonl", "json"):
        yield from natural_rows_of(spec)
        return
    yield from map(to_json_values, natural_rows_of(spec))


def natural_rows_of(spec: str) -> Iterator[Row]:
    """Yields the rows of an output. The values have the types that the format of the output provides, such as
    dates, decimals and bytes. Raises ConfigError."""
    path, form = parse(spec)
    if form in FORMS and form != "own":
        yield from (_with_extra(row) for row in read_stored_rows(parse_sink_url(spec)))
        return
    tables = partial(_tables, guard=is_formula_guarded(spec))
    readers: dict[str, Callable[[Path], Iterator[Row]]] = {
        "jsonl": _lines,
        "json": _array,
        "csv": tables,
        "parquet": _parts,
        "sqlite": _database,
    }
    reader = readers.get(form)
    if reader is None or "://" in path:
        raise ConfigError(
            f"{mask(path)}: rows in this output cannot be read back; crawl with a second -o that can be read"
        )
    if not (Path(path).is_file() or Path(path).is_dir() or not Path(path).exists()):
        raise ConfigError(f"{path} is not a regular file: it cannot be read again")
    try:
        for row in reader(Path(path)):
            yield (
                row if form in ("jsonl", "json") else _with_extra(row)
            )  # JSON lines already have every field in its place
    except (OSError, sqlite3.Error, csv.Error) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def kept_rows(folder: Path) -> Iterator[Row]:
    """Yields the items and page records that a crawl keeps in its folder. The values keep their types, for
    example dates and decimals. Raises ConfigError."""
    try:
        for row in iterate_kept(folder / NAME):
            yield row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data)
    except (OSError, GossamerError) as error:
        raise ConfigError(f"{folder / NAME} cannot be read: {error}") from error


def restore_types(row: Row, columns: Sequence[Column]) -> Row:
    """Converts the texts in a row from a store back to the types of its columns."""
    found = dict(row)
    for column in columns:
        value = row.get(column.name)
        if isinstance(value, str) and column.type in ("json", "strings", "int", "float", "decimal", "bool"):
            with contextlib.suppress(msgspec.DecodeError):
                found[column.name] = decode(value)
    return found


def _with_extra(row: Row) -> Row:
    extra = row.pop(EXTRA, None)
    return row if not extra else row | _loose(extra)


def _loose(extra: Any) -> Row:
    """Returns the fields for which the table has no column."""
    try:
        found = decode(extra) if isinstance(extra, str) else extra
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for line in file:
            with contextlib.suppress(
                msgspec.DecodeError
            ):  # the last line of a running crawl may be incomplete
                if isinstance(row := decode(line), dict):
                    yield row


def _array(path: Path) -> Iterator[Row]:
    """Yields the rows of a JSON array. While a run is still writing the file, the end of the array may be
    missing."""
    with path.open("rb") as file:
        for line in file:
            with contextlib.suppress(msgspec.DecodeError):
                if isinstance(row := decode(line.rstrip(b",\n")), dict):
                    yield row


def _kinds(path: Path) -> list[tuple[Path, str]]:
    """Returns the files of an output with one file per kind, each with its kind."""
    found = [(path, "page")] if path.exists() and not is_kind_link(str(path)) else []
    stem = path.name.removesuffix(path.suffix)
    kinds = sorted(path.parent.glob(f"{stem}.*{path.suffix}"))
    found += [(one, one.name.removeprefix(f"{stem}.").removesuffix(path.suffix)) for one in kinds]
    return found


def _tables(path: Path, guard: bool = True) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)  # a field may be longer than the csv module's default limit of 128 KiB
    for file, _ in _kinds(path):
        with file.open(encoding="utf-8-sig", newline="") as opened:
            for row in csv.DictReader(opened):
                yield {
                    name: (unguarded(value) if guard else value) if value else None
                    for name, value in row.items()
                }


def _parts(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ConfigError(f"{path}: Parquet needs pyarrow: {install_command('parquet')}") from error
    for folder, _ in _kinds(path):
        for part in sorted(folder.glob("part-*.parquet")):
            for batch in parquet.ParquetFile(part).iter_batches(1000):
                yield from batch.to_pylist(maps_as_pydicts="lossy")


def to_json_values(row: Row) -> Row:
    """Returns a copy of a row in which each value has the form that it has in JSON lines, such as a text for
    a time."""
    return {name: _said(value) for name, value in row.items()}


def _said(value: Any) -> Any:
    """Returns a value as JSON lines represent it: a time as text, a decimal as a number."""
    if type(value) in _READY:
        return value
    if isinstance(value, datetime):
        exact = "microseconds" if value.microsecond % 1000 else "milliseconds"
        value = value if value.tzinfo else value.replace(tzinfo=UTC)
        return value.astimezone(UTC).isoformat(timespec=exact).replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return exact_number(value.normalize(_DIGITS)) if value.is_finite() else None
    if isinstance(value, dict):
        return {str(name): _said(part) for name, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [_said(part) for part in value]
    return to_json_value(value)


_READY = frozenset((str, int, float, bool, type(None)))
_DIGITS = Context(prec=200_000)


def _database(path: Path) -> Iterator[Row]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        base.row_factory = sqlite3.Row
        names = [
            row[0]
            for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        for name in names:
            quoted = '"' + name.replace('"', '""') + '"'
            columns = {row[1]: row[2] for row in base.execute(f"PRAGMA table_info({quoted})")}
            booleans = [column for column, kind in columns.items() if kind == "BOOLEAN"]
            if (
                columns.keys() & {"_key", "_url", "url"} and name not in TAKEN
            ):  # only tables of current rows, no history tables
                for row in base.execute(f"SELECT * FROM {quoted}"):  # noqa: S608 - a name out of the catalogue, quoted
                    found = dict(row)
                    for column in booleans:
                        if found[column] in (0, 1):
                            found[column] = bool(found[column])
                    yield found

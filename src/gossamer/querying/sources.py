"""Outputs and logs as rows, one after the other."""

from __future__ import annotations

import contextlib
import csv
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from gossamer.errors import ConfigError
from gossamer.extras import install
from gossamer.sinks.columns import EXTRA
from gossamer.sinks.csv import unguarded
from gossamer.sinks.formats import parse
from gossamer.sinks.history import TAKEN
from gossamer.sinks.jsonl import number, parsed

Row = dict[str, Any]


def rows_of(spec: str) -> Iterator[Row]:
    """The rows of an output, named as after `-o`. Raises ConfigError when it cannot be read."""
    path, form = parse(spec)
    reader = {"jsonl": _lines, "csv": _tables, "parquet": _parts, "sqlite": _database}.get(form)
    if reader is None or "://" in path:
        raise ConfigError(f"{path}: its rows are not for reading here; ask the store itself")
    if not (Path(path).is_file() or Path(path).is_dir() or not Path(path).exists()):
        raise ConfigError(f"{path} is no plain file: it cannot be read again")
    try:
        for row in reader(Path(path)):
            extra = None if form == "jsonl" else row.pop(EXTRA, None)  # JSON lines have a place for each field
            yield row if not extra else row | _loose(extra)
    except (OSError, sqlite3.Error, csv.Error) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


def _loose(extra: Any) -> Row:
    """What had no column of its own."""
    try:
        found = parsed(extra) if isinstance(extra, str) else extra
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for line in file:
            with contextlib.suppress(msgspec.DecodeError):  # the last line of a run that is at work
                if isinstance(row := parsed(line), dict):
                    yield row


def _kinds(path: Path) -> list[tuple[Path, str]]:
    """The files of an output that has one a kind, each with its kind."""
    found = [(path, "page")] if path.exists() else []
    stem = path.name.removesuffix(path.suffix)
    kinds = sorted(path.parent.glob(f"{stem}.*{path.suffix}"))
    found += [(one, one.name.removeprefix(f"{stem}.").removesuffix(path.suffix)) for one in kinds]
    return found


def _tables(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)  # Python's own, 128 KiB, is less than a text may have
    for file, _ in _kinds(path):
        with file.open(encoding="utf-8", newline="") as opened:
            for row in csv.DictReader(opened):
                yield {name: unguarded(value) if value else None for name, value in row.items()}


def _parts(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ConfigError(f"{path}: Parquet needs pyarrow: {install('parquet')}") from error
    for folder, _ in _kinds(path):
        for part in sorted(folder.glob("part-*.parquet")):
            for batch in parquet.ParquetFile(part).iter_batches(1000):
                for row in batch.to_pylist():
                    yield {name: _said(value) for name, value in row.items()}


def _said(value: Any) -> Any:
    """A value of Parquet as the other outputs have it: a moment as text, a decimal as a number."""
    if isinstance(value, datetime):
        exact = "microseconds" if value.microsecond % 1000 else "milliseconds"
        return value.astimezone(UTC).isoformat(timespec=exact).replace("+00:00", "Z")
    return number(value.normalize()) if isinstance(value, Decimal) else value


def _database(path: Path) -> Iterator[Row]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        base.row_factory = sqlite3.Row
        names = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        for name in names:
            quoted = '"' + name.replace('"', '""') + '"'
            columns = {row[1] for row in base.execute(f"PRAGMA table_info({quoted})")}
            if columns & {"_key", "_url", "url"} and name not in TAKEN:  # rows of ours as they are now
                for row in base.execute(f"SELECT * FROM {quoted}"):  # noqa: S608 - a name out of the catalogue, quoted
                    yield dict(row)

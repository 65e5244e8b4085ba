"""Exports the rank history to CSV, Excel or Parquet files."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.client.install_command import install_command
from gossamer.client.spreadsheets import path_and_encoding
from gossamer.errors import ConfigError, UsageError
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.page_rows import unpack_results

ENDINGS = (".csv", ".xlsx", ".parquet")
_SEARCH = ("keyword", "engine", "country", "language", "location", "device")
_NAMED = ", ".join(f"s.{name}" for name in _SEARCH)
MAX_SHEET_ROWS = 1_048_575
"""Maximum number of rows below the header of an Excel sheet."""


class ExportTable(NamedTuple):
    """A table that can be exported, with the column names and the SQL query for the rows. `times`: the
    columns with seconds since the epoch, which are exported as times in UTC."""

    columns: tuple[str, ...]
    query: str
    times: tuple[str, ...] = ("time",)


_JOIN = "JOIN rank_searches s ON s.id = {table}.search"
TABLES = {
    "positions": ExportTable(
        (
            *(
                "time",
                *_SEARCH,
                "domain",
                "own",
                "position",
                "depth",
                "absolute",
                "page",
                "url",
                "title",
                "note",
            ),
            *("volume", "run"),
        ),
        f"SELECT p.time, {_NAMED}, p.domain, d.own, p.position, p.depth, p.absolute, p.page, p.url, p.title, p.note, "
        f"s.volume, p.run FROM rank_positions p {_JOIN.format(table='p')} LEFT JOIN rank_domains d ON d.search = "
        "p.search AND d.domain = p.domain WHERE p.time >= ? ORDER BY p.time, s.keyword, p.search, p.domain",
    ),
    "checks": ExportTable(
        ("time", *_SEARCH, "state", "error", "depth", "requests", "credits", "run"),
        f"SELECT c.time, {_NAMED}, c.state, c.error, c.depth, c.requests, c.credits, c.run FROM rank_checks c "
        f"{_JOIN.format(table='c')} WHERE c.time >= ? ORDER BY c.time, s.keyword, c.search",
    ),
    "features": ExportTable(
        ("time", *_SEARCH, "type", "domain", "count", "run"),
        f"SELECT f.time, {_NAMED}, f.type, f.domain, f.count, f.run FROM rank_features f {_JOIN.format(table='f')} "
        "WHERE f.time >= ? ORDER BY f.time, s.keyword, f.search, f.type, f.domain",
    ),
    "events": ExportTable(
        ("time", "kind", *_SEARCH, "domain", "before", "after", "detail", "run"),
        f"SELECT e.time, e.kind, {_NAMED}, e.domain, e.before, e.after, e.detail, e.run FROM rank_events e LEFT "
        f"{_JOIN.format(table='e')} WHERE e.time >= ? ORDER BY e.time, e.id",
    ),
}
RESULTS = ("time", *_SEARCH, "page", "type", "rank", "position", "title", "url", "text", "pixel", "run")
"""The columns of the table `results`, which contains all search results on all readable pages."""
NAMES = (*TABLES, "results")


def export(history: RankHistory, path: str, what: str = "", *, after: float = 0.0) -> dict[str, int]:
    """Exports tables to a file, and returns the number of rows per table. A CSV or Parquet file contains one
    table, which is `positions` by default. The name of a CSV file may end in `?bom=yes`. An Excel file contains
    one sheet per table. `after`: exports only rows since this time, in seconds since the epoch. Raises UsageError and ConfigError."""
    file, encoding = path_and_encoding(path)
    ending = Path(file).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{path}: the file ends in {', '.join(ENDINGS)}")
    if what and what not in NAMES:
        raise UsageError(f"--what {what}: choose {', '.join(NAMES)}")
    names = [what] if what else list(TABLES) if ending == ".xlsx" else ["positions"]
    write: dict[str, Callable[..., dict[str, int]]] = {
        ".csv": partial(_csv, encoding=encoding),
        ".xlsx": _excel,
        ".parquet": _parquet,
    }
    try:
        return write[ending](file, {name: read_table(history, name, after) for name in names})
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def read_table(
    history: RankHistory, name: str, after: float = 0.0
) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Returns the column names and the rows of a table for export. Times are `datetime` objects in UTC."""
    if name == "results":
        return RESULTS, _results(history, after)
    table = TABLES[name]
    times = [table.columns.index(column) for column in table.times]
    rows = [list(row) for row in history.query(table.query, [after])]
    for row in rows:
        for place in times:
            row[place] = datetime.fromtimestamp(row[place], UTC)
    return table.columns, rows


def _results(history: RankHistory, after: float) -> list[list[Any]]:
    rows = history.query(
        f"SELECT p.time, {_NAMED}, p.page, p.run, p.results FROM rank_pages p {_JOIN.format(table='p')} WHERE p.time >= ? "
        "AND p.verdict IN ('ok', 'partial') ORDER BY p.time, s.keyword, p.search, p.page",
        [after],
    )
    found = []
    for at, *search, page, run, results in rows:
        when = datetime.fromtimestamp(at, UTC)
        found += [
            [
                when,
                *search,
                page,
                one.type,
                one.rank,
                one.position,
                one.title,
                one.url,
                one.text,
                one.pixel,
                run,
            ]
            for one in unpack_results(results)
        ]
    return found


Tables = dict[str, tuple[tuple[str, ...], list[list[Any]]]]


def _csv(path: str, tables: Tables, encoding: str) -> dict[str, int]:
    ((name, (columns, rows)),) = tables.items()
    with open(path, "w", newline="", encoding=encoding) as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows([_csv_cell(value) for value in row] for row in rows)
    return {name: len(rows)}


def _csv_cell(value: Any) -> Any:
    """Converts a value to a CSV cell. Adds an apostrophe before a text that a spreadsheet would interpret as
    a formula."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def _excel(path: str, tables: Tables) -> dict[str, int]:
    try:
        import xlsxwriter
    except ImportError:
        raise ConfigError(f"{path}: Excel needs another package: {install_command('excel')}") from None
    book = xlsxwriter.Workbook(
        path, {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False}
    )
    date, bold = book.add_format({"num_format": "yyyy-mm-dd hh:mm"}), book.add_format({"bold": True})
    counts = {}
    for name, (columns, rows) in tables.items():
        sheet = book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.write_row(0, 0, columns, bold)
        for number, row in enumerate(rows[-MAX_SHEET_ROWS:], 1):
            _excel_row(sheet, number, row, date)
        counts[name] = min(len(rows), MAX_SHEET_ROWS)
    book.close()
    return counts


def _excel_row(sheet: Any, number: int, row: Sequence[Any], date: Any) -> None:
    for place, value in enumerate(row):
        if isinstance(value, datetime):
            sheet.write_datetime(number, place, value.replace(tzinfo=None), date)
        elif isinstance(value, str):
            sheet.write_string(number, place, value[:32_000])
        elif value is not None:
            sheet.write_number(number, place, value)


def _parquet(path: str, tables: Tables) -> dict[str, int]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ConfigError(f"{path}: Parquet needs another package: {install_command('parquet')}") from None
    ((name, (columns, rows)),) = tables.items()
    kinds = {"time": pyarrow.timestamp("us", tz="UTC"), "pixel": pyarrow.float64()}
    integers = {
        "own",
        "position",
        "depth",
        "absolute",
        "page",
        "volume",
        "run",
        "requests",
        "credits",
        "count",
        "rank",
    }
    schema = pyarrow.schema(
        [(one, kinds.get(one, pyarrow.int64() if one in integers else pyarrow.string())) for one in columns]
    )
    arrays = [
        pyarrow.array([row[place] for row in rows], type=schema.field(place).type)
        for place in range(len(columns))
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, schema=schema), path, compression="zstd")
    return {name: len(rows)}


def shown_time(seconds: float) -> str:
    """Formats seconds since the epoch as a time in UTC for display. Returns '' for 0."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterable[list[Any]]:
    """Yields the header and the rows of a CSV file as lists of cells. Escapes cells that a spreadsheet would
    interpret as formulas."""
    yield list(columns)
    for row in rows:
        yield [_csv_cell(value) for value in row]

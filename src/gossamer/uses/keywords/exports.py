"""Writes the tables of a run into SQLite, PostgreSQL, CSV, Excel or Parquet.

A database contains the tables of all runs: each row has the id of its run. If a run is exported again, its
rows are replaced.
"""

from __future__ import annotations

import csv
import itertools
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from gossamer.client.install_command import install_command
from gossamer.client.spreadsheets import guarded_field, path_and_encoding
from gossamer.errors import ConfigError, SinkError, UsageError
from gossamer.uses.keywords.views import EXPORTS, RunTables

POSTGRESQL: Final = ("postgresql://", "postgres://")
SQLITE: Final = (".sqlite", ".sqlite3", ".db")
MAX_SHEET_ROWS: Final = 1_048_575
"""Maximum number of rows of an Excel sheet below the header."""
_BATCH: Final = 5_000
_WHOLE, _REAL, _TEXT = ("BIGINT", "INTEGER"), ("DOUBLE PRECISION", "REAL"), ("TEXT", "TEXT")


def check_output(output: str) -> None:
    """Raises UsageError if an output cannot be written to, and ConfigError if a library is missing."""
    lower = path_and_encoding(output)[0].lower()
    if lower.startswith(POSTGRESQL):
        _psycopg()
    elif lower.endswith(".xlsx"):
        _xlsxwriter()
    elif "://" in output or not (lower.endswith((*SQLITE, ".csv", ".html")) or _is_folder(output)):
        raise UsageError(
            f"-o {output}: give FILE.csv, FILE.xlsx, FILE.html, FILE.sqlite, postgresql://..., or a folder/ for Parquet"
        )


def export(tables: RunTables, run: str, output: str) -> list[str]:
    """Writes the tables of a run into one output (checked by `check_output`), and returns messages for the
    user. Raises GossamerError."""
    lower = path_and_encoding(output)[0].lower()
    try:
        if lower.startswith(POSTGRESQL):
            _to_postgresql(tables, run, output)
        elif lower.endswith(SQLITE):
            _to_sqlite(tables, run, output)
        elif lower.endswith(".csv"):
            _to_csv(tables, output)
        elif lower.endswith(".xlsx"):
            return _to_excel(tables, output)
        else:
            folder = Path(output)
            folder.mkdir(parents=True, exist_ok=True)
            for name in EXPORTS:
                tables.copy_parquet(name, folder / f"{name}.parquet")
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror or error}") from error
    return []


def _is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep, ".parquet")) or Path(output).is_dir()


def _columns(tables: RunTables, table: str) -> list[tuple[str, tuple[str, str]]]:
    """Returns the columns of a table with their types in PostgreSQL and in SQLite."""
    kinds = {"BIGINT": _WHOLE, "INTEGER": _WHOLE, "HUGEINT": _WHOLE, "BOOLEAN": _WHOLE, "DOUBLE": _REAL}
    return [(name, kinds.get(kind, _TEXT)) for name, kind in tables.columns(table)]


def _create(columns: Sequence[tuple[str, tuple[str, str]]], table: str, kind: int) -> str:
    fields = "".join(f", {name} {types[kind]}" for name, types in columns)
    return f"CREATE TABLE IF NOT EXISTS {table} (run TEXT NOT NULL{fields})"


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while found := list(itertools.islice(rows, _BATCH)):
        yield found


def _to_sqlite(tables: RunTables, run: str, path: str) -> None:
    try:
        base = sqlite3.connect(path, timeout=60.0)
        with base:
            for table in EXPORTS:
                columns = _columns(tables, table)
                base.execute(_create(columns, table, 1))
                base.execute(f"CREATE INDEX IF NOT EXISTS {table}_run ON {table} (run)")
                base.execute(f"DELETE FROM {table} WHERE run = ?", [run])
                marks = ", ".join("?" * (len(columns) + 1))
                for rows in _batches(tables.rows(table)):
                    base.executemany(f"INSERT INTO {table} VALUES ({marks})", ((run, *row) for row in rows))
        base.close()
    except sqlite3.Error as error:
        raise SinkError(f"-o {path}: {error}") from error


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise ConfigError(
            f"tables in PostgreSQL need another package: {install_command('postgres')}"
        ) from None
    return psycopg


def _to_postgresql(tables: RunTables, run: str, url: str) -> None:
    psycopg = _psycopg()
    try:
        with psycopg.connect(url, application_name="gossamer keywords", connect_timeout=10) as base:
            for table in EXPORTS:
                columns = _columns(tables, table)
                base.execute(_create(columns, table, 0))
                base.execute(f"CREATE INDEX IF NOT EXISTS {table}_run ON {table} (run)")
                base.execute(f"DELETE FROM {table} WHERE run = %s", [run])
                names = ", ".join(["run", *(name for name, _ in columns)])
                with base.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                    for row in tables.rows(table):
                        copy.write_row((run, *map(_without_zero, row)))
    except psycopg.Error as error:
        reason = " ".join(str(error).split())[:300]
        raise SinkError(f"the tables cannot be written into PostgreSQL: {reason}") from error


def _without_zero(value: Any) -> Any:
    """Returns a value without NUL characters, which PostgreSQL does not store."""
    return value.replace("\0", "") if isinstance(value, str) else value


def _to_csv(tables: RunTables, output: str) -> None:
    """Writes the keywords to the output file, and the other tables to the files FILE.pages.csv and
    FILE.terms.csv in the same folder."""
    file_name, encoding = path_and_encoding(output)
    stem = file_name[: -len(".csv")]
    for table, path in (
        ("keyword_totals", file_name),
        ("keyword_pages", f"{stem}.pages.csv"),
        ("keyword_terms", f"{stem}.terms.csv"),
    ):
        with open(path, "w", newline="", encoding=encoding) as file:
            lines = csv.writer(file)
            lines.writerow(name for name, _ in tables.columns(table))
            lines.writerows(_guarded(row) for row in tables.rows(table))


def _guarded(row: Iterable[Any]) -> list[Any]:
    return [guarded_field(one) if isinstance(one, str) else _short(one) for one in row]


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise ConfigError(f"an Excel file needs another package: {install_command('excel')}") from None
    return xlsxwriter


def _to_excel(tables: RunTables, output: str) -> list[str]:
    """Writes one sheet per table. Returns a remark for each sheet that could not hold all rows."""
    remarks = []
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with _xlsxwriter().Workbook(output, options) as book:
        bold, share = book.add_format({"bold": True}), book.add_format({"num_format": "0.000%"})
        for table, name in (
            ("keyword_totals", "keywords"),
            ("keyword_pages", "pages"),
            ("keyword_terms", "terms"),
        ):
            sheet = book.add_worksheet(name)
            names = [column for column, _ in tables.columns(table)]
            for column, head in enumerate(names):
                sheet.set_column(column, column, 40 if head in ("keyword", "term", "url", "contexts") else 12)
            sheet.freeze_panes(1, 1)
            sheet.write_row(0, 0, names, bold)
            for number, row in enumerate(tables.rows(table), 1):
                if number > MAX_SHEET_ROWS:
                    remarks.append(f"{output}: the sheet {name} holds only the first {MAX_SHEET_ROWS:,} rows")
                    break
                for column, value in enumerate(row):
                    form = share if names[column] in ("share", "density") else None
                    sheet.write(number, column, value[:32_000] if isinstance(value, str) else value, form)
    return remarks

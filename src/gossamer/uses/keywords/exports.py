"""Writes the tables of a run into SQLite, PostgreSQL, CSV, Excel or Parquet, and into every other output to
which rows can be appended.

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
from gossamer.client.row_outputs import RowOutputs, check_output_spec
from gossamer.client.spreadsheets import guarded_field, path_and_encoding
from gossamer.errors import ConfigError, SinkError, UsageError
from gossamer.uses.keywords.page_contexts import BETWEEN
from gossamer.uses.keywords.records import TABLES, keyed_rows
from gossamer.uses.keywords.views import RunTables

POSTGRESQL: Final = ("postgresql://", "postgres://")
SQLITE: Final = (".sqlite", ".sqlite3", ".db")
MAX_SHEET_ROWS: Final = 1_048_575
"""Maximum number of rows of an Excel sheet below the header."""
_BATCH: Final = 5_000
_ROWS: Final = 500
_WHOLE, _REAL, _TEXT = ("BIGINT", "INTEGER"), ("DOUBLE PRECISION", "REAL"), ("TEXT", "TEXT")
_TIME: Final = ("TIMESTAMPTZ", "TEXT")


def check_output(output: str) -> None:
    """Raises UsageError if an output cannot be written to, and ConfigError if a library is missing."""
    lower = path_and_encoding(output)[0].lower()
    if lower.startswith(POSTGRESQL):
        _psycopg()
    elif lower.endswith(".xlsx"):
        _xlsxwriter()
    elif "://" in output or lower.endswith(".jsonl"):
        check_output_spec(output)
    elif not (lower.endswith((*SQLITE, ".csv", ".html")) or _is_folder(output)):
        raise UsageError(
            f"-o {output}: give FILE.csv, FILE.xlsx, FILE.html, FILE.sqlite, FILE.jsonl, a folder/ for Parquet, or a "
            "store such as postgresql://..."
        )


def check_what(what: Sequence[str]) -> list[str]:
    """Returns the tables that a user has chosen by their short names, or all tables. Raises UsageError for an
    unknown name."""
    for name in what:
        if name not in TABLES:
            raise UsageError(f"--what {name}: choose {', '.join(TABLES)}")
    return list(dict.fromkeys(what)) or list(TABLES)


def export(
    tables: RunTables, run: str, output: str, what: Sequence[str] = (), folder: str = "keywords"
) -> list[str]:
    """Writes the tables of a run into one output (checked by `check_output`), and returns messages for the
    user. `what`: the short names of the tables (default: all). `folder`: the folder of the runs, in which
    rows wait that are not sent yet. Raises GossamerError."""
    names = check_what(what)
    chosen = [TABLES[name].table for name in names]
    lower = path_and_encoding(output)[0].lower()
    try:
        if lower.startswith(POSTGRESQL):
            _to_postgresql(tables, run, output, chosen)
        elif lower.endswith(SQLITE):
            _to_sqlite(tables, run, output, chosen)
        elif lower.endswith(".csv"):
            _to_csv(tables, output, chosen)
        elif lower.endswith(".xlsx"):
            return _to_excel(tables, output, chosen)
        elif "://" in output or lower.endswith(".jsonl"):
            return [_to_rows(tables, run, output, names, folder)]
        else:
            target = Path(output)
            target.mkdir(parents=True, exist_ok=True)
            for name in chosen:
                tables.copy_parquet(name, target / f"{name}.parquet")
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror or error}") from error
    return []


def _is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep, ".parquet")) or Path(output).is_dir()


def _columns(tables: RunTables, table: str) -> list[tuple[str, tuple[str, str]]]:
    """Returns the columns of a table with their types in PostgreSQL and in SQLite."""
    kinds = {"BIGINT": _WHOLE, "INTEGER": _WHOLE, "HUGEINT": _WHOLE, "BOOLEAN": _WHOLE, "DOUBLE": _REAL}
    return [
        (name, _TIME if name == "time" else kinds.get(kind, _TEXT)) for name, kind in tables.columns(table)
    ]


def _create(columns: Sequence[tuple[str, tuple[str, str]]], table: str, kind: int) -> str:
    fields = "".join(f", {name} {types[kind]}" for name, types in columns)
    return f"CREATE TABLE IF NOT EXISTS {table} (run TEXT NOT NULL{fields})"


def _missing(
    columns: Sequence[tuple[str, tuple[str, str]]], there: Iterable[str], table: str, kind: int
) -> list[str]:
    """Returns the statements that add the columns that a table lacks."""
    known = set(there)
    return [
        f"ALTER TABLE {table} ADD COLUMN {name} {types[kind]}" for name, types in columns if name not in known
    ]


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while found := list(itertools.islice(rows, _BATCH)):
        yield found


def _to_rows(tables: RunTables, run: str, output: str, names: Sequence[str], folder: str) -> str:
    """Sends the tables to an output of rows, and returns a message for the user."""
    kinds = {TABLES[name].table: TABLES[name].record for name in names}
    rows = RowOutputs([output], "gossamer keywords", run, str(Path(folder) / ".gossamer" / "sending"), kinds)
    counts = []
    try:
        for name in names:
            one = TABLES[name]
            columns = [column for column, _ in tables.columns(one.table)]
            found = keyed_rows(one, run, columns, tables.rows(one.table, BETWEEN), BETWEEN)
            count = 0
            while part := list(itertools.islice(found, _ROWS)):
                rows.send(one.table, part)
                count += len(part)
            counts.append(f"{count:,} rows of {one.table}")
    finally:
        rows.close()
    return f"{rows.names[0]}: {', '.join(counts)}"


def _to_sqlite(tables: RunTables, run: str, path: str, chosen: Sequence[str]) -> None:
    try:
        base = sqlite3.connect(path, timeout=60.0)
        with base:
            for table in chosen:
                columns = _columns(tables, table)
                base.execute(_create(columns, table, 1))
                there = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
                for statement in _missing(columns, there, table, 1):
                    base.execute(statement)
                names = ", ".join(["run", *(name for name, _ in columns)])
                base.execute(f"CREATE INDEX IF NOT EXISTS {table}_run ON {table} (run)")
                base.execute(f"DELETE FROM {table} WHERE run = ?", [run])
                marks = ", ".join("?" * (len(columns) + 1))
                for rows in _batches(tables.rows(table)):
                    base.executemany(
                        f"INSERT INTO {table} ({names}) VALUES ({marks})", ((run, *row) for row in rows)
                    )
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


def _to_postgresql(tables: RunTables, run: str, url: str, chosen: Sequence[str]) -> None:
    psycopg = _psycopg()
    try:
        with psycopg.connect(url, application_name="gossamer keywords", connect_timeout=10) as base:
            for table in chosen:
                columns = _columns(tables, table)
                base.execute(_create(columns, table, 0))
                there = base.execute(
                    "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0", [table]
                ).fetchall()
                for statement in _missing(columns, [name for (name,) in there], table, 0):
                    base.execute(statement)
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


def _to_csv(tables: RunTables, output: str, chosen: Sequence[str]) -> None:
    """Writes the keywords to the output file, and the other tables to the files FILE.pages.csv and
    FILE.terms.csv in the same folder."""
    file_name, encoding = path_and_encoding(output)
    stem = file_name[: -len(".csv")]
    for table, path in (
        ("keyword_totals", file_name),
        ("keyword_pages", f"{stem}.pages.csv"),
        ("keyword_terms", f"{stem}.terms.csv"),
    ):
        if table not in chosen:
            continue
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


def _to_excel(tables: RunTables, output: str, chosen: Sequence[str]) -> list[str]:
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
            if table not in chosen:
                continue
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

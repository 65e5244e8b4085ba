"""Excel files: `FILE.xlsx`, one sheet per kind (extra `excel`).

A workbook cannot grow, so the rows go to a journal in the crawl's folder. The journal has each row exactly
once, even after a kill. At the end of each run, a new workbook is written from the journal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import xxhash

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, UsageError
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.columns import OURS, Columns, cell_value
from gossamer.sinks.crash_safe_file import ExactFile, sink_error
from gossamer.sinks.jsonl import decode, encode

MAX_ROWS, MAX_CHARS, MAX_DIGITS = 1_048_576, 32_767, 15
"""Excel's limits: the rows of a sheet, the characters in a cell, the digits of a number."""
DATE_FORMATS = {"time": "yyyy-mm-dd hh:mm:ss", "date": "yyyy-mm-dd"}
"""The formats of the cells of times (UTC) and days."""
_LAST = tuple(column.name for column in OURS)
_LOOSE = {column.name: column.type for column in OURS}
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
"""Matches a time as JSON lines contain it."""
_FIRST_YEAR = 1900
"""Excel has no dates before this year."""


class Excel:
    """The FileSink of an Excel file. `folder`: the crawl's own folder, for the journal."""

    def __init__(
        self,
        path: str,
        columns: Columns,
        *,
        overwrite: bool = False,
        owner: str = "",
        folder: str = ".",
        log: AppendLog | None = None,
    ) -> None:
        try:
            import xlsxwriter
        except ImportError:
            raise ConfigError(f"-o {path}: Excel needs XlsxWriter: {install_command('excel')}") from None
        self._workbook: Any = xlsxwriter.Workbook
        self._path, self._columns, self._overwrite = os.path.abspath(path), columns, overwrite
        name = xxhash.xxh3_64_hexdigest(self._path.encode("utf-8", "surrogateescape"))
        self._journal = ExactFile(f"{folder}/excel-{name}.jsonl", overwrite=True, owner=owner, log=log)
        self.drop = self._journal.drop

    def target(self) -> str:
        """Returns the absolute path of the file."""
        return self._path

    def prepare(self) -> int:
        """See `interfaces.FileSink`. Raises UsageError if the file exists and may not be overwritten."""
        if not os.path.isdir(os.path.dirname(self._path)):
            raise UsageError(
                f"{self._path}: the folder {os.path.dirname(self._path)} does not exist; create it first"
            )
        if os.path.exists(self._path) and not self._overwrite:
            raise UsageError(f"{self._path} exists, and rows cannot be added to it: overwrite it with -O")
        return self._journal.prepare()

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        return self._journal.append(committed, encode([[row.kind, row.data] for row in rows]))

    def close(self, committed: int) -> None:
        """See `interfaces.FileSink`. Writes the workbook."""
        self._journal.close(committed)
        new = f"{self._path}.new"
        try:
            with self._workbook(
                new, {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
            ) as book:
                self._write(book, committed)
            os.replace(new, self._path)
        except OSError as error:
            raise sink_error(self._path, error) from error

    def _write(self, book: Any, committed: int) -> None:
        names = {kind: [column.name for column in some] for kind, some in self._columns.items()}
        for kind, data in self._rows(committed):
            known = names.setdefault(kind, [])
            known += [name for name in data if name not in known]
        bold, sheets, cut = book.add_format({"bold": True}), dict[str, tuple[Any, int]](), 0
        formats = {name: book.add_format({"num_format": form}) for name, form in DATE_FORMATS.items()}
        types = {
            kind: {column.name: column.type for column in (*OURS, *some)}
            for kind, some in self._columns.items()
        }
        for kind, found in names.items():
            found.sort(key=lambda name: _LAST.index(name) if name in _LAST else -1)
            sheets[kind] = _new_sheet(book, kind, 1, found, bold), 1
        parts = dict.fromkeys(names, 1)
        for kind, data in self._rows(committed):
            sheet, at = sheets[kind]
            if at == MAX_ROWS:
                parts[kind] += 1
                sheet, at = _new_sheet(book, kind, parts[kind], names[kind], bold), 1
            known_types = types.get(kind, _LOOSE)
            for column, name in enumerate(names[kind]):
                value = as_date(data.get(name), known_types.get(name, "any"))
                cut += _put(sheet, at, column, value, formats)
            sheets[kind] = sheet, at + 1
        if not names:
            book.add_worksheet("item")
        if cut:
            print(
                f"gossamer: {self._path}: {cut} texts are cut, because an Excel cell holds at most {MAX_CHARS} characters",
                file=sys.stderr,
            )

    def _rows(self, committed: int) -> Iterator[tuple[str, dict[str, Any]]]:
        path, done = Path(self._journal.path), 0
        if not committed or not path.exists():
            return
        with path.open("rb") as file:
            for line in file:
                done += len(line)
                if done > committed:
                    return
                kind, data = decode(line)
                yield kind, data


def _new_sheet(book: Any, kind: str, part: int, names: Sequence[str], bold: Any) -> Any:
    """Returns a new sheet with a header. Excel allows at most 31 characters in the name of a sheet, and
    forbids some characters."""
    taken = {sheet.get_name().lower() for sheet in book.worksheets()}
    plain = "".join("_" if one in "[]:*?/\\'" else one for one in kind) or "_"
    ending = "" if part == 1 else f" {part}"
    name, number = plain[: 31 - len(ending)] + ending, 2
    while name.lower() in taken or name.lower() == "history":
        name, number = f"{plain[:26]}-{number}{ending}", number + 1
    sheet = book.add_worksheet(name)
    sheet.freeze_panes(1, 0)
    for column, text in enumerate(names):
        sheet.write_string(0, column, text[:MAX_CHARS], bold)
    return sheet


def as_date(value: Any, kind: str) -> Any:
    """Returns the value of a column of times or days as a `datetime` (UTC) or `date`, if Excel can represent
    it. A column of the type `any` is one of untyped dicts: its complete times with a time zone count as times.
    Other values are returned as they are.

    >>> as_date("2026-05-01T10:00:00+02:00", "time"), as_date("2026-05-01", "any")
    (datetime.datetime(2026, 5, 1, 8, 0), '2026-05-01')
    """
    if kind not in ("time", "date", "any") or not isinstance(value, str):
        return value
    try:
        if kind == "date":
            day = date.fromisoformat(value)
            return day if day.year > _FIRST_YEAR else value
        if kind == "any" and not _TIME.fullmatch(value):
            return value
        found = datetime.fromisoformat(value)
        found = found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except (ValueError, OverflowError):
        return value
    return found if found.year > _FIRST_YEAR else value


def _put(sheet: Any, row: int, column: int, value: Any, formats: Mapping[str, Any]) -> int:
    """Writes one cell. Returns 1 if the cell's text had to be cut, otherwise 0. An integer with too many digits
    for Excel is written as text."""
    if isinstance(value, date):
        kind = "time" if isinstance(value, datetime) else "date"
        sheet.write_datetime(row, column, value, formats[kind])
        return 0
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
        return 0
    if isinstance(value, float) or (isinstance(value, int) and len(str(value).strip("-0")) <= MAX_DIGITS):
        sheet.write_number(row, column, value)
        return 0
    cell = cell_value(value)
    if cell is None:
        return 0
    text = str(cell)
    sheet.write_string(row, column, text[:MAX_CHARS])
    return int(len(text) > MAX_CHARS)

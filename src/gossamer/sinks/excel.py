"""Excel files: `FILE.xlsx`, one sheet per kind (extra `excel`).

A workbook cannot grow, so the rows go to a journal in the crawl's folder. The journal has each row exactly
once, even after a kill. At the end of each run, a new workbook is written from the journal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import xxhash

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.columns import OURS, Columns, cell_value
from gossamer.sinks.crash_safe_file import ExactFile, sink_error
from gossamer.sinks.jsonl import decode, encode

MAX_ROWS, MAX_CHARS, MAX_DIGITS = 1_048_576, 32_767, 15
"""Excel's limits: the rows of a sheet, the characters in a cell, the digits of a number."""
_LAST = tuple(column.name for column in OURS)


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
        for kind, found in names.items():
            found.sort(key=lambda name: _LAST.index(name) if name in _LAST else -1)
            sheets[kind] = _new_sheet(book, kind, 1, found, bold), 1
        parts = dict.fromkeys(names, 1)
        for kind, data in self._rows(committed):
            sheet, at = sheets[kind]
            if at == MAX_ROWS:
                parts[kind] += 1
                sheet, at = _new_sheet(book, kind, parts[kind], names[kind], bold), 1
            for column, name in enumerate(names[kind]):
                cut += _put(sheet, at, column, data.get(name))
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


def _put(sheet: Any, row: int, column: int, value: Any) -> int:
    """Writes one cell. Returns 1 if the cell's text had to be cut, otherwise 0. A number that Excel cannot
    represent is written as text."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
        return 0
    if isinstance(value, int | float) and len(repr(value).strip("-0.").replace(".", "")) <= MAX_DIGITS:
        sheet.write_number(row, column, value)
        return 0
    cell = cell_value(value)
    if cell is None:
        return 0
    text = str(cell)
    sheet.write_string(row, column, text[:MAX_CHARS])
    return int(len(text) > MAX_CHARS)

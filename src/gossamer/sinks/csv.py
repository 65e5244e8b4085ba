"""CSV files: one file per kind, UTF-8, RFC 4180, one header line.

If a spreadsheet would run the text of a field as a formula, a `'` is written before the text. Numbers and
telephone numbers (`-5`, `+49 30 123`, `+1 (555) 123`) stay unchanged, because they cannot call a function.
`FILE.csv?guard=no` writes all text unchanged. `FILE.csv?bom=yes` begins with a byte order mark, without which
Excel reads UTF-8 as another encoding.
"""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

import msgspec

from gossamer.errors import SinkError
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.column_choice import OWN, ColumnChoice
from gossamer.sinks.columns import (
    EXTRA,
    OURS,
    Column,
    Columns,
    cell_value,
    extra_fields,
    loose_names,
)
from gossamer.sinks.crash_safe_file import ExactFile
from gossamer.sinks.jsonl import Stdout, encodable, text

FORMULA = frozenset("=+-@\t\r\n\0＝＋－＠")
"""First characters that make a spreadsheet read text as a formula (OWASP ASVS 1.2.10), with their full-width
forms."""
_FIRST = FORMULA | {"'"}
_NUMBER = re.compile(
    r"[+-][ \xa0\d().,:/%-]*\d[ \xa0\d().,:/%-]*|[+-](\d+[.]?\d*|[.]\d+)[eE][+-]?\d+", re.ASCII
)
"""Matches numbers and telephone numbers, that is, a sign followed by digits and separators between digits."""
_KEPT = frozenset((int, type(None)))
_OURS = frozenset(column.name for column in OURS)
_RECORD = frozenset(PageRecord.__struct_fields__)


def guarded_field(value: Any) -> Any:
    """Converts a value to a CSV field. Numbers stay unchanged, text is guarded against formulas, and lists
    and dicts become JSON. None stays None (an empty field).

    >>> guarded_field("=1+2"), guarded_field("+49 30"), guarded_field(-5), guarded_field(True), guarded_field(["a"])
    ("'=1+2", '+49 30', -5, 'true', '["a"]')
    """
    kind = type(value)
    if kind is str:
        return f"'{value}" if value[:1] in _FIRST and _runs(value) and not _NUMBER.fullmatch(value) else value
    if kind in _KEPT:
        return value
    if kind is bool:
        return "true" if value else "false"
    if isinstance(value, Decimal | float):
        return cell_value(value)
    return guarded_field(cell_value(value))


def unguarded_field(value: Any) -> Any:
    """Converts a value to a CSV field, without a guard against formulas."""
    if type(value) is str:
        return value
    found = cell_value(value)
    return found if type(found) is str else guarded_field(found)


class Csv:
    """The FileSink of one kind's `.csv` file.

    The first rows of the file determine the header. A later run writes the fields in the order of this
    header, and raises SinkError if the file lacks a column. `columns` is None for a kind of untyped dicts.
    For untyped dicts, the first rows determine the columns, and later fields go to `_extra`.
    """

    def __init__(
        self,
        path: str,
        columns: Sequence[Column] | None,
        *,
        overwrite: bool = False,
        owner: str = "",
        guard: bool = True,
        bom: bool = False,
        choice: ColumnChoice | None = None,
        log: AppendLog | None = None,
    ) -> None:
        """`choice`: the columns that the user chose. Without a choice, the file has a column `_extra`, which
        contains the fields without a column, and rows of untyped dicts also have the columns
        `columns.OURS`."""
        extra, chosen = (True, None) if choice is None else (choice.has_own, choice.named)
        self._file = ExactFile(path, overwrite=overwrite, owner=owner, log=log)
        own = tuple(column.name for column in columns or ())
        if columns is None:
            own = tuple(column.name for column in OURS) if chosen is None else tuple(chosen)
        items = columns is None or chosen is not None or set(own) >= _OURS
        self._names = (*own, EXTRA) if items and extra else own
        self._own_fields = extra
        self._loose = columns is None
        self._field = guarded_field if guard else unguarded_field
        self._start = BOM_UTF8 if bom else b""
        self._order: tuple[str, ...] = ()
        self.target = self._file.target
        self.close, self.drop = self._file.close, self._file.drop
        self.find, self.adopt = self._file.find, self._file.adopt

    def prepare(self) -> int:
        """See `interfaces.FileSink`. Also checks the header of an existing file."""
        length = self._file.prepare()
        if length:
            self._order = self._header()
        return length

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        if not committed:
            self._order = self._loose_order(rows) if self._loose else self._names
        # another process may have created the file again, with other columns
        elif self._loose or not self._order:
            self._order = self._header()
        head = [self._order] if rows and not committed else []
        start = self._start if head else b""
        return self._file.append(committed, start + records([*head, *self._fields(rows)]))

    def _loose_order(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """Returns the columns for rows of untyped dicts."""
        return tuple(dict.fromkeys((*(loose_names(rows) if self._own_fields else ()), *self._names)))

    def _fields(self, rows: Sequence[Row]) -> list[list[Any]]:
        order, known = self._order, frozenset(self._order)
        record = attrgetter(*order) if known <= _RECORD else None
        fields = []
        for row in rows:
            data = row.data
            if type(data) is not dict:
                values = record(data) if record else [getattr(data, name, None) for name in order]
            else:
                values = [data.get(name) for name in order]
                if extra := extra_fields(row, known):
                    if EXTRA in known:
                        values[order.index(EXTRA)] = text(extra)
                    else:
                        raise SinkError(_lacks(self._file.path, [*extra]))
            fields.append([self._field(value) for value in values])
        return fields

    def _header(self) -> tuple[str, ...]:
        head = self._file.head().decode("utf-8-sig", "replace")
        names = tuple(next(csv.reader(io.StringIO(head, newline="")), []))
        if missing := [name for name in self._names if name not in names and (self._loose or name != EXTRA)]:
            raise SinkError(_lacks(self._file.path, missing))
        return names


class CsvStdout(Stdout):
    """Writes rows to the standard output as CSV, with one header. The header contains the columns of all
    declared kinds. If no kind is declared, the first rows determine the columns."""

    def __init__(self, columns: Columns, choice: ColumnChoice | None = None) -> None:
        super().__init__(1, choice=choice)
        self._columns, self._order = columns, list[str]()

    def _encoded(self, rows: Sequence[Row]) -> bytes:
        head = not self._order
        if head:
            declared = [column.name for some in self._columns.values() for column in some]
            own = declared or loose_names(rows)
            more = [column.name for column in OURS] if self._choice is None else self._choice.names
            page = frozenset(own) <= _RECORD and bool(declared)
            last = () if page else (*(name for name in more if name != OWN), EXTRA)
            if self._choice is not None and not self._choice.has_own:
                own, last = list(self._choice.names), ()
            self._order = list(dict.fromkeys((*own, *last)))
        known, out = frozenset(self._order), list[Sequence[Any]]()
        for row in rows:
            data = row.data if isinstance(row.data, dict) else msgspec.structs.asdict(row.data)
            values = [data.get(name) for name in self._order]
            if EXTRA in known and (extra := extra_fields(row, known)):
                values[self._order.index(EXTRA)] = text(extra)
            out.append([guarded_field(value) for value in values])
        return records([self._order, *out] if head else out)


def unguarded(field: str) -> str:
    """Removes the guard that `guarded_field` added to a field.

    >>> unguarded("'=1+2"), unguarded("'s"), unguarded(guarded_field("'=1"))
    ('=1+2', "'s", "'=1")
    """
    return field[1:] if field[:1] == "'" and _runs(field) else field


def _runs(text: str) -> bool:
    """Returns whether a spreadsheet would run the text as a formula. A `'` at the start of the text is
    skipped."""
    return text.lstrip("'")[:1] in FORMULA


def records(rows: Sequence[Sequence[Any]]) -> bytes:
    """Encodes rows of fields as CSV records, which end in CR LF."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    try:
        return out.getvalue().encode()
    except UnicodeEncodeError:
        return encodable(out.getvalue()).encode()


def _lacks(path: str, names: Sequence[str] | dict[str, Any]) -> str:
    return f"{path} has no column {', '.join(names)}: give another file with -o, or overwrite it with -O"

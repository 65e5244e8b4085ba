"""Rows as cells of SQLite, and how many go in a statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import attrgetter
from types import UnionType
from typing import Any, get_args, get_type_hints

from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.columns import EXTRA, cell, undeclared
from gossamer.sinks.jsonl import number, parsed, text, whole

_SIZES = (64, 16, 4, 1)
"""Rows of a statement: few sizes, as compiled statements are kept."""
_KEPT = frozenset((str, int, bool, type(None)))
_WIDE = 2**63
_SURE = 15
"""Characters of a decimal that SQLite holds for certain."""
_RECORD = frozenset(PageRecord.__struct_fields__)
_PLAIN = frozenset(
    name
    for name, kind in get_type_hints(PageRecord).items()
    if {*(get_args(kind) if isinstance(kind, UnionType) else [kind])} <= {str, int, type(None)}
)
"""Fields of a page record whose values are cells as they are."""


def values(names: tuple[str, ...], rows: Sequence[Row], cell: Callable[[Any], Any]) -> list[list[Any]]:
    """The rows as lists in the order of the columns: `_key` first, `_extra` last."""
    between, known = names[1:-1], frozenset(names)
    record = attrgetter(*between) if len(between) > 1 and known - {"_key", EXTRA} <= _RECORD else None
    odd = [n for n, name in enumerate(between, 1) if name not in _PLAIN]
    found_rows = []
    for row in rows:
        data, extra = row.data, None
        if record and type(data) is PageRecord:
            cells = [row.key, *record(data), None]
            for n in odd:
                cells[n] = cell(cells[n])
            found_rows.append(cells)
            continue
        if type(data) is dict:
            found: Any = map(data.get, between)
            if undeclared_fields := undeclared(row, known):
                extra = text(undeclared_fields)
        else:
            found = [getattr(data, name, None) for name in between]
        found_rows.append([row.key, *[v if type(v) in _KEPT else cell(v) for v in found], extra])
    return found_rows


def loose(value: Any) -> Any:
    """A cell of a column without a type: there, text is no number to SQLite, so a Decimal is one where that
    is exact."""
    if isinstance(value, Decimal) and isinstance(
        found := number(value) if value.is_finite() else None, float | None
    ):
        return found
    return cell(value)


def insert(base: sqlite3.Connection, around: tuple[str, str], values: list[list[Any]]) -> None:
    """Many rows a statement: each statement lets go of the interpreter, and a busy loop does not give it back
    soon."""
    width = len(values[0]) if values else 1
    most = base.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) // width
    row = f"({', '.join('?' * width)})"
    while values:
        size = next(size for size in _SIZES if size <= max(1, min(most, len(values))))
        base.execute(", ".join([row] * size).join(around), [one for some in values[:size] for one in some])
        values = values[size:]


def without_loss(names: tuple[str, ...], decimals: Sequence[int], row: list[Any]) -> list[str]:
    """Move decimals that a REAL does not hold to `_extra`; their names."""
    lost: dict[str, Any] = {}
    for n in decimals:
        told = row[n]
        if type(told) is str and len(told) > _SURE and not isinstance(_held(told), float | int):
            lost[names[n]], row[n] = Decimal(told), None
    if lost:
        row[-1] = text(lost | (parsed(row[-1]) if row[-1] else {}))
    return [*lost]


def _held(told: str) -> float | int | Decimal | None:
    """What a NUMERIC column makes of a decimal's text."""
    try:
        exact = Decimal(told)
        if exact == exact.to_integral_value() and abs(exact) < _WIDE:
            return int(exact)
        return number(exact) if len(exact.normalize().as_tuple().digits) <= 15 else None
    except (ArithmeticError, ValueError):
        return None


def careful(names: tuple[str, ...], row: list[Any]) -> list[Any]:
    """A row whose texts can be encoded; an integer beyond 64 bits is kept in `_extra`, with all its digits."""
    row = [whole(value) if isinstance(value, str) else value for value in row]
    wide = {
        name: value
        for name, value in zip(names, row, strict=True)
        if isinstance(value, int) and not -_WIDE <= value < _WIDE
    }
    if wide:
        row = [None if name in wide else value for name, value in zip(names, row, strict=True)]
        row[-1] = text(wide | (parsed(row[-1]) if row[-1] else {}))
    return row

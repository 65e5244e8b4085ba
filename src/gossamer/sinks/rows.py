"""Rows that fit typed columns, as the journal of a Parquet folder holds them: JSON lines, and `[N]` on a line before N bytes of an Arrow
batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import IO, Any

import msgspec

from gossamer.sinks.columns import EXTRA, Column, cell
from gossamer.sinks.jsonl import encode, lines, text
from gossamer.visit import PageRecord, Row

_WIDE = 2**63
_STEP = Decimal("1e-9")
_HUGE = Decimal("1e29")
_DIGITS = Context(prec=38)
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_RECORD = frozenset(PageRecord.__struct_fields__)


def lines_for(columns: Sequence[Column], rows: Sequence[Row]) -> bytes:
    """The rows as JSON lines whose values fit `columns` (the last is `_extra`). Page records fit as they are."""
    if all(type(row.data) is PageRecord for row in rows):
        return lines(rows)
    return encode(
        [fitted(columns, row.data if type(row.data) is dict else msgspec.to_builtins(row.data)) for row in rows]
    )


def framed(batch: bytes) -> bytes:
    """An Arrow batch as it stands between lines."""
    return b"[%d]\n%b" % (len(batch), batch)


def frames(source: IO[bytes], length: int) -> Iterator[tuple[bytes, bool, int]]:
    """What stands in the first `length` bytes of a journal: each line, or (True) the batch behind one, and the bytes that it takes there.
    Ends before what is not whole."""
    while length > 0 and (line := source.readline()).endswith(b"\n"):
        data, took = line, len(line)
        if packed := line[:1] == b"[" and line[1:-2].isdigit():
            data = source.read(int(line[1:-2]))
            if len(data) < int(line[1:-2]):
                return
            took += len(data)
        length -= took
        yield data, packed, took


def mended(columns: Sequence[Column], line: bytes) -> bytes:
    """A journal line once more, every value made to fit; what is no JSON object is kept whole in `_extra`."""
    try:
        data = _decode(line)
    except (ValueError, RecursionError):
        data = None
    return encode([refitted(columns, data if type(data) is dict else {EXTRA: line.decode("utf-8", "replace")})])


def refitted(columns: Sequence[Column], data: dict[str, Any]) -> dict[str, Any]:
    """A row of a journal once more: a field without a value needs no column."""
    return fitted(columns, {name: value for name, value in data.items() if value is not None})


def fitted(columns: Sequence[Column], data: dict[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """A row with one value for each column; what does not fit is null there and kept in `_extra`; NaN and infinity are null. `strict`: a
    text is JSON, too, where the column is."""
    row: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, kind in columns:
        value = data.get(name)
        if value is None or value is msgspec.UNSET:
            row[name] = None
            continue
        row[name] = found = text(value) if strict and kind == "json" else _FIT[kind](value)
        if found is None and not _no_number(value):
            extra[name] = value
    if not data.keys() <= row.keys():
        extra.update((name, value) for name, value in data.items() if name not in row)
    if extra and row[EXTRA]:
        extra["_extra"] = row[EXTRA]
    if extra:
        row[EXTRA] = text(extra)
    return row


def _int(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and -_WIDE <= value < _WIDE and type(value) is not bool else None


def _float(value: Any) -> float | None:
    if not isinstance(value, int | float | Decimal) or type(value) is bool or _no_number(value):
        return None
    try:
        return found if math.isfinite(found := float(value)) else None
    except OverflowError:
        return None


def _no_number(value: Any) -> bool:
    """Whether a value is NaN or infinity: null in each store, as in JSON."""
    return not math.isfinite(value) if type(value) is float else isinstance(value, Decimal) and not value.is_finite()


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _decimal(value: Any) -> str | None:
    """As text: Arrow reads decimals from it without a float in between."""
    if not isinstance(value, int | Decimal | float | str) or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
        if number.copy_abs() >= _HUGE or number.quantize(_STEP, context=_DIGITS) != number:
            return None
        return format(number, "f")
    except InvalidOperation:  # NaN, too many digits
        return None


def _time(value: Any) -> str | None:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (TypeError, ValueError, OverflowError):
        return None


def _date(value: Any) -> str | None:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        return None


def _strings(value: Any) -> list[str] | None:
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(part, str) for part in value):
        return list(value)
    return None


def _json(value: Any) -> str | None:
    found = cell(value)
    return found if isinstance(found, str) else text(found)


_FIT: dict[str, Callable[[Any], Any]] = {
    "int": _int, "float": _float, "str": _str, "bool": _bool, "decimal": _decimal, "time": _time, "date": _date,
    "strings": _strings, "json": _json,
}  # fmt: skip

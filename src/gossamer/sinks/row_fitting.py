"""Fits rows to typed columns, and encodes them for the journal of a Parquet folder as JSON lines or Arrow
batches. An Arrow batch of N bytes follows a line `[N]`."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Context, Decimal, InvalidOperation
from typing import IO, Any
from uuid import UUID

import msgspec

from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.columns import EXTRA, Column, cell_value
from gossamer.sinks.field_types import FieldType, parse_bytes, parse_day, parse_time, to_python
from gossamer.sinks.jsonl import encode, encode_lines, text

_WIDE = 2**63
_STEP = Decimal("1e-9")
_HUGE = Decimal("1e29")
_DIGITS = Context(prec=38)
_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_RECORD = frozenset(PageRecord.__struct_fields__)


Fit = Callable[[Any], Any]
"""A function that converts a value to the type of a column. The function returns None if the type of the
column cannot represent the value."""
Misfit = tuple[Row, str]
"""A row with values that the store cannot represent, and a message with these values and the reasons."""


def lines_for(columns: Sequence[Column], rows: Sequence[Row], misfits: list[Misfit] | None = None) -> bytes:
    """Encodes rows as JSON lines whose values fit `columns`. The last column must be `_extra`. Rows with
    values that do not fit are added to `misfits`. If all rows are page records, they are not checked, because
    their values always fit."""
    if all(type(row.data) is PageRecord for row in rows):
        return encode_lines(rows)
    made = []
    for row in rows:
        unfit: list[str] = []
        made.append(
            fit_row(
                columns, row.data if type(row.data) is dict else msgspec.to_builtins(row.data), unfit=unfit
            )
        )
        if unfit and misfits is not None:
            misfits.append((row, "; ".join(unfit)))
    return encode(made)


def misfit(column: Column, value: Any) -> str:
    """Returns a message about a value that does not fit its column."""
    told = said if len(said := text(value)) <= 60 else f"{said[:57]}..."
    kind = column.type
    if column.shape is not None or kind == "decimal":
        shape = column.shape or FieldType("decimal")
        kind = (
            "decimal({}, {})".format(*(shape.digits if shape.digits[0] else (38, 9)))
            if shape.kind == "decimal"
            else shape.kind
        )
    return f"{column.name}: {told} does not fit a column of type {kind}; the row has it in {EXTRA}"


def frame_batch(batch: bytes) -> bytes:
    """Encodes an Arrow batch for a journal, in which the line `[N]` precedes the batch."""
    return b"[%d]\n%b" % (len(batch), batch)


def read_frames(source: IO[bytes], length: int) -> Iterator[tuple[bytes, bool, int]]:
    """Yields the complete entries in the first `length` bytes of a journal. The first value of each result is
    a line or a batch. The second value is true if the first value is a batch. The third value is the size of
    the entry in the journal in bytes. Stops before an incomplete entry."""
    while length > 0 and (line := source.readline()).endswith(b"\n"):
        data, took = line, len(line)
        if packed := line[:1] == b"[" and line[1:-2].isdigit():
            data = source.read(int(line[1:-2]))
            if len(data) < int(line[1:-2]):
                return
            took += len(data)
        length -= took
        yield data, packed, took


def refit_line(columns: Sequence[Column], line: bytes) -> bytes:
    """Encodes a journal line again, so that every value fits its column. A line that is not a JSON object is
    kept whole in `_extra`."""
    try:
        data = _decode(line)
    except (ValueError, RecursionError):
        data = None
    return encode(
        [refit_row(columns, data if type(data) is dict else {EXTRA: line.decode("utf-8", "replace")})]
    )


def refit_row(columns: Sequence[Column], data: dict[str, Any]) -> dict[str, Any]:
    """Fits a row that was read from a journal to the current columns. Fields without a value are ignored, so
    such fields need no column."""
    return fit_row(columns, {name: value for name, value in data.items() if value is not None})


def fit_row(
    columns: Sequence[Column],
    data: dict[str, Any],
    *,
    strict: bool = False,
    fits: Mapping[str, Fit] | None = None,
    unfit: list[str] | None = None,
) -> dict[str, Any]:
    """Returns a row with one value for each column. If a value does not fit its column, the column is null
    and the value is kept in `_extra`. NaN and infinity become null.

    `strict`: whether text in a JSON column is encoded as JSON. `fits`: the conversion functions of a store
    that has its own types, by column type. Without `fits`, values are converted for Parquet, according to the
    declared types of the columns. `unfit`: a list to which a message is added for each value that does not
    fit.
    """
    row: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for column in columns:
        name, kind, shape = column
        value = data.get(name)
        if value is None or value is msgspec.UNSET:
            row[name] = None
            continue
        found: Any
        if strict and kind == "json":
            found = text(value)
        elif shape is not None and fits is None:
            found = _shaped(shape, value)
        else:
            found = (fits or FITS)[kind](value)
        row[name] = found
        if found is None and not _no_number(value):
            extra[name] = value
            if unfit is not None:
                unfit.append(misfit(column, value))
    if not data.keys() <= row.keys():
        extra.update((name, value) for name, value in data.items() if name not in row)
    if extra and row[EXTRA]:
        extra["_extra"] = row[EXTRA]
    if extra:
        row[EXTRA] = text(extra)
    return row


def _int(value: Any) -> int | None:
    return (
        int(value) if isinstance(value, int) and -_WIDE <= value < _WIDE and type(value) is not bool else None
    )


def _float(value: Any) -> float | None:
    if not isinstance(value, int | float | Decimal) or type(value) is bool or _no_number(value):
        return None
    try:
        return found if math.isfinite(found := float(value)) else None
    except OverflowError:
        return None


def _no_number(value: Any) -> bool:
    """Returns whether a value is NaN or infinity. Every store writes NaN and infinity as null, as in JSON."""
    return (
        not math.isfinite(value)
        if type(value) is float
        else isinstance(value, Decimal) and not value.is_finite()
    )


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _decimal(value: Any) -> str | None:
    """Converts a decimal to text. Arrow parses this text directly to a decimal, so no float is involved."""
    if not isinstance(value, int | Decimal | float | str) or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
        if number.copy_abs() >= _HUGE or number.quantize(_STEP, context=_DIGITS) != number:
            return None
        return format(number, "f")
    except InvalidOperation:  # NaN, or too many digits
        return None


def number_within(before: int, after: int) -> Fit:
    """Returns a function that converts decimals to text, for a store that holds `before` digits before the
    decimal point and `after` digits after it."""

    def fit(value: Any) -> str | None:
        if not isinstance(value, int | Decimal | float | str) or isinstance(value, bool):
            return None
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            return None
        if (
            not number.is_finite()
            or (number and number.adjusted() >= before)
            or -int(number.as_tuple().exponent) > after
        ):
            return None
        return str(number)

    return fit


def binary(value: Any) -> bytes | None:
    """Converts base64 text to bytes, for a store that has a type for bytes."""
    try:
        return parse_bytes(value)
    except (TypeError, ValueError):
        return None


def time_in_milliseconds(value: Any) -> str | None:
    """Converts a time for a store whose times have only milliseconds. Returns None if the time has
    microseconds."""
    found = _time(value)
    return None if found is not None and "." in found and found[23:].rstrip("Z").strip("0") else found


def _shaped(shape: FieldType, value: Any) -> str | None:
    """Encodes a value for the journal. `shape` is the declared type of the value's column. A decimal becomes
    plain text. Any other value becomes JSON text."""
    try:
        found = to_python(shape, value)
    except ValueError:
        return None
    if found is None:
        return None
    return format(found, "f") if shape.kind == "decimal" else _json(value)


def _time(value: Any) -> str | None:
    try:
        return parse_time(value).isoformat().replace("+00:00", "Z")
    except (TypeError, ValueError, OverflowError):
        return None


def _date(value: Any) -> str | None:
    try:
        return parse_day(value).isoformat()
    except (TypeError, ValueError):
        return None


def _strings(value: Any) -> list[str] | None:
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(part, str) for part in value):
        return list(value)
    return None


def _bytes(value: Any) -> str | None:
    """Converts a value to base64 text."""
    try:
        return b64encode(parse_bytes(value)).decode()
    except (TypeError, ValueError):
        return None


def _uuid(value: Any) -> str | None:
    try:
        return str(UUID(str(value)))
    except ValueError:
        return None


def _span(value: Any) -> str | None:
    try:
        msgspec.convert(value, timedelta)
    except (msgspec.ValidationError, OverflowError):
        return None
    return value if isinstance(value, str) else str(msgspec.to_builtins(value))


def _clock(value: Any) -> str | None:
    try:
        return to_python(FieldType("clock"), value).isoformat()  # type: ignore[no-any-return]
    except ValueError:
        return None


def _json(value: Any) -> str | None:
    found = cell_value(value)
    return found if isinstance(found, str) else text(found)


FITS: dict[str, Fit] = {
    "int": _int,
    "float": _float,
    "str": _str,
    "bool": _bool,
    "decimal": _decimal,
    "time": _time,
    "date": _date,
    "strings": _strings,
    "json": _json,
    "clock": _clock,
    "span": _span,
    "bytes": _bytes,
    "uuid": _uuid,
}

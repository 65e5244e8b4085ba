"""Documents of MongoDB: rows as BSON has them, and how one is written over what is there without touching
what others put in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, DecimalException
from typing import Any

import msgspec

from gossamer.model.visit import Row
from gossamer.sinks.columns import EXTRA, Column, cell
from gossamer.sinks.history import ItemState, stored
from gossamer.sinks.jsonl import text
from gossamer.sinks.shapes import FieldType, moment, natural
from gossamer.sinks.upserting import clean

_WIDE = 2**63


def extra(whole: Collection[Mapping[str, Any]]) -> dict[str, int]:
    """The projection that leaves of documents what none of these would write over."""
    common = set.intersection(*(set(one) for one in whole)) - {"_id"}
    return {field: 0 for field in common if not _odd(field)}


def written(one: Mapping[str, Any], there: Mapping[str, Any] | None, ours: Collection[str]) -> Any:
    """What writes a document. `there`: what it has beside, None where it is new; of that `ours` goes, the
    rest is somebody else's."""
    import pymongo

    if there is None:
        return pymongo.InsertOne(one)
    key = {"_id": one["_id"]}
    gone = [field for field in there if field in ours and field not in one]
    if any(map(_odd, (*one, *gone))):  # such a name cannot be said in an update
        return pymongo.ReplaceOne(
            key, {**{f: v for f, v in there.items() if f not in gone}, **one}, upsert=True
        )
    update: dict[str, Any] = {"$set": {field: value for field, value in one.items() if field != "_id"}}
    if gone:
        update["$unset"] = dict.fromkeys(gone, "")
    return pymongo.UpdateOne(key, update, upsert=True)


def _odd(field: str) -> bool:
    return not field or field[0] == "$" or "." in field


class Unholdable(ValueError):
    """BSON has no form for a value that keeps all of it."""


def document(
    number: Callable[[Decimal], Any],
    row: Row,
    state: ItemState | None,
    careful: bool = False,
    *,
    shapes: Mapping[str, FieldType] | None = None,
    unfit: list[str] | None = None,
) -> dict[str, Any]:
    """A row as a document. `shapes`: the types of its fields, which become BSON's; None: all dates are text,
    as in collections of an earlier gossamer. A value that BSON cannot hold is null, JSON text below `_extra`,
    and a line in `unfit`."""
    data = row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data)
    whole = data if state is None else {**data, **stored(row, state)}
    if "_id" in whole:  # the key's place
        whole = {**whole, EXTRA: {"_id": whole["_id"]}}
    found: dict[str, Any] = {"_id": clean(row.key)}
    beside: dict[str, Any] = {}
    for field, value in whole.items():
        if field == "_id":
            continue
        name = str(_value(field, careful, number))
        if shapes is None:
            found[name] = _value(value, careful, number)
            continue
        try:
            found[name] = _typed(shapes.get(field), value, careful, number)
        except Unholdable as error:
            found[name], beside[name] = None, text(value)
            if unfit is not None:
                unfit.append(f"{field}: {error}; the document has it in {EXTRA}")
    if beside:
        own = found.get(EXTRA)
        found[EXTRA] = {**(own if isinstance(own, dict) else {}), **beside}
    return found


def shapes_of(columns: Iterable[Column]) -> dict[str, FieldType]:
    """The types of the fields of a kind."""
    strings = FieldType("list", (("item", FieldType("str")),))
    return {
        one.name: one.shape or (strings if one.type == "strings" else FieldType(one.type))
        for one in columns
        if one.type not in ("json", "any") or one.shape is not None
    }


def _typed(shape: FieldType | None, value: Any, careful: bool, number: Callable[[Decimal], Any]) -> Any:
    """A value of a shape as BSON has it. Raises Unholdable. What is not of its shape is written as it is."""
    if value is None or value is msgspec.UNSET:
        return None
    part = shape.parts[0][1] if shape is not None and shape.parts else None
    if isinstance(value, Mapping):
        parts = dict(shape.parts) if shape is not None and shape.kind == "struct" else {}
        return {
            str(_value(str(field), careful, number)): _typed(
                parts.get(str(field), None if parts else part), one, careful, number
            )
            for field, one in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_typed(part, one, careful, number) for one in value]
    if shape is not None and shape.kind in _SCALARS:
        try:
            value = (
                natural(shape._replace(digits=(0, 0)), value) if shape.kind != "decimal" else _number(value)
            )
        except ValueError:
            pass
        else:
            if type(value) is date:
                return datetime.combine(value, time(), UTC)
    if isinstance(value, datetime):
        if value.microsecond % 1000:
            raise Unholdable(f"{value.isoformat()} has microseconds, a date of BSON milliseconds")
        return moment(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, int) and not -_WIDE <= value < _WIDE:
        raise Unholdable(f"an integer of more than 64 bits: {str(value)[:40]}")
    return _value(value, careful, number)


def _number(value: Any) -> Decimal:
    """A number of a decimal's field. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("not a number")
    return Decimal(str(value))


_SCALARS = ("time", "date", "bytes", "decimal")


def _value(value: Any, careful: bool, number: Callable[[Decimal], Any]) -> Any:
    """A value as BSON has it; what BSON has no form for becomes text."""
    if type(value) is str:
        return clean(value) if careful else value
    if value is None or type(value) is bool or (type(value) is int and -_WIDE <= value < _WIDE):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return number(value) if value.is_finite() else None
    if isinstance(value, Mapping):
        return {
            str(_value(str(field), careful, number)): _value(part, careful, number)
            for field, part in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(part, careful, number) for part in value]
    return _value(str(cell(value)), careful, number)


def exact(value: Decimal) -> Any:
    """A Decimal128. Raises Unholdable."""
    from bson import Decimal128

    try:
        return Decimal128(value)
    except DecimalException:
        raise Unholdable(f"a Decimal128 has 34 digits, this more: {str(value)[:60]}") from None


def as_float(value: Decimal) -> float:
    """A float that is the same number, for a server without decimals. Raises Unholdable."""
    if isinstance(found := without_decimals(value), str):
        raise Unholdable(f"this server has no decimals, and a float cannot hold {found[:60]}")
    return float(found)


def decimals(value: Decimal) -> Any:
    """A float where that says the same number, else what has all digits: of more than 34 a text."""
    from bson import Decimal128

    if Decimal(repr(number := float(value))) == value:
        return number
    try:
        return Decimal128(value)
    except DecimalException:
        return str(value)


def without_decimals(value: Decimal) -> Any:
    """The same for a server without decimals."""
    return number if Decimal(repr(number := float(value))) == value else str(value)

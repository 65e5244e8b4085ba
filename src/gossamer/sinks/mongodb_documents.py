"""Documents of MongoDB: rows as BSON has them, and how one is written over what is there without touching what others put in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, DecimalException
from typing import Any

import msgspec

from gossamer.sinks.columns import EXTRA, cell
from gossamer.sinks.history import State, stored
from gossamer.sinks.upserting import clean
from gossamer.visit import Row

_WIDE = 2**63


def extra(whole: Collection[Mapping[str, Any]]) -> dict[str, int]:
    """The projection that leaves of documents what none of these would write over."""
    common = set.intersection(*(set(one) for one in whole)) - {"_id"}
    return {field: 0 for field in common if not _odd(field)}


def written(one: Mapping[str, Any], there: Mapping[str, Any] | None, ours: Collection[str]) -> Any:
    """What writes a document. `there`: what it has beside, None where it is new; of that `ours` goes, the rest is somebody else's."""
    import pymongo

    if there is None:
        return pymongo.InsertOne(one)
    key = {"_id": one["_id"]}
    gone = [field for field in there if field in ours and field not in one]
    if any(map(_odd, (*one, *gone))):  # such a name cannot be said in an update
        return pymongo.ReplaceOne(key, {**{f: v for f, v in there.items() if f not in gone}, **one}, upsert=True)
    update: dict[str, Any] = {"$set": {field: value for field, value in one.items() if field != "_id"}}
    if gone:
        update["$unset"] = dict.fromkeys(gone, "")
    return pymongo.UpdateOne(key, update, upsert=True)


def _odd(field: str) -> bool:
    return not field or field[0] == "$" or "." in field


def document(number: Callable[[Decimal], Any], row: Row, state: State | None, careful: bool = False) -> dict[str, Any]:
    data = row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data)
    whole = data if state is None else {**data, **stored(row, state)}
    if "_id" in whole:  # the key's place
        whole = {**whole, EXTRA: {"_id": whole["_id"]}}
    return {"_id": clean(row.key), **_value({f: v for f, v in whole.items() if f != "_id"}, careful, number)}


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
            str(_value(str(field), careful, number)): _value(part, careful, number) for field, part in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(part, careful, number) for part in value]
    return _value(str(cell(value)), careful, number)


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

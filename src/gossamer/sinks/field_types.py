"""The shapes of item fields. A shape is the exact type that a field's annotation declares. This module also
converts JSON-ready values to Python values of a shape.

Rows contain JSON-ready values (a date is ISO 8601 text, bytes are base64 text). A store with richer types
uses the shape of a column to convert each value to a Python value for the driver of the store.
"""

from __future__ import annotations

import binascii
import math
import types
import typing
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from gossamer.model.item import Digits, field_names, is_class, is_pydantic
from gossamer.sinks.jsonl import decode, text

_WIDE = 2**63
_LISTS = (list, tuple, set, frozenset, Sequence)
_MAPS = (dict, Mapping)


class FieldType(NamedTuple):
    """The exact type of a field. `kind` is one of: str int float bool decimal time date clock span bytes uuid
    json list map struct.

    `parts`: names and types of the parts, which are the element of a list ("item"), the value of a map
    ("value"), or the fields of a struct. `digits`: the precision and scale of a decimal. Precision 0 means
    that the annotation specifies neither precision nor scale.
    """

    kind: str
    parts: tuple[tuple[str, FieldType], ...] = ()
    digits: tuple[int, int] = (0, 0)


JSON = FieldType("json")
"""The type of fields whose values do not all have the same type. Values of the type `JSON` are written as
JSON text."""
LEAVES: dict[Any, str] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    Decimal: "decimal",
    datetime: "time",
    date: "date",
    time: "clock",
    timedelta: "span",
    bytes: "bytes",
    bytearray: "bytes",
    UUID: "uuid",
}


def shape_of(annotation: Any, inside: tuple[Any, ...] = ()) -> FieldType:
    """Returns the shape of a field's annotation. `inside`: the classes that contain the field, directly or
    through other classes. A class that contains itself has the shape JSON. Therefore, the result is JSON if
    the annotation is one of the classes in `inside`.

    >>> shape_of(list[int] | None)
    FieldType(kind='list', parts=(('item', FieldType(kind='int', parts=(), digits=(0, 0))),), digits=(0, 0))
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        found = shape_of(args[0], inside)
        return found._replace(digits=_digits(args[1:])) if found.kind == "decimal" else found
    if origin in (typing.Union, types.UnionType):
        several = {shape_of(part, inside) for part in args if part not in (type(None), msgspec.UnsetType)}
        if {one.kind for one in several} == {"int", "float"}:
            return FieldType("float")
        return several.pop() if len(several) == 1 else JSON
    if origin is typing.Literal:
        return _of_values(args)
    if origin in _LISTS or origin in _MAPS:
        return _of_parts(origin, args, inside)
    if not isinstance(annotation, type):
        return JSON
    if issubclass(annotation, Enum):
        return _of_values([one.value for one in annotation])
    if annotation in LEAVES:
        return FieldType(LEAVES[annotation])
    if issubclass(annotation, str | PurePath) or hasattr(annotation, "unicode_string"):
        return FieldType("str")
    return _of_class(annotation, inside) if is_class(annotation) and annotation not in inside else JSON


def _of_values(values: Sequence[Any]) -> FieldType:
    kinds = {str if isinstance(value, str) else type(value) for value in values}
    return (
        FieldType({str: "str", int: "int", bool: "bool"}.get(kinds.pop(), "json"))
        if len(kinds) == 1
        else JSON
    )


def _of_parts(origin: Any, args: tuple[Any, ...], inside: tuple[Any, ...]) -> FieldType:
    if origin in _MAPS:
        if len(args) != 2 or shape_of(args[0]).kind != "str":
            return JSON
        kind, part = "map", shape_of(args[1], inside)
    else:
        elements = set(args) - {Ellipsis}
        kind, part = "list", shape_of(elements.pop(), inside) if len(elements) == 1 else JSON
    return JSON if part.kind == "json" else FieldType(kind, (("item" if kind == "list" else "value", part),))


def _of_class(cls: type, inside: tuple[Any, ...]) -> FieldType:
    """Returns the shape of a class, which is usually a struct. If instances of the class are not encoded as
    objects with all fields, the shape is JSON."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are a user's code
        return JSON
    written = field_names(cls)
    if issubclass(cls, msgspec.Struct):
        config = cls.__struct_config__
        if config.array_like or config.tag is not None or config.omit_defaults:
            return JSON
        written = cls.__struct_encode_fields__
    elif is_pydantic(cls) and getattr(cls, "model_computed_fields", None):
        return JSON
    hints |= _pydantic_digits(cls, hints)
    parts = [
        (told, shape_of(hints.get(name), (*inside, cls)))
        for told, name in zip(written, field_names(cls), strict=True)
    ]
    return FieldType("struct", tuple(parts)) if parts else JSON


def hints_of(cls: type) -> dict[str, Any]:
    """Returns the annotations of an item class, including `Annotated` metadata. Returns {} if the annotations
    cannot be resolved."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are a user's code: unreadable ones count as JSON
        return {}
    return hints | _pydantic_digits(cls, hints)


def _pydantic_digits(cls: type, hints: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the annotations of some fields of a pydantic model. These fields have metadata such as
    `Field(max_digits=, decimal_places=)`. The annotations include this metadata."""
    if not is_pydantic(cls):
        return {}
    fields: Any = getattr(cls, "model_fields", {})
    return {
        name: typing.Annotated[hints[name], *field.metadata]
        for name, field in fields.items()
        if name in hints and field.metadata
    }


def _digits(marks: Sequence[Any]) -> tuple[int, int]:
    """Returns the precision and scale in the metadata of an annotation, or (0, 0)."""
    for mark in marks:
        if isinstance(mark, Digits):
            return mark.precision, mark.scale
        for one in (mark, *getattr(mark, "metadata", ())):
            precision, scale = getattr(one, "max_digits", None), getattr(one, "decimal_places", None)
            if (
                isinstance(precision, int)
                and isinstance(scale, int)
                and 0 <= scale <= precision <= 76
                and precision
            ):
                return precision, scale
    return 0, 0


def of_value(value: Any) -> FieldType | None:
    """Returns the shape of a value that was read from a store. Returns None for null, because null does not
    show a type. Objects are JSON."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        found: FieldType | None = None
        for one in value:
            if (part := of_value(one)) is not None:
                found = part if found is None else common_shape(found, part)
        return JSON if found is None or found.kind == "json" else FieldType("list", (("item", found),))
    kind = LEAVES.get(type(value), "json")
    if kind == "decimal" and value.is_finite():
        scale = max(0, -value.as_tuple().exponent)
        whole = max(0, value.adjusted() + 1)
        return FieldType("decimal", digits=(whole + scale, scale) if 0 < whole + scale <= 76 else (0, 0))
    return FieldType("float") if kind == "int" and not -_WIDE <= value < _WIDE else FieldType(kind)


def common_shape(one: FieldType, other: FieldType) -> FieldType:
    """Returns a shape that can hold the values of both shapes."""
    if one == other:
        return one
    kinds = {one.kind, other.kind}
    if kinds == {"decimal"}:
        scale = max(one.digits[1], other.digits[1])
        whole = max(one.digits[0] - one.digits[1], other.digits[0] - other.digits[1])
        fits = one.digits[0] and other.digits[0] and whole + scale <= 76
        return FieldType("decimal", digits=(whole + scale, scale) if fits else (0, 0))
    if kinds == {"int", "decimal"}:
        number = one if one.kind == "decimal" else other
        scale = number.digits[1]
        return FieldType(
            "decimal",
            digits=(max(number.digits[0], 19 + scale), scale) if number.digits[0] and scale <= 57 else (0, 0),
        )
    if kinds <= {"int", "float", "decimal"}:
        return FieldType("float") if "decimal" not in kinds else FieldType("decimal")
    if kinds == {"list"}:
        part = common_shape(one.parts[0][1], other.parts[0][1])
        return JSON if part.kind == "json" else FieldType("list", (("item", part),))
    return JSON


def to_python(shape: FieldType, value: Any) -> Any:
    """Converts a JSON-ready value to the Python value of its shape. A map becomes a list of pairs, JSON stays
    text, and NaN and infinity become None. Raises ValueError for a value that does not fit the shape.

    >>> to_python(FieldType("date"), "2026-01-31"), to_python(FieldType("list", (("item", FieldType("int")),)), [1, None])
    (datetime.date(2026, 1, 31), [1, None])
    """
    if value is None or value is msgspec.UNSET:
        return None
    try:
        return _NATURAL[shape.kind](shape, value)
    except (TypeError, ArithmeticError, AttributeError, binascii.Error) as error:
        raise ValueError(str(error)) from error


def decode_cell(shape: FieldType, told: str) -> Any:
    """Converts a cell of the journal to its Python value. The journal contains JSON text for lists, maps,
    structs, numbers and bools, and plain text for other values."""
    if shape.kind in ("list", "map", "struct", "int", "float", "bool"):
        return to_python(shape, decode(told))
    return to_python(shape, told)


def exact_decimal(value: Any, precision: int, scale: int) -> Decimal:
    """Converts a number to a decimal with `scale` places. Raises ValueError if digits would be lost."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError("not a number")
    number = Decimal(str(value))
    if number and number.adjusted() >= precision - scale:
        raise ValueError(f"more than {precision - scale} digits before the point")
    found = number.quantize(Decimal(1).scaleb(-scale), context=_exactly(precision))
    if found != number:
        raise ValueError(f"more than {scale} decimal places")
    return found


def parse_time(value: Any) -> datetime:
    """Converts a value to a time in UTC. A time without a zone counts as UTC. Raises ValueError."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def parse_day(value: Any) -> date:
    """Converts a value to a date. Raises ValueError."""
    if isinstance(value, date):
        if isinstance(value, datetime):
            raise ValueError("a time is not a date")
        return value
    return date.fromisoformat(value)


def parse_bytes(value: Any) -> bytes:
    """Decodes base64 text. Bytes stay unchanged. Raises ValueError."""
    return bytes(value) if isinstance(value, bytes | bytearray) else b64decode(value, validate=True)


def _exactly(precision: int) -> Context:
    return Context(prec=precision + 1, Emin=-999_999, Emax=999_999, traps=[InvalidOperation, Inexact])


def _of_kind(kind: type) -> Callable[[FieldType, Any], Any]:
    def same(_: FieldType, value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(f"not a {kind.__name__}")
        return value

    return same


def _int(_: FieldType, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -_WIDE <= value < _WIDE:
        raise ValueError("not an integer of 64 bits")
    return value


def _float(_: FieldType, value: Any) -> float | None:
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        raise ValueError("not a number")
    if (isinstance(value, float) and not math.isfinite(value)) or (
        isinstance(value, Decimal) and not value.is_finite()
    ):
        return None
    found = float(value)
    if not math.isfinite(found):
        raise ValueError("more than a float holds")
    return found


def _decimal(shape: FieldType, value: Any) -> Decimal | None:
    if isinstance(value, float | Decimal) and not Decimal(value).is_finite():
        return None
    return exact_decimal(value, *(shape.digits if shape.digits[0] else (38, 9)))


def _clock(_: FieldType, value: Any) -> time:
    found = value if isinstance(value, time) else time.fromisoformat(value)
    if found.tzinfo is not None:
        raise ValueError("a time with a zone")
    return found


def _list(shape: FieldType, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("not a list")
    part = shape.parts[0][1]
    return [to_python(part, one) for one in value]


def _map(shape: FieldType, value: Any) -> list[tuple[str, Any]]:
    part = shape.parts[0][1]
    return [(str(name), to_python(part, one)) for name, one in value.items()]


def _struct(shape: FieldType, value: Any) -> dict[str, Any]:
    if more := value.keys() - {name for name, _ in shape.parts}:
        raise ValueError(f"no field {min(more)}")
    return {name: to_python(part, value.get(name)) for name, part in shape.parts}


_NATURAL: dict[str, Callable[[FieldType, Any], Any]] = {
    "str": _of_kind(str),
    "uuid": _of_kind(str),
    "span": _of_kind(str),
    "bool": _of_kind(bool),
    "int": _int,
    "float": _float,
    "decimal": _decimal,
    "time": lambda _, value: parse_time(value),
    "date": lambda _, value: parse_day(value),
    "clock": _clock,
    "bytes": lambda _, value: parse_bytes(value),
    "json": lambda _, value: text(value),
    "list": _list,
    "map": _map,
    "struct": _struct,
}

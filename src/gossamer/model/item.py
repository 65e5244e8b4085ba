"""Items: typed facts found on pages, with stable keys. An item may be an `Item`, another `msgspec.Struct`, a
dataclass, a pydantic model, or a dict."""

from __future__ import annotations

import dataclasses
import dis
import signal
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any, dataclass_transform

import msgspec

from gossamer.config import value_parsers

MAX_AHEAD_S = 86_400.0
"""The maximum number of seconds by which a date may be in the future. Time zones and wrong clocks cause dates
in the future."""


@dataclass_transform(kw_only_default=True)
class _ItemMeta(msgspec.StructMeta):
    """Reads `key=` and `ignore=` from a class statement. Makes the fields keyword-only, so that a new field
    in a class does not break calls of its constructor."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: str | None = None,
        ignore: tuple[str, ...] | str = (),
        **config: Any,
    ) -> Any:
        config.setdefault("kw_only", True)
        cls = super().__new__(mcls, name, bases, namespace, **config)
        fields, ignored = cls.__struct_fields__, (ignore,) if isinstance(ignore, str) else tuple(ignore)
        for word in (*([key] if key is not None else []), *ignored):
            if word not in fields:
                what = "key" if word == key else "ignore"
                raise TypeError(
                    f"{name}: {what} {word!r} is not a field of it; its fields are {', '.join(fields)}"
                )
        type.__setattr__(cls, "item_key", key or getattr(cls, "item_key", None))
        type.__setattr__(cls, "item_ignore", ignored or getattr(cls, "item_ignore", ()))
        return cls


class Item(msgspec.Struct, metaclass=_ItemMeta):
    """Base class of a site's items: `class Book(Item, key="upc", ignore="views")`. Fields are annotations. A
    `Decimal` is written as a number.

    If no key is declared, or if the key's value is None, the item's key is a hash of its fields. `ignore`
    lists fields whose changes do not matter. If only ignored fields change, the item gets no new version.
    Item classes with another base class declare the key and the ignored fields as `item_key: ClassVar[str]`
    and `item_ignore: ClassVar[tuple[str, ...]]`.
    """


class Fresh:
    """The maximum age of a date: `day: Annotated[str, Fresh("30d")]`. The field's type is str (ISO 8601),
    date or datetime. The age is measured from the time at which the page was fetched. A date without a time
    zone counts as UTC. Raises ValueError for an invalid time span."""

    def __init__(self, age: float | str) -> None:
        self.said, self.age = age, value_parsers.seconds(age)

    def wrong(self, value: Any, now: float) -> str | None:
        """Returns the error text for an invalid value, or None for a valid value. `now`: seconds since the
        epoch, 0 if unknown.

        >>> Fresh("2d").wrong("2026-01-01", 1767500000.0)
        'it is older than 2d'
        """
        try:
            moment = value if isinstance(value, date) else datetime.fromisoformat(value)
            moment = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
            at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (TypeError, ValueError, OverflowError):
            return "it is not a date (ISO 8601)"
        if now > 0 and at < now - self.age:
            return f"it is older than {self.said}"
        return "it lies in the future" if 0 < now < at - MAX_AHEAD_S else None


class Digits:
    """The digits of a Decimal: `price: Annotated[Decimal, Digits(12, 2)]` has at most 12 digits, 2 of them
    after the point. The Parquet output derives the column's type from the numbers of digits (`decimal128(12,
    2)`). Raises ValueError."""

    def __init__(self, precision: int, scale: int) -> None:
        if not (0 < precision <= 76 and 0 <= scale <= precision):
            raise ValueError(
                f"Digits({precision}, {scale}): 1 to 76 digits, none or some of them after the point"
            )
        self.precision, self.scale = precision, scale


def is_item(thing: Any) -> bool:
    """Returns whether a value is an item: a dict, or an object of an item class."""
    return isinstance(thing, dict | msgspec.Struct) or is_class(type(thing))


def is_class(cls: Any) -> bool:
    """Returns whether a class is an item class: a Struct, a dataclass, a pydantic model."""
    return isinstance(cls, type) and (
        issubclass(cls, msgspec.Struct) or dataclasses.is_dataclass(cls) or is_pydantic(cls)
    )


def is_pydantic(cls: type) -> bool:
    """Returns whether a class is a pydantic model."""
    return hasattr(cls, "model_fields") and hasattr(cls, "model_validate")


def field_names(cls: type) -> tuple[str, ...]:
    """Returns the field names of an item class."""
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return tuple(getattr(cls, "model_fields", ()))


def kind_of(item: Any) -> str:
    """Returns the kind of an item: its class name in lower case. A dict has the kind `item`."""
    return "item" if isinstance(item, dict) else type(item).__name__.lower()


def plain_fields(item: Any) -> dict[str, Any]:
    """Returns the item's own fields as JSON-ready values (a Decimal stays a Decimal and is written as a
    number). Raises TypeError or a similar error for a value that cannot be converted."""
    return {
        name: value
        if type(value) in _READY
        else _built(value, builtin_types=_DECIMAL, str_keys=True, enc_hook=_based)
        for name, value in _pairs(item)
        if value is not _UNSET
    }


def printable_fields(item: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns two dicts. The first dict contains the same fields as the result of `plain_fields`, but each
    value that cannot be converted is replaced by its `repr`. The second dict maps the name of each field with
    a replaced value to the error."""
    fields: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for given, value in _pairs(item):
        if value is _UNSET:
            continue
        name = given if type(given) is str else str(display_value(given))  # a step may have set any name
        try:
            fields[name] = to_json_value(value)
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            fields[name], wrong[name] = display_value(value), exception_message(error)
    return fields, wrong


def to_json_value(value: Any) -> Any:
    """Converts a value to a JSON-ready one. The keys of dicts inside the value become text. Raises TypeError
    or a similar error."""
    return _built(value, builtin_types=_DECIMAL, str_keys=True, enc_hook=_based)


def display_value(value: Any) -> Any:
    """Returns a value for display. The result is the JSON-ready value or, if there is none, the `repr` of the
    value. If `repr` fails, returns the name of the value's class."""
    for form in (to_json_value, repr):
        try:
            return form(value)
        except BaseException as error:
            if is_ctrl_c(error):
                raise
    return f"<{type(value).__name__}>"


def has_value(value: Any) -> bool:
    """Returns whether a field has a value: not None, and not an empty text, list or object."""
    return value is not None and value != "" and value != [] and value != {}


def exception_message(error: BaseException) -> str:
    """Returns an exception's message. A call of `str` may itself raise an error if users wrote the class of
    the exception."""
    try:
        return str(error).encode("utf-8", "replace").decode()
    except BaseException as own:
        if is_ctrl_c(own):
            raise
        return "it gives no reason"


def is_ctrl_c(error: BaseException) -> bool:
    """Returns whether an exception is a Ctrl-C of the user, which must be passed on. A KeyboardInterrupt that
    a function raises itself is treated like any other error."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    handler: Any = signal.getsignal(signal.SIGINT)
    code, trace, last = getattr(getattr(handler, "func", handler), "__code__", None), error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        last = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
        trace = trace.tb_next
    return last != "RAISE_VARARGS"  # a signal arrives between two lines, not at a `raise`


def _pairs(item: Any) -> Iterable[tuple[str, Any]]:
    """Returns the fields of an item."""
    if isinstance(item, msgspec.Struct):
        return [(name, getattr(item, name)) for name in item.__struct_fields__]
    if isinstance(item, dict):
        return item.items()
    if is_pydantic(type(item)):
        return list(item.model_dump().items())
    return [(name, getattr(item, name)) for name in field_names(type(item))]


def _based(value: Any) -> Any:
    """Converts an object whose class is derived from a plain type to that plain type. For example, a parser's
    subclass of `str` becomes a `str`."""
    for kind, made in _BASES.items():
        if isinstance(value, kind):
            return made(value)
    if hasattr(value, "unicode_string"):  # a URL of pydantic
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


_BASES: dict[Any, Callable[[Any], Any]] = {
    str: str.__str__,
    Decimal: Decimal,
    Integral: int,
    Real: float,
    bytes: bytes,
    Mapping: dict,
    Set: list,
    deque: list,
    datetime: lambda at: datetime.combine(at.date(), at.timetz()),
    date: lambda day: date(day.year, day.month, day.day),
    time: time.isoformat,
    timedelta: lambda span: timedelta(seconds=span.total_seconds()),
    PurePath: str,
}
"""Maps each base class to the function that converts an instance of a subclass. A class comes before its own
base classes, so that the first match is the most specific class."""
_built, _DECIMAL, _UNSET = msgspec.to_builtins, (Decimal,), msgspec.UNSET
_READY = frozenset((str, int, float, bool, type(None), Decimal))

"""An item: one fact found on a page, typed, with a stable key.

Any of these is one: our `Item`, another `msgspec.Struct`, a dataclass, a pydantic model, a dict.
"""

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

AHEAD = 86_400.0
"""Seconds that a date may lie ahead: time zones, clocks."""


@dataclass_transform(kw_only_default=True)
class _ItemMeta(msgspec.StructMeta):
    """Reads `key=` and `ignore=` of the class line; makes the fields keyword-only, so that adding one breaks
    no caller."""

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
                    f"{name}: {what} {word!r} is no field of it; its fields are {', '.join(fields)}"
                )
        type.__setattr__(cls, "item_key", key or getattr(cls, "item_key", None))
        type.__setattr__(cls, "item_ignore", ignored or getattr(cls, "item_ignore", ()))
        return cls


class Item(msgspec.Struct, metaclass=_ItemMeta):
    """Base of a site's items: `class Book(Item, key="upc", ignore="views")`. Fields are annotations;
    `Decimal` is written as a number.

    Without a key, or where its key is None, the item's key is a hash of its fields. A change of a field that
    `ignore` names makes no new version of it. Other classes say both as `item_key: ClassVar[str]` and
    `item_ignore: ClassVar[tuple[str, ...]]`.
    """


class Fresh:
    """A bound on the age of a date: `day: Annotated[str, Fresh("30d")]`. Fields of type str (ISO 8601), date
    or datetime.

    Judged as of the moment at which the page was fetched; a date without a zone is UTC. Raises ValueError for
    what is no time.
    """

    def __init__(self, age: float | str) -> None:
        self.said, self.age = age, value_parsers.seconds(age)

    def wrong(self, value: Any, now: float) -> str | None:
        """What is wrong with a value, or None; `now` in seconds since the epoch, 0: nobody knows.

        >>> Fresh("2d").wrong("2026-01-01", 1767500000.0)
        'it is older than 2d'
        """
        try:
            moment = value if isinstance(value, date) else datetime.fromisoformat(value)
            moment = moment if isinstance(moment, datetime) else datetime.combine(moment, time())
            at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (TypeError, ValueError, OverflowError):
            return "it is no date (ISO 8601)"
        if now > 0 and at < now - self.age:
            return f"it is older than {self.said}"
        return "it lies in the future" if 0 < now < at - AHEAD else None


class Digits:
    """The digits of a Decimal: `price: Annotated[Decimal, Digits(12, 2)]` has 12 at most, 2 of them after the
    point.

    Parquet makes a column of it (`decimal128(12, 2)`). Raises ValueError.
    """

    def __init__(self, precision: int, scale: int) -> None:
        if not (0 < precision <= 76 and 0 <= scale <= precision):
            raise ValueError(
                f"Digits({precision}, {scale}): 1 to 76 digits, none or some of them after the point"
            )
        self.precision, self.scale = precision, scale


def is_item(thing: Any) -> bool:
    """Whether a value is an item: a dict, or an object of a class of items."""
    return isinstance(thing, dict | msgspec.Struct) or is_class(type(thing))


def is_class(cls: Any) -> bool:
    """Whether a class is one of items: a Struct, a dataclass, a pydantic model."""
    return isinstance(cls, type) and (
        issubclass(cls, msgspec.Struct) or dataclasses.is_dataclass(cls) or modelled(cls)
    )


def modelled(cls: type) -> bool:
    """Whether a class is a pydantic model."""
    return hasattr(cls, "model_fields") and hasattr(cls, "model_validate")


def names(cls: type) -> tuple[str, ...]:
    """The fields of a class of items."""
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return tuple(getattr(cls, "model_fields", ()))


def kind(item: Any) -> str:
    """The item's kind: its class name in lower case; a dict is of the kind `item`."""
    return "item" if isinstance(item, dict) else type(item).__name__.lower()


def plain(item: Any) -> dict[str, Any]:
    """The item's own fields as JSON-ready values (Decimal stays Decimal and is written as a number). Raises
    TypeError and its kin for a value that has no such form."""
    return {
        name: value
        if type(value) in _READY
        else _built(value, builtin_types=_DECIMAL, str_keys=True, enc_hook=_based)
        for name, value in _pairs(item)
        if value is not _UNSET
    }


def told(item: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """As `plain`, without an error: a value that has no form stands there as its `repr`. With it, by field,
    what is wrong."""
    fields: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for given, value in _pairs(item):
        if value is _UNSET:
            continue
        name = given if type(given) is str else str(shown(given))  # a step may have put any name there
        try:
            fields[name] = ready(value)
        except BaseException as error:
            if pressed(error):
                raise
            fields[name], wrong[name] = shown(value), said(error)
    return fields, wrong


def ready(value: Any) -> Any:
    """A value in a JSON-ready form; names inside it become texts. Raises TypeError and its kin."""
    return _built(value, builtin_types=_DECIMAL, str_keys=True, enc_hook=_based)


def shown(value: Any) -> Any:
    """A value as it can be told: in a JSON-ready form, else as its `repr`, else as the name of its class."""
    for form in (ready, repr):
        try:
            return form(value)
        except BaseException as error:
            if pressed(error):
                raise
    return f"<{type(value).__name__}>"


def has_value(value: Any) -> bool:
    """Whether a field's value says anything: not None, no empty text, list or object."""
    return value is not None and value != "" and value != [] and value != {}


def said(error: BaseException) -> str:
    """What an exception says; one of a user's may not even do that."""
    try:
        return str(error).encode("utf-8", "replace").decode()
    except BaseException as own:
        if pressed(own):
            raise
        return "it does not say why"


def pressed(error: BaseException) -> bool:
    """Whether it is somebody's Ctrl-C, which is for who called us; one that a function raises by itself is an
    error like any other."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    handler: Any = signal.getsignal(signal.SIGINT)
    code, trace, last = getattr(getattr(handler, "func", handler), "__code__", None), error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return True
        last = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
        trace = trace.tb_next
    return last != "RAISE_VARARGS"  # a signal comes between two lines, not at a `raise`


def _pairs(item: Any) -> Iterable[tuple[str, Any]]:
    """The fields of an item."""
    if isinstance(item, msgspec.Struct):
        return [(name, getattr(item, name)) for name in item.__struct_fields__]
    if isinstance(item, dict):
        return item.items()
    if modelled(type(item)):
        return list(item.model_dump().items())
    return [(name, getattr(item, name)) for name in names(type(item))]


def _based(value: Any) -> Any:
    """What an object of a class that is made from a plain one holds: texts of parsers, numbers and moments of
    others."""
    for kind, made in _BASES.items():
        if isinstance(value, kind):
            return made(value)
    if hasattr(value, "unicode_string"):  # an address of pydantic's
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
"""A more special class stands before the one that it is of."""
_built, _DECIMAL, _UNSET = msgspec.to_builtins, (Decimal,), msgspec.UNSET
_READY = frozenset((str, int, float, bool, type(None), Decimal))

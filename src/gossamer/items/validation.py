"""Validates items by the annotations of their class: types, required fields, ranges, patterns, and freshness.

Examples: `Annotated[str, msgspec.Meta(min_length=1, pattern="^B")]`, `Annotated[Decimal,
msgspec.Meta(gt=0)]`, `Annotated[date, Fresh("30d")]`. Types that msgspec does not support, such as classes of
the user, are not checked. Pydantic models are validated by pydantic (`pydantic_models`). For a pydantic
model, this module checks only annotations that pydantic does not support, for example `Fresh`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import msgspec.inspect

from gossamer.items.pydantic_models import Check, Fault, Model
from gossamer.model.item import Fresh, field_names, is_pydantic

_BOUNDS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "gt": (operator.gt, ">"),
    "ge": (operator.ge, ">="),
    "lt": (operator.lt, "<"),
    "le": (operator.le, "<="),
    "multiple_of": (lambda value, of: not Decimal(str(value)) % Decimal(str(of)), "a multiple of"),
    "min_length": (lambda value, least: len(value) >= least, "of length >="),
    "max_length": (lambda value, most: len(value) <= most, "of length <="),
    "pattern": (lambda value, pattern: re.search(pattern, value), "matched by"),
}
_NUMBERS = ("gt", "ge", "lt", "le")
_UNION = (typing.Union, types.UnionType)


class Schema:
    """The validation rules of one class of items."""

    def __init__(self, cls: type) -> None:
        self.cls, self.names = cls, field_names(cls)
        self.defaults: dict[str, Callable[[], Any]] = _defaults(cls)
        self.blank = _blank(cls, self.defaults)
        """The names of the fields whose default is an empty string."""
        alone = is_pydantic(cls)
        self._types: dict[str, Any] = {}
        self._checks: list[tuple[str, Check]] = []
        self._numbers: list[str] = []
        for name, hint in _hints(cls).items():
            judged, checks = _split(hint, alone)
            self._types[name] = judged if _judges(judged) else Any
            self._checks += [(name, check) for check in checks]
            if Decimal in _members(judged) and str not in _members(judged):
                self._numbers.append(name)
        self._model = Model(cls, self._checks) if alone else None
        self._whole: Any = msgspec.defstruct(
            cls.__name__,
            [
                (name, kind, msgspec.UNSET) if name in self.defaults else (name, kind)
                for name, kind in self._types.items()
            ],
            kw_only=True,
        )

    def faults(self, fields: dict[str, Any], now: float, made: Any = None) -> list[Fault]:
        """Returns the faults of an item's fields. If a field of type Decimal contains a text, the text in
        `fields` is replaced by the Decimal.

        `now` is the time of the page's fetch in seconds since the epoch, or 0 if it is unknown. `made` is the
        value that the page function yielded, if it was not a dict.
        """
        if self._model is not None:
            return self._model.faults(fields, now, made)
        try:
            read = msgspec.convert(fields, self._whole, str_keys=True)
        except (msgspec.ValidationError, TypeError):
            return self._each(fields, now)
        for name in self._numbers:
            if type(fields.get(name)) is str:
                fields[name] = getattr(read, name)
        for name, check in self._checks:
            value = fields.get(name)
            if value is not None and check(value, now):
                return self._each(fields, now)
        return []

    def _each(self, fields: dict[str, Any], now: float) -> list[Fault]:
        """Checks each field separately and returns all faults."""
        found = []
        for name, kind in self._types.items():
            if name not in fields:
                found += [] if name in self.defaults else [Fault(name, None, "it is missing")]
                continue
            try:
                msgspec.convert(fields[name], kind, str_keys=True)
            except (msgspec.ValidationError, TypeError) as error:
                found.append(Fault(name, fields[name], str(error)))
        bad = {fault.field for fault in found}
        for name, check in self._checks:
            value = fields.get(name)
            if value is not None and name not in bad and (why := check(value, now)):
                found.append(Fault(name, value, why))
                bad.add(name)
        return found


@functools.cache
def schema_of(cls: type) -> Schema:
    """Returns the schema of a class. The schema is built once per class."""
    return Schema(cls)


def _hints(cls: type) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are the user's code: unreadable ones are not checked
        hints = {}
    return {name: hints.get(name, Any) for name in field_names(cls)}


def _defaults(cls: type) -> dict[str, Callable[[], Any]]:
    """Maps the name of each optional field to a function that makes the field's default value."""
    found: dict[str, Callable[[], Any]] = {}
    if issubclass(cls, msgspec.Struct):  # `structs.fields` would evaluate the annotations, which may fail
        given = cls.__struct_defaults__
        for name, default in zip(
            cls.__struct_fields__[len(cls.__struct_fields__) - len(given) :], given, strict=True
        ):
            if default is not msgspec.NODEFAULT:
                found[name] = getattr(default, "factory", None) or functools.partial(_same, default)
    elif dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            if field.default_factory is not dataclasses.MISSING:
                found[field.name] = field.default_factory
            elif field.default is not dataclasses.MISSING:
                found[field.name] = functools.partial(_same, field.default)
    return found


def _blank(cls: Any, defaults: dict[str, Callable[[], Any]]) -> frozenset[str]:
    found = {name: made() for name, made in defaults.items() if isinstance(made, functools.partial)}
    if is_pydantic(cls):
        found = {name: field.default for name, field in cls.model_fields.items()}
    return frozenset(name for name, value in found.items() if isinstance(value, str) and not value)


def _same(value: Any) -> Any:
    return value


def _members(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) is Annotated:
        return _members(typing.get_args(hint)[0])
    return typing.get_args(hint) if typing.get_origin(hint) in _UNION else (hint,)


def _split(hint: Any, alone: bool = False) -> tuple[Any, list[Check]]:
    """Splits a field's annotation into a type that msgspec validates, and a list of checks that msgspec does
    not support. The list contains the bounds of Decimals, freshness, and the constraints of the package
    `annotated_types`.

    `alone`: True for a field of a pydantic model. The list then contains only the checks for `Fresh` and
    `msgspec.Meta`, because pydantic itself checks all other annotations.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNION:
        parts = [_split(part, alone) for part in inner]
        return functools.reduce(operator.or_, (kind for kind, _ in parts)), [
            check for _, checks in parts for check in checks
        ]
    if origin is not Annotated:
        return hint, []
    kind, checks = _split(inner[0], alone)
    kept: list[Any] = []
    for mark in _marks(inner[1:]):
        if isinstance(mark, Fresh):
            checks.append(mark.wrong)
        elif isinstance(mark, msgspec.Meta) and Decimal not in _members(kind):
            if alone:
                checks.append(functools.partial(_meant, mark))
            else:
                kept.append(mark)
        elif isinstance(mark, msgspec.Meta) or not alone:
            checks += [
                functools.partial(
                    _bound,
                    test,
                    sign,
                    Decimal(str(bound)) if word in _NUMBERS and Decimal in _members(kind) else bound,
                )
                for word, (test, sign) in _BOUNDS.items()
                if (bound := getattr(mark, word, None)) is not None
            ]
            if type(mark).__name__ == "Predicate":
                checks.append(
                    functools.partial(
                        _bound, lambda value, test: test(value), "what it has to be:", mark.func
                    )
                )
    return (Annotated[kind, *kept] if kept else kind), checks


def _marks(given: Iterable[Any]) -> Iterator[Any]:
    """Yields the annotation marks in `given`, for example `Fresh`. A mark that consists of several marks, for
    example `annotated_types.Interval` or pydantic's `Field`, is replaced by these marks."""
    for mark in given:
        if getattr(mark, "__is_annotated_types_grouped_metadata__", False):
            yield from _marks(mark)
        elif type(mark).__name__ == "FieldInfo":
            yield from _marks(mark.metadata)
        else:
            yield mark


def _meant(mark: msgspec.Meta, value: Any, now: float) -> str | None:
    try:
        msgspec.convert(value, Annotated[type(value), mark])
    except msgspec.ValidationError as error:
        return str(error)
    except TypeError:  # the mark does not apply to values of this type
        pass
    return None


def _bound(test: Callable[[Any, Any], Any], sign: str, bound: Any, value: Any, now: float) -> str | None:
    try:
        if type(value) is str and type(bound) is Decimal:
            value = Decimal(value)
        return None if test(value, bound) else f"it is not {sign} {_told(bound)}"
    except (TypeError, ValueError, ArithmeticError):
        return f"it cannot be compared with {_told(bound)}"


def _told(bound: Any) -> str:
    return str(getattr(bound, "__name__", bound))


def _judges(kind: Any) -> bool:
    """Returns whether msgspec can validate a type and everything nested in it. A class of the user counts as
    unsupported, because msgspec accepts only its instances and not their serialized form."""
    try:
        msgspec.convert(None, kind)
    except msgspec.ValidationError:
        pass
    except Exception:  # noqa: BLE001 - TypeError and others: msgspec does not support the type
        return False
    return not _strange(msgspec.inspect.type_info(kind), set())


def _strange(info: Any, seen: set[int]) -> bool:
    """Returns True if msgspec does not support a type, or any type nested in this type."""
    if isinstance(info, msgspec.inspect.CustomType):
        return True
    if not isinstance(info, msgspec.Struct | tuple) or id(info) in seen:
        return False
    seen.add(id(info))
    return any(
        _strange(part, seen) for part in (info if isinstance(info, tuple) else msgspec.structs.astuple(info))
    )

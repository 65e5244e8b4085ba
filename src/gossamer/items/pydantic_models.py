"""Validates items that are pydantic models, or dicts that become such models.

pydantic validates and converts a dict. An item that the page function yields as a model is already valid. The
model's validators may parse or convert values, so they must not run a second time. Therefore, if steps change
fields of the item, only the types and bounds of these fields are checked again.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from gossamer.model.item import plain_fields, printable_fields, to_json_value


class Fault(NamedTuple):
    """An error that validation found in an item. `field` is the name of the field, or None for the whole
    item. `value` is the value of the field."""

    field: str | None
    value: Any
    reason: str


Check = Callable[[Any, float], str | None]
"""The type of a function that checks a value. The function takes the value and the time when the page was
fetched, in seconds since the epoch. The function returns the error text, or None if the value is valid."""
_VALIDATORS = frozenset(("BeforeValidator", "AfterValidator", "PlainValidator", "WrapValidator"))


class Model:
    """The validation rules of a pydantic class. `checks` are (field, check) pairs for the rules that pydantic
    does not check itself."""

    def __init__(self, cls: Any, checks: Sequence[tuple[str, Check]]) -> None:
        self._cls, self._checks = cls, checks
        self._aliases = {name for field in cls.model_fields.values() for name in _aliases(field)} - {
            *cls.model_fields
        }
        self._adapters: dict[str, Any] = {}

    def faults(self, fields: dict[str, Any], now: float, made: Any = None) -> list[Fault]:
        """Returns the faults of an item's fields. Converts the values in `fields` to the types of the model.
        `now` is the time of the page's fetch in seconds since the epoch. `made` is the value that the page
        function yielded. If `made` is not a model of this class, a new model is made from `fields`."""
        return self._changed(fields, now, made) if isinstance(made, self._cls) else self._made(fields, now)

    def _made(self, fields: dict[str, Any], now: float) -> list[Fault]:
        try:
            read = self._cls.model_validate(dict(fields), strict=False)
        except ValueError as error:
            return _said(error)
        found = self._judged(
            ((name, getattr(read, name, None), fields.get(name)) for name in read.model_fields_set), now
        )
        own, wrong = printable_fields(read)
        found += [Fault(name, own[name], f"it cannot be written: {why}") for name, why in wrong.items()]
        if not found:
            rest = {
                name: value for name, value in fields.items() if name not in own and name not in self._aliases
            }
            fields.clear()
            fields.update(own | rest)
        return found

    def _changed(self, fields: dict[str, Any], now: float, made: Any) -> list[Fault]:
        found, was, values = list[Fault](), plain_fields(made), dict[str, tuple[Any, Any]]()
        for name, field in self._cls.model_fields.items():
            if name not in fields:
                found += [Fault(name, None, "Field required")] if field.is_required() else []
            elif name in was and fields[name] == was[name]:
                if name in made.model_fields_set:
                    values[name] = getattr(made, name, None), fields[name]
            else:
                try:
                    value = self._adapter(name)(fields[name])
                    values[name] = value, fields[name]
                    fields[name] = to_json_value(value)
                except ValueError as error:
                    found += [fault._replace(field=name) for fault in _said(error)]
        return found + self._judged(((name, *both) for name, both in values.items()), now)

    def _judged(self, values: Iterable[tuple[str, Any, Any]], now: float) -> list[Fault]:
        """Runs the checks, and returns at most one fault per field. Each triple in `values` contains a
        field's name, the value to check, and the value to show in the error message."""
        found = dict[str, Fault]()
        known = {name: (value, shown) for name, value, shown in values if value is not None}
        for name, check in self._checks:
            if name in known and name not in found and (why := check(known[name][0], now)):
                found[name] = Fault(name, known[name][1], why)
        return [*found.values()]

    def _adapter(self, name: str) -> Callable[[Any], Any]:
        """Returns the function that converts a value to a field's type. If pydantic has no schema for the
        type, the function returns the value unchanged."""
        if name not in self._adapters:
            field = self._cls.model_fields[name]
            marks = [mark for mark in field.metadata if type(mark).__name__ not in _VALIDATORS]
            kind = functools.reduce(lambda kind, mark: Annotated[kind, mark], marks, field.annotation)
            try:
                self._adapters[name] = sys.modules["pydantic"].TypeAdapter(kind).validate_python
            except Exception:  # noqa: BLE001 - pydantic's errors for a class of the user that it does not support
                self._adapters[name] = lambda value: value
        return self._adapters[name]  # type: ignore[no-any-return] # pydantic's


def _said(error: ValueError) -> list[Fault]:
    """Converts an error of pydantic, or of a user's validator, to faults."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return [Fault(None, None, str(error))]
    return [
        Fault(
            ".".join(map(str, one["loc"])) or None,
            one["input"] if one["loc"] and one["type"] != "missing" else None,
            one["msg"],
        )
        for one in errors(include_url=False, include_context=False)
    ]


def _aliases(field: Any) -> Iterable[str]:
    """Yields the aliases of a field: the keys that a dict may contain instead of the name of the field."""
    given = getattr(field, "validation_alias", None)
    for one in getattr(given, "choices", None) or (given, field.alias):
        first = one if isinstance(one, str) else (getattr(one, "path", None) or (None,))[0]
        if isinstance(first, str):
            yield first

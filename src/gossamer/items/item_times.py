"""Adds the UTC suffix `Z` to datetimes without a time zone, in every output. Datetimes without a time zone
are in UTC.

The hash of an item is computed from the text without `Z`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from gossamer.model.item import field_names, is_class

Places = Mapping[Any, Any] | bool
"""Describes the positions of datetimes in a value. True means that the value itself is a datetime. For a
value with parts (fields, dict values or list elements), a mapping contains the positions of datetimes in each
part. Each key of the mapping is the name or the index of a part, or None for all other parts."""
_NONE: Mapping[Any, Any] = {}


def declared_times(annotation: Any, inside: tuple[Any, ...] = ()) -> Places:
    """Returns the positions of datetimes in values of an annotated type. `inside`: the enclosing classes,
    which are not searched again, so that the search in a recursive class ends.

    >>> declared_times(list[datetime] | None)
    {None: True}
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is datetime:
        return True
    if origin is typing.Annotated:
        return declared_times(args[0], inside)
    if origin in (typing.Union, types.UnionType):
        parts = [one for one in args if one not in (type(None), msgspec.UnsetType)]
        return declared_times(parts[0], inside) if len(parts) == 1 else _NONE
    if args and origin is not typing.Literal:
        found = declared_times(next((one for one in reversed(args) if one is not Ellipsis), None), inside)
        return {None: found} if found else _NONE
    if is_class(annotation) and annotation not in inside:
        return time_fields(annotation, (*inside, annotation))
    return _NONE


def time_fields(cls: type, inside: tuple[Any, ...] = ()) -> Mapping[Any, Any]:
    """Returns the positions of datetimes in items of a class. The result maps the name of each field with
    datetimes to the positions of the datetimes in this field."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are the user's code and may raise anything
        return _NONE
    written = getattr(cls, "__struct_encode_fields__", field_names(cls)) if inside else field_names(cls)
    found = {
        told: declared_times(hints.get(name), inside)
        for told, name in zip(written, field_names(cls), strict=True)
    }
    return {name: places for name, places in found.items() if places}


def naive_times(value: Any) -> Places:
    """Searches a value of an untyped dict for datetimes without a time zone. Returns the positions of these
    datetimes."""
    if isinstance(value, datetime):
        return value.tzinfo is None
    if isinstance(value, dict):
        parts: Any = value.items()
    elif isinstance(value, list | tuple):
        parts = enumerate(value)
    else:
        return _NONE
    return {name: places for name, one in parts if type(one) not in _PLAIN and (places := naive_times(one))}


def with_zone(value: Any, places: Places) -> Any:
    """Returns a JSON-ready value in which the datetimes at `places` have the suffix `Z`.

    >>> with_zone({"at": "2026-01-31T12:00:00"}, {"at": True})
    {'at': '2026-01-31T12:00:00Z'}
    """
    if places is True:
        return _zoned(value) if isinstance(value, str) else value
    if not isinstance(places, Mapping) or not places:
        return value
    if isinstance(value, dict):
        return {
            name: with_zone(one, places.get(name, places.get(None, _NONE))) for name, one in value.items()
        }
    if isinstance(value, list):
        return [with_zone(one, places.get(n, places.get(None, _NONE))) for n, one in enumerate(value)]
    return value


def _zoned(text: str) -> str:
    if text[-1:] == "Z" or text[10:11] not in ("T", " "):
        return text
    try:
        return text if datetime.fromisoformat(text).tzinfo else f"{text}Z"
    except ValueError:
        return text


_PLAIN = frozenset((str, int, float, bool, type(None)))

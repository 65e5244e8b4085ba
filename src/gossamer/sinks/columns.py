"""The names and types of the columns of each kind of row. The columns are known before the first row, so the
header of a file never changes."""

from __future__ import annotations

import math
import re
import types
import typing
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from gossamer.model.item import field_names
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.field_types import LEAVES, FieldType, hints_of, shape_of
from gossamer.sinks.jsonl import text

EXTRA = "_extra"
"""The name of the column that comes last in every table. The column `_extra` contains a JSON object. This
object contains the fields without a declared column, and the values that do not fit their column."""


MAX_COLUMNS = 100
"""The maximum number of columns of a kind whose items are untyped dicts."""
_NAME = re.compile(r"[^\W\d][\w .-]{0,59}")


class Column(NamedTuple):
    """One column. `type` is one of: str int float bool decimal time date clock span bytes uuid strings json.
    Columns of untyped dicts have the type any.

    `shape` is the exact type if `type` alone does not describe the column completely. The shape of a decimal
    contains its precision and scale. If `type` is json, the shape contains the types of the elements.
    """

    name: str
    type: str = "str"
    shape: FieldType | None = None


Columns = Mapping[str, Sequence[Column]]
"""A mapping from each kind of row to the columns of that kind. The rows of a kind without an entry are
untyped dicts. `loose_names` determines the columns of untyped dicts from the rows."""

OURS = (
    Column("_url"),
    Column("_site"),
    Column("_kind"),
    Column("_key"),
    Column("_seen_at", "time"),
    Column("_version"),
    Column("_hash"),
)
"""The columns that each item row has besides its own fields."""

_PAGE: tuple[Column, ...] = (
    Column("url"),
    Column("requested_url"),
    Column("status", "int"),
    Column("title"),
    Column("content_type"),
    Column("language"),
    Column("depth", "int"),
    Column("referrer"),
    Column("fetched_at", "time"),
    Column("elapsed", "float"),
    Column("bytes", "int"),
    Column("collector"),
    Column("links", "int"),
    Column("text_hash"),
    Column("canonical"),
    Column("redirects", "strings"),
    Column("error"),
)
_PLAIN = frozenset((str, int, float, bool, type(None)))


_GIVEN = (Column("id"), Column("added_at", "time"))
_GROUP = (Column("group_id"), Column("copy"), Column("likeness", "float"))


def page_columns(
    text: bool = False, links: bool = False, duplicates: bool = False, ids: bool = False
) -> tuple[Column, ...]:
    """Returns the columns of the kind "page". `text` and `links` are the options `--text` and `--links`.
    `duplicates`: whether each row names the group of similar pages to which the page belongs. `ids`: whether
    to add the columns `id` and `added_at` of requests."""
    columns = _PAGE + (_GROUP if duplicates else ())
    if text:
        columns += (Column("text"),)
    if links:
        columns += (Column("out_links", "strings"),)
    return columns + (_GIVEN if ids else ())


def with_ids(kinds: Columns) -> Columns:
    """Adds the columns `id` and `added_at` to the columns of page records. `id` is the id of the request.
    `added_at` is the time at which the request was added. Formats without a column `_extra` need these
    columns from the start, because a later request may have an id."""
    page = kinds.get("page", ())
    names = {column.name for column in page}
    missing = [column for column in _GIVEN if page and column.name not in names]
    return {**kinds, "page": (*page, *missing)} if missing else kinds


def item_columns(
    items: Iterable[type], compared: bool = False, ids: bool = False
) -> dict[str, tuple[Column, ...]]:
    """Maps each kind of items to its columns. The fields of the item classes determine the columns. If
    several classes have the same kind, the kind has the fields of all of them.

    `compared`: whether the site has a step that marks equal and nearly equal items. If so, each row names the
    group of equal items to which its item belongs. `ids`: whether to add the columns `_id` and `_added_at` of
    requests.
    """
    added = (_GROUP if compared else ()) + (_GIVEN if ids else ())
    more = tuple(Column(f"_{one.name}", one.type) for one in added)
    kinds: dict[str, dict[str, Column]] = {}
    for item in items:
        hints = hints_of(item)
        fields = kinds.setdefault(item.__name__.lower(), {})
        for name in field_names(item):
            found = _column(name, hints.get(name))
            fields[name] = found if fields.get(name, found) == found else Column(name, "json")
    return {name: (*fields.values(), *OURS, *more) for name, fields in kinds.items()}


def _column(name: str, annotation: Any) -> Column:
    kind, shape = column_type(annotation), shape_of(annotation)
    tells = shape.kind != "json" if kind == "json" else kind == "decimal" and shape.digits[0]
    return Column(name, kind, shape if tells else None)


def struct_columns(struct: type[msgspec.Struct]) -> tuple[Column, ...]:
    """Returns the columns of a struct's fields. The fields `ts`, `seen_at` and `added_at` are times."""
    hints = typing.get_type_hints(struct)
    return tuple(
        Column(name, "time" if name in ("ts", "seen_at", "added_at") else column_type(hints[name]))
        for name in struct.__struct_fields__
    )


def column_type(annotation: Any) -> str:
    """Returns the column type of a field's annotation.

    >>> column_type(int | None), column_type(list[str]), column_type(dict[str, int])
    ('int', 'strings', 'json')
    """
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return column_type(inner[0])
    if origin in (typing.Union, types.UnionType):
        found = {column_type(part) for part in inner if part not in (type(None), msgspec.UnsetType)}
        return "float" if found == {"int", "float"} else found.pop() if len(found) == 1 else "json"
    if origin is typing.Literal:
        return "str" if all(isinstance(value, str) for value in inner) else "json"
    if origin in (list, tuple, set, frozenset) and set(inner) - {Ellipsis} == {str}:
        return "strings"
    if isinstance(annotation, type) and issubclass(annotation, str | Enum):
        return "str" if issubclass(annotation, str) else "json"
    if not isinstance(annotation, type):
        return "json"
    if issubclass(annotation, PurePath) or hasattr(annotation, "unicode_string"):
        return "str"
    return LEAVES.get(annotation, "json")


def cell_value(value: Any) -> Any:
    """Converts a value to the content of one cell. None, text, numbers and bools stay unchanged. Lists and
    dicts become JSON text, and other values become plain text.

    NaN and infinity become None, because they are null in JSON.
    """
    if type(value) is float and not math.isfinite(value):
        return None
    if type(value) in _PLAIN:
        return value
    if value is msgspec.UNSET:
        return None
    if value == []:  # most pages have no redirects
        return "[]"
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return str.__str__(value)
    found = text(value)
    return msgspec.json.decode(found) if found[:1] == '"' else found


def loose_names(rows: Iterable[Row]) -> list[str]:
    """Returns the fields of untyped dicts that can be columns. The fields are in the order of their first
    appearance. Other fields go to `_extra`."""
    found: dict[str, str] = {}
    for row in rows:
        for name in row.data if type(row.data) is dict else ():
            if _NAME.fullmatch(name) and not name.startswith("_"):
                found.setdefault(name.lower(), name)
    return list(found.values())[:MAX_COLUMNS]


def extra_fields(row: Row, names: frozenset[str]) -> dict[str, Any] | None:
    """Returns the fields of a row that have no column, or None."""
    data = row.data
    if type(data) is PageRecord:
        return given_fields(data, names)
    if type(data) is not dict or (data.keys() <= names and EXTRA not in data):
        return None
    return {name: value for name, value in data.items() if name not in names or name == EXTRA}


def given_fields(record: PageRecord, names: Container[str]) -> dict[str, Any] | None:
    """Returns the id of a page's request and the time at which the request was added. Leaves out missing
    values, and values with a column of their own. Returns None if no values remain."""
    if record.id is msgspec.UNSET and record.added_at is msgspec.UNSET:
        return None
    found = {"id": record.id, "added_at": record.added_at}
    return {
        name: one for name, one in found.items() if one is not msgspec.UNSET and name not in names
    } or None

"""Compares old and new items, which are matched by site, kind and key. Reports which items were added,
removed or changed. For changed items, reports the changed fields."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from gossamer.config.data_files import open_file
from gossamer.items.assets import FILES, REFERENCES, told_of
from gossamer.sinks.jsonl import encode

_decode = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode
Name = tuple[str, str, str]
_SEEN = b',"_url":'


class Sighting(msgspec.Struct, forbid_unknown_fields=True):
    """The fields that gossamer appends to each item's line. These fields record where and when the item was
    seen."""

    _url: str
    _site: str
    _kind: str
    _key: str
    _seen_at: str = ""
    _version: str = ""
    _hash: str = ""


_seen = msgspec.json.Decoder(Sighting).decode


class ItemPosition(NamedTuple):
    """`at`: the offset of the last line that contains an item. `own`: the length in bytes of the item's own
    fields, which are at the start of this line, or -1 if the length is not certain."""

    at: int
    own: int


class Difference(msgspec.Struct):
    """The result of a comparison. `fields` maps each field name to the numbers of items in which the field
    was added, changed and removed."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    fields: dict[str, dict[str, int]] = {}


def compare(old: Path, new: Path, details: Path) -> Difference:
    """Compares two files of items (JSON lines). If several items in a file have the same key, only the last
    item is compared. Writes one line per difference to `details`: `change` (added, changed, removed),
    `_site`, `_kind`, `_key`, `_url`, and `fields`, which maps each name to [old, new]. Raises OSError."""
    counts, fields = Counter[str](), dict[str, Counter[str]]()
    with old.open("rb") as before, new.open("rb") as after, open(details, "wb", opener=open_file) as out:
        places, fresh = _places(before), _places(after)
        lines: list[dict[str, Any]] = []
        for name, place in fresh.items():
            was = places.pop(name, None)
            if was is not None and _same(before, was, after, place):
                counts["same"] += 1
                continue
            item = _at(after, place)
            change, found = "added", {field: [None, value] for field, value in _own(item).items()}
            if was is not None:
                found = differing(_own(_at(before, was)), _own(item))
                change = "changed" if found else "same"
            counts[change] += 1
            if change == "changed":
                for field, (old_value, value) in found.items():
                    kind = "added" if old_value is None else "removed" if value is None else "changed"
                    fields.setdefault(field, Counter())[kind] += 1
            if change != "same":
                lines.append(_told(change, item, found))
            if len(lines) >= 1000:
                out.write(encode(lines))
                lines.clear()
        for place in places.values():
            item = _at(before, place)
            counts["removed"] += 1
            lines.append(
                _told("removed", item, {field: [value, None] for field, value in _own(item).items()})
            )
        out.write(encode(lines))
    return Difference(
        counts["added"],
        counts["changed"],
        counts["removed"],
        counts["same"],
        {field: dict(fields[field]) for field in sorted(fields)},
    )


def differing(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[Any]]:
    """Returns the fields that differ, each with both values. A missing field is null.

    >>> differing({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    {'b': [2, 3], 'c': [None, 4]}
    """
    return {
        name: [old.get(name), new.get(name)]
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name) and not is_same_value(old.get(name), new.get(name))
    }


def is_same_value(one: Any, other: Any) -> bool:
    """Returns whether two values are equal, even if written differently. A time without a zone is UTC, and
    trailing zeros of a number do not count.

    >>> is_same_value("2026-01-31T12:00:00", "2026-01-31T13:00:00+01:00"), is_same_value("a", "b")
    (True, False)
    """
    if isinstance(one, str) and isinstance(other, str):
        return (
            one[10:11] in ("T", " ")
            and other[10:11] in ("T", " ")
            and _moment(one) == _moment(other) is not None
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            a == b or is_same_value(a, b) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            a == other[name] or is_same_value(a, other[name]) for name, a in one.items()
        )
    if isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal):
        return (
            not isinstance(one, bool)
            and not isinstance(other, bool)
            and Decimal(str(one)) == Decimal(str(other))
        )
    return False


def _moment(value: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _places(file: BinaryIO) -> dict[Name, ItemPosition]:
    """Maps each item to the position of the last line that contains the item."""
    found: dict[Name, ItemPosition] = {}
    at = 0
    for line in file:
        name, own = _named(line)
        if name is not None:
            found[name] = ItemPosition(at, own)
        at += len(line)
    return found


def _named(line: bytes) -> tuple[Name | None, int]:
    """Returns the site, kind and key of the item in a line. The second value is the length in bytes of the
    item's own fields, or -1 if the length is not certain."""
    own = line.rfind(_SEEN)
    if own > 0:
        try:
            seen = _seen(b"{" + line[own + 1 :])
        except msgspec.DecodeError:
            pass
        else:
            if seen._kind not in (FILES, REFERENCES):
                return (seen._site, seen._kind, seen._key), own
    try:
        item = _decode(line)
    except msgspec.DecodeError:
        return None, -1
    if "_key" not in item or told_of(item):
        return None, -1
    return (str(item.get("_site")), str(item.get("_kind")), str(item["_key"])), -1


def _same(before: BinaryIO, was: ItemPosition, after: BinaryIO, place: ItemPosition) -> bool:
    """Returns whether two item lines are certainly equal, apart from the fields that gossamer appends."""
    if was.own != place.own or place.own < 0:
        return False
    before.seek(was.at)
    after.seek(place.at)
    return before.read(was.own) == after.read(place.own)


def _at(file: BinaryIO, place: ItemPosition) -> dict[str, Any]:
    file.seek(place.at)
    return _decode(file.readline())


def _own(item: dict[str, Any]) -> dict[str, Any]:
    """Returns the item's own fields, without the fields about when and where it was seen."""
    return {name: value for name, value in item.items() if not name.startswith("_")}


def _told(change: str, item: dict[str, Any], fields: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        "change": change,
        **{name: item.get(name) for name in ("_site", "_kind", "_key", "_url")},
        "fields": fields,
    }

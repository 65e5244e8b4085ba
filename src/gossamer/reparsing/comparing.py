"""Items old and new, by site, kind and key: which came, went, changed, and in which fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from gossamer.assets import told_of
from gossamer.sinks.jsonl import encode

_decode = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode
Name = tuple[str, str, str]


class Difference(msgspec.Struct):
    """What is different. `fields`: of each field in how many items it came, changed, went."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    same: int = 0
    fields: dict[str, dict[str, int]] = {}


def compare(old: Path, new: Path, details: Path) -> Difference:
    """Compare two files of items (JSON lines; of several with one key the last counts); one line a difference goes to `details`:
    `change` (added, changed, removed), `_site`, `_kind`, `_key`, `_url`, `fields`: name -> [old, new]. Raises OSError."""
    counts, fields = Counter[str](), dict[str, Counter[str]]()
    with old.open("rb") as before, new.open("rb") as after, details.open("wb") as out:
        places, fresh = _places(before), _places(after)
        lines: list[dict[str, Any]] = []
        for name, at in fresh.items():
            item = _at(after, at)
            change, found = "added", {field: [None, value] for field, value in _own(item).items()}
            if name in places:
                found = differing(_own(_at(before, places.pop(name))), _own(item))
                change = "changed" if found else "same"
            counts[change] += 1
            if change == "changed":
                for field, (was, now) in found.items():
                    kind = "added" if was is None else "removed" if now is None else "changed"
                    fields.setdefault(field, Counter())[kind] += 1
            if change != "same":
                lines.append(_told(change, item, found))
            if len(lines) >= 1000:
                out.write(encode(lines))
                lines.clear()
        for at in places.values():
            item = _at(before, at)
            counts["removed"] += 1
            lines.append(_told("removed", item, {field: [value, None] for field, value in _own(item).items()}))
        out.write(encode(lines))
    return Difference(
        counts["added"], counts["changed"], counts["removed"], counts["same"],
        {field: dict(fields[field]) for field in sorted(fields)},
    )  # fmt: skip


def differing(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[Any]]:
    """The fields that differ, each with both values; a field that is not there is null.

    >>> differing({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4})
    {'b': [2, 3], 'c': [None, 4]}
    """
    return {
        name: [old.get(name), new.get(name)] for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)
    }


def _places(file: BinaryIO) -> dict[Name, int]:
    """Where the last line of each item begins."""
    return {name: at for at, name in _named(file)}


def _named(file: BinaryIO) -> Iterator[tuple[int, Name]]:
    at = 0
    for line in file:
        try:
            item = _decode(line)
        except msgspec.DecodeError:
            item = {}
        if "_key" in item and not told_of(item):
            yield at, (str(item.get("_site")), str(item.get("_kind")), str(item["_key"]))
        at += len(line)


def _at(file: BinaryIO, place: int) -> dict[str, Any]:
    file.seek(place)
    return _decode(file.readline())


def _own(item: dict[str, Any]) -> dict[str, Any]:
    """What the site says of it: not when and where it was seen."""
    return {name: value for name, value in item.items() if not name.startswith("_")}


def _told(change: str, item: dict[str, Any], fields: dict[str, list[Any]]) -> dict[str, Any]:
    return {"change": change, **{name: item.get(name) for name in ("_site", "_kind", "_key", "_url")}, "fields": fields}

"""Checks the JSON-LD of a page: whether it parses, whether it has the properties that Google requires, and
whether its values have the right types. The requirements are in `rich_results.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

MAX_FOUND: Final = 20
MAX_NODES: Final = 2000
_COMMENT: Final = re.compile(r"^\s*(?:<!--|//<!\[CDATA\[|/\*<!\[CDATA\[\*/)|(?:-->|//\]\]>|/\*\]\]>\*/)\s*$")
_DATE: Final = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}.*)?)?)?$")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?$")


@cache
def rich_results() -> dict[str, Any]:
    """Returns the requirements: the required properties by type, and the types of values by property."""
    text = files("gossamer.uses.audit").joinpath("rich_results.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


class StructuredFaults(NamedTuple):
    """The results for the JSON-LD of a page. `errors`: the scripts with syntax errors. `gaps`: the missing
    properties. `bad`: the values of a wrong type. `values`: the parsed JSON-LD scripts."""

    errors: list[str]
    gaps: list[str]
    bad: list[str]
    values: list[Any]


def check_structured(tree: Any) -> StructuredFaults:
    """Returns the faults in the JSON-LD of a page."""
    errors: dict[str, None] = {}
    gaps: dict[str, None] = {}
    bad: dict[str, None] = {}
    values = []
    for script in tree.select('script[type="application/ld+json" i]'):
        text = _COMMENT.sub("", script.text).strip()
        if not text:
            continue
        try:
            value = json.loads(text)
        except RecursionError:
            errors["nested too deep"] = None
            continue
        except ValueError as error:
            shown = " ".join(text[:80].split())
            errors[f"{error}: {shown}"[:300]] = None
            continue
        values.append(value)
        for node in _nodes(value):
            gaps |= dict.fromkeys(missing_properties(node))
            bad |= dict.fromkeys(wrong_values(node))
    return StructuredFaults(list(errors)[:MAX_FOUND], list(gaps)[:MAX_FOUND], list(bad)[:MAX_FOUND], values)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yields the objects in a JSON-LD value, including nested objects."""
    waiting, seen = [value], 0
    while waiting and seen < MAX_NODES:
        one = waiting.pop()
        seen += 1
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            yield one
            waiting.extend(part for part in one.values() if isinstance(part, dict | list))


def _types(node: dict[str, Any]) -> list[str]:
    given = node.get("@type")
    return [str(one).rpartition("/")[2] for one in (given if isinstance(given, list) else [given]) if one]


def missing_properties(node: dict[str, Any]) -> Iterator[str]:
    """Yields the required properties that a node lacks. A node that contains only an `@id`, a type, a
    context, a name or a URL is not checked, because the node only refers to another node.

    >>> list(missing_properties({"@type": "Event", "name": "Fair", "startDate": "2026-05-01"}))
    ['Event: location']
    """
    if not node.keys() - {"@id", "@type", "@context", "name", "url"}:
        return
    for kind in _types(node):
        for wanted in rich_results()["required"].get(kind, ()):
            choices = wanted.split("|")
            if not any(_is_given(node.get(one)) for one in choices):
                yield f"{kind}: {' or '.join(choices)}"


def _is_given(value: Any) -> bool:
    return value is not None and value != "" and value != [] and value != {}


def wrong_values(node: dict[str, Any]) -> Iterator[str]:
    """Yields the values of a node that have a wrong type.

    >>> list(wrong_values({"@type": "Offer", "price": "about 5 EUR"}))
    ["Offer: price 'about 5 EUR' is not a number"]
    """
    table = rich_results()["values"]
    for name, value in node.items():
        kind = table.get(name)
        if kind is None or isinstance(value, dict | list | bool) or value is None:
            continue
        text = str(value).strip()
        is_right = {
            "number": isinstance(value, int | float) or bool(_NUMBER.match(text)),
            "date": bool(_DATE.match(text)),
            "url": bool(text) and not re.search(r"\s", text),
        }[kind]
        if not is_right:
            owner = next(iter(_types(node)), "an object")
            yield f"{owner}: {name} {text[:60]!r} is not a {kind}"

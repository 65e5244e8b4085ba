"""Structured data of any syntax as one kind of node: types and properties by their short names."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gossamer.parsing.structured import things

DEEPEST: Final = 8
"""Nodes in nodes that are looked into."""
MOST: Final = 20_000
"""Nodes of a page that are made."""
LONGEST: Final = 1000
"""Characters of a value that are kept."""


class Node(NamedTuple):
    """A thing: its types and properties, short names in lower case; values are texts or nodes, in the page's
    order."""

    types: frozenset[str]
    properties: dict[str, list[Any]]

    def texts(self, *names: str) -> Iterator[str]:
        """The texts of properties, in the order of `names`; those of a node are its name."""
        for name in names:
            for value in self.properties.get(name, ()):
                if isinstance(value, Node):
                    yield from (
                        one for one in value.properties.get("name", ()) if isinstance(one, str) and one
                    )
                elif value:
                    yield value

    def text(self, *names: str) -> str | None:
        """The first of `texts`."""
        return next(self.texts(*names), None)

    def nodes(self, *names: str) -> Iterator[Node]:
        """The nodes of properties, in the order of `names`."""
        for name in names:
            yield from (value for value in self.properties.get(name, ()) if isinstance(value, Node))


def nodes(found: dict[str, Any]) -> dict[str, list[Node]]:
    """The nodes of what `structured` found, by syntax: json_ld (inner ones, too), microdata, rdfa.

    >>> nodes({"json_ld": [{"@type": "Book", "name": "It"}], "microdata": [], "rdfa": []})["json_ld"]
    [Node(types=frozenset({'book'}), properties={'name': ['It']})]
    """
    ld = [one for one in things(found["json_ld"]) if "@value" not in one]
    named = {one["@id"]: one for one in reversed(ld) if isinstance(one.get("@id"), str) and len(one) > 1}
    rdf = {one["@id"]: one for one in found["rdfa"]}
    maker = _Maker()
    return {
        "json_ld": [maker.node(one, named, 0) for one in ld[:MOST]],
        "microdata": [maker.node(one, {}, 0) for one in found["microdata"][:MOST]],
        "rdfa": [maker.node(one, rdf, 0) for one in found["rdfa"][:MOST]],
    }


class _Maker:
    def __init__(self) -> None:
        self._left = MOST

    def node(self, one: dict[str, Any], named: dict[str, dict[str, Any]], depth: int) -> Node:
        """A node of an object of any of the syntaxes; `named` are those that others may refer to."""
        self._left -= 1
        types = one.get("@type") or one.get("type") or ()
        inner = one.get("properties")
        pairs = inner if isinstance(inner, dict) else {} if "value" in one and "type" in one else one
        properties: dict[str, list[Any]] = {}
        for name, value in pairs.items():
            if name[:1] != "@" and depth < DEEPEST:
                many = value if isinstance(value, list) else [value]
                made = [self._value(part, named, depth + 1) for part in many[:200]]
                properties.setdefault(short(name), []).extend(part for part in made if part is not None)
        if "value" in one and "@value" not in one and isinstance(one["value"], str):
            properties.setdefault("", []).append(_text(one["value"]))
        return Node(
            frozenset(short(one) for one in (types if isinstance(types, list) else [types])), properties
        )

    def _value(self, value: Any, named: dict[str, dict[str, Any]], depth: int) -> Any:
        if isinstance(value, dict):
            if "@value" in value:
                return _text(value["@value"])
            other = named.get(str(value.get("@id"))) if len(value) == 1 else None
            if self._left <= 0:
                return None
            if other is None and len(value) == 1 and "@id" in value:
                return _text(value["@id"])
            return self.node(value if other is None else other, named, depth)
        return None if isinstance(value, list) else _text(value)


def short(name: Any) -> str:
    """The last part of an IRI or prefixed name, in lower case."""
    text = str(name).strip().rstrip("/#")
    return text[max(text.rfind("/"), text.rfind("#"), text.rfind(":")) + 1 :].lower()


def _text(value: Any) -> str | None:
    """A scalar as text, entities undone, blanks folded; None for none."""
    if value is None or isinstance(value, bool):
        return None
    text = str(value)[:LONGEST]
    return " ".join(html.unescape(text).split()) if "&" in text else " ".join(text.split())

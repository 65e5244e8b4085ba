"""Reads the structured data of a page: JSON-LD, microdata, Open Graph, RDFa.

`structured` returns the data of each syntax in its own shape. `nodes` turns JSON-LD, microdata and RDFa into
nodes of one type, with short names for types and properties.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing.html import Document, attribute_of, parse
from gossamer.parsing.lenient_json import json_values
from gossamer.parsing.microdata import microdata
from gossamer.parsing.rdfa import rdfa

MAX_DEPTH: Final = 8
"""Maximum nesting depth at which nodes are read."""
MAX_NODES: Final = 20_000
"""Maximum number of nodes that are created per page."""
MAX_VALUE_CHARS: Final = 1000
"""Maximum number of characters of a value that are kept."""


_FLAGS: Final = frozenset(("valueaddedtaxincluded",))
"""Properties whose boolean values become the texts `true` and `false`. All other properties with boolean
values are ignored, because sites write a boolean in place of a missing text (`"brand": false`)."""


class Node(NamedTuple):
    """An object of structured data with its types and properties. Types and property names are short names in
    lower case. The values of a property are texts or nodes, in document order."""

    types: frozenset[str]
    properties: dict[str, list[Any]]

    def texts(self, *names: str) -> Iterator[str]:
        """Yields the texts of properties, in the order of `names`. If a value is a node, yields the name of
        the node."""
        for name in names:
            for value in self.properties.get(name, ()):
                if isinstance(value, Node):
                    yield from (
                        one for one in value.properties.get("name", ()) if isinstance(one, str) and one
                    )
                elif value:
                    yield value

    def text(self, *names: str) -> str | None:
        """Returns the first result of `texts`, or None."""
        return next(self.texts(*names), None)

    def nodes(self, *names: str) -> Iterator[Node]:
        """Yields the values of properties, in the order of `names`. Values that are not nodes are left
        out."""
        for name in names:
            yield from (value for value in self.properties.get(name, ()) if isinstance(value, Node))


def nodes(found: dict[str, Any]) -> dict[str, list[Node]]:
    """Returns the nodes in the result of `structured`, by syntax: json_ld, microdata, rdfa. Nested nodes of
    json_ld are included.

    >>> nodes({"json_ld": [{"@type": "Book", "name": "It"}], "microdata": [], "rdfa": []})["json_ld"]
    [Node(types=frozenset({'book'}), properties={'name': ['It']})]
    """
    ld = [one for one in json_ld_objects(found["json_ld"]) if "@value" not in one]
    named = {one["@id"]: one for one in reversed(ld) if isinstance(one.get("@id"), str) and len(one) > 1}
    rdf = {one["@id"]: one for one in found["rdfa"]}
    maker = _Maker()
    return {
        "json_ld": [maker.node(one, named, 0) for one in ld[:MAX_NODES]],
        "microdata": [maker.node(one, {}, 0) for one in found["microdata"][:MAX_NODES]],
        "rdfa": [maker.node(one, rdf, 0) for one in found["rdfa"][:MAX_NODES]],
    }


class _Maker:
    def __init__(self) -> None:
        self._left = MAX_NODES

    def node(self, one: dict[str, Any], named: dict[str, dict[str, Any]], depth: int) -> Node:
        """Converts an object of any of the syntaxes to a node. `named` maps each `@id` to its object, so that
        references of other objects can be resolved."""
        self._left -= 1
        types = one.get("@type") or one.get("type") or ()
        inner = one.get("properties")
        pairs = inner if isinstance(inner, dict) else {} if "value" in one and "type" in one else one
        properties: dict[str, list[Any]] = {}
        for name, value in pairs.items():
            if name[:1] != "@" and depth < MAX_DEPTH:
                many = _flat(value) if isinstance(value, list) else [value]
                if many and isinstance(many[0], bool) and short_name(name) in _FLAGS:
                    many = [str(one).lower() for one in many]
                made = [self._value(part, named, depth + 1) for part in many[:200]]
                properties.setdefault(short_name(name), []).extend(part for part in made if part is not None)
        if "value" in one and "@value" not in one and isinstance(one["value"], str):
            properties.setdefault("", []).append(_text(one["value"]))
        return Node(
            frozenset(short_name(one) for one in (types if isinstance(types, list) else [types])), properties
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


def _flat(values: list[Any], depth: int = 3) -> list[Any]:
    """Returns the values of a list, with those of the lists inside it."""
    if depth == 0 or not any(isinstance(one, list) for one in values):
        return values
    return [
        part for one in values[:200] for part in (_flat(one, depth - 1) if isinstance(one, list) else [one])
    ]


def short_name(name: Any) -> str:
    """Returns the last part of an IRI or of a prefixed name, in lower case."""
    text = str(name).strip().rstrip("/#")
    return text[max(text.rfind("/"), text.rfind("#"), text.rfind(":")) + 1 :].lower()


def _text(value: Any) -> str | None:
    """Returns a scalar as text, with entities decoded and white space normalized. Returns None for None and
    booleans."""
    if value is None or isinstance(value, bool):
        return None
    text = str(value)[:MAX_VALUE_CHARS]
    return " ".join(html.unescape(text).split()) if "&" in text else " ".join(text.split())


MAX_BLOCKS: Final = 1000
"""Maximum number of JSON-LD scripts that are read per page."""
MAX_VISITED_VALUES: Final = 100_000
"""Maximum number of JSON-LD values that are visited."""
_NAMESPACES: Final = {
    "og": "http://ogp.me/ns#",
    **{
        name: f"http://ogp.me/ns/{name}#"
        for name in ("music", "video", "article", "book", "profile", "product")
    },
}
_PREFIX: Final = re.compile(r"(\w+):\s*+([^\s:]\S*+)")


def structured(body: Body, url: str | None = None, content_type: str | None = None) -> dict[str, Any]:
    """Returns the structured data of a page, in the same form as the library extruct. Accepts any bytes and
    never raises.

    `json_ld`: a flat list of the objects. `@graph` stays unchanged. Broken JSON is read as far as possible.
    `microdata`: items with `type`, `properties` and `id`. Each property has a value or a list of several
    values. An item without properties has a `value`. `opengraph`: at most one `{"namespace": {prefix: IRI},
    "properties": [[name, content], ...]}`, including repeated names. `rdfa`: nodes of expanded JSON-LD. URLs
    are absolute if `url` is given.

    >>> page = b'<meta property="og:title" content=T><script type="application/ld+json">{"@type": "Book",}</script>'
    >>> found = structured(page, "https://example.com/")
    >>> found["json_ld"], found["opengraph"][0]["properties"]
    ([{'@type': 'Book'}], [['og:title', 'T']])
    """
    return of(parse(body, content_type, url))


def of(page: Document) -> dict[str, Any]:
    """Does the same as `structured` for a parsed page."""

    def resolve(href: str) -> str:
        found = page.base.resolve(href) if page.url else None
        return href if found is None else found + "".join(href.partition("#")[1:])

    return {
        "json_ld": json_ld(page.tree),
        "microdata": microdata(page.tree, resolve),
        "opengraph": opengraph(page.tree),
        "rdfa": rdfa(page.tree, page.url, resolve),
    }


def json_ld(tree: turbohtml.Document) -> list[dict[str, Any]]:
    """Returns the objects of a page's JSON-LD."""
    found: list[dict[str, Any]] = []
    for script in tree.select('script[type*="ld+json" i]')[:MAX_BLOCKS]:
        for value in json_values(script.text):
            found += _objects(value)
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    """Returns the objects in a JSON value, including objects in lists up to two levels deep."""
    parts: list[Any] = value if isinstance(value, list) else [value]
    parts = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return [one for one in parts if one and isinstance(one, dict)]


def opengraph(tree: turbohtml.Document) -> list[dict[str, Any]]:
    """Returns the Open Graph data of a page, including meta elements that are misplaced in the body."""
    spaces: dict[str, str] = {}
    for element in tree.select("html, head"):
        spaces.update(_PREFIX.findall(attribute_of(element, "prefix")))
    found: list[list[str]] = []
    for key in ("property", "name"):  # `name` is the wrong attribute, so it is read only as a fallback
        for meta in tree.select(f"meta[{key}][content]") if not found else ():
            for name in attribute_of(meta, key).split():
                _tell(meta, name, spaces, found)
    return [{"namespace": spaces, "properties": found}] if found else []


def _tell(meta: turbohtml.Element, name: str, spaces: dict[str, str], found: list[list[str]]) -> None:
    """Appends the name and content of a meta element to `found` if the name is in a known namespace."""
    if name.startswith("http"):
        name = next(
            (f"{space}:{name[len(iri) :]}" for space, iri in _NAMESPACES.items() if name.startswith(iri)),
            name,
        )
    space, colon, rest = name.partition(":")
    if space.lower() in _NAMESPACES and space not in spaces:
        space, rest = space.lower(), rest if space.islower() else rest.lower()
        spaces[space] = _NAMESPACES[space]
    if colon and space in spaces:
        found.append([f"{space}:{rest}", attribute_of(meta, "content")])


def json_ld_objects(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields every object in JSON-LD at any depth (`@graph`, `mainEntity`, ...), outer objects first."""
    waiting: list[Any] = [*reversed(found)]
    for _ in range(MAX_VISITED_VALUES):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += [part for part in reversed(one.values()) if isinstance(part, dict | list)]
        else:
            waiting += [part for part in reversed(one) if isinstance(part, dict | list)]

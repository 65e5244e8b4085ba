"""Structured data of any syntax as one kind of node: types and properties by their short names.

What a page says of itself for machines: JSON-LD, microdata, Open Graph, RDFa."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing.html import Document, attribute_of, parse
from gossamer.parsing.lenient_json import values
from gossamer.parsing.microdata import microdata
from gossamer.parsing.rdfa import rdfa

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


BLOCKS: Final = 1000
"""Scripts of JSON-LD of a page that are read."""
THINGS: Final = 100_000
"""Objects of JSON-LD that are walked over."""
_NAMESPACES: Final = {
    "og": "http://ogp.me/ns#",
    **{
        name: f"http://ogp.me/ns/{name}#"
        for name in ("music", "video", "article", "book", "profile", "product")
    },
}
_PREFIX: Final = re.compile(r"(\w+):\s*+([^\s:]\S*+)")


def structured(body: Body, url: str | None = None, content_type: str | None = None) -> dict[str, Any]:
    """The structured data of a page, in the shapes of extruct. Takes any bytes, never raises.

    `json_ld`: the objects, lists of them flattened, `@graph` as it is; broken JSON is read as far as it can
    be. `microdata`: items with `type`, `properties` (name to value, or a list of several), `id`, `value`
    where there are none. `opengraph`: at most one `{"namespace": {prefix: IRI}, "properties": [[name,
    content], ...]}`, repeats kept. `rdfa`: nodes of expanded JSON-LD. URLs are absolute where `url` is given.

    >>> page = b'<meta property="og:title" content=T><script type="application/ld+json">{"@type": "Book",}</script>'
    >>> found = structured(page, "https://example.com/")
    >>> found["json_ld"], found["opengraph"][0]["properties"]
    ([{'@type': 'Book'}], [['og:title', 'T']])
    """
    return of(parse(body, content_type, url))


def of(page: Document) -> dict[str, Any]:
    """`structured` of a page that is parsed already."""

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
    """The objects of a page's JSON-LD."""
    found: list[dict[str, Any]] = []
    for script in tree.select('script[type*="ld+json" i]')[:BLOCKS]:
        for value in values(script.text):
            found += _objects(value)
    return found


def _objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a value, out of lists and lists in them."""
    parts: list[Any] = value if isinstance(value, list) else [value]
    parts = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return [one for one in parts if one and isinstance(one, dict)]


def opengraph(tree: turbohtml.Document) -> list[dict[str, Any]]:
    """The Open Graph of a page, also where its meta elements slipped into the body."""
    spaces: dict[str, str] = {}
    for element in tree.select("html, head"):
        spaces.update(_PREFIX.findall(attribute_of(element, "prefix")))
    found: list[list[str]] = []
    for key in ("property", "name"):  # the wrong attribute is read where a page has nothing in the right one
        for meta in tree.select(f"meta[{key}][content]") if not found else ():
            for name in attribute_of(meta, key).split():
                _tell(meta, name, spaces, found)
    return [{"namespace": spaces, "properties": found}] if found else []


def _tell(meta: turbohtml.Element, name: str, spaces: dict[str, str], found: list[list[str]]) -> None:
    """Put what a meta element says into `found`, when its name is in a known namespace."""
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


def things(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every object in JSON-LD, whatever it lies in (`@graph`, `mainEntity`, ...), outer ones first."""
    waiting: list[Any] = [*reversed(found)]
    for _ in range(THINGS):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += [part for part in reversed(one.values()) if isinstance(part, dict | list)]
        else:
            waiting += [part for part in reversed(one) if isinstance(part, dict | list)]

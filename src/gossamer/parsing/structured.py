"""What a page says of itself for machines: JSON-LD, microdata, Open Graph, RDFa."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing.html import Document, attribute_of, parse
from gossamer.parsing.lenient_json import values
from gossamer.parsing.microdata import microdata
from gossamer.parsing.rdfa import rdfa

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

"""The links of a page.

Followed are `a`, `area`, `iframe`, `frame`, `link` with rel next, prev or alternate (`link`; but not those of
another media type, which are feeds and data) and the meta refresh (`refresh`). Not followed: what has
rel=nofollow, and every link of a page that says nofollow of itself. No links at all: `javascript:`,
`mailto:`, `data:`, `tel:` and what else is not http(s), what is inside of a `template`, images, forms,
scripts, style sheets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

import msgspec
import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing.html import Document, attribute_of, parse

_LONGEST: Final = 1000
"""Characters of a link's text that are kept."""
_TEXTS: Final = 2_000_000
"""Characters of text that are looked at on one page: links may lie in one another."""
_ELEMENTS: Final = (("area", "href"), ("iframe", "src"), ("frame", "src"))
_RELATIONS: Final = tuple(f'link[rel~="{relation}" i][href]' for relation in ("next", "prev", "alternate"))
_PAGES: Final = frozenset({"", "text/html", "application/xhtml+xml"})
_BLANKS: Final = " \t\r\n\f"
_SCHEMES: Final = ("javascript:", "mailto:", "data:", "tel:", "blob:", "about:")


class Link(msgspec.Struct, frozen=True):
    """One address that a page names."""

    url: str
    """Absolute, WHATWG-serialized, without fragment."""
    text: str
    """What a reader sees of it, blanks folded; the `alt` of an area or of the only image."""
    nofollow: bool
    """Every mention of the address says nofollow, or the page does."""
    kind: str
    """a, area, iframe, frame, link or refresh: the first mention of it."""


def links(body: Body, url: str | None, content_type: str | None = None, cap: int | None = None) -> list[Link]:
    """The links of a page found at `url`, in order by kind, each address once, at most `cap`. Any bytes,
    never raises.

    >>> links(b'<base href="/x/"><a href="y#z"> to <b>y</b></a><a href="mailto:a@b">', "https://example.com/")
    [Link(url='https://example.com/x/y', text='to y', nofollow=False, kind='a')]
    """
    return links_of(parse(body, content_type, url), cap)


def links_of(document: Document, cap: int | None = None) -> list[Link]:
    """`links` of a page that is parsed already."""
    resolve = document.base.resolve
    shut = "nofollow" in document.robots
    found: dict[str, Link] = {}
    budget = _TEXTS
    for kind, href, element in _mentions(document):
        address = resolve(href)
        if address is None:
            continue
        known = found.get(address)
        if known is None and cap is not None and len(found) >= cap:
            continue
        text = known.text if known is not None else ""
        if not text and budget > 0 and element is not None:
            seen = element.text if kind == "a" else ""
            budget -= len(seen)
            text = " ".join(seen.split())[:_LONGEST] or _alternative(element)
        nofollow = (shut or _shut(element)) and (known is None or known.nofollow)
        found[address] = Link(address, text, nofollow, kind if known is None else known.kind)
    return list(found.values())


def hrefs(document: Document) -> tuple[list[str], int]:
    """(raw addresses to follow, how many others say nofollow): the crawler's fast form of `links`.

    The addresses are as written but for fragment and blanks around, each once, relative to `document.base`.
    Measured on pages with 129 links, 30 of them different: 68 us, 14 of them for the index that later
    selectors use, too.
    """
    tree = document.tree
    shut: dict[str, int] = {}
    refused = tree.select('a[rel~="nofollow" i][href]')
    if refused or tree.select("template"):
        found, shut = _anchors(tree, refused)
    else:  # most pages: plain strings of all
        found = dict.fromkeys(cast("list[str]", tree.xpath("//a/@href")), 1)
    for _, href, element in _others(document):
        (shut if _shut(element) else found)[href] = 1
    followed = _distinct(found)
    if "nofollow" in document.robots:
        followed, closed = [], _distinct(found | shut)
    elif not shut:
        return followed, 0
    else:
        closed = _distinct(shut)
    return followed, len(set(closed).difference(followed)) if closed else 0


def _anchors(
    tree: turbohtml.Document, refused: list[turbohtml.Element]
) -> tuple[dict[str, int], dict[str, int]]:
    """(addresses of `a` to follow, those that say nofollow, as `refused` do). Plain strings of all, less the
    few that do not count."""
    found = Counter([str(element.attrs["href"] or "") for element in tree.select("a[href]")])
    inert = set(tree.select("template:not([shadowrootmode]) a[href]")) if tree.select("template") else set()
    shut = Counter([attribute_of(element, "href") for element in refused if element not in inert])
    less = shut + Counter([attribute_of(element, "href") for element in inert]) if inert else shut
    for href, times in less.items():
        if found[href] <= times:
            del found[href]
    return found, shut


def _distinct(raw: Iterable[str]) -> list[str]:
    """Addresses without fragment and blanks around, each once, and not those that no crawler can fetch."""
    found = {href.partition("#")[0]: None for href in raw}
    if any(href != href.strip(_BLANKS) for href in found):
        # a blank before `#` is a part of the path, at the end it is not
        whole = [href if " #" in href else href.partition("#")[0] for href in raw]
        found = dict.fromkeys([href.strip(_BLANKS) for href in whole])
    return [href for href in found if ":" not in href or not href[:11].lower().startswith(_SCHEMES)]


def _mentions(document: Document) -> Iterator[tuple[str, str, turbohtml.Element | None]]:
    """(kind, raw address, element) of every link."""
    for element in _live(document.tree, "a", "href"):
        yield "a", attribute_of(element, "href"), element
    yield from _others(document)


def _others(document: Document) -> Iterator[tuple[str, str, turbohtml.Element | None]]:
    """The mentions that are no `a`: few on most pages, none on many."""
    tree = document.tree
    for kind, attribute in _ELEMENTS:
        for element in _live(tree, kind, attribute):
            yield kind, attribute_of(element, attribute), element
    for element in _related(tree):
        media = attribute_of(element, "type").partition(";")[0].strip().lower()
        if media in _PAGES:
            yield "link", attribute_of(element, "href"), element
    if document.refresh is not None:
        yield "refresh", document.refresh, None


def _related(tree: turbohtml.Document) -> list[turbohtml.Element]:
    """The link elements that lead to other pages: a page has many that do not."""
    found = [element for query in _RELATIONS for element in tree.select(query)]
    if len(found) < 2:
        return found
    wanted = set(found)
    return [element for element in tree.select("link[href]") if element in wanted]


def _live(tree: turbohtml.Document, tag: str, attribute: str) -> list[turbohtml.Element]:
    """The elements with that attribute, but for those in a template, which is no part of the page yet."""
    found = tree.select(f"{tag}[{attribute}]")
    if found and tree.select("template"):
        inert = set(tree.select(f"template:not([shadowrootmode]) {tag}[{attribute}]"))
        found = [element for element in found if element not in inert]
    return found


def _shut(element: turbohtml.Element | None) -> bool:
    return element is not None and "nofollow" in attribute_of(element, "rel").lower().split()


def _alternative(element: turbohtml.Element) -> str:
    """What stands for a picture that is a link."""
    for part in (element, *element.select("img[alt]")[:1]):
        if text := " ".join(attribute_of(part, "alt").split()):
            return text[:_LONGEST]
    return ""


def address(one: Any) -> tuple[str | None, bool]:
    """The address that a selected thing (a Selector, an element) or a text is, and whether it says nofollow."""
    node: Any = getattr(one, "node", one)
    if isinstance(node, str):
        return node, False
    attributes = getattr(node, "attrs", {})
    if (
        "href" not in attributes
        and "src" not in attributes
        and getattr(node, "tag", "a") not in ("a", "area", "link")
    ):
        raise ValueError(f"<{node.tag}> is no link: select the <a> in it")
    relations = attributes.get("rel") or ()
    words = relations.split() if isinstance(relations, str) else relations
    return attributes.get("href") or attributes.get("src"), any(word.lower() == "nofollow" for word in words)

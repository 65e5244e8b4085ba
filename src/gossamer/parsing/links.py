"""Extracts the links of a page.

Links may be followed if they are in `a`, `area`, `iframe`, `frame`, a meta refresh, or a `link` element with
rel next, prev or alternate. A `link` element with a media type other than HTML is skipped because it leads to
a feed or to data. Links with rel=nofollow are not followed. The links of a page with a nofollow directive are
not followed either. URLs that are not http(s), such as `javascript:`, `mailto:`, `data:` and `tel:`, do not
count as links. Images, forms, scripts, style sheets and everything in a `template` are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec

from gossamer.model.media_types import Body
from gossamer.parsing.html import Document, attribute_of, parse
from gossamer.url.routes import may_have_routes, route_of

if TYPE_CHECKING:
    import turbohtml

_MAX_TEXT_CHARS: Final = 1000
"""Maximum number of characters of a link's text that are kept."""
_MAX_TEXTS_CHARS: Final = 2_000_000
"""Maximum total number of characters in the link texts that are read per page. Without the limit, nested
links would be costly, because the same text counts for every link around it."""
_ELEMENTS: Final = (("area", "href"), ("iframe", "src"), ("frame", "src"))
_RELATIONS: Final = tuple(f'link[rel~="{relation}" i][href]' for relation in ("next", "prev", "alternate"))
_PAGES: Final = frozenset({"", "text/html", "application/xhtml+xml"})
_BLANKS: Final = " \t\r\n\f"
_SCHEMES: Final = ("javascript:", "mailto:", "data:", "tel:", "blob:", "about:")


class Link(msgspec.Struct, frozen=True):
    """A URL that a page links to."""

    url: str
    """The absolute URL without its fragment. The URL is serialized by the WHATWG rules."""
    text: str
    """The visible text of the link, with whitespace collapsed. If the link has no visible text, `text` is the
    `alt` text of the area or of the first image in the link."""
    nofollow: bool
    """Whether the page has a nofollow directive, or all links from the page to this URL have rel=nofollow."""
    kind: str
    """The kind of the first link to the URL: a, area, iframe, frame, link or refresh."""


def links(body: Body, url: str | None, content_type: str | None = None, cap: int | None = None) -> list[Link]:
    """Returns at most `cap` links of the page at `url`, ordered by kind. Each URL is returned once. Accepts
    any bytes and never raises.

    >>> links(b'<base href="/x/"><a href="y#z"> to <b>y</b></a><a href="mailto:a@b">', "https://example.com/")
    [Link(url='https://example.com/x/y', text='to y', nofollow=False, kind='a')]
    """
    return links_of(parse(body, content_type, url), cap)


def links_of(document: Document, cap: int | None = None) -> list[Link]:
    """Returns the links of a parsed page (`links`)."""
    resolve = document.base.resolve
    shut = "nofollow" in document.robots
    found: dict[str, Link] = {}
    budget = _MAX_TEXTS_CHARS
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
            text = " ".join(seen.split())[:_MAX_TEXT_CHARS] or _alternative(element)
        nofollow = (shut or _shut(element)) and (known is None or known.nofollow)
        found[address] = Link(address, text, nofollow, kind if known is None else known.kind)
    return list(found.values())


class Hrefs(NamedTuple):
    """The raw hrefs of a page. `follow`: the hrefs that may be followed. `shut`: the hrefs with nofollow that are not
    in `follow`. `routes`: the hrefs that may be followed and have a route in their fragment (`url.routes`), as
    written in the page."""

    follow: list[str]
    shut: list[str]
    routes: list[str]


def hrefs(document: Document) -> tuple[list[str], int]:
    """Returns the hrefs that may be followed, and the number of hrefs with nofollow."""
    found = find_hrefs(document)
    return found.follow, len(found.shut)


def find_hrefs(document: Document) -> Hrefs:
    """Returns the raw hrefs of a page. The crawler uses this function because it is faster than `links`.

    The hrefs in the result's `follow` are relative to `document.base`. Each href is returned once, as written
    in the page, without fragment or surrounding whitespace. A page with 129 links to 30 different URLs takes
    68 us, including 14 us for the index of the tree. Later selectors use the same index.
    """
    tree = document.tree
    shut: dict[str, int] = {}
    refused = tree.select('a[rel~="nofollow" i][href]')
    if tree.select("template"):
        found, shut = _anchors(tree, refused)
    else:  # on most pages, all hrefs can be taken as plain strings
        taken = cast("list[str]", tree.xpath("//a/@href"))
        if refused:
            found = Counter(taken)
            shut = Counter([attribute_of(element, "href") for element in refused])
            _subtract(shut, found)
        else:
            found = dict.fromkeys(taken, 1)
    for _, href, element in _others(document):
        (shut if _shut(element) else found)[href] = 1
    followed = _distinct(found)
    routes = [href for href in found if route_of(href)] if may_have_routes(found) else []
    if "nofollow" in document.robots:
        followed, routes, closed = [], [], _distinct(found | shut)
    elif not shut:
        return Hrefs(followed, [], routes)
    else:
        closed = _distinct(shut)
    open_ = set(followed)
    return Hrefs(followed, [href for href in dict.fromkeys(closed) if href not in open_], routes)


def _anchors(
    tree: turbohtml.Document, refused: list[turbohtml.Element]
) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the hrefs of `a` elements to follow, and the hrefs with nofollow. `refused`: the elements with
    nofollow. All hrefs are read as plain strings. Then the hrefs with nofollow and the hrefs inside templates
    are subtracted."""
    found = Counter([str(element.attrs["href"] or "") for element in tree.select("a[href]")])
    inert = set(tree.select("template:not([shadowrootmode]) a[href]")) if tree.select("template") else set()
    shut = Counter([attribute_of(element, "href") for element in refused if element not in inert])
    _subtract(shut + Counter([attribute_of(element, "href") for element in inert]) if inert else shut, found)
    return found, shut


def _subtract(less: dict[str, int], found: dict[str, int]) -> None:
    """Removes the hrefs from `found` that do not occur more often than in `less`."""
    for href, times in less.items():
        if found[href] <= times:
            del found[href]


def _distinct(raw: Iterable[str]) -> list[str]:
    """Returns hrefs without fragment or surrounding whitespace, each once. Hrefs with a scheme that the
    crawler cannot fetch are left out."""
    found = {href.partition("#")[0]: None for href in raw}
    text = "\0".join(found)
    if any(blank in text for blank in _BLANKS):
        # A space before `#` is a part of the path. A space at the end of an href is not part of the URL.
        whole = [href if " #" in href else href.partition("#")[0] for href in raw]
        found = dict.fromkeys([href.strip(_BLANKS) for href in whole])
    return [href for href in found if ":" not in href or not href[:11].lower().startswith(_SCHEMES)]


def _mentions(document: Document) -> Iterator[tuple[str, str, turbohtml.Element | None]]:
    """Yields the kind, raw href and element of every link."""
    for element in _live(document.tree, "a", "href"):
        yield "a", attribute_of(element, "href"), element
    yield from _others(document)


def _others(document: Document) -> Iterator[tuple[str, str, turbohtml.Element | None]]:
    """Yields the kind, raw href and element of links other than `a`. Most pages have few such links or
    none."""
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
    """Returns the `link` elements that lead to other pages, in page order. Most `link` elements do not lead
    to a page."""
    found = [element for query in _RELATIONS for element in tree.select(query)]
    if len(found) < 2:
        return found
    wanted = set(found)
    return [element for element in tree.select("link[href]") if element in wanted]


def _live(tree: turbohtml.Document, tag: str, attribute: str) -> list[turbohtml.Element]:
    """Returns the elements that have an attribute. Elements in a template are left out, because a template is
    not yet part of the page."""
    found = tree.select(f"{tag}[{attribute}]")
    if found and tree.select("template"):
        inert = set(tree.select(f"template:not([shadowrootmode]) {tag}[{attribute}]"))
        found = [element for element in found if element not in inert]
    return found


def _shut(element: turbohtml.Element | None) -> bool:
    """Whether an element has rel=nofollow."""
    return element is not None and "nofollow" in attribute_of(element, "rel").lower().split()


def _alternative(element: turbohtml.Element) -> str:
    """Returns the `alt` text of an area, or of the first image in a link."""
    for part in (element, *element.select("img[alt]")[:1]):
        if text := " ".join(attribute_of(part, "alt").split()):
            return text[:_MAX_TEXT_CHARS]
    return ""


def link_target(one: Any) -> tuple[str | None, bool]:
    """Returns the URL of a Selector, an element or a string, and whether it has rel=nofollow. Raises
    ValueError for an element that is not a link."""
    node: Any = getattr(one, "node", one)
    if isinstance(node, str):
        return node, False
    attributes = getattr(node, "attrs", {})
    if (
        "href" not in attributes
        and "src" not in attributes
        and getattr(node, "tag", "a") not in ("a", "area", "link")
    ):
        raise ValueError(f"<{node.tag}> is not a link: select the <a> in it")
    relations = attributes.get("rel") or ()
    words = relations.split() if isinstance(relations, str) else relations
    return attributes.get("href") or attributes.get("src"), any(word.lower() == "nofollow" for word in words)

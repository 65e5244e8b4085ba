"""Parses a page of HTML into a `Document`. The page is parsed once, and its title, text and other attributes
are computed when they are first read.

turbohtml builds the tree by the WHATWG rules. Its time was linear on every malicious page that was tried
(400,000 open divs take 30 ms, an attribute of 2 MB takes 5 ms). A selector of a single tag is looked up in
the index of the tree (0.1 us if the tag is missing). A list of selectors, an XPath expression and `find` walk
the whole tree, which takes 25-35 us on a page of 46 KB. Therefore prefer selectors of a single tag on the hot
path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

import xxhash

from gossamer.model.content_type import HTML, is_xml
from gossamer.model.content_type import page_type as page_type  # noqa: PLC0414 - for uses
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.media_types import Body, to_bytes
from gossamer.parsing.base_url import Base, base_of
from gossamer.parsing.encodings import BEYOND, decode, encoding

if TYPE_CHECKING:
    import turbohtml

MAX_TITLE_CHARS: Final = 2000
"""Maximum number of characters of a title that are kept."""
_LANGUAGE: Final = lazy_pattern(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,8}")
_REFRESH: Final = lazy_pattern(
    r"""[\t\n\f\r ]*+(?:[0-9]++|(?=\.))[0-9.]*+(?=[\t\n\f\r ;,])[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+"""
    r"""(?>(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?)(?:"([^"]+)|'([^']+)|([^"'].*))""",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the content of a meta refresh, which is a time followed by a URL (HTML Standard, 4.2.5.3, "shared
declarative refresh steps")."""
_MERGED: Final = lazy_pattern(rb"<[bBhH][oOtT][dDmM][yYlL][\s/]")
_MAX_MERGE_COST: Final = 20_000_000
"""Maximum cost of the body and html start tags of a page: the number of these tags, multiplied by the size of
the page in bytes. If a further body or html start tag has a new attribute, the parser copies all previous
attributes, so that 140 KB of start tags would take 1.2 GB of memory. A page of less than 20 KB is not
checked, because it cannot take more than 90 MB."""
_HIDDEN: Final = ("title", "noscript", "template", "svg")
"""Elements whose text is not shown, in addition to scripts and styles."""
_MAX_COUNTED_BYTES: Final = 16_000
"""Maximum size in bytes of a text whose letters are counted. The number of letters of a longer text is
estimated."""


T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - reads as a word beside `property`
    """A property that is computed when it is first read, and then stored. The property has no lock. Therefore
    a read takes a third of the time of functools.cached_property."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, page: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, page: object, owner: type) -> T: ...
    def __get__(self, page: Any, owner: type) -> Any:
        if page is None:
            return self
        value = page.__dict__[self._name] = self._make(page)
        return value


class Document:
    """A parsed page. Every attribute is computed once, when it is first read."""

    def __init__(
        self,
        tree: turbohtml.Document,
        url: str,
        robots_header: str | None = None,
        encoding: str = "utf-8",
        refresh_header: str | None = None,
    ) -> None:
        """`url`: the page's final URL. `robots_header`: the value of the page's X-Robots-Tag header.
        `encoding`: the encoding of the page's bytes, a name from the Encoding Standard. `refresh_header`: the
        value of the page's Refresh header."""
        self.tree = tree
        self.url = url
        self._encoding = encoding
        self._robots_header = robots_header
        self._refresh_header = refresh_header

    @once
    def base(self) -> Base:
        """The base URL of the page's links: the href of the first `base` element if it is an http(s) URL,
        else the page's URL."""
        own = base_of(self.url, self._encoding)
        for element in self.tree.select("base[href]")[:1]:
            if found := own.join(attribute_of(element, "href")):
                return base_of(found, self._encoding)
        return own

    @once
    def title(self) -> str | None:
        """The title with whitespace collapsed. None if the title is missing or empty."""
        from turbohtml import Namespace

        for element in self.tree.select("title"):
            if element.namespace is not Namespace.SVG:
                return " ".join(element.text.split())[:MAX_TITLE_CHARS] or None
        return None

    @once
    def language(self) -> str | None:
        """The declared language (BCP 47). This is the `lang` of the html element, or else the language in the
        Content-Language meta element. None if the page declares no language."""
        root = self.tree.root
        attributes = root.attrs if root is not None else {}
        given = [str(attributes.get("lang") or ""), str(attributes.get("xml:lang") or "")]
        return _tag(given) or _tag(self._metas("http-equiv", "content-language"))

    @once
    def canonical(self) -> str | None:
        """The absolute URL of the first `link rel=canonical` in the head. None if the head has no such link,
        or if the URL is invalid."""
        for element in self.tree.select('link[rel~="canonical" i][href]'):
            if element.closest("head") is not None:
                return self.base.resolve(attribute_of(element, "href"))
        return None

    @once
    def robots(self) -> frozenset[str]:
        """The robots directives of the page, `noindex` and `nofollow`, from meta elements and the
        X-Robots-Tag header."""
        said = (*self._metas("name", "robots"), *self._metas("name", "gossamer"))
        return directives(*said, self._robots_header) if said or self._robots_header else frozenset()

    @once
    def text(self) -> str:
        """The text that a reader sees, with whitespace collapsed."""
        from gossamer.parsing.visible_text import visible_text

        return visible_text(self.tree)

    @once
    def letters(self) -> bytes:
        """All text except scripts and styles, without whitespace, in UTF-8."""
        return _said(self.tree).encode("utf-8", "replace").translate(None, b" \t\n\r\f\v")

    @once
    def text_hash(self) -> str:
        """The XXH3-128 hash of `letters`, as 32 hex digits. Pages with the same text have the same hash."""
        return xxhash.xxh3_128_hexdigest(self.letters)

    @property
    def shows(self) -> int:
        """Returns a lower bound for the number of letters that the page shows. For a long text, the lower
        bound is a quarter of the number of bytes, minus the number of hidden characters."""
        hidden = sum(len(element.text) for tag in _HIDDEN for element in self.tree.select(tag))
        if len(self.letters) > _MAX_COUNTED_BYTES:
            return len(self.letters) // 4 - hidden
        text = self.letters.decode()
        return len(text) - text.count("\xa0") - hidden

    @once
    def refresh(self) -> str | None:
        """The raw URL of the Refresh header, or else of the first meta refresh that has a URL, or None. Elements
        in a `noscript` or `template` do not count."""
        if self._refresh_header and (found := _REFRESH.match(self._refresh_header)):
            return found[1] or found[2] or found[3]
        if not self._metas("http-equiv", "refresh"):
            return None
        inert = set(self.tree.select("noscript meta, template meta"))
        for element in self.tree.select('meta[http-equiv="refresh" i][content]'):
            found = _REFRESH.match(attribute_of(element, "content"))
            if found and element not in inert:
                return found[1] or found[2] or found[3]
        return None

    def _metas(self, attribute: str, value: str) -> list[str]:
        """Returns the contents of the meta elements in which `attribute` has the given value, ignoring
        case."""
        return [
            attribute_of(meta, "content")
            for meta in self.tree.select(f'meta[{attribute}="{value}" i][content]')
        ]


def parse(
    body: Body,
    content_type: str | None,
    url: str | None,
    robots_header: str | None = None,
    roots: int | None = None,
    refresh_header: str | None = None,
) -> Document:
    """Parses a page. Accepts any bytes and never raises. `url`: the page's final URL. `robots_header`: the
    page's X-Robots-Tag header. `roots`: an upper bound for the number of html and body start tags in the page,
    if known (`page_cost.cost_of`). `refresh_header`: the page's Refresh header.

    An XML page is parsed as XML, so that selectors find its elements by their names as written. If it is not
    well-formed, it is parsed as HTML. If the page is neither HTML nor XML, the result is an empty page
    (`model.content_type.page_type`).

    >>> page = parse(b"<title>A \\n b</title><a href=/c>d</a>", "text/html", "https://example.com/")
    >>> page.title, page.text
    ('A b', 'd')
    """
    body, url = to_bytes(body), url or ""
    kind = page_type(content_type, body)
    if kind != HTML and not is_xml(kind):
        body = b""
    name = encoding(body, content_type)
    found = None
    if kind != HTML and body:
        from gossamer.parsing.xml import read_xml  # imports the entities of HTML

        found = read_xml(decode(body, content_type))
    if isinstance(found, str):
        body = b"\xef\xbb\xbf" + found.encode("utf-8", "replace")
    elif found is not None:
        return Document(found, url, robots_header, name, refresh_header)
    elif name in BEYOND:
        body = b"\xef\xbb\xbf" + decode(body, content_type).encode("utf-8", "replace")
    if len(body) > 20_000:
        body = _merging(body, name, roots)
    try:
        tree = _tree(body, name)
    except LookupError:
        tree = _tree(body, None)
    return Document(tree, url, robots_header, name, refresh_header)


def _tree(body: bytes, name: str | None) -> turbohtml.Document:
    import turbohtml  # this import loads 23 modules, so it waits for the first request

    # Declarative shadow roots stay templates, so that selectors find the links in them.
    return turbohtml.parse(body, encoding=name, positions=False, allow_declarative_shadow_roots=False)


def _merging(body: bytes, name: str, roots: int | None) -> bytes:
    """Returns the page. If the page has too many start tags of body and html, replaces the start tags beyond
    the limit with empty `wbr` elements."""
    most = max(2, _MAX_MERGE_COST // len(body))
    if roots is not None and roots <= most:
        return body
    wide = name.startswith("utf-16")
    if len(_MERGED.findall(body.replace(b"\0", b"") if wide else body)) <= most:
        return body
    if wide:
        body = decode(body, f"text/html; charset={name}").encode("utf-8")
    left = iter(range(most))
    body = _MERGED.sub(
        lambda found: found[0] if next(left, None) is not None else b"<wbr" + found[0][5:], body
    )
    return b"\xef\xbb\xbf" + body if wide else body


def attribute_of(element: turbohtml.Element, name: str) -> str:
    """Returns the value of an attribute, or '' if it is missing. The words of `rel` and `class` are joined by
    spaces."""
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def _tag(values: list[str]) -> str | None:
    """Returns the first value that is a language tag, or None."""
    for value in values:
        tag = value.partition(",")[0].strip().replace("_", "-")
        if _LANGUAGE.fullmatch(tag):
            return tag
    return None


_OTHER_FIELDS: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)


def directives(*values: str | None, agent: str = "gossamer") -> frozenset[str]:
    """Returns the directives `noindex` and `nofollow` that robots meta elements or X-Robots-Tag values
    contain. `none` stands for both directives. Directives after `name:` apply only to the robot of that name.

    >>> sorted(directives("NOINDEX, follow", "otherbot: noindex, nofollow"))
    ['noindex']
    """
    found: set[str] = set()
    for value in values:
        ours = True
        for part in (value or "").lower().split(","):
            name, colon, rest = part.partition(":")
            if colon and name.strip() not in _OTHER_FIELDS:
                ours = name.strip() in (agent, "*")
                part = rest
            if ours:
                found.add(part.strip())
    if "none" in found:
        return frozenset({"noindex", "nofollow"})
    return frozenset(found & {"noindex", "nofollow"})


def _said(tree: turbohtml.Document) -> str:
    """Returns all text except scripts and styles, without spaces between blocks. This function takes 25 us,
    whereas a layout of the text would take 62 us."""
    text: str = tree.text
    for tag in ("script", "style"):
        at, parts = 0, []
        for element in tree.select(tag):
            inner = element.text
            place = text.find(inner, at)
            if place < 0:
                break
            parts.append(text[at:place])
            at = place + len(inner)
        if parts:
            text = "".join(parts) + text[at:]
    return text

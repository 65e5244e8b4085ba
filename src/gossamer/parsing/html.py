"""A page of HTML as the crawler sees it: one parse, everything else looked up when asked for.

turbohtml builds the tree (WHATWG rules, linear on every bomb tried: 400,000 open divs 30 ms, a 2 MB attribute
5 ms). Selectors of one tag are looked up in its index (0.1 us where the tag is missing); lists of selectors,
XPath and `find` walk the whole tree (25-35 us on a page of 46 KB): keep to the former on the hot path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, overload

import turbohtml
import xxhash

from gossamer.model.media_types import Body, octets
from gossamer.parsing.base_url import Base, base_of
from gossamer.parsing.encodings import decode, encoding

LONGEST_TITLE: Final = 2000
"""Characters of a title that are kept."""
_LANGUAGE: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,8}")
_HTML_TYPES: Final = frozenset({"", "text/html", "application/xhtml+xml", "application/xml", "text/xml"})
_REFRESH: Final = re.compile(
    r"""[\t\n\f\r ]*+(?:[0-9]++|(?=\.))[0-9.]*+(?=[\t\n\f\r ;,])[\t\n\f\r ]*+[;,]?+[\t\n\f\r ]*+"""
    r"""(?>(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?)(?:"([^"]+)|'([^']+)|([^"'].*))""",
    re.IGNORECASE | re.DOTALL,
)
"""The shared declarative refresh steps (HTML Standard, 4.2.5.3): a time, and the URL behind it."""
_MERGED: Final = re.compile(rb"<[bBhH][oOtT][dDmM][yYlL][\s/]")
_MERGES: Final = 20_000_000
"""Start tags of body and html, times bytes of the page: each of them that brings a new attribute costs a copy
of all attributes so far, and 140 KB of them would cost 1.2 GB. Pages of less than 20 KB cannot cost more than
90 MB."""
_SVG: Final = turbohtml.Namespace.SVG
_START: Final = turbohtml.TokenType.START_TAG
_END: Final = turbohtml.TokenType.END_TAG
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_ENDS: Final = frozenset(
    ("p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot")
)
"""Elements whose end tags are often left out, and what such a one may be in anew."""
_HOLD: Final = frozenset(("ul", "ol", "menu", "dl", "select", "table", "button", "object", "template"))
DEEP: Final = 400
_HIDDEN: Final = ("title", "noscript", "template", "svg")
"""Elements whose text is not shown, beside scripts and styles."""
_LONG: Final = 16_000
"""Bytes of a text whose letters are not counted."""


T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - reads as a word beside `property`
    """A property computed when it is first read; without the lock of functools.cached_property it costs a
    third."""

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
        self, tree: turbohtml.Document, url: str, robots_header: str | None = None, encoding: str = "utf-8"
    ) -> None:
        """From a tree, the page's final URL, the value of its X-Robots-Tag header, and the encoding that it
        was in."""
        self.tree = tree
        self.url = url
        self._encoding = encoding
        self._robots_header = robots_header

    @once
    def base(self) -> Base:
        """What links are relative to: the first base href, where it is a URL of the web, else the page's own
        URL."""
        own = base_of(self.url, self._encoding)
        for element in self.tree.select("base[href]")[:1]:
            if found := own.join(attribute_of(element, "href")):
                return base_of(found, self._encoding)
        return own

    @once
    def title(self) -> str | None:
        """The title, its blanks folded; None where there is none or an empty one."""
        for element in self.tree.select("title"):
            if element.namespace is not _SVG:
                return " ".join(element.text.split())[:LONGEST_TITLE] or None
        return None

    @once
    def language(self) -> str | None:
        """The declared language (BCP 47): `lang` of the html element, else the Content-Language meta, or
        None."""
        root = self.tree.root
        attributes = root.attrs if root is not None else {}
        given = [str(attributes.get("lang") or ""), str(attributes.get("xml:lang") or "")]
        return _tag(given) or _tag(self._metas("http-equiv", "content-language"))

    @once
    def canonical(self) -> str | None:
        """The URL of the first link rel=canonical in the head, absolute; None where there is none that is a
        URL."""
        for element in self.tree.select('link[rel~="canonical" i][href]'):
            if element.closest("head") is not None:
                return self.base.resolve(attribute_of(element, "href"))
        return None

    @once
    def robots(self) -> frozenset[str]:
        """What the page asks of robots, `noindex` and `nofollow`, by meta element or X-Robots-Tag header."""
        said = (*self._metas("name", "robots"), *self._metas("name", "gossamer"))
        return directives(*said, self._robots_header) if said or self._robots_header else frozenset()

    @once
    def text(self) -> str:
        """The text that a reader sees, blanks folded."""
        from gossamer.parsing.visible_text import visible_text

        return visible_text(self.tree)

    @once
    def letters(self) -> bytes:
        """All text but scripts and styles, without blanks, in UTF-8."""
        return _said(self.tree).encode("utf-8", "replace").translate(None, b" \t\n\r\f\v")

    @once
    def text_hash(self) -> str:
        """XXH3-128, 32 hex digits, of the letters: the same where pages say the same."""
        return xxhash.xxh3_128_hexdigest(self.letters)

    @property
    def shows(self) -> int:
        """How many letters of text it surely shows; of a long text a quarter of its bytes."""
        hidden = sum(len(element.text) for tag in _HIDDEN for element in self.tree.select(tag))
        if len(self.letters) > _LONG:
            return len(self.letters) // 4 - hidden
        text = self.letters.decode()
        return len(text) - text.count("\xa0") - hidden

    @once
    def refresh(self) -> str | None:
        """The raw URL of the first meta refresh that has one, None where there is none; what is in a noscript
        does not count."""
        if not self._metas("http-equiv", "refresh"):
            return None
        inert = set(self.tree.select("noscript meta, template meta"))
        for element in self.tree.select('meta[http-equiv="refresh" i][content]'):
            found = _REFRESH.match(attribute_of(element, "content"))
            if found and element not in inert:
                return found[1] or found[2] or found[3]
        return None

    def _metas(self, attribute: str, value: str) -> list[str]:
        """The contents of the meta elements of that name, or http-equiv, in any case."""
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
) -> Document:
    """Parse a page: its bytes, Content-Type, final URL and X-Robots-Tag. Takes any bytes, never raises.
    `roots`: how many start tags of html and body it has at most, where that is known (`cost.cost_of`).

    What its Content-Type calls neither HTML nor XML is an empty page.

    >>> page = parse(b"<title>A \\n b</title><a href=/c>d</a>", "text/html", "https://example.com/")
    >>> page.title, page.text
    ('A b', 'd')
    """
    body, url = octets(body), url or ""
    kind = (content_type or "").partition(";")[0]
    if kind.strip().lower() not in _HTML_TYPES:
        body = b""
    name = encoding(body, content_type)
    if len(body) > 20_000:
        body = _merging(body, name, roots)
    try:
        tree = _tree(body, name)
    except LookupError:
        tree = _tree(body, None)
    return Document(tree, url, robots_header, name)


def deep(body: bytes, content_type: str | None) -> bool:
    """Whether elements may lie more than DEEP in one another. turbohtml 1.15 keeps 512 open at most, and at
    that very depth a table in an element that is opened twice (`<a>`) ends the process: for pages under that
    suspicion, as it costs as much as to parse them."""
    inside: list[str] = []
    for token in turbohtml.tokenize(decode(body, content_type)):
        if token.type is _START and token.tag not in _VOID:
            tag = token.tag or ""
            if tag in _ENDS:  # the one before it ends here, though nothing says so
                within = max((at for at, one in enumerate(inside) if one in _HOLD), default=-1)
                if tag in inside[within + 1 :]:
                    del inside[inside.index(tag, within + 1) :]
            inside.append(tag)
            if len(inside) > DEEP:
                return True
        elif token.type is _END and token.tag in inside:
            while inside.pop() != token.tag:
                pass
    return False


def _tree(body: bytes, name: str | None) -> turbohtml.Document:
    # Shadow roots written into the page stay templates, where selectors find their links.
    return turbohtml.parse(body, encoding=name, positions=False, allow_declarative_shadow_roots=False)


def _merging(body: bytes, name: str, roots: int | None) -> bytes:
    """The same page; of too many start tags of body and html the later ones are other empty elements."""
    most = max(2, _MERGES // len(body))
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
    """The value of an attribute, empty where there is none; the words of `rel` and `class` with a blank
    between."""
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def _tag(values: list[str]) -> str | None:
    """The first value that is a language tag."""
    for value in values:
        tag = value.partition(",")[0].strip().replace("_", "-")
        if _LANGUAGE.fullmatch(tag):
            return tag
    return None


_OTHER_FIELDS: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)


def directives(*values: str | None, agent: str = "gossamer") -> frozenset[str]:
    """`noindex` and `nofollow` out of meta contents or X-Robots-Tag values; `none` is both, `name:` is for
    one robot.

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
    """All characters but those of scripts and styles, words not kept apart: 25 us where a layout takes 62."""
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

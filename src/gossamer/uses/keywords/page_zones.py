"""Reads the texts of a page by zone: title, headings, main text, links to other pages, alternative texts of
images, and the description. Navigation, headers, footers and sidebars are left out. Does no I/O."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from turbohtml import Document, Element

from gossamer import PageView
from gossamer.client.near_duplicates import make_sketch
from gossamer.parsing.shown import shown

MAX_PARTS: Final = 300
"""The maximum number of headings, of links and of images that are read from one page."""
MAX_CHARS: Final = 1000
"""The maximum number of characters of a title, a heading, a link, an alternative text or a description."""
_AROUND: Final = "nav, footer, aside, [role=navigation], [role=contentinfo], [role=complementary]"
_HEADINGS: Final = ("h1", "h2", "h3")
_META: Final = 'meta[name="description" i][content], meta[name="keywords" i][content]'


class PageText(msgspec.Struct, kw_only=True):
    """The texts of a page in the form in which a crawl stores them. Texts are in NFC, with whitespace
    collapsed. Paragraphs of `text` are separated by an empty line."""

    url: str
    title: str = ""
    language: str = ""
    """The primary code of the declared language, or ''."""
    headings: list[str] = []
    text: str = ""
    alt: list[str] = []
    meta: list[str] = []
    anchors: list[tuple[str, str]] = []
    """The links in the page's content: (URL, text)."""
    sketch: bytes = b""
    """The sketch of the text, with which a run finds nearly equal texts. The sketch is b'' if the text has
    too few words."""


def read_zones(page: PageView) -> dict[str, Any] | None:
    """Returns the row of a page, or None for a page without any text."""
    tree = shown(page.document.tree)
    text = clean(page.main_text, keep_paragraphs=True)
    title = clean(page.title or "")
    around = _inside(tree, _AROUND)
    headings = _texts(tree, ", ".join(_HEADINGS), around)
    alt = _texts(tree, "img[alt]", _inside(tree, f"{_AROUND}, header"), "alt")
    meta = _texts(tree, _META, set(), "content")
    if not (text or title or headings or alt or meta):
        return None
    found = PageText(
        url=page.url,
        title=title,
        language=primary_language(page.language),
        headings=headings,
        text=text,
        alt=alt,
        meta=meta,
        anchors=_anchors(page, tree),
        sketch=make_sketch(text, headings[0] if len(tree.select("h1")) == 1 and headings else title),
    )
    row: dict[str, Any] = msgspec.to_builtins(found)
    return row


def clean(text: str, keep_paragraphs: bool = False) -> str:
    """Returns a text in NFC with whitespace collapsed, except for empty lines between paragraphs."""
    text = unicodedata.normalize("NFC", text)
    if not keep_paragraphs:
        return " ".join(text.split())
    return "\n\n".join(filter(None, (" ".join(part.split()) for part in text.split("\n\n"))))


def primary_language(tag: str | None) -> str:
    """Returns the primary code of a language tag.

    >>> primary_language("de-AT"), primary_language(None)
    ('de', '')
    """
    code = (tag or "").replace("_", "-").partition("-")[0].lower()
    return code if code.isalpha() and 2 <= len(code) <= 3 else ""


def _inside(tree: Document, query: str) -> set[Element]:
    """Returns all headings, links and images inside the elements that `query` selects."""
    found: set[Element] = set()
    for part in query.split(", "):
        found.update(tree.select(f"{part} :is(a, h1, h2, h3, img)"))
    return found


def _texts(tree: Document, query: str, without: set[Element], attribute: str = "") -> list[str]:
    found = []
    for element in tree.select(query):
        if element in without:
            continue
        text = clean(_attribute(element, attribute) if attribute else element.text)[:MAX_CHARS]
        if text:
            found.append(text)
            if len(found) == MAX_PARTS:
                break
    return found


def _attribute(element: Element, name: str) -> str:
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def _anchors(page: PageView, tree: Document) -> list[tuple[str, str]]:
    """Returns the links outside of navigation, header and footer. Each pair of URL and text is returned
    once."""
    without = _inside(tree, f"{_AROUND}, header")
    found: dict[tuple[str, str], None] = {}
    for element in tree.select("a[href]"):
        if element in without or not (text := clean(element.text)[:MAX_CHARS]):
            continue
        href = _attribute(element, "href").strip()
        if not href or href[0] == "#":
            continue
        url = page.document.base.resolve(href)
        if url is not None and url != page.url:
            found[url, text] = None
            if len(found) == MAX_PARTS:
                break
    return list(found)


def words_of(parts: Iterable[str]) -> str:
    """Joins texts so that no phrase extends over two of them."""
    return "\n\n".join(parts)

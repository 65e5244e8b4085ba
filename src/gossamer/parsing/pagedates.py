"""Finds the dates on which a page was published and modified. Metadata takes precedence over the visible
text, and the visible text takes precedence over the URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from gossamer.model.media_types import Body
from gossamer.parsing import date_words as words
from gossamer.parsing.dates import date
from gossamer.parsing.html import Document, attribute_of, parse
from gossamer.parsing.structured import json_ld

MAX_ELEMENTS: Final = 300
"""Maximum number of elements of each kind that are examined."""
OLDEST_DATE: Final = "1990"
"""The earliest credible year. An earlier date must be a default value, because the web did not exist."""
_ARTICLES: Final = re.compile(
    r"article|posting|report|recipe|review|video|creativework|dataset|product|event|page$", re.IGNORECASE
)
_META: Final = {
    "published": re.compile(
        r"article[:.]published(?:_time)?|og:(?:article:)?published_time|(?:date)?published|date_published|pub-?date|publish(?:ed)?[-_]?(?:date|time)"
        r"|publication[-_]?date|date|dc(?:terms)?\.(?:date|created|issued)(?:\.(?:issued|created))?|parsely-pub-date|sailthru\.date|timestamp"
        r"|citation_(?:publication_|online_)?date|cxenseparse:recs:publishtime|originalpublicationdate|article_date_original|bt:pubdate|rnews:datepublished",
        re.IGNORECASE,
    ),
    "modified": re.compile(
        r"article[:.]modified(?:_time)?|og:updated_time|(?:date)?modified|date_modified|last-?modified|lastmod|revised|updated_time"
        r"|dc(?:terms)?\.(?:date\.)?modified|bt:moddate|rnews:datemodified",
        re.IGNORECASE,
    ),
}
_CALLED: Final = re.compile(
    r"(?:^|[-_\s])(?:date|datetime|time|published?|pubdate|posted|timestamp|byline|dateline|meta|entry-date)(?:$|[-_\s])",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(
    r"comment|related|sidebar|widget|recommend|teaser|footer-news|disqus|repl(?:y|ies)\b", re.IGNORECASE
)
_MODIFIED: Final = re.compile(r"updated|modified|dtmod|lastmod", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])[/-](0?[1-9]|[12]\d|3[01])(?=[/_-]|\.|$)")


class Dates(NamedTuple):
    """The dates on which a page was `published` and `modified`. Each is an ISO 8601 day such as `2024-05-12`,
    with the time and UTC offset if the page gives them, or None."""

    published: str | None
    modified: str | None


def dates(body: Body, url: str | None = None, content_type: str | None = None) -> Dates:
    """Returns the dates on which a page was published and modified. Accepts any bytes and never raises.

    >>> dates(b'<meta property="article:published_time" content="2024-05-12T10:30:00Z"><p>Updated 13 May 2024')
    Dates(published='2024-05-12T10:30:00+00:00', modified='2024-05-13')
    """
    return of(parse(body, content_type, url))


def of(page: Document) -> Dates:
    """Returns the dates of a parsed page (`dates`)."""
    found: dict[str, str] = {}
    language = page.language
    for source in (_linked, _metas, _marked, _timed, _called, _labelled, _addressed):
        for kind, text in source(page):
            if kind not in found and (day := date(text, language)) and len(day) >= 10 and day > OLDEST_DATE:
                found[kind] = day
        if len(found) == 2:
            break
    return Dates(found.get("published"), found.get("modified"))


def _linked(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the dates in JSON-LD: those of articles first, and those of pages last. Dates of comments and
    websites are left out."""
    nodes: list[dict[str, Any]] = []
    for one in json_ld(page.tree):
        inner = one.get("@graph")
        nodes += [
            one,
            *(part for part in (inner if isinstance(inner, list) else [inner]) if isinstance(part, dict)),
        ]
        nodes += [
            part for key in ("mainEntity", "mainEntityOfPage") if isinstance(part := one.get(key), dict)
        ]

    def rank(node: dict[str, Any]) -> int:
        kind = str(node.get("@type") or "")
        return 2 * (not _ARTICLES.search(kind)) + kind.lower().strip("[]'\"").endswith("page")

    for node in sorted(nodes, key=rank):
        if "comment" in str(node.get("@type")).lower() or "website" in str(node.get("@type")).lower():
            continue
        for key, kind in (
            ("datePublished", "published"),
            ("dateCreated", "published"),
            ("uploadDate", "published"),
            ("dateModified", "modified"),
        ):
            yield kind, _text(node.get(key))


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("@value")
    return value if isinstance(value, str) else ""


def _metas(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the dates in meta elements."""
    for meta in page.tree.select("meta[content]")[:MAX_ELEMENTS]:
        names = [attribute_of(meta, key) for key in ("property", "name", "http-equiv", "itemprop")]
        for name in " ".join(names).split():
            for kind, pattern in _META.items():
                if pattern.fullmatch(name):
                    yield kind, attribute_of(meta, "content")


def _marked(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the dates in properties of microdata and RDFa."""
    for key in ("itemprop", "property"):
        for element in page.tree.select(f"[{key}]")[:MAX_ELEMENTS]:
            for name in attribute_of(element, key).lower().split():
                kind = {
                    "datepublished": "published",
                    "datemodified": "modified",
                    "datecreated": "published",
                }.get(name.rpartition(":")[2])
                if kind and not _is_aside(element):
                    yield (
                        kind,
                        attribute_of(element, "content") or attribute_of(element, "datetime") or element.text,
                    )


def _timed(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the dates in elements that contain times. Elements that are marked as published or modified come
    first, then elements in the article."""
    elements = [
        one
        for one in page.tree.select("time, abbr.published, abbr.updated")[:MAX_ELEMENTS]
        if not _is_aside(one)
    ]

    def rank(element: Any) -> int:
        called = attribute_of(element, "class").lower()
        if (
            "pubdate" in element.attrs
            or "published" in called
            or "entry-date" in called
            or _MODIFIED.search(called)
        ):
            return 0
        return 1 if any(getattr(one, "tag", "") in ("article", "main") for one in _above(element)) else 2

    for element in sorted(elements, key=rank):
        called = attribute_of(element, "class")
        kind = "modified" if _MODIFIED.search(called) and "published" not in called.lower() else "published"
        before = _before(element)
        if words.MODIFIED.search(before):
            kind = "modified"
        yield kind, attribute_of(element, "datetime") or attribute_of(element, "title") or element.text


def _called(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the short texts of elements whose class names a date."""
    for element in page.tree.select(
        '[class*="date" i], [class*="time" i], [class*="publish" i], [class*="posted" i], [class*="byline" i]'
    )[:MAX_ELEMENTS]:
        if _CALLED.search(attribute_of(element, "class")) and not _is_aside(element):
            text = " ".join(element.text[:300].split())
            if len(text) < 150:
                first = words.MODIFIED.search(text)
                if first is None:
                    yield "published", text


def _labelled(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the texts after a label, as in `Published: 12 May 2024` or `Mis à jour le 13 mai`."""
    text = page.text[:200_000] + " " + page.text[200_000:][-5000:]
    for kind, pattern in (("modified", words.MODIFIED), ("published", words.PUBLISHED)):
        for found in list(pattern.finditer(text))[:20]:
            after = text[found.end() : found.end() + 60]
            other = (words.PUBLISHED if kind == "modified" else words.MODIFIED).search(after)
            yield kind, after[: other.start()] if other else after


def _addressed(page: Document) -> Iterator[tuple[str, str]]:
    """Yields the date in the page's URL."""
    if found := _ADDRESS.search(page.url or ""):
        yield "published", f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"


def _above(element: Any) -> Iterator[Any]:
    for _ in range(100):
        element = element.parent
        if element is None:
            return
        yield element


def _is_aside(element: Any) -> bool:
    """Whether an element is outside of the article, for example in comments or in a list of other
    articles."""
    return any(
        getattr(one, "tag", "") == "aside"
        or _ASIDE.search(attribute_of(one, "class") + " " + attribute_of(one, "id"))
        for one in [element, *_above(element)]
        if hasattr(one, "attrs") and getattr(one, "tag", "") not in ("body", "html")
    )


def _before(element: Any) -> str:
    """Returns the last 25 characters of the text that precedes an element within its parent."""
    parent = element.parent
    whole, own = (parent.text if parent is not None and hasattr(parent, "text") else "")[:500], element.text
    return whole.partition(own)[0][-25:] if own.strip() else ""

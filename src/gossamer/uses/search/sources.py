"""Prepares the pages of a crawl for the search index, either from page records that contain text or from
stored pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from gossamer.parsing import page_cost, pagedates
from gossamer.parsing.encodings import decode
from gossamer.parsing.html import page_type, parse
from gossamer.parsing.shown import shown
from gossamer.parsing.text import text_of
from gossamer.uses.search.document import IndexedPage, PageSource

MAX_CHARS: Final = 2_000_000
"""Maximum number of characters of a page's text that are indexed."""
MAX_HEADINGS: Final = 200
"""Maximum number of headings of a page that are indexed."""
GONE: Final = (404, 410)
"""The HTTP status codes that mean that a page no longer exists."""
_HTML: Final = ("", "text/html", "application/xhtml+xml")


class TextCount:
    """Counts the page records that were read, and the page records that contain text."""

    def __init__(self) -> None:
        self.records = self.with_text = 0


def of_records(rows: Iterable[Mapping[str, Any]], counted: TextCount) -> Iterator[PageSource]:
    """Yields one `PageSource` per page record (docs/records.md). Skips records of failed URLs and successful
    records without text."""
    for row in rows:
        status, url = row.get("status"), row.get("url")
        if not isinstance(url, str) or not isinstance(status, int):
            continue
        fetched = str(row.get("fetched_at") or "")
        if status in GONE:
            yield PageSource(url, fetched, _nothing, is_gone=True)
        elif 200 <= status < 300:
            counted.records += 1
            text = row.get("text")
            counted.with_text += isinstance(text, str)
            if isinstance(text, str):
                yield PageSource(url, fetched, partial(_of_record, dict(row), fetched))


def _nothing() -> None:
    return None


def _of_record(row: Mapping[str, Any], fetched: str) -> IndexedPage:
    return IndexedPage(
        row["url"],
        fetched,
        str(row.get("title") or ""),
        "",
        str(row["text"])[:MAX_CHARS],
        row.get("language"),
        None,
    )


def of_page(url: str, fetched: str, body: bytes, content_type: str | None) -> IndexedPage | None:
    """Parses a page for the index. If the page has no article, all of the page's visible text is indexed.
    Returns None for content that is neither HTML nor plain text, and for pages that are too costly to parse.

    >>> of_page("https://e.com/", "2026-11-25", b"<title>Cats</title><h1>Cats</h1><p>A cat sleeps.", "text/html").headings
    'Cats'
    """
    kind = page_type(content_type, body)
    if kind == "text/plain":
        return IndexedPage(url, fetched, "", "", decode(body, content_type)[:MAX_CHARS], None, None)
    if kind not in _HTML or page_cost.is_costly(body):
        return None
    page = parse(body, content_type, url)
    headings = [" ".join(one.text.split()) for one in shown(page.tree).select("h1, h2, h3")[:MAX_HEADINGS]]
    dates = pagedates.of(page)
    text = text_of(page.tree, body, url) or page.text
    return IndexedPage(
        url,
        fetched,
        page.title or "",
        "\n".join(filter(None, headings)),
        text[:MAX_CHARS],
        page.language,
        dates.published,
    )

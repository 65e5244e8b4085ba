"""The data of a page that the search index stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit


class IndexedPage(NamedTuple):
    """The document of a page that is indexed. `fetched`: when the page was fetched (RFC 3339, UTC). `published`: an
    ISO 8601 day or moment, or None. `headings` and `text` may be empty."""

    url: str
    fetched: str
    title: str
    headings: str
    text: str
    language: str | None
    published: str | None

    @property
    def day(self) -> str:
        """The day that `before:` and `after:` compare: the day of publication, or else the day of the fetch."""
        return (self.published or self.fetched)[:10]


class PageSource(NamedTuple):
    """A page that a crawl kept. `read` returns its document, or None if it has no text. `is_gone`: whether the
    page no longer exists."""

    url: str
    fetched: str
    read: Callable[[], IndexedPage | None]
    is_gone: bool = False


def site_names(url: str) -> list[str]:
    """Returns the names under which `site:` finds a page: its host with and without the port, and the domains
    above it.

    >>> site_names("http://www.e.example:8000/a")
    ['www.e.example', 'e.example', 'example', 'www.e.example:8000']
    """
    parts = urlsplit(url)
    labels = (parts.hostname or "").lower().split(".")
    names = [".".join(labels[at:]) for at in range(len(labels))]
    netloc = parts.netloc.rpartition("@")[2].lower()
    return list(dict.fromkeys((*names, netloc)))

"""The data of a page that the search index stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit


class IndexedPage(NamedTuple):
    """The contents of one page, as the index stores them. `fetched`: the time at which the page was fetched
    (RFC 3339, UTC). `published`: an ISO 8601 date or date and time, or None. `headings` and `text` may be
    empty."""

    url: str
    fetched: str
    title: str
    headings: str
    text: str
    language: str | None
    published: str | None

    @property
    def day(self) -> str:
        """The day with which the filters `before:` and `after:` compare: the day of publication if it is
        known, otherwise the day of the fetch."""
        return (self.published or self.fetched)[:10]


class PageSource(NamedTuple):
    """A page that a crawl kept. `read` returns the page's contents, or None if the page has no text.
    `is_gone`: whether the page no longer exists (status 404 or 410)."""

    url: str
    fetched: str
    read: Callable[[], IndexedPage | None]
    is_gone: bool = False


def site_names(url: str) -> list[str]:
    """Returns the names under which the filter `site:` finds a page: its host with and without the port, and
    the domains above it.

    >>> site_names("http://www.e.example:8000/a")
    ['www.e.example', 'e.example', 'example', 'www.e.example:8000']
    """
    parts = urlsplit(url)
    labels = (parts.hostname or "").lower().split(".")
    names = [".".join(labels[at:]) for at in range(len(labels))]
    netloc = parts.netloc.rpartition("@")[2].lower()
    return list(dict.fromkeys((*names, netloc)))

"""Reads a sitemap or feed at intervals and adds only new entries and entries whose lastmod changed.

Requests contain the validators of the last response (ETag, Last-Modified). The requests go through the
crawl's own collector and egress guard. In a sitemap index, only the sitemaps whose lastmod changed or is
missing are read again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec

from gossamer import url as urls
from gossamer.app.producers.source import BATCH_URLS, UrlBatch
from gossamer.model.interfaces import Collector
from gossamer.model.page import Page
from gossamer.model.request import Request, split
from gossamer.parsing.sitemaps import SitemapEntry, entries
from gossamer.url.redirects import redirect_target

REQUEST_INTERVAL_S = 1.0
"""Seconds between requests for the sitemaps of an index."""
MAX_INDEX_DEPTH, MAX_REDIRECTS = 3, 5
"""The maximum depth of sitemap indexes, and the maximum number of redirects."""
MAX_REMEMBERED_ENTRIES = 50_000
"""The maximum number of entries that are remembered for a sitemap, including entries that were removed from
the sitemap. If the sitemap itself has more entries, all of its entries and only one removed entry are
remembered."""


class WatchedSitemap(msgspec.Struct, omit_defaults=True):
    """The stored state of one sitemap."""

    etag: str = ""
    modified: str = ""
    entries: str = ""
    """Maps the fingerprint of each entry to the entry's lastmod in seconds, or to 0 if the lastmod is
    missing. The map is stored as compressed msgpack."""
    inner: dict[str, float] = {}
    """Maps the URL of each sitemap in an index to the sitemap's lastmod, or to 0 if the lastmod is missing.
    The lastmod is stored as a negative number if the sitemap has not been read completely since then."""


class WatchedFeed:
    """A sitemap or feed that is read at a fixed interval."""

    def __init__(self, url: str, every: float) -> None:
        self.url, self.every, self.name = url, every, f"watch {url}"
        self.beside = split(url)[1]
        self.collector: Collector | None = None
        self._known: dict[str, WatchedSitemap] = {}
        self._unread: set[str] = set()
        """The URLs of sitemaps that could not be read completely in the current round of reads."""
        self._trouble = ""

    async def open(self, collector: Collector) -> None:
        """Does nothing."""
        self.collector = collector

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields new and changed entries. Never ends."""
        self._known = msgspec.convert(position or {}, dict[str, WatchedSitemap])
        while True:
            self._trouble = ""
            self._unread.clear()
            async with contextlib.aclosing(self._read(self.url, 0)) as found:
                async for some in found:
                    for part in (some[j : j + BATCH_URLS] for j in range(0, len(some), BATCH_URLS)):
                        yield UrlBatch(
                            [Request(str(one)) for one, _ in part],
                            [],
                            None,
                            editions=tuple(text for _, text in part),
                        )
            yield UrlBatch([], [], msgspec.to_builtins(self._known), trouble=self._trouble)
            await asyncio.sleep(self.every)

    async def added(self, batch: UrlBatch) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing, because the collector belongs to the caller."""

    async def _read(self, url: str, depth: int) -> AsyncGenerator[list[tuple[SitemapEntry, str]], None]:
        known = self._known.get(url, WatchedSitemap())
        page = await self._asked(url, known)
        if page is None or page.status not in (200, 304):
            self._trouble = f"{url} {'did not answer' if page is None else f'answered {page.status}'}"
            self._unread.add(url)
            return
        if page.status == 200:
            pages, sitemaps = entries(page.body, page.url)
            if not pages and not sitemaps:
                self._trouble = f"{url} contains no sitemap or feed entries"
            seen = _unpacked(known.entries)
            yield [(one, _edition(one, seen)) for one in pages if seen.get(_mark(one), -1) != _moment(one)]
            fresh = {str(one): _moment(one) for one in sitemaps}
            due = [one for one, at in fresh.items() if not at or known.inner.get(one) != at]
            known = WatchedSitemap(
                page.header("etag") or "",
                page.header("last-modified") or "",
                _packed(_joined(seen, pages)),
                fresh,
            )
        else:
            due = [
                one for one, at in known.inner.items() if at <= 0
            ]  # the lastmod is missing, or the sitemap was not read completely
        for one in due if depth < MAX_INDEX_DEPTH else ():
            await asyncio.sleep(REQUEST_INTERVAL_S)
            async for some in self._read(one, depth + 1):
                yield some
            known.inner[one] = abs(known.inner[one]) * (-1 if one in self._unread else 1)
        if any(one in self._unread for one in due):
            self._unread.add(url)
        self._known[url] = known

    async def _asked(self, url: str, known: WatchedSitemap) -> Page | None:
        """Requests a sitemap and follows redirects. Returns None if there was no response, so that the next
        round requests the sitemap again."""
        assert self.collector is not None
        headers = {"If-None-Match": known.etag} if known.etag else {}
        if known.modified:
            headers["If-Modified-Since"] = known.modified
        for _ in range(MAX_REDIRECTS):
            got = await self.collector.collect(Request(url, use="@sitemap"), headers)
            if not isinstance(got, Page):
                return None
            if got.location is None:
                return got
            if (target := redirect_target(got.location, url)) is None:
                return None
            url = target
        return None


def _mark(entry: SitemapEntry) -> int:
    return urls.fingerprint(urls.key(str(entry)), 0)


def _moment(entry: SitemapEntry) -> float:
    return entry.lastmod.timestamp() if entry.lastmod is not None else 0.0


def _joined(seen: dict[int, float], pages: list[SitemapEntry]) -> dict[int, float]:
    """Returns the entries that are remembered for a sitemap after the sitemap was read. The result begins
    with the most recently removed entries, followed by the current entries."""
    now = {_mark(one): _moment(one) for one in pages}
    gone = [(mark, at) for mark, at in seen.items() if mark not in now]
    return dict(gone[-max(1, MAX_REMEMBERED_ENTRIES - len(now)) :]) | now


def _edition(entry: SitemapEntry, seen: dict[int, float]) -> str:
    """Returns the edition of an entry, or '' if the sitemap did not contain the entry before. If a known URL
    gets a new edition, the seen set accepts the URL again, and the crawl visits the page again."""
    return str(_moment(entry)) if _mark(entry) in seen else ""


def _packed(seen: dict[int, float]) -> str:
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(seen))).decode()


def _unpacked(text: str) -> dict[int, float]:
    return (
        msgspec.msgpack.decode(zlib.decompress(base64.b64decode(text)), type=dict[int, float]) if text else {}
    )

"""Step 7: reads a page: links, record, items. A page is parsed once, whoever asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gossamer.page import Failure, Page
from gossamer.parsing import html
from gossamer.parsing.links import hrefs
from gossamer.request import Request
from gossamer.road.records import failed_record, page_record, page_row
from gossamer.road.taker import Taken, Taker
from gossamer.road.visitor import Read
from gossamer.sites.loading import LoadedSite
from gossamer.traps import growing
from gossamer.visit import Claim, Row


class Reader:
    """Reads the pages of one crawl. `pages`: page records are wanted; `key`: the canonical form of a URL."""

    def __init__(
        self,
        sites: Sequence[LoadedSite],
        taker: Taker,
        key: Callable[[str], str],
        *,
        pages: bool,
        text: bool,
        links: bool,
    ) -> None:
        self.sites, self.taker, self.key = sites, taker, key
        self.pages, self.text, self.links = pages, text, links
        self.tap: Callable[[Claim, Page], None] | None = None
        """Hears of each page before it is read."""

    def read(self, claim: Claim, page: Page, error: str | None) -> Read:
        """What a page gives; `error` (http-4xx) is a page whose links are not followed."""
        if self.tap is not None:
            self.tap(claim, page)
        if claim.request.use == "@sitemap":
            return self._sitemap(claim, page, error)
        document = html.parse(page.body, page.content_type, page.url, page.header("x-robots-tag"))
        taken = Taken()
        found, shut = hrefs(document)
        if error is None and page.status != 304:
            grown = growing(document.base.url, found)
            wanted = [href for href in found if href not in grown] if grown else found
            taken = self.taker.take(page.url, document.base.url, wanted, claim)
            if shut:
                taken.skip("nofollow", shut)
            if grown:
                taken.skip("trap", len(grown))
        rows = [self._row(claim.request, page, document, found, taken.distinct + shut, error)] if self.pages else []
        return Read(rows, taken)

    def failed(self, claim: Claim, result: Page | Failure | None, error: str) -> list[Row]:
        """The record of a URL that failed for good."""
        if not self.pages or claim.request.use == "@sitemap":
            return []
        record = failed_record(claim.request, result, error, time.time())
        return [page_row(record, self.key(record.requested_url))]

    def _row(
        self, request: Request, page: Page, document: html.Document, found: list[str], links: int, error: str | None
    ) -> Row:
        record = page_record(request, page, error=error)
        record.title, record.language, record.canonical = document.title, document.language, document.canonical
        record.links, record.text_hash = links, document.text_hash
        if self.text:
            record.text = document.text
        if self.links:
            resolved = (document.base.resolve(href) for href in found)
            record.out_links = list(dict.fromkeys(url for url in resolved if url))
        return page_row(record, self.key(record.requested_url))

    def _sitemap(self, claim: Claim, page: Page, error: str | None) -> Read:
        """A sitemap or feed gives seeds; sitemaps of an index are followed three deep."""
        from gossamer.parsing.sitemaps import entries

        taken = Taken()
        if error is None:
            pages, sitemaps = entries(page.body, page.url)
            depth = claim.request.depth
            for entry in pages:
                self.taker.request(Request(str(entry), referrer=page.url, priority=claim.request.priority), taken)
            for entry in sitemaps if depth < 3 else ():
                self.taker.request(
                    Request(str(entry), depth=depth + 1, referrer=page.url, use="@sitemap"), taken, flags="i"
                )
        return Read([], taken, infrastructure=True, error=error)

"""Step 7: reads a page: links, record, items. A page is parsed once, whoever asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import xxhash

from gossamer.item import Item, kind, plain
from gossamer.page import Failure, Page
from gossamer.parsing import html
from gossamer.parsing.links import hrefs
from gossamer.parsing.view import View
from gossamer.request import Request
from gossamer.road.records import failed_record, moment, page_record, page_row
from gossamer.road.taker import Taken, Taker
from gossamer.road.visitor import Read
from gossamer.sites.loading import LoadedSite, match
from gossamer.sites.running import Parsed, gather, run
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
        self.keep: Callable[[Page, str], None] = lambda _page, _why: None
        """Keeps a page that could not be parsed, with the reason."""
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
        site = match(self.sites, page.url) if self.sites else None
        if site is not None and error is None and (site.site.functions or site.site.must_have):
            return self._site(site, claim, page, document, len(found) + shut)
        if error is None and page.status != 304 and (site is None or site.site.follow is not False):
            grown = growing(document.base.url, found)
            wanted = [href for href in found if href not in grown] if grown else found
            taken = self.taker.take(page.url, document.base.url, wanted, claim)
            if shut:
                taken.skip("nofollow", shut)
            if grown:
                taken.skip("trap", len(grown))
        rows = [self._row(claim.request, page, document, found, taken.distinct + shut, error)] if self.pages else []
        return Read(rows, taken)

    def _site(self, site: LoadedSite, claim: Claim, page: Page, document: html.Document, links: int) -> Read:
        """A page of a site file: its function's items and requests; an error keeps the page for replay."""
        view = View(page, document, claim.request)
        parsed = run(site, view)
        taken = Taken()
        if parsed.error is not None:
            self.keep(page, f"{site.name}: {parsed.detail}")
        rows = [self._item(site, page, item) for item in parsed.items]
        wanted = [*parsed.requests, *self._followed(site, view, parsed)]
        voucher = self.taker.voucher(claim)
        for request in wanted:
            self.taker.request(request, taken, voucher)
        items = len(rows)
        if self.pages:
            rows.append(self._row(claim.request, page, document, [], links, parsed.error))
        return Read(rows, taken, items, parsed.error)

    def _followed(self, site: LoadedSite, view: View, parsed: Parsed) -> list[Request]:
        """Links that `follow=` names; without it a page that no function reads gives all its links."""
        follow = site.site.follow
        if parsed.error is not None or follow is False or (follow is None and parsed.function):
            return []
        if callable(follow):
            found, error = gather(site, follow, view)
            parsed.error = error
            return found
        hrefs_found, _ = hrefs(view.document)
        requests = list(view.follow(hrefs_found))
        if follow in (None, True):
            return requests
        return [request for request in requests if any(pattern.search(request.url) for pattern in follow)]

    def _item(self, site: LoadedSite, page: Page, item: Item | dict[str, Any]) -> Row:
        """An item as a row: its own fields, then where and when it was seen."""
        name, fields = ("item", dict(item)) if isinstance(item, dict) else (kind(item), plain(item))
        own = getattr(item, "__item_key__", None)
        key = str(fields[own]) if own else xxhash.xxh3_64_hexdigest(msgspec.json.encode(fields, order="sorted"))
        seen = {"_url": page.url, "_site": site.name, "_kind": name, "_key": key, "_seen_at": moment(page.fetched_at)}
        return Row(name, key, {**fields, **seen})

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

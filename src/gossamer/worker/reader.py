"""Reads pages. To read a page means to extract the page's links, page record and items. Each page is parsed
only once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from gossamer.blocks import Block
from gossamer.model.absence import Usual, not_an_item
from gossamer.model.absence import missing_fields as values_lacking
from gossamer.model.page import Failure, Page
from gossamer.model.quality import SiteCounts
from gossamer.model.request import Request
from gossamer.model.visit import ASIDE, Claim, Row
from gossamer.model.wall_clock import CLOCK
from gossamer.parsing import html
from gossamer.parsing.base_url import Base
from gossamer.parsing.links import find_hrefs
from gossamer.parsing.page_cost import MAX_BYTES, Cost, cost_of, decoded_size, is_html
from gossamer.parsing.page_view import PageView
from gossamer.sites.failed_pages import FailureLog
from gossamer.sites.item_builder import BuiltItem, ItemBuilders, reject, rejected_record
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import match
from gossamer.sites.page_functions import PageResult, gather_follow, missing_selector, run
from gossamer.sites.site_logs import SITE_MODULES, LoggedPage
from gossamer.url.patterns import PatternTimeout, Searcher
from gossamer.url.traps import growing
from gossamer.worker.asset_download import AssetRows, add_references, request_named_files
from gossamer.worker.crash_marker import CrashMarker
from gossamer.worker.link_intake import LinkIntake, ReadResult, TakenLinks
from gossamer.worker.read_watch import ReadWatch, TookTooLong
from gossamer.worker.records import failed_record, format_time, given_fields, page_record, page_row
from gossamer.worker.route_links import RouteFollower
from gossamer.worker.unrendered_pages import UnrenderedPages, may_be_empty

MAX_LINKS = 5000
"""Maximum number of distinct requests that one page may add to the frontier. Requests beyond this number are
counted as skipped with the reason `trap`."""
MAX_SITEMAP_BYTES = 100_000
"""Maximum size in bytes of a sitemap that the process of the worker reads itself."""
MAX_HREFS = 50_000
"""Maximum number of distinct `href` values of a page that are resolved. Values beyond this number are counted
as skipped with the reason `trap`."""
MAX_OUT_LINKS, MAX_OUT_LINK_CHARACTERS = 5000, 2_000_000
"""Maximum number of links in the list of a page record, and maximum total length of these links in
characters. The field `links` of a page record contains the number of all links, including links that are
missing in the list."""
NOFOLLOW = "the link or its page has nofollow"
GROWING = "the page links to segments of its own path, so paths would grow without end"
TOO_MANY = f"a page may have {MAX_HREFS} links"
"""Rules for which links are not followed, as users see them."""
MAX_PARSED = 16
"""Maximum number of cached pages that have been parsed and have not been read yet."""


class ReadsApart(Protocol):
    """The interface of an object that reads pages in another process (`page_reader.PageReader`)."""

    async def read(self, reader: Reader, claim: Claim, page: Page, error: str | None) -> ReadResult: ...

    async def lacks(self, claim: Claim, page: Page) -> str: ...

    async def close(self) -> None: ...


class ReadSettings(msgspec.Struct, frozen=True):
    """Settings that determine what a crawl extracts from its pages."""

    pages: bool
    """Whether the crawl writes page records."""
    text: bool = False
    """Whether page records include the page's text."""
    markdown: bool = False
    """Whether the text is Markdown."""
    links: bool = False
    """Whether page records include the page's links."""
    duplicates: str = "off"
    """The value of the setting `duplicates`, which determines which duplicates are marked."""
    run: str = ""
    """The name of the run. If each run visits a site completely, the rows of the site's items contain the
    name of the run."""
    beside: str = ""
    """The value `*` if the scope accepts entries of sitemaps as if the entries were seeds, otherwise ''."""
    watched: frozenset[str] = frozenset()
    """The fields that have a coverage gate. A page is stored for replay if its items lack a field with a
    coverage gate."""
    fetches: bool = True
    """Whether the crawl requests the files to which items refer."""
    fragments: str = "auto"
    """How routes in fragments are treated (`url.routes.MODES`)."""


def keep_nothing(page: Page, request: Request, why: str) -> None:
    """Does nothing. A crawl that does not store failed pages uses this function as `keep`."""


class PageReceivers(NamedTuple):
    """Who else gets what a reader reads.

    - `keep(page, request, why)`: stores a page for replay, with the reason `why`.
    - `tap(claim, page)`: called with each page before it is read.
    - `tell(line)`: called with a message for the operator.
    - `attaches_pages`: whether each row contains the page from which the row was extracted. True if a program
      in this process iterates over the rows, because the program may need the page.
    """

    keep: Callable[[Page, Request, str], None] = keep_nothing
    tap: Callable[[Claim, Page], None] | None = None
    tell: Callable[[str], None] = lambda _: None
    attaches_pages: bool = False


NO_RECEIVERS = PageReceivers()


class Reader:
    """Reads the pages of one crawl.

    - `link_intake`: takes links for the frontier.
    - `key`: returns the canonical form of a URL.
    - `graph(page, request, document)`: returns one row per link of a page. `graph` is None if links are not
      stored as rows.
    - `apart`: reads costly pages in another process. If `apart` is None, costly pages are read in this
      process.
    - `is_apart`: whether this reader runs in a page process. In a page process, the reader does not add the
      files of items to the frontier, because the worker adds these files.
    """

    def __init__(
        self,
        sites: Sequence[LoadedSite],
        link_intake: LinkIntake,
        key: Callable[[str], str],
        settings: ReadSettings,
        receivers: PageReceivers = NO_RECEIVERS,
        *,
        graph: Callable[[Page, Request, html.Document], list[Row]] | None = None,
        apart: ReadsApart | None = None,
        is_apart: bool = False,
    ) -> None:
        self.sites, self.link_intake, self.key, self.settings = sites, link_intake, key, settings
        self.pages, self.text, self.links = settings.pages, settings.text, settings.links
        self.duplicates, self.run, self.beside = settings.duplicates, settings.run, settings.beside
        self.watched, self.fetches = settings.watched, settings.fetches
        self.graph, self.apart, self.is_apart = graph, apart, is_apart
        self.keep, self._tap, tell, self.attaches_pages = receivers
        self._refuse = FailureLog(self.keep)
        self.usual: Usual = {}
        """The fields that nearly all items of the last good runs had. `usual` is empty if no sink stores the
        history of items."""
        self.functions = any(one.site.functions for one in sites)
        """Whether any site file has page functions."""
        self.builders = ItemBuilders(sites, key)
        complete, version = (
            {one.name for one in sites if one.site.complete},
            {one.name: one.version for one in sites},
        )
        self.rows = AssetRows(
            key, lambda site: self.run if site in complete else "", lambda site: version.get(site, "")
        )
        self.counting = {site.name: SiteCounts(site.name) for site in sites}
        self._parsed: dict[int, tuple[Page, html.Document]] = {}
        """The pages that have been parsed and have not been read yet, with their parse trees. The methods
        `lacks`, `shows` and `unrendered` parse pages. The key of a parsed page is the page's `id()`."""
        self._unrendered = UnrenderedPages()
        self._routes = RouteFollower(settings.fragments, tell)
        self._costs: tuple[Page | None, Cost] = (None, Cost(False))
        """The last page whose reading cost was estimated, and the estimated cost."""
        self._reading = CrashMarker()
        """Marks the claim whose page is being read, so that the claim can be identified if the page kills the
        process."""
        self._watch: ReadWatch | None = None

    def open(
        self,
        crawl: str,
        folder: Path,
        crashes: Path | None,
        usual: Usual,
        watch: ReadWatch | None = None,
    ) -> None:
        """Begins a run, and opens the steps of the sites. `folder`: the crawl's folder. `crashes`: the folder
        of the crash marker (`crash_marker`), or None to keep the crash marker only in memory. `usual`: the
        fields that nearly all items of the last good runs had. `watch`: limits the time for reading a page,
        or None if the caller limits this time. Raises ConfigError."""
        self.builders.open(crawl, folder)
        if watch is not None:
            watch.start()
            self._watch = watch
        self._reading, self.usual = CrashMarker(crashes), usual

    def close(self) -> None:
        """Closes the item steps of all sites, and removes the crash marker."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self.builders.close()
        self._reading.close()

    def forget(self) -> None:
        """Discards the parse trees and the estimated cost of all cached pages."""
        self._parsed.clear()
        self._costs = None, Cost(False)

    def is_costly(self, page: Page) -> bool:
        """Returns whether a page must be read in another process, because reading the page may be costly
        (`parsing.page_cost`)."""
        if self.apart is None:
            return False
        if self._costs[0] is not page:
            cost = (
                cost_of(page.body)
                if is_html(page.read_as, page.body)
                else Cost(len(page.body) > MAX_BYTES and self.functions)
            )
            self._costs = page, cost
        return self._costs[1].is_costly

    def _document(self, page: Page, keep: bool = False) -> html.Document:
        """Returns the parsed document of a page. `keep`: whether to keep the document until the page is
        read."""
        if (known := self._parsed.get(id(page))) is not None:
            return known[1]
        roots = self._costs[1].roots if self._costs[0] is page else None
        robots, refresh = page.header("x-robots-tag"), page.header("refresh")
        document = html.parse(page.body, page.read_as, page.url, robots, roots, refresh)
        if keep:
            if len(self._parsed) >= MAX_PARSED:
                del self._parsed[next(iter(self._parsed))]
            self._parsed[id(page)] = page, document
        return document

    async def reads(self, claim: Claim, page: Page, error: str | None) -> ReadResult:
        """Reads a page like `read`. A costly page is read in another process, which is killed if the page
        takes too much time or memory."""
        sitemap = claim.request.use == "@sitemap"
        if self.apart is None or not (
            decoded_size(page.body) > MAX_SITEMAP_BYTES if sitemap else self.is_costly(page)
        ):
            read = self.read(claim, page, error)
        else:
            if self._tap is not None:
                self._tap(claim, page)
            read = await self.apart.read(self, claim, page, error)
        if self.attaches_pages:
            for row in read.rows:
                row.page = page
        return read

    async def lacks(self, claim: Claim, page: Page) -> str:
        """Returns the selector of required content that is missing from a page, or '' if nothing is
        missing."""
        if self.apart is not None and self.sites and self.is_costly(page):
            site = match(self.sites, page.url)
            return "" if site is None or not site.site.must_have else await self.apart.lacks(claim, page)
        return self.lacks_here(claim, page)

    def lacks_here(self, claim: Claim, page: Page) -> str:
        """Returns the same as `lacks`, but always parses the page in this process."""
        site = match(self.sites, page.url) if self.sites else None
        if site is None or not site.site.must_have or _too_deep(claim, page):
            return ""
        self._reading.begins(claim.bucket, claim.token)
        try:
            return missing_selector(site, PageView(page, self._document(page, keep=True)))
        except ValueError:  # `read` reports this error later
            return ""
        finally:
            self._reading.ends()

    def shows(self, claim: Claim, page: Page) -> int:
        """Returns a lower bound for the number of letters that a page shows (`html.Document.shows`)."""
        if _too_deep(claim, page) or self.is_costly(page):
            # a costly page is not parsed here, so the size of its body is returned instead
            return len(page.body)
        self._reading.begins(claim.bucket, claim.token)
        try:
            return self._document(page, keep=True).shows
        finally:
            self._reading.ends()

    def unrendered(self, claim: Claim, page: Page) -> str:
        """Returns the reason why a page needs a browser, or '' if the page needs none. A page needs a browser
        if it is empty until its scripts have run."""
        if not may_be_empty(claim, page) or _too_deep(claim, page) or self.is_costly(page):
            return ""
        self._reading.begins(claim.bucket, claim.token)
        try:
            return self._unrendered.judge(claim, page, self._document(page, keep=True))
        finally:
            self._reading.ends()

    def read(self, claim: Claim, page: Page, error: str | None) -> ReadResult:
        """Reads a page. `error`: the error for the page's status (`http-4xx`), or None. The links of a page
        with an error are not followed."""
        self._reading.begins(claim.bucket, claim.token)
        try:
            if self._watch is None:
                return self._read(claim, page, error)
            read = self._watch.run(partial(self._read, claim, page, error))
            return too_slow(self, claim, page, read) if isinstance(read, TookTooLong) else read
        finally:
            self._reading.ends()

    def _read(self, claim: Claim, page: Page, error: str | None) -> ReadResult:
        if self._tap is not None:
            self._tap(claim, page)
        if claim.request.use == "@sitemap":
            return self._sitemap(claim, page, error)
        if _too_deep(claim, page):
            from gossamer.parsing import nesting

            self.keep(
                page,
                claim.request,
                f"it ended a process, and its elements lie more than {nesting.MAX_DEPTH} deep",
            )
            record = page_record(claim.request, page, error="parse")
            row = page_row(record, self.key(record.requested_url))
            return ReadResult([row] if self.pages else [], TakenLinks(), error="parse")
        document = self._document(page)
        self._parsed.pop(id(page), None)
        taken = TakenLinks()
        found, shut, routes = find_hrefs(document)
        site = match(self.sites, page.url) if self.sites else None
        mode = "" if site is None else site.site.fragments
        if routes or "#" in page.url or mode == "routes":
            document.base.routes, routes = self._routes.choose(page, document, found, routes, mode)
            found = found + routes if document.base.routes else found
        if site is not None and page.status != 304 and _reads(site, page.status, error):
            with LoggedPage(site.name, page.url):
                read = self._site(site, claim, page, document, (found, shut), error=error)
            return self._unrendered.count(read, claim, page, document, routes)
        if error is None and page.status != 304 and (site is None or site.site.follow is not False):
            grown = growing(document.base.url, found)
            wanted, beyond = _bounded(
                [href for href in found if href not in grown] if grown else found, document.base
            )
            taken = self.link_intake.take(
                page.url, document.base.url, wanted, claim, routes=document.base.routes
            )
            if shut:
                self.link_intake.close(taken, claim, page.url, document.base.url, shut, "nofollow", NOFOLLOW)
            if grown:
                self.link_intake.close(taken, claim, page.url, document.base.url, grown, "trap", GROWING)
            if beyond:
                self.link_intake.close(taken, claim, page.url, document.base.url, beyond, "trap", TOO_MANY)
        rows = (
            [self._row(claim.request, page, document, found, taken.distinct + len(shut), error)]
            if self.pages
            else []
        )
        if self.graph is not None and page.status != 304:
            rows += self.graph(page, claim.request, document)
        if error is not None and site is not None and site.site.failed_function is not None:
            with LoggedPage(site.name, page.url):
                failed = self._call_failed(site, claim, page, error, f"HTTP {page.status}")
            failed.rows += rows
            return failed
        return self._unrendered.count(ReadResult(rows, taken), claim, page, document, routes)

    def again(self, claim: Claim, page: Page) -> ReadResult | None:
        """Reads a stored page again, and extracts only the page's items. Returns None if no site has
        functions for the page."""
        site = match(self.sites, page.url)
        if site is None or not site.site.functions:
            return None
        with LoggedPage(site.name, page.url):
            return self._site(site, claim, page, self._document(page), ([], []), marks=False)

    def _site(
        self,
        site: LoadedSite,
        claim: Claim,
        page: Page,
        document: html.Document,
        links: tuple[list[str], list[str]],
        marks: bool = True,
        error: str | None = None,
    ) -> ReadResult:
        """Reads a page with its site's functions. If a function fails, the page is stored for replay.
        `error`: the error for the page's status (`http-4xx`), or None. The links of a page with an error are
        not followed.

        `marks`: whether duplicate items may be removed before the rows are written (`near_duplicates`). If
        duplicate items may be removed, the files to which items refer are added to the frontier only after
        the duplicates were removed.
        """
        view = PageView(page, document, claim.request)
        parsed = run(site, view)
        taken, rows, counts, stored = TakenLinks(), list[Row](), dict[str, int](), list[BuiltItem]()
        if parsed.missing:
            page.block = page.block or Block("generic", "missing", (f"must_have: {parsed.missing}",)).line()
        if parsed.error is None and error is None:
            self._follow(site, view, parsed, links, claim, taken)
        if parsed.error is None:
            made = self.builders.of(site).make(parsed, view)
            stored = [one for one in made if not one.dropped]
            rows = [self._item(site, claim, page, one, counts) for one in stored]
            if dropped := len(made) - len(rows):
                counts["dropped"] = dropped
        else:
            self._refuse(page, claim.request, f"{site.name}: {parsed.detail}", parsed.raised)
            parsed.requests, taken = [], TakenLinks()
        self._take(parsed.requests, claim, taken)
        if parsed.error is None and view.shut:
            self.link_intake.close(taken, claim, page.url, document.base.url, view.shut, "nofollow", NOFOLLOW)
        if parsed.error is None and view.too_long:
            taken.skip("trap", len(view.too_long))
        if error is None and (parsed.function or parsed.error):
            empty = not parsed.error and not parsed.items and not parsed.requests
            self.counting[site.name].page(counts, parsed.error is None, empty, parsed.function, page.url)
        items = len(rows) - counts.get("rejected", 0)
        for name, n in view.counted.items() if parsed.error is None else ():
            counts[f"own:{name}"] = n
        stop = _stop(site.name, parsed, stored)
        read = ReadResult(rows, taken, items, counts, parsed.error, why=parsed.detail, stop=stop)
        if parsed.error is None and any(one.names for one in stored):
            read.names = [(one.names, one.beyond) for one in stored]
            if not self.is_apart:
                self.name(read, claim, page, marks)
        if self.graph is not None:
            read.rows += self.graph(page, claim.request, document)
        if self.pages:
            n = len(links[0]) + len(links[1])
            read.rows.append(self._row(claim.request, page, document, links[0], n, parsed.error or error))
        return read

    def name(self, read: ReadResult, claim: Claim, page: Page, marks: bool = True) -> None:
        """Adds files to the frontier, namely the files to which the items of a page refer. Inserts the rows
        of all references after the item rows."""
        site = match(self.sites, page.url)
        assert site is not None
        count = len(read.names)
        pairs = list(zip(read.rows[:count], read.names, strict=True))
        name = partial(
            request_named_files,
            self.rows,
            site.name,
            (page.url, page.fetched_at),
            claim,
            pairs,
            self.link_intake,
            self.fetches,
        )
        if marks and any(row.once for row, _ in pairs):
            read.later = partial(add_references, name)
        else:
            read.rows[count:count] = name(read.rows[:count], read.taken)

    def _take(self, requests: list[Request], claim: Claim, taken: TakenLinks) -> None:
        """Adds at most MAX_LINKS distinct requests from a page to the frontier. All requests beyond MAX_LINKS
        are counted as `trap`."""
        voucher = self.link_intake.voucher(claim)
        wanted = {(one.method, one.url, one.body, one.key): one for one in requests}
        for request in list(wanted.values())[:MAX_LINKS]:
            self.link_intake.request(request, taken, voucher, beside=claim.host)
        if len(wanted) > MAX_LINKS:
            beyond = [one.url for one in list(wanted.values())[MAX_LINKS:]]
            url, rule = claim.request.url, f"a page may yield {MAX_LINKS} requests"
            self.link_intake.close(taken, claim, url, url, beyond, "trap", rule)

    def _follow(
        self,
        site: LoadedSite,
        view: PageView,
        parsed: PageResult,
        links: tuple[list[str], list[str]],
        claim: Claim,
        taken: TakenLinks,
    ) -> None:
        """Adds the links that the site's setting `follow=` selects to the page's requests. If the site does
        not set `follow=`, all links are added, unless a page function has read the page."""
        follow, (found, shut) = site.site.follow, links
        if follow is False or (follow is None and parsed.function):
            return
        if callable(follow):
            requests, problem = gather_follow(site, follow, view)
            parsed.requests += requests
            if problem:
                parsed.error, parsed.detail = "parse", problem
            return
        if not (found or shut):
            return
        base = view.document.base
        if follow not in (None, True):
            found, undecided = _followed(found, follow, base)
            if undecided:
                taken.skip("filter", undecided)
        grown = growing(base.url, found)
        parsed.requests += view.follow([href for href in found if href not in grown])
        if shut and follow in (None, True):
            self.link_intake.close(taken, claim, view.page.url, base.url, shut, "nofollow", NOFOLLOW)
        if grown:
            self.link_intake.close(taken, claim, view.page.url, base.url, grown, "trap", GROWING)

    def _item(
        self, site: LoadedSite, claim: Claim, page: Page, made: BuiltItem, counts: dict[str, int]
    ) -> Row:
        """Returns the row of an item. The row contains the item's fields and further fields, for example the
        URL of the page and the time at which the page was fetched. For an invalid item, stores the page for
        replay and returns a row for rejected items."""
        expected = self.usual.get((site.name, made.kind), {}) if self.usual and not made.faults else {}
        lacks = values_lacking(made.fields, expected) if expected else ()
        if lacks and (reason := not_an_item(lacks, expected)):
            reject(made, reason)
        self.counting[site.name].item(counts, made.kind, made.fields, not made.faults, page.url)
        seen = {
            "_url": page.url,
            "_site": site.name,
            "_kind": made.kind,
            "_key": made.key,
            "_seen_at": format_time(page.fetched_at),
            "_version": site.version,
            "_hash": made.content,
        }
        for name, value in given_fields(claim.request).items():
            seen[f"_{name}"] = value
        if made.faults:
            counts["rejected"] = counts.get("rejected", 0) + 1
            told = rejected_record(made)
            why = f"{site.name}: {made.kind}: {told['field'] or 'item'}: {told['reason']}"
            self._refuse(page, claim.request, why)
            del seen["_key"], seen["_hash"]
            return Row(ASIDE, "", {**told, **seen})
        for field in self.watched & made.fields.keys() if self.watched else ():
            if made.fields[field] in (None, "", []):
                self.keep(page, claim.request, f"{site.name}: {made.kind}: {field}: it has no value")
        run = self.run if site.site.complete else ""
        return Row(made.kind, made.key, {**made.fields, **seen}, run, made.sketch, made.once, lacks)

    def file(self, claim: Claim, page: Page, row: Row | None, error: str | None) -> ReadResult:
        """Returns the result for a downloaded file (`asset_download`). The result contains the file's row
        and, if page records are written, a page record of the file's URL."""
        rows = [row] if row is not None else []
        if self.pages:
            record = page_record(claim.request, page, error=error)
            rows.append(page_row(record, self.key(record.requested_url)))
        return ReadResult(
            rows, TakenLinks(), counts={"files": 1} if row is not None and error is None else {}
        )

    def failed(self, claim: Claim, result: Page | Failure | None, error: str, detail: str = "") -> ReadResult:
        """Returns the result for a URL that failed permanently. The result contains the URL's page record,
        and the items and requests that the site's `@site.failed` function yields. If required content never
        appeared in the browser, the page is stored for replay."""
        if isinstance(result, Page) and result.late:
            self.keep(result, claim.request, result.late)
        if (claim.request.use or "").startswith("@"):  # a sitemap or a file
            counts = self._unrendered.unread_sitemap(claim) if claim.request.use == "@sitemap" else {}
            return ReadResult(self._failed_rows(claim, result, error), TakenLinks(), counts=counts)
        site = match(self.sites, claim.request.url) if self.sites else None
        if site is None or site.site.failed_function is None:
            return ReadResult(self._failed_rows(claim, result, error), TakenLinks())
        may_read = not (isinstance(result, Page) and (error == "crash" or self.is_costly(result)))
        with LoggedPage(site.name, claim.request.url):
            call = partial(self._call_failed, site, claim, result, error, detail, read=may_read)
            called = call() if self._watch is None else self._watch.run(call)
            read = too_slow(self, claim, None, called) if isinstance(called, TookTooLong) else called
        read.rows += self._failed_rows(claim, result, error)
        return read

    def _failed_rows(self, claim: Claim, result: Page | Failure | None, error: str) -> list[Row]:
        if not self.pages or claim.request.use == "@sitemap":
            return []
        record = failed_record(claim.request, result, error, CLOCK.now())
        row = page_row(record, self.key(record.requested_url))
        if self.attaches_pages and isinstance(result, Page):
            row.page = result
        return [row]

    def _call_failed(
        self,
        site: LoadedSite,
        claim: Claim,
        result: Page | Failure | None,
        error: str,
        detail: str,
        *,
        read: bool = True,
    ) -> ReadResult:
        """Returns the items and requests that the `@site.failed` function yields. An exception in this
        function is logged. `read`: whether the function may access the contents of the page."""
        from gossamer.sites.failed_visit import call_failed  # most sites do not define @site.failed

        view, parsed = call_failed(site, claim.request, result, error, detail, read=read)
        found, counts = ReadResult([], TakenLinks()), dict[str, int]()
        if parsed.error is not None:
            logging.getLogger(f"{SITE_MODULES}{site.path.stem}").error("@site.failed: %s", parsed.detail)
            return found
        made = self.builders.of(site).make(parsed, view)
        stored = [one for one in made if not one.dropped]
        found.rows = [self._item(site, claim, view.page, one, counts) for one in stored]
        if dropped := len(made) - len(stored):
            counts["dropped"] = dropped
        self._take(parsed.requests, claim, found.taken)
        counts |= {f"own:{name}": n for name, n in view.counted.items()}
        found.items, found.counts = len(found.rows) - counts.get("rejected", 0), counts
        stop = parsed.stop or next((one.stop for one in stored if one.stop), "")
        found.stop = stop and f"{site.name}: {stop}"
        if any(one.names for one in stored):
            found.names = [(one.names, one.beyond) for one in stored]
            if not self.is_apart:
                self.name(found, claim, view.page)
        return found

    def _row(
        self,
        request: Request,
        page: Page,
        document: html.Document,
        found: list[str],
        links: int,
        error: str | None,
    ) -> Row:
        record = page_record(request, page, error=error)
        record.title, record.language, record.canonical = (
            document.title,
            document.language,
            document.canonical,
        )
        record.links, record.text_hash = links, document.text_hash
        if self.text:
            record.text = _markdown(page) if self.settings.markdown else document.text
        if self.links:
            record.out_links = _out_links(document.base, found)
        row = page_row(record, self.key(record.requested_url))
        if self.duplicates != "off":
            # `mark_row` must be called last, because it changes the page's tree
            from gossamer.worker.near_duplicates import mark_row

            mark_row(row, page, document, self.duplicates.startswith("near"))
        return row

    def _sitemap(self, claim: Claim, page: Page, error: str | None) -> ReadResult:
        """Reads a sitemap or feed. The entries are added with depth 0, like seeds. Nested sitemap indexes are
        followed up to depth 3."""
        from gossamer.parsing.sitemaps import entries, why_unreadable

        taken = TakenLinks()
        if error is None:
            pages, sitemaps = entries(page.body, page.url)
            if not pages and not sitemaps and why_unreadable(page.body):
                error = "parse"
            depth = claim.request.depth
            for entry in pages:
                one = Request(str(entry), referrer=page.url, priority=claim.request.priority)
                self.link_intake.request(one, taken, beside=self.beside or claim.host)
            for entry in sitemaps if depth < 3 else ():
                self.link_intake.request(
                    Request(str(entry), depth=depth + 1, referrer=page.url, use="@sitemap"), taken, flags="i"
                )
        counts = self._unrendered.unread_sitemap(claim) if error is not None or page.status >= 400 else {}
        return ReadResult([], taken, infrastructure=True, error=error, counts=counts)


def too_slow(reader: Reader, claim: Claim, page: Page | None, late: TookTooLong) -> ReadResult:
    """Returns the result for a page that took too long. Raises CancelledError if the crawl stops, so that the
    URL is requeued."""
    # the links of this page will not be committed, so they must not be cached as taken
    reader.link_intake.forget()
    reader.forget()
    if late.is_stopping:
        raise asyncio.CancelledError
    why, site = str(late), match(reader.sites, claim.request.url)
    with LoggedPage("gossamer" if site is None else site.name, claim.request.url):
        logging.getLogger(f"{SITE_MODULES}reader").error("too-slow: %s", why)
    if page is not None:
        reader.keep(page, claim.request, f"too-slow: {why}")
    return ReadResult([], TakenLinks(), error="too-slow", why=why)


def _followed(hrefs: list[str], follow: Sequence[Searcher], base: Base) -> tuple[list[str], int]:
    """Returns the hrefs that match a pattern in `follow`, and the number of hrefs on which a pattern timed
    out."""
    found, undecided = [], 0
    for href in hrefs:
        url = base.resolve(href) or ""
        try:
            if any(one.search(url) for one in follow):
                found.append(href)
        except PatternTimeout:
            undecided += 1
    return found, undecided


def _stop(site: str, parsed: PageResult, stored: Sequence[BuiltItem]) -> str:
    """Returns the reason why a page function or a step stops the crawl, or ''."""
    stop = parsed.stop or next((one.stop for one in stored if one.stop), "")
    return stop and f"{site}: {stop}"


def _too_deep(claim: Claim, page: Page) -> bool:
    """Returns whether a page has already killed two processes and is nested so deeply that the parser may
    crash. The nesting is checked only after the second death, because a single death may have a cause other
    than the page."""
    if claim.crashes <= 1:
        return False
    from gossamer.parsing.nesting import is_deep

    return is_deep(page.body, page.read_as)


def _bounded(hrefs: list[str], base: Base) -> tuple[list[str], list[str]]:
    """Returns the hrefs to resolve, and the hrefs that are left out. If the base URL is too long,
    hrefs that are relative to the path of the base URL are left out."""
    wanted = hrefs
    if base.is_long:
        wanted = [href for href in hrefs if not base.is_too_long(href) or base.resolve(href) is not None]
    if len(wanted) == len(hrefs) <= MAX_HREFS:
        return wanted, []
    kept = set(wanted[:MAX_HREFS])
    return wanted[:MAX_HREFS], [href for href in hrefs if href not in kept]


def _markdown(page: Page) -> str:
    """Returns the article of a page as Markdown, which is made from a tree of its own, because it changes the tree."""
    from gossamer.parsing.text import markdown

    return markdown(page.body, page.url, page.read_as)


def _out_links(base: Base, hrefs: Iterable[str]) -> list[str]:
    """Returns the distinct URLs of hrefs, up to the limits for one page record."""
    found, size = dict[str, None](), 0
    for href in hrefs:
        url = base.resolve(href)
        if url is not None and url not in found:
            size += len(url)
            if len(found) >= MAX_OUT_LINKS or size > MAX_OUT_LINK_CHARACTERS:
                break
            found[url] = None
    return list(found)


def _reads(site: LoadedSite, status: int, error: str | None) -> bool:
    """Returns whether a site's functions read a page with this status and error. A page that the site's
    functions do not read is processed as if the page belonged to no site."""
    own = site.site
    if error is not None:
        return error == "http-4xx" and any(status in function.statuses for function in own.functions)
    return bool(own.functions or own.must_have or own.follow not in (None, False))

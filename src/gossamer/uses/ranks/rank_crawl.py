"""Crawls the result pages of a rank run with the public API of gossamer. The page function of the site yields
result pages. The sink parses the result pages and writes them to the history before the crawl marks the visit
as done."""

from __future__ import annotations

import base64
import threading
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

import gossamer
from gossamer.client.background import Background
from gossamer.errors import CrawlFailed, NoCredit, NothingFound
from gossamer.parsing.ranks import ResultPage, result_page
from gossamer.parsing.ranks.page_geometry import MEASURE_SCRIPT, without_marks
from gossamer.parsing.ranks.page_rules import PageRules
from gossamer.uses.ranks.history import PageRequest, RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Search
from gossamer.uses.ranks.own_exits import crawl_by_exits, exit_options, read_exits
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.provider_answers import READERS, read_answer
from gossamer.uses.ranks.result_page_sources import ResultPageSource, headers_of
from gossamer.uses.ranks.search_urls import HOSTS, REFERERS, search_url

if TYPE_CHECKING:
    from gossamer import PageView

CRAWL = "ranks"
MAX_BODY = 8 << 20
WALLS = ("captcha", "consent")
"""If an HTTP error page has one of these verdicts, the history stores the verdict. For all other HTTP error
pages, the history stores only the error."""
CHECKS_PAUSE = 20.0
"""After checks were written in an open run, the next checks are written after this many times the duration, so
that writing them takes at most 5 % of the time."""
_QUOTES = str.maketrans("‘’ʼ′“”„«»″", "''''" + '"' * 6)
MEASURED = {"load": ["images", "fonts"], "until": MEASURE_SCRIPT}
"""The rendering options for result pages that a browser fetches directly from the engines. MEASURE_SCRIPT
measures the positions of blocks on the result page. The browser loads images and fonts because images and
fonts change the positions of blocks."""


def parse_page(
    form: str, body: bytes, engine: str, page: int, url: str | None = None, layout: PageRules | None = None
) -> ResultPage:
    """Parses a result page. `form`: `html`, or the name of the provider if the body is JSON. `layout`: the
    page rules for HTML pages, which replace the page rules in the package."""
    if form in READERS:
        return read_answer(form, body, engine, page)
    return result_page(body, engine, url, data=layout)


def refuse_other_query(parsed: ResultPage, asked: str, source: str) -> ResultPage:
    """Returns a page without results if the page of a provider or unlocker answers another query than `asked`.
    Other pages are returned as they are."""
    if source in ("own", "archive", "file") or not parsed.query or not parsed.writes_positions:
        return parsed
    if _plain_query(parsed.query) == _plain_query(asked):
        return parsed
    reason = f"the answer is for {parsed.query[:100]!r}, not for {asked[:100]!r}"
    return msgspec.structs.replace(parsed, verdict="soft_block", reason=reason, results=(), unknown=0)


def _plain_query(text: str) -> str:
    """Returns a query without the differences that providers make: case, widths, quotation marks, and white
    space, for which some write `+`."""
    text = unicodedata.normalize("NFKC", text).casefold().translate(_QUOTES)
    return " ".join(text.replace("+", " ").split())


class RankCrawl:
    """Crawls result pages and writes the pages to the history. Several threads of the crawl may call `write`,
    and a lock serializes the writes. `hosts`: the base URL of each engine. `layout`: the page rules for HTML
    pages. `keep`: whether to store the bodies of the pages. `depth`: if given, the check of a search is
    written as soon as all pages of the search are. `tell`: called with messages for the user."""

    def __init__(
        self,
        searches: Mapping[str, Search],
        history: RankHistory,
        source: ResultPageSource,
        *,
        hosts: Mapping[str, str] = HOSTS,
        layout: PageRules | None = None,
        keep: bool = True,
        depth: Depth | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.searches, self.source, self._hosts, self._layout = searches, source, hosts, layout
        self._history, self._keep, self._tell = history, keep, tell
        self._lock = threading.Lock()
        self._recorded: set[tuple[str, int]] = set()
        self._depth = depth
        self._open: dict[str, set[int]] = {}
        """The pages of the current round that are not recorded, by search."""
        self._complete: set[str] = set()
        """Searches whose pages are recorded and whose checks are not."""
        self._checks_at = 0.0
        """The monotonic time from which checks may be written again."""

    def seeds(self, requests: Sequence[PageRequest]) -> list[dict[str, Any]]:
        """Returns the seeds of a crawl, one per requested result page."""
        found = []
        for one in requests:
            search = self.searches[one.search]
            headers = headers_of(self.source, search, REFERERS[search.engine])
            found.append(
                {
                    "url": search_url(search, one.page, self._hosts),
                    "carry": f"{one.search} {one.page} {one.first}",
                    "key": f"{one.search} {one.page}",
                    **({"headers": headers} if headers else {}),
                }
            )
        return found

    def crawl(self, requests: Sequence[PageRequest], options: Mapping[str, Any]) -> str:
        """Fetches result pages, and returns the state of the crawl. Returns `no-credit: ...` if the
        provider's account is empty. Raises GossamerError, for example if the provider's key is wrong."""
        self._open = {}
        for one in requests:
            self._open.setdefault(one.search, set()).add(one.page)
        if self.source.name == "own" and len(proxies := read_exits(options.get("proxies") or ())) > 1:
            with exit_options(proxies, options) as exits:
                background = Background(
                    lambda _: crawl_by_exits(requests, exits, self._crawl, self._is_recorded, self._tell)
                )
                background.start()
                return background.wait()
        crawling = Background(lambda _: self._crawl(requests, options))
        crawling.start()
        return crawling.wait()

    def _is_recorded(self, request: PageRequest) -> bool:
        return (request.search, request.page) in self._recorded

    async def _crawl(self, requests: Sequence[PageRequest], options: Mapping[str, Any]) -> str:
        """Fetches the requested result pages in a single crawl."""
        given = dict(options)
        given.setdefault("name", CRAWL)
        given.setdefault("guard", "off")  # the pages of keywords have a history of their own
        site_options: dict[str, Any] = {
            name: given.pop(name) for name in ("ladder", "retries") if name in given
        }
        try:
            result = await gossamer.run_async(
                self.site(site_options), self.seeds(requests), fresh=True, scope="page", **given
            )
        except NoCredit as error:
            return f"no-credit: {error}"
        except (CrawlFailed, NothingFound) as error:  # the history already contains the failed pages
            if (summary := getattr(error, "summary", None)) is None:
                raise
            return str(summary.state)
        return result.state

    def site(self, options: Mapping[str, Any]) -> gossamer.Site:
        """Returns the site definition for crawling the engines."""
        if self.source.name == "own":
            options = {"render": MEASURED, **options}
        # a site with the name "default" matches every host, including the targets of redirects
        site = gossamer.Site("default", follow=False, blocks=False, sinks=[PageRows(self)], **options)

        @site.page()
        def results(page: PageView) -> Iterator[dict[str, Any]]:
            if isinstance(page.carry, str):
                yield _row(page.carry, page.page.fetched_at, page.url, page.body, page.page.credits or 0)

        @site.failed
        def failed(failure: Any) -> Iterator[dict[str, Any]]:
            if isinstance(failure.carry, str):
                page = failure.page
                status = "" if str(failure.status) in failure.detail else str(failure.status or "")
                error = " ".join(filter(None, (failure.reason, status, failure.detail)))[:300]
                body = page.body if page is not None else b""
                at = page.page.fetched_at if page is not None else time.time()
                yield _row(failure.carry, at, failure.url, body, 0, error)

        return site

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Parses the result pages in item rows, and writes the pages to the history."""
        pages = [self._page(row) for row in rows]
        with self._lock:
            self._history.record(pages, keep=self._keep)
            self._recorded.update((one.search, one.page) for one in pages)
            self._record_checks(pages)

    def _record_checks(self, pages: Sequence[FetchedResultPage]) -> None:
        """Writes the checks of searches whose last page was recorded, so that a page that fails or a kill holds no
        other search's result."""
        for one in pages:
            left = self._open.get(one.search, set())
            left.discard(one.page)
            if not left:
                self._complete.add(one.search)
        if self._depth is None or not self._complete or (began := time.monotonic()) < self._checks_at:
            return
        self._history.record_checks(self._depth, sorted(self._complete))
        self._complete.clear()
        now = time.monotonic()
        self._checks_at = now + CHECKS_PAUSE * (now - began)

    def _page(self, row: Mapping[str, Any]) -> FetchedResultPage:
        name, page, first = row["page"].split(" ")
        search = self.searches[name]
        body = zlib.decompress(base64.b64decode(row["body"]))
        if search.device == "mobile":  # the browser marks positions in a desktop window, not on a phone
            body = without_marks(body)
        parsed = None
        if body:
            parsed = parse_page(self.source.form, body, search.engine, int(page), row["url"], self._layout)
            parsed = refuse_other_query(parsed, search.keyword, self.source.name)
            if row["error"] and parsed.verdict not in WALLS:  # the error is more informative than the page
                parsed = None
        return FetchedResultPage(
            search=name,
            page=int(page),
            time=row["time"],
            parsed=parsed,
            error=row["error"],
            since_page=int(first),
            source=self.source.name,
            form=self.source.form,
            url=row["url"],
            body=body,
            credits=row["credits"],
        )


class PageRows:
    """A sink that writes result pages to the rank history."""

    def __init__(self, crawl: RankCrawl) -> None:
        self._crawl = crawl

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes rows to the history. The rows are durable when `write` returns."""
        self._crawl.write([row for row in rows if "page" in row and "body" in row])


def _row(carry: str, at: float, url: str, body: bytes, paid: int, error: str = "") -> dict[str, Any]:
    packed = base64.b64encode(zlib.compress(body[:MAX_BODY], 1)).decode()
    return {"page": carry, "time": at, "url": url, "body": packed, "credits": paid, "error": error}

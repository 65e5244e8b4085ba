"""The crawl of a run, which uses only the public API. It consists of a site whose page function yields result
pages, and of a sink that parses them and writes them into the history before a visit is settled."""

from __future__ import annotations

import base64
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gossamer
from gossamer.client.background import Background
from gossamer.errors import CrawlFailed, NoCredit, NothingFound
from gossamer.parsing.ranks import ResultPage, result_page
from gossamer.parsing.ranks.page_geometry import MEASURE_SCRIPT, without_marks
from gossamer.parsing.ranks.page_rules import PageRules
from gossamer.uses.ranks.history import PageRequest, RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Search
from gossamer.uses.ranks.own_exits import crawl_by_exits, exit_options, read_exits
from gossamer.uses.ranks.provider_answers import READERS, read_answer
from gossamer.uses.ranks.result_page_sources import ResultPageSource, headers_of
from gossamer.uses.ranks.search_urls import HOSTS, REFERERS, search_url

if TYPE_CHECKING:
    from gossamer import PageView

CRAWL = "ranks"
MAX_BODY = 8 << 20
WALLS = ("captcha", "consent")
"""The verdicts that a page with an error status may have."""
MEASURED = {"load": ["images", "fonts"], "until": MEASURE_SCRIPT}
"""How the browser rung renders own searches: the page is measured, and what moves its blocks is loaded."""


def parse_page(
    form: str, body: bytes, engine: str, page: int, url: str | None = None, layout: PageRules | None = None
) -> ResultPage:
    """Parses a result page. `form`: `html`, or the provider whose JSON it is. `layout`: a data file for HTML
    pages, which replaces the one in the package."""
    if form in READERS:
        return read_answer(form, body, engine, page)
    return result_page(body, engine, url, data=layout)


class RankCrawl:
    """Crawls result pages and writes them into the history. Threads of the crawl write the rows, one at a
    time. `hosts`: the addresses of the engines. `layout`: a data file for HTML pages. `keep`: whether bodies
    are kept. `tell`: called with messages for the user."""

    def __init__(
        self,
        searches: Mapping[str, Search],
        history: RankHistory,
        source: ResultPageSource,
        *,
        hosts: Mapping[str, str] = HOSTS,
        layout: PageRules | None = None,
        keep: bool = True,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.searches, self.source, self._hosts, self._layout = searches, source, hosts, layout
        self._history, self._keep, self._tell = history, keep, tell
        self._lock = threading.Lock()
        self._recorded: set[tuple[str, int]] = set()

    def seeds(self, requests: Sequence[PageRequest]) -> list[dict[str, Any]]:
        """Returns the requests for pages."""
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
        """Fetches pages. Returns the state of the crawl, or `no-credit: ...` if the provider's account is empty.
        Raises GossamerError, for example for a wrong key."""
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
        """Fetches pages with one crawl."""
        given = dict(options)
        given.setdefault("name", CRAWL)
        site_options = {name: given.pop(name) for name in ("ladder",) if name in given}
        try:
            result = await gossamer.run_async(
                self.site(site_options), self.seeds(requests), fresh=True, scope="page", **given
            )
        except NoCredit as error:
            return f"no-credit: {error}"
        except (CrawlFailed, NothingFound) as error:  # every page failed, which is recorded
            if (summary := getattr(error, "summary", None)) is None:
                raise
            return str(summary.state)
        return result.state

    def site(self, options: Mapping[str, Any]) -> gossamer.Site:
        """Returns the site of the engines."""
        if self.source.name == "own":
            options = {"render": MEASURED, **options}
        # the name "default" matches every host, including the targets of redirects
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
        """Parses and records the pages of items."""
        pages = [self._page(row) for row in rows]
        with self._lock:
            self._history.record(pages, keep=self._keep)
            self._recorded.update((one.search, one.page) for one in pages)

    def _page(self, row: Mapping[str, Any]) -> FetchedResultPage:
        name, page, first = row["page"].split(" ")
        search = self.searches[name]
        body = zlib.decompress(base64.b64decode(row["body"]))
        if search.device == "mobile":  # the browser has the window of a desktop
            body = without_marks(body)
        parsed = None
        if body:
            parsed = parse_page(self.source.form, body, search.engine, int(page), row["url"], self._layout)
            if row["error"] and parsed.verdict not in WALLS:  # the error is more informative than such a page
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
    """The sink for result pages."""

    def __init__(self, crawl: RankCrawl) -> None:
        self._crawl = crawl

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Records rows. They are durable when this returns."""
        self._crawl.write([row for row in rows if "page" in row and "body" in row])


def _row(carry: str, at: float, url: str, body: bytes, paid: int, error: str = "") -> dict[str, Any]:
    packed = base64.b64encode(zlib.compress(body[:MAX_BODY], 1)).decode()
    return {"page": carry, "time": at, "url": url, "body": packed, "credits": paid, "error": error}

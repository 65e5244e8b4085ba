"""The operation that lists the URLs of a site, from its sitemaps and the links of its first pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from gossamer import url as urls
from gossamer.app.dry_run import Trial, try_one
from gossamer.app.job import Job
from gossamer.config.settings import Settings
from gossamer.errors import PrivateAddress
from gossamer.model.page import Page
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import results_of_uses as results
from gossamer.operations.context import OperationContext
from gossamer.operations.guarded_targets import check_target
from gossamer.operations.pages import one_turn
from gossamer.parsing import sitemaps
from gossamer.parsing.links import links
from gossamer.politeness.robots import Robots

MAX_SITEMAPS = 50
TIMEOUT_S = 40.0
"""The maximum number of seconds for all requests. The answer then contains what was found, and is not complete."""
PAUSE_S = 0.25
"""Seconds between two requests, if the setting `delay` does not say otherwise."""


class SiteMapper:
    """Reads the sitemaps and pages of one site, one after another."""

    def __init__(self, settings: Settings, given: inputs.MapSite) -> None:
        self._settings, self._given = settings, given
        self._deadline = time.monotonic() + TIMEOUT_S
        self._requests = 0
        self.start = given.url
        self.links: dict[str, str] = {}
        self.sitemaps: list[str] = []
        self.problems: dict[str, str] = {}
        self.complete = True

    async def read(self) -> None:
        """Reads the first page, then the sitemaps, then further pages."""
        waiting = [self._given.url]
        seen: set[str] = set()
        for _ in range(self._given.pages):
            if not waiting:
                break
            url = waiting.pop(0)
            seen.add(url)
            found = await self._page(url)
            waiting += [one for one in found if one not in seen and one not in waiting]
            if len(seen) == 1 and self._given.sitemaps:
                await self._read_sitemaps()
        if not seen and self._given.sitemaps:
            await self._read_sitemaps()

    async def _page(self, url: str) -> list[str]:
        page = await self._fetch(url)
        if page is None:
            return []
        if url == self._given.url:
            self.start = page.url  # after redirects
        self._add(page.url, page.url)
        found = [link.url.partition("#")[0] for link in links(page.body, page.url, page.read_as)]
        return [one for one in found if self._add(one, page.url)]

    async def _read_sitemaps(self) -> None:
        origin = urls.origin(self.start)
        robots = await self._fetch(f"{origin}/robots.txt", is_needed=False)
        named = Robots(robots.body).sitemaps if robots is not None else ()
        waiting = [one for one in named if self._may_read(one)] or [f"{origin}/sitemap.xml"]
        seen: set[str] = set()
        while waiting:
            if len(seen) == MAX_SITEMAPS:
                self.complete = False
                return
            url = waiting.pop(0)
            if url in seen:
                continue
            seen.add(url)
            page = await self._fetch(url, is_needed=bool(named))
            if page is None:
                continue
            pages, children = await asyncio.to_thread(sitemaps.entries, page.body, url)
            self.sitemaps.append(url)
            for one in pages:
                self._add(str(one), url)
            waiting += [str(one) for one in children if self._may_read(str(one))]

    def _may_read(self, url: str) -> bool:
        """Returns whether a sitemap belongs to the site, because a robots.txt may name any address."""
        return url.startswith(urls.WEB) and self._is_of_site(url)

    def _is_of_site(self, url: str) -> bool:
        if self._given.scope == "host":
            return urls.host(url) == urls.host(self.start)
        return urls.registered_domain(urls.host(url)) == urls.registered_domain(urls.host(self.start))

    def _add(self, url: str, source: str) -> bool:
        """Adds a URL of the site. Returns whether the URL belongs to the site."""
        found = urls.parse(url)
        if found is None or not found.startswith(urls.WEB) or not self._is_of_site(found):
            return False
        if self._given.search is not None and self._given.search.lower() not in found.lower():
            return True
        if found not in self.links and len(self.links) == self._given.limit:
            self.complete = False
        else:
            self.links.setdefault(found, source)
        return True

    async def _fetch(self, url: str, *, is_needed: bool = True) -> Page | None:
        """Fetches a URL as a crawl would. Returns None if there is no page or no time left. `is_needed`: whether a
        missing page is a problem."""
        if time.monotonic() > self._deadline:
            self.complete = False
            self.problems.setdefault(url, f"not read within {TIMEOUT_S:.0f} s")
            return None
        try:
            check_target(url, self._settings, "/url")
        except PrivateAddress as error:
            self.problems[url] = str(error)
            return None
        if self._requests:
            delay = self._settings.delay
            await asyncio.sleep(PAUSE_S if delay is None else delay[1])
        self._requests += 1
        trial = await try_one(Job(targets=[], settings=self._settings), url)
        if trial.page is not None and trial.page.status == 200:
            return trial.page
        if is_needed:
            status = f"HTTP {trial.page.status}" if trial.page is not None else "no response"
            self.problems[url] = next(_reasons(trial), status)
        return None


def _reasons(trial: Trial) -> Iterator[str]:
    if trial.disallowed is not None:
        yield f"robots.txt disallows it: {trial.disallowed.text()}"
    if trial.closed_origin:
        yield trial.closed_origin
    yield from trial.dead
    yield from trial.summary.errors


async def site_map(context: OperationContext, given: inputs.MapSite) -> results.SiteMap:
    """Lists the URLs of a site: those of its sitemaps, and the links of its first pages. robots.txt and guards apply as
    in a crawl. For all pages of a site, start a crawl."""
    check_target(given.url, context.settings, "/url")
    mapper = SiteMapper(context.settings, given)
    async with one_turn():
        await mapper.read()
    return results.SiteMap(
        url=mapper.start,
        links=[results.MappedLink(url=url, source=source) for url, source in mapper.links.items()],
        sitemaps=mapper.sitemaps,
        problems=mapper.problems,
        complete=mapper.complete,
    )

"""Adds URLs to the frontier of a crawl: seeds, URLs from producers, and known pages of a recrawl. A worker
also uses the parts of this module to add the links of its pages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from gossamer import sites as site_files
from gossamer import url as urls
from gossamer.app.job import Setup
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import INLINKS
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.frontier_client import Frontier
from gossamer.frontier.policy import Policy
from gossamer.model.request import Request
from gossamer.observability.skipped_log import NAME as SKIPPED
from gossamer.observability.skipped_log import SkippedLog
from gossamer.sites import host_rules
from gossamer.sites.remote_sites import stand_ins
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store
from gossamer.url import patterns
from gossamer.url.scope import Scope
from gossamer.worker.crawl_scope import CrawlScope, SeedHosts
from gossamer.worker.link_intake import LinkIntake, TakenLinks, UrlPlaces
from gossamer.worker.min_depth import MAX_EXACT_DEPTH


class Enqueuer:
    """Adds URLs to the frontier of one crawl. Checks the scope of each URL, makes the URL canonical, and
    finds its bucket and lane. A worker checks robots.txt later, when it claims the URL.

    `name`: names the caller in reports of slow patterns. `heaps`: the names of the ready heaps from which a
    worker of a fleet claims URLs (see `Policy.lanes`).
    """

    def __init__(
        self, setup: Setup, store: Store, name: str = "seeds", heaps: tuple[str, ...] | None = None
    ) -> None:
        self._settings = settings = setup.job.settings
        self.frontier = Frontier(store, setup.crawl, policy(settings, heaps))
        self.crawls = Crawls(store)
        self.key = canonical_url_function(setup.spec)
        self.sites = site_files.load_all(
            setup.job.targets, setup.job.args, (setup.lacks or ()) if setup.segment else None
        )
        """The sites whose files are on this machine."""
        self.all_sites: Sequence[site_files.LoadedSite] = [*self.sites, *stand_ins(setup.lacks or {})]
        """All sites of the crawl, including sites whose files only other machines have."""
        rules = url_filters(setup.spec, settings, setup.seeds, setup.open)
        watched = [one for site in self.sites for one in site.site.all_patterns]
        patterns.watch((*rules.include, *rules.exclude, *watched), partial(_report, name))
        seeds = SeedHosts(setup.seeds, anywhere=setup.spec.scope == "any")
        bucket = lru_cache(10_000)(partial(bucket_of, buckets=store.buckets))
        self.intake = LinkIntake(
            rules,
            UrlPlaces(
                store.seed,
                self.frontier.remainder,
                bucket,
                self.key,
                lru_cache(10_000)(
                    partial(host_rules.heap_of, self.all_sites, lane=settings.lane, region=settings.region)
                ),
            ),
            seeds,
            depths=self.frontier.policy.depths,
            is_open=setup.open,
            keeps_links=settings.revisit is not None and INLINKS in settings.importance,
        )
        self._folder = Path(settings.data) / setup.crawl
        self.skipped: SkippedLog | None = None
        """The list of skipped URLs, or None if the crawl has none."""
        if settings.keep_skipped is not None:
            self.skipped = SkippedLog(self._folder / SKIPPED, settings.keep_skipped, self.intake.end_list)
            self.intake.start_list()
        self.scope = CrawlScope(
            setup.crawl,
            rules,
            self.intake,
            seeds,
            self.crawls,
            self.frontier,
            bucket,
            admits=setup.spec.scope == "host",
        )

    def take(
        self, request: Request, taken: TakenLinks, flags: str, beside: str = "", edition: str = ""
    ) -> str | None:
        """Adds one request to `taken`, like `LinkIntake.request`. Returns None, or the reason if the request
        is refused."""
        return self.intake.request(request, taken, flags=flags, beside=beside, edition=edition)

    def seed_form(self, request: Request) -> Request:
        """Returns a seed as the crawl requests it, usually without the fragment (see the function
        `seed_form`)."""
        return seed_form(request, self.all_sites, self._settings)

    async def add(self, taken: TakenLinks, *, counted: bool = True) -> tuple[int, int, int]:
        """Adds the accepted links in `taken` to the frontier. If `counted` is true, the refused links are
        added to the crawl's counts. Returns how many URLs are new, already known, and parked."""
        added = await self.frontier.add(taken.adds)
        if counted and taken.skips:
            skips = {f"skip:{reason}": n for reason, n in taken.skips.items()}
            await self.frontier.count(skips | {"found": taken.found})
        if self.skipped is not None and taken.refused and self._folder.is_dir():
            self.skipped.write(taken.refused)
        return added


def seed_form(request: Request, sites: Sequence[site_files.LoadedSite], settings: Settings) -> Request:
    """Returns a request without its fragment. Keeps the fragment if the fragment is a route that the browser
    rung shows as a separate page."""
    if "#" not in request.url:
        return request
    needs = host_rules.host_needs(sites, urls.host(request.url))
    mode = needs.fragments or settings.fragments
    if mode != "drop" and "browser" in (request.rung or needs.ladder or settings.ladder):
        return request
    return msgspec.structs.replace(request, url=request.url.partition("#")[0])


def policy(settings: Settings, heaps: tuple[str, ...] | None = None) -> Policy:
    """Returns the limits and other rules that the frontier must follow, from the settings. `heaps`: the heaps
    that a worker of a fleet serves."""
    delay = -1 if settings.delay is None else round(settings.delay[0] * 1000)
    first = min([30.0, *settings.waits[:1]]) if settings.waits else 1.0
    return Policy(
        lanes=heaps,
        open_first=max(1, round(first * 1000)),
        delay=delay,
        per_host=settings.per_host,
        obey_robots=not settings.ignore_robots,
        limit=-1 if settings.limit is None else settings.limit,
        host_bytes=-1 if settings.host_bytes is None else settings.host_bytes,
        size_limit=-1 if settings.size_limit is None else settings.size_limit,
        host_time=-1 if settings.host_time is None else round(settings.host_time * 1000),
        rate=settings.rate or 0.0,
        seen=settings.seen,
        host_pages=settings.page_cap,
        depths=settings.depth < MAX_EXACT_DEPTH,
    )


def _report(name: str, line: str) -> None:
    print(
        f"gossamer: {name}: {line}; such links are skipped (filter), and such pages are parse errors",
        file=sys.stderr,
    )


def url_filters(spec: Spec, settings: Settings, seeds: list[str], open: bool = False) -> Scope:  # noqa: A002 - as in Setup
    """Returns the filters of a crawl that need only the URL."""
    rules = Scope.of(
        seeds,
        spec.scope,
        include=spec.include,
        exclude=spec.exclude,
        depth=spec.depth,
        ports=settings.allow_port,
    )
    return msgspec.structs.replace(rules, open=open)


def canonical_url_function(spec: Spec) -> Callable[[str], str]:
    """Returns the function that converts a URL in fetch form to canonical form. The returned function also
    removes query parameters that the user declared irrelevant."""
    if not spec.drop:
        return urls.key
    drop = urls.DEFAULT_DROP | spec.drop
    return lambda url: urls.key(url, drop)

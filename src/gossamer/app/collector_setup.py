"""Builds the rungs of a crawl from its settings. Each rung has a collector and an identity, such as headers
and cookies. All requests of the collector pass the egress guard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from gossamer import url as urls
from gossamer.app.job import Setup
from gossamer.blocks.site_rules import worth_keeping
from gossamer.collectors.http.collector import HttpCollector
from gossamer.collectors.http.transfer import ACCEPT
from gossamer.collectors.missing_collector import Missing
from gossamer.config.resources import room_for_visits, visits_at_once
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import RUNGS
from gossamer.egress.resolver import Resolver, SingleAddressResolver
from gossamer.errors import ConfigError
from gossamer.identity.plain_identity import PlainIdentity
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.interfaces import Collector, Given
from gossamer.model.page import Failure, Page
from gossamer.model.request import FILE, Request, split
from gossamer.model.site import Site
from gossamer.politeness.robots_access import MAX_BYTES as ROBOTS_SIZE
from gossamer.sinks.output_spec import has_whole_responses
from gossamer.sites import host_rules
from gossamer.sites.host_rules import FIREFOX, FirefoxSites
from gossamer.worker.climbing import LendsIdentity, LendsProxies, NoIdentity, Rung, UserHeadersIdentity

if TYPE_CHECKING:
    from gossamer.collectors.unlocker.collector import UnlockerCollector
    from gossamer.identity.sessions import Sessions
    from gossamer.sites.before_request import Prepare

PLAIN, IMPERSONATED, BROWSER, UNLOCKER = RUNGS


class Lender(LendsProxies, Protocol):
    """An interface that lends proxies and returns the country of a proxy. `proxies.proxy_rotation` implements
    this interface."""

    def country(self, url: str) -> str: ...


class Identities:
    """The identities of a crawl's rungs. `forget` ends the sessions of all identities at a domain."""

    def __init__(self) -> None:
        self._all: list[LendsIdentity] = []

    def add(self, identity: LendsIdentity) -> None:
        """Adds the identity of a rung."""
        self._all.append(identity)

    def forget(self, domain: str) -> None:
        """Ends all identities' sessions at a registered domain."""
        for identity in self._all:
            identity.forget(domain)


class CollectorSetup:
    """Creates the rungs of a crawl. `pages(request)` returns the rung that fetches a page. `robots(request)`
    returns the rung that fetches a robots.txt. If the request names a rung, this rung is used. Otherwise, the
    cheapest rung of the site's ladder is used. A site without a ladder uses the crawl's ladder. The browser
    and the unlocker never fetch a robots.txt. `guard`: the resolver. `seed`: the store's random number, on
    which the choice of each site's browser identity depends. `unlocker`: creates the collector of the
    unlocker rung. The first argument of `unlocker` is a function. This function maps a host to the unlocker
    options of the host's site. The second argument of `unlocker` is true if the unlocker rung is the crawl's
    only rung. `others`: whether this machine may lack the browser, because other workers have one.
    `identities`: the object to which the identity of each rung is added. Raises ConfigError if a site or the
    crawl needs a package or program that is not installed. Raises ConfigError if a site or the crawl names an
    unknown browser.
    """

    name = "rungs"

    def __init__(
        self,
        setup: Setup,
        sites: Sequence[Any],
        guard: Resolver | SingleAddressResolver,
        seed: int,
        unlocker: Callable[[Callable[[str], str], bool], UnlockerCollector] | None = None,
        proxies: Lender | None = None,
        others: bool = False,
        identities: Identities | None = None,
    ) -> None:
        self._others, self._identities = others, identities or Identities()
        self._settings, self._guard, self._archive = setup.job.settings, guard, setup.job.archive
        needs = lru_cache(10_000)(partial(_needs, sites, setup.job.screenshot))
        self._needs, self._sites, self._proxies = needs, sites, proxies
        self._prepare: Prepare | None = None
        """Prepares requests with the `@site.before` functions of their sites."""
        if any(one.site.before_function is not None for one in sites):
            from gossamer.sites.before_request import preparer

            self._prepare = preparer(sites)
        of_host = (lambda host: needs(host).headers) if any(one.site.headers for one in sites) else None
        self._plain = PlainIdentity(
            setup.job.headers, setup.credentials, setup.seeds, urls.registered_domain, of_host
        )
        self._seed, self._keep = (
            f"{seed} {setup.crawl}",
            has_whole_responses([one.spec for one in setup.job.outputs]),
        )
        self._types = (lambda host: needs(host).types) if any(one.site.types for one in sites) else None
        self._folder = Path(self._settings.data) / setup.crawl / "screenshots"
        self._show = Path(setup.job.show) if setup.job.show else None
        self._rungs: dict[tuple[str, bool], Rung] = {}
        self._unlocker = unlocker
        self._unlocked: list[UnlockerCollector] = []
        self._running = False
        ladders = [self._settings.ladder, *(one.site.ladder for one in sites if one.site.says_ladder)]
        self.disguised = any(IMPERSONATED in ladder for ladder in ladders)
        self._of_host = lru_cache(10_000)(lambda host: ladder_of(needs(host), self._settings))
        self._firefox = FirefoxSites(self._settings, sites, needs)
        self.given: Given = self._plain.given
        """A function that returns the headers that the user configured for a request."""
        self.held = {
            one.site.name: login_rungs(
                one.site.name,
                one.site.ladder if one.site.says_ladder else self._settings.ladder,
                self.disguised and not self._firefox.loads(one),
            )
            for one in sites
            if one.site.session is not None
        }
        """Maps the name of each site that has accounts to the rungs that these accounts use. An account logs
        in on its first rung."""
        self.climbs = any(len(ladder) > 1 for ladder in ladders)
        """Whether the ladder of the crawl or of any site has more than one rung."""
        self._own = self._archive is None and any(one.site.collector is not None for one in sites)
        self._alone = all(ladder == (UNLOCKER,) for ladder in ladders)
        if self._archive is None:
            check_routes(self._settings, sites)
        for name in {rung for ladder in ladders for rung in ladder}:
            self._rung(name, False)
        check_firefox_sites(self._firefox, sites, self.held, self.disguised)
        self._running = True

    def pages(self, request: Request) -> Rung:
        """Returns the rung that fetches a request."""
        if self._own and (site := self._own_collector(request)) is not None:
            return self._site_rung(site)
        return self._rung(self.ladder(request)[0], False)

    def ladder(self, request: Request) -> tuple[str, ...]:
        """Returns the rungs that may fetch a request, cheapest first."""
        if self._own and self._own_collector(request) is not None:
            return (PLAIN,)
        found = (request.rung,) if request.rung in RUNGS else self._of_host(split(request.url)[1])
        if "#" in request.url and BROWSER in found:
            return (BROWSER,)  # only the browser can show a fragment route as its own page
        return rungs_for_small_requests(found) if request.use == FILE else found

    def free(self, request: Request) -> tuple[str, ...]:
        """Returns the rungs that may fetch a robots.txt."""
        return rungs_for_small_requests(self.ladder(request))

    def robots(self, request: Request) -> Rung:
        """Returns the rung that fetches a robots.txt. Only the first 500 KiB of the file are read."""
        return self._rung(self.free(request)[0], True)

    @property
    def spent(self) -> bool:
        """Whether the unlocker is the crawl's only rung and its credits are used up."""
        return self._alone and any(one.spent for one in self._unlocked)

    @property
    def longest(self) -> float:
        """The maximum number of seconds that a request may take."""
        return max([self._settings.timeout, *(one.timeout for one in self._unlocked)])

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Fetches a URL that the user named but that is not a page of the crawl, such as a watched
        sitemap."""
        rung = self.pages(request)
        if rung.name == BROWSER:
            rung = self._rung(self.free(request)[0], False)

        async def go(proxy: str | None = None, _: Callable[[], bool] = lambda: True) -> Page | Failure:
            lent = Lent({}) if rung.name == PLAIN else rung.identity.lend(request)
            fingerprint = (
                lent.guise if proxy is None else msgspec.structs.replace(lent.guise or Guise(), proxy=proxy)
            )
            return await rung.collector.collect(request, lent.headers | dict(headers), fingerprint)

        return await (go() if rung.proxies is None else rung.proxies.through(request, go, 0.0))

    async def close(self) -> None:
        """Closes all connections."""
        for rung in self._rungs.values():
            await rung.collector.close()

    def _own_collector(self, request: Request) -> Site | None:
        """Returns the site whose own collector fetches the request, or None."""
        return None if request.use == FILE else self._needs(split(request.url)[1]).collector

    def _site_rung(self, site: Site) -> Rung:
        """Returns the rung of a site's own collector. The rung uses the identity of the plain rung."""
        if (rung := self._rungs.get((f"site {site.name}", False))) is None:
            from gossamer.collectors.site_collector import SiteCollector

            assert site.collector is not None
            settings = self._settings
            made: Collector = SiteCollector(
                site.name, site.collector, total=settings.timeout, most=2 * settings.max_size
            )
            made = cached(made, settings, self._plain.given)
            rung = self._rungs[f"site {site.name}", False] = Rung(
                PLAIN, made, self._plain, prepare=self._prepare
            )
        return rung

    def _rung(self, name: str, robots: bool) -> Rung:
        if (rung := self._rungs.get((name, robots))) is None:
            try:
                made = make_collector(
                    self._settings,
                    self._guard,
                    self._archive,
                    self._plain.given,
                    rung=name,
                    robots=robots,
                    unlocker=self._unlock,
                    keep=self._keep,
                    more=self._types,
                    beside=self._beside(name, robots),
                    browser=partial(
                        browser_collector,
                        self._settings,
                        self._guard,
                        self._needs,
                        self.disguised,
                        self._firefox,
                        self._folder,
                        self._proxies,
                        self._show,
                    ),
                )
            except ConfigError as error:
                if not self._running and not (self._others and name == BROWSER):
                    raise
                made = Missing(str(error))
            identity: LendsIdentity = NoIdentity() if robots else self._plain
            if name == UNLOCKER:
                identity = UserHeadersIdentity(self._plain.given)
            elif name == BROWSER and self.disguised:
                from gossamer.identity.browser_identity import BrowserIdentity, PerBrowserIdentity

                identity = BrowserIdentity(self._rung(IMPERSONATED, False).identity, self._plain.given)
                if self._firefox.any:
                    identity = PerBrowserIdentity(identity, self._plain, self._firefox.of_host)
            elif name == IMPERSONATED:
                given = None if robots else self._plain.given
                identity = sessions(
                    self._settings, self._needs, self._sites, self._seed, given, self._of_host
                )
            # gossamer calls the unlocker's API without a proxy
            proxies = None if name == UNLOCKER else self._proxies
            self._identities.add(identity)
            elsewhere = self._others and name == BROWSER and isinstance(made, Missing)
            prepare = None if robots else self._prepare
            rung = self._rungs[name, robots] = Rung(name, made, identity, proxies, elsewhere, prepare)
        return rung

    def _beside(self, name: str, robots: bool) -> HttpCollector | None:
        """Returns the plain rung's collector for pages. The plain rung's robots.txt requests reuse the
        connections of this collector. Returns None if the rung is not the plain rung, or if the request is
        for a page."""
        if not robots or name != PLAIN:
            return None
        pages = self._rung(name, False).collector
        return pages if isinstance(pages, HttpCollector) else None

    def _unlock(self) -> UnlockerCollector:
        if self._unlocker is None:
            raise ConfigError("this process has no unlocker")
        made = self._unlocker(lambda host: self._needs(host).unlocker, self._alone)
        for one in self._sites:
            try:
                made.chosen.also(one.site.unlocker)
            except ConfigError as error:
                raise ConfigError(f"site {one.site.name}: {error}") from None
        self._unlocked.append(made)
        return made


def check_firefox_sites(
    firefox: FirefoxSites, sites: Sequence[Any], held: Mapping[str, Sequence[str]], disguised: bool
) -> None:
    """Raises ConfigError if Firefox does not support what a site needs (`chromium.check_firefox`)."""
    if firefox.everywhere and disguised:
        raise ConfigError(
            "Firefox cannot imitate another browser, so no ladder may contain both impersonated "
            "and Firefox (setting chromium)"
        )
    if found := [one for one in sites if firefox.loads(one)]:
        from gossamer.collectors.browser.chromium import check_firefox

        why = "setting chromium" if firefox.everywhere else "browser='firefox'"
        check_firefox(found, held, disguised, why)


def check_routes(settings: Settings, sites: Sequence[Any]) -> None:
    """Raises ConfigError if `fragments` is `routes` and the ladder has no browser rung."""
    named = [("--fragments routes", settings.fragments, settings.ladder)]
    for one in sites:
        ladder = one.site.ladder if one.site.says_ladder else settings.ladder
        named.append((f"site {one.site.name}: fragments='routes'", one.site.fragments, ladder))
    for where, mode, ladder in named:
        if mode == "routes" and BROWSER not in ladder:
            raise ConfigError(
                f"{where}: only the browser rung fetches routes as separate pages: use --ladder plain,browser"
            )


def order_rungs(ladder: Iterable[str]) -> tuple[str, ...]:
    """Returns the rungs of a ladder, cheapest first."""
    return tuple(rung for rung in RUNGS if rung in set(ladder))


def rungs_for_small_requests(ladder: Iterable[str]) -> tuple[str, ...]:
    """Returns the rungs for requests that do not fetch pages. These are all rungs except the browser and the
    unlocker."""
    return tuple(rung for rung in ladder if rung not in (BROWSER, UNLOCKER)) or (PLAIN,)


def ladder_of(needs: host_rules.HostNeeds, settings: Settings) -> tuple[str, ...]:
    """Returns the rungs of a host, cheapest first. `needs`: the rules for the host, which come from the
    host's sites."""
    found = order_rungs(needs.ladder or settings.ladder)
    return login_rungs(needs.session, found) if needs.session else found


def login_rungs(site: str, ladder: Iterable[str], disguised: bool = False) -> tuple[str, ...]:
    """Returns the rungs on which a site's accounts are logged in. At most one of the returned rungs is an
    HTTP rung. A log-in belongs to one identity, and the browser rung uses the same identity. Raises
    ConfigError."""
    rungs = tuple(rung for rung in (IMPERSONATED, PLAIN) if rung in ladder)[:1] + (BROWSER,) * (
        BROWSER in ladder
    )
    if not rungs:
        raise ConfigError(
            f"site {site}: session: a log-in needs one of the rungs plain, impersonated and browser in the ladder"
        )
    if disguised and rungs == (PLAIN, BROWSER):
        raise ConfigError(
            f"site {site}: session: the browser is disguised in this crawl, but the plain rung is "
            "not: use ladder=['impersonated', 'browser']"
        )
    return rungs


def sessions(
    settings: Settings,
    needs: Callable[[str], host_rules.HostNeeds],
    sites: Sequence[Any],
    seed: str,
    given: Given | None,
    of_host: Callable[[str], tuple[str, ...]],
) -> Sessions:
    """Returns the sessions of the impersonated rung. If the ladder also contains the browser rung, the
    sessions imitate only browsers that Chromium can also imitate. Raises ConfigError if a browser is unknown,
    or if the ladder contains the browser rung and Chromium can imitate none of the browsers."""
    from gossamer.identity.browsers import drivable
    from gossamer.identity.sessions import Sessions

    check_browsers("browser", settings.browser)
    for one in sites:
        check_browsers(f"site {one.site.name}: browser", one.site.browser)
    of_all = [("browser", settings.ladder, settings.browser)]
    for one in sites:
        ladder = one.site.ladder if one.site.says_ladder else settings.ladder
        of_all.append((f"site {one.site.name}: browser", ladder, one.site.browser or settings.browser))
    for where, ladder, names in of_all:
        if BROWSER in ladder and not drivable(names):
            if tuple(names) == (FIREFOX,) and IMPERSONATED not in ladder:
                continue  # Firefox itself loads these pages
            told = ", ".join(names)
            raise ConfigError(
                f"{where}: the browser rung uses Chromium, which cannot imitate {told}: add chrome or edge"
            )
    domain = lru_cache(10_000)(urls.registered_domain)

    def wanted(host: str) -> Sequence[str]:
        names = needs(host).browser or settings.browser
        return drivable(names) if BROWSER in of_host(host) else names

    return Sessions(wanted, seed, settings.session, domain, given=given)


def _needs(sites: Sequence[Any], screenshot: str, host: str) -> host_rules.HostNeeds:
    """Returns the rules for a host. `screenshot`: see `Job.screenshot`."""
    found = host_rules.host_needs(sites, host)
    return found._replace(render=found.render._replace(screenshot=screenshot)) if screenshot else found


def browser_collector(
    settings: Settings,
    guard: Resolver | SingleAddressResolver,
    needs: Callable[[str], host_rules.HostNeeds],
    disguised: bool,
    firefox: FirefoxSites,
    folder: Path | None = None,
    proxies: Lender | None = None,
    show: Path | None = None,
) -> Collector:
    """Returns the collector of the browser rung. The browser sends gossamer's own user agent unless
    `disguised` is true. Firefox always sends gossamer's own user agent."""
    from gossamer.collectors.browser.collector import BrowserCollector, BrowserPerHost
    from gossamer.collectors.browser.fingerprint import BrowserFingerprint
    from gossamer.identity.browsers import BROWSERS

    def fingerprint(name: str) -> BrowserFingerprint:
        one = BROWSERS[name]
        return BrowserFingerprint(one.agent, one.language, one.hints)

    pages = asyncio.Semaphore(settings.browser_pages)

    def make(in_firefox: bool) -> BrowserCollector:
        return BrowserCollector(
            guard,
            agent=None if disguised and not in_firefox else settings.agent,
            render=lambda host: needs(host).render,
            domain=lru_cache(10_000)(urls.registered_domain),
            program=FIREFOX if in_firefox and not firefox.everywhere else settings.chromium,
            pages=pages,
            total=settings.timeout,
            wire=settings.max_size,
            requests=settings.browser_requests,
            ca_file=settings.ca_file,
            folder=folder,
            show=show,
            fingerprint=fingerprint,
            country=proxies.country if proxies is not None else lambda _: "",
        )

    if firefox.everywhere or not firefox.any:
        return make(firefox.everywhere)
    return BrowserPerHost(firefox.of_host, make, firefox.kinds)


def check_browsers(where: str, names: Iterable[str]) -> None:
    """Checks that each browser name is known. Raises ConfigError for an unknown name."""
    from gossamer.identity.browsers import browsers_named

    for name in names:
        try:
            browsers_named(name)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None


def make_collector(
    settings: Settings,
    resolver: Resolver | SingleAddressResolver,
    archive: str | None,
    given: Given | None = None,
    *,
    rung: str = PLAIN,
    robots: bool = False,
    unlocker: Callable[[], Collector] | None = None,
    browser: Callable[[], Collector] | None = None,
    keep: bool = False,
    more: Callable[[str], tuple[str, ...]] | None = None,
    beside: HttpCollector | None = None,
) -> Collector:
    """Returns the collector of a rung, or of an archive. If `robots` is true, the collector fetches
    robots.txt files and reads only their first 500 KiB. Otherwise, the collector fetches pages. `beside`: a
    collector whose connections the plain rung's collector reuses."""
    if archive is not None:
        from gossamer.collectors.archive.collector import archive_collector

        return archive_collector(archive, truncate=robots)
    options: dict[str, Any] = {
        "total": settings.timeout,
        "wire": ROBOTS_SIZE if robots else settings.max_size,
        "decoded": ROBOTS_SIZE if robots else 2 * settings.max_size,
        "truncate": robots,
        "accept": None if robots else ACCEPT,
        "ca_file": settings.ca_file,
        "connections": max(1, min(max(256, visits_at_once(settings.concurrency)[1]), room_for_visits() // 2)),
        "keep": keep,
        "folder": None if robots or keep or settings.cache else settings.data,
        "more": None if robots else more,
    }
    made: Collector
    if rung == IMPERSONATED:
        from gossamer.collectors.impersonated import ImpersonatedCollector

        made = ImpersonatedCollector(resolver, **options)
    elif rung == UNLOCKER and unlocker is not None:
        made = unlocker()
    elif rung == BROWSER and browser is not None:
        made = browser()
    else:
        made = HttpCollector(
            resolver, user_agent=settings.agent, http2=settings.http2, beside=beside, **options
        )
    return made if robots else cached(made, settings, given, BROWSER if rung == BROWSER else "")


def cached(made: Collector, settings: Settings, given: Given | None, kind: str = "") -> Collector:
    """Returns the collector, wrapped in the cache of `--cache` if that option is set. `kind`: a label that
    separates the cache entries of the browser from all other cache entries."""
    if not settings.cache:
        return made
    from gossamer.collectors.http_cache import CacheCollector

    return CacheCollector(made, settings.cache, given, worth_keeping, kind)

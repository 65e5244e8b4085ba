"""Collects the rules that sites set for a host: pace, headers, retries, robots.txt, block detection and
others. The rules depend only on the host, so they can be looked up before any URL is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from gossamer.config.settings import Settings
from gossamer.model.proxy import Wanted
from gossamer.model.rendering import USUAL, Render
from gossamer.model.site import Pace, seed_host
from gossamer.sites.loaded_site import LoadedSite

BROWSER, FIREFOX = "browser", "firefox"
"""The name of the browser rung, and of the browser that can load the pages of a site in place of Chromium."""


class HostNeeds(NamedTuple):
    """The rules that a host's sites set. A field that no site sets has its default value, which means that
    the crawl's settings apply."""

    pace: Pace = Pace()
    headers: Mapping[str, str] = {}
    retries: tuple[float, ...] | None = None
    robots: bool = True
    lane: str | None = None
    region: str | None = None
    blocks: Any = True
    ladder: tuple[str, ...] = ()
    browser: tuple[str, ...] = ()
    unlocker: str = ""
    proxies: Wanted | None = None
    render: Render = USUAL
    session: str = ""
    """The name of the site whose accounts are logged in on this host."""
    collector: Any = None
    """The site whose own collector fetches the host's pages, or None."""
    fragments: str = ""
    """How routes in URL fragments are treated (`url.routes.MODES`), or '' if no site sets this rule."""
    types: tuple[str, ...] = ()
    """Prefixes of the media types that are accepted in addition to text types."""


def host_needs(sites: Sequence[LoadedSite], host: str) -> HostNeeds:
    """Returns the rules for a host, taken from its sites.

    If the host has no site, the rules come from the site `default`. The site with the most specific host
    takes precedence. Several sites with different paths may share the host. In this case, each field has the
    value of the first site that sets the field. robots.txt is ignored only if all sites of the host ignore
    it, because a site's choice must not affect the pages of another site.
    """
    near = [one.site for one in sites if not one.default and one.site.claims(host)]
    own = sorted(near, key=lambda site: -site.claims(host)) or [one.site for one in sites if one.default]

    def first(values: Iterable[Any], otherwise: Any) -> Any:
        return next((value for value in values if value), otherwise)

    return HostNeeds(
        first((site.pace for site in own), Pace()),
        first((site.headers for site in own), {}),
        next((site.retries for site in own if site.retries is not None), None),
        not own or any(site.robots for site in own),
        first((site.lane for site in own if site.says_lane), None),
        first((site.region for site in own), None),
        next((site.blocks for site in own if site.blocks is not True), True),
        first((site.ladder for site in own if site.says_ladder), ()),
        first((site.browser for site in own), ()),
        first((site.unlocker for site in own), ""),
        next((site.proxies for site in own if site.proxies is not None), None),
        next((site.render for site in own if site.render != USUAL), USUAL),
        next((site.name for site in own if site.session is not None), ""),
        next((site for site in own if site.collector is not None), None),
        first((site.fragments for site in own), ""),
        tuple(dict.fromkeys(one.removesuffix("*") for site in own for one in site.types)),
    )


class FirefoxSites:
    """The sites and hosts whose pages Firefox loads on the browser rung. These are the hosts whose only browser
    is `firefox` (`browser=` of the site, or the setting `browser`). If the setting `chromium` names Firefox,
    these are all hosts. `needs`: returns the rules of a host."""

    def __init__(self, settings: Settings, sites: Sequence[Any], needs: Callable[[str], HostNeeds]) -> None:
        self._settings, self._sites, self._needs = settings, sites, needs
        self.everywhere = PurePath(settings.chromium or "").name.startswith(FIREFOX)
        ladders = [self._ladder(one) for one in sites] or [settings.ladder]
        kinds = [self.loads(one) for one in sites] or [self.names(settings.browser)]
        self.kinds = {kind for kind, ladder in zip(kinds, ladders, strict=True) if BROWSER in ladder} or {
            False
        }
        """Whether Firefox is needed (True) and whether Chromium is needed (False)."""
        self.any = True in self.kinds

    def _ladder(self, one: Any) -> tuple[str, ...]:
        ladder: tuple[str, ...] = one.site.ladder if one.site.says_ladder else self._settings.ladder
        return ladder

    def names(self, browsers: Sequence[str]) -> bool:
        """Returns whether these names of browsers choose Firefox for the browser rung."""
        return self.everywhere or tuple(browsers) == (FIREFOX,)

    def loads(self, one: Any) -> bool:
        """Returns whether Firefox loads the pages of a site."""
        return BROWSER in self._ladder(one) and self.names(one.site.browser or self._settings.browser)

    def of_host(self, host: str) -> bool:
        """Returns whether Firefox loads the pages of a host."""
        return self.names(self._needs(host).browser or self._settings.browser)


def has_accounts(sites: Sequence[Any]) -> bool:
    """Returns whether at least one site has accounts to log in with."""
    return any(one.site.session is not None for one in sites)


def has_rules(sites: Sequence[LoadedSite]) -> bool:
    """Returns whether any site sets a rule. If no site sets a rule, the rules of a host need not be looked
    up."""
    own = [one.site for one in sites]
    return any(
        s.pace or s.headers or s.retries is not None or not s.robots or s.blocks is not True for s in own
    )


def heap_of(sites: Sequence[LoadedSite], host: str, lane: str, region: str | None) -> str:
    """Returns the name of the ready heap in which a host waits, `LANE` or `LANE@REGION`. The host's sites
    determine the lane and the region. If the sites set no lane or region, the arguments `lane` and `region`
    apply."""
    said = host_needs(sites, host)
    where = said.region or region
    return f"{said.lane or lane}@{where}" if where else said.lane or lane


def hosts_of_site(site: LoadedSite) -> list[str]:
    """Returns the hosts that a site names: its declared hosts, except wildcards (`*.`), and the hosts of its
    seeds."""
    named = [host for host in site.site.hosts if not host.startswith("*.")]
    return list(dict.fromkeys([*named, *map(seed_host, site.site.seeds)]))

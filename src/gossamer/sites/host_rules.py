"""What the sites say of a host beyond its pages: pace, headers, retries, robots, blocks. Matched by host
alone, before any URL is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gossamer import url as urls
from gossamer.model.proxy import Wanted
from gossamer.model.rendering import USUAL, Render
from gossamer.model.site import Pace
from gossamer.sites.loading import LoadedSite


class HostNeeds(NamedTuple):
    """What the sites of a host want; what they leave open is as the crawl has it."""

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
    """The site whose accounts are logged in there."""
    types: tuple[str, ...] = ()
    """Beginnings of media types that are read beside those of text."""


def needs(sites: Sequence[LoadedSite], host: str) -> HostNeeds:
    """What a host's sites want: the closest first, where several share it by paths the first that says
    something of a thing; else `default`. robots.txt is obeyed unless all of them say otherwise: one site's
    choice is none for another's pages.
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
        tuple(dict.fromkeys(one.removesuffix("*") for site in own for one in site.types)),
    )


def acts(sites: Sequence[LoadedSite]) -> bool:
    """Whether any site wants something of its own, so that hosts need be looked at."""
    own = [one.site for one in sites]
    return any(
        s.pace or s.headers or s.retries is not None or not s.robots or s.blocks is not True for s in own
    )


def heap(sites: Sequence[LoadedSite], host: str, lane: str, region: str | None) -> str:
    """The ready heap that a host waits in, `LANE` or `LANE@REGION`: as its sites say, else as the crawl does."""
    said = needs(sites, host)
    where = said.region or region
    return f"{said.lane or lane}@{where}" if where else said.lane or lane


def hosts(site: LoadedSite) -> list[str]:
    """The hosts that a site names: its own without `*.`, and those of its seeds."""
    named = [host for host in site.site.hosts if not host.startswith("*.")]
    return list(dict.fromkeys([*named, *(urls.host(seed) for seed in site.site.seeds)]))

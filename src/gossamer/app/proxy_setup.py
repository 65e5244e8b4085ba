"""Builds the proxies of a crawl in one worker. Reads the proxy lists, and checks that they contain a suitable
proxy for each site. Adds health checks that go through the egress guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer import url as urls
from gossamer.app.job import Setup
from gossamer.collectors.http.collector import HttpCollector
from gossamer.collectors.probe import connect_time
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.egress.addresses import is_address, networks, why_forbidden
from gossamer.egress.resolver import Resolver, SingleAddressResolver
from gossamer.errors import ConfigError, NoProxyLeft
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Page
from gossamer.model.proxy import Proxy, Wanted
from gossamer.model.request import Request
from gossamer.proxies.proxy_checks import ProxyUpkeep
from gossamer.proxies.proxy_choice import ProxyPool
from gossamer.proxies.proxy_lists import read
from gossamer.proxies.proxy_rotation import Proxies
from gossamer.sites import host_rules
from gossamer.state.proxy_stats import ProxyStatistics
from gossamer.store.store import Store

CHECK_TIMEOUT_S = 10.0
"""The maximum number of seconds of a health check."""


class ProxyFiles(NamedTuple):
    """The proxies of all lists, and the rejected lines. `bad` contains the file, the line number and the
    reason for each rejected line."""

    proxies: list[Proxy]
    bad: list[tuple[str, int, str]]


def read_proxy_lists(settings: Settings) -> ProxyFiles:
    """Reads the proxy lists. A proxy with a private address is rejected unless `allow_private` contains the
    address. Raises ConfigError, and NoProxyLeft if no line is a usable proxy."""
    allowed = networks(settings.allow_private)

    def check(proxy: Proxy) -> None:
        if is_address(proxy.host) and (why := why_forbidden(proxy.host, allowed)):
            raise ValueError(f"{why}: to use this proxy, give --allow-private {proxy.host}")

    found: dict[str, Proxy] = {}
    bad: list[tuple[str, int, str]] = []
    for path in settings.proxies:
        try:
            proxies, aside = read(Path(path).expanduser().read_text("utf-8-sig").splitlines(), check)
        except OSError as error:
            raise ConfigError(f"--proxies {path}: {error.strerror}") from None
        except ValueError:
            raise ConfigError(f"--proxies {path} is not UTF-8 text") from None
        found |= {one.id: one for one in proxies}
        bad += [(path, one.line, one.reason) for one in aside]
    if settings.proxies and not found:
        path, line, reason = bad[0] if bad else (settings.proxies[0], 0, "")
        raise NoProxyLeft(
            f"no proxy left: {path} contains none" + (f" (line {line}: {reason})" if bad else "")
        )
    return ProxyFiles(list(found.values()), bad)


def make_proxies(
    setup: Setup,
    sites: Sequence[Any],
    guard: Resolver | SingleAddressResolver,
    store: Store,
    forget: Callable[[str], None],
) -> Proxies | None:
    """Returns the proxies of a crawl, or None if neither the crawl nor a site uses proxies. Raises
    ConfigError, NoProxyLeft."""
    settings = setup.job.settings
    wishes = {one.site.name: one.site.proxies for one in sites if one.site.proxies is not None}
    if setup.job.archive is not None or not (settings.proxies or wishes):
        return None
    if not settings.proxies:
        raise NoProxyLeft(
            f"no proxy left: site {next(iter(wishes))} requires proxies: name a list with --proxies FILE"
        )
    found = read_proxy_lists(settings).proxies
    for name, wish in wishes.items():
        check_proxies_suit(name, wish, found)
    usual = Wanted(rotation=settings.rotation)

    def wants(host: str) -> Wanted:
        wish = host_rules.host_needs(sites, host).proxies or usual
        return wish if wish.rotation else msgspec.structs.replace(wish, rotation=settings.rotation)

    pool = ProxyPool(found, checked=settings.proxy_check is not None)
    upkeep = ProxyUpkeep(pool, ProxyStatistics(store, setup.crawl), ProxyCheck(settings, guard, pool))
    domain = lru_cache(10_000)(urls.registered_domain)
    return Proxies(
        pool, upkeep, wants=lru_cache(10_000)(wants), domain=domain, length=settings.session, forget=forget
    )


def check_proxies_suit(name: str, wish: Wanted, found: Sequence[Proxy]) -> None:
    """Raises ConfigError if no proxy in the lists meets a site's requirements."""
    providers = sorted({one.provider for one in found} - {""})
    for provider in wish.providers:
        if provider not in providers:
            there = (
                f"; their providers are {', '.join(providers)}" if providers else "; they name no providers"
            )
            raise ConfigError(
                f"site {name}: proxies: the lists have no provider {provider!r}{nearest(provider, providers)}{there}"
            )
    if not any(wish.suits(one) for one in found):
        raise ConfigError(f"site {name}: proxies: the lists contain no proxy that is {wish}")


class ProxyCheck:
    """The health check: fetches the URL of `proxy_check` and looks for its text. Without a URL, checks
    whether the proxy accepts connections."""

    def __init__(self, settings: Settings, guard: Resolver | SingleAddressResolver, pool: ProxyPool) -> None:
        self._guard, self._pool = guard, pool
        url, _, text = (settings.proxy_check or "").partition(" ")
        self._url, self._text = url, text.strip().encode()
        self._collector = HttpCollector(
            guard,
            user_agent=settings.agent,
            total=min(CHECK_TIMEOUT_S, settings.timeout),
            wire=64 << 10,
            decoded=1 << 20,
            accept=None,
            truncate=True,
            ca_file=settings.ca_file,
            connections=32,
        )

    async def seconds(self, place: int) -> float | None:
        """Checks a proxy. Returns the duration of the check in seconds, or None if the check failed."""
        proxy = self._pool.proxies[place]
        country = Wanted().country(proxy)
        url = proxy.url(country, "check")
        if not self._url:
            return await connect_time(self._guard, url.rpartition("@")[2].rpartition("/")[2])
        result = await self._collector.collect(Request(self._url), {}, Guise(proxy=url))
        right = isinstance(result, Page) and 200 <= result.status < 300 and self._text in result.body
        return result.elapsed if right else None

    async def close(self) -> None:
        """Closes all connections."""
        await self._collector.close()

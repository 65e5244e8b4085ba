"""The proxies of this machine's lists, and what all workers know about them."""

from __future__ import annotations

from typing import NamedTuple

from gossamer.app.proxy_setup import read_proxy_lists
from gossamer.config.settings import Settings
from gossamer.model.proxy import Proxy
from gossamer.proxies.proxy_health import ProxyHealth
from gossamer.state.proxy_stats import ProxyStatistics
from gossamer.store.store import Store


class KnownProxy(NamedTuple):
    """A proxy. `listed`: the proxy as a list of this machine describes it, or None if only other machines have it.
    `health`: None if no worker has used it. `quarantine_s`: the rest of its quarantine in seconds. `cooling`: the
    registered domains where it cools down after a block."""

    id: str
    listed: Proxy | None
    health: ProxyHealth | None
    quarantine_s: float
    cooling: list[str]


async def known_proxies(store: Store, settings: Settings) -> list[KnownProxy]:
    """Returns all proxies, sorted by name. Raises ConfigError if a list cannot be read."""
    listed = {one.id: one for one in read_proxy_lists(settings).proxies} if settings.proxies else {}
    now, kept = await ProxyStatistics(store, "").exchange({})
    health: dict[str, ProxyHealth] = {}
    cooling: dict[str, list[str]] = {}
    for key, text in kept.items():
        name, tab, domain = key.partition("\t")
        one = ProxyHealth.of(text)
        if not tab:
            health[name] = one
        elif one.until > now:
            cooling.setdefault(name, []).append(domain)
    used = {name for name in health if not name.startswith("@")}  # the others are providers
    return [
        KnownProxy(
            name,
            listed.get(name),
            (found := health.get(name)),
            max(0, found.until - now) / 1000 if found is not None else 0.0,
            sorted(cooling.get(name, ())),
        )
        for name in sorted(listed.keys() | used)
    ]

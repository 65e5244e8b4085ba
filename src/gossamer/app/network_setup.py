"""Builds a crawl's network access from its settings: the egress guard, the proxies, and the rungs that use
them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gossamer.app.collector_setup import CollectorSetup, Identities
from gossamer.app.job import Setup
from gossamer.app.unlocker_setup import unlocker
from gossamer.egress.resolver import Resolver, SingleAddressResolver
from gossamer.sites.loaded_site import LoadedSite
from gossamer.store.store import Store

if TYPE_CHECKING:
    from gossamer.proxies.proxy_rotation import Proxies


class Network:
    """The network access of one process of a crawl. `others`: whether this machine may lack the browser,
    because other workers have one. Raises ConfigError or NoProxyLeft if a part cannot be built."""

    def __init__(
        self, setup: Setup, sites: Sequence[LoadedSite], store: Store, *, others: bool = False
    ) -> None:
        settings = setup.job.settings
        self.resolver = Resolver(settings.allow_private, names=setup.allowed)
        self.single = SingleAddressResolver(self.resolver) if settings.polite_by == "ip" else None
        """The egress guard that pins each host to one address. `single` is None unless `polite_by` is
        `ip`."""
        guard = self.single or self.resolver
        identities = Identities()
        self.proxies: Proxies | None = None
        if settings.proxies or any(one.site.proxies is not None for one in sites):
            from gossamer.app.proxy_setup import make_proxies

            self.proxies = make_proxies(setup, sites, guard, store, identities.forget)
        self.collectors = CollectorSetup(
            setup,
            sites,
            guard,
            store.seed,
            partial(unlocker, settings, setup.crawl, store, guard),
            self.proxies,
            others,
            identities,
        )

    async def close(self) -> None:
        """Closes all connections, even if closing one of them fails."""
        async with contextlib.AsyncExitStack() as last:  # an exit stack closes its last entry first
            last.push_async_callback(self.resolver.close)
            if self.proxies is not None:
                last.push_async_callback(self.proxies.upkeep.close)
            last.push_async_callback(self.collectors.close)

"""The impersonated rung: HTTP with the TLS and HTTP/2 fingerprint of a browser, behind the same guard and
bounds as the plain one.

Each browser and session has connections of its own (a pool), so that no connection, TLS ticket or kept answer
to a name ever shows two visitors to be one. Headers come with the request, whole and in the browser's order
(`identity.browsers`); none is added here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from gossamer.collectors.http.collector import AddressResolver, Curls, HttpCollector
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request

POOLS = 64
"""Pools that are kept with nothing to do; a browser that comes back after that connects anew."""


class ImpersonatedCollector:
    """Collects as the browser of each guise. `options`: those of `HttpCollector`. Raises ConfigError without
    curl_cffi."""

    name = "impersonated"

    def __init__(self, resolver: AddressResolver, **options: Any) -> None:
        from gossamer.collectors.http import curl_cffi_adapter

        self._handles, self._resolver = curl_cffi_adapter, resolver
        self._options = options | {"user_agent": "", "http2": True, "epoll": False}
        self._pools: OrderedDict[tuple[str, str, str], HttpCollector] = OrderedDict()
        self._busy: dict[HttpCollector, int] = {}

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Fetch one URL, no redirect followed, as the guise says: without one a surprise, for there is no
        other way to go."""
        if guise is None or not guise.target:
            raise ValueError("the impersonated rung is asked for without a browser")
        pool = await self._pool(guise)
        self._busy[pool] = self._busy.get(pool, 0) + 1
        try:
            result = await pool.collect(request, headers, guise)
            return msgspec.structs.replace(result, session=f"{guise.browser}/{guise.session}")
        finally:
            self._busy[pool] -= 1
            if not self._busy[pool]:
                del self._busy[pool]

    async def close(self) -> None:
        """End all transfers and connections."""
        while self._pools:
            await self._pools.popitem()[1].close()

    async def _pool(self, guise: Guise) -> HttpCollector:
        """The connections of this browser and session; those through different proxies curl keeps apart by
        itself."""
        key = (guise.browser, guise.target, guise.session)
        pool = self._pools.get(key)
        if pool is None:
            curl = partial(self._handles.Curl, guise.target, guise.http2)
            curls = Curls(self.name, curl, self._handles.CurlMulti, honest=False)
            pool = self._pools[key] = HttpCollector(self._resolver, **self._options, curls=curls)
        self._pools.move_to_end(key)
        if len(self._pools) > POOLS:
            idle = next(
                (own for own, one in self._pools.items() if one not in self._busy and one is not pool), None
            )
            if idle is not None:
                await self._pools.pop(idle).close()
        return pool

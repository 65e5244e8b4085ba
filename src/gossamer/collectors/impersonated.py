"""The impersonated rung, which fetches pages with the TLS and HTTP/2 fingerprint of a browser. The egress
guard and the limits are the same as for the plain rung.

Each browser and session has its own connection pool, so that no connection, TLS ticket or cached name links
two visitors. The headers of the request are complete and in the browser's order (see `identity.browsers`).
The collector adds no headers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from gossamer.collectors.http.collector import AddressResolver, CurlLibrary, HttpCollector
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request

MAX_IDLE_POOLS = 64
"""The maximum number of connection pools that are kept when idle. A session whose pool was dropped opens new
connections when it is used again."""


class ImpersonatedCollector:
    """Collects pages with the TLS and HTTP/2 fingerprint of a browser. The request's guise, which is its
    browser identity, determines the browser. `options`: the arguments of `HttpCollector`. Raises ConfigError
    if curl_cffi is missing."""

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
        """Fetches one URL with the fingerprint of the guise's browser. Redirects are not followed. Raises
        ValueError if `guise` is missing, which indicates a bug."""
        if guise is None or not guise.target:
            raise ValueError("the impersonated rung needs a guise with a browser")
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
        """Aborts all transfers and closes all connections."""
        while self._pools:
            await self._pools.popitem()[1].close()

    async def _pool(self, guise: Guise) -> HttpCollector:
        """Returns the connection pool of the guise's browser and session. curl itself separates the
        connections through different proxies."""
        key = (guise.browser, guise.target, guise.session)
        pool = self._pools.get(key)
        if pool is None:
            curl = partial(self._handles.Curl, guise.target, guise.http2)
            curls = CurlLibrary(self.name, curl, self._handles.CurlMulti, honest=False)
            pool = self._pools[key] = HttpCollector(self._resolver, **self._options, curls=curls)
        self._pools.move_to_end(key)
        if len(self._pools) > MAX_IDLE_POOLS:
            idle = next(
                (own for own, one in self._pools.items() if one not in self._busy and one is not pool), None
            )
            if idle is not None:
                await self._pools.pop(idle).close()
        return pool

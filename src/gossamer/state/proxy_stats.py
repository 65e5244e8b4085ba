"""Stores the statistics of proxies, which all workers of a store share, and the bindings of sticky sessions
to proxies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gossamer.store import keys
from gossamer.store.store import Store, script_part

TTL_MS = 7 * 86_400_000
"""The statistics of a proxy are removed if no worker has used the proxy for this many milliseconds."""
CHUNK_PROXIES = 500
CHECKER_LEASE_MS = 5_000
"""A worker keeps the right to run the health checks of a pool for this many milliseconds."""


class ProxyStatistics:
    """One worker's access to the proxy statistics. Each observation is added to the statistics once, unless
    the store's reply is lost. If the reply is lost, the observation is sent again, and may be added twice."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._prove, self._bind = script_part("proxy_health"), script_part("session_proxy")
        self._last = b"0"

    async def exchange(self, seen: Mapping[str, Sequence[object]]) -> tuple[int, dict[str, str]]:
        """Sends observations. Returns the store's time in ms, and the statistics that have changed since the
        last call, by key.

        Each value in `seen` consists of `good`, `bad`, `seconds`, `tail`, `most`, `first` and `longest`
        (`proxies.proxy_health`).
        """
        flat = [(key, *values) for key, values in seen.items()]
        out: dict[str, str] = {}
        while True:
            part, flat = flat[:CHUNK_PROXIES], flat[CHUNK_PROXIES:]
            args = [value for one in part for value in one]
            now, self._last, *found = await self._do(self._prove, keys.PROXIES, self._last, TTL_MS, *args)
            out |= {key.decode(): text.decode() for key, text in zip(found[::2], found[1::2], strict=True)}
            if not flat and len(found) < 2000:
                return int(now), out

    async def bind(self, session: str, wanted: str, old: str, length: float) -> str:
        """Binds a session to the proxy `wanted` for `length` seconds. If the session is already bound to a
        proxy other than `old`, the binding does not change. Returns the proxy to which the session is now
        bound."""
        found = await self._do(
            self._bind, [keys.session(self._crawl, session)], wanted, old, round(length * 1000)
        )
        return str(found.decode())

    async def turn(self, name: str, me: str) -> bool:
        """Returns whether this worker runs the health checks of the pool `name` for the next CHECKER_LEASE_MS
        milliseconds."""
        client = self._store.client
        call = client.set(keys.checks(name), me, nx=True, px=CHECKER_LEASE_MS)
        return bool(await self._store.guard(cast(Any, call)))

    async def _do(self, script: str, names: Sequence[str], *args: Any) -> Any:
        return await self._store.guard(cast(Any, self._store.client.eval(script, len(names), *names, *args)))

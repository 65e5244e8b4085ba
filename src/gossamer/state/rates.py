"""Manages caps on the total request rate of all crawls. A cap applies to the whole fleet or to the workers of
a lane. Caps are kept in the store and can change at any time.

A worker checks every CHECK_INTERVAL_S seconds whether a cap applies to it. A worker with a cap takes permits
before it claims URLs, and returns unused permits. The total rate therefore stays within the cap with any
number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

from gossamer.errors import Away
from gossamer.store.store import Store, script_part

KEY = "gossamer:rates"
FLEET = "fleet"
CHECK_INTERVAL_S = 1.0
"""The interval in seconds at which a worker checks whether the fleet has rate caps."""


class Rates:
    """Reads and changes the rate caps of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._permits = script_part("rate_permits")

    async def all(self) -> dict[str, float]:
        """Returns the caps in requests per second, by lane. The cap of the whole fleet has the key
        `fleet`."""
        found = await self._store.guard(cast(Any, self._store.client.hgetall(KEY)))
        return {name.decode(): float(rate) for name, rate in found.items() if not name.startswith(b"tat:")}

    async def set(self, name: str, rate: float | None) -> None:
        """Sets the cap of a lane or of the `fleet`. If `rate` is None, removes the cap."""
        client = self._store.client
        if rate is None:
            await self._store.guard(cast(Any, client.hdel(KEY, name, f"tat:{name}")))
        else:
            await self._store.guard(cast(Any, client.hset(KEY, name, repr(rate))))

    async def permits(self, n: int, names: Sequence[str]) -> tuple[int, float]:
        """Takes up to `n` permits, or gives permits back if `n` is negative. Returns the number of permits
        taken, and the seconds until more are available. Raises Away without waiting if the store is
        unreachable."""
        got, wait = await self._store.once("EVAL", self._permits, 1, KEY, n, *names)
        return int(got), int(wait) / 1000

    async def known(self, names: Sequence[str]) -> tuple[str, ...]:
        """Returns the names in `names` (lanes or `fleet`) that have a rate cap. Raises Away without waiting
        if the store is unreachable."""
        found = await self._store.once("HMGET", KEY, *names)
        return tuple(name for name, rate in zip(names, found, strict=True) if rate is not None)


class Caps:
    """The rate caps of one worker: the cap of the fleet and the caps of the worker's lanes. During an outage,
    no permits are granted."""

    def __init__(self, store: Store, lanes: Sequence[str]) -> None:
        self._store, self._rates, self._mine = store, Rates(store), (FLEET, *lanes)
        self._capped: tuple[str, ...] = ()
        self._look_at = self._wait_until = 0.0

    async def take(self, n: int) -> int:
        """Returns the number of claims that the worker may make now, at most `n`. Returns `n` if no cap
        applies."""
        now = time.monotonic()
        try:
            if now >= self._look_at:
                self._capped = await self._rates.known(self._mine)
                self._look_at = now + CHECK_INTERVAL_S
            if not self._capped or n <= 0:
                return n
            if now < self._wait_until:
                return 0
            got, wait = await self._rates.permits(n, self._capped)
        except Away as error:
            self._store.note(error)
            return 0
        self._wait_until = now + min(wait, CHECK_INTERVAL_S) if not got else 0.0
        return got

    async def back(self, n: int) -> None:
        """Gives back `n` permits that were not used."""
        if n > 0 and self._capped:
            try:
                await self._rates.permits(-n, self._capped)
            except Away as error:
                self._store.note(error)

"""Caps on the requests a second of all crawls: of the whole fleet, and of the workers of a lane. Kept in the store, changed while it works.

Crawls without a cap look now and then whether there is one; with one, permits are taken before claims are made and what was
not used is given back, so that any number of workers keeps it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import resources
from typing import Any, cast

from gossamer.frontier.store import Store

KEY = "gossamer:rates"
FLEET = "fleet"
LOOK = 0.5
"""Seconds between looks whether there is a cap."""


class Rates:
    """The caps of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._permits = (resources.files("gossamer.frontier") / "permits.lua").read_text()

    async def all(self) -> dict[str, float]:
        """Requests a second by lane, and of the `fleet`."""
        found = await self._store.guard(cast(Any, self._store.client.hgetall(KEY)))
        return {name.decode(): float(rate) for name, rate in found.items() if not name.startswith(b"tat:")}

    async def set(self, name: str, rate: float | None) -> None:
        """Cap a lane or the `fleet`; None: no longer."""
        client = self._store.client
        if rate is None:
            await self._store.guard(cast(Any, client.hdel(KEY, name, f"tat:{name}")))
        else:
            await self._store.guard(cast(Any, client.hset(KEY, name, repr(rate))))

    async def permits(self, n: int, names: Sequence[str]) -> tuple[int, float]:
        """Take up to n permits, or (negative) give some back: how many, and seconds until there are more."""
        got, wait = await self._store.guard(cast(Any, self._store.client.eval(self._permits, 1, KEY, n, *names)))
        return int(got), int(wait) / 1000


class Caps:
    """The caps that one worker is under, by its lanes."""

    def __init__(self, store: Store, lanes: Sequence[str]) -> None:
        self._rates, self._mine = Rates(store), (FLEET, *lanes)
        self._capped: tuple[str, ...] = ()
        self._look_at = self._wait_until = 0.0

    async def take(self, n: int) -> int:
        """How many of n claims may be made now; without a cap all of them."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK
            known = await self._rates.all()
            self._capped = tuple(name for name in self._mine if name in known)
        if not self._capped or n <= 0:
            return n
        if now < self._wait_until:
            return 0
        got, wait = await self._rates.permits(n, self._capped)
        self._wait_until = now + min(wait, LOOK) if not got else 0.0
        return got

    async def back(self, n: int) -> None:
        """So many of those were not used."""
        if n > 0 and self._capped:
            await self._rates.permits(-n, self._capped)

"""Caps on the requests a second of all crawls: of the whole fleet, and of the workers of a lane. Kept in the
store, changed while it works.

Crawls without a cap look now and then whether there is one; with one, permits are taken before claims are
made and what was not used is given back, so that any number of workers keeps it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import resources
from typing import Any, cast

from gossamer.errors import Away
from gossamer.store.store import Store

KEY = "gossamer:rates"
FLEET = "fleet"
LOOK = 1.0
"""Seconds between looks whether there is a cap."""


class Rates:
    """The caps of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._permits = (resources.files("gossamer.frontier") / "lua" / "permits.lua").read_text()

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
        """Take up to n permits, or (negative) give some back: how many, and seconds until there are more.
        Raises Away at once."""
        got, wait = await self._store.once("EVAL", self._permits, 1, KEY, n, *names)
        return int(got), int(wait) / 1000

    async def known(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names that are capped. Raises Away at once."""
        found = await self._store.once("HMGET", KEY, *names)
        return tuple(name for name, rate in zip(names, found, strict=True) if rate is not None)


class Caps:
    """The caps that one worker is under, by its lanes. An outage is left to who claims: no permits are given
    meanwhile."""

    def __init__(self, store: Store, lanes: Sequence[str]) -> None:
        self._store, self._rates, self._mine = store, Rates(store), (FLEET, *lanes)
        self._capped: tuple[str, ...] = ()
        self._look_at = self._wait_until = 0.0

    async def take(self, n: int) -> int:
        """How many of n claims may be made now; without a cap all of them."""
        now = time.monotonic()
        try:
            if now >= self._look_at:
                self._capped = await self._rates.known(self._mine)
                self._look_at = now + LOOK
            if not self._capped or n <= 0:
                return n
            if now < self._wait_until:
                return 0
            got, wait = await self._rates.permits(n, self._capped)
        except Away as error:
            self._store.note(error)
            return 0
        self._wait_until = now + min(wait, LOOK) if not got else 0.0
        return got

    async def back(self, n: int) -> None:
        """So many of those were not used."""
        if n > 0 and self._capped:
            try:
                await self._rates.permits(-n, self._capped)
            except Away as error:
                self._store.note(error)

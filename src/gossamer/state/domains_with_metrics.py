"""Decides which registered domains have their own metrics. All other domains are counted together, so that
the number of time series stays bounded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, cast

from gossamer.errors import GossamerError
from gossamer.store.store import Store

KEY = "gossamer:domains"
MAX_DOMAINS = 50
INTERVAL_S = 10.0
_ADD = """
for i = 2, #ARGV do
  if redis.call('SCARD', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SADD', KEYS[1], ARGV[i]) end
end
return redis.call('SMEMBERS', KEYS[1])
"""


class MetricDomains:
    """One process's copy of the set of domains that have their own metrics. A domain is never removed,
    because a counter must not decrease."""

    def __init__(self, store: Store, first: Iterable[str] = ()) -> None:
        """`first`: the configured domains, which are proposed first."""
        self._store, self.known = store, set[str]()
        self._wanted = list(first)

    def ask(self, domain: str) -> None:
        """Proposes a domain. If the set is not full, the next `exchange` adds the domain to the set."""
        self._wanted.append(domain)

    async def keep(self) -> None:
        """Calls `exchange` every INTERVAL_S seconds, until it is cancelled."""
        while True:
            with contextlib.suppress(GossamerError):  # the domains are sent in the next round
                await self.exchange()
            await asyncio.sleep(INTERVAL_S)

    async def exchange(self) -> None:
        """Adds the proposed domains to the set in the store, and reads the set."""
        wanted, self._wanted = self._wanted, []
        call = self._store.client.eval(_ADD, 1, KEY, str(MAX_DOMAINS), *wanted)
        try:
            found = await self._store.guard(cast(Any, call))
        except GossamerError:
            self._wanted = wanted + self._wanted
            raise
        self.known.update(one.decode() for one in found)

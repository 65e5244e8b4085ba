"""A worker's background work for its proxies. Each worker shares its observations about proxies with the
other workers, and runs the health checks that are due."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Protocol

from gossamer.errors import GossamerError
from gossamer.proxies.proxy_choice import ProxyPool
from gossamer.proxies.proxy_health import ProxyHealth, ProxyReport

EXCHANGE_INTERVAL_S, MAX_CONCURRENT_CHECKS, RECHECK_AFTER_MS = 1.0, 32, 600_000
"""EXCHANGE_INTERVAL_S is the number of seconds between two exchanges with the other workers.
MAX_CONCURRENT_CHECKS is the maximum number of concurrent health checks. RECHECK_AFTER_MS is the number of
milliseconds after which a proxy is checked again."""


class Shared(Protocol):
    """Access to the data about proxies that all workers share (`state.proxy_stats`)."""

    async def exchange(self, seen: Mapping[str, Sequence[object]]) -> tuple[int, dict[str, str]]: ...
    async def bind(self, session: str, wanted: str, old: str, length: float) -> str: ...
    async def turn(self, name: str, me: str) -> bool: ...


class ChecksProxies(Protocol):
    """Checks the health of a proxy, given its index. Returns the seconds that the check took, or None if it
    failed."""

    async def seconds(self, place: int) -> float | None: ...
    async def close(self) -> None: ...


class ProxyUpkeep:
    """The background work for one proxy pool. `freed` is set when a proxy may have become usable again."""

    def __init__(self, pool: ProxyPool, shared: Shared, check: ChecksProxies) -> None:
        self.pool, self.shared, self._check = pool, shared, check
        self.freed = asyncio.Event()
        self._offset = 0.0
        self._task: asyncio.Task[None] | None = None
        self._begun = asyncio.Lock()
        self._looked: dict[int, int] = {}

    def now(self) -> int:
        """Returns the store's time in milliseconds."""
        return int((time.time() + self._offset) * 1000)

    async def begin(self) -> None:
        """Reads the shared records before the first request, then starts the background work."""
        if self._task is None:
            async with self._begun:
                if self._task is None:
                    await self._exchange()
                    self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Stops the background work and writes the last observations."""
        await self._check.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            with contextlib.suppress(GossamerError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._exchange()

    async def _keep(self) -> None:
        """Runs until it is cancelled. Exchanges observations with the other workers, and starts the health
        checks that are due."""
        me, name = (
            secrets.token_hex(6),
            blake2b("".join(self.pool.book.ids).encode(), digest_size=6).hexdigest(),
        )
        checking: asyncio.Task[None] | None = None
        try:
            while True:
                with contextlib.suppress(
                    GossamerError
                ):  # the store cannot be reached, so the observations are written later
                    await self._exchange()
                    if (checking is None or checking.done()) and await self.shared.turn(name, me):
                        checking = asyncio.create_task(self._checks())
                await asyncio.sleep(EXCHANGE_INTERVAL_S)
        finally:
            if checking is not None:
                checking.cancel()
                await asyncio.gather(checking, return_exceptions=True)

    async def _exchange(self) -> None:
        book = self.pool.book
        seen = book.taken()
        told = {key: (s.good, s.bad, s.seconds, s.tail, *book.rule(key)) for key, s in seen.items()}
        try:
            now, heard = await self.shared.exchange(told)
        except GossamerError:
            for key, one in book.seen.items():
                seen[key] = _both(seen[key], one) if key in seen else one
            book.seen = seen
            raise
        self._offset = now / 1000 - time.time()
        book.heard({key: ProxyHealth.of(text) for key, text in heard.items()}, now)
        self.freed.set()

    async def _checks(self) -> None:
        """Runs the health checks that are due. Without a URL for health checks, a proxy is checked only after
        its quarantine. This check only tests whether the proxy accepts connections again."""
        book, now, gate = self.pool.book, self.now(), asyncio.Semaphore(MAX_CONCURRENT_CHECKS)
        due = book.due(now, RECHECK_AFTER_MS)
        if not self.pool.checked:
            due = [place for place in due if self._over(place) not in (0, self._looked.get(place))]

        async def check(place: int) -> None:
            async with gate:
                self._looked[place] = self._over(place)
                took = await self._check.seconds(place)
            if took is None or self.pool.checked:
                book.checked(place, self.now(), took)
                self.freed.set()

        await asyncio.gather(*(check(place) for place in due))

    def _over(self, place: int) -> int:
        """Returns the time at which a proxy's quarantine ends, or 0 if the proxy is not in quarantine."""
        own = self.pool.book.own[place]
        return own.until if own is not None else 0


def _both(one: ProxyReport, other: ProxyReport) -> ProxyReport:
    """Merges an earlier and a later report."""
    tail = other.tail if other.good else one.tail + other.tail
    return ProxyReport(one.good + other.good, one.bad + other.bad, one.seconds + other.seconds, tail)

"""Determines how many visits a worker's process runs at once, and which limit applies.

| limit | meaning |
| --- | --- |
| hosts | fewer visits than allowed run, because all hosts wait for their delay or no host is left |
| latency | visits wait for responses: no other host can be requested now, or the level still rises |
| rate | a cap of the fleet (`gossamer rate`) allows no more requests now |
| memory, processor, descriptors, threads, ports | the process or its machine is short of this resource |
| fixed | `concurrency` is a number, and this many visits are running |
| maximum | the highest number of visits that `auto` allows is running |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gossamer.observability.logs import log_event
from gossamer.worker.capacity import Limiter
from gossamer.worker.claim_poller import ClaimPoller


class ConcurrencyLevel(NamedTuple):
    """The number of visits that a process may run at once now, and the limit that applies (see the module
    docstring)."""

    visits: int
    limit: str


def current_level(limiter: Limiter, poller: ClaimPoller) -> ConcurrencyLevel:
    """Returns the number of visits that the process may run at once, and the limit that applies. `poller` is
    the poller of the crawl."""
    share, scarce = limiter.load()
    visits = round(limiter.visits * share)
    if scarce or limiter.visits < limiter.level:
        return ConcurrencyLevel(visits, scarce or limiter.bound)
    if poller.capped:
        return ConcurrencyLevel(visits, "rate")
    if poller.short:
        return ConcurrencyLevel(visits, "hosts" if poller.waiting else "latency")
    return ConcurrencyLevel(visits, limiter.bound)


class LevelLog:
    """Reads the concurrency level of a worker with `read`, and logs the level whenever it has changed."""

    def __init__(self, crawl: str, worker: str, read: Callable[[], ConcurrencyLevel]) -> None:
        self._crawl, self._worker, self._read = crawl, worker, read
        self._logged: ConcurrencyLevel | None = None

    def __call__(self) -> ConcurrencyLevel:
        """Returns the current level. If the level has changed, also logs the level."""
        now = self._read()
        if now != self._logged:
            self._logged = now
            log_event(
                "concurrency",
                crawl=self._crawl,
                worker=self._worker,
                text=f"{now.visits} pages at once, limited by {now.limit}",
            )
        return now

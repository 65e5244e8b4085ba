"""Finds and frees slots of hosts that no lease holds. Such a slot would hold its host for ever, because only the
end of a lease frees a slot."""

from __future__ import annotations

import logging
import time
from typing import NamedTuple

from gossamer.errors import GossamerError
from gossamer.store import keys
from gossamer.store.store import Store

log = logging.getLogger("gossamer.frontier")
INTERVAL_S = 30.0
"""Seconds between two sweeps of a store, whichever worker makes them."""
SHARE = 50
"""A worker waits at least this number of times as long as its last sweep took."""
HOSTS_PER_CALL = 500


class WrongHost(NamedTuple):
    """A host whose slots, leases and queues do not agree."""

    host: str
    in_flight: int
    """The number of requests that the host counts as in flight."""
    leases: int
    robots: bool
    """Whether the host waits for a request of its robots.txt that no lease holds."""
    queues: int
    """The number of crawls whose number of queued URLs is wrong."""

    def __str__(self) -> str:
        said = [f"{self.in_flight} requests in flight, but {self.leases} leases"] * (
            self.in_flight != self.leases
        )
        said += ["a request of robots.txt without a lease"] * self.robots
        said += ["a wrong number of queued URLs"] * bool(self.queues)
        return f"{self.host}: {', '.join(said)}"


async def wrong_hosts(store: Store, *, correct: bool) -> list[WrongHost]:
    """Returns the hosts whose slots, leases and queues do not agree, and corrects them if `correct` is true."""
    found = []
    async for page in store.scan("{b:???}h:*", HOSTS_PER_CALL):
        calls = [
            (bucket, ("", int(correct), *(host.removeprefix("h:") for host in hosts)))
            for bucket, hosts in keys.by_bucket(page).items()
        ]
        for reply in await store.run_all("correct_slots", calls):
            if isinstance(reply, Exception):
                raise reply
            found += [
                WrongHost(host.decode(), i, leases, bool(robots), queues)
                for host, i, leases, robots, queues in zip(*[iter(reply)] * 5, strict=True)
            ]
    return found


async def sweep(store: Store) -> float:
    """Corrects the hosts of a store, unless another worker has done so lately. Returns the time of this worker's
    next sweep, on the monotonic clock. An outage ends the sweep early."""
    began = time.monotonic()
    try:
        if await store.guard(store.client.set(keys.SWEPT, "1", nx=True, px=round(INTERVAL_S * 900))):
            for one in await wrong_hosts(store, correct=True):
                log.warning("corrected the slots of %s", one)
    except GossamerError as error:
        store.note(error)
    return time.monotonic() + max(INTERVAL_S, SHARE * (time.monotonic() - began))

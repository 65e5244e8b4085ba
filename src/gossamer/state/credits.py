"""Manages the credits of an unlocker service, which all workers share, and the circuit breaker of the
service. Credits are reserved before a call, and the reservation is settled after the call.

If a reservation is never settled, its credits count as spent. A worker that dies during a call therefore
wastes credits, but never exceeds a limit.
"""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple, cast

from gossamer.frontier.frontier_client import call_until_confirmed
from gossamer.store import keys
from gossamer.store.store import Store


class CreditLimits(NamedTuple):
    """The limits for all workers together: the number of concurrent calls, the credits per day (UTC), and the
    credits of the whole crawl. None means no limit."""

    at_once: int
    day: int | None = None
    crawl: int | None = None


class Reserved(NamedTuple):
    """The reply to a reservation of credits. If `why` is '', the call may be made, and `token` identifies the
    reservation. If the call may not be made, `why` is `busy`, `open` (the breaker is open), `day` or `crawl`
    (a credit limit is reached), and `wait` is the number of seconds to wait."""

    token: str
    why: str
    wait: float


class Spent(NamedTuple):
    """The current use of an unlocker. `day`: the credits that were spent or reserved today. `crawl`: the
    credits that the crawl has spent or reserved. `calls`: the number of calls in progress. `shut`: the number
    of seconds until the breaker allows calls again."""

    day: int
    crawl: int
    calls: int
    shut: float


class Shut(NamedTuple):
    """The state of the breaker after a call. `wait`: the number of seconds until calls may be made again, or
    0 if the breaker is closed. `openings`: how many times in a row the breaker has opened."""

    wait: float
    openings: int


class Credits:
    """The credits of one crawl at one unlocker. `hold` is a number of seconds. A call that is not settled
    within this time counts as lost."""

    def __init__(self, store: Store, crawl: str, unlocker: str, bounds: CreditLimits, hold: float) -> None:
        self._store, self._crawl, self._unlocker, self._bounds = store, crawl, unlocker, bounds
        self._hold = round(hold * 1000)

    async def reserve(self, most: int) -> Reserved:
        """Reserves up to `most` credits and one concurrent call. The caller must settle the reservation with
        `repay`."""
        token, bounds = secrets.token_hex(8), self._bounds
        day, crawl = (-1 if bound is None else bound for bound in (bounds.day, bounds.crawl))
        why, wait = await self._do("unlocker_reserve", token, most, bounds.at_once, day, crawl, self._hold)
        return Reserved(token, why.decode(), int(wait) / 1000)

    async def repay(self, token: str, cost: int | None, health: str, why: str = "") -> Shut:
        """Settles the reservation of a call. `cost` is the number of credits that the call cost, or None if
        the cost is unknown. `health` is the health code of the call (`breaker.lua`). This code updates the
        unlocker's breaker."""
        wait, openings = await self._do("unlocker_settle", token, -1 if cost is None else cost, health, why)
        return Shut(int(wait) / 1000, int(openings))

    async def spent(self) -> Spent:
        """Returns the current use of the unlocker."""
        now, _ = await self._store.guard(cast(Any, self._store.client.time()))
        at, who = f"{keys.tag(0)}@", self._unlocker
        pipe = self._store.client.pipeline(transaction=False)
        pipe.hmget(f"{at}credits", [f"day:{who}:{now // 86400}", f"crawl:{self._crawl}"])
        pipe.hlen(f"{at}calls:{who}")
        pipe.get(f"{at}unlocker:{who}")
        (day, crawl), calls, trouble = await self._store.guard(pipe.execute())
        ends = int(trouble.split(b",")[3]) / 1000 if trouble else 0.0
        return Spent(int(day or 0), int(crawl or 0), calls, max(0.0, ends - now))

    async def _do(self, verb: str, *args: Any) -> Any:
        ((reply, _),) = await call_until_confirmed(
            self._store, verb, [(0, (self._crawl, self._unlocker, *args))]
        )
        return reply

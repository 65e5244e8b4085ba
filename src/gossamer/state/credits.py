"""Credits of an unlocker, shared by all workers: they are reserved before a call and settled after it; and
its circuit breaker.

What is not settled stays spent: a worker that dies between the two costs money, never more than the bound.
"""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple, cast

from gossamer.frontier.verbs import surely
from gossamer.store import keys
from gossamer.store.store import Store


class CreditLimits(NamedTuple):
    """What all workers together may: calls at once, credits a day (UTC) and of the crawl; None: no bound."""

    at_once: int
    day: int | None = None
    crawl: int | None = None


class Reserved(NamedTuple):
    """`why` '': the call may be made, with this token; else busy, open, day, crawl, and seconds to wait."""

    token: str
    why: str
    wait: float


class Spent(NamedTuple):
    """Credits spent and reserved, calls out, seconds for which the breaker is open."""

    day: int
    crawl: int
    calls: int
    shut: float


class Shut(NamedTuple):
    """The breaker after a call: seconds for which nobody may ask, 0 when it is closed; how often in a row it
    opened."""

    wait: float
    openings: int


class Credits:
    """The credits of one crawl at one unlocker. `hold`: seconds after which nobody settles a call any more."""

    def __init__(self, store: Store, crawl: str, unlocker: str, bounds: CreditLimits, hold: float) -> None:
        self._store, self._crawl, self._unlocker, self._bounds = store, crawl, unlocker, bounds
        self._hold = round(hold * 1000)

    async def reserve(self, most: int) -> Reserved:
        """Take credits and a place; what they are for must be settled with the token."""
        token, bounds = secrets.token_hex(8), self._bounds
        day, crawl = (-1 if bound is None else bound for bound in (bounds.day, bounds.crawl))
        why, wait = await self._do("reserve", token, most, bounds.at_once, day, crawl, self._hold)
        return Reserved(token, why.decode(), int(wait) / 1000)

    async def repay(self, token: str, cost: int | None, health: str, why: str = "") -> Shut:
        """A call is over: what it cost (None: nobody knows), what it says of the unlocker."""
        wait, openings = await self._do("repay", token, -1 if cost is None else cost, health, why)
        return Shut(int(wait) / 1000, int(openings))

    async def spent(self) -> Spent:
        """What is spent today and by the crawl."""
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
        ((reply, _),) = await surely(self._store, verb, [(0, (self._crawl, self._unlocker, *args))])
        return reply

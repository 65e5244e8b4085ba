"""Assigns proxies to requests. This module chooses a proxy, changes to another proxy after a failure, and
decides whether a result counts against a proxy.

The result of a try has the following consequences:

- The proxy is at fault if it is unreachable, refuses the request, or answers 407. The fault is counted. The
  request goes through another proxy at once.
- A timeout, reset, TLS error, 502 or 504 is an unclear result. A 403, 429 or 451 is a refusal. In both cases,
  the proxy becomes a suspect. The request goes through another proxy after the host's delay.
- A success ends the request, and the proxy is good. The success shows that the host works, so the earlier
  results count against the suspected proxies. An unclear result counts as a fault of the suspected proxy. A
  refusal means that the host's registered domain blocks the suspected proxy.

After three unclear results or three refusals, the host is assumed to be the cause, and no proxy is blamed. No
request is sent without a proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from gossamer.errors import NoProxyLeft
from gossamer.model.page import Failure, Page
from gossamer.model.proxy import Wanted
from gossamer.model.request import Request, split
from gossamer.proxies.proxy_checks import ProxyUpkeep
from gossamer.proxies.proxy_choice import ProxyPool

MAX_TRIES, MORE_TRIES_S, MAX_SUSPICIONS = 10, 30.0, 3
"""Limits on how many proxies a request tries. MAX_TRIES is the number of tries that are always allowed. More
tries are allowed during the first MORE_TRIES_S seconds of the request. The request ends after MAX_SUSPICIONS
unclear results, or after MAX_SUSPICIONS blocks."""
FREE_PROXY_TIMEOUT_S = 20.0
"""Maximum time in seconds for which a request waits for a free proxy."""
BLOCKING_STATUSES = (403, 429, 451)
REPEATABLE = ("GET", "HEAD", "OPTIONS")

Go = Callable[[str, Callable[[], bool]], Awaitable[Page | Failure]]
"""The type of a function `go(proxy, goes_on)`, which makes a request. `proxy` is the URL of the proxy to use.
After the request, `go` calls `goes_on`, which returns whether the session continues through this proxy."""


class Lease(NamedTuple):
    """A proxy for one try. `place`: the index of the proxy. `session`: the name of the session, '' if there
    is none. `bound`: the proxy (and the session word of a gateway) to which the session is bound."""

    place: int
    url: str
    session: str = ""
    bound: str = ""


class ProxyTries(NamedTuple):
    """The tries of a visit so far. `tried`: the indexes of the proxies that were tried. `before`: the
    failures. `doubts`: the suspects. Each suspect is a pair that consists of the index of the proxy and a
    bool. The bool is true for a refusal, and false for an unclear result."""

    tried: list[int]
    before: list[Failure]
    doubts: list[tuple[int, bool]]


class Proxies:
    """The proxies of a crawl in one worker. `wants`: a function that returns the requirements of a host's
    site. `domain`: a function that returns a host's registered domain. `length`: the length of a session in
    seconds. `forget`: called when a domain's session ends."""

    def __init__(
        self,
        pool: ProxyPool,
        upkeep: ProxyUpkeep,
        *,
        wants: Callable[[str], Wanted],
        domain: Callable[[str], str],
        length: float,
        forget: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.pool, self.upkeep = pool, upkeep
        self._wants, self._domain, self._length, self._forget = wants, domain, length, forget
        self._bound: dict[str, tuple[str, float]] = {}
        self._countries: dict[str, str] = {}
        self._places = {one: place for place, one in enumerate(pool.book.ids)}

    async def through(self, request: Request, go: Go, apart: float) -> Page | Failure:
        """Makes a request through one proxy after another until one returns a response. `apart`: seconds
        between two tries that reach the host. Raises NoProxyLeft."""
        await self.upkeep.begin()
        host = split(request.url)[1]
        wanted, began = self._wants(host).narrowed_by(request.country, request.proxy), time.perf_counter()
        if not self.pool.suitable(wanted):
            return _none(f"the proxy lists contain no matching proxy: {wanted}", final=True)
        trip = ProxyTries([], [], [])
        result: Page | Failure | None = None
        tries, started = 0, began
        while tries < MAX_TRIES or time.perf_counter() - began < MORE_TRIES_S:
            tries += 1
            if not trip.doubts and len(trip.tried) >= len(self.pool.suitable(wanted)):
                trip.tried.clear()  # all proxies had a fault, so they are tried again until they are in quarantine
            lease = await self._take(wanted, host, trip.tried)
            if lease is None:
                break
            if trip.doubts:
                await asyncio.sleep(max(0.0, started + apart - time.perf_counter()))
            started = time.perf_counter()
            result = await self._try(lease, go)
            result = msgspec.structs.replace(
                result,
                proxy=self.pool.book.ids[lease.place],
                lag=started - began + result.lag,
                before=tuple(trip.before),
            )
            said = judge_result(result)
            if self._ends(said, lease, host, result, trip) or (
                said != "fault" and request.method not in REPEATABLE
            ):
                break
        if isinstance(result, Page) and result.status == 407:
            return msgspec.structs.replace(_short(result, "fault"), before=result.before)
        return result or _none(f"none of {len(self.pool.suitable(wanted))} proxies is free for {host}")

    async def hold(self, host: str, bound: str = "") -> StickyProxy | None:
        """Returns a proxy for a whole session. If `bound` names a proxy, returns this proxy, unless the proxy
        is in quarantine or no longer listed. In that case, returns None. If `bound` is '', waits for a free
        proxy. Returns None if no proxy becomes free in time. Raises NoProxyLeft."""
        await self.upkeep.begin()
        wanted, domain = self._wants(host), self._domain(host)
        if not bound:
            found = await self._take(msgspec.structs.replace(wanted, rotation="request"), host, [])
            if found is None:
                return None
            bound = f"{self.pool.book.ids[found.place]} {secrets.token_hex(4)}"
        name, _, word = bound.partition(" ")
        place = self._places.get(name)
        if place is None or self._gone(place, wanted, domain, self.upkeep.now()):
            return None
        return StickyProxy(self, Lease(place, self._url(place, wanted, word), bound=bound))

    async def once(self, lease: Lease, request: Request, go: Go, apart: float) -> Page | Failure:
        """Makes a request through this proxy only. If the connection is reset and the method is repeatable,
        makes the request a second time. Only a failure that is clearly the proxy's fault counts against the
        proxy."""
        book, began, name = self.pool.book, time.perf_counter(), self.pool.book.ids[lease.place]
        result = msgspec.structs.replace(await self._try(lease, go), proxy=name)
        if isinstance(result, Failure) and result.reason == "reset" and request.method in REPEATABLE:
            await asyncio.sleep(max(0.0, began + result.lag + apart - time.perf_counter()))
            lag, first = time.perf_counter() - began, result
            result = await self._try(lease, go)
            result = msgspec.structs.replace(result, proxy=name, lag=lag + result.lag, before=(first,))
        said, now = judge_result(result), self.upkeep.now()
        if said == "fault":
            book.saw(lease.place, "", now, fault=True)
            return msgspec.structs.replace(_short(result, said), before=result.before)
        if said == "good" and (result.requests if isinstance(result, Page) else result.sent):
            book.saw(lease.place, self._domain(split(request.url)[1]), now, seconds=result.elapsed)
        return result

    def country(self, url: str) -> str:
        """Returns the country of the proxy with this URL, if it is known."""
        return self._countries.get(url, "")

    def blocked(self, name: str, host: str) -> None:
        """Records that the proxy `name` received a block page from `host`."""
        if (place := self._places.get(name)) is not None:
            self.pool.book.saw(place, self._domain(host), self.upkeep.now(), blocked=True)

    def _ends(self, said: str, lease: Lease, host: str, result: Page | Failure, trip: ProxyTries) -> bool:
        """Records the result of a try. Returns whether this was the visit's last try."""
        book, now, domain = self.pool.book, self.upkeep.now(), self._domain(host)
        if said == "good":
            for place, blocked in trip.doubts:
                book.saw(place, domain, now, fault=not blocked, blocked=blocked)
            # a cached response shows nothing about the proxy
            if result.requests if isinstance(result, Page) else result.sent:
                book.saw(lease.place, domain, now, seconds=result.elapsed)
            return True
        if said == "fault":
            book.saw(lease.place, "", now, fault=True)
        else:
            trip.doubts.append((lease.place, said == "blocked"))
        self._end(lease, host)
        trip.tried.append(lease.place)
        trip.before.append(_short(result, said))
        del trip.before[:-MAX_TRIES]
        return (
            said != "fault"
            and sum(blocked == (said == "blocked") for _, blocked in trip.doubts) >= MAX_SUSPICIONS
        )

    async def _try(self, lease: Lease, go: Go) -> Page | Failure:
        self.pool.busy[lease.place] += 1
        try:
            return await go(
                lease.url,
                lambda: not lease.session or self._bound.get(lease.session, ("",))[0] == lease.bound,
            )
        finally:
            self.pool.busy[lease.place] -= 1
            self.upkeep.freed.set()

    async def _take(self, wanted: Wanted, host: str, tried: list[int]) -> Lease | None:
        """Waits for a free proxy. Returns None if no proxy becomes free in time."""
        ends = time.monotonic() + FREE_PROXY_TIMEOUT_S
        while True:
            lease = await self._lease(wanted, host, tried)
            if lease is not None:
                return lease
            now = self.upkeep.now()
            if not self.pool.left(Wanted(), now) and not self.pool.left(wanted, now):
                raise NoProxyLeft(
                    f"no proxy left: all {len(self.pool.proxies)} do not work or refuse gossamer; "
                    "see gossamer doctor, give other ones with --proxies FILE"
                )
            if set(self.pool.suitable(wanted)) <= set(tried) or time.monotonic() >= ends:
                return None
            self.upkeep.freed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await self.upkeep.freed.wait()

    async def _lease(self, wanted: Wanted, host: str, tried: list[int]) -> Lease | None:
        domain, now = self._domain(host), self.upkeep.now()
        session = {"session": domain, "host": host}.get(wanted.rotation, "")
        old, ends = self._bound.get(session, ("", 0.0))
        if session and old and ends > time.monotonic():
            place = self._places.get(old.partition(" ")[0])
            if place is not None and place not in tried and not self._gone(place, wanted, domain, now):
                return Lease(place, self._url(place, wanted, old.partition(" ")[2]), session, old)
        place = self.pool.choose(wanted, domain, now, tried)
        if place is None:
            return None
        word = secrets.token_hex(4)
        if not session:
            return Lease(place, self._url(place, wanted, word))
        mine = f"{self.pool.book.ids[place]} {word}"
        found = await self.upkeep.shared.bind(session, mine, old, self._length)
        theirs = self._places.get(found.partition(" ")[0])
        if theirs is None or theirs in tried or self._gone(theirs, wanted, domain, now):
            found = await self.upkeep.shared.bind(session, mine, found, self._length)
            theirs = self._places.get(found.partition(" ")[0], place)
        if found != old:
            self._forget(domain)
            self._bound[session] = found, time.monotonic() + self._length
        return Lease(theirs, self._url(theirs, wanted, found.partition(" ")[2]), session, found)

    def _gone(self, place: int, wanted: Wanted, domain: str, now: int) -> bool:
        """Returns whether a session must continue through another proxy. A session continues through another
        proxy only if its proxy is in quarantine or cooldown, or no longer meets the requirements."""
        book = self.pool.book
        there = book.standings.get(f"{book.ids[place]}\t{domain}") if domain in book.domains else None
        return (
            book.out(place, now)
            or (there is not None and there.until > now)
            or not wanted.suits(self.pool.proxies[place])
        )

    def _end(self, lease: Lease, host: str) -> None:
        """Ends a session after a failure. The next request uses another proxy, and does not send the cookies
        of this session."""
        if lease.session and self._bound.get(lease.session, ("",))[0] == lease.bound:
            self._bound[lease.session] = lease.bound, 0.0
            self._forget(self._domain(host))

    def _url(self, place: int, wanted: Wanted, word: str) -> str:
        proxy = self.pool.proxies[place]
        country = wanted.country(proxy)
        url = proxy.url(country, word)
        if country and url not in self._countries:
            if len(self._countries) >= 10_000:
                self._countries.clear()
            self._countries[url] = country
        return url


class StickyProxy(NamedTuple):
    """One proxy for all requests of a logged-in account."""

    proxies: Proxies
    lease: Lease

    @property
    def bound(self) -> str:
        """The proxy's id, followed by a random session word. Only a gateway uses the session word."""
        return self.lease.bound

    async def through(self, request: Request, go: Go, apart: float) -> Page | Failure:
        """Makes a request through the account's proxy."""
        return await self.proxies.once(self.lease, request, go, apart)

    def blocked(self, name: str, host: str) -> None:
        """See `Proxies.blocked`."""
        self.proxies.blocked(name, host)

    def country(self, url: str) -> str:
        """See `Proxies.country`."""
        return self.proxies.country(url)


def judge_result(result: Page | Failure) -> str:
    """Classifies a result as `good`, `fault`, `doubt` or `blocked`. `fault` means that the proxy is at fault.
    `doubt` means that either the proxy or the host is at fault."""
    if isinstance(result, Failure):
        return {"proxy": "fault", "path": "doubt"}.get(result.blame, "good")
    if result.status == 407:
        return "fault"
    return (
        "blocked"
        if result.status in BLOCKING_STATUSES
        else "doubt"
        if result.status in (502, 504)
        else "good"
    )


def _short(result: Page | Failure, said: str) -> Failure:
    """Converts the result of a try to a Failure, which has no body. This Failure appears in the log and in
    the result of the visit."""
    if isinstance(result, Failure):
        return result
    reason = {"fault": "proxy", "doubt": "http-5xx"}.get(
        said, "rate-limited" if result.status == 429 else "blocked"
    )
    return Failure(
        reason,
        f"HTTP {result.status}",
        result.fetched_at,
        result.elapsed,
        result.wire,
        False,
        result.collector,
        result.status,
        lag=result.lag,
        proxy=result.proxy,
        blame="proxy" if said == "fault" else "",
    )


def _none(detail: str, final: bool = False) -> Failure:
    return Failure("proxy", detail, time.time(), 0.0, final=final, sent=False)

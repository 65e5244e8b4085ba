"""Moves visits up the ladder of rungs. A rung is a collector with an identity. This module chooses the rung
at which a visit begins, decides when a visit climbs to a higher rung, and updates the record of the host's
rungs after each visit."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from gossamer.blocks import Block
from gossamer.model.browser_profile import Guise, Lent
from gossamer.model.interfaces import Collector, Given
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request, split
from gossamer.model.verdict import Done, Retry, Verdict
from gossamer.model.visit import Claim
from gossamer.model.wall_clock import CLOCK
from gossamer.politeness import ladder
from gossamer.politeness.ladder import RUNGS, Ladder, Learned
from gossamer.worker.routing import BROWSER, LaneRouter

if TYPE_CHECKING:
    from gossamer.sites.before_request import Prepare


class LendsIdentity(Protocol):
    """The interface of an identity, which supplies the headers and cookies of requests. `lend` returns the
    headers and the browser profile for a request. The headers contain the user's headers, a seed's
    credentials and the cookies. `took` stores the cookies of a response. `forget` deletes the session of a
    domain."""

    def lend(self, request: Request) -> Lent: ...

    def took(self, page: Page, guise: Guise | None) -> None: ...

    def forget(self, domain: str) -> None: ...


class LendsProxies(Protocol):
    """The interface of an object that supplies proxies (`proxies.proxy_rotation`). `through` tries a request
    through one proxy after another until a try succeeds. `apart`: the minimum number of seconds between two
    tries that reach the host. `blocked` records a block page that the proxy `name` returned."""

    def blocked(self, name: str, host: str) -> None: ...

    async def through(
        self,
        request: Request,
        go: Callable[[str, Callable[[], bool]], Awaitable[Page | Failure]],
        apart: float,
    ) -> Page | Failure: ...


class Rung(NamedTuple):
    """One way to fetch a page: its name on the ladder, its collector and its identity."""

    name: str
    collector: Collector
    identity: LendsIdentity
    proxies: LendsProxies | None = None
    elsewhere: bool = False
    """Whether only other workers of the fleet have the rung, and this worker does not."""
    prepare: Prepare | None = None
    """A function that passes each request to the `@site.before` function of its site, or None if no site has
    a `@site.before` function."""

    async def collect(self, request: Request, apart: float = 0.0) -> Page | Failure:
        """Fetches one URL, through a proxy if proxies are configured, and stores the response's cookies in
        the identity. `apart`: the minimum number of seconds between two tries that reach the host."""

        async def go(proxy: str | None = None, goes_on: Callable[[], bool] = lambda: True) -> Page | Failure:
            headers, guise = self.identity.lend(request)
            if proxy is not None:
                guise = msgspec.structs.replace(guise or Guise(), proxy=proxy)
            sent = request
            if self.prepare is not None:
                prepared = self.prepare(request, headers)
                if isinstance(prepared, Failure):
                    return msgspec.structs.replace(prepared, rung=self.name)
                sent, headers = prepared
            result = await self.collector.collect(sent, headers, guise)
            if isinstance(result, Failure):
                return msgspec.structs.replace(result, rung=self.name)
            result.rung = self.name
            if sent is not request:
                result.url = request.url
            if goes_on():
                self.identity.took(result, guise)
            return result

        if self.proxies is not None:
            return await self.proxies.through(request, go, apart)
        if request.proxy:
            detail = f"it needs a {request.proxy} proxy, but the crawl has no proxies: give --proxies FILE"
            return Failure("proxy", detail, CLOCK.now(), 0.0, final=True, sent=False)
        return await go()

    def keep_cookies(self, request: Request, headers: Mapping[str, str]) -> None:
        """Adds cookies to the identity, namely the cookies that the headers of a request contain. The effect
        is the same as if a response of the host had set these cookies."""
        set_cookie = [
            ("set-cookie", f"{one.strip()}; Path=/")
            for name, value in headers.items()
            if name.lower() == "cookie"
            for one in value.split(";")
        ]
        if set_cookie:
            page = Page(request.url, 200, set_cookie, b"", CLOCK.now(), 0.0, 0)
            self.identity.took(page, self.identity.lend(request).guise)

    def blocked(self, page: Page, block: Block, host: str) -> None:
        """Reports a block page to the proxies. Empty pages and log-in pages are not reported, because they do
        not show that the proxy's address is blocked."""
        if self.proxies is not None and page.proxy is not None and block.kind not in ("empty", "login"):
            self.proxies.blocked(page.proxy, host)


class CrawlRungs(Protocol):
    """The rungs of a crawl (`collector_setup`). `given` returns the headers that the user has configured for
    the request. `held` maps the name of each site with a log-in to the rungs that use the site's accounts.
    `disguised`: whether browsers run with a disguised profile. `pages` returns the rung of a request."""

    @property
    def given(self) -> Given: ...
    @property
    def held(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def disguised(self) -> bool: ...
    def pages(self, request: Request) -> Rung: ...


Rungs = Callable[[Request], Rung]
"""A function that returns the rung for a request."""
Allowed = Callable[[Request], tuple[str, ...]]
"""A function that returns the names of the rungs that a request may use, with the cheapest rung first."""


class NoIdentity:
    """An identity without headers and cookies of its own, used for robots.txt."""

    def lend(self, request: Request) -> Lent:
        """Returns the headers of the request."""
        return Lent(dict(request.headers or {}))

    def took(self, page: Page, guise: Guise | None) -> None:
        """Does nothing."""

    def forget(self, domain: str) -> None:
        """Does nothing."""


class UserHeadersIdentity:
    """An identity with the user's headers but without cookies, because an unlocker manages the sessions
    itself."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def lend(self, request: Request) -> Lent:
        """Returns the user's headers."""
        return Lent(dict(self._given(request)))

    def took(self, page: Page, guise: Guise | None) -> None:
        """Does nothing."""

    def forget(self, domain: str) -> None:
        """Does nothing."""


RENDERING = "rendering"
TO_PEOPLE = ("login",)
"""Kinds of blocks that a different rung cannot avoid."""
TO_OWNERS = (407, 451)
"""HTTP statuses that a different identity cannot avoid. The cause of status 407 is a proxy, and the cause of
status 451 is a law."""


class RungMemory(Protocol):
    """Stores what the fleet has learned about the rungs of each host (`state.learned_rungs`). The record of a
    host is a JSON text (`politeness.ladder.Ladder`). `learn` replaces the record with `change(record)`, and
    returns the new record."""

    async def known(self, host: str) -> str: ...

    async def learn(self, host: str, change: Callable[[str], str]) -> str: ...


class Climb:
    """Tracks how one visit climbs the ladder of rungs.

    `request`: the visit's request with the name of the current rung. `tried`: how many times the URL was
    retried before this visit. `left`: whether the URL has a retry left. `patience`: the time limit for the
    start of a higher rung, in seconds from now.
    """

    def __init__(
        self,
        request: Request,
        rungs: tuple[str, ...],
        known: Learned,
        *,
        tried: int = 0,
        left: bool = True,
        patience: float = 30.0,
    ) -> None:
        self.began, self.probes = ladder.start_rung(known, rungs)
        self.request = msgspec.structs.replace(request, rung=self.began)
        self.kind = self.why = ""
        self.rested = False
        """Whether the host must not get further requests for some time (`ladder.rest_seconds`). If the host
        must not get further requests, the visit does not continue on a higher rung."""
        self.late: str | None = None
        """If the visit needs a higher rung, and this rung can no longer start in time, `late` is the name of
        the rung. Otherwise, `late` is None."""
        self.below: tuple[Page | Failure, Verdict] | None = None
        """The result and the verdict of the visit's request on the next lower rung, or None."""
        self._rungs, self._known, self._tried, self._left = rungs, known, tried, left
        self._until, self._rest = time.monotonic() + patience, 0.0

    def higher(self, result: Page | Failure, block: Block | None, waits: float, pause: float = 0.0) -> bool:
        """Returns whether the visit continues on the next higher rung after this response. `pause`: the
        number of seconds until the higher rung can start. `waits`: the number of seconds that the server
        asked the crawler to wait. A visit does not climb after a failure. If the server asked the crawler to
        wait, a visit climbs only if the visit is a probe of a lower rung."""
        self.kind, self.rested, self.late = block_kind(result, block, self._rungs), False, None
        if not self.kind:
            return False
        rung = self.request.rung or self.began
        self.why = f"{rung}: {block.line() if block is not None else _unrendered(result)}"
        if waits and not self.probes:
            self.rested = self.kind == "rate-limit"
            return False
        rest = ladder.rest_seconds(self._known, rung, self.kind, self._tried)
        if rest and (self._left or self.kind == "rate-limit"):
            self.rested, self._rest = True, rest if self._left else 0.0
            return False
        up = ladder.climb(self._known, self._rungs, rung, self.kind)
        if up is None:
            return False
        if time.monotonic() + pause > self._until:
            self.late = up
            return False
        self.request = msgspec.structs.replace(self.request, rung=up)
        return True

    @property
    def may_render(self) -> bool:
        """Whether the visit can still climb to the browser rung."""
        rung = self.request.rung or self.began
        return BROWSER in self._rungs and RUNGS.index(rung) < RUNGS.index(BROWSER)

    def verdict(self, verdict: Verdict) -> Verdict:
        """Returns the final verdict of the visit. The final verdict is a retry if the host must get no
        requests for a while, or if the higher rung could not start in time. In all other cases, `verdict` is
        returned unchanged."""
        if self.rested and self._rest:
            reason = "rate-limited" if self.kind == "rate-limit" else "blocked"
            return Retry(reason, self.why, max(self._rest, getattr(verdict, "after", 0.0)))
        return (
            Retry("blocked", self.why) if self.late and self._left and isinstance(verdict, Done) else verdict
        )

    def result_below(self, result: Page | Failure) -> tuple[Page | Failure, Verdict] | None:
        """If the higher rung could not make its request, returns the result and the verdict of the lower
        rung. Otherwise, returns None."""
        had = not isinstance(result, Failure) or (result.later is None and result.sent)
        return None if had else self.below


class Climbing:
    """Creates one `Climb` per visit, in a crawl with more than one rung. `patience`: the time limit for the
    start of a higher rung, in seconds after the start of the visit. `lanes`: moves a host back to its usual
    lane when the host's pages no longer need a browser."""

    def __init__(
        self, memory: RungMemory, allowed: Allowed, patience: float = 30.0, lanes: LaneRouter | None = None
    ) -> None:
        self._memory, self._allowed, self._patience, self._lanes = memory, allowed, patience, lanes

    async def begin(self, request: Request, host: str, *, tried: int = 0, left: bool = True) -> Climb | None:
        """Returns the `Climb` for a new visit, or None if the request may use only one rung."""
        rungs = self._allowed(request)
        if len(rungs) < 2:
            return None
        held = Ladder.of(await self._memory.known(host))
        if held.fixed in rungs:
            rungs = (held.fixed,)
        known = held.known(split(request.url)[2])
        return Climb(request, rungs, known, tried=tried, left=left, patience=self._patience)

    async def end(self, climb: Climb, claim: Claim, result: Page | Failure) -> None:
        """Updates the record of a host's rungs with the result of a visit. If the request failed, the record
        does not change."""
        if isinstance(result, Failure):
            return
        rung = climb.request.rung or climb.began
        served = not climb.kind or (climb.kind == RENDERING and RUNGS.index(rung) >= RUNGS.index(BROWSER))
        learned = partial(
            ladder.after,
            path=split(climb.request.url)[2],
            began=climb.began,
            got=rung if served else climb.late,
            why=climb.why,
            rested=climb.rested,
        )
        text = await self._memory.learn(claim.host, lambda text: learned(Ladder.of(text)).text())
        if (
            self._lanes is not None
            and (rung == BROWSER or climb.probes)
            and BROWSER not in Ladder.of(text).rungs()
        ):
            await self._lanes.home(claim)


def block_kind(result: Page | Failure, block: Block | None, rungs: tuple[str, ...]) -> str:
    """Returns the kind of a block. Returns '' if the response is not a block, or if a higher rung cannot
    avoid the block. The kind `rendering` means that the page is empty until a browser has run its scripts
    (`Page.unrendered`)."""
    if isinstance(result, Failure):
        return ""
    if block is not None and block.kind not in TO_PEOPLE:
        return block.kind if not block.bare or result.status not in TO_OWNERS else ""
    return RENDERING if BROWSER in rungs and block is None and result.unrendered else ""


def _unrendered(result: Page | Failure) -> str:
    return f"the page is empty without scripts: {getattr(result, 'unrendered', '')}"

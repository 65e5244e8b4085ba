"""Makes the requests of a visit. A visit first requests the page. The request may be repeated after a cookie
bounce or with the help of a captcha hook. After a block, the request may be repeated on higher rungs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.blocks import Block
from gossamer.blocks.site_rules import seen_by
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import AGAIN, CLIMBED, Done, Drop, Later, Redirected, Verdict
from gossamer.model.visit import Attempt, Claim
from gossamer.model.wall_clock import CLOCK
from gossamer.url.redirects import redirect_target
from gossamer.worker import conditional_get
from gossamer.worker.climbing import Climb, Climbing, Rungs
from gossamer.worker.decide import decide
from gossamer.worker.robots_gate import HostTreatment
from gossamer.worker.routing import LaneRouter

if TYPE_CHECKING:
    from gossamer.worker.login_session import LoggedInFetcher
    from gossamer.worker.reader import Reader

SOLVED = ("captcha", "challenge")
"""The kinds of blocks for which a site's captcha hook is called."""

Note = Callable[[Page | Failure, str, str | None], list[Attempt]]
Solve = Callable[[Page, Request], Awaitable[Mapping[str, str]]]


class Fetched(NamedTuple):
    """The result of a visit's requests.

    `result`: the last response or failure. `verdict`: the verdict for `result`. `began`: the monotonic time
    at which the last request was sent. The other fields describe all requests of the visit except the last
    request. `attempts`: the attempts-log entries of these requests. `wire`: the number of body bytes received
    for these requests. `passed`: the pages received for these requests.
    """

    result: Page | Failure
    verdict: Verdict
    began: float
    attempts: list[Attempt]
    wire: int
    passed: list[Page]


class SiteHelps(NamedTuple):
    """What the site files of a crawl add to its requests. `solve`: returns the headers that a site's captcha
    hook supplies, or {}. `members`: fetches pages with logged-in accounts. `by`: the digest of the site files
    that read the pages (`conditional_get.site_versions`)."""

    solve: Solve | None = None
    members: LoggedInFetcher | None = None
    by: str = ""


NO_HELPS = SiteHelps()


class Fetching:
    """Makes the requests of one crawl's visits.

    - `treat`: maps a host to its treatment.
    - `reader`: looks at a page before it is read.
    - `same`: returns whether two URLs have the same canonical form.
    - `climbing`: starts the climb of a visit up the ladder, or None if the ladder has only one rung.
    - `helps`: what the site files of the crawl add.
    - `lanes`: moves hosts to workers with a browser if this worker has no browser.
    - `short(what)`: called when a request failed because this process ran short of a resource.
    """

    def __init__(
        self,
        rungs: Rungs,
        treat: Callable[[str], HostTreatment],
        reader: Reader,
        *,
        same: Callable[[str, str], bool],
        climbing: Climbing | None = None,
        helps: SiteHelps = NO_HELPS,
        lanes: LaneRouter | None = None,
        short: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._rungs, self._treat, self._same, self._climbing = rungs, treat, same, climbing
        self._lacks, self._shows, self._unrendered = reader.lacks, reader.shows, reader.unrendered
        self._solve, self._members, self._by = helps
        self._lanes, self.short = lanes, short

    async def fetch(self, claim: Claim, note: Note) -> Fetched:
        """Makes all requests of a visit. `note` returns the attempts-log entries of one request."""
        climb, request = await self._climb(claim), claim.request
        attempts, passed, wire, bounced, helped = list[Attempt](), list[Page](), 0, False, False
        while True:
            began = time.monotonic()
            if climb is not None:
                request = climb.request
            if (away := await self._away(claim, request)) is not None:
                return Fetched(away, Later(0.0), began, attempts, wire, passed)
            result, verdict, block = await self._collect(claim, request, climb, attempts)
            next_at = began + result.lag + max(claim.delay, claim.floor)
            outcome = ""
            if isinstance(verdict, Redirected) and verdict.again:
                if bounced:
                    verdict = Drop(error="redirect-loop", detail=f"it leads to itself: {verdict.target}")
                    break
                bounced, outcome = True, AGAIN
            elif not helped and (better := await self._helped(request, result, block)) is not None:
                helped, outcome, request = True, AGAIN, better
                if climb is not None:
                    climb.request = request
            elif climb is not None and climb.higher(
                result, block, retry_after_seconds(verdict), next_at - time.monotonic()
            ):
                climb.below, outcome = (result, verdict), CLIMBED
            else:
                break
            attempts += note(result, outcome, _why(verdict))
            passed += [result] if isinstance(result, Page) else []
            wire += result.wire
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))
        if climb is not None and self._climbing is not None:
            if (below := climb.result_below(result)) is not None:
                (result, verdict), _ = below, attempts.pop()
                passed, wire = [one for one in passed if one is not result], wire - result.wire
            else:
                verdict = climb.verdict(verdict)
                await self._climbing.end(climb, claim, result)
        return Fetched(result, verdict, began + result.lag, attempts, wire, passed)

    async def _away(self, claim: Claim, request: Request) -> Failure | None:
        """If this worker does not have the rung that the request needs, moves the host to workers that have
        the rung and returns a failure. Otherwise returns None."""
        if self._lanes is None or not self._rungs(request).elsewhere:
            return None
        await self._lanes.away(claim)
        return Failure("filter", "workers with a browser get it", CLOCK.now(), 0.0, sent=False, later=0.0)

    async def _climb(self, claim: Claim) -> Climb | None:
        if self._climbing is None:
            return None
        left = claim.attempt < len(self._treat(claim.host).retries)
        return await self._climbing.begin(claim.request, claim.host, tried=claim.attempt, left=left)

    async def _collect(
        self, claim: Claim, request: Request, climb: Climb | None, attempts: list[Attempt]
    ) -> tuple[Page | Failure, Verdict, Block | None]:
        rung = self._rungs(request)
        asked = (
            request
            if request.known is None
            else conditional_get.make_conditional(request, rung.name, self._by)
        )
        if self._members is not None:
            result = await self._members.get(claim, asked, rung, attempts)
        else:
            result = await rung.collect(asked, max(claim.delay, claim.floor))
        target, same, block = None, False, None
        if isinstance(result, Failure) and result.short:
            self.short(result.short)
        if isinstance(result, Page):
            read = climb is None and result.status < 300 and not (request.use or "").startswith("@")
            shows = partial(self._shows, claim, result) if read else None
            own = self._treat(claim.host).blocks
            block = seen_by(
                own, result.status, result.headers, result.body, result.url, shows, result.settled
            )
            if block is not None:
                rung.blocked(result, block, claim.host)
            if (location := result.location) is not None:
                target = redirect_target(location, result.url)
                same = target is not None and self._same(target, request.url)
        verdict = decide(request, result, target, same, block)
        if isinstance(result, Page):
            if block is None and verdict == Done() and climb is not None:
                block = await self._missing(claim, request, result)
                if block is None and climb.may_render:
                    result.unrendered = self._unrendered(claim, result)
            result.block = block.line() if block is not None else None
        return result, verdict, block

    async def _missing(self, claim: Claim, request: Request, page: Page) -> Block | None:
        """Returns a block if required content is missing from a page, because the server may have sent a
        substitute page. A request on a higher rung may return the real page."""
        if page.status >= 300 or (request.use or "").startswith("@"):
            return None
        if not (query := await self._lacks(claim, page)):
            return None
        return Block("generic", "missing", (f"must_have: {query}",))

    async def _helped(self, request: Request, result: Page | Failure, block: Block | None) -> Request | None:
        """Calls the site's captcha hook after a captcha or challenge. Returns the request with the headers
        that the hook supplies, or None if the hook supplies no headers."""
        if self._solve is None or block is None or block.kind not in SOLVED or isinstance(result, Failure):
            return None
        # an unlocker does not send the hook's cookies, and each request costs money
        if result.rung == "unlocker":
            return None
        if not (given := await self._solve(result, request)):
            return None
        self._rungs(request).keep_cookies(request, given)
        headers = {name: value for name, value in given.items() if name.lower() != "cookie"}
        return msgspec.structs.replace(request, headers={**(request.headers or {}), **headers} or None)


def retry_after_seconds(verdict: Verdict) -> float:
    """Returns the number of seconds that the server asked the crawler to wait."""
    return getattr(verdict, "after", 0.0)


def _why(verdict: Verdict) -> str | None:
    if isinstance(verdict, Redirected):
        return None
    return getattr(verdict, "reason", None) or getattr(verdict, "error", None)

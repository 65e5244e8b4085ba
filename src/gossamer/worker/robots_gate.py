"""Decides whether a claim may be visited. A visit is refused if robots.txt disallows the URL, or if the host
was given up. The worker fetches, caches and evaluates robots.txt. The frontier stores the rules of
robots.txt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer.blocks import block
from gossamer.blocks.site_rules import Blocks
from gossamer.errors import GossamerError, own_limit
from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.page import Failure, Page
from gossamer.model.request import FILE, Request, split
from gossamer.model.verdict import ClaimEnd, Drop, HostHealth
from gossamer.model.visit import Claim, Settle
from gossamer.model.wall_clock import CLOCK
from gossamer.politeness import pace, robots_access
from gossamer.politeness.breaker import HostTrouble, health
from gossamer.politeness.robots import Robots
from gossamer.url.redirects import redirect_target
from gossamer.worker.climbing import Allowed, Rungs
from gossamer.worker.decide import retry_after, retry_delay

if TYPE_CHECKING:
    from gossamer.identity.cookies import Jar

MAX_REDIRECTS = 5
LOGIN_ROBOTS_RETRY_S = 60.0
"""If a log-in needs a robots.txt that was unreachable, gossamer requests this robots.txt again after this
number of seconds."""
MAX_CACHED_FILES = 10_000
"""Maximum number of parsed robots.txt files that are cached."""


class HostTreatment(NamedTuple):
    """The settings for a host. `retries`: the delay in seconds before each retry. `fixed`: the fixed delay
    between requests, or None. `obey`: whether robots.txt is obeyed. `blocks`: the rules for detecting block
    pages."""

    retries: tuple[float, ...]
    fixed: pace.Delay | None
    obey: bool = True
    blocks: Blocks = True


def given_up(host: str, trouble: HostTrouble) -> Drop:
    """Returns the end of a URL whose host was given up, maybe by an earlier crawl. No request is made."""
    since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(time.time() - trouble.failing))
    return Drop(
        error="given-up",
        detail=f"not requested: {host} has failed since {since} ({trouble.given_up}); to try again at once: "
        f"gossamer host resume {host}, then gossamer dead requeue CRAWL --reason given-up",
    )


class RobotsGate:
    """Fetches and evaluates robots.txt.

    - `rungs`: returns the rung of a request. The collectors of the returned rungs read at most 500 KiB of a
      response.
    - `agent`: the product token that is compared with the user-agent groups of robots.txt.
    - `usual`: the treatment of a host that has no rules of its own. `treat`: returns the treatment of a host,
      or None if all hosts are treated alike.
    - `opens`: returns whether the crawler may connect to the port of `host[:port]`.
    - `ladder`: the rungs on which robots.txt may be fetched, cheapest first.
    - `files`: whether files of items are downloaded.
    """

    def __init__(
        self,
        frontier: FrontierVerbs,
        rungs: Rungs,
        *,
        agent: str,
        usual: HostTreatment,
        treat: Callable[[str], HostTreatment] | None = None,
        opens: Callable[[str], bool] = lambda host: True,
        ladder: Allowed = lambda request: ("plain",),
        files: bool = True,
    ) -> None:
        self._opens, self._ladder, self._files = opens, ladder, files
        self._frontier, self._rungs, self._agent = frontier, rungs, agent
        self.treat = treat or (lambda _: usual)
        """A function that returns the treatment of a host (`HostTreatment`)."""
        self._known: dict[tuple[str, str], tuple[int, Robots]] = {}
        self._beside: dict[tuple[str, str], tuple[float, robots_access.Access]] = {}

    async def refuse(self, claim: Claim) -> Drop | None:
        """Returns the reason why a claim must not be visited, or None if the visit is allowed."""
        if claim.request.use == FILE and not self._files:
            return Drop(skip="filter", detail="--files off")
        if claim.trouble and (trouble := HostTrouble.of(claim.trouble)).given_up:
            reason, ended, detail = trouble.given_up.partition("\t")
            return Drop(error=reason, detail=detail) if ended else given_up(claim.host, trouble)
        if claim.robots in (0, robots_access.OPEN) or not self.treat(claim.host).obey:
            return None
        if claim.robots < 0:
            return robots_access.CLOSED.get(claim.robots, robots_access.CLOSED[robots_access.UNREACHABLE])
        scheme = "s" if claim.request.url.startswith("https:") else "h"
        version, robots = self._known.get((scheme, claim.host), (0, None))
        if robots is None or version != claim.robots:
            kept = await self._frontier.rules(claim.bucket, claim.host, scheme)
            # the rules have expired in the store since the URL was claimed, so the rules are unknown
            if kept is None:
                return robots_access.CLOSED[robots_access.UNREACHABLE]
            robots = robots_access.rules(kept)
            self._keep(scheme, claim.host, claim.robots, robots)
        if robots.allows(self._agent, claim.request.url):
            return None
        return Drop(skip="robots", detail=robots.rule(self._agent, claim.request.url) or "")

    def _keep(self, scheme: str, host: str, version: int, robots: Robots) -> None:
        """Caches the parsed rules of an origin for later claims."""
        if len(self._known) >= MAX_CACHED_FILES:
            self._known.clear()
        self._known[scheme, host] = (version, robots)

    async def refuse_url(
        self, claim: Claim, url: str, note: Callable[[Page | Failure, str], None] = lambda _result, _url: None
    ) -> Drop | None:
        """Checks an additional URL before a visit requests the URL during a log-in. Returns the reason why
        this request is refused, or None if the request is allowed.

        If the additional URL has a different origin than the claim's URL, the robots.txt of this origin is
        fetched and cached. `note` is called with the result of fetching this robots.txt, and with its URL.
        """
        scheme, host, _ = split(url)
        if "@" in host or not self._opens(host):
            return Drop(skip="scope", detail=f"the port of {host} is not open: --allow-port")
        if not self.treat(host).obey:
            return None
        if (scheme, host) == split(claim.request.url)[:2]:
            return await self.refuse(msgspec.structs.replace(claim, request=Request(url)))
        until, found = self._beside.get((scheme, host), (0.0, robots_access.Access()))
        if until <= time.monotonic():
            file = f"{scheme}://{host}/robots.txt"
            result, _ = await self._follow(msgspec.structs.replace(claim, request=Request(file)))
            note(result, file)
            found = robots_access.access(result, self._agent, None, 0)
            holds = LOGIN_ROBOTS_RETRY_S if found.version in robots_access.UNREACHABLES else found.holds
            self._beside[scheme, host] = time.monotonic() + holds, found
        if found.version < 0:
            return robots_access.CLOSED[found.version]
        if found.version == robots_access.OPEN or (robots := robots_access.rules(found.rules)).allows(
            self._agent, url
        ):
            return None
        return Drop(skip="robots", detail=robots.rule(self._agent, url) or "")

    async def fetch(self, claim: Claim) -> tuple[Page | Failure, float, robots_access.Access]:
        """Fetches the robots.txt of an origin for a robots claim, and stores the outcome in the frontier.
        Returns the last response, the monotonic time at which the last request was sent, and the outcome."""
        try:
            result, began = await self._follow(claim)
        except (OSError, MemoryError, RuntimeError, GossamerError) as error:
            if not (short := own_limit(error)):
                raise
            result, began = (
                Failure("connect", f"short of {short}", CLOCK.now(), 0.0, sent=False, later=1.0, short=short),
                time.monotonic(),
            )
        if isinstance(result, Failure) and result.later is not None:
            await self.give_back(claim, result.later)
            return result, began, robots_access.Access(holds=0.0)
        treatment = self.treat(claim.host)
        wait = retry_delay(claim.robots, treatment.retries)
        found = robots_access.access(result, self._agent, wait, 0)
        if (not found.holds or found.version in robots_access.UNREACHABLES) and (
            stale := await self._stale(claim)
        ):
            found = robots_access.access(result, self._agent, wait, stale)
        slow = isinstance(result, Page) and result.status in (429, 503)
        now_pace = pace.after(pace.parse(claim.pace), result.elapsed, slow)
        asked = retry_after(result.header("retry-after")) if isinstance(result, Page) and slow else 0.0
        said, why = robots_health(result)
        settle = Settle(
            claim.token,
            ClaimEnd.DONE,
            since=round((time.monotonic() - began) * 1000),
            delay=round(pace.delay(now_pace, treatment.fixed) * 1000),
            pace=now_pace.text(),
            host_wait=round(max(found.wait, asked if not found.holds else 0.0) * 1000),
            health=said,
            reason=why,
        )
        await self._frontier.robots(
            claim,
            version=found.version,
            holds=round(found.holds * 1000),
            crawl_delay=round(found.crawl_delay * 1000),
            settle=settle,
            rules=found.rules,
        )
        if found.parsed is not None:
            scheme = "s" if claim.request.url.startswith("https:") else "h"
            self._keep(scheme, claim.host, found.version, found.parsed)
        return result, began, found

    async def give_back(self, claim: Claim, wait: float) -> None:
        """Requeues a robots claim without fetching robots.txt. No request is sent to the host for the next
        `wait` seconds."""
        settle = Settle(claim.token, ClaimEnd.DONE, delay=0, host_wait=round(wait * 1000))
        await self._frontier.robots(claim, version=0, holds=0, crawl_delay=0, settle=settle)

    async def _follow(self, claim: Claim) -> tuple[Page | Failure, float]:
        """Fetches a robots.txt and follows up to MAX_REDIRECTS redirects, even to other hosts (RFC 9309
        section 2.3.1.2). The egress guard checks each redirect target. Cookies that a redirect sets are sent with
        the next request, because a wall of cookies redirects to the same URL until it gets its cookie.

        All requests are made within one robots claim, which occupies one slot of the host. The delay of the
        claim's host applies between two requests. Returns the last result and the monotonic time at which the
        last request was sent.
        """
        result, began = await self._got(claim, claim.request, time.monotonic())
        jar: Jar | None = None
        for _ in range(MAX_REDIRECTS):
            if isinstance(result, Failure) or result.location is None:
                break
            target = redirect_target(result.location, result.url)
            if target is None:
                break
            host = split(target)[1]
            if "@" in host or not self._opens(host):
                break
            for name, value in result.headers:
                if name == "set-cookie":
                    if jar is None:
                        from gossamer.identity.cookies import Jar  # few hosts have such a wall

                        jar = Jar()
                    jar.take(result.url, value.encode("latin-1", "replace"))
            sent = jar.header(target) if jar is not None and result.rung == "plain" else ""
            asked = Request(target, headers={"Cookie": sent} if sent else None)
            result, began = await self._got(claim, asked, began + result.lag + max(claim.delay, claim.floor))
        return result, began + result.lag

    async def _got(self, claim: Claim, request: Request, at: float) -> tuple[Page | Failure, float]:
        """Waits until the monotonic time `at`, then makes one request. If the response is a block page, the
        request is repeated on the next higher rung, because a block page does not contain the rules of the
        site."""
        rungs, below = self._ladder(request), list[Page | Failure]()
        for rung in rungs:
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            began = time.monotonic()
            asked = msgspec.structs.replace(request, rung=rung)
            result = await self._rungs(asked).collect(asked, max(claim.delay, claim.floor))
            if isinstance(result, Failure) or rung == rungs[-1]:
                break
            found = block(result.status, result.headers, result.body, result.url)
            if found is None:
                break
            result.block = found.line()
            below.append(result)
            at = began + result.lag + max(claim.delay, claim.floor)
        return (msgspec.structs.replace(result, before=(*below, *result.before)) if below else result), began

    async def _stale(self, claim: Claim) -> int:
        """Returns the version of the expired rules that the frontier still stores, or 0 if the frontier
        stores no rules. The store deletes rules after 48 hours."""
        scheme = "s" if claim.request.url.startswith("https:") else "h"
        kept = await self._frontier.rules(claim.bucket, claim.host, scheme)
        return robots_access.version_of(kept) if kept is not None else 0


def robots_health(result: Page | Failure) -> tuple[HostHealth, str]:
    """Returns the health of a host and the reason (`politeness.breaker`), derived from the result of a robots
    claim."""
    if isinstance(result, Failure):
        return health(result.reason, None, final=result.final), result.reason
    return health("http-5xx" if result.status >= 500 else None, result.status), "http-5xx"

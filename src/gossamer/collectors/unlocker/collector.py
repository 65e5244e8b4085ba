"""The unlocker rung: fetches a page through the API of a provider, within the credits that all workers share.

Credits are reserved before a call and settled after it. Each call opens a new connection, because curl may
send a request twice over a reused connection. Each call uses the timeout that the provider recommends. If a
call gets no response, its reserved credits count as spent, because the provider may charge for it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol
from urllib.parse import quote

from gossamer import url as urls
from gossamer.collectors.http.collector import AddressResolver
from gossamer.collectors.http.transfer import ACCEPT, content_type, content_type_gate
from gossamer.collectors.unlocker.interface import (
    BANNED,
    BUSY,
    CREDIT,
    KEY,
    NEEDS,
    RETRY,
    TARGET,
    ApiAnswer,
    ApiCall,
    Call,
    FetchedPage,
    Refusal,
)
from gossamer.collectors.unlocker.providers import ChosenUnlocker
from gossamer.config.redaction import MASK, Secret, mask
from gossamer.errors import ConfigError, CrawlFailed, NoCredit
from gossamer.model.interfaces import Collector
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request, split
from gossamer.model.wall_clock import CLOCK

MAX_PROBES = 3
"""The crawl fails after the provider's circuit breaker has become half-open this many times in a row. The
breaker becomes half-open 30 s, 60 s and 120 s after it opened."""
BUSY_PAUSE_S = 5.0
"""Seconds for which a request waits after the provider refuses a call with BUSY or BANNED, if the provider
does not specify the wait. If the provider's circuit breaker stays open for longer, the request waits as long
as the circuit breaker is open."""
CREDIT_CHECK_INTERVAL_S = 300.0
"""Maximum number of seconds after which a postponed request is tried again, for example when the credits are
used up. Messages that explain why no calls are made are at least this many seconds apart."""
FAULT, SHUT, GOOD, NOTHING = "f10,30000,900000", "f1,30000,900000", "g", ""
"""The effects that a call can have on the provider's circuit breaker, in the notation of `breaker.lua`. FAULT
opens the circuit breaker after the tenth failed call in a row, for 30 s at first and for at most 15 min. SHUT
opens the circuit breaker after a single failed call, because the failure does not depend on the page. GOOD
closes the circuit breaker. NOTHING leaves the circuit breaker unchanged."""
BREAKER_EFFECTS = {
    RETRY: FAULT,
    BUSY: FAULT,
    KEY: SHUT,
    CREDIT: SHUT,
    BANNED: SHUT,
    TARGET: GOOD,
    NEEDS: GOOD,
}


class ReservedCredits(Protocol):
    """See `state.credits`."""

    @property
    def token(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def wait(self) -> float: ...


class BreakerState(Protocol):
    """See `state.credits`."""

    @property
    def wait(self) -> float: ...
    @property
    def openings(self) -> int: ...


class CreditAccount(Protocol):
    """The account from which credits are reserved and repaid (`state.credits`)."""

    async def reserve(self, most: int) -> ReservedCredits: ...
    async def repay(self, token: str, cost: int | None, health: str, why: str = "") -> BreakerState: ...


class UnlockerUse(NamedTuple):
    """How a crawl uses an unlocker. `most`: the maximum number of body bytes. `say`: called at intervals with
    a message that explains why no calls are made. `wanted`: takes a host and returns the unlocker options of
    the host's site. `alone`: whether the crawl fetches all pages with this collector. If `alone` is true, the
    crawl ends when the credits are used up."""

    most: int = 32 << 20
    say: Callable[[str], None] = lambda _: None
    wanted: Callable[[str], str] = lambda _: ""
    alone: bool = True


SOLE_USE = UnlockerUse()


class UnlockerCollector:
    """Collects pages through one provider. `http` calls the provider's API. `resolver` checks the targets.
    `use`: how the crawl uses the collector."""

    def __init__(
        self,
        chosen: ChosenUnlocker,
        key: Secret,
        http: Collector,
        purse: CreditAccount,
        resolver: AddressResolver,
        use: UnlockerUse = SOLE_USE,
    ) -> None:
        self.chosen, self._key, self._http, self._account, self._resolver = chosen, key, http, purse, resolver
        self._most, self._say, wanted, self._alone = use
        self._of_host = lru_cache(10_000)(lambda host: chosen.also(wanted(host)))
        self._said_at = float("-inf")
        # further calls of this process wait here without querying the store
        self._places = asyncio.Semaphore(chosen.with_late)
        self.name, self.timeout = chosen.provider.name, chosen.timeout
        self.spent = False
        """Whether the crawl's credits are used up."""

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: object = None
    ) -> Page | Failure:
        """Fetches one page. If the request is postponed, returns a failure whose `later` is set. Raises
        ConfigError if the provider refuses the key, and NoCredit if the account has no credit left."""
        one = self._of_host(split(request.url)[1])
        needs = one.wanted(
            one.needs._replace(
                url=request.url,
                method=request.method,
                headers=headers,
                body=request.body,
                country=request.country or one.needs.country,
            )
        )
        try:
            call = self.chosen.provider.request(needs, self.chosen.endpoint, self._key.reveal())
        except ValueError as error:
            return self._failed("filter", str(error), final=True, sent=False)
        if request.proxy:
            return self._failed(
                "filter",
                "a request with a proxy cannot use an unlocker, which has its own proxies",
                final=True,
                sent=False,
            )
        if (refused := await self._refused(request.url)) is not None:
            return refused
        async with self._places:
            while True:
                got = await self._account.reserve(needs.cost)
                if not got.why:
                    return await self._called(request, needs, call, got.token)
                if got.why != "busy":
                    return self._later(got.why, got.wait)
                await asyncio.sleep(got.wait)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.close()

    async def _refused(self, url: str) -> Failure | None:
        """Returns a failure for private hosts and for names that do not exist, because a call for them would
        cost a credit."""
        if self.chosen.searches:
            return None
        authority = split(url)[1]
        found = self._resolver.known(authority) or await self._resolver.resolve(authority)
        if found.addresses or not found.final:
            return None
        return self._failed(found.reason, found.detail, final=True, sent=False)

    async def _called(self, request: Request, needs: ApiCall, call: Call, token: str) -> Page | Failure:
        answer = await self._http.collect(
            Request(call.url, method=call.method, body=call.body), dict(call.headers)
        )
        if isinstance(answer, Failure):
            return await self._unanswered(answer, needs, token)
        found = self.chosen.provider.answer(ApiAnswer(answer.status, answer.headers, answer.body), needs)
        if isinstance(found, Refusal):
            shut = await self._account.repay(token, found.credits, BREAKER_EFFECTS[found.kind], found.kind)
            return self._refusal(found, answer, shut)
        await self._account.repay(token, found.credits, GOOD)
        kind = content_type(found.headers)
        if found.status < 300 and not content_type_gate(ACCEPT)(kind):
            text = f"its content type is {kind[:100]}"
            return self._failed("content-type", text, answer, final=True, cost=found.credits)
        if len(found.body) > self._most:
            text = f"the body is larger than {self._most} bytes"
            return self._failed("too-large", text, answer, final=True, cost=found.credits)
        return self._page(request, found, answer)

    async def _unanswered(self, answer: Failure, needs: ApiCall, token: str) -> Failure:
        """Handles a call that did not reach the provider or got no response."""
        shut = await self._account.repay(token, None if answer.sent else 0, FAULT, answer.reason)
        detail = f"no answer from {self.name}: {answer.detail}"
        self._hopeless(shut, detail)
        if shut.wait and not answer.sent:
            return self._later("open", shut.wait)
        reason = answer.reason if answer.reason in ("timeout", "too-large") else "blocked"
        return self._failed(reason, detail, answer, cost=needs.cost if answer.sent else 0)

    def _refusal(self, found: Refusal, answer: Page, shut: BreakerState) -> Failure:
        text = f"{self.name}: {found.detail}"
        if found.kind == KEY:
            raise ConfigError(self._clean(f"{text}: see the settings unlocker and unlocker_key"))
        if found.kind == CREDIT:
            raise NoCredit(self._clean(f"{text}: there is no credit left; the queue is kept"))
        self._hopeless(shut, text)
        if found.kind in (BUSY, BANNED):
            return self._later(found.kind, max(shut.wait, found.after or BUSY_PAUSE_S), answer)
        final = found.kind in (TARGET, NEEDS)
        return self._failed(found.reason or "blocked", text, answer, final=final, cost=found.credits)

    def _hopeless(self, shut: BreakerState, text: str) -> None:
        """Raises CrawlFailed if the provider has failed repeatedly. The crawl's queue is kept."""
        if shut.wait and shut.openings > MAX_PROBES:
            raise CrawlFailed(self._clean(f"{text}: it failed repeatedly; the queue is kept"))

    def _page(self, request: Request, found: FetchedPage, answer: Page) -> Page:
        body, key = found.body, self._key.reveal()
        for form in (key.encode(), quote(key, safe="").encode()) if key else ():
            body = body.replace(form, MASK.encode()) if form in body else body
        headers = [(name, self._clean(value, masked=False)) for name, value in found.headers]
        final = urls.parse(self._clean(found.url, masked=False)) if found.url else None
        url = final.partition("#")[0] if final and final.startswith(("http://", "https://")) else request.url
        status = found.status
        if (
            split(url)[1] != split(request.url)[1]
        ):  # the crawl, not the provider, decides whether a page on another host is in scope
            url, status, headers, body = request.url, 302, [("location", url)], b""
        return Page(
            url,
            status,
            headers,
            b"" if request.method == "HEAD" else body,
            answer.fetched_at,
            answer.elapsed,
            answer.wire,
            self.name,
            lag=answer.lag,
            credits=found.credits,
        )

    def _later(self, why: str, wait: float, answer: Page | None = None) -> Failure:
        """Returns the failure for a request that is postponed because the collector makes no calls for some
        time. The request itself does not change."""
        if why == "crawl":
            self.spent = True
            if not self._alone:
                return self._failed("budget", "the credits of this crawl are spent", final=True, sent=False)
        text = {
            "crawl": "the credits of this crawl are spent",
            "day": f"today's credits are spent; there are more in {wait / 60:.0f} min",
            "open": f"it failed; no calls for {wait:.0f} s",
            BANNED: f"it banned this client; no calls for {wait:.0f} s",
        }.get(why)
        if text and why != "crawl" and time.monotonic() - self._said_at > CREDIT_CHECK_INTERVAL_S:
            self._said_at = time.monotonic()
            self._say(f"{self.name}: {text}")
        return self._failed(
            "rate-limited",
            text or "too many calls at once",
            answer,
            later=min(wait, CREDIT_CHECK_INTERVAL_S),
            sent=answer is not None,
        )

    def _failed(
        self,
        reason: str,
        detail: str,
        answer: Page | Failure | None = None,
        *,
        final: bool = False,
        cost: int | None = None,
        later: float | None = None,
        sent: bool = True,
    ) -> Failure:
        return Failure(
            reason,
            self._clean(detail),
            answer.fetched_at if answer else CLOCK.now(),
            answer.elapsed if answer else 0.0,
            answer.wire if answer else 0,
            final,
            self.name,
            sent=sent,
            lag=answer.lag if answer else 0.0,
            credits=cost,
            later=later,
        )

    def _clean(self, text: str, masked: bool = True) -> str:
        """Masks the key in a text, in case the provider repeats the key."""
        key = self._key.reveal()
        for form in (key, quote(key, safe="")) if key else ():
            text = text.replace(form, MASK)
        return mask(text) if masked else text

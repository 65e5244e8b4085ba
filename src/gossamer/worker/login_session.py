"""Fetches pages with a logged-in account. Picks the account, logs it in if necessary, and repeats a request
if the account was logged out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from gossamer.blocks import needs_rendering
from gossamer.blocks.site_rules import Blocks, seen_by
from gossamer.errors import GossamerError
from gossamer.model.login import Account, Login, redact
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request, split
from gossamer.model.verdict import AGAIN, LOGIN
from gossamer.model.visit import Attempt, Claim
from gossamer.url import patterns
from gossamer.worker import records
from gossamer.worker.climbing import Rung, Rungs
from gossamer.worker.login_flow import (
    BROWSER,
    LoginAttempt,
    LoginResult,
    LoginRunner,
    PacedRequests,
    logged_out_sign,
    why_login_failed,
)

RENEW_INTERVAL_S = 8.0
"""While a worker logs in to an account, the worker renews its exclusive right to log in at intervals of this
number of seconds."""
OFTEN, TURNED = 2, 8
"""Limits for repeated requests. A request is repeated if another visit has changed the cookies of the
account. After OFTEN repeats of a request, the host of the request gets only one request at a time. TURNED is
the maximum number of repeats of a request."""


class Seat(NamedTuple):
    """An account that is lent to one visit. `rung`: the rung that uses the account's identity and proxy.
    `token` is set if this visit must log in to the account. `proof`: the URL of a page that shows whether the
    account is logged in."""

    account: Account
    rung: Rung
    version: int
    token: str = ""
    proof: str = ""


class AccountPool(Protocol):
    """The accounts of a site (`login_setup.SiteAccounts`). `turn` lends an account to a visit, or returns a
    failure if all accounts are busy. `on` returns the same lent account for use on another rung."""

    @property
    def site(self) -> str: ...
    @property
    def login(self) -> Login: ...
    @property
    def rungs(self) -> tuple[str, ...]: ...
    @property
    def domains(self) -> frozenset[str]: ...
    async def turn(self, host: str, rung: Rung, only: str = "") -> Seat | Failure: ...
    def on(self, seat: Seat, rung: Rung) -> Seat: ...
    async def renew(self, seat: Seat) -> None: ...
    async def entered(self, seat: Seat, headers: dict[str, str], proof: str) -> Seat | None: ...
    async def failed(self, seat: Seat, *, waits: bool) -> None: ...
    async def refused(self, seat: Seat, why: str) -> None: ...
    async def keep(self, seat: Seat) -> None: ...
    async def changed(self, seat: Seat, request: Request, sent: str) -> bool: ...
    async def lost(self, seat: Seat) -> bool: ...
    async def helped(self, seat: Seat) -> None: ...
    async def alone(self, host: str) -> None: ...


class LoggedInFetcher:
    """Fetches the pages of hosts that have accounts. `logins` returns the accounts of a host's site. `blocks`
    returns the rules for detecting a host's block pages. `rungs` returns the rung of a request."""

    def __init__(
        self,
        crawl: str,
        worker: str,
        logins: Callable[[str], AccountPool | None],
        entering: LoginRunner,
        blocks: Callable[[str], Blocks],
        rungs: Rungs,
    ) -> None:
        self._crawl, self._worker, self._clubs, self._login_runner = crawl, worker, logins, entering
        self._blocks, self._rungs = blocks, rungs

    async def get(self, claim: Claim, request: Request, rung: Rung, tell: list[Attempt]) -> Page | Failure:
        """Fetches a page. Appends to `tell` the attempts-log entries of all requests except the last request.
        Raises ConfigError if the site refuses every account."""
        club, walk = self._clubs(claim.host), PacedRequests(claim)
        if club is None or rung.name not in club.rungs:
            return await rung.collect(request, walk.apart)
        if patterns.found(club.login.avoid, split(request.url)[2], on_timeout=True):
            return Failure("filter", "it would log out (avoid=)", 0.0, 0.0, final=True, sent=False)
        only, again, fresh, turned = "", False, False, 0
        while True:
            seat = await club.turn(claim.host, rung, only)
            if isinstance(seat, Seat) and seat.token:
                came = await self._enter(claim, club, seat, walk, tell)
                if came is None:
                    only = ""  # the site may accept another account
                    continue
                fresh, seat = True, came
            if isinstance(seat, Failure):
                return _apart(seat, walk)
            sent = cookies_sent(seat, request)
            result = await walk.collect(seat.rung, request)
            await club.keep(seat)
            result = msgspec.structs.replace(result, session=seat.account.name)
            sign = "" if isinstance(result, Failure) else self._lost(club, result, claim.host, rung)
            if isinstance(result, Failure) or not sign:
                if again and fresh:
                    await club.helped(seat)
                return result
            if turned < TURNED and await club.changed(seat, request, sent):
                tell += self._noted(claim, result, AGAIN, "login")
                only, turned = seat.account.name, turned + 1
                if turned == OFTEN:
                    await club.alone(claim.host)
                continue
            if again or fresh or await self._in(claim, club, seat, walk, tell) or not await club.lost(seat):
                return _out(result, seat, sign, walk)
            tell += self._noted(claim, result, AGAIN, "login")
            only, again = seat.account.name, True

    def _lost(self, club: AccountPool, page: Page, host: str, rung: Rung) -> str:
        block = seen_by(
            self._blocks(host), page.status, page.headers, page.body, page.url, None, page.settled
        )
        above = rung.name != BROWSER and BROWSER in club.rungs and block is None
        if above and needs_rendering(page.status, page.headers, page.body, page.url):
            return ""  # the page is empty until its scripts have run, so the visit climbs to the browser
        return logged_out_sign(club.login, page, block)

    def _noted(self, claim: Claim, result: Page | Failure, outcome: str, error: str | None) -> list[Attempt]:
        made = [*records.earlier_tries(result), (result, outcome, error)]
        return [records.attempt(self._crawl, self._worker, claim, *one) for one in made]

    async def _in(
        self, claim: Claim, club: AccountPool, seat: Seat, walk: PacedRequests, tell: list[Attempt]
    ) -> bool:
        """Fetches the log-in's proof page, and returns whether the page shows that the account is still
        logged in. This check avoids a second log-in, because some sites lock an account that logs in
        twice."""
        if not seat.proof or await self._login_runner.gate.refuse_url(claim, seat.proof) is not None:
            return False
        request = Request(seat.proof)
        page = msgspec.structs.replace(await walk.collect(seat.rung, request), session=seat.account.name)
        await club.keep(seat)
        error = page.reason if isinstance(page, Failure) else None
        line = msgspec.structs.replace(claim, request=request, host=split(seat.proof)[1])
        tell += self._noted(line, page, LOGIN, error)
        if isinstance(page, Failure) or not 200 <= page.status < 300:
            return False
        return not self._lost(club, page, claim.host, seat.rung) and not (
            club.login.shows and why_login_failed(club.login, page)
        )

    async def _enter(
        self, claim: Claim, club: AccountPool, seat: Seat, walk: PacedRequests, tell: list[Attempt]
    ) -> Seat | Failure | None:
        """Logs in to an account. Returns None if the site refused the log-in, or if another worker is logging
        in to the same account."""
        enters, *above = (
            club.on(seat, self._rungs(Request(claim.request.url, rung=one))).rung for one in club.rungs
        )
        who = LoginAttempt(club.site, club.login, seat.account, enters, club.domains, next(iter(above), None))
        going_on = asyncio.create_task(_goes_on(club, seat))
        done: LoginResult | Failure | None = None
        try:
            done = await self._login_runner.enter(claim, who, walk, tell)
        finally:
            going_on.cancel()
            await asyncio.gather(going_on, return_exceptions=True)
            if not isinstance(done, LoginResult):
                await club.failed(seat, waits=done is not None or walk.posted)
        if isinstance(done, Failure):
            return done
        if done.refused:
            await club.refused(seat, redact(done.refused, who.secrets))
            return None
        return await club.entered(seat, done.headers, done.proof)


def cookies_sent(seat: Seat, request: Request) -> str:
    """Returns the value of the Cookie header that a request would send now."""
    headers = seat.rung.identity.lend(request).headers
    return next((value for name, value in headers.items() if name.lower() == "cookie"), "")


async def _goes_on(club: AccountPool, seat: Seat) -> None:
    while True:
        await asyncio.sleep(RENEW_INTERVAL_S)
        # if the store is unavailable, the next renewal is tried anyway
        with contextlib.suppress(GossamerError):
            await club.renew(seat)


def _apart(failure: Failure, walk: PacedRequests) -> Failure:
    """Returns the failure. If the failure postpones the visit, increases the wait to at least the host's
    delay."""
    return (
        failure
        if failure.later is None
        else msgspec.structs.replace(failure, later=max(failure.later, walk.apart))
    )


def _out(page: Page, seat: Seat, sign: str, walk: PacedRequests) -> Failure:
    """Returns the failure for a page that shows that the account is logged out. The visit fails, because
    another log-in would not help or is not allowed."""
    return Failure(
        "login",
        f"logged out as {seat.account.name}: {sign}",
        page.fetched_at,
        page.elapsed,
        page.wire,
        True,
        page.collector,
        page.status,
        lag=walk.lag,
        session=page.session,
        rung=page.rung,
        proxy=page.proxy,
        credits=page.credits,
    )

"""Builds the accounts of sites in one worker: resolves their secrets, and keeps their log-ins in the store.
Each log-in belongs to one identity and one proxy."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from gossamer import url as urls
from gossamer.app.job import Setup
from gossamer.blocks.site_rules import Blocks
from gossamer.config.secret_refs import secret
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.identity.account_identity import AccountIdentity
from gossamer.identity.browser_identity import BrowserAccount
from gossamer.identity.browsers import BROWSERS, browser_for, browsers_named, drivable
from gossamer.identity.encryption import PLAIN, Encryption
from gossamer.model.interfaces import Given
from gossamer.model.login import Account, Login
from gossamer.model.page import Failure
from gossamer.model.request import Request, split
from gossamer.model.wall_clock import CLOCK
from gossamer.proxies.proxy_rotation import Proxies, StickyProxy
from gossamer.sites import host_rules
from gossamer.state.logins import KnownAccount, Logins
from gossamer.store.store import Store
from gossamer.worker.climbing import CrawlRungs, Rung
from gossamer.worker.login_flow import LoginRunner
from gossamer.worker.login_session import LoggedInFetcher, Seat, cookies_sent
from gossamer.worker.robots_gate import HostTreatment, RobotsGate

IMPERSONATED, BROWSER = "impersonated", "browser"
MAX_TRIES = 5
COOKIE_CHECK_PAUSES_S = 0.0, 0.1, 0.3, 0.6
"""Seconds to wait before each check for cookies that another response may have changed."""


class Holding(msgspec.Struct):
    """This worker's local copy of an account. `bound`: the proxy that was used for the account's log-in.
    `stale`: whether the account's latest state is not yet written to the store."""

    member: AccountIdentity
    version: int
    revision: int
    bound: str = ""
    proof: str = ""
    stale: bool = False
    keeping: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class SiteAccounts:
    """The accounts of one site. `rungs`: the rungs that fetch the site's pages. The log-in takes place on the
    first rung in `rungs`. `made`: a function that takes an account's name and the version of its log-in, and
    returns the identity for this log-in. Each log-in first calls `made`. `lent`: returns a rung that uses the
    account's identity."""

    def __init__(
        self,
        site: str,
        login: Login,
        hosts: Sequence[str],
        rungs: tuple[str, ...],
        logins: Logins,
        proxies: Proxies | None,
        made: Callable[[str, str], AccountIdentity],
        lent: Callable[[Rung, AccountIdentity, Any], Rung],
    ) -> None:
        self.site, self.login, self.hosts, self.rungs = site, login, hosts, rungs
        names = [host.removeprefix("*.") for host in hosts] + ([split(login.url)[1]] if login.url else [])
        self.domains = frozenset(map(urls.registered_domain, names))
        self._logins, self._proxies, self._made, self._lent = logins, proxies, made, lent
        self._encryption = Encryption(None, 0)
        self._accounts: dict[str, Account] = {}
        self._told: dict[str, str] = {}
        self._holdings: dict[str, Holding] = {}

    async def open(self, seal: Encryption) -> None:
        """Resolves the secrets, and checks that stored log-ins can be decrypted. Raises ConfigError."""
        self._encryption = seal
        try:
            self._accounts = {one.name: one for one in self.login.accounts_with_secrets()}
        except ValueError as error:
            raise ConfigError(f"site {self.site}: session: {error}") from None
        self._told = {name: seal.told(one.fields) for name, one in self._accounts.items()}
        await self._logins.met(self.site, self.hosts)
        for name in self._accounts:
            if kept := (await self._logins.state(self.site, name))[2]:
                self._encryption.open(kept, f"{self.site}/{name}")

    async def turn(self, host: str, rung: Rung, only: str = "") -> Seat | Failure:
        """Returns the account for the next request, lent to this visit. If all accounts are busy, returns a
        failure that makes the crawl retry the request later. Raises ConfigError if all accounts were refused.
        Raises NoProxyLeft if no proxy is usable."""
        while True:
            me = secrets.token_hex(8)
            turn = await self._logins.turn(
                self.site, me, self.login.every, [self._known(n) for n in self._names(only)]
            )
            if turn.what == "wait":
                return _later(turn.ms / 1000)
            if turn.what == "refused":
                raise ConfigError(
                    f"site {self.site}: session: the log-in as {turn.name} was refused: "
                    f"{turn.why}; give the right "
                    f"credentials, or wait {turn.ms / 60_000:.0f} min, or: gossamer sessions "
                    f"forget {self.site}"
                )
            account = self._accounts[turn.name]
            if turn.what == "enter":
                held = None
                if self._proxies is not None and (held := await self._proxies.hold(host)) is None:
                    await self._logins.failed(self.site, turn.name, me, waits=False)
                    return _later(1.0)
                member = self._made(turn.name, f"{turn.version + 1}")
                return Seat(account, self._lent(rung, member, held), turn.version, me)
            holding = self._taken(turn.name, turn.version, turn.revision, turn.state)
            held = None
            if holding is not None and self._proxies is not None:
                held = await self._proxies.hold(host, holding.bound) if holding.bound else None
            if holding is None or bool(holding.bound) != (held is not None):
                await self._logins.lost(self.site, turn.name, turn.version, sure=True)
                continue  # the account was logged in with another identity
            return Seat(account, self._lent(rung, holding.member, held), turn.version, proof=holding.proof)

    def on(self, seat: Seat, rung: Rung) -> Seat:
        """Returns a copy of `seat` for another rung of the site. A `Seat` is an account that is lent to one
        visit."""
        return seat._replace(rung=self._lent(rung, _member(seat), seat.rung.proxies))

    async def renew(self, seat: Seat) -> None:
        """Renews the lease that protects a log-in in progress."""
        await self._logins.renew(self.site, seat.account.name, seat.token)

    async def entered(self, seat: Seat, headers: dict[str, str], proof: str) -> Seat | None:
        """Stores the state of a successful log-in. Returns None if another worker has already taken over the
        log-in."""
        member, name = _member(seat), seat.account.name
        member.headers, member.news = headers, []
        bound = seat.rung.proxies.bound if isinstance(seat.rung.proxies, StickyProxy) else ""
        state = self._state(member, bound, proof, name)
        version = await self._logins.entered(self.site, name, seat.token, state, self._told[name])
        if not version:
            return None
        self._holdings[name] = Holding(member, version, 1, bound, proof)
        return seat._replace(version=version, token="", proof=proof)

    async def failed(self, seat: Seat, *, waits: bool) -> None:
        """Records a failed log-in. If `waits` is true, the next log-in must wait. If `waits` is false, the
        next log-in may follow immediately."""
        await self._logins.failed(self.site, seat.account.name, seat.token, waits=waits)

    async def refused(self, seat: Seat, why: str) -> None:
        """Records that the credentials were refused."""
        name = seat.account.name
        await self._logins.refused(self.site, name, seat.token, self._told[name], why)
        if len(self._accounts) > 1:
            print(f"gossamer: site {self.site}: the log-in as {name} was refused: {why}", file=sys.stderr)

    async def keep(self, seat: Seat) -> None:
        """Stores the cookies that responses have set. Only one write per account runs at a time. A write that
        failed is repeated later."""
        name, member = seat.account.name, _member(seat)
        if (holding := self._holdings.get(name)) is None or holding.member is not member:
            return
        async with holding.keeping:
            for _ in range(MAX_TRIES if member.news or holding.stale else 0):
                count, known = len(member.news), KnownAccount(name, "", holding.version, holding.revision)
                state = self._state(member, holding.bound, holding.proof, name)
                done, version, revision, kept = await self._logins.keep(self.site, known, state)
                if version != holding.version or not (done or kept):
                    return  # the log-in is no longer valid
                holding.revision = revision
                if done:
                    del member.news[:count]
                    holding.stale = False
                    return
                member.load(self._encryption.open(kept, f"{self.site}/{name}"))

    async def changed(self, seat: Seat, request: Request, sent: str) -> bool:
        """Returns whether another response has changed the cookies since `sent` was sent. The function checks
        several times, with short pauses, because a concurrent response may change the cookies a little later.
        If the cookies have not changed since the log-in, the function checks only once."""
        for wait in COOKIE_CHECK_PAUSES_S:
            await asyncio.sleep(wait)
            version, revision, kept = await self._logins.state(self.site, seat.account.name)
            if version != seat.version or not kept:
                return False
            held = self._taken(seat.account.name, version, revision, kept)
            if held is None or held.member is not _member(seat) or revision < 2:
                return False
            if cookies_sent(seat, request) != sent:
                return True
        return False

    async def lost(self, seat: Seat) -> bool:
        """Ends an account's session. Returns False if another log-in would not help."""
        return await self._logins.lost(self.site, seat.account.name, seat.version)

    async def helped(self, seat: Seat) -> None:
        """Records that logging in again solved the problem."""
        await self._logins.helped(self.site, seat.account.name)

    async def alone(self, host: str) -> None:
        """Limits the host to one request at a time. Each response changes the cookies. With two concurrent
        requests, one request would send old cookies, and the site would end the session."""
        if await self._logins.alone(host):
            told = f"{self.site}: each response changes the cookies, so {host} gets one request at a time"
            print(f"gossamer: site {told}", file=sys.stderr)

    def _names(self, only: str) -> Sequence[str]:
        return [only] if only else list(self._accounts)

    def _known(self, name: str) -> KnownAccount:
        held = self._holdings.get(name)
        return KnownAccount(
            name, self._told[name], *((held.version, held.revision) if held is not None else (0, 0))
        )

    def _taken(self, name: str, version: int, revision: int, kept: bytes) -> Holding | None:
        """Returns the account in the state that the store holds now. Returns None if the account was logged
        in on another rung or with another browser."""
        held = self._holdings.get(name)
        if not kept:
            return held
        state = self._encryption.open(kept, f"{self.site}/{name}")
        if held is None or held.version != version:
            member = self._made(name, f"{version}")
            if state["rung"] != self.rungs[0] or (member.browser is None) == bool(state["browser"]):
                return None
            if member.browser is not None and (known := BROWSERS.get(state["browser"])) is not None:
                member.browser = known
            held = self._holdings[name] = Holding(member, version, revision, state["proxy"], state["proof"])
            held.stale = self._encryption.has_key and kept.startswith(PLAIN)
        held.revision = revision
        held.member.load(state)
        return held

    def _state(self, member: AccountIdentity, bound: str, proof: str, name: str) -> bytes:
        state: Mapping[str, Any] = {"rung": self.rungs[0], "proxy": bound, "proof": proof, **member.state()}
        return self._encryption.close(state, f"{self.site}/{name}")


class LoginSetup:
    """The accounts of all sites of a crawl. `open` must be called before the first log-in."""

    def __init__(
        self, setup: Setup, sites: Sequence[Any], store: Store, ways: CrawlRungs, proxies: Proxies | None
    ) -> None:
        settings, domain = setup.job.settings, lru_cache(10_000)(urls.registered_domain)
        self._rung, rungs, given = ways.pages, ways.held, ways.given
        logins, self._crawl, self._encryption = Logins(store), setup.crawl, partial(seal_of, settings, store)
        self._clubs: dict[str, SiteAccounts] = {}
        for one in sites:
            if one.site.session is None or setup.job.archive is not None:
                continue
            name, browsers = one.site.name, one.site.browser or settings.browser
            for known in browsers:
                browsers_named(known)
            browsers = drivable(browsers) if BROWSER in rungs[name] else browsers
            as_one = rungs[name][0] == IMPERSONATED or (ways.disguised and BROWSER in rungs[name])

            def made(
                account: str,
                version: str,
                name: str = name,
                browsers: Sequence[str] = browsers if as_one else (),
            ) -> AccountIdentity:
                browser = browser_for(browsers, f"{store.seed} {name} {account}") if browsers else None
                return AccountIdentity(account, f"{name}/{account}/{version}", browser, given, domain)

            self._clubs[name] = SiteAccounts(
                name,
                one.site.session,
                one.site.hosts,
                rungs[name],
                logins,
                proxies,
                made,
                partial(_lent, given),
            )
        self._of = lru_cache(10_000)(lambda host: self._clubs.get(host_rules.host_needs(sites, host).session))

    def of(self, host: str) -> SiteAccounts | None:
        """Returns the accounts of a host's site."""
        return self._of(host)

    def members(
        self, worker: str, gate: RobotsGate, treat: Callable[[str], HostTreatment] | None
    ) -> LoggedInFetcher | None:
        """Returns the fetcher for pages that need a log-in, or None if no site has accounts."""
        if not self._clubs:
            return None
        entering = LoginRunner(self._crawl, worker, gate, urls.registered_domain)
        blocks: Callable[[str], Blocks] = (
            (lambda host: True) if treat is None else (lambda host: treat(host).blocks)
        )
        return LoggedInFetcher(self._crawl, worker, self.of, entering, blocks, self._rung)

    async def open(self) -> None:
        """Opens the accounts of all sites. Raises ConfigError if a secret or the key is missing."""
        if self._clubs:
            seal = self._encryption()
            for club in self._clubs.values():
                await club.open(seal)

    def __bool__(self) -> bool:
        return bool(self._clubs)


def seal_of(settings: Settings, store: Store) -> Encryption:
    """Returns the encryption of log-ins. Raises ConfigError if the key or a package is missing."""
    key = None if settings.session_key is None else secret("session_key", settings.session_key)
    return Encryption(key, store.seed)


def _lent(given: Given, rung: Rung, member: AccountIdentity, held: Any) -> Rung:
    return rung._replace(
        identity=BrowserAccount(member, given) if rung.name == BROWSER else member, proxies=held
    )


def _member(seat: Seat) -> AccountIdentity:
    found = seat.rung.identity
    member = found.member if isinstance(found, BrowserAccount) else found
    assert isinstance(member, AccountIdentity)
    return member


def _later(seconds: float) -> Failure:
    return Failure("login", "its accounts are in use", CLOCK.now(), 0.0, sent=False, later=seconds)

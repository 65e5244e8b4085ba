"""Manages the log-ins at sites, which all crawls and workers of a store share. The store contains the cookies
of the accounts. The store also decides which account is used next, and which worker logs in."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple, cast

from gossamer.frontier.operator import OperatorCommands
from gossamer.store import keys
from gossamer.store.store import Store, script_part

LOGIN_TIMEOUT_MS = 30_000
"""The number of milliseconds for which a worker has the exclusive right to log in to an account. The worker
can extend its right to log in with `Logins.renew`. Another worker may log in to the account when the right to
log in has expired."""
TTL_MS = 90 * 86_400_000
"""The log-in data of a site expires this many milliseconds after its last change."""
FIRST_WAIT_MS, MAX_WAIT_MS = 10_000, 600_000
"""Limits of the wait after failed log-ins. After the first failed log-in, an account waits FIRST_WAIT_MS
milliseconds. The wait of an account doubles with each consecutive failed log-in, up to MAX_WAIT_MS
milliseconds."""
REFUSED_TTL_MS = 3_600_000
"""Credentials that a site rejected are tried again only after this many milliseconds."""
MAX_USELESS_LOGINS, USELESS_WAIT_MS = 3, 600_000
"""After MAX_USELESS_LOGINS consecutive log-ins that had no effect, an account waits USELESS_WAIT_MS
milliseconds before the next log-in."""


class KnownAccount(NamedTuple):
    """A worker's local copy of an account: its name, a fingerprint of its credentials (`told`), the version
    of its log-in, and the revision of its cookies."""

    name: str
    told: str
    version: int = 0
    revision: int = 0


class LoginTurn(NamedTuple):
    """The next step for a worker. `what` is `go` (use the account), `enter` (log the account in), `wait` (try
    again after `ms`) or `refused` (the site rejected the credentials for the reason `why`; try again after
    `ms`)."""

    what: str
    name: str = ""
    version: int = 0
    revision: int = 0
    state: bytes = b""
    ms: int = 0
    why: str = ""


class Session(NamedTuple):
    """The state of an account, for display. `since` is the number of seconds since the log-in, or None if the
    account is not logged in. `used` is the number of seconds since the last use, or None if the account was
    never used. In the states `logging in`, `refused` and `waiting`, `wait` is the number of seconds until the
    state ends. In the other states, `wait` is 0."""

    site: str
    account: str
    state: str
    """The state of the account: `logged in`, `logged out`, `logging in`, `refused` or `waiting`."""
    since: float | None
    used: float | None
    wait: float
    why: str
    sealed: bool


class Logins:
    """Manages the log-ins at all sites of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts = {
            verb: script_part(verb)
            for verb in ("login_account", "login_result", "login_cookies", "login_lost")
        }

    async def met(self, site: str, hosts: Sequence[str]) -> None:
        """Records that a site has accounts, so that `sessions list` and `host show` can find the site."""
        await self._guarded(self._store.client.hset(keys.LOGINS, site, json.dumps(list(hosts))))

    async def turn(self, site: str, me: str, every: float, accounts: Sequence[KnownAccount]) -> LoginTurn:
        """Returns the next step for the caller: use an account, log in, or wait. `me` is a token that
        identifies the caller if it has to log in. `every` is the minimum number of seconds between two uses
        of an account."""
        flat = [part for one in accounts for part in one]
        what, *found = await self._run(
            "login_account", site, me, LOGIN_TIMEOUT_MS, round(every * 1000), TTL_MS, *flat
        )
        match what:
            case b"go":
                return LoginTurn("go", found[0].decode(), int(found[1]), int(found[2]), found[3])
            case b"enter":
                return LoginTurn("enter", found[0].decode(), int(found[1]))
            case b"wait":
                return LoginTurn("wait", ms=int(found[0]))
        return LoginTurn("refused", found[0].decode(), why=found[1].decode(), ms=int(found[2]))

    async def renew(self, site: str, name: str, me: str) -> bool:
        """Extends the time for which the caller has the right to log in. Returns False if another worker now
        has the right to log in."""
        return bool(await self._run("login_result", site, name, me, "renew", LOGIN_TIMEOUT_MS))

    async def entered(self, site: str, name: str, me: str, state: bytes, told: str) -> int:
        """Stores the cookies of a successful log-in. Returns the version of the log-in, or 0 if another
        worker now has the right to log in."""
        return int(await self._run("login_result", site, name, me, "in", state, told, TTL_MS))

    async def failed(self, site: str, name: str, me: str, *, waits: bool = True) -> None:
        """Records that a log-in failed for a reason other than the credentials. The account must wait before
        the next log-in. `waits` is false if the failure occurred before any request was sent. If `waits` is
        false, the account need not wait."""
        await self._run("login_result", site, name, me, "again", FIRST_WAIT_MS if waits else 0, MAX_WAIT_MS)

    async def refused(self, site: str, name: str, me: str, told: str, why: str) -> None:
        """Records that the site rejected the credentials."""
        await self._run("login_result", site, name, me, "out", REFUSED_TTL_MS, told, " ".join(why.split()))

    async def keep(self, site: str, one: KnownAccount, state: bytes) -> tuple[bool, int, int, bytes]:
        """Stores cookies, unless another worker has changed the stored cookies. Returns four values: whether
        the cookies were stored, the current version, the current revision, and the cookies of the other
        worker (b"" if the new cookies were stored)."""
        done, *found = await self._run(
            "login_cookies", site, one.name, one.version, one.revision, state, TTL_MS
        )
        return (
            (True, one.version, int(found[0]), b"")
            if done
            else (False, int(found[0]), int(found[1]), found[2])
        )

    async def lost(self, site: str, name: str, version: int, *, sure: bool = False) -> bool:
        """Records that an account is no longer logged in. Returns False if another log-in would probably have
        no effect."""
        return bool(
            await self._run("login_lost", site, name, version, MAX_USELESS_LOGINS, USELESS_WAIT_MS, int(sure))
        )

    async def helped(self, site: str, name: str) -> None:
        """Records that a repeated log-in had an effect. The count of consecutive log-ins without an effect
        starts again at 0."""
        await self._guarded(self._store.client.hdel(keys.login(site), f"x:{name}"))

    async def alone(self, host: str) -> bool:
        """Limits a host to one request at a time, over all crawls. Returns False if the host already had this
        limit."""
        return await OperatorCommands(self._store).at_once(host, 1)

    async def state(self, site: str, name: str) -> tuple[int, int, bytes]:
        """Returns the stored data of an account: the version, the revision, and the cookies (b'' if there are
        none)."""
        found = await self._guarded(
            self._store.client.hmget(keys.login(site), [f"{part}:{name}" for part in "vcj"])
        )
        return int(found[0] or 0), int(found[1] or 0), found[2] or b""

    async def forget(self, site: str, name: str | None = None) -> int:
        """Removes one account of a site, or all accounts if `name` is None. Returns the number of accounts
        that were removed."""
        known = {one.account for one in await self.told(site)}
        if name is None:
            await self._guarded(self._store.client.delete(keys.login(site)))
            await self._guarded(self._store.client.hdel(keys.LOGINS, site))
            return len(known)
        await self._guarded(
            self._store.client.hdel(keys.login(site), *(f"{part}:{name}" for part in "vcdjtluownrfx"))
        )
        return int(name in known)

    async def sites(self) -> dict[str, list[str]]:
        """Returns the sites that have accounts, each with its hosts."""
        found = await self._guarded(self._store.client.hgetall(keys.LOGINS))
        return {site.decode(): json.loads(hosts) for site, hosts in sorted(found.items())}

    async def told(self, site: str) -> list[Session]:
        """Returns the state of each account of a site."""
        found = {
            k.decode(): v
            for k, v in (await self._guarded(self._store.client.hgetall(keys.login(site)))).items()
        }
        whole, micro = await self._guarded(cast(Any, self._store.client.time()))
        now = int(whole) * 1000 + int(micro) // 1000
        names = sorted({key.partition(":")[2] for key in found if ":" in key})
        return [
            _session(site, name, lambda part, name=name: found.get(f"{part}:{name}"), now) for name in names
        ]

    async def _run(self, verb: str, site: str, *args: Any) -> Any:
        return await self._guarded(self._store.client.eval(self._texts[verb], 1, keys.login(site), *args))

    async def _guarded(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _session(site: str, name: str, part: Any, now: int) -> Session:
    kept, lock, barred = part("j"), (part("l") or b"").decode(), (part("r") or b"").decode()
    state, wait, why = "logged in" if kept else "logged out", 0, ""
    if lock and (left := int(lock.partition(" ")[2]) - now) > 0:
        state, wait = "logging in", left
    elif barred and (left := int(barred.partition(" ")[0]) - now) > 0 and not kept:
        state, wait, why = "refused", left, barred.split(" ", 2)[2]
    elif (left := int(part("w") or 0) - now) > 0:
        state, wait = "waiting", left
    since, used = part("t") if kept else None, part("u")
    return Session(
        site,
        name,
        state,
        (now - int(since)) / 1000 if since else None,
        (now - int(used)) / 1000 if used else None,
        wait / 1000,
        why,
        bool(kept) and kept[:1] == b"s",
    )

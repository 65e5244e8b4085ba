"""Who is logged in where, shared by all crawls and workers of a store: whose turn it is, who logs in, the
cookies."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence
from importlib import resources
from typing import Any, NamedTuple, cast

from gossamer.frontier.operator import Steer
from gossamer.store import keys
from gossamer.store.store import Store

LOGGING_IN = 30_000
"""Milliseconds after which somebody else logs in, unless who does so says that it goes on."""
KEPT = 90 * 86_400_000
"""Milliseconds for which all of a site is kept after its last change."""
WAIT, LONGEST = 10_000, 600_000
"""Milliseconds that an account waits after a log-in that failed, twice as long after each in a row."""
REFUSED = 3_600_000
"""Milliseconds for which credentials that were refused are not tried again."""
USELESS, RARELY = 3, 600_000
"""Log-ins in a row that helped nothing, and milliseconds after the last one until there is another."""


class KnownAccount(NamedTuple):
    """An account as a worker knows it: name, what tells its credentials, version of its log-in, revision of
    its cookies."""

    name: str
    told: str
    version: int = 0
    revision: int = 0


class LoginTurn(NamedTuple):
    """Whose turn it is. `what`: go, enter (log in), wait (`ms`), refused (`why`, for `ms`)."""

    what: str
    name: str = ""
    version: int = 0
    revision: int = 0
    state: bytes = b""
    ms: int = 0
    why: str = ""


class Session(NamedTuple):
    """An account for people. Seconds ago, and from now; None: never, 0: not at all."""

    site: str
    account: str
    state: str
    """logged in, logged out, logging in, refused, waiting."""
    since: float | None
    used: float | None
    wait: float
    why: str
    sealed: bool


class Logins:
    """The log-ins of all sites of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        folder = resources.files("gossamer.frontier") / "lua"
        self._texts = {
            verb: (folder / f"{verb}.lua").read_text() for verb in ("member", "joined", "jar", "lost")
        }

    async def met(self, site: str, hosts: Sequence[str]) -> None:
        """Note a site with accounts, so that `sessions list` and `host show` find it."""
        await self._guarded(self._store.client.hset(keys.LOGINS, site, json.dumps(list(hosts))))

    async def turn(self, site: str, me: str, every: float, accounts: Sequence[KnownAccount]) -> LoginTurn:
        """Whose turn it is; `me`: a token of the caller, who logs in when it is told so; every: seconds
        between two uses."""
        flat = [part for one in accounts for part in one]
        what, *found = await self._run("member", site, me, LOGGING_IN, round(every * 1000), KEPT, *flat)
        match what:
            case b"go":
                return LoginTurn("go", found[0].decode(), int(found[1]), int(found[2]), found[3])
            case b"enter":
                return LoginTurn("enter", found[0].decode(), int(found[1]))
            case b"wait":
                return LoginTurn("wait", ms=int(found[0]))
        return LoginTurn("refused", found[0].decode(), why=found[1].decode(), ms=int(found[2]))

    async def renew(self, site: str, name: str, me: str) -> bool:
        """The log-in goes on; False: it is not ours any more."""
        return bool(await self._run("joined", site, name, me, "renew", LOGGING_IN))

    async def entered(self, site: str, name: str, me: str, state: bytes, told: str) -> int:
        """It is done: the new version; 0: it is not ours any more."""
        return int(await self._run("joined", site, name, me, "in", state, told, KEPT))

    async def failed(self, site: str, name: str, me: str, *, waits: bool = True) -> None:
        """It failed by no fault of the credentials: the account waits, or (nothing was sent) may be logged in
        at once."""
        await self._run("joined", site, name, me, "again", WAIT if waits else 0, LONGEST)

    async def refused(self, site: str, name: str, me: str, told: str, why: str) -> None:
        """The credentials were refused."""
        await self._run("joined", site, name, me, "out", REFUSED, told, " ".join(why.split()))

    async def keep(self, site: str, one: KnownAccount, state: bytes) -> tuple[bool, int, int, bytes]:
        """Keep cookies: whether that is done, version, revision, and what is kept instead."""
        done, *found = await self._run("jar", site, one.name, one.version, one.revision, state, KEPT)
        return (
            (True, one.version, int(found[0]), b"")
            if done
            else (False, int(found[0]), int(found[1]), found[2])
        )

    async def lost(self, site: str, name: str, version: int, *, sure: bool = False) -> bool:
        """A log-in is over; False: to log in again would be of no use."""
        return bool(await self._run("lost", site, name, version, USELESS, RARELY, int(sure)))

    async def helped(self, site: str, name: str) -> None:
        """Logging in again was of use."""
        await self._guarded(self._store.client.hdel(keys.login(site), f"x:{name}"))

    async def alone(self, host: str) -> bool:
        """From now on a host gets one request at a time, of all crawls; False: so it was before."""
        return await Steer(self._store).at_once(host, 1)

    async def state(self, site: str, name: str) -> tuple[int, int, bytes]:
        """What is kept of an account: version, revision, state (b'' for nothing)."""
        found = await self._guarded(
            self._store.client.hmget(keys.login(site), [f"{part}:{name}" for part in "vcj"])
        )
        return int(found[0] or 0), int(found[1] or 0), found[2] or b""

    async def forget(self, site: str, name: str | None = None) -> int:
        """Forget a site's accounts, or one: how many were known."""
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
        """The sites with accounts, and their hosts."""
        found = await self._guarded(self._store.client.hgetall(keys.LOGINS))
        return {site.decode(): json.loads(hosts) for site, hosts in sorted(found.items())}

    async def told(self, site: str) -> list[Session]:
        """How a site's accounts stand."""
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

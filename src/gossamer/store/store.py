"""Runs the frontier's scripts on Valkey or Redis. First checks that the server holds a gossamer store of a
compatible version."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from gossamer.errors import ConfigError, GossamerError, StoreChanged, StoreFull
from gossamer.store import keys
from gossamer.store.address import parse
from gossamer.store.client import StoreClient
from gossamer.store.commands import Command
from gossamer.store.server_errors import NoScriptError, RedisError
from gossamer.store.servers import Servers
from gossamer.store.store_check import check_store
from gossamer.store.store_errors import to_gossamer_error

BUCKETS_EMBEDDED = 1
BUCKETS_SERVER = 64
BUCKETS_CLUSTER = 1024
FOR_EVER = float("inf")
_LUA = Path(__file__).parents[1] / "frontier" / "lua"
_FIRST = ("prelude", "breaker", "host_order", "heap_of_host", "host_state")
_TAKING = (
    "prelude",
    "queue",
    "cold_spill",
    "filter_pages",
    "quotient_filter",
    "seen",
    "min_depth",
    "page_budget",
    "links",
)
_READING = frozenset({"abandoned_crawls", "cold_buckets", "counts", "table_commit", "visit_outcomes"})
"""The names of scripts that do not change the state of hosts. Of the shared Lua parts, these scripts need
only the prelude. Gossamer leaves out the parts that a script does not need, because the server compiles the
whole text of a script."""
_SHARED = {
    "add": _TAKING,
    "settle": _TAKING,
    "revisit": _TAKING,
    "admit_held_links": _TAKING,
    "is_seen": ("prelude", "filter_pages", "quotient_filter", "seen"),
    "claim": (
        "prelude",
        "ended_requests",
        "queue",
        "host_limits",
        "crawl_limits",
        "failover",
        "ready_heaps",
        "ready_ranks",
        "claim_order",
        "grant_leases",
    ),
    "free_slots": ("prelude", "ended_requests"),
    "due_buckets": ("prelude", "ready_heaps", "ready_ranks"),
    "requeue_expired": ("prelude", "queue"),
    "dead_letters": ("prelude", "queue", "cold_spill"),
    "undo_dead_letters": ("prelude", "queue", "cold_spill"),
    "change_priority": ("prelude", "queue", "cold_spill"),
    "waiting_urls": ("prelude", "queue", "ready_heaps"),
    "cold_refill": ("prelude", "queue", "cold_spill"),
    "return_parked": ("prelude", "queue", "cold_spill"),
}


class Store:
    """One or more Valkey servers with the frontier's scripts. Errors of the client library are raised as
    `StoreError`, `Away` (an outage) or `DiskFull`."""

    def __init__(self, client: StoreClient, url: str) -> None:
        self.client = client
        self.url = url
        self.buckets = 0
        self.seed = 0
        self.identity = ""
        """A random ID that is generated when the store is created."""
        self.used = 0
        """Number of script calls that this process has made."""
        self._texts: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._groups: tuple[int, list[list[int]]] = (0, [])

    @property
    def usual_buckets(self) -> int:
        """The default number of buckets for a shared store with this kind of address."""
        return BUCKETS_CLUSTER if self.client.servers.address.kind == "cluster" else BUCKETS_SERVER

    @property
    def together(self) -> bool:
        """Whether all buckets are on one server, so that one script can access all of them."""
        return self.client.servers.address.kind != "cluster"

    @property
    def patient(self) -> bool:
        """Whether the client waits for the end of outages."""
        return self.client.patience.patient

    async def open(self, buckets: int, psl: str) -> None:
        """Checks that the server can hold a frontier, and that the store's version, number of buckets and
        Public Suffix List equal those of this process. If the store is empty, writes the values of this
        process to the store.

        Raises StoreError, StoreFull or ConfigError.
        """
        await check_store(self)
        ours = {"version": str(keys.VERSION), "buckets": str(buckets), "psl": psl}
        mine = {**ours, "seed": str(secrets.randbits(63)), "id": secrets.token_hex(8)}
        pipe = self.client.pipeline()
        for field, value in mine.items():
            pipe.hsetnx(keys.META, field, value)
        pipe.hgetall(keys.META)
        try:
            raw = (await self.guard(pipe.execute()))[-1]
        except StoreFull:  # the store can still be read, and a later write raises this error
            raw = await self.guard(self.client.hgetall(keys.META))
        found = {k.decode(): v.decode() for k, v in raw.items()}
        if mine.keys() - found.keys():
            raise StoreFull(
                f"the store at {self.client.servers.address.shown} is out of memory: raise its maxmemory"
            )
        for field, value in ours.items():
            if found[field] != value:
                raise ConfigError(_mismatch(field, found[field], value))
        self.buckets, self.seed, self._groups = buckets, int(found["seed"]), (0, [])
        self.identity = found["id"]

    def move(self, fresh: Store) -> None:
        """Uses the connection and the address of `fresh`, which is the same store after its server was started
        again."""
        self.client, self.url = fresh.client, fresh.url

    def expect(self, seed: int) -> None:
        """Makes `same` compare the store with a store that was open before."""
        self.seed = seed

    def same(self, seed: bytes | None) -> None:
        """Raises StoreChanged if the current `seed` of the store differs from the seed at the time when the
        store was opened."""
        if self.seed and (seed or b"").decode("utf-8", "replace") != str(self.seed):
            what = "was emptied" if seed is None else "was emptied or replaced"
            where = self.client.servers.address.shown
            raise StoreChanged(
                f"the store at {where} {what} while it was in use: what it knew of crawls is gone"
            )

    async def check_same(self) -> None:
        """Reads the current seed of the store, and raises StoreChanged if the seed has changed (see
        `same`)."""
        self.same(await self.guard(cast(Awaitable[Any], self.client.hget(keys.META, "seed"))))

    async def run(self, verb: str, bucket: int, *args: Any) -> Any:
        """Calls a script on a bucket. If the client waits for the end of outages, repeats the call after an
        outage."""
        self.used += 1
        call = (*self._call(verb), 1, keys.tag(bucket), *args)
        try:
            return await self.guard(self.client.execute_command(*call))
        except NoScriptError:
            return await self.guard(self.client.execute_command("EVAL", self.text(verb), *call[2:]))

    async def run_all(
        self, verb: str, calls: Sequence[tuple[int, Sequence[Any]]], confirm: bool = False
    ) -> list[Any]:
        """Calls a script on many buckets at once. Each call is made only once. `calls` contains pairs of a
        bucket and the arguments.

        Returns one element per call: the reply or a gossamer error. If `confirm` is true, a reply becomes an
        `UnconfirmedReply` if no replica has confirmed the writes of the call.
        """
        call = self._call(verb)
        self.used += len(calls)
        sent: list[Command] = [((*call, 1, keys.tag(b), *args), {}) for b, args in calls]
        replies = await self._send(sent, confirm)
        again = [j for j, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if again:  # a server that was just promoted to master has no cached scripts
            texts: list[Command] = [(("EVAL", self.text(verb), *sent[j][0][2:]), {}) for j in again]
            for j, reply in zip(again, await self._send(texts, confirm), strict=True):
                replies[j] = reply
        address = self.client.servers.address
        return [to_gossamer_error(one, address) if isinstance(one, Exception) else one for one in replies]

    async def _send(self, commands: Sequence[Command], confirm: bool) -> list[Any]:
        if confirm:
            try:
                await self.client.servers.fresh()
            except GossamerError as error:
                return [error] * len(commands)
        replies = await self.client.send(commands, confirm=confirm)
        _still_wanted()
        return replies

    async def once(self, *command: Any) -> Any:
        """Sends one command once. During an outage, raises Away instead of waiting as `run` does."""
        (reply,) = await self.client.send([(command, {})])
        _still_wanted()
        if isinstance(reply, Exception):
            raise to_gossamer_error(reply, self.client.servers.address)
        return reply

    async def by_server(self, buckets: Sequence[int] | None = None) -> list[list[int]]:
        """Groups buckets by the server that holds them. If `buckets` is None, the result contains all buckets
        of the store. Raises Away."""
        servers = self.client.servers
        if buckets is not None:
            groups = await self.guard(servers.groups([keys.tag(bucket) for bucket in buckets]))
            return [[buckets[j] for j in group] for group in groups.values()]
        if self._groups[0] != servers.turn or not self._groups[1]:
            groups = await self.guard(servers.groups([keys.tag(bucket) for bucket in range(self.buckets)]))
            self._groups = servers.turn, list(groups.values())
        return self._groups[1]

    def note(self, error: GossamerError) -> None:
        """Handles a failed call of `run_all`. Raises the error if it is not an outage, or if the client no
        longer waits for the outage to end."""
        self.client.patience.note(error)

    async def wait(self, error: GossamerError) -> None:
        """Waits until the store answers again. Raises the error if the client does not wait or has waited
        long enough."""
        await self.guard(self.client.patience.wait(error))

    def _call(self, verb: str) -> tuple[str, str]:
        """Returns the command with which a script is called (EVALSHA or EVAL), and the command's first
        argument. The first call of a script on an embedded store sends the script's text, because a server
        that has just started does not have the script yet."""
        if verb in self._digests or not self.client.servers.embedded:
            return "EVALSHA", self.digest(verb)
        self.digest(verb)
        return "EVAL", self.text(verb)

    def digest(self, verb: str) -> str:
        """Returns the SHA-1 of a script. EVALSHA identifies the script by this hash."""
        if verb not in self._digests:
            self._digests[verb] = hashlib.sha1(self.text(verb).encode(), usedforsecurity=False).hexdigest()
        return self._digests[verb]

    def text(self, verb: str) -> str:
        """Returns the full text of a script: the shared parts, followed by the script's own file."""
        if verb not in self._texts:
            shared = _SHARED.get(verb, ("prelude",))[1:]
            names = ("prelude", verb) if verb in _READING else (*_FIRST, *shared, verb)
            self._texts[verb] = "\n".join(map(script_part, names))
        return self._texts[verb]

    async def guard(self, call: Awaitable[Any]) -> Any:
        """Awaits a call to the store. Converts all errors of the call to gossamer errors, except
        NoScriptError."""
        try:
            answer = await call
        except NoScriptError:
            raise
        except (RedisError, OSError) as error:
            _still_wanted(error)
            raise to_gossamer_error(error, self.client.servers.address) from error
        _still_wanted()
        return answer

    async def scan(self, pattern: str, page: int = 1000) -> AsyncIterator[list[bytes]]:
        """Yields the keys that match a pattern, in batches, from all servers. A scan never blocks a server.

        A key may appear twice if the store grows during the scan.
        """
        for server in await self.guard(self.client.servers.all()):
            cursor: Any = 0
            while True:
                cursor, found = await self.guard(
                    cast(Awaitable[Any], server.client.scan(cursor, match=pattern, count=page))
                )
                if found:
                    yield found
                if int(cursor) == 0:
                    break

    async def close(self) -> None:
        """Closes the connections."""
        await self.client.aclose()


@cache
def script_part(name: str) -> str:
    """Returns the text of a file in `frontier/lua`."""
    return (_LUA / f"{name}.lua").read_text()


def connect(url: str, timeout: float = 10.0, *, patience: float = 0.0, embedded: bool = False) -> Store:
    """Returns a store for a URL (docs/stores.md), without connecting yet.

    `timeout` is the time limit per call in seconds. `patience` is the number of seconds to wait for an outage
    to end. FOR_EVER means no limit. `embedded`: whether the URL is that of a data folder's server. Raises
    UsageError or ConfigError.
    """
    address = parse(url)
    if address.kind in ("sentinel", "cluster"):
        timeout = min(timeout, 5.0)  # a shorter timeout, because another server may take over
    return Store(StoreClient(Servers(address, timeout, embedded=embedded), patience), url)


def _still_wanted(cause: BaseException | None = None) -> None:
    """Raises CancelledError if the task was cancelled. This function is needed because the client sometimes
    swallows a cancellation, or reports a cancellation as a lost connection. Without this check, a retry loop
    could run forever after a cancellation."""
    if (task := asyncio.current_task()) is not None and task.cancelling():
        raise asyncio.CancelledError from cause


def _mismatch(field: str, found: str, ours: str) -> str:
    why = {
        "version": f"the store is of format {found}, this gossamer knows format {ours}: use "
        f"{'an older' if found.isdigit() and int(found) < int(ours) else 'a newer'} gossamer, or "
        "another --data",
        "buckets": (
            f"the store has {found} buckets, this run would use {ours}: an embedded store "
            "cannot serve as a shared one"
        ),
        "psl": (
            f"the store was made with Public Suffix List {found}, this gossamer carries "
            f"{ours}: install the same gossamer everywhere"
        ),
    }
    return why[field]

"""Checks whether a server can hold a frontier. The server must answer, be recent enough, not evict keys, run
scripts, and write to its disk.

The checks use INFO, and a script that tries the user's rights (`store.rights`).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, cast

from gossamer.errors import Away, RightsMissing, StoreError
from gossamer.store.client import StoreClient
from gossamer.store.server_errors import NoPermissionError, ResponseError
from gossamer.store.store_errors import to_gossamer_error


class CheckedStore(Protocol):
    """The interface of a store that the checks need. `store.Store` implements this interface."""

    client: StoreClient

    def guard(self, call: Awaitable[Any]) -> Awaitable[Any]: ...

    def wait(self, error: Away) -> Awaitable[None]: ...


OLDEST = {"server": (6, 2), "cluster": (7, 0)}
"""The oldest server versions that have all commands which gossamer uses. A Cluster requires a newer server
version than a single server, because some scripts read all buckets of a node."""
NOEVICTION = "CONFIG SET maxmemory-policy noeviction"


class Remark(NamedTuple):
    """A finding about a server. If `bad` is true, the problem must be fixed before the store can be used."""

    what: str
    bad: bool
    found: str
    advice: str


def server_name(info: Mapping[str, Any]) -> str:
    """Returns the name and the version of the server program."""
    version = info.get("valkey_version") or info.get("redis_version") or "of unknown version"
    return f"{info.get('server_name', 'redis')} {version}"


def server_findings(info: Mapping[str, Any], kind: str) -> Iterator[Remark]:
    """Yields the findings about a server. `kind` is the kind of the store's address (`Address.kind`)."""
    if not info:
        yield Remark(
            "rights",
            False,
            "the user may not call INFO: replicas and eviction cannot be checked",
            "grant it +info",
        )
        return
    oldest = OLDEST.get(kind, OLDEST["server"])
    version = tuple(map(int, re.findall(r"\d+", str(info.get("redis_version", "")))[:2]))
    if version and version < oldest:
        yield Remark(
            "version",
            True,
            f"{server_name(info)} is too old",
            f"use Valkey, or Redis {'.'.join(map(str, oldest))} or newer",
        )
    policy, most = str(info.get("maxmemory_policy", "")), int(info.get("maxmemory", 0) or 0)
    if most and policy and policy != "noeviction":
        yield Remark(
            "memory", True, f"maxmemory-policy is {policy}: it forgets URLs when it is full", NOEVICTION
        )
    if not most and "maxmemory" not in info:
        yield Remark(
            "memory",
            False,
            "it does not say whether it evicts",
            "make sure that maxmemory-policy is noeviction",
        )
    if str(info.get("aof_enabled", "0")) != "1":
        yield Remark(
            "disk",
            False,
            "append-only file off",
            "CONFIG SET appendonly yes, or a restart forgets what came since its last save",
        )


async def fullest_share(store: CheckedStore) -> float:
    """Returns the share of `maxmemory` that the fullest server uses, from 0 to 1. Returns 0 if there is no
    limit or the database user may not call INFO."""
    shares = [0.0]
    for server in await store.client.servers.all():
        with contextlib.suppress(NoPermissionError):
            info = await server.client.info("memory")
            if most := int(info.get("maxmemory", 0)):
                shares.append(int(info.get("used_memory", 0)) / most)
    return max(shares)


async def wait_until_ready(store: CheckedStore, seconds: float) -> None:
    """Waits until the store answers and has loaded its data. Raises StoreError after `seconds`."""
    servers = store.client.servers
    deadline = time.monotonic() + seconds  # an attempt may take 2 s, unless the connection is refused
    while True:
        try:
            await (
                store.guard(cast(Awaitable[Any], store.client.ping())) if servers.embedded else servers.look()
            )
            return
        except Away:
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(0.05)


async def check_store(store: CheckedStore) -> None:
    """Raises StoreError if a shared store is too old, evicts keys, does not run scripts, or if its user lacks
    rights."""
    servers = store.client.servers
    if servers.embedded:
        return
    from gossamer.store.rights import missing_rights  # an embedded store has no users

    await store.guard(servers.fresh())
    for server in await servers.all():
        for remark in server_findings(server.info, servers.address.kind):
            if remark.bad:
                where = f" ({server.place})" if servers.address.kind != "server" else ""
                raise StoreError(
                    f"the store at {servers.address.shown}{where}: {remark.found}: {remark.advice}"
                )
    missing: dict[str, None] = {}
    for server in await servers.all():
        missing |= dict.fromkeys(await store.guard(missing_rights(server)))
    if missing:
        raise RightsMissing(
            f"the store at {servers.address.shown}: its user lacks rights: "
            f"ACL SETUSER {servers.address.user or 'default'} {' '.join(missing)} "
            "(docs/stores.md lists all rights)"
        )


async def write_durably(store: CheckedStore, *command: Any) -> None:
    """Sends a write command. If the store has an append-only file, the function waits until the new data and
    all earlier data are on disk. If the server has a replica, the function waits for the replica, too.

    Each wait lasts at most two seconds, which is enough for a store that syncs its append-only file every
    second. An embedded store syncs the file immediately.
    """
    while True:
        try:
            return await _durably(store, command)
        except Away as error:
            await store.wait(error)


async def _durably(store: CheckedStore, command: tuple[Any, ...]) -> None:
    servers = store.client.servers
    server = await store.guard(servers.serving(str(command[1])))
    if servers.embedded:
        await store.guard(cast(Awaitable[Any], server.client.config_set("appendfsync", "always")))
    pipe = server.client.pipeline(transaction=False)
    pipe.execute_command(*command)
    pipe.execute_command("WAITAOF", 1, 0, 2000)
    if server.replicas:
        pipe.execute_command("WAIT", 1, 2000)
    # errors are ignored, because the server may have no append-only file or may not know WAITAOF
    done = (await store.guard(pipe.execute(raise_on_error=False)))[0]
    if servers.embedded:
        await store.guard(cast(Awaitable[Any], server.client.config_set("appendfsync", "everysec")))
    if isinstance(done, ResponseError):
        raise to_gossamer_error(done, servers.address)

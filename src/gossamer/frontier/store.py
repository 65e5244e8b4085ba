"""The store: a connection to Valkey (or Redis) and the proof that it is a gossamer store of our version."""

from __future__ import annotations

import asyncio
import errno
import secrets
from collections.abc import Awaitable
from importlib import resources
from typing import Any, cast
from urllib.parse import urlsplit

import hiredis
import redis.asyncio as redis
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as LostInTime

from gossamer.errors import ConfigError, DiskFull, StoreError, UsageError
from gossamer.frontier import keys

SCHEMES = ("redis", "rediss", "valkey", "valkeys", "unix")
BUCKETS_EMBEDDED = 1
BUCKETS_SERVER = 64
_FIRST = ("prelude", "trouble", "heaps", "host")
_TAKING = ("prelude", "queue", "pages", "filter", "seen", "later", "budget", "links")
_SHARED = {
    "add": _TAKING,
    "settle": _TAKING,
    "admit": _TAKING,
    "known": ("prelude", "pages", "filter", "seen"),
    "claim": ("prelude", "queue", "limits", "ready", "grant"),
    "sweep": ("prelude", "queue"),
    "dead": ("prelude", "queue"),
    "move": ("prelude", "queue"),
}


class Store:
    """One Valkey with the frontier's scripts. Foreign exceptions leave it as `StoreError` or `DiskFull`."""

    def __init__(self, client: redis.Redis, url: str) -> None:
        self.client = client
        self.url = url
        self.buckets = 0
        self.seed = 0
        self.used = 0
        """Calls made."""
        self._texts: dict[str, str] = {}
        self._digests: dict[str, str] = {}

    async def open(self, buckets: int, psl: str) -> None:
        """Check version, bucket count and Public Suffix List against the store, or write them into an empty one."""
        ours = {"version": str(keys.VERSION), "buckets": str(buckets), "psl": psl}
        mine = {**ours, "seed": str(secrets.randbits(63))}
        pipe = self.client.pipeline()
        for field, value in mine.items():
            pipe.hsetnx(keys.META, field, value)
        pipe.hgetall(keys.META)
        found = {k.decode(): v.decode() for k, v in (await self.guard(pipe.execute()))[-1].items()}
        for field, value in ours.items():
            if found[field] != value:
                raise ConfigError(_mismatch(field, found[field], value))
        self.buckets, self.seed = buckets, int(found["seed"])

    async def run(self, verb: str, bucket: int, *args: Any) -> Any:
        """Call one script on one bucket."""
        self.used += 1
        digest = self._digests.get(verb)
        tag = keys.tag(bucket)
        if digest is not None:
            try:
                return await self.guard(self.client.evalsha(digest, 1, tag, *args))
            except NoScriptError:
                pass
        self._digests[verb] = await self.guard(self.client.script_load(self.text(verb)))
        return await self.guard(self.client.evalsha(self._digests[verb], 1, tag, *args))

    def text(self, verb: str) -> str:
        """The whole script of a verb: its shared parts, then its own file."""
        if verb not in self._texts:
            folder = resources.files("gossamer.frontier")
            shared = _SHARED.get(verb, ("prelude",))[1:]
            names = (*_FIRST, *shared, verb)
            self._texts[verb] = "\n".join((folder / f"{name}.lua").read_text() for name in names)
        return self._texts[verb]

    async def guard(self, call: Awaitable[Any]) -> Any:
        """Await a call to the store; what goes wrong becomes one of our errors (scripts unknown to it excepted)."""
        try:
            answer = await call
        except NoScriptError:
            raise
        except (Lost, LostInTime, OSError) as error:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError from error  # the client says so of a connection whose call was cancelled
            raise StoreError(f"the store at {masked(self.url)} does not answer: {error}") from error
        except ResponseError as error:
            raise _response(error, self.url) from error
        except RedisError as error:
            raise StoreError(f"the store at {masked(self.url)} failed: {error}") from error
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise asyncio.CancelledError  # the client swallows a cancellation now and then; a loop would never end
        return answer

    async def durably(self, *command: Any) -> None:
        """Make one write, and wait until it and all before it are on the disk, where the store has an append-only file.

        A store that syncs every second is waited for at most two; the embedded one is made to sync at once.
        """
        ours = self.url.startswith("unix://")
        if ours:
            await self.guard(cast(Awaitable[Any], self.client.config_set("appendfsync", "always")))
        pipe = self.client.pipeline(transaction=False)
        pipe.execute_command(*command)
        pipe.execute_command("WAITAOF", 1, 0, 2000)
        done, _ = await self.guard(pipe.execute(raise_on_error=False))  # there may be no such file, or no such command
        if ours:
            await self.guard(cast(Awaitable[Any], self.client.config_set("appendfsync", "everysec")))
        if isinstance(done, ResponseError):
            raise _response(done, self.url)

    async def close(self) -> None:
        """Let the connections go."""
        await self.client.aclose()


def connect(url: str, timeout: float = 10.0) -> Store:
    """A store by URL: redis, rediss, valkey, valkeys (TLS) or unix. Nothing is sent yet."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        raise UsageError(f"--store {masked(url)}: the scheme must be one of {', '.join(SCHEMES)}")
    plain = url.replace("valkeys://", "rediss://", 1).replace("valkey://", "redis://", 1)
    client = redis.Redis.from_url(
        plain, socket_timeout=timeout, socket_connect_timeout=timeout, max_connections=64, retry=None
    )
    pool = client.connection_pool
    pool.connection_class = type("Packing", (_Packing, pool.connection_class), {})
    return Store(client, url)


class _Packing:
    """Packs commands in C: redis-py's own packer costs 1 us an argument, and a page has a hundred of them."""

    def pack_command(self, *args: Any) -> list[bytes]:
        """One buffer of one command; `SCRIPT LOAD` is two words on the wire."""
        return [hiredis.pack_command((*str(args[0]).split(), *args[1:]))]


def masked(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return url.replace(f":{parts.password}@", ":***@", 1)


async def reach(store: Store, seconds: float) -> None:
    """Wait until the store answers and has loaded its data; StoreError after `seconds`."""
    for attempt in range(max(1, int(seconds * 20))):
        try:
            await store.guard(cast(Awaitable[Any], store.client.ping()))
            return
        except StoreError:
            if attempt + 1 >= seconds * 20:
                raise
            await asyncio.sleep(0.05)


def _response(error: ResponseError, url: str) -> StoreError | DiskFull:
    text = str(error)
    if "No space left" in text or "MISCONF" in text or errno.errorcode[errno.ENOSPC] in text:
        return DiskFull(
            f"the store at {masked(url)} cannot write to its disk: free some space, then run again ({text})"
        )
    if text.startswith("OOM"):
        return StoreError(f"the store at {masked(url)} is out of memory: raise its maxmemory ({text})")
    return StoreError(f"the store at {masked(url)} refused a call: {text}")


def _mismatch(field: str, found: str, ours: str) -> str:
    why = {
        "version": f"the store is of format {found}, this gossamer knows format {ours}: use a newer gossamer, or another --data",
        "buckets": f"the store has {found} buckets, this run would use {ours}: an embedded store cannot serve as a shared one",
        "psl": f"the store was made with Public Suffix List {found}, this gossamer carries {ours}: install the same gossamer everywhere",
    }
    return why[field]

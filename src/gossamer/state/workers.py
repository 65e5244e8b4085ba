"""The crew: what each worker of a fleet is and does, and what it was told to do."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable
from typing import Any, cast

import msgspec

from gossamer.errors import ConfigError, UsageError
from gossamer.store.store import Store

WORKERS, ORDERS, REFUSED = "gossamer:workers", "gossamer:orders", "gossamer:refused"
FORMAT = 1
"""Of the workers' records."""
GONE = 15.0
"""Seconds without a sign after which a worker is taken for dead."""
_NAME = "gossamer:name:"
_KEEP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class WorkerRecord(msgspec.Struct, kw_only=True):
    """A worker's record."""

    name: str
    host: str
    pid: int
    lanes: list[str]
    processes: int
    version: str
    region: str = ""
    state: str = "running"
    """running, draining, stopping, gone; `unread`: a record of another format, of which no more than the name
    is known."""
    started: float = 0.0
    beat: float = 0.0
    """Its last sign of life, by the store's clock."""
    memory: int = 0
    """Bytes of all its processes."""
    malformed: int = 0
    """Malformed messages that it took off the broker."""
    format: int = FORMAT

    @classmethod
    def of(cls, name: bytes, raw: bytes) -> WorkerRecord:
        """A worker from its record."""
        try:
            found = msgspec.json.decode(raw, type=cls)
            if found.format == FORMAT:
                return found
            what = f"format {found.format}"
        except msgspec.MsgspecError:
            what = "unknown"
        return cls(
            name=name.decode("utf-8", "replace"),
            host="",
            pid=0,
            lanes=[],
            processes=0,
            version=what,
            state="unread",
        )


class Crew:
    """The workers of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def now(self) -> float:
        """The store's clock, in seconds since the epoch."""
        seconds, micros = await self._do(self._store.client.time())
        return float(seconds) + float(micros) / 1e6

    async def name(self, wanted: str, token: str) -> bool:
        """Bear a name, or go on bearing it; False when another living worker has it."""
        args = (token, str(round(GONE * 1000)))
        return bool(await self._do(self._store.client.eval(_KEEP, 1, _NAME + wanted, *args)))

    async def unname(self, name: str, token: str) -> None:
        """Give a name up."""
        await self._do(self._store.client.eval(_LEAVE, 1, _NAME + name, token))

    async def beat(self, worker: WorkerRecord) -> str:
        """Write a worker's record; what it was told to do: "", drain or stop."""
        worker.beat = await self.now()
        pipe = self._store.client.pipeline(transaction=False)
        pipe.hset(WORKERS, worker.name, msgspec.json.encode(worker))
        pipe.hget(ORDERS, worker.name)
        order = (await self._store.guard(pipe.execute()))[1]
        return _order(order)

    async def ordered(self, name: str) -> str:
        """What a worker was told to do: "", drain or stop."""
        found = await self._do(self._store.client.hget(ORDERS, name))
        return _order(found)

    async def leave(self, name: str) -> None:
        """A worker that ended: its record, and what it was told."""
        pipe = self._store.client.pipeline(transaction=False)
        pipe.hdel(WORKERS, name)
        pipe.hdel(ORDERS, name)
        await self._store.guard(pipe.execute())

    async def all(self) -> list[WorkerRecord]:
        """All workers, the dead ones with the state `gone`, by name."""
        found = await self._do(self._store.client.hgetall(WORKERS))
        now, crew = await self.now(), []
        for name, raw in found.items():
            worker = WorkerRecord.of(name, raw)
            if worker.state != "unread" and now - worker.beat > GONE:
                worker.state = "gone"
            crew.append(worker)
        return sorted(crew, key=lambda worker: worker.name)

    async def living(self) -> list[WorkerRecord]:
        """Those that give signs."""
        return [worker for worker in await self.all() if worker.state != "gone"]

    async def at_work(self) -> list[WorkerRecord]:
        """Those that begin what there is to do: nobody told them to drain or stop."""
        # a worker's own record says so two seconds later
        told = await self._do(self._store.client.hgetall(ORDERS))
        idle = ("draining", "stopping")
        return [one for one in await self.living() if one.state not in idle and one.name.encode() not in told]

    async def order(self, name: str, what: str) -> list[str]:
        """Tell a worker, or `all`, to drain or stop; their names. UsageError naming those that live."""
        living = [worker.name for worker in await self.living()]
        told = [one for one in living if name in ("all", one, one.partition("@")[0])]
        if not told:
            raise UsageError(f"no worker is named {name!r}; there are: {', '.join(living) or 'none'}")
        for one in told:  # who is to stop is not told to drain instead
            order = self._store.client.hsetnx if what == "drain" else self._store.client.hset
            await self._do(order(ORDERS, one, what))
        return told

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


class Refusals:
    """What workers do no work for, and why: whole crawls, or (`site`) one of their sites."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def refuse(self, name: str, crawl: str, why: str | None, site: str = "") -> None:
        """Say that a worker does no work for a crawl, or for a site of it, and why; None: it does."""
        field = "\t".join(filter(None, (name, site, crawl)))
        if why is None:
            await self._do(self._store.client.hdel(REFUSED, field))
        else:
            await self._do(self._store.client.hset(REFUSED, field, why))

    async def refused(self) -> dict[tuple[str, str, str], str]:
        """(worker, crawl, site or '' for all of it) -> why it does no work for it, of the living ones."""
        found = await self._do(self._store.client.hgetall(REFUSED))
        living = {worker.name for worker in await Crew(self._store).living()}
        parts = {field: field.decode("utf-8", "replace").split("\t") for field in found}
        return {
            (worker, rest[-1], rest[0] if rest[1:] else ""): found[field].decode("utf-8", "replace")
            for field, (worker, *rest) in parts.items()
            if worker in living and rest
        }

    async def of(self, crawl: str) -> dict[str, str]:
        """Worker, or `WORKER (site SITE)` -> why it does no work for a crawl."""
        found = sorted((await self.refused()).items())
        return {
            worker + (f" (site {site})" if site else ""): why
            for (worker, name, site), why in found
            if name == crawl
        }

    async def others(self, crawl: str) -> bool:
        """Whether some worker works on all of a crawl."""
        some = {worker for worker, name, _ in await self.refused() if name == crawl}
        return any(one.name not in some for one in await Crew(self._store).living() if one.state == "running")

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _order(found: bytes | None) -> str:
    """An order, '' for none and for one that nobody knows."""
    word = (found or b"").decode("utf-8", "replace")
    return word if word in ("drain", "stop") else ""


async def bear(crew: Crew, wanted: str, *, fixed: bool) -> tuple[str, str]:
    """A name that no other worker bears, and the token that keeps it. `fixed`: this name or ConfigError.

    `wanted` is `NAME@HOST`; a second one becomes `NAME-2@HOST`.
    """
    token = secrets.token_hex(8)
    stem, at, host = wanted.partition("@")
    for number in range(1, 1000):
        name = wanted if number == 1 else f"{stem}-{number}{at}{host}"
        if await crew.name(name, token):
            await crew.leave(name)  # what one of this name was told that is gone: its heir was not told so
            return name, token
        if fixed:
            raise ConfigError(
                f"a worker named {wanted} is running already: give this one another name with -n"
            )
    raise ConfigError(f"a thousand workers are named {wanted}: give this one another name with -n")

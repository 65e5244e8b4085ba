"""Stores data about the workers of a fleet: the record of each worker, the pending orders for workers, and
the crawls for which a worker refuses to work."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable
from typing import Any, cast

import msgspec

from gossamer.errors import ConfigError, UnknownName
from gossamer.model.wall_clock import MAX_CLOCK_OFF_S
from gossamer.store.store import Store

WORKERS, ORDERS, REFUSED = "gossamer:workers", "gossamer:orders", "gossamer:refused"
FORMAT = 1
"""The format version of a worker's record."""
DEAD_AFTER_S = 15.0
"""The number of seconds without a heartbeat after which a worker counts as dead."""
_NAME = "gossamer:name:"
_KEEP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
"""
_LEAVE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class WorkerRecord(msgspec.Struct, kw_only=True):
    """A worker's record in the store."""

    name: str
    host: str
    pid: int
    lanes: list[str]
    processes: int
    version: str
    region: str = ""
    state: str = "running"
    """The state of the worker: `running`, `draining`, `stopping`, `gone` or `unread`. The state `unread`
    means that the record has an unknown format, so that only the name of the worker can be read."""
    started: float = 0.0
    beat: float = 0.0
    """The time of the worker's last heartbeat, by the store's clock."""
    memory: int = 0
    """Memory of all processes of the worker, in bytes."""
    memory_limit: int = 0
    """`recycle_memory` of all processes of the worker, in bytes."""
    malformed: int = 0
    """Number of malformed messages that the worker has removed from the queues of the message broker."""
    clock_off: float = 0.0
    """The number of seconds by which the clock of the worker's machine is ahead of the store's clock. Negative
    if the clock is behind."""
    format: int = FORMAT

    @property
    def clock_fault(self) -> str:
        """Returns a line about a wrong clock of the worker's machine, or '' if the clock is right."""
        if abs(self.clock_off) <= MAX_CLOCK_OFF_S:
            return ""
        side = "ahead of" if self.clock_off > 0 else "behind"
        return (
            f"the clock of {self.host or self.name} is {abs(self.clock_off):.0f} s {side} the store's, so the times "
            f"in the log of {self.name} are wrong: synchronize it with a time server"
        )

    @classmethod
    def of(cls, name: bytes, raw: bytes) -> WorkerRecord:
        """Decodes a worker's record."""
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


class WorkerRecords:
    """Reads and changes the records, names and orders of the workers of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def now(self) -> float:
        """Returns the store's time in seconds since the epoch."""
        seconds, micros = await self._do(self._store.client.time())
        return float(seconds) + float(micros) / 1e6

    async def name(self, wanted: str, token: str) -> bool:
        """Reserves a worker name, or renews the reservation. Returns False if another living worker has the
        name."""
        args = (token, str(round(DEAD_AFTER_S * 1000)))
        return bool(await self._do(self._store.client.eval(_KEEP, 1, _NAME + wanted, *args)))

    async def release_name(self, name: str, token: str) -> None:
        """Releases a worker name."""
        await self._do(self._store.client.eval(_LEAVE, 1, _NAME + name, token))

    async def beat(self, worker: WorkerRecord) -> str:
        """Writes a worker's record. Returns the pending order for the worker: `drain`, `stop`, or "" if there
        is none."""
        worker.beat = await self.now()
        worker.clock_off = round(time.time() - worker.beat, 1)
        pipe = self._store.client.pipeline(transaction=False)
        pipe.hset(WORKERS, worker.name, msgspec.json.encode(worker))
        pipe.hget(ORDERS, worker.name)
        order = (await self._store.guard(pipe.execute()))[1]
        return _order(order)

    async def pending_order(self, name: str) -> str:
        """Returns the pending order for a worker: `drain`, `stop`, or "" if there is none."""
        found = await self._do(self._store.client.hget(ORDERS, name))
        return _order(found)

    async def leave(self, name: str) -> None:
        """Deletes the record of a worker that has ended, and any pending order for it."""
        pipe = self._store.client.pipeline(transaction=False)
        pipe.hdel(WORKERS, name)
        pipe.hdel(ORDERS, name)
        await self._store.guard(pipe.execute())

    async def all(self) -> list[WorkerRecord]:
        """Returns all workers, sorted by name. Dead workers have the state `gone`."""
        found = await self._do(self._store.client.hgetall(WORKERS))
        now, crew = await self.now(), []
        for name, raw in found.items():
            worker = WorkerRecord.of(name, raw)
            if worker.state != "unread" and now - worker.beat > DEAD_AFTER_S:
                worker.state = "gone"
            crew.append(worker)
        return sorted(crew, key=lambda worker: worker.name)

    async def living(self) -> list[WorkerRecord]:
        """Returns the workers with a recent heartbeat."""
        return [worker for worker in await self.all() if worker.state != "gone"]

    async def at_work(self) -> list[WorkerRecord]:
        """Returns the living workers that accept new work. Leaves out workers that are draining or stopping,
        and workers that have an order to drain or stop."""
        # the orders are read too, because a worker's own record may show an order up to two seconds late
        told = await self._do(self._store.client.hgetall(ORDERS))
        idle = ("draining", "stopping")
        return [one for one in await self.living() if one.state not in idle and one.name.encode() not in told]

    async def order(self, name: str, what: str) -> list[str]:
        """Orders a worker, or all workers if `name` is `all`, to drain or stop. Returns the names of the
        workers that got the order. If no worker matches, raises UsageError, whose message lists the living
        workers."""
        living = [worker.name for worker in await self.living()]
        told = [one for one in living if name in ("all", one, one.partition("@")[0])]
        if not told:
            raise UnknownName(f"no worker is named {name!r}; there are: {', '.join(living) or 'none'}")
        for one in told:  # a drain must not replace an earlier stop
            order = self._store.client.hsetnx if what == "drain" else self._store.client.hset
            await self._do(order(ORDERS, one, what))
        return told

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


class Refusals:
    """Records why a worker refuses to work for a crawl, or for one site of a crawl."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def refuse(self, name: str, crawl: str, why: str | None, site: str = "") -> None:
        """Records the reason why a worker does no work for a crawl, or for one site of the crawl. If the
        reason is None, removes the record."""
        field = "\t".join(filter(None, (name, site, crawl)))
        if why is None:
            await self._do(self._store.client.hdel(REFUSED, field))
        else:
            await self._do(self._store.client.hset(REFUSED, field, why))

    async def refused(self) -> dict[tuple[str, str, str], str]:
        """Maps each tuple (worker, crawl, site) to the reason that the worker recorded. Dead workers are left
        out. The site is '' if the reason applies to the whole crawl."""
        found = await self._do(self._store.client.hgetall(REFUSED))
        living = {worker.name for worker in await WorkerRecords(self._store).living()}
        parts = {field: field.decode("utf-8", "replace").split("\t") for field in found}
        return {
            (worker, rest[-1], rest[0] if rest[1:] else ""): found[field].decode("utf-8", "replace")
            for field, (worker, *rest) in parts.items()
            if worker in living and rest
        }

    async def of(self, crawl: str) -> dict[str, str]:
        """Returns the reasons why workers do no work for a crawl. The keys are the names of the workers, or
        `WORKER (site SITE)` if the reason applies to one site."""
        found = sorted((await self.refused()).items())
        return {
            worker + (f" (site {site})" if site else ""): why
            for (worker, name, site), why in found
            if name == crawl
        }

    async def others(self, crawl: str) -> bool:
        """Returns whether at least one running worker accepts the crawl and all its sites."""
        some = {worker for worker, name, _ in await self.refused() if name == crawl}
        return any(
            one.name not in some
            for one in await WorkerRecords(self._store).living()
            if one.state == "running"
        )

    async def _do(self, call: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], call))


def _order(found: bytes | None) -> str:
    """Decodes an order. Returns '' if there is no order or if the order is unknown."""
    word = (found or b"").decode("utf-8", "replace")
    return word if word in ("drain", "stop") else ""


async def take_name(crew: WorkerRecords, wanted: str, *, fixed: bool) -> tuple[str, str]:
    """Reserves a name that no other living worker has. Returns the name, and the token that renews the
    reservation.

    `wanted` is `NAME@HOST`. If that name is taken, tries `NAME-2@HOST`, and so on. If `fixed` is true, a
    taken name raises ConfigError.
    """
    token = secrets.token_hex(8)
    stem, at, host = wanted.partition("@")
    for number in range(1, 1000):
        name = wanted if number == 1 else f"{stem}-{number}{at}{host}"
        if await crew.name(name, token):
            await crew.leave(name)  # removes an order for a dead worker of the same name
            return name, token
        if fixed:
            raise ConfigError(
                f"a worker named {wanted} is running already: give this one another name with -n"
            )
    raise ConfigError(f"a thousand workers are named {wanted}: give this one another name with -n")

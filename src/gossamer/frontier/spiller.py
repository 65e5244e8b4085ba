"""Between the frontier's store and the cold store: the outbox is emptied, and hosts that run low get their
URLs back.

Every worker of a crawl has one, and a short lease says whose turn it is. The lease is for thrift alone: all
that moves is guarded by numbers (`spilled.lua`, `refill.lua`), so a spiller that was stopped and goes on
later, or a kill between any two steps, loses nothing and brings nothing back twice. Rows go to the cold store
when the store's own disk has them, and are let go of when its disk has that they came back: a machine that
lost its power finds each URL in one of the two.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable
from typing import Any, NamedTuple, cast

from gossamer.errors import ColdError, ConfigError, GossamerError, StoreError
from gossamer.frontier.background_task import beside
from gossamer.frontier.cold import Cold, rows
from gossamer.store import keys
from gossamer.store.store import Store
from gossamer.store.store_check import durably

CHUNK, MOST = 5_000, 50_000
"""Entries of a bucket and of all that are moved to the cold store in one step."""
HOSTS = 200
"""Hosts of a bucket that are served in one step."""
LEASE = 5_000
"""Milliseconds."""
BUSY, IDLE = 0.05, 0.1
"""Seconds between rounds, while URLs are cold and else."""
TRIM = 1.0
"""Seconds after which rows of the cold store that came back are let go of, many in one step."""
LOST = 10.0
"""Seconds after which URLs that the cold store should have and has not are given up."""
PATIENCE = 60.0
"""Seconds for which the crawl's store may be away."""
OUT = 20.0
"""Seconds for which the cold store may be away: hosts live on what they have in memory."""


class Tail(NamedTuple):
    """Cold URLs of one host and level: how many, and the number of the last one brought back."""

    bucket: int
    host: str
    level: int
    cold: int
    cursor: int
    room: int
    """That its queue has; `free`: that all queues of the host have together."""
    free: int


class SpillerLease:
    """The lease that says which spiller moves the URLs of a crawl."""

    def __init__(self, store: Store, crawl: str) -> None:
        self.store, self._lease, self._mine = store, keys.turn(crawl, "spill"), secrets.token_hex(8)

    async def ours(self) -> bool:
        """Whether it is our turn."""
        client = self.store.client
        if await self.store.guard(client.set(self._lease, self._mine, nx=True, px=LEASE)):
            return True
        if await self.store.guard(client.get(self._lease)) != self._mine.encode():
            return False
        return bool(await self.store.guard(cast(Awaitable[Any], client.pexpire(self._lease, LEASE))))

    async def durably(self) -> None:
        """Hold it, and wait until all that was written before is on the store's disk."""
        await durably(self.store, "SET", self._lease, self._mine, "PX", str(LEASE))


class Spiller:
    """Moves the URLs of one crawl."""

    def __init__(self, store: Store, crawl: str, cold: Cold, hot: int) -> None:
        self.store, self.crawl, self.cold, self.hot = store, crawl, cold, hot
        self._turn = SpillerLease(store, crawl)
        self._spent: dict[int, dict[tuple[str, int], int]] = {}
        self._trim_at = 0.0
        self._missing: dict[tuple[int, str, int], tuple[int, int, float]] = {}

    async def run(self) -> None:
        """Work until cancelled. StoreError or ColdError when a store stays away."""
        since: float | None = None
        while True:
            pause, buckets = IDLE, self.store.buckets
            try:
                if await self._turn.ours() and await self.round():
                    pause = BUSY
                since = None
            except StoreError:
                since = since or time.monotonic()
                if time.monotonic() - since > PATIENCE:
                    raise
            except ColdError:
                if time.monotonic() - (self.cold.away or 0.0) > OUT:
                    raise
            await asyncio.sleep(pause + buckets / 1000)

    async def round(self) -> bool:
        """Empty the outboxes, serve the hosts that run low; whether any URL is cold."""
        waiting = await self._waiting()
        if any(n for n, _, _ in waiting.values()):
            await self._spill([bucket for bucket, (n, _, _) in waiting.items() if n])
        for bucket, (_, wanted, _) in waiting.items():
            if wanted:
                await self._serve(bucket)
        if self._spent and time.monotonic() >= self._trim_at:
            await self._trim()
        return any(out for _, _, out in waiting.values())

    async def drain(self) -> None:
        """Empty the outboxes."""
        while buckets := [bucket for bucket, (n, _, _) in (await self._waiting()).items() if n]:
            await self._spill(buckets)

    async def tails(self, bucket: int, hosts: list[str]) -> list[Tail]:
        """The cold URLs of hosts, where there are any."""
        crawl = f"{keys.tag(bucket)}{self.crawl}:"
        pipe = self.store.client.pipeline(transaction=False)
        for host in hosts:
            pipe.hgetall(f"{crawl}k:{host}")
            pipe.hget(f"{crawl}h:{host}", "q")
        got = await self.store.guard(pipe.execute())
        found: list[Tail] = []
        for j, host in enumerate(hosts):
            fields = {k.decode(): int(v) for k, v in got[2 * j].items()}
            room = 4 * self.hot - int(got[2 * j + 1] or 0)
            levels = sorted((int(k) for k in fields if k[0] != "c"), reverse=True)
            if len(levels) > 1:
                levels.insert(1, levels.pop())  # the lowest is never left out
            found += [Tail(bucket, host, n, fields[str(n)], fields[f"c{n}"], 0, room) for n in levels]
        pipe = self.store.client.pipeline(transaction=False)
        for tail in found:
            pipe.llen(f"{crawl}q:{tail.host}:{tail.level}")
        lengths = await self.store.guard(pipe.execute()) if found else []
        return [tail._replace(room=max(0, self.hot - n)) for tail, n in zip(found, lengths, strict=True)]

    async def _waiting(self) -> dict[int, tuple[int, int, int]]:
        """Of the buckets that have any: entries in the outbox, hosts that run low, cold URLs; one look a
        server."""
        groups = await self.store.by_server()
        calls = [(group[0], (self.crawl, *map(keys.tag, group))) for group in groups]
        found: dict[int, tuple[int, int, int]] = {}
        for group, reply in zip(groups, await self.store.run_all("tails", calls), strict=True):
            if isinstance(reply, GossamerError):
                raise reply
            found |= {
                group[reply[j]]: (reply[j + 1], reply[j + 2], reply[j + 3]) for j in range(0, len(reply), 4)
            }
        return dict(sorted(found.items()))

    async def _spill(self, buckets: list[int]) -> None:
        """Move the first entries of these outboxes: read them, know them on the disk, keep them, take them
        out."""
        read: dict[int, list[bytes]] = {}
        size = 0
        for bucket in buckets:
            if size < MOST:
                outbox = f"{keys.tag(bucket)}{self.crawl}:o"
                read[bucket] = await self.store.guard(
                    cast(Any, self.store.client.lrange(outbox, 0, CHUNK - 1))
                )
                size += len(read[bucket])
        await self._turn.durably()
        for bucket, records in read.items():
            if records:
                entries = [_entry(record) for record in records]
                await self.cold.write(bucket, rows(entries))
                await self.store.run("spilled", bucket, self.crawl, len(records), entries[-1][2])

    async def _serve(self, bucket: int) -> None:
        wanted = f"{keys.tag(bucket)}{self.crawl}:rf"
        hosts = await self.store.guard(cast(Any, self.store.client.srandmember(wanted, HOSTS)))
        tails = await self.tails(bucket, [host.decode() for host in hosts])
        left: dict[str, int] = {}
        for tail in tails:
            free = left.setdefault(tail.host, tail.free)
            left[tail.host] -= await self._refill(tail, max(0, min(tail.room, free, tail.cold)))

    async def _refill(self, tail: Tail, n: int) -> int:
        """Bring up to n back; how many. None: only see whether the host still wants some."""
        where = tail.bucket, tail.host, tail.level
        got = await self.cold.read(*where, tail.cursor, n) if n else []
        lost = self._gone(tail) if n and not got else 0
        if n and not got and not lost:
            return 0  # still in the outbox
        last = got[-1][0] if got else tail.cursor
        flat = [x for _, entry in got for x in ("", entry)]
        done = await self.store.run(
            "refill", tail.bucket, self.crawl, tail.host, tail.level, tail.cursor, last, lost, *flat
        )
        if int(done) < 0:
            return 0
        if got:
            self._missing.pop(where, None)
            self.spend(tail, last)
        return len(got)

    def spend(self, tail: Tail, last: int) -> None:
        """Entries of a tail are no longer needed in the cold store."""
        if not self._spent:
            self._trim_at = time.monotonic() + TRIM
        self._spent.setdefault(tail.bucket, {})[tail.host, tail.level] = last

    def _gone(self, tail: Tail) -> int:
        """How many URLs are neither in the outbox nor in the cold store, when that has been so for a while."""
        where = tail.bucket, tail.host, tail.level
        count, cursor, since = self._missing.get(where, (-1, -1, 0.0))
        if (count, cursor) != (tail.cold, tail.cursor):
            self._missing[where] = tail.cold, tail.cursor, time.monotonic()
            return 0
        return tail.cold if time.monotonic() - since > LOST else 0

    async def _trim(self) -> None:
        """Let go of what came back, when that is on the store's disk."""
        spent, self._spent = self._spent, {}
        await self._turn.durably()
        for bucket, ends in spent.items():
            await self.cold.trim(bucket, [(host, level, last) for (host, level), last in ends.items()])


def _entry(record: bytes) -> tuple[str, int, int, bytes]:
    number, level, host, entry = record.split(b"\t", 3)
    return host.decode(), int(level), int(number), entry


@contextlib.asynccontextmanager
async def spilling(store: Store, crawl: str, cold: Cold | None, hot: int) -> AsyncIterator[None]:
    """Within it URLs move to the cold store and back. What stops that for good stops what goes on within."""
    if cold is None:
        yield
        return
    await cold.try_out()
    async with beside(Spiller(store, crawl, cold, hot).run()):
        yield


async def bound(store: Store, crawl: str, hot: int) -> None:
    """Say how many URLs of a host and level stay hot, for every worker of a crawl; 0: all. ConfigError when
    some are cold."""
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.hmget(f"{keys.tag(bucket)}{crawl}:g", ["hot", "out"])
    found = await store.guard(pipe.execute())
    if not hot and (cold := sum(int(out or 0) for _, out in found)):
        raise ConfigError(
            f"{cold} URLs of crawl {crawl} wait in its cold store: give the setting cold as it was before"
        )
    pipe = store.client.pipeline(transaction=False)
    for bucket, (was, _) in enumerate(found):
        if int(was or 0) != hot:
            pipe.hset(f"{keys.tag(bucket)}{crawl}:g", "hot", str(hot))
    await store.guard(pipe.execute())

"""Removes data that is no longer needed and that is older than a given age. The cleanup works in small steps
with pauses, so that the store stays responsive.

A crawl that can still continue keeps all its data. A crawl can continue if it is unfinished, paused, or ended
with URLs in its queue.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, cast

import msgspec

from gossamer.errors import InUse
from gossamer.frontier.crawls import ENDED, REMOVING, Crawls, Record
from gossamer.frontier.producer_positions import unread_producers
from gossamer.frontier.summary import crawl_counts, scan_keys
from gossamer.state.schedules import Schedules
from gossamer.state.workers import ORDERS, REFUSED, WORKERS, WorkerRecord
from gossamer.store import keys
from gossamer.store.store import Store

PAUSE_FACTOR = 4
"""The ratio of the pause after a cleaning step to the duration of the step."""
MAX_MEASURED_KEYS, SAMPLE_INTERVAL = 10_000, 100
"""Limits for measuring the size of removed keys. Gossamer measures the sizes of the first MAX_MEASURED_KEYS
keys. After the first MAX_MEASURED_KEYS keys, gossamer measures one in every SAMPLE_INTERVAL keys, and
estimates the total size of all keys from the sample."""


class Removed(msgspec.Struct, frozen=True):
    """The number and the size of the keys that were removed, or that a dry run would have removed."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.count + other.count, self.bytes + other.bytes)


class Cleaner:
    """Cleans one store in small steps. `now` is the store's time in seconds since the epoch. If `dry` is
    true, keys are only counted and not removed."""

    def __init__(self, store: Store, now: float, *, dry: bool) -> None:
        self.store, self.now, self.dry = store, now, dry

    async def pages(self, pattern: str) -> AsyncIterator[list[bytes]]:
        """Yields the matching keys in pages, with a pause after each page."""
        began = time.monotonic()
        async for page in scan_keys(self.store, pattern):
            yield page
            await pause_after_step(began)
            began = time.monotonic()

    async def step(self, call: Awaitable[Any]) -> Any:
        """Awaits a call that keeps the store busy, and then pauses."""
        began = time.monotonic()
        found = await call
        await pause_after_step(began)
        return found

    async def do(self, call: Any) -> Any:
        """Awaits a call that takes almost no time in the store. Does not pause."""
        return await self.store.guard(cast(Awaitable[Any], call))

    async def idle(self, page: list[bytes], age: float) -> list[bytes]:
        """Returns the keys in the list `page` that were neither read nor written in the last `age`
        seconds."""
        pipe = self.store.client.pipeline(transaction=False)
        for key in page:
            pipe.object("IDLETIME", key)
        got = await self.store.guard(pipe.execute(raise_on_error=False)) if page else []
        return [key for key, idle in zip(page, got, strict=True) if isinstance(idle, int) and idle >= age]

    async def unlink(self, found: Iterable[bytes], before: int = 0) -> Removed:
        """Removes keys. Returns the number of removed keys and their approximate size in bytes. `before` is
        the number of keys that were already measured."""
        page = list(found)
        if not page:
            return Removed()
        asked = page if before < MAX_MEASURED_KEYS else page[::SAMPLE_INTERVAL]
        pipe = self.store.client.pipeline(transaction=False)
        for key in asked:
            pipe.memory_usage(key)
        size = sum(
            x for x in await self.store.guard(pipe.execute(raise_on_error=False)) if isinstance(x, int)
        )
        if not self.dry:
            pipe = self.store.client.pipeline(transaction=False)
            for key in page:  # unlinked one by one, because the keys are in many cluster slots
                pipe.unlink(key)
            await self.store.guard(pipe.execute())
        return Removed(len(page), size * len(page) // len(asked))


async def pause_after_step(began: float) -> None:
    """Pauses after a step that began at the monotonic time `began`."""
    await asyncio.sleep(min(0.1, PAUSE_FACTOR * (time.monotonic() - began)))


LETTERS_PER_CALL = 500
"""The number of dead letters that one call to the store reads."""
_OWNER = re.compile(rb"\{b:[0-9a-f]{3}\}(?![ho]:)([A-Za-z0-9][A-Za-z0-9._-]{0,79}):")
_TAKE = """
if redis.call('HGET', KEYS[1], 'state') ~= ARGV[1] or redis.call('HGET', KEYS[1], 'ended_at') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[3])
return 1
"""

Hold = Callable[[str], AbstractContextManager[Any]]
"""A function that returns a context manager for a crawl. During the `with` block of the context manager, no
other process on this machine can run the crawl. The function raises InUse if a process is running the
crawl."""


async def remove_crawls(broom: Cleaner, age: float, hold: Hold, only: str | None = None) -> Removed:
    """Removes crawls that ended at least `age` seconds ago and have no work left. This deletes all data of
    these crawls from the store."""
    ripe = [record async for record in _records(broom, only) if await _ripe(broom, record, age)]
    if broom.dry:
        return Removed(len(ripe), (await _keys_of(broom, {record.name for record in ripe})).bytes)
    done, size = 0, 0
    for record in ripe:
        try:
            with hold(record.name):
                if not await _take(broom, record):
                    continue
                size += (await _remove(broom, record.name)).bytes
                done += 1
        except InUse:
            continue
    return Removed(done, size)


async def drop_dead_letters(broom: Cleaner, age: float, only: str | None = None) -> Removed:
    """Drops dead letters that are older than `age` seconds. Only crawls that have ended and have no work left
    are cleaned. If `only` names a crawl, only this crawl is cleaned, whatever its state is."""
    found = Removed()
    async for record in _records(broom, only):
        if only is None and not await _done(broom, record):
            continue
        for bucket in range(broom.store.buckets):
            ids, size = await _letters(broom, bucket, record.name, (broom.now - age) * 1000)
            found += Removed(len(ids), size)
            for first in range(0, 0 if broom.dry else len(ids), 200):
                await broom.step(
                    broom.store.run(
                        "dead_letters", bucket, record.name, "drop", "", *ids[first : first + 200]
                    )
                )
    return found


async def requeue_leases(broom: Cleaner) -> Removed:
    """Requeues the expired claims of crawls that have ended. Otherwise, these claims would still count as
    open requests to their hosts."""
    found = 0
    async for record in _records(broom, None):
        if record.state not in ENDED:
            continue
        pipe = broom.store.client.pipeline(transaction=False)
        for bucket in range(broom.store.buckets):
            pipe.zcount(f"{keys.tag(bucket)}{record.name}:l", "-inf", round(broom.now * 1000))
        for bucket, number in enumerate(await broom.store.guard(pipe.execute())):
            found += number
            while (
                number
                and not broom.dry
                and (
                    await broom.step(broom.store.run("requeue_expired", bucket, record.name, 1000, 1000, 0))
                )[0]
            ):
                pass
    return Removed(found)


async def remove_hosts(broom: Cleaner, age: float) -> Removed:
    """Removes the state of a host if no crawl has URLs of the host and the state was not used for `age`
    seconds. Does not remove keys that have a time to live."""
    found = Removed()
    async for page in broom.pages("{b:???}h:*"):
        idle = await broom.idle(page, age)
        pipe = broom.store.client.pipeline(transaction=False)
        for key in idle:
            pipe.pttl(key)  # PTTL is used, because reading the hash itself would count as a use
        left = await broom.store.guard(pipe.execute()) if idle else []
        free = [key for key, ms in zip(idle, left, strict=True) if ms == -1]
        found += await broom.unlink([key for key in free if not await _wanted(broom, key)])
    return found


async def remove_orphan_keys(broom: Cleaner, age: float) -> Removed:
    """Removes keys that a late worker wrote for a deleted crawl, if they were not used for `age` seconds."""
    known = set(await Crawls(broom.store).names())
    found = Removed()
    async for page in broom.pages("{b:???}*:*"):
        strange = [key for key in page if (name := owner_of_key(key)) is not None and name not in known]
        idle = await broom.idle(strange, age)
        gone = {
            name for name in map(owner_of_key, idle) if name and await Crawls(broom.store).get(name) is None
        }
        stale = [key for key in idle if owner_of_key(key) in gone]
        for key in stale:
            if not broom.dry and key.endswith(b":l"):
                await _give_back(broom, int(key[3:6], 16), owner_of_key(key) or "")
        found += await broom.unlink(stale)
    return found


async def remove_runs(broom: Cleaner, age: float) -> Removed:
    """Removes the records of scheduled runs that ended at least `age` seconds ago, except the latest run of
    each schedule."""
    schedules, found = Schedules(broom.store), Removed()
    for name in await schedules.names():
        found += Removed(*await broom.step(schedules.forget(name, broom.now - age, dry=broom.dry)))
    return found


async def remove_workers(broom: Cleaner, age: float) -> Removed:
    """Removes the records of workers that have sent no heartbeat for `age` seconds. Also removes the orders
    to workers that no longer exist. A refusal records why a worker cannot work on a crawl. Refusals are
    removed if the worker or the crawl no longer exists."""
    client, found = broom.store.client, Removed()
    crew = await broom.do(client.hgetall(WORKERS))
    known = {name: WorkerRecord.of(name, raw) for name, raw in crew.items()}
    gone = [name for name, one in known.items() if one.state != "unread" and broom.now - one.beat >= age]
    left = crew.keys() - set(gone)
    orders = [name for name in await broom.do(client.hgetall(ORDERS)) if name not in left]
    crawls_ = {name.encode() for name in await Crawls(broom.store).names()}
    refused = await broom.do(client.hgetall(REFUSED))
    stale = [
        field for field in refused if (pair := field.split(b"\t"))[0] not in left or pair[-1] not in crawls_
    ]
    for key, fields in ((WORKERS, gone), (ORDERS, orders), (REFUSED, stale)):
        found += Removed(len(fields), sum(map(len, fields)))
        if fields and not broom.dry:
            await broom.do(client.hdel(key, *fields))
    return found


async def forget_proxies(broom: Cleaner, age: float) -> Removed:
    """Removes the health statistics of a proxy if no worker has reported about the proxy for `age` seconds.
    If the proxy is in quarantine, the quarantine ends."""
    statistics, changes = keys.PROXIES
    found = Removed()
    before = round((broom.now - age) * 1000)
    while True:
        start = found.count if broom.dry else 0
        names = await broom.do(broom.store.client.zrangebyscore(changes, "-inf", before, start, 500))
        if not names:
            return found
        found += Removed(len(names))
        if not broom.dry:
            await broom.do(broom.store.client.hdel(statistics, *names))
            await broom.do(broom.store.client.zrem(changes, *names))


def owner_of_key(key: bytes) -> str | None:
    """Returns the crawl to which a key belongs.

    >>> owner_of_key(b"{b:000}books:q:example.com:0"), owner_of_key(b"{b:000}h:example.com")
    ('books', None)
    """
    found = _OWNER.match(key)
    return found[1].decode() if found else None


async def _records(broom: Cleaner, only: str | None) -> AsyncIterator[Record]:
    for name in [only] if only is not None else await Crawls(broom.store).names():
        record = await Crawls(broom.store).get(name)
        if record is not None:
            yield record


async def _ripe(broom: Cleaner, record: Record, age: float) -> bool:
    if record.state == REMOVING:  # an earlier cleanup was killed while it removed this crawl
        return True
    return record.ended_at is not None and broom.now - record.ended_at >= age and await _done(broom, record)


async def _done(broom: Cleaner, record: Record) -> bool:
    """Returns whether a crawl has ended and has no work left for a later run."""
    over = record.state in ("finished", "cancelled")
    if record.state not in ENDED or not (
        over or (record.seeded and not await unread_producers(broom.store, record.name))
    ):
        return False
    pipe = broom.store.client.pipeline(transaction=False)
    for bucket in range(broom.store.buckets):
        pipe.exists(f"{keys.tag(bucket)}{record.name}:l")
    return (
        not any(await broom.store.guard(pipe.execute()))
        and (await crawl_counts(broom.store, record.name))["open"] == 0
    )


async def _take(broom: Cleaner, record: Record) -> bool:
    """Marks a crawl as being removed, so that the crawl cannot be started. Returns False if the crawl was
    resumed in the meantime."""
    if record.state == REMOVING:
        return True
    key = keys.record(record.name)
    ended = await broom.do(broom.store.client.hget(key, "ended_at"))
    if not await broom.do(broom.store.client.eval(_TAKE, 1, key, record.state, ended, REMOVING)):
        return False
    if (await crawl_counts(broom.store, record.name))[
        "open"
    ]:  # URLs were added after the check and before the crawl was marked
        await broom.do(broom.store.client.hset(key, "state", record.state))
        return False
    return True


async def _remove(broom: Cleaner, name: str) -> Removed:
    client = broom.store.client
    for bucket in range(broom.store.buckets):
        await _give_back(broom, bucket, name)
        await broom.do(client.srem(f"{keys.tag(bucket)}c", name))
    found = await _keys_of(broom, {name})
    await broom.do(client.delete(keys.anchors(name)))
    await broom.do(client.delete(keys.setup(name)))
    for key in keys.attempts(name):
        await broom.do(client.delete(key))
    await broom.do(client.hdel(f"{keys.tag(0)}@credits", f"crawl:{name}"))
    await broom.do(client.srem(keys.CRAWLS, name))
    await broom.do(client.delete(keys.record(name)))
    return found


async def _give_back(broom: Cleaner, bucket: int, name: str) -> None:
    """Requeues the claims of dead workers. The claims must be requeued before the crawl is removed.
    Otherwise, the claims would still count as open requests to their hosts, which other crawls may share."""
    while (await broom.step(broom.store.run("requeue_expired", bucket, name, 1000, 1000, 1)))[0]:
        pass


async def _keys_of(broom: Cleaner, names: set[str]) -> Removed:
    """Removes all keys of these crawls in one pass over the store."""
    found = Removed()
    if names:
        pattern = f"{{b:???}}{next(iter(names))}:*" if len(names) == 1 else "{b:???}*:*"
        async for page in broom.pages(pattern):
            found += await broom.unlink([key for key in page if owner_of_key(key) in names], found.count)
    return found


async def _letters(broom: Cleaner, bucket: int, crawl: str, before: float) -> tuple[list[int], int]:
    """Returns the IDs of dead letters that are older than a time in ms, and their total size in bytes. Dead
    letters are stored in order of age."""
    client, at = broom.store.client, f"{keys.tag(bucket)}{crawl}:"
    ids: list[int] = []
    size = 0
    if not await broom.do(client.hlen(at + "x")):
        return ids, size
    last = int(await broom.do(client.hget(at + "n", "letter")) or 0)
    for first in range(1, last + 1, LETTERS_PER_CALL):
        page = list(range(first, min(first + LETTERS_PER_CALL, last + 1)))
        found = await broom.step(broom.do(client.hmget(at + "x", [str(one) for one in page])))
        for number, raw in zip(page, found, strict=True):
            if raw is None:
                continue
            if int(raw.split(b"\t", 5)[4]) > before:
                return ids, size
            ids.append(number)
            size += len(raw)
    return ids, size


async def _wanted(broom: Cleaner, key: bytes) -> bool:
    """Returns whether any crawl has URLs of the host to which a key belongs."""
    tag, host = key[: key.index(b"}") + 1].decode(), key[key.index(b"}") + 3 :].decode()
    names = await broom.do(broom.store.client.smembers(f"{tag}c"))
    return any(
        [await broom.do(broom.store.client.exists(f"{tag}{name.decode()}:h:{host}")) for name in names]
    )

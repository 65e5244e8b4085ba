"""Taking things away for good: a crawl, what waits in its queues, a host's closed door. For the doors, never
for workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from gossamer.frontier.cold import Cold
from gossamer.store import keys
from gossamer.store.store import Store

QUEUES = ("q:", "t:", "h:", "r:", "a:", "k:", "e:")
LEASES = ("l", "lp", "o", "rf")


async def forget(store: Store, crawl: str, cold: Cold | None = None) -> None:
    """Remove a crawl and all its keys (its hosts' shared state stays), and what waits in its cold store."""
    if cold is not None:
        await cold.drop()
    await _give_back(store, crawl)
    await _remove(store, crawl, lambda _: True)
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.srem(f"{keys.tag(bucket)}c", crawl)
    pipe.delete(keys.record(crawl))
    for key in (keys.anchors(crawl), keys.lately(crawl), keys.told(crawl)):
        pipe.delete(key)
    pipe.hdel(f"{keys.tag(0)}@credits", f"crawl:{crawl}")
    pipe.srem(keys.CRAWLS, crawl)
    await store.guard(pipe.execute())


async def drop_queue(store: Store, crawl: str, cold: Cold | None = None) -> int:
    """Cancel: what waits is dropped and counted as failed with the reason `expired`; returns how many."""
    await _give_back(store, crawl)
    await _remove(store, crawl, lambda name: name.startswith(QUEUES) or name in LEASES)
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.hmget(f"{keys.tag(bucket)}{crawl}:n", ["open", "infra"])
        pipe.hexists(f"{keys.tag(bucket)}{crawl}:g", "out")
    dropped = 0
    found = await store.guard(pipe.execute())
    for bucket, ((is_open, infra), out) in enumerate(zip(found[::2], found[1::2], strict=True)):
        left, key = int(is_open or 0) - int(infra or 0), f"{keys.tag(bucket)}{crawl}:n"
        if not int(is_open or 0) and not int(infra or 0) and not out:
            continue
        change = store.client.pipeline()
        change.hset(key, mapping={"open": 0, "infra": 0})
        if out:
            change.hset(f"{keys.tag(bucket)}{crawl}:g", "out", 0)
        change.hincrby(key, "failed", left)
        if left:
            change.hincrby(key, "err:expired", left)
        await store.guard(change.execute())
        dropped += left
    if cold is not None:
        await cold.drop()
    return dropped


async def reopen(store: Store, host: str) -> None:
    """Forget that a host's robots.txt could not be read: a crawl that begins anew asks again at once."""
    key = f"{keys.tag(keys.bucket_of(host, store.buckets))}h:{host}"
    versions = await store.guard(cast(Awaitable[Any], store.client.hmget(key, ["vh", "vs"])))
    closed = [
        field
        for scheme, v in zip("hs", versions, strict=True)
        if int(v or 0) < 0
        for field in (f"v{scheme}", f"e{scheme}")
    ]
    await store.guard(cast(Awaitable[Any], store.client.hdel(key, "w", "ah", "as", *closed)))


async def _give_back(store: Store, crawl: str) -> None:
    """Claims of processes that died hold slots of their hosts, which other crawls share: return them first."""
    left = list(range(store.buckets))
    while left:
        replies = await store.run_all("sweep", [(bucket, (crawl, 1000, 1000, 1)) for bucket in left])
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        left = [bucket for bucket, reply in zip(left, replies, strict=True) if reply[0]]


async def _remove(store: Store, crawl: str, which: Callable[[str], bool]) -> None:
    """Unlink the keys of a crawl whose name after the crawl's is wanted, in pages."""
    async for found in store.scan(f"{{b:???}}{crawl}:*"):
        pipe = store.client.pipeline(transaction=False)
        for key in found:
            if which(key.decode().split("}", 1)[1].removeprefix(f"{crawl}:")):
                pipe.unlink(key)
        await store.guard(pipe.execute())
        await asyncio.sleep(0)

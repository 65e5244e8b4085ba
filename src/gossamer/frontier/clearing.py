"""Taking things away for good: a crawl, what waits in its queues, a host's closed door. For the doors, never for workers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, cast

from gossamer.frontier import keys
from gossamer.frontier.cold import Cold
from gossamer.frontier.store import Store

QUEUES = ("q:*", "t:*", "h:*", "r:*", "a:*", "k:*", "o", "rf", "l", "lp")


async def forget(store: Store, crawl: str, cold: Cold | None = None) -> None:
    """Remove a crawl and all its keys (its hosts' shared state stays), and what waits in its cold store."""
    if cold is not None:
        await cold.drop()
    for bucket in range(store.buckets):
        await _give_back(store, bucket, crawl)
        await _remove(store, f"{keys.tag(bucket)}{crawl}:*")
        await store.guard(cast(Awaitable[Any], store.client.srem(f"{keys.tag(bucket)}c", crawl)))
    await store.guard(store.client.delete(keys.record(crawl), keys.anchors(crawl)))
    await store.guard(cast(Awaitable[Any], store.client.srem(keys.CRAWLS, crawl)))


async def drop_queue(store: Store, crawl: str, cold: Cold | None = None) -> int:
    """Cancel: what waits is dropped and counted as failed with the reason `expired`; returns how many."""
    dropped = 0
    for bucket in range(store.buckets):
        tag = f"{keys.tag(bucket)}{crawl}:"
        await _give_back(store, bucket, crawl)
        for part in QUEUES:
            await _remove(store, tag + part)
        counts = await store.guard(cast(Awaitable[Any], store.client.hmget(tag + "n", ["open", "infra"])))
        left = int(counts[0] or 0) - int(counts[1] or 0)
        pipe = store.client.pipeline()
        pipe.hset(tag + "n", mapping={"open": 0, "infra": 0})
        if await store.guard(cast(Awaitable[Any], store.client.hexists(tag + "g", "out"))):
            pipe.hset(tag + "g", "out", 0)
        pipe.hincrby(tag + "n", "failed", left)
        if left:
            pipe.hincrby(tag + "n", "err:expired", left)
        await store.guard(pipe.execute())
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


async def _give_back(store: Store, bucket: int, crawl: str) -> None:
    """Claims of processes that died hold slots of their hosts, which other crawls share: return them first."""
    while (await store.run("sweep", bucket, crawl, 1000, 1000, 1))[0]:
        pass


async def _remove(store: Store, pattern: str) -> None:
    """Unlink the keys that match, in pages."""
    cursor: Any = 0
    while True:
        cursor, found = await store.guard(
            cast(Awaitable[Any], store.client.scan(cursor, match=pattern.replace("[", "\\["), count=1000))
        )
        if found:
            await store.guard(store.client.unlink(*found))
        if cursor == 0:
            return
        await asyncio.sleep(0)

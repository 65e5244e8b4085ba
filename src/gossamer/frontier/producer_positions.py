"""Reads the stored progress of producers, and determines whether any producer is running. Producers are
processes that add URLs to a crawl."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, cast

from gossamer.config.redaction import mask
from gossamer.store import keys
from gossamer.store.store import Store


def leases_key(crawl: str) -> str:
    """Returns the key of the producers' leases."""
    return f"{keys.tag(0)}{crawl}:pl"


def positions_key(crawl: str) -> str:
    """Returns the key of the producers' positions."""
    return f"{keys.tag(0)}{crawl}:po"


async def position_of(store: Store, crawl: str, name: str) -> dict[str, Any] | None:
    """Returns the stored position of a producer (`at` and `done`), or None if no position is stored."""
    raw = await store.guard(cast(Awaitable[Any], store.client.hget(positions_key(crawl), name)))
    found: dict[str, Any] | None = json.loads(raw) if raw else None
    return found


async def unread_producers(store: Store, crawl: str) -> list[str]:
    """Returns the names of the producers that have begun but not finished. Secrets in the names are
    masked."""
    kept = await store.guard(cast(Awaitable[Any], store.client.hgetall(positions_key(crawl))))
    return sorted(mask(name.decode()) for name, value in kept.items() if not json.loads(value)["done"])


async def has_active_producer(store: Store, crawl: str) -> bool:
    """Returns whether a producer is currently adding URLs to the crawl. A producer holds a lease while it
    adds URLs."""
    pipe = store.client.pipeline(transaction=False)
    pipe.time()
    pipe.zrange(leases_key(crawl), -1, -1, withscores=True)
    (seconds, micros), last = await store.guard(pipe.execute())
    return bool(last) and float(last[0][1]) > seconds * 1000 + micros // 1000


async def unfinished_producers(store: Store, crawl: str) -> list[str]:
    """Returns the names of the unfinished producers. Returns an empty list while at least one producer is
    running."""
    return [] if await has_active_producer(store, crawl) else await unread_producers(store, crawl)

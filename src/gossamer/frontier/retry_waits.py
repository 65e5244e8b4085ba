"""Waits for retries: how many URLs of a crawl wait, whether the crawl only waits, and how the waits are
shortened or ended. `frontier/lua/waiting_urls.lua` defines which URLs wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gossamer.frontier.crawls import store_time
from gossamer.frontier.stats import Retries
from gossamer.store.store import Store

ALL_HEAPS = "0 0 *"


async def only_retries(store: Store, crawl: str) -> Retries | None:
    """Returns the URLs that wait for a retry if nothing else is left of the crawl. Returns None if the crawl
    can visit a URL that has not failed, or if a producer may add URLs."""
    calls = [(bucket, (crawl, ALL_HEAPS, "look")) for bucket in range(store.buckets)]
    urls = left = 0
    due: list[int] = []
    for reply in await store.run_all("waiting_urls", calls):
        if isinstance(reply, Exception):
            raise reply
        if not reply:
            return None
        waiting, flying, first, last, is_open = reply
        urls, left = urls + waiting + flying, left + is_open
        due += [first, last] if waiting or flying else []
    if not urls or urls < left:
        return None
    now = await store_time(store) * 1000
    return Retries(urls, max(0, min(due) - now) / 1000, max(0, max(due) - now) / 1000)


async def hasten(store: Store, crawl: str, waits_of: Callable[[str], Sequence[float]]) -> int:
    """Applies a schedule of retries to the URLs that already wait: no retry is due later than the schedule
    says, counted from now. `waits_of` returns the waits of a host in seconds. Returns the number of changed
    retries. A host without retries keeps its waits (see `AllBucketsFrontier.end_waits`)."""
    moved = 0
    async for found in store.scan(f"{{b:???}}{crawl}:h:*"):
        calls = []
        for key in found:
            tag, _, rest = key.decode().partition("}")
            host = rest.removeprefix(f"{crawl}:h:")
            if waits := waits_of(host):
                ms = [round(wait * 1000) for wait in waits]
                calls.append((int(tag[3:], 16), (crawl, ALL_HEAPS, "hasten", host, *ms)))
        for reply in await store.run_all("waiting_urls", calls):
            if isinstance(reply, Exception):
                raise reply
            moved += int(reply)
    return moved

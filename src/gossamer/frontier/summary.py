"""Computes a crawl's summary from the counts of its buckets. Also contains the clock that counts the crawl's
working time. The counts of a bucket are all read at the same moment, so the sums are consistent."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from gossamer.errors import GossamerError
from gossamer.frontier.crawls import Crawls, Record
from gossamer.frontier.quality_records import GoodRuns
from gossamer.model.quality import of_counts
from gossamer.model.summary import Summary
from gossamer.store import keys
from gossamer.store.store import Store


@contextlib.asynccontextmanager
async def count_working_time(store: Store, record: Record) -> AsyncIterator[None]:
    """Counts the time spent in the `with` block as working time of the crawl. The working time is stored
    every second, so a kill loses at most one second of it."""
    began = time.monotonic() - record.spent

    async def note() -> None:
        with contextlib.suppress(GossamerError):  # workers report an outage of the store themselves
            await Crawls(store).spend(record.name, time.monotonic() - began)

    async def every_second() -> None:
        while True:
            await asyncio.sleep(1)
            await note()

    clock = asyncio.create_task(every_second())
    try:
        yield
    finally:
        clock.cancel()
        await asyncio.gather(clock, return_exceptions=True)
        await note()


GONE = "fate:gone"
"""The name of the count of items that a run marked as gone. The count is known when the run has ended."""
PAGE_KEYS = 1000
"""Number of keys or fields in one step of a scan."""


async def summary(store: Store, name: str, hosts: int | None = None) -> Summary:
    """Returns the crawl's current summary. `hosts`: the number of hosts. If `hosts` is None, this function
    counts the hosts. Raises UsageError if the crawl does not exist."""
    record = await Crawls(store).need(name)
    elapsed = record.spent
    n = await crawl_counts(store, name)
    sites = of_counts(n)
    if sites:
        sites = of_counts(n, await GoodRuns(store).load(list(sites)))
    if hosts is None:
        hosts = await hosts_met(store, name)
    return Summary(
        crawl=name,
        state=record.state,
        reason=record.reason,
        started_at=_moment(record.started_at),
        elapsed=round(elapsed, 3),
        found=n["found"],
        pages=n["pages"],
        redirected=n["redirected"],
        items=n["items"],
        succeeded=n["succeeded"],
        **_fates(n, record.tells),
        failed=n["failed"],
        skipped=_reasons(n, "skip:"),
        retried=n["retried"],
        dead=n["dead"],
        pending=n["open"] - n["infra"],
        bytes=n["bytes"],
        pages_per_second=round(n["pages"] / elapsed, 2) if elapsed > 0 else 0.0,
        hosts=hosts,
        errors=_reasons(n, "err:"),
        outputs=record.outputs,
        files=n["files"],
        rejected=n["rejected"],
        dropped=n["dropped"],
        sites=sites,
        duplicates=_reasons(n, "dup:"),
        counters=_reasons(n, "own:"),
        unfollowed_routes=_reasons(n, "routes|"),
        unread_sitemaps=_reasons(n, "unread-map|"),
        unused_sitemaps=_reasons(n, "unused-map|"),
        unrendered=_reasons(n, "unrendered|"),
    )


def _fates(n: Counter[str], tells: str) -> dict[str, Any]:
    """Returns the numbers of new, changed, unchanged and gone items, and of rows that a sink refused. A
    number that the outputs cannot know is None (docs/absence.md). `tells`: see `Record.tells`."""
    refused, written = Counter[str](), Counter[str]()
    fates: Counter[str] = Counter()
    for name, count in n.items():
        if name.startswith("out|"):
            (refused if name.endswith("|r") else written)[name[:-2]] += count
        elif name.startswith("fate|"):
            fates[name[-1]] += count
    whole = sorted({name.split("|", 2)[2] for name, count in refused.items() if count and not written[name]})
    found: dict[str, Any] = {"refused": sum(refused.values()) + fates["r"], "refused_kinds": whole}
    if tells == "nothing":
        return found | dict.fromkeys(("new", "changed", "unchanged", "gone"))
    if not tells.startswith("items"):
        return found | {name: n[name] for name in ("new", "changed", "unchanged", "gone")}
    # the items of a page that did not change, according to a `--refresh`, count as one
    unchanged = fates["u"] + n["unchanged"]
    gone = n[GONE] if tells == "items gone" and GONE in n else None
    return found | {"new": fates["n"], "changed": fates["c"], "unchanged": unchanged, "gone": gone}


async def crawl_counts(store: Store, name: str) -> Counter[str]:
    """Returns all counts of the crawl, summed over its buckets. A missing count is 0."""
    total: Counter[str] = Counter()
    for first in range(0, store.buckets, 256):
        pipe = store.client.pipeline(transaction=False)
        for bucket in range(first, min(first + 256, store.buckets)):
            pipe.hgetall(f"{keys.tag(bucket)}{name}:n")
        for found in await store.guard(pipe.execute()):
            for field, value in found.items():
                if field != b"tat":  # `tat` is the time of the rate cap (`multi_bucket`), not a count
                    total[field.decode()] += int(value)
    return total


async def hosts_met(store: Store, name: str) -> int:
    """Returns the number of hosts in the crawl. Only commands should call this function, and rarely, because
    the function scans all keys."""
    return sum([len(found) async for found in scan_keys(store, f"{{b:???}}{name}:h:*")])


async def expected_lost(store: Store, name: str) -> float:
    """Returns an estimate of the number of URLs that the crawl has lost so far. A new URL is lost if the seen
    set mistakes it for a known URL."""
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.hget(f"{keys.tag(bucket)}{name}:g", "lost")
    return sum(int(one or 0) for one in await store.guard(pipe.execute())) / 1e12


def scan_keys(store: Store, pattern: str) -> AsyncIterator[list[bytes]]:
    """Yields the keys that match `pattern`, in batches (`Store.scan`)."""
    return store.scan(pattern, PAGE_KEYS)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _reasons(n: Counter[str], prefix: str) -> dict[str, int]:
    return {k.removeprefix(prefix): v for k, v in sorted(n.items()) if k.startswith(prefix) and v}

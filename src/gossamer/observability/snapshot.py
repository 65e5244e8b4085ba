"""One look at a store: the totals of all crawls, the crawls under way, lanes, workers, servers, schedules,
proxies. The exporter of metrics and the alerts read the same snapshot."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.errors import GossamerError
from gossamer.frontier.crawls import ENDED, UNDER_WAY, Crawls, Record
from gossamer.frontier.quality import GoodRuns
from gossamer.frontier.recent_rates import RecentRates, recent_rates
from gossamer.frontier.summary import crawl_counts
from gossamer.model.quality import Quality, of_counts
from gossamer.proxies.proxy_health import ProxyHealth
from gossamer.state.schedules import Schedules, Unread
from gossamer.state.worker_lanes import split_heap
from gossamer.state.workers import WorkerRecord, WorkerRecords
from gossamer.store import keys
from gossamer.store.store import Store

MAX_CRAWLS = 50
"""Maximum number of crawls in a snapshot: those under way first, then those that ended last."""
KEPT_ENDED_S = 86_400.0
"""Seconds for which an ended crawl stays in the snapshot."""
ENDED_CACHE_S = 60.0
"""Seconds for which the counts of an ended crawl are not read again."""


class CrawlNow(msgspec.Struct):
    """One crawl."""

    name: str
    state: str
    reason: str
    fleet: bool
    started_at: float
    counts: dict[str, int]
    """The counts of its buckets, added up (`store.keys`)."""
    in_flight: int
    recent: RecentRates
    sites: dict[str, Quality]

    def count(self, name: str) -> int:
        """Returns one count, 0 if it is missing."""
        return self.counts.get(name, 0)

    @property
    def waits_for_output(self) -> bool:
        """Whether an output does not answer, so that its rows wait in the workers."""
        return self.state == "running" and "waiting for it" in self.reason

    @property
    def pending(self) -> int:
        """Pages that wait or are being visited."""
        return self.count("open") - self.count("infra")


class LaneNow(msgspec.Struct):
    """The hosts that wait in one lane and region, of all crawls under way."""

    lane: str
    region: str
    ready: int = 0
    """Hosts that may start now."""
    waiting: int = 0
    """Hosts that may start later."""
    oldest: float = 0.0
    """Seconds for which the first ready host has waited for a worker."""


class ServerNow(NamedTuple):
    """One server of the store. Sizes in bytes; `most` is 0 without a limit."""

    name: str
    memory: int
    most: int
    evicted: int
    clients: int
    commands: int
    role: str


class ScheduleNow(NamedTuple):
    """One schedule. Times in seconds since the epoch."""

    name: str
    paused: bool
    last_success: float | None
    counts: dict[str, int]


class Snapshot(msgspec.Struct):
    """What one look found. Times in seconds since the epoch, by the store's clock."""

    now: float
    totals: Counter[str]
    crawls: list[CrawlNow]
    lanes: list[LaneNow]
    workers: list[WorkerRecord]
    servers: list[ServerNow]
    schedules: list[ScheduleNow]
    proxies: dict[tuple[str, str], int]
    """Proxies by provider and state: up, quarantined, cooling (blocked at a domain)."""
    credits: dict[str, int]
    """Credits of each unlocker that were spent or reserved today (UTC)."""
    credits_daily: int | None = None
    """Maximum credits per day, if this process has that setting."""
    took: float = 0.0
    """Seconds that the look took."""


class Observer:
    """Takes snapshots of a store, and keeps what does not change between them."""

    def __init__(self, store: Store, credits_daily: int | None = None) -> None:
        self._credits_daily = credits_daily
        self._store, self._crawls, self._workers = store, Crawls(store), WorkerRecords(store)
        self._ended: dict[str, tuple[float, CrawlNow]] = {}

    async def look(self) -> Snapshot:
        """Takes a snapshot. Raises StoreError if the store cannot be reached."""
        began = time.monotonic()
        now = await self._workers.now()
        crawls = await self._crawls_now(now)
        return Snapshot(
            now=now,
            totals=await self.totals(),
            crawls=crawls,
            lanes=await self._lanes([one.name for one in crawls if one.state in UNDER_WAY], now),
            workers=await self._workers.all(),
            servers=await self._servers(),
            schedules=await self._schedules(),
            proxies=await self._proxies(now),
            credits=await self._credits(now),
            credits_daily=self._credits_daily,
            took=time.monotonic() - began,
        )

    async def totals(self) -> Counter[str]:
        """Returns the totals of all buckets, added up."""
        pipe = self._store.client.pipeline(transaction=False)
        for bucket in range(self._store.buckets):
            pipe.hgetall(keys.totals(bucket))
        sums: dict[bytes, int] = {}
        for found in await self._store.guard(pipe.execute()):
            for name, value in found.items():
                sums[name] = sums.get(name, 0) + int(value)
        return Counter({name.decode("utf-8", "replace"): n for name, n in sums.items()})

    async def _crawls_now(self, now: float) -> list[CrawlNow]:
        names = await self._crawls.names()
        pipe = self._store.client.pipeline(transaction=False)
        for name in names:
            pipe.hmget(keys.record(name), ["state", "started_at", "ended_at"])
        going, over = list[tuple[float, str]](), list[tuple[float, str]]()
        for name, (state, began, ended) in zip(
            names, await self._store.guard(pipe.execute()) if names else [], strict=True
        ):
            at = float(ended or began or 0)
            if (state or b"").decode() in UNDER_WAY:
                going.append((float(began or 0), name))
            elif (state or b"").decode() in ENDED and now - at < KEPT_ENDED_S:
                over.append((at, name))
        chosen = [
            name for _, name in [*sorted(going, reverse=True), *sorted(over, reverse=True)][:MAX_CRAWLS]
        ]
        some = [one for one in [await self._crawls.get(name) for name in chosen] if one is not None]
        self._ended = {name: self._ended[name] for name in chosen if name in self._ended}
        recents = await recent_rates(
            self._store, [one.name for one in some], now, [one.started_at for one in some]
        )
        return [await self._crawl(one, recent, now) for one, recent in zip(some, recents, strict=True)]

    async def _crawl(self, record: Record, recent: RecentRates, now: float) -> CrawlNow:
        read_at, known = self._ended.get(record.name, (0.0, None))
        if known is not None and now - read_at < ENDED_CACHE_S and known.started_at == record.started_at:
            return known
        counts = await crawl_counts(self._store, record.name)
        pipe = self._store.client.pipeline(transaction=False)
        for bucket in range(self._store.buckets):
            pipe.zcard(f"{keys.tag(bucket)}{record.name}:l")
        found = CrawlNow(
            record.name,
            record.state,
            record.reason or "",
            record.fleet,
            record.started_at,
            counts,
            sum(await self._store.guard(pipe.execute())),
            recent,
            await self._sites(counts),
        )
        if record.state in ENDED:
            self._ended[record.name] = (now, found)
        return found

    async def _sites(self, counts: Counter[str]) -> dict[str, Quality]:
        """Returns the quality of a crawl's sites, with their fall below the last good runs."""
        names = list(of_counts(counts))
        return of_counts(counts, await GoodRuns(self._store).load(names)) if names else {}

    async def _lanes(self, crawls: list[str], now: float) -> list[LaneNow]:
        buckets = range(self._store.buckets)
        pipe = self._store.client.pipeline(transaction=False)
        for name in crawls:
            for bucket in buckets:
                pipe.smembers(f"{keys.tag(bucket)}{name}:hs")
        named = await self._store.guard(pipe.execute()) if crawls else []
        pipe, heaps = self._store.client.pipeline(transaction=False), list[str]()
        for (name, bucket), own in zip(
            ((name, bucket) for name in crawls for bucket in buckets), named, strict=True
        ):
            for heap in {"http", *(one.decode() for one in own)}:
                for hard in (heap, _hard(heap)):
                    key = f"{keys.tag(bucket)}{name}:r:{hard}"
                    pipe.zcount(key, "-inf", round(now * 1000))
                    pipe.zcard(key)
                    pipe.zrange(key, 0, 0, withscores=True)
                    heaps.append(heap)
        found = await self._store.guard(pipe.execute()) if heaps else []
        lanes: dict[tuple[str, str], LaneNow] = {}
        for j, heap in enumerate(heaps):
            lane, region, _ = split_heap(heap)
            lane = lane.partition("+")[0]
            one = lanes.setdefault((lane, region), LaneNow(lane, region))
            ready, size, first = found[3 * j : 3 * j + 3]
            one.ready += ready
            one.waiting += size - ready
            if first:
                one.oldest = max(one.oldest, now - first[0][1] / 1000)
        return [lanes[name] for name in sorted(lanes)]

    async def _servers(self) -> list[ServerNow]:
        found = []
        for number, server in enumerate(await self._store.guard(self._store.client.servers.all())):
            try:
                info = await self._store.guard(cast(Any, server.client.info()))
            except GossamerError:  # the user of the store may not call INFO
                continue
            found.append(
                ServerNow(
                    str(number),
                    int(info.get("used_memory", 0)),
                    int(info.get("maxmemory", 0)),
                    int(info.get("evicted_keys", 0)),
                    int(info.get("connected_clients", 0)),
                    int(info.get("total_commands_processed", 0)),
                    str(info.get("role", "")),
                )
            )
        return found

    async def _schedules(self) -> list[ScheduleNow]:
        schedules, found = Schedules(self._store), []
        for one in await schedules.all():
            if isinstance(one, Unread):
                continue
            runs = await schedules.ended(one.schedule.name, 20)
            good = [run.ended for run in runs if run.state in ("finished", "limited") and run.ended]
            found.append(
                ScheduleNow(one.schedule.name, one.schedule.paused, max(good, default=None), one.counts)
            )
        return found

    async def _proxies(self, now: float) -> dict[tuple[str, str], int]:
        records = await self._store.guard(cast(Any, self._store.client.hgetall(keys.PROXIES[0])))
        found: Counter[tuple[str, str]] = Counter()
        for raw, text in records.items():
            name = raw.decode("utf-8", "replace")
            if name.startswith("@"):
                continue
            shut = ProxyHealth.of(text.decode()).until > now * 1000
            provider = name.partition("\t")[0].partition("/")[0]
            if "\t" not in name:
                found[provider, "quarantined" if shut else "up"] += 1
                found[provider, "up" if shut else "quarantined"] += 0
            elif shut:
                found[provider, "cooling"] += 1
        return dict(found)

    async def _credits(self, now: float) -> dict[str, int]:
        found = await self._store.guard(cast(Any, self._store.client.hgetall(f"{keys.tag(0)}@credits")))
        day, spent = str(int(now // 86_400)), dict[str, int]()
        for raw, n in found.items():
            what, _, rest = raw.decode().partition(":")
            name, _, number = rest.rpartition(":")
            if what == "day" and number == day:
                spent[name] = int(n)
        return spent


def _hard(heap: str) -> str:
    lane, at, region = heap.partition("@")
    return f"{lane}!{at}{region}"

"""Takes snapshots of a store. A snapshot contains the totals of all crawls, the crawls under way, lanes,
workers, servers, schedules and proxies. The metrics and the alerts are computed from the same snapshot."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.errors import GossamerError
from gossamer.frontier.crawls import ENDED, UNDER_WAY, Crawls, Record
from gossamer.frontier.quality_records import GoodRuns
from gossamer.frontier.recent_rates import RecentRates, rates_of
from gossamer.model.exit_codes import exit_meaning
from gossamer.model.quality import Quality, of_counts
from gossamer.observability.process_levels import ProcessLevel, process_levels
from gossamer.proxies.proxy_health import ProxyHealth
from gossamer.recrawl.freshness import Freshness, read_freshness
from gossamer.state.broker_state import BrokerState
from gossamer.state.lane_backlog import split_heap
from gossamer.state.schedules import ScheduledRun, Schedules, Unread
from gossamer.state.workers import WorkerRecord, WorkerRecords
from gossamer.store import keys
from gossamer.store.store import Store

MAX_CRAWLS = 50
"""Maximum number of crawls in a snapshot. Crawls under way come first. The crawls that ended last come
next."""
KEPT_ENDED_S = 86_400.0
"""Seconds for which an ended crawl stays in the snapshot."""
FORGET_REPLICA_S = 3600.0
"""Seconds for which a replica that the server no longer lists still counts."""
MAX_OFFSETS = 1000
"""Maximum number of offsets of a server that are kept to measure the lag of its replicas."""
DEAD_WINDOW_S = 900.0
"""The period in seconds in which the dead letters of a crawl are counted by site and reason."""
MAX_DEAD_LETTERS = 500
"""Maximum number of dead letters that one call reads on a server for these counts."""
MAX_DEAD_COUNTS = 20
"""Maximum number of pairs of a site and a reason that are kept for a crawl, the most frequent first."""
ENDED_CACHE_S = 60.0
"""Seconds for which the counts of an ended crawl are cached."""


class LaneNow(msgspec.Struct):
    """The hosts that wait in one lane and region."""

    lane: str
    region: str
    ready: int = 0
    """Number of hosts to which a request may start now."""
    waiting: int = 0
    """Number of hosts to which no request may start yet."""
    oldest: float = 0.0
    """Seconds for which the oldest ready host has been waiting for a worker."""


class DeadCount(NamedTuple):
    """The number of recent dead letters of one site (the host in their URLs) with one reason."""

    site: str
    reason: str
    letters: int


class CrawlNow(msgspec.Struct):
    """The state of one crawl."""

    name: str
    state: str
    reason: str
    fleet: bool
    started_at: float
    counts: dict[str, int]
    """The counts of the crawl, summed over the crawl's buckets (`store.keys`)."""
    in_flight: int
    recent: RecentRates
    sites: dict[str, Quality]
    lanes: list[LaneNow] = []
    """The waiting hosts of the crawl by lane and region. If the crawl is not under way, `lanes` is empty."""
    freshness: Freshness | None = None
    """The freshness of the crawl's copies of pages, if the crawl visits pages again."""
    dead: list[DeadCount] = []
    """The dead letters of the last DEAD_WINDOW_S, the most frequent site and reason first. At most
    MAX_DEAD_LETTERS per server are counted."""

    def count(self, name: str) -> int:
        """Returns one count, or 0 if it is missing."""
        return self.counts.get(name, 0)

    @property
    def waits_for_output(self) -> bool:
        """Whether an output is unavailable, so that its rows wait in the workers."""
        return self.state in ("running", "ending") and "waiting for it" in self.reason

    @property
    def pending(self) -> int:
        """Number of pages that wait or are being visited."""
        return self.count("open") - self.count("infra")


class ServerNow(NamedTuple):
    """The state of one server of the store. Sizes are in bytes. `most` is the server's memory limit, or 0 if
    it has none."""

    name: str
    memory: int
    most: int
    evicted: int
    clients: int
    commands: int
    role: str
    disk_full: bool = False
    """Whether the server could not write to its disk."""
    behind: float = 0.0
    """The number of seconds by which the slowest replica is behind the server (`ReplicaLag`)."""

    @property
    def is_full(self) -> bool:
        """Whether the server refuses writes, because its memory or its disk is full."""
        return self.disk_full or 0 < self.most <= self.memory


class ScheduleNow(NamedTuple):
    """The state of one schedule. Times are in seconds since the epoch."""

    name: str
    paused: bool
    last_success: float | None
    counts: dict[str, int]
    trouble: str = ""
    """The last run that failed or was missed, with its reason."""


class Snapshot(msgspec.Struct):
    """The state of a store at one moment. Times are in seconds since the epoch, by the store's clock."""

    now: float
    totals: Counter[str]
    crawls: list[CrawlNow]
    lanes: list[LaneNow]
    workers: list[WorkerRecord]
    servers: list[ServerNow]
    schedules: list[ScheduleNow]
    proxies: dict[tuple[str, str], int]
    """Number of proxies by provider and state: up, quarantined, or cooling (blocked at a domain)."""
    credits: dict[str, int]
    """Credits of each unlocker that were spent or reserved today (UTC)."""
    credits_daily: int | None = None
    """The maximum number of credits per day, or None if this process has no setting for the maximum."""
    levels: list[ProcessLevel] = []
    """The processes that work on the crawls under way, each with its limit of concurrent visits."""
    broker_error: str = ""
    """The error of the fleet's broker, or '' if the broker takes messages."""
    took: float = 0.0
    """Seconds that reading the snapshot took."""
    by_name: dict[str, list[tuple[tuple[str, ...], int]]] | None = None
    """The totals whose names contain labels, grouped by the first part of the name. The first call of
    `labelled` computes `by_name`."""

    def labelled(self, what: str) -> list[tuple[tuple[str, ...], int]]:
        """Returns the labels and values of the totals `WHAT|LABEL|...`, sorted."""
        if self.by_name is None:
            self.by_name = {}
            for name, n in sorted(self.totals.items()):
                first, *labels = name.split("|")
                if labels:
                    self.by_name.setdefault(first, []).append((tuple(labels), n))
        return self.by_name.get(what, [])


class ReplicaLag:
    """Measures how far the replicas of one server are behind. A server reports only byte offsets, so the lag is the
    time since the server had the replica's offset. A replica that vanished counts for FORGET_REPLICA_S more,
    because a failover would then lose the writes since."""

    def __init__(self) -> None:
        self._run_id, self._offsets = "", deque[tuple[float, int]](maxlen=MAX_OFFSETS)
        self._replicas: dict[str, tuple[float, int]] = {}

    def look(self, now: float, info: Mapping[str, Any]) -> float:
        """Returns the lag of the slowest replica in seconds, or 0 if the server has no replica. `info`: the
        server's reply to INFO. Offsets of another server process are not comparable, so the measurement then
        starts again."""
        if (run_id := str(info.get("run_id", ""))) != self._run_id:
            self._run_id = run_id
            self._offsets.clear()
            self._replicas.clear()
        offset = int(info.get("master_repl_offset", 0))
        self._offsets.append((now, offset))
        for name, one in info.items():
            if isinstance(one, dict) and name.removeprefix("slave").isdigit():
                self._replicas[f"{one.get('ip')}:{one.get('port')}"] = now, int(one.get("offset", 0))
        self._replicas = {k: v for k, v in self._replicas.items() if now - v[0] < FORGET_REPLICA_S}
        return max((self._since(now, at) for _, at in self._replicas.values() if at < offset), default=0.0)

    def _since(self, now: float, offset: int) -> float:
        reached = [at for at, one in self._offsets if one <= offset]
        return now - (reached[-1] if reached else self._offsets[0][0])


class Observer:
    """Takes snapshots of a store. Caches the figures of ended crawls for the next snapshots."""

    def __init__(self, store: Store, credits_daily: int | None = None) -> None:
        self._credits_daily = credits_daily
        self._store, self._crawls, self._workers = store, Crawls(store), WorkerRecords(store)
        self._ended: dict[str, tuple[float, CrawlNow]] = {}
        self._lags: dict[int, ReplicaLag] = {}
        self._letters: dict[str, tuple[int, bool]] = {}
        """The number of dead letters of each crawl at its last look, and whether any of them were recent."""

    async def look(self) -> Snapshot:
        """Takes a snapshot. Raises StoreError if the store cannot be reached."""
        began = time.monotonic()
        now = await self._workers.now()
        totals, crawls, workers = await asyncio.gather(
            self.totals(), self._crawls_now(now), self._workers.all()
        )
        return Snapshot(
            now=now,
            totals=totals,
            crawls=crawls,
            lanes=_lanes(crawls),
            workers=workers,
            servers=await self._servers(now),
            schedules=await self._schedules(),
            proxies=await self._proxies(now),
            credits=await self._credits(now),
            credits_daily=self._credits_daily,
            levels=await process_levels(
                self._store, [one.name for one in crawls if one.state in UNDER_WAY], now
            ),
            broker_error=await BrokerState(self._store).error(),
            took=time.monotonic() - began,
        )

    async def totals(self) -> Counter[str]:
        """Returns the totals, summed over all buckets."""
        return (await self._sums([""]))[0].counts

    async def _sums(self, crawls: Sequence[str]) -> list[_Sums]:
        """Returns the counts of each crawl, summed over all buckets. The name '' stands for the totals. Makes
        one call per crawl and server."""
        groups = await self._store.by_server()
        calls = [(group[0], (name, *map(keys.tag, group))) for name in crawls for group in groups]
        found = [_Sums() for _ in crawls]
        for number, reply in enumerate(await self._store.run_all("crawl_statistics", calls)):
            if isinstance(reply, Exception):
                raise reply
            found[number // len(groups)].add(msgspec.msgpack.decode(reply, type=_Look))
        return found

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
        some = [one for one in await asyncio.gather(*map(self._crawls.get, chosen)) if one is not None]
        self._ended = {name: self._ended[name] for name in chosen if name in self._ended}
        self._letters = {name: self._letters[name] for name in chosen if name in self._letters}
        fresh = [one for one in some if not self._is_kept(one, now)]
        sums = dict(
            zip((one.name for one in fresh), await self._sums([one.name for one in fresh]), strict=True)
        )
        found = await asyncio.gather(*(self._crawl(one, sums[one.name], now) for one in fresh))
        read = {one.name: one for one in found}
        return [read[one.name] if one.name in read else self._ended[one.name][1] for one in some]

    def _is_kept(self, record: Record, now: float) -> bool:
        """Returns whether the cached figures of an ended crawl are still recent enough."""
        read_at, known = self._ended.get(record.name, (0.0, None))
        return known is not None and now - read_at < ENDED_CACHE_S and known.started_at == record.started_at

    async def _crawl(self, record: Record, sums: _Sums, now: float) -> CrawlNow:
        going = record.state in UNDER_WAY
        found = CrawlNow(
            record.name,
            record.state,
            record.reason or "",
            record.fleet,
            record.started_at,
            sums.counts,
            sums.leases,
            rates_of(sums.periods, sums.at, now, record.started_at),
            await self._sites(sums.counts),
            sums.lanes(now) if going else [],
            await read_freshness(self._store, record.name) if going else None,
            await self._dead(record.name, sums.counts["letter"], now),
        )
        if not going:
            self._ended[record.name] = (now, found)
        return found

    async def _dead(self, crawl: str, letters: int, now: float) -> list[DeadCount]:
        """Returns the recent dead letters of a crawl by site and reason. `letters`: the number of dead letters
        that the crawl has had. Makes no call if none of them can be recent."""
        known = self._letters.get(crawl)
        if not letters or known == (letters, False):
            return []
        groups = await self._store.by_server()
        since, most = round((now - DEAD_WINDOW_S) * 1000), MAX_DEAD_LETTERS
        calls = [(group[0], (crawl, since, most, *map(keys.tag, group))) for group in groups]
        found: Counter[tuple[str, str]] = Counter()
        for reply in await self._store.run_all("recent_dead_letters", calls):
            if isinstance(reply, Exception):
                raise reply
            for host, reason, n in msgspec.msgpack.decode(reply, type=_Letters):
                found[host, reason] += n
        self._letters[crawl] = letters, bool(found)
        return [DeadCount(*pair, n) for pair, n in found.most_common(MAX_DEAD_COUNTS)]

    async def _sites(self, counts: Counter[str]) -> dict[str, Quality]:
        """Returns the quality of a crawl's sites, including the drift against the last good runs."""
        names = list(of_counts(counts))
        return of_counts(counts, await GoodRuns(self._store).load(names)) if names else {}

    async def _servers(self, now: float) -> list[ServerNow]:
        found = []
        for number, server in enumerate(await self._store.guard(self._store.client.servers.all())):
            try:
                info = await self._store.guard(cast(Any, server.client.info()))
            except GossamerError:  # the store's user may lack the permission to call INFO
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
                    "err" in (info.get("aof_last_write_status"), info.get("rdb_last_bgsave_status")),
                    self._lags.setdefault(number, ReplicaLag()).look(now, info),
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
                ScheduleNow(
                    one.schedule.name,
                    one.schedule.paused,
                    max(good, default=None),
                    one.counts,
                    trouble_of(runs),
                )
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


def trouble_of(runs: Sequence[ScheduledRun]) -> str:
    """Returns the last run that failed or was missed, with its exit code and its reason, or ''. `runs`: the ended
    runs of a schedule, latest first."""
    for run in runs:
        if run.state in ("failed", "gate", "missed"):
            code = run.exit_code
            how = f"exit code {code} ({exit_meaning(code)})" if isinstance(code, int) else run.state
            due = time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(run.due))
            return f"the run of {due}: {how}{f': {run.reason}' if run.reason else ''}"
    return ""


_Letters = list[tuple[str, str, int]]
"""The reply of `recent_dead_letters.lua`."""


class _Look(msgspec.Struct):
    """The reply of `crawl_statistics.lua`. Lua encodes an empty table as an empty list."""

    n: dict[str, int] | list[int]
    leases: int
    at: int
    periods: dict[str, tuple[int, int]] | list[int]
    heaps: dict[str, tuple[int, int, float]] | list[int]


class _Sums:
    """Adds up the replies of all servers."""

    def __init__(self) -> None:
        self.counts, self.leases, self.at = Counter[str](), 0, 0
        self.periods: dict[int, tuple[int, int]] = {}
        self._heaps: list[tuple[str, tuple[int, int, float]]] = []

    def add(self, look: _Look) -> None:
        """Adds the values in the reply of one server."""
        self.counts.update(look.n if isinstance(look.n, dict) else {})
        self.leases += look.leases
        self.at = max(self.at, look.at)
        for number, (pages, requests) in look.periods.items() if isinstance(look.periods, dict) else ():
            some = self.periods.get(int(number), (0, 0))
            self.periods[int(number)] = (some[0] + pages, some[1] + requests)
        self._heaps += look.heaps.items() if isinstance(look.heaps, dict) else ()

    def lanes(self, now: float) -> list[LaneNow]:
        """Returns the hosts that wait, by lane and region."""
        found = []
        for heap, (ready, size, first) in self._heaps:
            lane, region, _ = split_heap(heap)
            oldest = max(0.0, now - first / 1000)
            found.append(LaneNow(lane.partition("+")[0], region, ready, size - ready, oldest))
        return found


def _lanes(crawls: Sequence[CrawlNow]) -> list[LaneNow]:
    """Sums the waiting hosts of all crawls by lane and region."""
    lanes: dict[tuple[str, str], LaneNow] = {}
    for one in (lane for crawl in crawls for lane in crawl.lanes):
        known = lanes.setdefault((one.lane, one.region), LaneNow(one.lane, one.region))
        known.ready += one.ready
        known.waiting += one.waiting
        known.oldest = max(known.oldest, one.oldest)
    return [lanes[name] for name in sorted(lanes)]

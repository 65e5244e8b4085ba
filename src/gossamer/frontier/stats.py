"""Reads the contents of the frontier for commands and the web interface, without changing them. Uses SCAN,
and never KEYS."""

from __future__ import annotations

import heapq
import operator
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from gossamer.frontier.cold import Cold
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.summary import hosts_met, scan_keys, summary
from gossamer.frontier.url_lookup import UrlLookup, UrlState
from gossamer.model.request import unpack
from gossamer.model.summary import Summary
from gossamer.store import keys
from gossamer.store.store import Store

SORTS = ("waiting", "delay", "next", "host", "in_flight", "failing")
PAGE_KEYS = 500
HOST_FIELDS = ("i", "M", "m", "n", "p", "d", "D", "rb", "vh", "vs", "cd", "b", "c", "w")
"""The fields of a host's hash from which a `HostLine` is built."""
QUICK_SCAN_S = 0.005
"""A scan that takes at most this many seconds is quick, and its result is not cached. Only the results of
slower scans are cached."""


class Retries(NamedTuple):
    """Information about the URLs that wait for a retry. `urls`: the number of URLs. `next`: seconds from now
    until the earliest retry. `last`: seconds from now until the latest retry."""

    urls: int = 0
    next: float = 0.0
    last: float = 0.0


class HostLine(NamedTuple):
    """One host of a crawl. Times are in seconds. `next`: seconds until the next request may start."""

    host: str
    state: str
    """The state of the host: `paused`, `open` (the circuit breaker is open), `closed` (robots.txt could not
    be read), `robots` (robots.txt is being fetched), `busy`, `waiting` (the next request may not start yet),
    `rate-limited` (the same, because its last response asked to slow down), `ready` or `idle`."""
    waiting: int
    in_flight: int
    delay: float | None
    next: float
    pace: str = ""
    """The host's pace, in the format in which the store contains it (`politeness.pace`)."""
    fixed_delay: float | None = None
    """The fixed delay that a user set with the command `host rate`."""
    crawl_delay: float = 0.0
    retrying: int = 0
    """The number of URLs that wait for a retry. They are included in `waiting`."""

    @property
    def failing(self) -> tuple[bool, int, int]:
        """A sort key. Hosts that fail as a whole have the highest keys, then hosts with many retries, then hosts
        with long queues."""
        return self.state in ("open", "closed"), self.retrying, self.waiting


class Queued(msgspec.Struct):
    """The URLs that one crawl has queued for a host."""

    crawl: str
    heap: str
    """The ready heap that contains the host: LANE or LANE@REGION, with `!` after the lane for a hard host."""
    levels: dict[int, int]
    cold: int
    """Number of URLs in the cold store."""
    retrying: int
    parked: int
    accepted: int
    """The number of accepted pages of a discovered host. The accepted pages of other hosts are not
    counted."""
    vouchers: int
    bytes: int
    """The number of bytes received from the host so far. Bytes are counted only if hosts have a byte
    limit."""
    seconds: float | None
    """The number of seconds during which processes have worked on the crawl since the host's first claim.
    None if hosts have no time limit."""


class HostView(msgspec.Struct):
    """All stored data about a host. Times are in seconds. `next`, `paused` and the expiry times are relative
    to now."""

    host: str
    bucket: int
    known: bool
    in_flight: int
    at_once: int | None
    next: float
    delay: float | None
    fixed_delay: float | None
    """The fixed delay that a user set with the command `host rate`."""
    pace: str
    crawl_delay: float
    paused: float
    robots: dict[str, dict[str, float]]
    """Maps each URL scheme to the state of the host's robots.txt. The state of robots.txt consists of
    `version`, `expires` and `attempts`. A negative `version` means that no page of the host may be fetched
    (see `robots_access.CLOSED`)."""
    crawls: list[Queued]
    trouble: str
    """The state of the host's circuit breaker in the format of `breaker.lua`, or '' if the host did not fail
    recently."""
    now: float
    """The current time of the store's clock, in seconds since the epoch."""


class Letter(msgspec.Struct):
    """A dead letter. `at` is in seconds since the epoch."""

    id: int
    bucket: int
    url: str
    host: str
    reason: str
    detail: str
    at: float
    attempts: int
    depth: int
    referrer: str | None
    request_id: str | None = None
    """The ID of the request."""
    added_at: float | None = None
    """The time at which the request was added, in seconds since the epoch."""


class CrawlStatistics:
    """Reads the frontier in one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.crawls = Crawls(store)
        self._kept: dict[Any, tuple[float, Any]] = {}

    async def summary(self, name: str) -> Summary:
        """Returns the crawl's summary. The numbers of a summary are consistent with each other, even while
        the crawl runs."""
        return await summary(
            self.store, name, await self._now_and_then(name, lambda: hosts_met(self.store, name))
        )

    async def hosts(self, name: str, limit: int = 20, sort: str = "waiting") -> list[HostLine]:
        """Sorts the hosts of the crawl by `sort`, which is one of SORTS. Returns the first `limit` hosts."""
        found: list[HostLine] = await self._now_and_then(
            (name, limit, sort), lambda: self._hosts(name, limit, sort)
        )
        return found

    async def _hosts(self, name: str, limit: int, sort: str) -> list[HostLine]:
        now = await self.now()
        best: dict[str, HostLine] = {}
        largest = sort in ("waiting", "delay", "in_flight", "failing")
        rank: Callable[[HostLine], Any] = operator.attrgetter(sort)
        order = (lambda line: (rank(line) or 0, line.host)) if sort != "host" else rank
        async for found in scan_keys(self.store, f"{{b:???}}{name}:h:*"):
            pipe = self.store.client.pipeline(transaction=False)
            for key in found:
                tag, host = _parts(key, name)
                pipe.hmget(key, ["q", "k"])
                pipe.zcard(f"{tag}{name}:t:{host}")
                pipe.hmget(f"{tag}h:{host}", HOST_FIELDS)
            got = await self.store.guard(pipe.execute())
            for j, key in enumerate(found):
                retrying = int(got[3 * j + 1])
                waiting = sum(int(n or 0) for n in got[3 * j]) + retrying
                line = _line(_parts(key, name)[1], waiting, got[3 * j + 2], now)
                best[line.host] = line._replace(retrying=retrying)
            if len(best) > 4 * limit + PAGE_KEYS:
                best = {line.host: line for line in _first(best, limit, order, largest)}
        return _first(best, limit, order, largest)

    async def host(self, host: str) -> HostView:
        """Returns one host: the state that all crawls share, and the URLs that each crawl has queued for the
        host."""
        bucket = keys.bucket_of(host, self.store.buckets)
        tag, now = keys.tag(bucket), await self.now()
        raw = await self.store.guard(self.store.client.hgetall(f"{tag}h:{host}"))
        h = {k.decode(): v.decode() for k, v in raw.items()}
        held = [await self._held(tag, name, host) for name in await self.crawls.names()]
        robots = {scheme: _rules(h, s, now) for s, scheme in (("h", "http"), ("s", "https")) if f"v{s}" in h}
        return HostView(
            host,
            bucket,
            bool(h) or any(held),
            int(h.get("i", 0)),
            int(h["m"]) if "m" in h else None,
            _from_now(h.get("n"), now),
            _ms(h.get("d")),
            _ms(h.get("D")),
            h.get("c", ""),
            _ms(h.get("cd")) or 0.0,
            _from_now(h.get("p"), now),
            robots,
            [one for one in held if one],
            h.get("b", ""),
            now,
        )

    async def locate(
        self,
        name: str,
        url: str,
        fingerprint: int,
        canonical: Callable[[str], str | None],
        cold: Cold | None = None,
    ) -> UrlState:
        """Returns the current state of a URL in a crawl, and its place (`url_lookup.UrlLookup`)."""
        record = await self.crawls.need(name)
        return await UrlLookup(self.store, name, record.spec, canonical, cold).locate(url, fingerprint)

    async def dead(
        self,
        name: str,
        *,
        host: str | None = None,
        reason: str | None = None,
        since: float = 0.0,
        after: tuple[int, int] = (0, 0),
        page: int = PAGE_KEYS,
    ) -> AsyncIterator[Letter]:
        """Yields dead letters bucket by bucket, oldest first within a bucket. `since` is in seconds since the
        epoch. `after`: the bucket and the id after which the letters begin."""
        buckets = [keys.bucket_of(host, self.store.buckets)] if host else range(self.store.buckets)
        for bucket in (one for one in buckets if one >= after[0]):
            crawl = f"{keys.tag(bucket)}{name}:"
            last = int(await self.store.guard(self.store.client.hget(f"{crawl}n", "letter")) or 0)
            for first in range(after[1] + 1 if bucket == after[0] else 1, last + 1, page):
                ids = list(range(first, min(first + page, last + 1)))
                for number, raw in zip(
                    ids, await self.store.guard(self.store.client.hmget(f"{crawl}x", ids)), strict=True
                ):
                    letter = _letter(number, bucket, raw) if raw else None
                    if (
                        letter
                        and letter.at >= since
                        and host in (None, letter.host)
                        and reason in (None, letter.reason)
                    ):
                        yield letter

    async def retries(self, name: str, hosts: Sequence[str]) -> Retries:
        """Returns the number of URLs of the given hosts that wait for a retry, and the times of the first and
        the last retry."""
        pipe = self.store.client.pipeline(transaction=False)
        for host in hosts:
            key = f"{keys.tag(keys.bucket_of(host, self.store.buckets))}{name}:t:{host}"
            pipe.zcard(key)
            pipe.zrange(key, 0, 0, withscores=True)
            pipe.zrange(key, -1, -1, withscores=True)
        got = await self.store.guard(pipe.execute()) if hosts else []
        due = [score / 1000 for ends in (*got[1::3], *got[2::3]) for _, score in ends]
        if not due:
            return Retries()
        now = await self.now()
        return Retries(sum(got[::3]), max(0.0, min(due) - now), max(0.0, max(due) - now))

    async def in_flight(self, name: str) -> int:
        """Returns the number of claims in flight."""
        pipe = self.store.client.pipeline(transaction=False)
        for bucket in range(self.store.buckets):
            pipe.zcard(f"{keys.tag(bucket)}{name}:l")
        return sum(await self.store.guard(pipe.execute()))

    async def now(self) -> float:
        """Returns the store's time in seconds since the epoch."""
        whole, micro = await self.store.guard(self.store.client.time())
        return int(whole) + int(micro) / 1e6

    async def _now_and_then(self, what: Any, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Caches the result of a slow scan for 100 times the duration of the scan. Therefore the scans of a
        live view use at most 1% of the store's time."""
        again, found = self._kept.get(what, (0.0, None))
        began = time.monotonic()
        if began >= again:
            found = await ask()
            took = time.monotonic() - began
            self._kept[what] = (began + 100 * took if took > QUICK_SCAN_S else 0.0, found)
        return found

    async def _held(self, tag: str, name: str, host: str) -> Queued | None:
        crawl = f"{tag}{name}:"
        raw = await self.store.guard(self.store.client.hgetall(f"{crawl}h:{host}"))
        if not raw:
            return None
        levels = [level for level in raw.get(b"L", b"").decode().split(",") if level]
        pipe = self.store.client.pipeline(transaction=False)
        for level in levels:
            pipe.llen(f"{crawl}q:{host}:{level}")
        pipe.zcard(f"{crawl}t:{host}")
        pipe.llen(f"{crawl}p:{host}")
        pipe.llen(f"{crawl}e:{host}")
        *lengths, retrying, over, spent = await self.store.guard(pipe.execute())
        by_level = {int(level): n for level, n in zip(levels, lengths, strict=True)}
        seconds = None
        if (first := raw.get(b"F")) is not None:
            seconds = round((await self.crawls.need(name)).at_work(await self.now()) - int(first) / 1000, 3)
        heap = raw.get(b"Y", raw.get(b"y", b"http")).decode().rstrip("?")
        return Queued(
            name,
            heap,
            by_level,
            int(raw.get(b"k", 0)),
            retrying,
            over + spent,
            int(raw.get(b"u", 0)),
            int(raw.get(b"v", 0)),
            int(raw.get(b"B", 0)),
            seconds,
        )


def _parts(key: bytes, name: str) -> tuple[str, str]:
    """Extracts the tag of the bucket and the name of the host from a key of the store that contains both."""
    text = key.decode()
    tag = text[: text.index("}") + 1]
    return tag, text[len(tag) + len(name) + 3 :]


def is_rate_limited(pace: str) -> bool:
    """Returns whether a host's last response asked to slow down (429, 503). `pace`: as stored (`politeness.pace`).

    >>> is_rate_limited("0.200,1,0"), is_rate_limited("0.200,1,3"), is_rate_limited("")
    (True, False, False)
    """
    _, doublings, good = pace.split(",") if pace.count(",") == 2 else ("", "0", "0")
    return doublings != "0" and good == "0"


def _line(host: str, waiting: int, shared: list[bytes | None], now: float) -> HostLine:
    i, usual, m, n, p, d, fixed, robots, vh, vs, floor, trouble, pace, shut = shared
    free = int(i or 0) < int(m or usual or 1)
    starts = max(_from_now(n, now), _from_now(p, now))
    if _from_now(p, now) > 0:
        state = "paused"
    elif trouble and _from_now(trouble.split(b",")[3], now) > 0:
        state, starts = "open", max(starts, _from_now(trouble.split(b",")[3], now))
    elif _from_now(shut, now) > 0:
        state, starts = "closed", max(starts, _from_now(shut, now))
    elif robots:
        state = "robots"
    elif any(int(version) < 0 for version in (vh, vs) if version):
        state = "closed"
    elif not free:
        state = "busy"
    elif not waiting:
        state = "idle"
    else:
        state = "waiting" if starts > 0 else "ready"
        if starts > 0 and is_rate_limited((pace or b"").decode()):
            state = "rate-limited"
    delay = _ms(fixed if fixed is not None else d)
    floor_s = _ms(floor) or 0.0
    return HostLine(
        host,
        state,
        waiting,
        int(i or 0),
        max(delay, floor_s) if delay is not None else floor_s or None,
        starts,
        (pace or b"").decode(),
        _ms(fixed),
        floor_s,
    )


def _rules(h: dict[str, str], scheme: str, now: float) -> dict[str, float]:
    tries = float(h.get(f"a{scheme}", 0))
    return {
        "version": float(h[f"v{scheme}"]),
        "expires": _from_now(h.get(f"e{scheme}"), now),
        "attempts": tries,
    }


def _first(
    lines: dict[str, HostLine], limit: int, order: Callable[[HostLine], Any], largest: bool
) -> list[HostLine]:
    pick = heapq.nlargest if largest else heapq.nsmallest
    return pick(limit, lines.values(), key=order)


def _letter(number: int, bucket: int, raw: bytes) -> Letter:
    reason, detail, host, level, ms, entry = raw.split(b"\t", 5)
    request = unpack(host.decode(), entry, int(level))
    return Letter(
        number,
        bucket,
        request.url,
        request.url.split("/", 3)[2],
        reason.decode(),
        detail.decode("utf-8", "replace"),
        int(ms) / 1000,
        entry[1] - 48,
        request.depth,
        request.referrer,
        request.id,
        request.added_at,
    )


def _ms(value: str | bytes | None) -> float | None:
    return None if value is None else float(value) / 1000


def _from_now(value: str | bytes | None, now: float) -> float:
    return max(0.0, round(float(value or 0) / 1000 - now, 3))

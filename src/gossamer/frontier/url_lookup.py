"""Finds the current state of a URL in a crawl. Looks up the URL's fingerprint in the seen set, then searches
the queues of its host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec

from gossamer.frontier.cold import Cold
from gossamer.frontier.crawls import Spec
from gossamer.frontier.frontier_client import Frontier, Policy
from gossamer.model.request import Request, split, unpack
from gossamer.store import keys
from gossamer.store.store import Store

MAX_SEARCHED_ENTRIES = 1_000_000
"""Maximum number of queue entries of one host that a look-up searches."""
PAGE_ENTRIES = 1000


class UrlState(msgspec.Struct):
    """The state and the place of a URL. `state` is `unknown`, `pending`, `cold`, `leased`, `retrying`,
    `parked`, `dead` or `done`. Each optional field is None unless the field applies to this state."""

    state: str
    host: str
    level: int | None = None
    """The priority level. For a parked URL, the level is known only if the URL was parked because of its
    host's byte or time limit."""
    position: int | None = None
    """The URL's position in the queue of its level. The URL at position 0 is claimed next. For a cold URL,
    the position is approximate, or None if the search did not find the URL in the cold store."""
    token: int | None = None
    due: float | None = None
    """Seconds from now until the lease of a leased URL expires, or until the retry of a retrying URL."""
    attempt: int | None = None
    reason: str | None = None
    detail: str | None = None
    at: float | None = None
    """The time at which the URL became a dead letter, in seconds since the epoch."""
    request: Request | None = None


class UrlLookup:
    """Finds the state and the place of URLs of one crawl. `canonical` returns the canonical form of a URL, or
    None if the text is not a URL. URLs are deduplicated by their canonical form."""

    def __init__(
        self,
        store: Store,
        name: str,
        spec: Spec,
        canonical: Callable[[str], str | None],
        cold: Cold | None = None,
    ) -> None:
        self.store, self.name, self.canonical, self.cold = store, name, canonical, cold
        self._frontier = Frontier(store, name, Policy(seen=spec.seen))

    async def locate(self, url: str, fingerprint: int) -> UrlState:
        """Returns the state of a URL. `url` is the URL in the form in which the crawl fetches it.
        `fingerprint` is the fingerprint of the URL's canonical form. The fingerprint is computed with the
        store's seed."""
        host = split(url)[1]
        bucket = keys.bucket_of(host, self.store.buckets)
        crawl = f"{keys.tag(bucket)}{self.name}:"
        if not await self._frontier.known(bucket, fingerprint):
            return UrlState("unknown", host)
        wanted = self.canonical(url)

        def ours(where: str, entry: bytes, level: int) -> Request | None:
            if where != host:
                return None
            request = unpack(where, entry, level)
            return request if request.url == url or self.canonical(request.url) == wanted else None

        # The places are searched in the order in which a URL moves from place to place. All places are
        # searched twice, because a single pass could miss a URL that moves during the search.
        for look in (self._queued, self._cold, self._leased, self._retrying, self._dead) * 2:
            place = await look(crawl, host, ours)
            if place is not None:
                return place
        return UrlState("done", host)

    async def _leased(self, crawl: str, host: str, ours: Any) -> UrlState | None:
        async for token, record in self._fields(f"{crawl}lp"):
            where, level, kind, _, _, entry = record.split(b"\t", 5)
            if kind != b"robots" and (request := ours(where.decode(), entry, int(level))):
                expiry = await self._do(self.store.client.zscore(f"{crawl}l", token))
                due = None if expiry is None else float(expiry) / 1000 - await self._now()
                return UrlState(
                    "leased",
                    host,
                    int(level),
                    token=int(token),
                    due=due,
                    attempt=entry[1] - 48,
                    request=request,
                )
        return None

    async def _queued(self, crawl: str, host: str, ours: Any) -> UrlState | None:
        if found := await self._in_list(f"{crawl}p:{host}", host, 0, ours):
            return UrlState("parked", host, position=found[0], request=found[1])
        # parked because the host is over its byte or time limit
        if found := await self._in_list(f"{crawl}e:{host}", host, None, ours):
            position, request, attempt = found
            return UrlState("parked", host, request.priority, position, attempt=attempt, request=request)
        levels = await self._do(self.store.client.hget(f"{crawl}h:{host}", "L"))
        for level in (levels or b"").decode().split(","):
            if level and (found := await self._in_list(f"{crawl}q:{host}:{level}", host, int(level), ours)):
                position, request, attempt = found
                return UrlState("pending", host, int(level), position, attempt=attempt, request=request)
        return None

    async def _cold(self, crawl: str, host: str, ours: Any) -> UrlState | None:
        """Searches the cold store, and the outbox of URLs that wait to be moved to the cold store. If the
        host has cold URLs but the cold store is not available, the result is the state `cold` without a
        position. The state `cold` may then be wrong. The URL may instead be leased, retrying, dead or done,
        because the look-up checks for the states `leased`, `retrying`, `dead` and `done` only after the
        search of the cold store.
        """
        tails = {
            k.decode(): int(v)
            for k, v in (await self._do(self.store.client.hgetall(f"{crawl}k:{host}"))).items()
        }
        for level, n in tails.items():
            if level[0] == "c":
                continue
            before = int(await self._do(self.store.client.llen(f"{crawl}q:{host}:{level}")))
            if self.cold is None:
                return UrlState("cold", host)
            bucket, after, met = int(crawl[3:6], 16), tails[f"c{level}"], 0
            while page := await self.cold.read(bucket, host, int(level), after, PAGE_ENTRIES):
                for position, (_, entry) in enumerate(page, before + met):
                    if request := ours(host, entry, int(level)):
                        return UrlState(
                            "cold", host, int(level), position, attempt=entry[1] - 48, request=request
                        )
                after, met = page[-1][0], met + len(page)
                if met >= MAX_SEARCHED_ENTRIES:
                    return UrlState("cold", host, int(level))
            if met < n and (place := await self._outbox(crawl, host, level, before + met, ours)):
                return place
        return None

    async def _outbox(self, crawl: str, host: str, level: str, before: int, ours: Any) -> UrlState | None:
        for first in range(0, MAX_SEARCHED_ENTRIES, PAGE_ENTRIES):
            page = await self._do(self.store.client.lrange(f"{crawl}o", first, first + PAGE_ENTRIES - 1))
            for record in page:
                _, where, name, entry = record.split(b"\t", 3)
                if (where.decode(), name.decode()) != (level, host):
                    continue
                if request := ours(host, entry, int(level)):
                    return UrlState("cold", host, int(level), before, attempt=entry[1] - 48, request=request)
                before += 1
            if len(page) < PAGE_ENTRIES:
                break
        return None

    async def _retrying(self, crawl: str, host: str, ours: Any) -> UrlState | None:
        for first in range(0, MAX_SEARCHED_ENTRIES, PAGE_ENTRIES):
            page = await self._do(
                self.store.client.zrange(f"{crawl}t:{host}", first, first + PAGE_ENTRIES - 1, withscores=True)
            )
            for member, score in page:
                level, entry = member.split(b"\t", 1)
                if request := ours(host, entry, int(level)):
                    due = float(score) / 1000 - await self._now()
                    return UrlState(
                        "retrying", host, int(level), due=due, attempt=entry[1] - 48, request=request
                    )
            if len(page) < PAGE_ENTRIES:
                return None
        return None

    async def _dead(self, crawl: str, host: str, ours: Any) -> UrlState | None:
        async for _, letter in self._fields(f"{crawl}x"):
            reason, detail, where, level, ms, entry = letter.split(b"\t", 5)
            if request := ours(where.decode(), entry, int(level)):
                return UrlState(
                    "dead",
                    host,
                    int(level),
                    attempt=entry[1] - 48,
                    reason=reason.decode(),
                    detail=detail.decode("utf-8", "replace"),
                    at=int(ms) / 1000,
                    request=request,
                )
        return None

    async def _in_list(
        self, key: str, host: str, level: int | None, ours: Any
    ) -> tuple[int, Request, int] | None:
        """Searches a list. `level` is None if each entry is prefixed with its own level. Returns the URL's
        position in the list, the URL's request, and the number of the attempt."""
        for first in range(0, MAX_SEARCHED_ENTRIES, PAGE_ENTRIES):
            page = await self._do(self.store.client.lrange(key, first, first + PAGE_ENTRIES - 1))
            for position, member in enumerate(page, first):
                own, entry = (level, member) if level is not None else member.split(b"\t", 1)
                if request := ours(host, entry, int(own)):
                    return position, request, entry[1] - 48
            if len(page) < PAGE_ENTRIES:
                return None
        return None

    async def _fields(self, key: str) -> Any:
        cursor = 0
        while True:
            cursor, page = await self._do(self.store.client.hscan(key, cursor, count=PAGE_ENTRIES))
            for field, value in page.items():
                yield field, value
            if not cursor:
                return

    async def _now(self) -> float:
        whole, micro = await self._do(self.store.client.time())
        return int(whole) + int(micro) / 1e6

    async def _do(self, call: Any) -> Any:
        return await self.store.guard(cast(Awaitable[Any], call))

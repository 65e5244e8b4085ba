"""Implements the commands of an operator while crawls run. The commands pause or pace hosts, requeue or drop
dead letters, and change priorities."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Iterable
from typing import Any, NamedTuple, cast

from gossamer.errors import ConfigError
from gossamer.frontier.cold import ColdTail, Spiller
from gossamer.frontier.stats import CrawlStatistics
from gossamer.frontier.summary import scan_keys
from gossamer.model.request import unpack
from gossamer.store import keys
from gossamer.store.store import Store
from gossamer.url import patterns
from gossamer.url.patterns import Searcher

FOREVER_S = 10 * 365 * 86400.0
CHUNK_URLS = 200
PAGE_KEYS = 1000
UNDO_S = 600
"""The seconds for which a change of dead letters can be undone, as in `dead_letters.lua`."""


class UndoneChange(NamedTuple):
    """An undone change. `verb`: `requeue` or `drop`. `letters`: how many URLs are dead letters again. `kept`: how many
    requeued URLs had been claimed in the meantime."""

    verb: str
    letters: int
    kept: int


class OperatorCommands:
    """Runs an operator's commands on a store. Each step is one script call, so the commands are safe while
    workers are running."""

    def __init__(self, store: Store, spiller: Spiller | None = None) -> None:
        self.store, self.spiller = store, spiller

    async def pause(self, host: str, seconds: float = FOREVER_S) -> None:
        """Pauses a host. From now on, the host's URLs are not claimed."""
        now = await CrawlStatistics(self.store).now()
        await self._hold(host, "p", str(round((now + seconds) * 1000)))

    async def resume(self, host: str) -> None:
        """Ends the pause of a host."""
        await self._hold(host, "p", "")

    async def rate(self, host: str, delay: float | None) -> None:
        """Sets a fixed interval, in seconds, between the starts of two requests to the host. None restores
        the automatic delay. A Crawl-delay in robots.txt remains the minimum."""
        await self._hold(host, "D", "" if delay is None else str(round(delay * 1000)))

    async def at_once(self, host: str, n: int | None) -> bool:
        """Sets a fixed maximum number of concurrent requests to the host. None restores the default. Returns
        False if the host already had this maximum."""
        return await self._hold(host, "m", "" if n is None else str(n))

    async def letters(
        self,
        name: str,
        verb: str,
        *,
        host: str | None = None,
        reason: str | None = None,
        since: float = 0.0,
        dry_run: bool = False,
    ) -> int:
        """Requeues dead letters (`requeue`) or counts them as failed (`drop`). Returns their number. `undo_letters`
        undoes the last change."""
        done, token, begun = 0, secrets.token_hex(4), set[int]()
        waiting: dict[int, list[int]] = {}

        async def change(bucket: int, ids: list[int]) -> int:
            begun.add(bucket)
            # recorded first, so that a change that breaks off can be undone, too
            await self._record_change(name, verb, token, begun)
            return int(await self.store.run("dead_letters", bucket, name, verb, token, *ids))

        async for letter in CrawlStatistics(self.store).dead(name, host=host, reason=reason, since=since):
            if dry_run:
                done += 1
                continue
            ids = waiting.setdefault(letter.bucket, [])
            ids.append(letter.id)
            if len(ids) >= CHUNK_URLS:
                done += await change(letter.bucket, waiting.pop(letter.bucket))
        for bucket, ids in waiting.items():
            done += await change(bucket, ids)
        return done

    async def _record_change(self, name: str, verb: str, token: str, buckets: Iterable[int]) -> None:
        key = keys.last_change(name)
        pipe = self.store.client.pipeline()
        pipe.hset(key, mapping={"verb": verb, "token": token, "buckets": " ".join(map(str, sorted(buckets)))})
        pipe.expire(key, UNDO_S)
        await self.store.guard(pipe.execute())

    async def undo_letters(self, name: str) -> UndoneChange | None:
        """Undoes the last `letters` of the last UNDO_S seconds. Returns None if there is none."""
        key = keys.last_change(name)
        verb, token, buckets = await self._do(self.store.client.hmget(key, ["verb", "token", "buckets"]))
        if verb is None or token is None or buckets is None:
            return None
        restored = kept = 0
        for bucket in map(int, buckets.split()):
            trash = keys.changed_letters(bucket, name, token.decode())
            ids = await self._do(self.store.client.hkeys(trash))
            for first in range(0, len(ids), CHUNK_URLS):
                part = ids[first : first + CHUNK_URLS]
                n = int(
                    await self.store.run(
                        "undo_dead_letters", bucket, name, verb.decode(), token.decode(), *part
                    )
                )
                restored, kept = restored + n, kept + len(part) - n
        await self._do(self.store.client.delete(key))
        return UndoneChange(verb.decode(), restored, kept)

    async def priority(
        self,
        name: str,
        to: int,
        *,
        host: str | None = None,
        match: Searcher | None = None,
        dry_run: bool = False,
    ) -> int:
        """Moves queued URLs of a crawl to the priority `to`: the URLs of `host`, or those that match `match`.
        Returns their number."""
        moved = 0
        if host is not None:
            return await self._move_host(
                name, keys.bucket_of(host, self.store.buckets), host, to, match, dry_run
            )
        done: set[bytes] = set()
        async for found in scan_keys(self.store, f"{{b:???}}{name}:h:*"):
            for key in set(found) - done:
                done.add(key)
                text = key.decode()
                bucket = int(text[3 : text.index("}")], 16)
                where = text[text.index("}") + len(name) + 4 :]
                moved += await self._move_host(name, bucket, where, to, match, dry_run)
        return moved

    async def _move_host(
        self, name: str, bucket: int, host: str, to: int, match: Searcher | None, dry_run: bool
    ) -> int:
        crawl, moved = f"{keys.tag(bucket)}{name}:", 0
        levels = await self._do(self.store.client.hget(f"{crawl}h:{host}", "L"))
        for level in (levels or b"").decode().split(","):
            if not level or int(level) == to:
                continue
            first = 0
            while page := await self._do(
                self.store.client.lrange(f"{crawl}q:{host}:{level}", first, first + PAGE_KEYS - 1)
            ):
                wanted = [
                    entry
                    for entry in page
                    if match is None or patterns.found(match, unpack(host, entry).url, on_timeout=False)
                ]
                first += len(page)
                for j in range(0, len(wanted), CHUNK_URLS):
                    part = wanted[j : j + CHUNK_URLS]
                    n = (
                        len(part)
                        if dry_run
                        else int(
                            await self.store.run("change_priority", bucket, name, host, level, to, *part)
                        )
                    )
                    moved += n
                    first -= 0 if dry_run else n
        return moved + await self._move_cold(name, bucket, host, to, match, dry_run)

    async def _move_cold(
        self, name: str, bucket: int, host: str, to: int, match: Searcher | None, dry_run: bool
    ) -> int:
        """Moves cold URLs of a host to another priority. Reads the entries of each level in order, and adds
        them to the frontier again."""
        if await self._do(self.store.client.hget(f"{keys.tag(bucket)}{name}:h:{host}", "k")) is None:
            return 0
        if self.spiller is None:
            raise ConfigError(
                f"URLs of {host} wait in the cold store of {name}: give the same setting `cold` "
                "as the crawl has"
            )
        await self.spiller.drain()
        moved = 0
        for tail in await self.spiller.cold_tails(bucket, [host]):
            if tail.level != to and (n := await self._turn_over(tail, to, match, True)):
                moved += n if dry_run else await self._turn_over(tail, to, match, False)
        return moved

    async def _turn_over(self, tail: ColdTail, to: int, match: Searcher | None, dry_run: bool) -> int:
        """Removes the URLs of a cold tail from the cold store and adds these URLs to the frontier again. URLs
        that `match` matches are added to the level `to`. All other URLs are added to the end of the queue of
        their priority level. Returns the number of URLs that match. If `dry_run` is true, only counts the
        URLs."""
        assert self.spiller is not None
        moved, where = 0, (tail.bucket, tail.host, tail.level)
        end = int(
            await self._do(self.store.client.hget(f"{keys.tag(tail.bucket)}{self.spiller.crawl}:g", "seq"))
            or 0
        )
        while True:
            got = [
                one for one in await self.spiller.cold.read(*where, tail.cursor, PAGE_KEYS) if one[0] <= end
            ]
            if not got:
                return moved
            wanted = [
                match is None or patterns.found(match, unpack(tail.host, entry).url, on_timeout=False)
                for _, entry in got
            ]
            if not dry_run:
                pairs = [
                    x
                    for (_, entry), yes in zip(got, wanted, strict=True)
                    for x in (to if yes else tail.level, entry)
                ]
                done = await self.store.run(
                    "cold_refill",
                    tail.bucket,
                    self.spiller.crawl,
                    *where[1:],
                    tail.cursor,
                    got[-1][0],
                    0,
                    *pairs,
                )
                if int(done) < 0:  # the spiller has moved some of these URLs: read the rest again
                    found = await self.spiller.cold_tails(tail.bucket, [tail.host])
                    now = next((one for one in found if one.level == tail.level), None)
                    if now is None:
                        return moved
                    tail = now
                    continue
                self.spiller.spend(tail, got[-1][0])
            moved += sum(wanted)
            tail = tail._replace(cursor=got[-1][0])

    async def _hold(self, host: str, field: str, value: str) -> bool:
        return bool(
            await self.store.run(
                "host_control", keys.bucket_of(host, self.store.buckets), "", host, field, value
            )
        )

    async def _do(self, call: Any) -> Any:
        return await self.store.guard(cast(Awaitable[Any], call))

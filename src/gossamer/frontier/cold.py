"""The cold store: the disk on which the tails of long queues wait (`spill.lua` says which URLs, `spiller`
moves them).

It holds rows of one bucket, host and level: some entries, each with its number, and the row is known by the
number of the last one. Numbers grow, so a row that was written twice (a kill came in between) is met in
order, and what it repeats is passed over. Which entries wait there, and which came back, stands in the
frontier's store: rows here that it does not know of mean nothing.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from gossamer.config.data_files import make_folder, refuse_link
from gossamer.errors import FULL, ColdError, ConfigError, DiskFull, StoreError, StoreFull
from gossamer.store import sqlite_wal
from gossamer.store.address import parse
from gossamer.store.store import Store, connect

log = logging.getLogger("gossamer.worker")

HOT = 512
"""URLs of a host and level that stay in the store's memory."""
ROW = 256
"""Entries in a row."""
T = TypeVar("T")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class ColdEntry(NamedTuple):
    """Entries of one host and level, by number."""

    host: str
    level: int
    last: int
    blob: bytes


class Cold(Protocol):
    """A cold store of one crawl."""

    away: float | None
    """Since when (`time.monotonic()`) it fails."""

    async def try_out(self) -> None:
        """Raise when it takes no rows."""

    async def write(self, bucket: int, rows: Sequence[ColdEntry]) -> None:
        """Keep rows; they are on the disk on return, as far as that store keeps its word."""

    async def read(self, bucket: int, host: str, level: int, after: int, n: int) -> list[tuple[int, bytes]]:
        """The first n (number, entry) after a number, in order."""

    async def trim(self, bucket: int, upto: Sequence[tuple[str, int, int]]) -> None:
        """Let go of rows: (host, level, number of the last entry that nobody needs)."""

    async def drop(self) -> None:
        """Let go of all."""

    async def close(self) -> None:
        """Let files or connections go."""


def rows(entries: Iterable[tuple[str, int, int, bytes]]) -> list[ColdEntry]:
    """Rows of (host, level, number, entry) in the order of the numbers."""
    groups: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
    for host, level, number, entry in entries:
        groups.setdefault((host, level), []).append((number, entry))
    return [
        ColdEntry(host, level, part[-1][0], _encode(part))
        for (host, level), found in groups.items()
        for part in (found[j : j + ROW] for j in range(0, len(found), ROW))
    ]


def unrolled(blobs: Iterable[bytes], after: int, n: int) -> list[tuple[int, bytes]]:
    """The first n entries after a number; `blobs` come by the number of their last entry."""
    found: list[tuple[int, bytes]] = []
    for blob in blobs:
        for number, entry in _decode(blob):
            if number > after:
                found.append((number, entry))
                after = number
        if len(found) >= n:
            break
    return found[:n]


class ColdFiles:
    """Beside the data folder's own store: one SQLite file a crawl."""

    away: float | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._base: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    async def try_out(self) -> None:
        """A folder that we have locked is there."""

    async def write(self, bucket: int, rows: Sequence[ColdEntry]) -> None:
        """One transaction, synced."""
        values = [(bucket, *row) for row in rows]
        await self._do(
            lambda base: base.executemany(
                "INSERT OR REPLACE INTO cold VALUES (?, ?, ?, ?, ?)", values
            ).close()
        )

    async def read(self, bucket: int, host: str, level: int, after: int, n: int) -> list[tuple[int, bytes]]:
        """As many rows as n entries take."""
        text = (
            "SELECT entries FROM cold WHERE bucket = ? AND host = ? AND level = ? AND last > ? ORDER BY last"
        )

        def look(base: sqlite3.Connection) -> list[tuple[int, bytes]]:
            found = base.execute(text, (bucket, host, level, after))
            return unrolled((blob for (blob,) in found), after, n)

        return await self._do(look)

    async def trim(self, bucket: int, upto: Sequence[tuple[str, int, int]]) -> None:
        """One transaction."""
        text = "DELETE FROM cold WHERE bucket = ? AND host = ? AND level = ? AND last <= ?"
        await self._do(lambda base: base.executemany(text, [(bucket, *one) for one in upto]).close())

    async def drop(self) -> None:
        """Remove the file's rows."""
        if self.path.exists():
            await self._do(lambda base: base.execute("DELETE FROM cold").close())

    async def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._base is not None:
                self._base.close()
                self._base = None

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def go() -> T:
            with self._lock:
                try:
                    base = self._opened()
                    with base:
                        return work(base)
                except (sqlite3.Error, OSError) as error:
                    full = (
                        getattr(error, "errno", 0) in FULL
                        or getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
                    )
                    kind = DiskFull if full else StoreError
                    raise kind(f"the cold store {self.path} cannot be used: {error}") from error

        return await asyncio.to_thread(go)

    def _opened(self) -> sqlite3.Connection:
        if self._base is None:
            make_folder(self.path.parent)
            refuse_link(self.path, f"{self.path}-wal", f"{self.path}-shm")
            self._base = sqlite_wal.connect(str(self.path), 60)
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS cold (bucket INTEGER, host TEXT, level INTEGER, last INTEGER, entries BLOB, "
                "PRIMARY KEY (bucket, host, level, last)) WITHOUT ROWID"
            )
        return self._base


class ColdServer:
    """Any server that speaks the Redis protocol and keeps sorted sets on its disk, such as Kvrocks: one a
    host and level."""

    def __init__(self, store: Store, crawl: str) -> None:
        self.store, self.crawl = store, crawl
        self.away: float | None = None
        self._full = False

    async def try_out(self) -> None:
        """Write something and let it go."""
        await self._do(self.store.client.set(f"gossamer:cold:{self.crawl}:", "1", ex=60), writes=True)

    def key(self, bucket: int, host: str, level: int) -> str:
        """`gossamer:cold:CRAWL:BUCKET:LEVEL:HOST`: rows by the number of their last entry."""
        return f"gossamer:cold:{self.crawl}:{bucket:03x}:{level}:{host}"

    async def write(self, bucket: int, rows: Sequence[ColdEntry]) -> None:
        """A row that is there already is the same row."""
        pipe = self.store.client.pipeline(transaction=False)
        for row in rows:
            pipe.zadd(self.key(bucket, row.host, row.level), {row.blob: row.last})
        await self._do(pipe.execute(), writes=True)

    async def read(self, bucket: int, host: str, level: int, after: int, n: int) -> list[tuple[int, bytes]]:
        """Pages of rows until n entries are met."""
        found: list[tuple[int, bytes]] = []
        page, first = 4, after
        while len(found) < n:
            got = await self._do(
                self.store.client.zrangebyscore(
                    self.key(bucket, host, level), f"({first}", "+inf", start=0, num=page, withscores=True
                )
            )
            blobs, scores = [pair[0] for pair in got], [pair[1] for pair in got]
            found += unrolled(blobs, found[-1][0] if found else after, n - len(found))
            if len(blobs) < page:
                break
            first, page = int(float(scores[-1])), min(64, 2 * page)
        return found

    async def trim(self, bucket: int, upto: Sequence[tuple[str, int, int]]) -> None:
        """By score."""
        pipe = self.store.client.pipeline(transaction=False)
        for host, level, last in upto:
            pipe.zremrangebyscore(self.key(bucket, host, level), "-inf", last)
        await self._do(pipe.execute())

    async def drop(self) -> None:
        """By a scan."""
        cursor: Any = 0
        while True:
            cursor, found = await self._do(
                cast(Any, self.store.client.scan(cursor, match=f"gossamer:cold:{self.crawl}:*", count=1000))
            )
            if found:
                await self._do(self.store.client.delete(*found))
            if int(cursor) == 0:
                return

    async def _do(self, call: Awaitable[Any], *, writes: bool = False) -> Any:
        """A call; an outage is told once, and when it is over. A full server reads on: its writes alone show
        that it is not."""
        try:
            found = await self.store.guard(call)
        except StoreError as error:
            said = ColdError(str(error).replace("the store", "the cold store", 1))
            self._full = isinstance(error, StoreFull)
            if self.away is None:
                self.away = time.monotonic()
                log.warning("%s; the URLs of crawl %s that are there wait", said, self.crawl)
            raise said from error
        if self.away is not None and (writes or not self._full):
            log.warning("the cold store takes rows again after %.1f s", time.monotonic() - self.away)
            self.away = None
        return found

    async def close(self) -> None:
        """Close the connections."""
        await self.store.close()


def open_cold(setting: str | None, folder: Path | None, crawl: str) -> tuple[Cold | None, int]:
    """The cold store of a crawl and how many URLs of a host and level stay hot (0: all, there is no cold
    store).

    `setting`: None, `off`, or a URL; `folder`: the crawl's own where its store is the data folder's. `?hot=N`
    sets the bound.
    """
    if setting == "off" or (setting is None and folder is None):
        return None, 0
    address, hot = parts(setting or "sqlite:")
    if address != "sqlite:":
        parse(address, "cold")  # what is wrong with it is said of this setting
        return ColdServer(connect(address), crawl), hot
    if folder is None:
        raise ConfigError(
            "cold = sqlite: goes with the store of a data folder; workers of a shared store need a server: redis://HOST:PORT"
        )
    return ColdFiles(folder / "cold.sqlite"), hot


def parts(setting: str) -> tuple[str, int]:
    """(address, hot) of a setting `cold`.

    >>> parts("rediss://kv:6666?ca_file=ca.pem&hot=256"), parts("sqlite:")
    (('rediss://kv:6666?ca_file=ca.pem', 256), ('sqlite:', 512))
    """
    address, _, rest = setting.partition("?")
    hot = [one for one in rest.split("&") if one.startswith("hot=")]
    more = "&".join(one for one in rest.split("&") if one not in hot)
    return f"{address}?{more}" if more else address, int(hot[-1][4:]) if hot else HOT

"""The cold store keeps the tails of long queues on disk, so that they do not fill the memory of the
frontier's store. `cold_spill.lua` decides which URLs become cold, and the spiller moves them to the cold
store and back.

A row holds several queue entries of one bucket, host and level. Each entry has a number, and the row is
identified by the number of its last entry. Numbers only grow. If a spiller is killed, entries may be written
twice. The reader gets the entries in order of their numbers, so the reader can skip repeated entries. The
frontier's store records which entries are cold and which entries have been moved back. The reader ignores
other rows.

The spiller empties the outbox and refills hosts whose queue runs low. Every worker of a crawl has a spiller.
A short lease allows only one of the spillers to work at a time. The purpose of the lease is to avoid
duplicate work. The moves are correct even without the lease, because the scripts `cold_written.lua` and
`cold_refill.lua` check the entry numbers of every move. No URL is lost or repeated if a spiller pauses or is
killed between two steps. Entries are written to the cold store only when the frontier's store has them on
disk. Entries are deleted from the cold store only after the frontier's store has received them and written
them to its disk. After a power failure, each URL is therefore in at least one of the two stores.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import msgspec

from gossamer.config.data_files import make_folder, refuse_link
from gossamer.errors import FULL, ColdError, ConfigError, DiskFull, GossamerError, StoreError, StoreFull
from gossamer.frontier.background_task import run_beside
from gossamer.store import keys
from gossamer.store.address import parse
from gossamer.store.store import Store, connect
from gossamer.store.store_check import write_durably

if TYPE_CHECKING:
    import sqlite3

log = logging.getLogger("gossamer.worker")

DEFAULT_HOT_URLS = 512
"""The default number of URLs per host and level that stay in the store's memory."""
MAX_ROW_ENTRIES = 256
"""The maximum number of queue entries in one row."""
T = TypeVar("T")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class ColdEntry(NamedTuple):
    """One row of the cold store: packed entries of one host and level. `last` is the number of the last entry
    in the row."""

    host: str
    level: int
    last: int
    blob: bytes


class Cold(Protocol):
    """The interface of a crawl's cold store."""

    away: float | None
    """The time (`time.monotonic()`) at which the current outage of the cold store began, or None if there is
    no outage."""

    async def try_out(self) -> None:
        """Raises ColdError if the cold store accepts no rows."""

    async def write(self, bucket: int, rows: Sequence[ColdEntry]) -> None:
        """Stores rows. When this call returns, the rows are as durable as any completed write to the
        backend."""

    async def read(self, bucket: int, host: str, level: int, after: int, n: int) -> list[tuple[int, bytes]]:
        """Returns the first `n` pairs (number, entry) whose number is greater than `after`, in ascending
        order."""

    async def trim(self, bucket: int, upto: Sequence[tuple[str, int, int]]) -> None:
        """Deletes rows whose entries are back in the frontier's store. `upto` contains (host, level, number)
        tuples. For each tuple, deletes the rows of this host and level if the number of the row's last entry
        is at most `number`."""

    async def drop(self) -> None:
        """Deletes all rows."""

    async def close(self) -> None:
        """Closes files or connections."""


def pack_rows(entries: Iterable[tuple[str, int, int, bytes]]) -> list[ColdEntry]:
    """Packs (host, level, number, entry) tuples, which must be sorted by number, into rows of at most
    MAX_ROW_ENTRIES entries."""
    groups: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
    for host, level, number, entry in entries:
        groups.setdefault((host, level), []).append((number, entry))
    return [
        ColdEntry(host, level, part[-1][0], _encode(part))
        for (host, level), found in groups.items()
        for part in (found[j : j + MAX_ROW_ENTRIES] for j in range(0, len(found), MAX_ROW_ENTRIES))
    ]


def unpack_rows(blobs: Iterable[bytes], after: int, n: int) -> list[tuple[int, bytes]]:
    """Returns the first `n` entries whose number is greater than `after`. `blobs` are packed rows, sorted by
    the number of their last entry."""
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
    """The cold store of one crawl if the frontier's store is embedded. The rows are in an SQLite file."""

    away: float | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._base: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    async def try_out(self) -> None:
        """Does nothing. The crawl's folder already exists, and the crawl holds its lock."""

    async def write(self, bucket: int, rows: Sequence[ColdEntry]) -> None:
        """Writes the rows in one synced transaction."""
        values = [(bucket, *row) for row in rows]
        await self._do(
            lambda base: base.executemany(
                "INSERT OR REPLACE INTO cold VALUES (?, ?, ?, ?, ?)", values
            ).close()
        )

    async def read(self, bucket: int, host: str, level: int, after: int, n: int) -> list[tuple[int, bytes]]:
        """Reads only as many rows as are needed for `n` entries."""
        text = (
            "SELECT entries FROM cold WHERE bucket = ? AND host = ? AND level = ? AND last > ? ORDER BY last"
        )

        def look(base: sqlite3.Connection) -> list[tuple[int, bytes]]:
            found = base.execute(text, (bucket, host, level, after))
            return unpack_rows((blob for (blob,) in found), after, n)

        return await self._do(look)

    async def trim(self, bucket: int, upto: Sequence[tuple[str, int, int]]) -> None:
        """Deletes rows in one transaction."""
        text = "DELETE FROM cold WHERE bucket = ? AND host = ? AND level = ? AND last <= ?"
        await self._do(lambda base: base.executemany(text, [(bucket, *one) for one in upto]).close())

    async def drop(self) -> None:
        """Deletes all rows of the file."""
        if self.path.exists():
            await self._do(lambda base: base.execute("DELETE FROM cold").close())

    async def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._base is not None:
                self._base.close()
                self._base = None

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        import sqlite3  # imported late, because few queues outgrow the memory

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
            from gossamer.store import sqlite_wal

            make_folder(self.path.parent)
            refuse_link(self.path, f"{self.path}-wal", f"{self.path}-shm")
            self._base = sqlite_wal.open_sqlite(str(self.path), 60)
            self._base.execute(
                "CREATE TABLE IF NOT EXISTS cold (bucket INTEGER, host TEXT, level INTEGER, last "
                "INTEGER, entries BLOB, "
                "PRIMARY KEY (bucket, host, level, last)) WITHOUT ROWID"
            )
        return self._base


class ColdServer:
    """A cold store on a server that speaks the Redis protocol and keeps its data on disk, such as Kvrocks.
    The server stores one sorted set per host and level."""

    def __init__(self, store: Store, crawl: str) -> None:
        self.store, self.crawl = store, crawl
        self.away: float | None = None
        self._full = False

    async def try_out(self) -> None:
        """Writes a test key that expires after 60 s."""
        await self._do(self.store.client.set(f"gossamer:cold:{self.crawl}:", "1", ex=60), writes=True)

    def key(self, bucket: int, host: str, level: int) -> str:
        """Returns `gossamer:cold:CRAWL:BUCKET:LEVEL:HOST`. Under this key, rows are sorted by the number of
        their last entry."""
        return f"gossamer:cold:{self.crawl}:{bucket:03x}:{level}:{host}"

    async def write(self, bucket: int, rows: Sequence[ColdEntry]) -> None:
        """Writes rows. Writing a row again changes nothing."""
        pipe = self.store.client.pipeline(transaction=False)
        for row in rows:
            pipe.zadd(self.key(bucket, row.host, row.level), {row.blob: row.last})
        await self._do(pipe.execute(), writes=True)

    async def read(self, bucket: int, host: str, level: int, after: int, n: int) -> list[tuple[int, bytes]]:
        """Reads rows page by page until there are `n` entries."""
        found: list[tuple[int, bytes]] = []
        page, first = 4, after
        while len(found) < n:
            got = await self._do(
                self.store.client.zrangebyscore(
                    self.key(bucket, host, level), f"({first}", "+inf", start=0, num=page, withscores=True
                )
            )
            blobs, scores = [pair[0] for pair in got], [pair[1] for pair in got]
            found += unpack_rows(blobs, found[-1][0] if found else after, n - len(found))
            if len(blobs) < page:
                break
            first, page = int(float(scores[-1])), min(64, 2 * page)
        return found

    async def trim(self, bucket: int, upto: Sequence[tuple[str, int, int]]) -> None:
        """Deletes rows by their scores in the sorted set. The score of a row is the number of its last
        entry."""
        pipe = self.store.client.pipeline(transaction=False)
        for host, level, last in upto:
            pipe.zremrangebyscore(self.key(bucket, host, level), "-inf", last)
        await self._do(pipe.execute())

    async def drop(self) -> None:
        """Scans the server for all keys of the crawl and deletes them."""
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
        """Awaits a call to the server. Logs the beginning and the end of an outage, once each.

        If the outage began because the server was full, only a successful write ends the outage. A successful
        read does not end such an outage, because a full server still answers reads. Raises ColdError.
        """
        try:
            found = await self.store.guard(call)
        except StoreError as error:
            said = ColdError(str(error).replace("the store", "the cold store", 1))
            self._full = isinstance(error, StoreFull)
            if self.away is None:
                self.away = time.monotonic()
                log.warning("%s; the URLs of crawl %s in the cold store wait", said, self.crawl)
            raise said from error
        if self.away is not None and (writes or not self._full):
            log.warning("the cold store accepts rows again after %.1f s", time.monotonic() - self.away)
            self.away = None
        return found

    async def close(self) -> None:
        """Closes the connections."""
        await self.store.close()


def open_cold(setting: str | None, folder: Path | None, crawl: str) -> tuple[Cold | None, int]:
    """Returns the cold store of a crawl, and the maximum number of hot URLs per host and priority level. Hot
    URLs are the URLs that stay in the memory of the frontier's store. If there is no cold store, all URLs
    stay hot, and the result is (None, 0).

    `setting` is None, `off` or a URL. The URL's parameter `?hot=N` sets the number of URLs that stay hot.
    `folder` is the folder of the crawl if the embedded store is used, otherwise None. Raises ConfigError.
    """
    if setting == "off" or (setting is None and folder is None):
        return None, 0
    address, hot = parse_cold(setting or "sqlite:")
    if address != "sqlite:":
        parse(address, "cold")  # checked here, so that errors name the setting `cold`
        return ColdServer(connect(address), crawl), hot
    if folder is None:
        raise ConfigError(
            "cold = sqlite: works only with the embedded store of a data folder; workers of a "
            "shared store need a server: redis://HOST:PORT"
        )
    return ColdFiles(folder / "cold.sqlite"), hot


def hot_limit(setting: str | None, embedded: bool) -> int:
    """Returns how many URLs per host and priority level stay in the memory of the frontier's store. 0 means
    that all URLs stay in memory. `embedded`: whether the store is in a data folder."""
    return (
        0 if setting == "off" or (setting is None and not embedded) else parse_cold(setting or "sqlite:")[1]
    )


def parse_cold(setting: str) -> tuple[str, int]:
    """Splits a `cold` setting into the address of the cold store and the maximum number of hot URLs.

    >>> parse_cold("rediss://kv:6666?ca_file=ca.pem&hot=256"), parse_cold("sqlite:")
    (('rediss://kv:6666?ca_file=ca.pem', 256), ('sqlite:', 512))
    """
    address, _, rest = setting.partition("?")
    hot = [one for one in rest.split("&") if one.startswith("hot=")]
    more = "&".join(one for one in rest.split("&") if one not in hot)
    return f"{address}?{more}" if more else address, int(hot[-1][4:]) if hot else DEFAULT_HOT_URLS


SPILL_CHUNK, MAX_SPILLED = 5_000, 50_000
"""In one step, at most SPILL_CHUNK entries per bucket are moved to the cold store, and about MAX_SPILLED
entries in total."""
REFILLED_HOSTS = 200
"""Maximum number of hosts per bucket whose cold URLs are moved back to the frontier's store in one step."""
LEASE_MS = 5_000
"""Milliseconds after which the spiller's lease expires unless it is renewed."""
BUSY_INTERVAL_S, IDLE_INTERVAL_S = 0.05, 0.1
"""Seconds between the spiller's rounds: BUSY_INTERVAL_S while some URLs are cold, IDLE_INTERVAL_S
otherwise."""
TRIM_DELAY_S = 1.0
"""Seconds between deletions of rows whose entries are back in the frontier's store. This interval is long
enough for each deletion to remove many rows at once."""
LOST_AFTER_S = 10.0
"""URLs that have been missing from the cold store for this many seconds count as lost."""
MAX_STORE_OUTAGE_S = 60.0
"""The spiller fails if the crawl's store is unreachable for more than this many seconds."""
MAX_COLD_OUTAGE_S = 20.0
"""The spiller fails if the cold store is unreachable for more than this many seconds. During a shorter
outage, the crawl continues with the URLs that are in the memory of the frontier's store."""


class ColdTail(NamedTuple):
    """The cold URLs of one host and level. `cold`: the number of cold URLs. `cursor`: the number of the last
    entry that was moved back to the frontier's store."""

    bucket: int
    host: str
    level: int
    cold: int
    cursor: int
    room: int
    """The number of URLs that still fit into the host's queue of this level. The field `free` is the number
    of URLs that still fit into all queues of the host together."""
    free: int


class SpillerLease:
    """The lease that decides which worker's spiller moves a crawl's URLs."""

    def __init__(self, store: Store, crawl: str) -> None:
        self.store, self._lease, self._mine = store, keys.turn(crawl, "spill"), secrets.token_hex(8)

    async def ours(self) -> bool:
        """Takes or renews the lease. Returns whether this spiller holds the lease."""
        client = self.store.client
        if await self.store.guard(client.set(self._lease, self._mine, nx=True, px=LEASE_MS)):
            return True
        if await self.store.guard(client.get(self._lease)) != self._mine.encode():
            return False
        return bool(await self.store.guard(cast(Awaitable[Any], client.pexpire(self._lease, LEASE_MS))))

    async def hold_durably(self) -> None:
        """Renews the lease with a durable write, which also waits until all earlier writes are on the store's
        disk."""
        await write_durably(self.store, "SET", self._lease, self._mine, "PX", str(LEASE_MS))


class Spiller:
    """Moves the URLs of one crawl between the store and the cold store."""

    def __init__(self, store: Store, crawl: str, cold: Cold, hot: int) -> None:
        self.store, self.crawl, self.cold, self.hot = store, crawl, cold, hot
        self._turn = SpillerLease(store, crawl)
        self._spent: dict[int, dict[tuple[str, int], int]] = {}
        self._trim_at = 0.0
        self._missing: dict[tuple[int, str, int], tuple[int, int, float]] = {}

    async def run(self) -> None:
        """Moves URLs between the frontier's store and the cold store until the task is cancelled. Raises
        StoreError or ColdError if one of the stores stays unreachable for too long."""
        since: float | None = None
        await asyncio.sleep(IDLE_INTERVAL_S)  # the crawl sends its first requests before the first round
        while True:
            pause, buckets = IDLE_INTERVAL_S, self.store.buckets
            try:
                if await self._turn.ours() and await self.round():
                    pause = BUSY_INTERVAL_S
                since = None
            except StoreError:
                since = since or time.monotonic()
                if time.monotonic() - since > MAX_STORE_OUTAGE_S:
                    raise
            except ColdError:
                if time.monotonic() - (self.cold.away or 0.0) > MAX_COLD_OUTAGE_S:
                    raise
            await asyncio.sleep(pause + buckets / 1000)

    async def round(self) -> bool:
        """Empties the outboxes, and refills hosts whose queues run low. Returns whether any URL is cold."""
        waiting = await self._waiting()
        if any(n for n, _, _ in waiting.values()):
            await self._spill([bucket for bucket, (n, _, _) in waiting.items() if n])
        for bucket, (_, wanted, _) in waiting.items():
            if wanted:
                await self._serve(bucket)
        if self._spent and time.monotonic() >= self._trim_at:
            await self._trim()
        return any(out for _, _, out in waiting.values())

    async def drain(self) -> None:
        """Moves the contents of all outboxes to the cold store."""
        while buckets := [bucket for bucket, (n, _, _) in (await self._waiting()).items() if n]:
            await self._spill(buckets)

    async def cold_tails(self, bucket: int, hosts: list[str]) -> list[ColdTail]:
        """For each of the given hosts, returns the `ColdTail` of every level with cold URLs."""
        crawl = f"{keys.tag(bucket)}{self.crawl}:"
        pipe = self.store.client.pipeline(transaction=False)
        for host in hosts:
            pipe.hgetall(f"{crawl}k:{host}")
            pipe.hget(f"{crawl}h:{host}", "q")
        got = await self.store.guard(pipe.execute())
        found: list[ColdTail] = []
        for j, host in enumerate(hosts):
            fields = {k.decode(): int(v) for k, v in got[2 * j].items()}
            room = 4 * self.hot - int(got[2 * j + 1] or 0)
            levels = sorted((int(k) for k in fields if k[0] != "c"), reverse=True)
            if len(levels) > 1:
                # The lowest level is second, so that the levels between do not use up the host's free space.
                levels.insert(1, levels.pop())
            found += [ColdTail(bucket, host, n, fields[str(n)], fields[f"c{n}"], 0, room) for n in levels]
        pipe = self.store.client.pipeline(transaction=False)
        for tail in found:
            pipe.llen(f"{crawl}q:{tail.host}:{tail.level}")
        lengths = await self.store.guard(pipe.execute()) if found else []
        return [tail._replace(room=max(0, self.hot - n)) for tail, n in zip(found, lengths, strict=True)]

    async def _waiting(self) -> dict[int, tuple[int, int, int]]:
        """Maps each bucket to three numbers: the entries in the outbox, the hosts whose queue runs low, and
        the cold URLs. Omits a bucket if all three numbers are 0. Sends one call to each server."""
        groups = await self.store.by_server()
        calls = [(group[0], (self.crawl, *map(keys.tag, group))) for group in groups]
        found: dict[int, tuple[int, int, int]] = {}
        for group, reply in zip(groups, await self.store.run_all("cold_buckets", calls), strict=True):
            if isinstance(reply, GossamerError):
                raise reply
            found |= {
                group[reply[j]]: (reply[j + 1], reply[j + 2], reply[j + 3]) for j in range(0, len(reply), 4)
            }
        return dict(sorted(found.items()))

    async def _spill(self, buckets: list[int]) -> None:
        """Moves the first entries of the outboxes of these buckets to the cold store. Reads the entries,
        waits until the entries are on the disk of the frontier's store, writes them to the cold store, and
        removes them from the outbox."""
        read: dict[int, list[bytes]] = {}
        size = 0
        for bucket in buckets:
            if size < MAX_SPILLED:
                outbox = f"{keys.tag(bucket)}{self.crawl}:o"
                read[bucket] = await self.store.guard(
                    cast(Any, self.store.client.lrange(outbox, 0, SPILL_CHUNK - 1))
                )
                size += len(read[bucket])
        await self._turn.hold_durably()
        for bucket, records in read.items():
            if records:
                entries = [_entry(record) for record in records]
                await self.cold.write(bucket, pack_rows(entries))
                await self.store.run("cold_written", bucket, self.crawl, len(records), entries[-1][2])

    async def _serve(self, bucket: int) -> None:
        wanted = f"{keys.tag(bucket)}{self.crawl}:rf"
        hosts = await self.store.guard(cast(Any, self.store.client.srandmember(wanted, REFILLED_HOSTS)))
        tails = await self.cold_tails(bucket, [host.decode() for host in hosts])
        left: dict[str, int] = {}
        for tail in tails:
            free = left.setdefault(tail.host, tail.free)
            left[tail.host] -= await self._refill(tail, max(0, min(tail.room, free, tail.cold)))

    async def _refill(self, tail: ColdTail, n: int) -> int:
        """Moves up to `n` cold entries back to the frontier's store, and returns the number of moved entries.
        If `n` is 0, moves no entries and only updates whether the host is marked for a refill."""
        where = tail.bucket, tail.host, tail.level
        got = await self.cold.read(*where, tail.cursor, n) if n else []
        lost = self._gone(tail) if n and not got else 0
        if n and not got and not lost:
            return 0  # the URLs are still in the outbox
        last = got[-1][0] if got else tail.cursor
        flat = [x for _, entry in got for x in ("", entry)]
        done = await self.store.run(
            "cold_refill", tail.bucket, self.crawl, tail.host, tail.level, tail.cursor, last, lost, *flat
        )
        if int(done) < 0:
            return 0
        if got:
            self._missing.pop(where, None)
            self.spend(tail, last)
        return len(got)

    def spend(self, tail: ColdTail, last: int) -> None:
        """Records that the entries up to the number `last` can be deleted from the cold store."""
        if not self._spent:
            self._trim_at = time.monotonic() + TRIM_DELAY_S
        self._spent.setdefault(tail.bucket, {})[tail.host, tail.level] = last

    def _gone(self, tail: ColdTail) -> int:
        """Returns the number of lost URLs of one host and level. URLs are lost if they have been missing from
        both the outbox and the cold store for LOST_AFTER_S seconds."""
        where = tail.bucket, tail.host, tail.level
        count, cursor, since = self._missing.get(where, (-1, -1, 0.0))
        if (count, cursor) != (tail.cold, tail.cursor):
            self._missing[where] = tail.cold, tail.cursor, time.monotonic()
            return 0
        return tail.cold if time.monotonic() - since > LOST_AFTER_S else 0

    async def _trim(self) -> None:
        """Waits until the frontier's store has written the moved entries to its disk, and then deletes the
        rows of the moved entries from the cold store."""
        spent, self._spent = self._spent, {}
        await self._turn.hold_durably()
        for bucket, ends in spent.items():
            await self.cold.trim(bucket, [(host, level, last) for (host, level), last in ends.items()])


def _entry(record: bytes) -> tuple[str, int, int, bytes]:
    number, level, host, entry = record.split(b"\t", 3)
    return host.decode(), int(level), int(number), entry


@contextlib.asynccontextmanager
async def run_spiller(store: Store, crawl: str, cold: Cold | None, hot: int) -> AsyncIterator[None]:
    """A context manager that runs the spiller. If the spiller fails permanently, the context manager cancels
    the `with` block and raises the error."""
    if cold is None:
        yield
        return
    await cold.try_out()
    async with run_beside(Spiller(store, crawl, cold, hot).run()):
        yield


async def set_hot_limit(store: Store, crawl: str, hot: int) -> None:
    """Sets how many URLs of a host and level stay in the store's memory, for all workers of a crawl. 0 means
    all.

    Raises ConfigError if `hot` is 0 while some URLs are cold.
    """
    pipe = store.client.pipeline(transaction=False)
    for bucket in range(store.buckets):
        pipe.hmget(f"{keys.tag(bucket)}{crawl}:g", ["hot", "out"])
    found = await store.guard(pipe.execute())
    if not hot and (cold := sum(int(out or 0) for _, out in found)):
        raise ConfigError(
            f"{cold} URLs of crawl {crawl} wait in its cold store: give the same setting `cold` as before"
        )
    pipe = store.client.pipeline(transaction=False)
    for bucket, (was, _) in enumerate(found):
        if int(was or 0) != hot:
            pipe.hset(f"{keys.tag(bucket)}{crawl}:g", "hot", str(hot))
    await store.guard(pipe.execute())

"""The page table of a fleet's crawl. The shared store contains this table in chunks of pages
(`page_table_chunks`).

One process of the fleet reads all chunks into a working copy, which is a temporary SQLite file. The same
process decides which pages are due. Each change is written back by one call of a script in the store. The
script stores the chunks of the changed pages. If a change results from visit outcomes that workers reported,
the script also removes these outcomes from the list of reported outcomes. The script also checks the version
of the table. The version differs if another process has written the table, or if the store lost its last
writes. In this case, the script writes nothing, and the working copy is read again. Therefore, each outcome
counts once, even if several processes write changes at the same time.
"""

from __future__ import annotations

import secrets
import sqlite3
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.errors import InUse, StoreError
from gossamer.frontier.frontier_client import call_until_confirmed
from gossamer.model.visit import KnownLine
from gossamer.recrawl.page_table import MAX_INBOX_LINES, PageTable
from gossamer.recrawl.page_table_chunks import CHUNK_PAGES, pack, unpack
from gossamer.store import keys
from gossamer.store.store import Store

ENTRY_LINES = 256
"""Maximum number of visit outcomes in one entry of the list of outcomes in the store."""
READ_CHUNKS, READ_ENTRIES = 64, 64
"""The maximum number of chunks, and the maximum number of list entries, that one command to the store
reads."""
MIN_CHUNK_PAGES = CHUNK_PAGES // 4
"""If a changed chunk has fewer pages than this number, its pages move to the chunk that is being filled."""
CACHE_KIB = 16_384
"""The memory for the working copy of the page table, in KiB. The part of the working copy that does not fit
into this memory is on disk."""
INLINK_CHUNKS, MAX_INLINKS = 4096, 65_535
"""INLINK_CHUNKS: the number of chunks for the inlink counts. MAX_INLINKS: the highest inlink count that is
stored. A higher count would make no difference, because a page reaches the highest weight with far fewer
inlinks."""
_INLINKS = struct.Struct("<qH")
_PLACES = """
CREATE TABLE places (page INTEGER PRIMARY KEY, chunk INTEGER NOT NULL);
CREATE INDEX places_of_chunk ON places (chunk);
CREATE TABLE changed_pages (id INTEGER PRIMARY KEY);
CREATE TABLE changed_batches (id INTEGER PRIMARY KEY);
CREATE TABLE changed_inlinks (chunk INTEGER PRIMARY KEY);
CREATE INDEX inlinks_of_chunk ON inlinks (url & 4095);
"""
_TRIGGERS = """
CREATE TRIGGER put AFTER INSERT ON pages BEGIN
    INSERT OR IGNORE INTO changed_pages VALUES (new.id);
    INSERT OR IGNORE INTO changed_batches VALUES (new.id);
END;
CREATE TRIGGER changed AFTER UPDATE OF changes, days, last, due, visits, changed, failed, signals, line ON pages BEGIN
    INSERT OR IGNORE INTO changed_pages VALUES (new.id);
END;
CREATE TRIGGER queued AFTER UPDATE OF batch ON pages BEGIN
    INSERT OR IGNORE INTO changed_batches VALUES (new.id);
END;
CREATE TRIGGER forgotten AFTER DELETE ON pages BEGIN
    INSERT OR IGNORE INTO changed_pages VALUES (old.id);
    INSERT OR IGNORE INTO changed_batches VALUES (old.id);
END;
CREATE TRIGGER linked AFTER INSERT ON inlinks BEGIN
    INSERT INTO changed_inlinks SELECT new.url & 4095 WHERE new.url & 4095 NOT IN changed_inlinks;
END;
CREATE TRIGGER linked_again AFTER UPDATE ON inlinks BEGIN
    INSERT INTO changed_inlinks SELECT new.url & 4095 WHERE new.url & 4095 NOT IN changed_inlinks;
END;
"""
_decode = msgspec.json.Decoder(KnownLine).decode_lines


class TableChange(NamedTuple):
    """The changes of the table since the last commit. An empty chunk is removed from the store."""

    chunks: dict[int, bytes]
    batches: dict[int, int]
    """Maps the ID of a page to the number of the batch in which the page is queued, or to 0 if the page is
    not queued."""
    inlinks: dict[int, bytes]
    facts: dict[str, float]


class WorkingCopy(PageTable):
    """A page table in a temporary file. The working copy records its changes for the next write to the
    store."""

    def __init__(self) -> None:
        super().__init__(None)
        self._open, self._room = 0, 0
        self._stored: dict[str, float] = {}
        self._base.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        self._base.executescript(_PLACES)

    def load(self, chunks: Iterable[tuple[int, bytes]], batches: dict[int, int]) -> None:
        """Adds stored chunks. Raises ValueError if a chunk cannot be read."""
        with self.change():
            for number, raw in chunks:
                pages = unpack(raw)
                for page, url in pages:
                    self.put(page._replace(host=self.host(url), batch=batches.get(page.id, 0)), None)
                self._base.executemany(
                    "INSERT OR REPLACE INTO places VALUES (?, ?)", [(page.id, number) for page, _ in pages]
                )
                if number > self._open:
                    self._open, self._room = number, CHUNK_PAGES - len(pages)

    def load_inlinks(self, chunks: Iterable[bytes]) -> None:
        """Adds the inlink counts that the given chunks contain. Raises ValueError if a chunk cannot be
        read."""
        try:
            counts = [pair for raw in chunks for pair in _INLINKS.iter_unpack(raw)]
        except struct.error as error:
            raise ValueError(f"damaged numbers of inlinks: {error}") from error
        with self.change():
            self._base.executemany("INSERT OR REPLACE INTO inlinks VALUES (?, ?)", counts)

    def loaded(self, facts: dict[str, float]) -> None:
        """Must be called after all chunks are loaded. Starts to record changes."""
        for name, value in facts.items():
            self.facts.set(name, value)
        self._stored = dict(facts)
        self._base.executescript(_TRIGGERS)

    def take_changes(self) -> TableChange:
        """Returns the changes since the last call."""
        with self.change():
            run = self._base.execute
            run("CREATE TEMP TABLE IF NOT EXISTS written (chunk INTEGER PRIMARY KEY)")
            run("INSERT OR IGNORE INTO written SELECT chunk FROM places JOIN changed_pages ON page = id")
            run(
                "DELETE FROM places WHERE page IN (SELECT id FROM changed_pages) "
                "AND page NOT IN (SELECT id FROM pages)"
            )
            new = run(
                "SELECT id FROM changed_pages JOIN pages USING (id) "
                "WHERE id NOT IN (SELECT page FROM places) ORDER BY host, line"  # a line begins with its URL
            ).fetchall()
            self._place([number for (number,) in new])
            sparse = run(
                "SELECT page FROM places WHERE chunk IN (SELECT places.chunk FROM places JOIN written USING "
                "(chunk) WHERE places.chunk <> ? GROUP BY places.chunk HAVING count(*) < ?)",
                (self._open, MIN_CHUNK_PAGES),
            ).fetchall()
            self._place([number for (number,) in sparse])
            numbers = [number for (number,) in run("SELECT chunk FROM written").fetchall()]
            chunks = {number: self._packed(number) for number in numbers}
            batches = dict(
                run(
                    "SELECT changed_batches.id, ifnull(batch, 0) FROM changed_batches "
                    "LEFT JOIN pages USING (id)"
                ).fetchall()
            )
            inlinks = {
                number: self._packed_inlinks(number)
                for (number,) in run("SELECT chunk FROM changed_inlinks").fetchall()
            }
            for table in ("written", "changed_pages", "changed_batches", "changed_inlinks"):
                run(f"DELETE FROM {table}")  # noqa: S608 - names of this module
        facts = dict(self._base.execute("SELECT name, value FROM facts").fetchall())
        new_facts = {name: value for name, value in facts.items() if self._stored.get(name) != value}
        self._stored = facts
        return TableChange(chunks, batches, inlinks, new_facts)

    def _place(self, pages: Sequence[int]) -> None:
        """Assigns pages to the chunk that is being filled."""
        for page in pages:
            if self._room <= 0:
                self._open, self._room = self._open + 1, CHUNK_PAGES
            self._room -= 1
            self._base.execute("INSERT OR REPLACE INTO places VALUES (?, ?)", (page, self._open))
            self._base.execute("INSERT OR IGNORE INTO written VALUES (?)", (self._open,))

    def _packed(self, chunk: int) -> bytes:
        pages = self.select("JOIN places ON page = id WHERE chunk = ?", chunk)
        return pack(pages) if pages else b""

    def _packed_inlinks(self, chunk: int) -> bytes:
        counts = self._base.execute("SELECT url, pages FROM inlinks WHERE url & 4095 = ?", (chunk,))
        return b"".join(_INLINKS.pack(url, min(pages, MAX_INLINKS)) for url, pages in counts)


class VisitOutcomes:
    """A list of the outcomes of visits. Workers add outcomes to the list. One process takes the outcomes from
    the list and decides which pages are due."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._bucket = keys.table_bucket(crawl, store.buckets)
        self._key = keys.stored_table(crawl, store.buckets).outcomes

    async def add(self, lines: Sequence[KnownLine]) -> None:
        """Adds outcomes durably. Must be called before the claims of the visits are settled."""
        encode = msgspec.json.Encoder().encode_lines
        entries = [
            zlib.compress(encode(lines[first : first + ENTRY_LINES]), 1)
            for first in range(0, len(lines), ENTRY_LINES)
        ]
        if entries:
            calls = [(self._bucket, (self._crawl, *entries))]
            await call_until_confirmed(self._store, "visit_outcomes", calls)

    async def first(self, most: int) -> tuple[list[KnownLine], int, bool]:
        """Returns three values: the oldest outcomes (at most `most`), the number of entries that contain
        these outcomes, and whether more outcomes are stored."""
        found = await self._store.guard(
            cast(Awaitable[Any], self._store.client.lrange(self._key, 0, READ_ENTRIES - 1))
        )
        lines: list[KnownLine] = []
        for count, entry in enumerate(found):
            some = _lines(entry)
            if len(lines) + len(some) > most:
                return lines, count, True
            lines += some
        return lines, len(found), len(found) == READ_ENTRIES


class StoredTable:
    """The page table of one crawl in the store, and the working copy of this table
    (`page_table_storage.PageTableStorage`)."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl
        self._bucket = keys.table_bucket(crawl, store.buckets)
        self._keys = keys.stored_table(crawl, store.buckets)
        self._outcomes = VisitOutcomes(store, crawl)
        self._version = ""
        self._taken = 0
        self._pending: tuple[str, list[Any]] | None = None
        self.table: WorkingCopy | None = None

    async def open(self, do: Callable[..., Awaitable[Any]]) -> WorkingCopy:
        """Reads the table into a working copy. The argument `do` is a function that runs another function in
        the thread of the working copy. Raises StoreError. Raises InUse if another process writes the table
        during the reading."""
        copy: WorkingCopy = await do(WorkingCopy)
        self.table = copy
        facts = await self._facts()
        self._version = facts.pop("version", b"").decode()
        queued = await self._call("hgetall", self._keys.queued)
        batches = {int(page): int(batch) for page, batch in queued.items()}
        try:
            async for pairs in self._chunks(self._keys.chunks):
                await do(copy.load, pairs, batches)
            async for pairs in self._chunks(self._keys.inlinks):
                await do(copy.load_inlinks, [raw for _, raw in pairs])
        except (ValueError, sqlite3.Error, zlib.error) as error:
            raise StoreError(f"crawl {self._crawl}: {error}") from error
        if (await self._facts()).get("version", b"").decode() != self._version:
            raise InUse(f"another process writes the page table of crawl {self._crawl}")
        await do(copy.loaded, {name: float(value) for name, value in facts.items()})
        return copy

    async def _chunks(self, key: str) -> AsyncIterator[list[tuple[int, bytes]]]:
        """Yields the chunks of a hash with their numbers, in groups of at most READ_CHUNKS."""
        numbers = await self._call("hkeys", key)
        for first in range(0, len(numbers), READ_CHUNKS):
            some = numbers[first : first + READ_CHUNKS]
            found = await self._call("hmget", key, some)
            yield [(int(number), raw) for number, raw in zip(some, found, strict=True) if raw is not None]

    async def pull(self, do: Callable[..., Awaitable[Any]]) -> bool:
        """Adds reported outcomes to the inbox of the working copy, which must be empty. Returns whether the
        store contains further outcomes. The next commit of the table removes the added outcomes from the
        store."""
        assert self.table is not None
        if self._pending is not None:  # this entry may contain the oldest outcomes
            await self._send(*self._pending)
        lines, self._taken, more = await self._outcomes.first(MAX_INBOX_LINES)
        await do(self.table.add_lines, lines)
        return more

    async def commit(self, do: Callable[..., Awaitable[Any]]) -> None:
        """Writes all changes of the working copy to the store. If the call fails, the next call sends these
        changes first. Raises StoreError. Raises InUse if another process has written the table."""
        assert self.table is not None
        if self._pending is not None:
            await self._send(*self._pending)
        change: TableChange = await do(self.table.take_changes)
        taken, self._taken = self._taken, 0
        if not (any(change) or taken):
            return
        version = secrets.token_hex(8)
        lengths = len(change.chunks), len(change.batches), len(change.inlinks)
        args: list[Any] = [self._version, version, taken, *lengths]
        for pairs in (
            change.chunks,
            change.batches,
            change.inlinks,
            {name: repr(value) for name, value in change.facts.items()},
        ):
            args += [part for pair in pairs.items() for part in pair]
        await self._send(version, args)

    async def _send(self, version: str, args: list[Any]) -> None:
        self._pending = version, args
        calls = [(self._bucket, (self._crawl, *args))]
        ((done, _),) = await call_until_confirmed(self._store, "table_commit", calls)
        if not done:
            raise InUse(f"another process writes the page table of crawl {self._crawl}")
        self._version, self._pending = version, None

    async def _facts(self) -> dict[str, bytes]:
        found = await self._call("hgetall", self._keys.facts)
        return {name.decode(): value for name, value in found.items()}

    async def _call(self, name: str, *args: Any) -> Any:
        return await self._store.guard(cast(Awaitable[Any], getattr(self._store.client, name)(*args)))


def _lines(entry: bytes) -> list[KnownLine]:
    """Returns the outcomes of an entry. Returns an empty list if the entry is damaged."""
    try:
        return _decode(zlib.decompress(entry))
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
        return []

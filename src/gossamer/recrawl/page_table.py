"""The page table of a crawl that visits its pages again. The table contains the state and the due time of
each page. The table is an SQLite file in the crawl's folder, or the working copy of a table in the store
(`stored_table`).

Workers write the outcome of each visit into the inbox, before they settle its claim. The process that holds
the crawl's lock moves the visits from the inbox into the table. A single transaction removes the visits from
the inbox and changes the table, so a kill loses no visit and counts none twice.

A row contains the state of a page, its URL and its cache validators. The most important parts of the state
are the two numbers of the change history, the time of the last visit, and the due time. While a page waits,
the store's memory contains nothing about it. Times are in whole seconds since the epoch.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import xxhash

from gossamer.config.data_files import open_file, refuse_link
from gossamer.model.request import Request, split
from gossamer.model.visit import KnownLine
from gossamer.recrawl.change_rate import ChangeHistory
from gossamer.recrawl.known_pages import TABLE_NAME
from gossamer.store.sqlite_wal import open_sqlite

FILE_MODE = 0o600
"""Permission bits of the page table's file. Only the owner may read the file, because its lines contain
request headers, which may include secrets."""
WAIT_S = 30.0
"""Seconds to wait for a transaction of another process."""
MAX_INBOX_LINES = 2000
"""Maximum number of inbox lines that one transaction moves into the table."""
_TABLES = """
CREATE TABLE IF NOT EXISTS inbox (id INTEGER PRIMARY KEY, line BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS hosts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, pages INTEGER NOT NULL,
    changes REAL NOT NULL, days REAL NOT NULL);
CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, changes REAL NOT NULL, days REAL NOT NULL,
    last INTEGER NOT NULL, due INTEGER NOT NULL, host INTEGER NOT NULL, visits INTEGER NOT NULL,
    changed INTEGER NOT NULL, failed INTEGER NOT NULL, batch INTEGER NOT NULL, signals INTEGER NOT NULL,
    line BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS due ON pages (due) WHERE batch = 0;
CREATE INDEX IF NOT EXISTS queued ON pages (batch) WHERE batch > 0;
CREATE INDEX IF NOT EXISTS pages_of_host ON pages (host, id);
CREATE TABLE IF NOT EXISTS inlinks (url INTEGER PRIMARY KEY, pages INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value REAL NOT NULL);
"""
_SELECT = (
    "SELECT id, changes, days, last, due, host, visits, changed, failed, batch, signals, line FROM pages"
)
_PUT = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(KnownLine).decode


class PageState(NamedTuple):
    """The state of a known page in the page table."""

    id: int
    """A hash of the request's method, URL, body and key."""
    changes: float
    days: float
    last: int
    """The time of the page's last visit."""
    due: int
    host: int
    visits: int = 0
    """The number of visits of the page after the first visit. Only repeated visits can reveal a change of the
    page."""
    changed: int = 0
    """The number of the page's visits that found a change."""
    failed: int = 0
    """The number of visits in a row that found no page."""
    batch: int = 0
    """The number of the batch in which the page was queued, or 0 while the page waits for its due time."""
    signals: int = 0
    """The number of change signals since the last visit. A change signal is, for example, a newer lastmod in
    a sitemap, or a feed entry."""
    line: bytes = b""
    """The last `KnownLine` that described the page, as JSON."""

    @property
    def history(self) -> ChangeHistory:
        """The page's change history."""
        return ChangeHistory(self.changes, self.days)


class HostSums(NamedTuple):
    """A host, the number of its known pages, and the sums of the change histories of these pages."""

    id: int
    name: str
    pages: int
    changes: float
    days: float


class VisitInbox:
    """A log of visits for the page table (`model.interfaces.Log`). Any number of processes may write to the
    inbox."""

    def __init__(self, path: Path) -> None:
        self._base = _open(path)

    def write(self, lines: Sequence[object]) -> None:
        """Writes visits durably. Raises OSError."""
        if not lines:
            return
        with _errors():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                self._base.executemany(
                    "INSERT INTO inbox (line) VALUES (?)", [(_encode(one),) for one in lines]
                )
                self._base.execute("COMMIT")
            except BaseException:
                self._base.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Closes the file."""
        self._base.close()


class TableSums:
    """Computes sums over the pages of a table, and draws samples of the pages."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base, self._random = base, random.Random()

    def sample(self, most: int, host: int | None = None) -> list[PageState]:
        """Returns at most `most` random pages, of one host or of all hosts."""
        where, values = ("WHERE host = ? AND id >= ?", [host]) if host is not None else ("WHERE id >= ?", [])
        small = _pages(self._base, f"{where} LIMIT ?", *values, -(2**63), most + 1)
        if len(small) <= most:
            return small
        found: dict[int, PageState] = {}
        for _ in range(2 * most):
            if len(found) >= most:
                break
            at = self._random.randrange(-(2**63), 2**63)
            for one in _pages(self._base, f"{where} LIMIT 1", *values, at):
                found[one.id] = one
        return list(found.values())

    def counts(self, oldest: int) -> dict[str, int]:
        """Returns a dict of counts. `pages`: all pages. `queued`: queued pages. `never`: pages that never
        changed in at least three visits. `always`: pages that changed at each of at least three visits.
        `old`: pages that were last visited before `oldest`. `visits`, `changed`: the sums of these PageState
        fields over all pages."""
        names = ("pages", "queued", "never", "always", "old", "visits", "changed")
        ((*found,),) = _rows(
            self._base,
            "SELECT count(*), total(batch > 0), total(visits >= 3 AND changed = 0), "
            "total(visits >= 3 AND changed = visits), total(last < ?), total(visits), total(changed) FROM pages",
            oldest,
        )
        return dict(zip(names, map(int, found), strict=True))

    def page_count(self) -> int:
        """Returns the number of pages."""
        return int(_rows(self._base, "SELECT total(pages) FROM hosts")[0][0])

    def hosts(self, most: int) -> list[HostSums]:
        """Returns the hosts with the most pages."""
        rows = _rows(
            self._base, "SELECT id, name, pages, changes, days FROM hosts ORDER BY pages DESC LIMIT ?", most
        )
        return [HostSums(*row) for row in rows if row[2] > 0]

    def host_of(self, number: int) -> HostSums:
        """Returns a host by its ID."""
        (row,) = _rows(self._base, "SELECT id, name, pages, changes, days FROM hosts WHERE id = ?", number)
        return HostSums(*row)


class TableFacts:
    """Stores named numbers in the file of the page table, for example the price of a visit."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def get(self, name: str, default: float = 0.0) -> float:
        """Returns a stored number."""
        found = _rows(self._base, "SELECT value FROM facts WHERE name = ?", name)
        return float(found[0][0]) if found else default

    def set(self, name: str, value: float) -> None:
        """Stores a number."""
        with _errors():
            self._base.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


class TablePlan:
    """Reads and changes the due times of waiting pages."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def waiting(self, after: int, most: int) -> list[PageState]:
        """Returns at most `most` pages that wait for a planned visit and whose ID is greater than `after`, in
        the order of their IDs. Leaves out pages whose last visit failed, and pages with a change signal since
        the last visit."""
        return _pages(
            self._base,
            "WHERE id > ? AND batch = 0 AND failed = 0 AND signals = 0 ORDER BY id LIMIT ?",
            after,
            most,
        )

    def set_due(self, times: Iterable[tuple[int, int]]) -> None:
        """Sets due times. Must be called within `PageTable.change`. `times`: pairs of a due time and a page
        ID."""
        self._base.executemany("UPDATE pages SET due = ? WHERE id = ? AND batch = 0", times)


class InlinkCounts:
    """Counts the inlinks of each URL. An inlink of a URL is a page that contained a link to the URL at the
    first visit of the page. A URL is identified by its fingerprint in the seen set."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def of(self, fingerprint: int) -> int:
        """Returns the number of pages that linked to a URL."""
        found = _rows(self._base, "SELECT pages FROM inlinks WHERE url = ?", fingerprint - 2**63)
        return int(found[0][0]) if found else 0

    def add(self, fingerprints: Sequence[int]) -> None:
        """Counts the links of a page. Must be called within `PageTable.change`."""
        self._base.executemany(
            "INSERT INTO inlinks VALUES (?, 1) ON CONFLICT (url) DO UPDATE SET pages = pages + 1",
            [(one - 2**63,) for one in fingerprints],
        )


class PageTable:
    """The page table. Only one process writes the table, namely the process that holds the crawl's lock or
    owns the working copy. Methods raise OSError."""

    def __init__(self, path: Path | None) -> None:
        """`path`: the path of the file, or None for a temporary file."""
        self._base = _open(path) if path is not None else _open_temporary()
        self._hosts: dict[str, int] = {}
        self.sums, self.facts = TableSums(self._base), TableFacts(self._base)
        self.plan, self.inlinks = TablePlan(self._base), InlinkCounts(self._base)

    def close(self) -> None:
        """Closes the file."""
        self._base.close()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """A context manager that changes the table in a transaction. Either all changes in the `with` block
        become durable, or none of them."""
        with _errors():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._base.execute("ROLLBACK")
                self._hosts.clear()
                raise
            self._base.execute("COMMIT")

    def take_inbox(self, handle: Callable[[KnownLine, bytes, PageState | None], PageState | None]) -> int:
        """Moves visits from the inbox into the table. The function `handle` is called for each visit. It
        returns the new state of the page, or None if the page must be removed. Returns the number of visits
        that were moved."""
        with self.change():
            rows = _rows(self._base, "SELECT id, line FROM inbox ORDER BY id LIMIT ?", MAX_INBOX_LINES)
            for _, line in rows:
                try:
                    seen = _decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    continue
                before = self.page(page_id(seen))
                if seen.links:
                    if before is None:  # the links of a page are counted only at its first visit
                        self.inlinks.add(seen.links)
                    seen.links = []
                    line = _encode(seen)
                after = handle(seen, line, before)
                if after is None:
                    self._forget(before)
                else:
                    self.put(after, before)
            if rows:
                self._base.execute("DELETE FROM inbox WHERE id <= ?", (rows[-1][0],))
        return len(rows)

    def select(self, where: str, *values: object) -> list[PageState]:
        """Returns the pages that match `where`, which is the part of an SQL statement after the table's
        name."""
        return _pages(self._base, where, *values)

    def page(self, number: int) -> PageState | None:
        """Returns a page by its ID."""
        found = _pages(self._base, "WHERE id = ?", number)
        return found[0] if found else None

    def host(self, url: str) -> int:
        """Returns the ID of a URL's host. Adds the host if it is new."""
        name = split(url)[1]
        if (known := self._hosts.get(name)) is None:
            self._base.execute(
                "INSERT OR IGNORE INTO hosts (name, pages, changes, days) VALUES (?, 0, 0, 0)", (name,)
            )
            ((known,),) = _rows(self._base, "SELECT id FROM hosts WHERE name = ?", name)
            if len(self._hosts) >= 10_000:
                self._hosts.clear()
            self._hosts[name] = known
        return known

    def put(self, page: PageState, before: PageState | None) -> None:
        """Stores a page. Must be called within `change`."""
        self._base.execute(_PUT, page)
        was = before or PageState(0, 0.0, 0.0, 0, 0, 0)
        self._sum(page.host, before is None, page.changes - was.changes, page.days - was.days)

    def _forget(self, page: PageState | None) -> None:
        if page is not None:
            self._base.execute("DELETE FROM pages WHERE id = ?", (page.id,))
            self._sum(page.host, -1, -page.changes, -page.days)

    def _sum(self, host: int, pages: int, changes: float, days: float) -> None:
        self._base.execute(
            "UPDATE hosts SET pages = pages + ?, changes = max(0, changes + ?), days = max(0, days + ?) WHERE id = ?",
            (int(pages), changes, days, host),
        )

    def due(
        self, now: int, until: int | None, oldest: int, most: int, crowded: Sequence[int] = ()
    ) -> list[PageState]:
        """Returns at most `most` waiting pages, in the order of their due times.

        `until`: returns only pages that are due by this time. If `until` is None, pages that are not due yet
        are also returned. If the last visit of a page failed, the page is returned only if it is due by
        `now`. `oldest`: returns only pages whose last visit was at this time or earlier. `crowded`: the IDs
        of hosts whose pages are left out.
        """
        left = f"AND host NOT IN ({', '.join(map(str, crowded))})" if crowded else ""
        return _pages(
            self._base,
            "INDEXED BY due WHERE batch = 0 AND due <= ? AND last <= ? "
            f"AND (failed = 0 OR due <= ?) {left} ORDER BY due LIMIT ?",
            2**62 if until is None else until,
            oldest,
            now,
            most,
        )

    def queue(self, pages: Iterable[PageState], batch: int) -> None:
        """Marks pages as queued in the batch `batch`, and stores the number of this batch."""
        with self.change():
            self._base.executemany(
                "UPDATE pages SET batch = ? WHERE id = ?", [(batch, one.id) for one in pages]
            )
            self.facts.set("batch", batch)

    def forget_pages(self, pages: Iterable[PageState]) -> None:
        """Removes pages."""
        with self.change():
            for page in pages:
                self._forget(page)

    def queued(self, batch: int | None = None) -> list[PageState]:
        """Returns the queued pages of one batch, or of all batches."""
        if batch is None:
            return _pages(self._base, "WHERE batch > 0")
        return _pages(self._base, "WHERE batch = ?", batch)

    def queued_by_host(self) -> dict[int, int]:
        """Maps each host with queued pages to the number of its queued pages."""
        return dict(_rows(self._base, "SELECT host, count(*) FROM pages WHERE batch > 0 GROUP BY host"))

    def unqueue(self, due: int) -> int:
        """Marks all queued pages as waiting, and sets their due time to `due`. Returns their number."""
        with self.change():
            return self._base.execute("UPDATE pages SET batch = 0, due = ? WHERE batch > 0", (due,)).rowcount

    def shift(self, seconds: int) -> None:
        """Adds `seconds` to all stored times, because the clock was set to another time."""
        with self.change():
            self._base.execute("UPDATE pages SET last = last + ?, due = due + ?", (seconds, seconds))

    def limit_due(self, latest: int) -> int:
        """Sets each due time that is later than `latest` to `latest`. Returns the number of pages whose due
        time was changed."""
        with self.change():
            return self._base.execute(
                "UPDATE pages SET due = ? WHERE due > ? AND batch = 0", (latest, latest)
            ).rowcount

    def add_lines(self, lines: Iterable[KnownLine]) -> None:
        """Adds visits to the inbox."""
        with self.change():
            self._base.executemany("INSERT INTO inbox (line) VALUES (?)", [(_encode(one),) for one in lines])

    def export_lines(self, path: Path) -> None:
        """Writes the last visit of each page to a log of known pages. Leaves out redirects, because the
        visits of the redirect targets describe the pages."""
        with (
            _errors(),
            open(path, "wb", opener=lambda name, flags: open_file(name, flags, FILE_MODE)) as file,
        ):
            for (line,) in self._base.execute("SELECT line FROM pages UNION ALL SELECT line FROM inbox"):
                seen = _decode(line)
                if seen.known.status or seen.known.error:
                    file.write(line + b"\n")


def page_id(seen: KnownLine) -> int:
    """Returns the ID of a visited page. The ID is a signed 64-bit hash of the request's method, URL, body and
    key."""
    needs = seen.needs
    return _id(needs.get("method", "GET"), seen.url, needs.get("body"), needs.get("key"))


def request_id(request: Request) -> int:
    """Returns the ID of the page that a request fetches."""
    return _id(request.method, request.url, request.body, request.key)


def _id(*parts: object) -> int:
    return xxhash.xxh3_64_intdigest("\n".join(map(str, parts)).encode()) - 2**63


def request_of(page: PageState) -> Request:
    """Returns the request that visits a page again."""
    seen = _decode(page.line)
    needs = {name: value for name, value in seen.needs.items() if name in Request.__struct_fields__}
    return Request(seen.url, depth=seen.depth, referrer=seen.referrer, known=seen.known, **needs)


def line_of(page: PageState) -> KnownLine:
    """Decodes the stored line of a page. A later visit replaces the line only if the visit finds the page, or
    if the page is gone."""
    return _decode(page.line)


def encode_line(seen: KnownLine) -> bytes:
    """Returns the stored form of a visit."""
    return _encode(seen)


def _open(path: Path) -> sqlite3.Connection:
    refuse_link(path)
    with _errors():
        with open(path, "ab", opener=lambda name, flags: open_file(name, flags, FILE_MODE)):
            pass
        base = open_sqlite(str(path), WAIT_S, by_hand=True)
        base.execute("PRAGMA journal_size_limit=1048576")
        base.executescript(_TABLES)
        return base


def _open_temporary() -> sqlite3.Connection:
    """Opens a temporary file. SQLite removes the file when the connection is closed or the process ends."""
    with _errors():
        base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        base.execute("PRAGMA journal_mode=MEMORY")
        base.execute("PRAGMA synchronous=OFF")
        base.executescript(_TABLES)
        return base


def _pages(base: sqlite3.Connection, where: str, *values: object) -> list[PageState]:
    return [PageState(*row) for row in _rows(base, f"{_SELECT} {where}", *values)]


def _rows(base: sqlite3.Connection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with _errors():
        return base.execute(statement, values).fetchall()


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Raises SQLite's errors as OSError."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(None, f"the table of known pages cannot be used: {error}", TABLE_NAME) from error

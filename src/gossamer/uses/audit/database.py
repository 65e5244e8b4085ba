"""The database of the audits of one site: a SQLite file. The database contains the pages and links of the
newest audit, and the findings of the two newest audits. All tables are on disk, so a site of any size needs
little memory.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer.errors import ConfigError, DiskFull
from gossamer.uses.audit.model import PageFacts, PageLink, to_json, url_id

VERSION = 1
_KEPT_AUDITS = 2
"""Number of audits whose findings are kept."""
_CACHE_KIB = 64 * 1024
_AUDITS = """
CREATE TABLE IF NOT EXISTS audits (
  number INTEGER PRIMARY KEY, url TEXT NOT NULL, started REAL NOT NULL, ended REAL, state TEXT NOT NULL DEFAULT '',
  whole INTEGER NOT NULL DEFAULT 0, reasons TEXT NOT NULL DEFAULT '[]', stage TEXT NOT NULL DEFAULT '',
  options TEXT NOT NULL DEFAULT '{}', summary TEXT NOT NULL DEFAULT '{}');
CREATE TABLE IF NOT EXISTS findings (
  audit INTEGER NOT NULL, check_id TEXT NOT NULL, url TEXT NOT NULL, target TEXT NOT NULL, detail TEXT NOT NULL,
  is_new INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (audit, check_id, url, target)) WITHOUT ROWID;
"""
_SITE = """
CREATE TABLE IF NOT EXISTS urls (id INTEGER PRIMARY KEY, url TEXT NOT NULL, host TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pages (
  id INTEGER PRIMARY KEY, status INTEGER NOT NULL, is_html INTEGER NOT NULL, noindex INTEGER NOT NULL,
  nofollow INTEGER NOT NULL, canonical INTEGER, refresh INTEGER,
  title TEXT NOT NULL, description TEXT NOT NULL, h1 TEXT NOT NULL, text_hash TEXT NOT NULL,
  main_hash TEXT NOT NULL, words INTEGER NOT NULL,
  size INTEGER NOT NULL, elapsed REAL NOT NULL,
  facts TEXT NOT NULL, sketch BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS responses (
  id INTEGER PRIMARY KEY, status INTEGER, outcome TEXT NOT NULL, error TEXT, seconds REAL NOT NULL,
  size INTEGER NOT NULL DEFAULT 0, location INTEGER, at TEXT NOT NULL, checked INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS links (
  source INTEGER NOT NULL, target INTEGER NOT NULL, kind TEXT NOT NULL, fragment TEXT NOT NULL, text TEXT NOT NULL,
  nofollow INTEGER NOT NULL, PRIMARY KEY (source, target, kind, fragment)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hreflangs (
  page INTEGER NOT NULL, code TEXT NOT NULL, target INTEGER NOT NULL, url TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS hreflangs_page ON hreflangs (page);
CREATE TABLE IF NOT EXISTS sitemaps (
  url TEXT PRIMARY KEY, source TEXT NOT NULL, status INTEGER, entries INTEGER NOT NULL, size INTEGER NOT NULL,
  problem TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sitemap_urls (
  sitemap TEXT NOT NULL, id INTEGER NOT NULL, lastmod TEXT NOT NULL, PRIMARY KEY (id, sitemap)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS robots_files (origin TEXT PRIMARY KEY, status INTEGER, problem TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS blocked (id INTEGER PRIMARY KEY, rule TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS hosts (host TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS unstored (id INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS recent (id INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS host_findings (url TEXT, fact TEXT, detail TEXT NOT NULL, PRIMARY KEY (url, fact));
"""
SITE_TABLES = (
    *("urls", "pages", "responses", "links", "hreflangs", "sitemaps", "sitemap_urls", "robots_files"),
    *("blocked", "hosts", "host_findings", "finals", "depths", "alike", "inlinks", "targets"),
    *("missing_fragments", "unstored", "unread", "recent"),
)
REUSABLE = ("urls", "pages", "responses", "links", "hreflangs")
"""The tables of an audit that the next audit may use again (`recent_pages`)."""


class AuditRecord(NamedTuple):
    """One audit in the database. `ended`: None while the audit is running, or if it was interrupted."""

    number: int
    url: str
    started: float
    ended: float | None
    state: str
    whole: bool
    reasons: list[str]
    stage: str
    options: dict[str, Any]
    summary: dict[str, Any]


class ResponseRow(NamedTuple):
    """The response to one request. `location`: the target URL of a redirect."""

    url: str
    status: int | None
    outcome: str
    error: str | None
    seconds: float
    size: int
    location: str | None
    at: str
    checked: bool = False
    """Whether the request was made by a link check. The response of a link check is not stored as a page of
    the site."""


class AuditDatabase:
    """Reads and writes a database file. Several threads may call the methods. Raises ConfigError if the file
    is not a database of audits."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None, timeout=30)
            self._base.executescript(
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-{_CACHE_KIB};"
                "PRAGMA temp_store=FILE;"
            )
            (version,) = self._base.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise ConfigError(f"{self.path}: a newer version of gossamer wrote it: use that version")
            names = {name for (name,) in self._base.execute("SELECT name FROM sqlite_master")}
            if names and "audits" not in names:
                raise ConfigError(f"{self.path} is not a database of audits: give another --database")
            self._base.executescript(f"{_AUDITS}{_SITE} PRAGMA user_version={VERSION};")
        except (sqlite3.Error, OSError) as error:
            raise self._error(error) from error

    def _error(self, error: Exception) -> ConfigError | DiskFull:
        if "full" in str(error):
            return DiskFull(f"{self.path}: no space left: free some, then run the same command again")
        return ConfigError(f"{self.path}: {error}: give another --database")

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._base.close()

    def __enter__(self) -> AuditDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A context manager that runs statements in one transaction. Raises ConfigError and DiskFull."""
        with self._lock:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                try:
                    yield self._base
                except BaseException:
                    self._base.execute("ROLLBACK")
                    raise
                self._base.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._error(error) from error

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of a query, without holding all of them in memory."""
        try:
            for row in self._base.execute(query, values):  # noqa: UP028 - the database may be closed before this generator
                yield row
        except sqlite3.Error as error:
            raise self._error(error) from error

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Returns the first value of the first row, or None."""
        return next((row[0] for row in self.rows(query, values)), None)

    def define(self, name: str, arguments: int, function: Any) -> None:
        """Makes a Python function callable in SQL."""
        self._base.create_function(name, arguments, function, deterministic=True)

    def audits(self) -> list[AuditRecord]:
        """Returns the audits, oldest first."""
        return [
            AuditRecord(
                *(number, url, started, ended, state, bool(whole)),
                *(msgspec.json.decode(reasons), stage, msgspec.json.decode(options)),
                msgspec.json.decode(summary),
            )
            for number, url, started, ended, state, whole, reasons, stage, options, summary in self.rows(
                "SELECT number, url, started, ended, state, whole, reasons, stage, options, summary "
                "FROM audits ORDER BY number"
            )
        ]

    def begin(self, url: str, options: dict[str, Any], *, reuse: bool = False) -> AuditRecord:
        """Begins an audit, and returns the audit's record. Deletes the pages of the previous audit. Deletes
        all findings except those of the newest audits. `reuse`: whether the pages of the previous audit are renamed
        instead of deleted, to `earlier_pages` and so on."""
        with self.transaction() as base:
            for name in REUSABLE:
                base.execute(f"DROP TABLE IF EXISTS earlier_{name}")
                if reuse:
                    base.execute(f"ALTER TABLE {name} RENAME TO earlier_{name}")
            for name in (
                "hreflangs_page",
                "links_target",
            ):  # an index keeps its name when its table is renamed
                base.execute(f"DROP INDEX IF EXISTS {name}")
            for name in SITE_TABLES:
                base.execute(f"DROP TABLE IF EXISTS {name}")
            base.execute("DELETE FROM audits WHERE ended IS NULL")
            kept = [
                n
                for (n,) in base.execute(
                    "SELECT number FROM audits ORDER BY number DESC LIMIT ?", [_KEPT_AUDITS - 1]
                )
            ]
            base.execute("DELETE FROM findings WHERE audit < ?", [min(kept, default=0)])
            base.execute(
                "INSERT INTO audits (url, started, options) VALUES (?, ?, ?)",
                [url, time.time(), to_json(options)],
            )
        self._base.executescript(_SITE)
        return self.audits()[-1]

    def update(self, number: int, **values: Any) -> None:
        """Sets columns in the record of an audit."""
        names = ", ".join(f"{name} = ?" for name in values)
        with self.transaction() as base:
            base.execute(f"UPDATE audits SET {names} WHERE number = ?", [*values.values(), number])

    def write_pages(self, pages: Iterable[tuple[str, PageFacts, Sequence[PageLink], bytes, float]]) -> None:
        """Writes pages with their links, and replaces earlier data of the same pages. Each tuple contains the
        requested URL, the facts, the links, the sketch, and the seconds that the response took."""
        with self.transaction() as base:
            for requested, facts, links, sketch, elapsed in pages:
                self._write_page(base, requested, facts, links, sketch, elapsed)

    def _write_page(
        self,
        base: sqlite3.Connection,
        requested: str,
        facts: PageFacts,
        links: Sequence[PageLink],
        sketch: bytes,
        elapsed: float,
    ) -> None:
        page = url_id(requested)
        targets = [(url_id(link.url), link) for link in links]
        versions = [(url_id(url), code, url) for code, _, url in facts.hreflangs if url]
        mentioned = [(page, facts.url), *((one, link.url) for one, link in targets)]
        mentioned += [(one, url) for one, _, url in versions]
        canonical = None
        if facts.canonical:
            canonical = url_id(facts.canonical)
            mentioned.append((canonical, facts.canonical))
        refresh = url_id(facts.redirect) if facts.redirect else None
        if refresh is not None:
            mentioned.append((refresh, facts.redirect))
        write_urls(base, mentioned)
        base.execute(
            "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(page, facts.status, facts.is_html, facts.is_noindex, facts.is_nofollow, canonical, refresh),
                *(
                    facts.title,
                    facts.description,
                    " | ".join(filter(None, facts.h1s)),
                    facts.text_hash,
                    facts.main_hash,
                ),
                *(facts.words, facts.size, elapsed, to_json(facts), sketch),
            ],
        )
        base.execute("DELETE FROM links WHERE source = ?", [page])
        base.executemany(
            "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?, ?)",
            [(page, target, link.kind, link.fragment, link.text, link.nofollow) for target, link in targets],
        )
        base.execute("DELETE FROM hreflangs WHERE page = ?", [page])
        base.executemany(
            "INSERT INTO hreflangs VALUES (?, ?, ?, ?)",
            [(page, code.lower(), target, url) for target, code, url in versions],
        )

    def write_responses(self, rows: Iterable[ResponseRow]) -> None:
        """Writes responses. A newer response for a URL replaces an older response."""
        with self.transaction() as base:
            for row in rows:
                one, location = url_id(row.url), None
                mentioned = [(one, row.url)]
                if row.location is not None:
                    location = url_id(row.location)
                    mentioned.append((location, row.location))
                write_urls(base, mentioned)
                base.execute(
                    "INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                    "status = excluded.status, outcome = excluded.outcome, error = excluded.error, "
                    "seconds = excluded.seconds, size = max(excluded.size, responses.size), "
                    "location = coalesce(excluded.location, responses.location), "
                    "at = excluded.at, checked = excluded.checked "
                    "WHERE excluded.at >= responses.at AND responses.checked >= excluded.checked",
                    [
                        *(one, row.status, row.outcome, row.error, row.seconds, row.size),
                        *(None if location == one else location, row.at, row.checked),
                    ],
                )

    def note_unstored(self, urls: Iterable[str]) -> None:
        """Records the URLs that are missing in an archive."""
        with self.transaction() as base:
            base.executemany("INSERT OR IGNORE INTO unstored VALUES (?)", ((url_id(one),) for one in urls))

    def forget_unstored(self) -> int:
        """Removes the responses for URLs that are missing in the archive. These responses are placeholders
        that do not come from the site. Returns the number of missing URLs."""
        with self.transaction() as base:
            base.execute("DELETE FROM responses WHERE id IN (SELECT id FROM unstored)")
        return int(self.value("SELECT count(*) FROM unstored"))

    def write_sizes(self, sizes: Iterable[tuple[str, int]]) -> None:
        """Stores the sizes of files in the table `responses`. `sizes`: pairs of a URL and a size in bytes."""
        with self.transaction() as base:
            for url, size in sizes:
                write_urls(base, [(url_id(url), url)])
                base.execute(
                    "INSERT INTO responses VALUES (?, NULL, 'size', NULL, 0, ?, NULL, '', 1) "
                    "ON CONFLICT (id) DO UPDATE SET size = max(size, excluded.size)",
                    [url_id(url), size],
                )


def write_urls(base: sqlite3.Connection, urls: Iterable[tuple[int, str]]) -> None:
    """Writes URLs with their ids."""
    base.executemany(
        "INSERT OR IGNORE INTO urls VALUES (?, ?, ?)",
        [(one, url[:4000], host_of(url)) for one, url in urls],
    )


def host_of(url: str) -> str:
    """Returns the host of a URL, with its port.

    >>> host_of("https://example.com:8443/a?b")
    'example.com:8443'
    """
    rest = url.partition("://")[2]
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    return rest.rpartition("@")[2].lower()

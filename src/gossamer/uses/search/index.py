"""The search index of a crawl. A SQLite file contains the titles, dates and texts of the crawl's pages. The
words of the titles, headings, texts and URLs are in a full-text table (FTS5) of the same file.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from gossamer.errors import UsageError
from gossamer.uses.search.document import IndexedPage, PageSource
from gossamer.uses.search.fts_words import FtsWords
from gossamer.uses.search.query import Query, Term
from gossamer.uses.search.snippets import Snippet, mark, snippet
from gossamer.uses.search.words import VERSION

APPLICATION_ID: Final = 0x676F7366
"""Marks a SQLite file as a search index of gossamer ("gosf")."""
BATCH: Final = 500
"""Number of pages after which the index is committed."""
MAPPED_BYTES, CACHE_KIB = 1 << 30, 65_536
"""The maximum number of bytes of the SQLite file that are mapped into memory, and the maximum size of
SQLite's page cache in KiB."""
WAIT_S: Final = 60.0
"""Maximum number of seconds to wait while another process writes the index."""
_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE pages (id INTEGER PRIMARY KEY, day TEXT, language TEXT, url TEXT UNIQUE, fetched TEXT, published TEXT,
    title TEXT);
CREATE TABLE texts (id INTEGER PRIMARY KEY, headings TEXT, text TEXT);
"""


class IndexUpdate(NamedTuple):
    """The result of an update of the index. `written`: the number of new and changed pages. `removed`: the
    number of removed pages. `pages`: the number of pages that the index now contains."""

    written: int
    removed: int
    pages: int


class SearchResult(NamedTuple):
    """A page that matches a query. A better match has a higher `score`. All scores are 0 if the query
    contains only filters and excluded words."""

    url: str
    title: Snippet
    snippet: Snippet
    language: str | None
    published: str | None
    fetched: str
    score: float


class SearchResults(NamedTuple):
    """One page of search results, and the total number of results."""

    total: int
    results: list[SearchResult]


class SearchIndex:
    """A search index in a file. Leaving the context manager closes the index. Raises UsageError if the file is
    not a search index, and sqlite3.Error if the file cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self._connection = _connected(path)
        self._words = FtsWords(self._connection)
        try:
            _prepare(self._connection, self._words, path)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def fact(self, name: str) -> str | None:
        """Returns the value that `set_fact` stored under this name, or None."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_fact(self, name: str, value: str) -> None:
        """Stores a value under a name in the index."""
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def forget_times(self) -> None:
        """Clears the fetch times of all pages, so that the next update reads every page again."""
        self._connection.execute("UPDATE pages SET fetched = ''")

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM pages").fetchone()[0])

    def update(
        self, sources: Iterable[PageSource], progress: Callable[[int], None] | None = None
    ) -> IndexUpdate:
        """Updates the index so that it contains the pages in `sources`. A page is read again only if it was
        fetched after the indexed version. Indexed pages that are missing from `sources` are removed.
        `progress` is called after each batch with the number of pages processed. An interrupted update keeps
        the batches that were committed."""
        run = self._connection.execute
        run("CREATE TEMP TABLE IF NOT EXISTS present (id INTEGER PRIMARY KEY)")
        run("DELETE FROM present")
        written = 0
        for number, batch in enumerate(_batches(sources)):
            run("BEGIN IMMEDIATE")
            with self._transaction():
                written += sum(self._take(source) for source in batch)
            if progress is not None:
                progress(number * BATCH + len(batch))
        run("BEGIN IMMEDIATE")
        with self._transaction():
            gone = run("SELECT id FROM pages WHERE id NOT IN (SELECT id FROM present)").fetchall()
            for (key,) in gone:
                self._remove(key)
        return IndexUpdate(written, len(gone), len(self))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _take(self, source: PageSource) -> bool:
        """Updates one page in the index. Returns whether the page was written."""
        run = self._connection.execute
        known = run("SELECT id, fetched FROM pages WHERE url = ?", (source.url,)).fetchone()
        if known is not None and known[1] >= source.fetched:
            run("INSERT OR IGNORE INTO present VALUES (?)", (known[0],))
            return False
        document = None if source.is_gone else source.read()
        if document is None:
            if known is not None and source.is_gone:
                run("DELETE FROM present WHERE id = ?", (known[0],))
            elif known is not None:
                run("INSERT OR IGNORE INTO present VALUES (?)", (known[0],))
            return False
        if known is not None:
            self._remove(known[0])
        self._insert(document)
        return True

    def _insert(self, page: IndexedPage) -> None:
        run = self._connection.execute
        key = run(
            "INSERT INTO pages (day, language, url, fetched, published, title) VALUES (?, ?, ?, ?, ?, ?)",
            (
                page.day,
                (page.language or "").lower() or None,
                page.url,
                page.fetched,
                page.published,
                page.title,
            ),
        ).lastrowid
        run("INSERT INTO texts VALUES (?, ?, ?)", (key, page.headings, page.text))
        assert key is not None
        self._words.add(key, page)
        run("INSERT OR IGNORE INTO present VALUES (?)", (key,))

    def _remove(self, key: int) -> None:
        run = self._connection.execute
        title, url, headings, text = run(
            "SELECT title, url, headings, text FROM pages JOIN texts USING (id) WHERE id = ?", (key,)
        ).fetchone()
        self._words.remove(key, IndexedPage(url, "", title, headings, text, None, None))
        run("DELETE FROM pages WHERE id = ?", (key,))
        run("DELETE FROM texts WHERE id = ?", (key,))

    def find(self, query: Query, limit: int = 10, offset: int = 0, *, by_date: bool = False) -> SearchResults:
        """Returns the matching pages, best match first, or newest first if `by_date` is set. `limit` 0 means
        all."""
        total, chosen = self._words.find(query, limit, offset, by_date=by_date)
        return SearchResults(total, [self._result(key, score, query.terms) for key, score in chosen])

    def count(self, query: Query) -> int:
        """Returns the number of pages that match."""
        return self._words.count(query)

    def _result(self, key: int, score: float, terms: list[Term]) -> SearchResult:
        row = self._connection.execute(
            "SELECT url, title, language, published, fetched, headings, text FROM pages JOIN texts USING (id) WHERE id = ?",
            (key,),
        ).fetchone()
        url, title, language, published, fetched, headings, text = row
        shown = snippet(text, terms)
        if not shown.marks and (other := snippet(headings, terms, "headings")).marks:
            shown = other
        return SearchResult(url, mark(title, terms, "title"), shown, language, published, fetched, score)


def _connected(path: Path) -> sqlite3.Connection:
    """Opens the SQLite file. Raises UsageError if the file's folder cannot be created, and sqlite3.Error if
    the file cannot be opened."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path.parent}: {error.strerror}: name another place with --index") from error
    return sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)


def _prepare(connection: sqlite3.Connection, words: FtsWords, path: Path) -> None:
    """Checks the SQLite file. Empties an index that another version created. No data are lost, because the
    index is only a copy of the crawl's pages."""
    try:
        mine = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if not mine and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise UsageError(f"{path} is a database of something else: name another file with --index")
        connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        if mine and _version(connection) == VERSION:
            return
        connection.execute("BEGIN EXCLUSIVE")
        for name in ("texts", "pages", "facts"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        words.create()
        connection.execute("INSERT INTO facts VALUES ('version', ?)", (VERSION,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise UsageError(
            f"{path} is not a search index, or it is damaged: delete it, and run again"
        ) from error


def _version(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
    return row[0] if row else None


def _batches(sources: Iterable[PageSource]) -> Iterator[list[PageSource]]:
    batch: list[PageSource] = []
    start = time.monotonic()
    for source in sources:
        batch.append(source)
        if len(batch) >= BATCH or time.monotonic() - start > 5:
            yield batch
            batch, start = [], time.monotonic()
    if batch:
        yield batch

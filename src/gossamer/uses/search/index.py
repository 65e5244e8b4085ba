"""The search index of a crawl: a SQLite file with a full-text table (FTS5).

The full-text table contains only the words of title, headings, text and URL, not the texts themselves.
Ordinary tables contain titles, dates and texts, for filters and snippets.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from gossamer.errors import UsageError
from gossamer.uses.search.query import PageFilter, Query, Term
from gossamer.uses.search.snippets import Snippet, mark, snippet
from gossamer.uses.search.words import VERSION, indexed

APPLICATION_ID: Final = 0x676F7366
"""Marks a SQLite file as a search index of gossamer ("gosf")."""
BATCH: Final = 500
"""Number of pages after which the index is committed."""
WEIGHTS: Final = "10.0, 4.0, 1.0, 2.0, 0.0"
"""The weights of a word in the title, the headings, the text, the URL and the names of the site."""
MAPPED_BYTES, CACHE_KIB = 1 << 30, 65_536
"""How many bytes of the file are mapped into memory, and the size of the cache in KiB."""
WAIT_S: Final = 60.0
"""Seconds to wait for another process that writes the index."""
_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE pages (id INTEGER PRIMARY KEY, day TEXT, language TEXT, url TEXT UNIQUE, fetched TEXT, published TEXT,
    title TEXT);
CREATE TABLE texts (id INTEGER PRIMARY KEY, headings TEXT, text TEXT);
CREATE VIRTUAL TABLE words USING fts5(title, headings, text, url, site, content='', tokenize='ascii');
"""


class IndexedPage(NamedTuple):
    """The document of a page that is indexed. `fetched`: when the page was fetched (RFC 3339, UTC).
    `published`: an ISO 8601 day or moment, or None. `headings` and `text` may be empty."""

    url: str
    fetched: str
    title: str
    headings: str
    text: str
    language: str | None
    published: str | None

    @property
    def day(self) -> str:
        """The day that `before:` and `after:` compare: the day of publication, or else the day of the
        fetch."""
        return (self.published or self.fetched)[:10]


class PageSource(NamedTuple):
    """A page that a crawl kept. `read` returns its document, or None if it has no text. `is_gone`: whether the
    page no longer exists."""

    url: str
    fetched: str
    read: Callable[[], IndexedPage | None]
    is_gone: bool = False


class IndexUpdate(NamedTuple):
    """The result of an update: how many pages are new or changed, removed, and in the index now."""

    written: int
    removed: int
    pages: int


class SearchResult(NamedTuple):
    """A page in the results. A better page has a larger `score`. `score` is 0 if the query has no words."""

    url: str
    title: Snippet
    snippet: Snippet
    language: str | None
    published: str | None
    fetched: str
    score: float


class SearchResults(NamedTuple):
    """A part of the results, and the total number of results."""

    total: int
    results: list[SearchResult]


class SearchIndex:
    """The index in a file. Use it as a context manager. Raises UsageError if the file is not an index, and
    sqlite3.Error if the disk fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = _opened(path)

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def fact(self, name: str) -> str | None:
        """Returns a value that was stored with `set_fact`, or None."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_fact(self, name: str, value: str) -> None:
        """Stores a named value in the index, in addition to the pages."""
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def forget_times(self) -> None:
        """Clears the fetch times, so that the next update reads every page again."""
        self._connection.execute("UPDATE pages SET fetched = ''")

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM pages").fetchone()[0])

    def update(
        self, sources: Iterable[PageSource], progress: Callable[[int], None] | None = None
    ) -> IndexUpdate:
        """Updates the index with the pages of a crawl. Pages that are already indexed with the same or a
        later fetch are not read again. Indexed pages that are not among `sources` are removed. `progress` is
        called with the number of pages that were examined. An update that is interrupted keeps its finished
        batches."""
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
        """Updates the index with one page. Returns whether the index changed."""
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
        run(
            "INSERT INTO words (rowid, title, headings, text, url, site) VALUES (?, ?, ?, ?, ?, ?)",
            (key, *_columns(page.title, page.headings, page.text, page.url)),
        )
        run("INSERT OR IGNORE INTO present VALUES (?)", (key,))

    def _remove(self, key: int) -> None:
        run = self._connection.execute
        title, url, headings, text = run(
            "SELECT title, url, headings, text FROM pages JOIN texts USING (id) WHERE id = ?", (key,)
        ).fetchone()
        run(  # to delete from a contentless table, FTS5 needs the words
            "INSERT INTO words (words, rowid, title, headings, text, url, site) VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            (key, *_columns(title, headings, text, url)),
        )
        run("DELETE FROM pages WHERE id = ?", (key,))
        run("DELETE FROM texts WHERE id = ?", (key,))

    def find(self, query: Query, limit: int = 10, offset: int = 0, *, by_date: bool = False) -> SearchResults:
        """Returns the pages that match, the best first. `by_date`: whether the newest pages come first
        instead. If `limit` is 0, all are returned."""
        statement, values = _statement(query, by_date)
        rows = self._connection.execute(statement, values).fetchall()
        chosen = rows[offset : offset + limit] if limit else rows[offset:]
        return SearchResults(len(rows), [self._result(key, rank, query.terms) for key, rank in chosen])

    def count(self, query: Query) -> int:
        """Returns the number of pages that match."""
        statement, values = _statement(query, by_date=False)
        row = self._connection.execute(f"SELECT count(*) FROM ({statement})", values).fetchone()  # noqa: S608 - made of constants
        return int(row[0])

    def _result(self, key: int, rank: float | None, terms: list[Term]) -> SearchResult:
        url, title, language, published, fetched, headings, text = self._connection.execute(
            "SELECT url, title, language, published, fetched, headings, text FROM pages JOIN texts USING (id) WHERE id = ?",
            (key,),
        ).fetchone()
        shown = snippet(text, terms)
        if not shown.marks and (other := snippet(headings, terms, "headings")).marks:
            shown = other
        return SearchResult(
            url, mark(title, terms, "title"), shown, language, published, fetched, -(rank or 0.0)
        )


def _opened(path: Path) -> sqlite3.Connection:
    """Opens the index. An index of another version is emptied, because it only contains a copy of the crawl's
    pages."""
    connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    try:
        mine = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if not mine and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise UsageError(f"{path} is a database of something else: name another file with --index")
        connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        if mine and _version(connection) == VERSION:
            return connection
        connection.execute("BEGIN EXCLUSIVE")
        for name in ("words", "texts", "pages", "facts"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO facts VALUES ('version', ?)", (VERSION,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError) and "fts5" in str(error):
            raise UsageError("the SQLite of this Python has no FTS5: search needs one that has it") from error
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise UsageError(
            f"{path} is not a search index, or it is damaged: delete it, and run again"
        ) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
    return row[0] if row else None


def _columns(title: str, headings: str, text: str, url: str) -> tuple[str, str, str, str, str]:
    return indexed(title), indexed(headings), indexed(text), indexed(url), _site_words(url)


def _site_words(url: str) -> str:
    """Returns the words by which `site:` finds a page: its host, with and without the port, and the parent
    domains. Because they are words of the index, they narrow a search faster than a condition on a table."""
    parts = urlsplit(url)
    labels = (parts.hostname or "").lower().split(".")
    names = [".".join(labels[at:]) for at in range(len(labels))]
    netloc = parts.netloc.rpartition("@")[2].lower()
    return " ".join(_site_word(name) for name in dict.fromkeys((*names, netloc)))


def _site_word(host: str) -> str:
    """Encodes a host as one word of letters and digits."""
    return f"site{host.encode().hex()}"


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


def _statement(query: Query, by_date: bool) -> tuple[str, list[Any]]:
    """Returns the SQL that yields the id and rank of all matching pages, in order."""
    tests: list[str] = []
    values: list[Any] = []
    matches: list[str] = []
    for group in query.groups:
        if all(isinstance(part, Term) and not part.is_negative for part in group):
            matches.append(" OR ".join(_match(part) for part in group if isinstance(part, Term)))
            continue
        if isinstance(only := group[0], PageFilter) and len(group) == 1 and _is_site(only):
            matches.append(f'{{site}} : "{_site_word(only.value.partition("/")[0])}"')
            if "/" not in only.value:
                continue
        choices = []
        for part in group:
            test, given = _test(part)
            choices.append(f"NOT ({test})" if part.is_negative else test)
            values += given
        tests.append(f"({' OR '.join(choices)})")
    order = "day DESC, rank, id" if by_date else "rank, day DESC, id"
    if matches:
        values.insert(0, " AND ".join(f"({one})" for one in matches))
        return (
            f"SELECT id, bm25(words, {WEIGHTS}) AS rank FROM words JOIN pages ON pages.id = words.rowid "  # noqa: S608 - made of constants
            f"WHERE words MATCH ?{''.join(f' AND {one}' for one in tests)} ORDER BY {order}"
        ), values
    return f"SELECT id, NULL AS rank FROM pages WHERE {' AND '.join(tests)} ORDER BY {order}", values  # noqa: S608


def _is_site(part: PageFilter) -> bool:
    return part.name == "site" and not part.is_negative


def _match(term: Term) -> str:
    """Returns a term in the query language of FTS5. Its words consist of letters and digits only."""
    phrase = f'"{" ".join(term.words)}"{" *" if term.is_prefix else ""}'
    return f"{{{term.column}}} : {phrase}" if term.column else phrase


def _test(part: Term | PageFilter) -> tuple[str, list[Any]]:
    """Returns the SQL condition of one term or filter, and its values."""
    if isinstance(part, Term):
        return "pages.id IN (SELECT rowid FROM words WHERE words MATCH ?)", [_match(part)]
    if part.name == "lang":
        return "coalesce(language = ? OR substr(language, 1, ?) = ?, 0)", [
            part.value,
            len(part.value) + 1,
            part.value + "-",
        ]
    if part.name == "before":
        return "day < ?", [part.value]
    if part.name == "after":
        return "day >= ?", [part.value]
    if "/" in part.value:
        return "substr(pages.url, instr(pages.url, '://') + 3, ?) = ?", [len(part.value), part.value]
    return "pages.id IN (SELECT rowid FROM words WHERE words MATCH ?)", [
        f'{{site}} : "{_site_word(part.value)}"'
    ]

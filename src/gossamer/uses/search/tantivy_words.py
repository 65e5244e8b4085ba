"""Stores the words of a search index in a tantivy index, which is a folder next to the SQLite file with the
pages. A tantivy index is smaller than a SQLite table and is built faster.

The words are committed first. Then the pages are committed, together with a stamp that identifies the commit
of the words. If a crash occurs between the two commits, the stamps differ, and the words are indexed again
from the pages.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gossamer.client.install_command import install_command
from gossamer.errors import ConfigError, DiskFull, UsageError
from gossamer.uses.search.document import IndexedPage, site_names
from gossamer.uses.search.query import PageFilter, Query, Term
from gossamer.uses.search.words import indexed

WEIGHTS: Final = {"title": 10.0, "headings": 4.0, "text": 1.0, "url": 2.0}
"""Maps each column of the index to the weight of a word that matches in the column."""
HEAP_BYTES: Final = 64 << 20
"""The size in bytes of the memory in which tantivy collects words before it writes them to disk."""
WAIT_S: Final = 60.0
"""Maximum number of seconds to wait while another process writes the index."""
_STAMP: Final = "words_commit"
_SPLIT: Final = "spaces"


def _library() -> Any:
    try:
        import tantivy
    except ImportError:
        raise ConfigError(f"--engine tantivy needs the extra search: {install_command('search')}") from None
    return tantivy


class TantivyWords:
    """A tantivy index in a folder. Raises ConfigError if the library tantivy is not installed, and UsageError
    if the folder is not a tantivy index."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection, self._folder = connection, folder
        self._tantivy = _library()
        self._index: Any = None
        self._writer: Any = None

    @property
    def belong(self) -> bool:
        """Whether the stamp of the last commit of the words equals the stamp that is stored with the
        pages."""
        try:
            found = json.loads((self._folder / "meta.json").read_bytes())
        except (OSError, ValueError):
            return False
        return isinstance(found, dict) and str(found.get("opstamp")) == self._stamp()

    def create(self) -> None:
        """Deletes the stamp that is stored with the pages, so that the words are indexed again."""
        self._connection.execute("DELETE FROM facts WHERE name = ?", (_STAMP,))

    def _opened(self) -> Any:
        if self._index is None:
            with _readable_errors(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._index = self._tantivy.Index(self._schema(), str(self._folder))
                splitter = self._tantivy.TextAnalyzerBuilder(self._tantivy.Tokenizer.whitespace()).build()
                self._index.register_tokenizer(_SPLIT, splitter)
        return self._index

    def _schema(self) -> Any:
        build = self._tantivy.SchemaBuilder()
        build.add_integer_field("id", indexed=True, fast=True)
        build.add_integer_field("day", indexed=True, fast=True)
        for name in WEIGHTS:
            build.add_text_field(name, tokenizer_name=_SPLIT)
        for name in ("site", "language", "address"):
            build.add_text_field(name, tokenizer_name="raw", index_option="basic")
        return build.build()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A context manager that keeps the tantivy writer open. If the words do not match the pages, all
        pages are first indexed again."""
        self._writer = self._locked_writer()
        try:
            if str(self._writer.commit_opstamp) != self._stamp():
                self._build_again()
            yield
            with _readable_errors(self._folder):
                self._writer.wait_merging_threads()
        finally:
            self._writer = None
            self._opened().reload()

    def _locked_writer(self) -> Any:
        start = time.monotonic()
        while True:
            try:
                return self._opened().writer(HEAP_BYTES, 1)
            except ValueError as error:
                if "lock" not in str(error).lower():
                    raise _as_error(error, self._folder) from error
                if time.monotonic() - start > WAIT_S:
                    raise UsageError(
                        f"{self._folder}: another process writes the index; try again later, or give --no-update"
                    ) from error
                time.sleep(0.2)

    def _stamp(self) -> str | None:
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (_STAMP,)).fetchone()
        return row[0] if row else None

    def _build_again(self) -> None:
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            self._open_writer.delete_all_documents()
            query = "SELECT id, url, fetched, title, headings, text, language, published FROM pages JOIN texts USING (id)"
            for key, *values in run(query):
                self.add(key, IndexedPage(*values))
            self.commit()
        except BaseException:
            self.rollback()
            run("ROLLBACK")
            raise
        run("COMMIT")

    @property
    def _open_writer(self) -> Any:
        assert self._writer is not None
        return self._writer

    def add(self, key: int, page: IndexedPage) -> None:
        """Adds a page's words to the index."""
        document = self._tantivy.Document()
        document.add_integer("id", key)
        document.add_integer("day", _day_number(page.day))
        for name, text in (("title", page.title), ("headings", page.headings), ("text", page.text)):
            document.add_text(name, indexed(text))
        document.add_text("url", indexed(page.url))
        document.add_text("address", page.url.partition("://")[2])
        for name in site_names(page.url):
            document.add_text("site", name)
        parts = (page.language or "").lower().split("-")
        for at in range(1, len(parts) + 1):
            document.add_text("language", "-".join(parts[:at]))
        with _readable_errors(self._folder):
            self._open_writer.add_document(document)

    def remove(self, key: int, _page: IndexedPage) -> None:
        """Removes a page's words from the index."""
        with _readable_errors(self._folder):
            self._open_writer.delete_documents_by_term("id", key)

    def commit(self) -> None:
        """Makes the words durable, and stores the stamp of their commit in the transaction of the pages."""
        with _readable_errors(self._folder):
            stamp = self._open_writer.commit()
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_STAMP, str(stamp)))

    def rollback(self) -> None:
        """Discards the changes since the last commit."""
        with contextlib.suppress(ValueError):  # after a failure, the writer raises ValueError
            self._open_writer.rollback()

    def find(
        self, query: Query, limit: int, offset: int, *, by_date: bool
    ) -> tuple[int, list[tuple[int, float]]]:
        """Returns the total number of matching pages, and the ids and scores of at most `limit` matching
        pages from index `offset` on. `limit` 0 means all. If the pages are sorted by date, all scores are
        0."""
        if self._stamp() is None:  # the pages of these words were deleted
            return 0, []
        with _readable_errors(self._folder):
            searcher = self._opened().searcher()
            most = limit or max(1, searcher.num_docs - offset)
            order = "day" if by_date or not query.terms else None
            found = searcher.search(self._query(query), most, offset=offset, order_by_field=order)
            keys = searcher.fast_field_values("id", [address for _, address in found.hits])
        scores = [0.0 if order else float(score) for score, _ in found.hits]
        total: int = found.count
        return total, [(int(key or 0), score) for key, score in zip(keys, scores, strict=True)]

    def count(self, query: Query) -> int:
        """Returns the number of matching pages."""
        return self.find(query, 1, 0, by_date=False)[0]

    def _query(self, query: Query) -> Any:
        """Returns the tantivy query, which requires at least one match in each group."""
        make, occur = self._tantivy.Query.boolean_query, self._tantivy.Occur
        groups = [make([(occur.Should, self._part(part)) for part in group]) for group in query.groups]
        return make([(occur.Must, group) for group in groups])

    def _part(self, part: Term | PageFilter) -> Any:
        make, occur = self._tantivy.Query, self._tantivy.Occur
        if isinstance(part, Term):
            names = [part.column] if part.column else list(WEIGHTS)
            columns = [
                (occur.Should, make.boost_query(self._words(name, part), WEIGHTS[name])) for name in names
            ]
            found = make.boolean_query(columns)
        else:
            found = make.const_score_query(self._filter(part), 0.0)
        if part.is_negative:
            every = make.const_score_query(make.all_query(), 0.0)
            return make.boolean_query([(occur.Must, every), (occur.MustNot, found)])
        return found

    def _words(self, column: str, term: Term) -> Any:
        """Returns the tantivy query for a word or phrase."""
        make, schema, words = self._tantivy.Query, self._opened().schema, list(term.words)
        if len(words) == 1:
            if term.is_prefix:
                return make.regex_query(schema, column, f"{_escaped(words[0])}.*")
            return make.term_query(schema, column, words[0])
        if term.is_prefix:
            first = [_escaped(word) for word in words[:-1]]
            return make.regex_phrase_query(schema, column, [*first, f"{_escaped(words[-1])}.*"])
        return make.phrase_query(schema, column, words)

    def _filter(self, part: PageFilter) -> Any:
        make, schema = self._tantivy.Query, self._opened().schema
        if part.name == "lang":
            return make.term_query(schema, "language", part.value, "basic")
        if part.name in ("before", "after"):
            day, kind = _day_number(part.value), self._tantivy.FieldType.Integer
            if part.name == "before":
                return make.range_query(schema, "day", kind, upper_bound=day, include_upper=False)
            return make.range_query(schema, "day", kind, lower_bound=day)
        if "/" in part.value:
            return make.regex_query(schema, "address", f"{_escaped(part.value)}(.|\n)*")
        return make.term_query(schema, "site", part.value, "basic")


def _day_number(day: str) -> int:
    """Returns a date as a number. A missing month or day is replaced by 01. An invalid date returns 0.

    >>> _day_number("2026-03"), _day_number("2026-03-15"), _day_number("")
    (20260301, 20260315, 0)
    """
    year, _, rest = day[:10].partition("-")
    month, _, number = rest.partition("-")
    parts = (year, month or "01", number or "01")
    return int("".join(part.zfill(2) for part in parts)) if all(part.isdecimal() for part in parts) else 0


def _escaped(text: str) -> str:
    """Escapes a text for a tantivy regular expression."""
    return "".join(char if char.isalnum() or char in "/_" else f"\\{char}" for char in text)


@contextlib.contextmanager
def _readable_errors(folder: Path) -> Iterator[None]:
    """Replaces the errors of tantivy and of the file system with DiskFull or UsageError."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise _as_error(error, folder) from error


def _as_error(error: Exception, folder: Path) -> DiskFull | UsageError:
    text = " ".join(str(error).split())
    if any(sign in text for sign in ("No space left", "File too large", "code: 28", "code: 27")):
        return DiskFull(
            f"{folder} cannot be written: {text}: free some space, then run the same command again"
        )
    return UsageError(
        f"{folder} is not a search index, or it is damaged ({text[:200]}): delete it, and run again"
    )

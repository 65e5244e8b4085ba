"""Stores the words of a search index in a full-text table (FTS5) of the SQLite file with the pages."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from gossamer.errors import UsageError
from gossamer.uses.search.document import IndexedPage, site_names
from gossamer.uses.search.query import PageFilter, Query, Term
from gossamer.uses.search.words import indexed

WEIGHTS: Final = "10.0, 4.0, 1.0, 2.0, 0.0"
"""How much a word in the title, the headings, the text, the URL and the names of the site counts."""
_TABLE: Final = (
    "CREATE VIRTUAL TABLE words USING fts5(title, headings, text, url, site, content='', tokenize='ascii')"
)


class FtsWords:
    """The full-text table. It is written and committed with the pages."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def belong(self) -> bool:
        """Words and pages are committed together."""
        return True

    def create(self) -> None:
        """Empties the table. Raises UsageError if this SQLite has no FTS5."""
        self._connection.execute("DROP TABLE IF EXISTS words")
        try:
            self._connection.execute(_TABLE)
        except sqlite3.OperationalError as error:
            if "fts5" in str(error):
                raise UsageError(
                    "the SQLite of this Python has no FTS5: search needs one that has it"
                ) from error
            raise

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Nothing has to be opened."""
        yield

    def add(self, key: int, page: IndexedPage) -> None:
        """Adds the words of a page."""
        self._connection.execute(
            "INSERT INTO words (rowid, title, headings, text, url, site) VALUES (?, ?, ?, ?, ?, ?)",
            (key, *_columns(page)),
        )

    def remove(self, key: int, page: IndexedPage) -> None:
        """Removes the words of a page. A table without contents needs the words that it forgets."""
        self._connection.execute(
            "INSERT INTO words (words, rowid, title, headings, text, url, site) VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            (key, *_columns(page)),
        )

    def commit(self) -> None:
        """The transaction of the pages commits the words."""

    def rollback(self) -> None:
        """The transaction of the pages takes the words back."""

    def find(
        self, query: Query, limit: int, offset: int, *, by_date: bool
    ) -> tuple[int, list[tuple[int, float]]]:
        """Returns the number of pages that match, and the ids and scores of those from `offset` on."""
        statement, values = _statement(query, by_date)
        rows = self._connection.execute(statement, values).fetchall()
        chosen = rows[offset : offset + limit] if limit else rows[offset:]
        return len(rows), [(key, -(rank or 0.0)) for key, rank in chosen]

    def count(self, query: Query) -> int:
        """Returns the number of pages that match."""
        statement, values = _statement(query, by_date=False)
        row = self._connection.execute(f"SELECT count(*) FROM ({statement})", values).fetchone()  # noqa: S608 - made of constants
        return int(row[0])


def _columns(page: IndexedPage) -> tuple[str, str, str, str, str]:
    sites = " ".join(map(_site_word, site_names(page.url)))
    return indexed(page.title), indexed(page.headings), indexed(page.text), indexed(page.url), sites


def _site_word(host: str) -> str:
    """Returns a host as one word of letters and digits. As words of the index, hosts narrow a search faster than
    a condition on a table."""
    return f"site{host.encode().hex()}"


def _statement(query: Query, by_date: bool) -> tuple[str, list[Any]]:
    """Returns the SQL that yields the id and rank of all pages that match, in their order."""
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

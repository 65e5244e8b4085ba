"""Stores the words of a search index in a full-text table (FTS5) of the SQLite file with the pages."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from gossamer.errors import UsageError
from gossamer.uses.search.document import IndexedPage, site_names
from gossamer.uses.search.query import PageFilter, Query, Term
from gossamer.uses.search.words import SIGNS, indexed

WEIGHTS: Final = "10.0, 4.0, 1.0, 2.0, 0.0"
"""The weights of a matching word in the title, the headings, the text, the URL and the site names, in this
order."""
_TABLE: Final = (
    "CREATE VIRTUAL TABLE words USING fts5(title, headings, text, url, site, content='', "
    f"tokenize=\"ascii tokenchars '{SIGNS.replace(chr(39), chr(39) * 2)}'\")"
)


class FtsWords:
    """The full-text table. The words are written and committed in the same transaction as the pages."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

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

    def add(self, key: int, page: IndexedPage) -> None:
        """Adds a page's words to the table."""
        self._connection.execute(
            "INSERT INTO words (rowid, title, headings, text, url, site) VALUES (?, ?, ?, ?, ?, ?)",
            (key, *_columns(page)),
        )

    def remove(self, key: int, page: IndexedPage) -> None:
        """Removes a page's words from the table. The caller must pass the page's old content, because the
        table stores no texts."""
        self._connection.execute(
            "INSERT INTO words (words, rowid, title, headings, text, url, site) VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            (key, *_columns(page)),
        )

    def find(
        self, query: Query, limit: int, offset: int, *, by_date: bool
    ) -> tuple[int, list[tuple[int, float]]]:
        """Returns the total number of matching pages, and the ids and scores of at most `limit` matching
        pages from index `offset` on. `limit` 0 means all."""
        statement, values = _statement(query, by_date)
        rows = self._connection.execute(statement, values).fetchall()
        chosen = rows[offset : offset + limit] if limit else rows[offset:]
        return len(rows), [(key, -(rank or 0.0)) for key, rank in chosen]

    def count(self, query: Query) -> int:
        """Returns the number of matching pages."""
        statement, values = _statement(query, by_date=False)
        row = self._connection.execute(f"SELECT count(*) FROM ({statement})", values).fetchone()  # noqa: S608 - made of constants
        return int(row[0])


def _columns(page: IndexedPage) -> tuple[str, str, str, str, str]:
    sites = " ".join(map(_site_word, site_names(page.url)))
    return indexed(page.title), indexed(page.headings), indexed(page.text), indexed(page.url), sites


def _site_word(host: str) -> str:
    """Encodes a host as one word of letters and digits. A full-text search for this word is faster than a
    condition on a column of a table."""
    return f"site{host.encode().hex()}"


def _statement(query: Query, by_date: bool) -> tuple[str, list[Any]]:
    """Returns the SQL statement that selects the id and rank of all matching pages in the requested order,
    and the statement's values."""
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
    """Returns a term in the query language of FTS5. The words need no escaping, because a phrase in quotes
    may contain letters, digits and SIGNS."""
    phrase = f'"{" ".join(term.words)}"{" *" if term.is_prefix else ""}'
    return f"{{{term.column}}} : {phrase}" if term.column else phrase


def _test(part: Term | PageFilter) -> tuple[str, list[Any]]:
    """Returns the SQL condition for one term or filter, and the condition's values."""
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

"""Parses search queries. A page matches a query if it contains all words of the query. `"slow maps"` is a
phrase, `-bees` excludes a word, `a OR b` matches either word, and `map*` matches every word that begins with
`map`. The qualifiers `title:`, `heading:`, `text:` and `url:` restrict a word to one part of the page. The
filters `site:`, `lang:`, `before:` and `after:` select pages.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gossamer.errors import UsageError
from gossamer.uses.search.words import words

COLUMNS: Final = {"title": "title", "heading": "headings", "text": "text", "url": "url"}
"""Maps the qualifiers that restrict a query to a part of the pages (such as `title:`) to the columns of the
index."""
FILTERS: Final = ("site", "lang", "before", "after")
MAX_CHARS, MAX_TERMS = 4000, 100
"""The maximum number of characters of a query, and the maximum number of terms of a query."""
_PART: Final = re.compile(r'(-?)(?:([A-Za-z]+):)?(?:"([^"]*)"|([^\s"]+))')
_NAMES: Final = "|".join((*COLUMNS, *FILTERS))
_OPERATOR: Final = re.compile(rf'"|(?:^|\s)(?:-\S|OR\s|OR$)|(?:^|[\s-])(?:{_NAMES}):')
_DATE: Final = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")


@dataclass(frozen=True)
class Term:
    """One word or phrase. `words`: the words as the index stores them. `column`: the column to search, or
    None for all columns. `is_prefix`: whether the last word also matches longer words that begin with it."""

    words: tuple[str, ...]
    column: str | None = None
    is_prefix: bool = False
    is_negative: bool = False


@dataclass(frozen=True)
class PageFilter:
    """A condition on a page: `name` is one of FILTERS."""

    name: str
    value: str
    is_negative: bool = False


@dataclass(frozen=True)
class Query:
    """A parsed query. A page matches if, in each group, at least one term or filter matches."""

    groups: tuple[tuple[Term | PageFilter, ...], ...]

    @property
    def terms(self) -> list[Term]:
        """The words and phrases of the query, except the excluded ones."""
        found = [part for group in self.groups for part in group if isinstance(part, Term)]
        return [term for term in found if not term.is_negative]


def from_arguments(arguments: Sequence[str]) -> str:
    """Joins the arguments of a command line into a query. The shell removes quotes, so an argument that
    contains spaces and no operator is a phrase.

    >>> from_arguments(["slow maps", "site:example.com", "a OR b"])
    '"slow maps" site:example.com a OR b'
    """
    return " ".join(
        f'"{one}"' if re.search(r"\S\s+\S", one) and not _OPERATOR.search(one) else one for one in arguments
    )


def parse(text: str) -> Query:
    """Parses a query. Raises UsageError with a one-line message if the query is invalid."""
    if len(text) > MAX_CHARS:
        raise UsageError(f"the query is longer than {MAX_CHARS} characters")
    if text.count('"') % 2:
        raise UsageError(f"a quote is not closed: {text!r}; write '\"slow maps\"' for a phrase")
    groups: list[tuple[Term | PageFilter, ...]] = []
    is_alternative = False
    for found in _PART.finditer(text):
        if found[0] == "OR":
            if not groups or is_alternative:
                raise UsageError(f"OR stands between two words: {text!r}")
            is_alternative = True
            continue
        part = _part(found)
        if is_alternative:
            groups[-1] = (*groups[-1], part)
        else:
            groups.append((part,))
        is_alternative = False
    if is_alternative:
        raise UsageError(f"OR stands between two words: {text!r}")
    if not groups:
        raise UsageError("what are you looking for? Write words: gossamer find slow maps")
    if sum(map(len, groups)) > MAX_TERMS:
        raise UsageError(f"the query has more than {MAX_TERMS} terms")
    return Query(tuple(groups))


def _part(found: re.Match[str]) -> Term | PageFilter:
    negative, name, phrase, word = found[1] == "-", (found[2] or "").lower(), found[3], found[4]
    value = phrase if phrase is not None else word
    if not name and value.endswith(":") and value[:-1].lower() in (*COLUMNS, *FILTERS):
        raise UsageError(f"{value} has no value: write it without a space, as {value}word")
    if name and not value.strip():
        raise UsageError(f"{name}: has no value")
    if name in FILTERS:
        return PageFilter(name, _filter_value(name, value), negative)
    if name and name not in COLUMNS:
        if near := difflib.get_close_matches(name, [*COLUMNS, *FILTERS], 1, 0.75):
            raise UsageError(f"there is no qualifier {name}: did you mean {near[0]}:?")
        name, value = "", f"{found[2]}:{value}"  # not a qualifier, for example 12:30 or https://example.com
    return _term(value, COLUMNS.get(name), negative)


def _term(value: str, column: str | None, negative: bool) -> Term:
    found = list(words(value))
    if not found:
        raise UsageError(f"{value!r} has no letter or digit to look for")
    is_prefix = value.rstrip('"').endswith("*")
    if found[-1].is_last:
        if len(found) > 1 and found[-2].end == found[-1].end:
            found.pop()  # the preceding pair contains this character
        else:
            # as a prefix, the character matches all pairs that begin with it. It also matches the single
            # character that is indexed at the end of a run
            is_prefix = True
    return Term(tuple(word.text for word in found), column, is_prefix, negative)


def _filter_value(name: str, value: str) -> str:
    if name in ("before", "after"):
        if not _DATE.fullmatch(value):
            raise UsageError(f"{name}:{value}: write a day, a month or a year, as {name}:2026-11-25")
        return value
    if name == "site":
        value = re.sub(r"^[a-z][a-z0-9+.-]*://", "", value.lower()).rstrip("/")
        host, slash, path = value.partition("/")
        try:
            host = host.encode("idna").decode() if not host.isascii() else host
        except UnicodeError:
            raise UsageError(f"site:{value} is not a host") from None
        return host + slash + path
    return value.lower().replace("_", "-")

"""Reads lists of keywords: plain text, CSV, JSON lines and Excel.

A line that is not a keyword, such as `!!!`, is rejected with its line number and the reason, and reading
continues.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from gossamer.client.source_rows import JSON_ENDINGS, ending_of, read_list_file
from gossamer.errors import UsageError
from gossamer.parsing.words import is_word, tokens

MAX_WORDS: Final = 20
"""The maximum number of tokens of a keyword."""
_COLUMN: Final = ("keyword", "keywords", "term", "query", "phrase", "word")
"""Possible names of the keyword column in lists from other tools."""
Place = tuple[int, str | None, str]
"""A tuple of the line number, the text of the keyword (None if the line cannot be read), and the error ('' if
the line can be read)."""


class RejectedKeyword(msgspec.Struct, frozen=True):
    """A line of a keyword list that contains no keyword."""

    source: str
    line: int
    reason: str
    text: str


class KeywordList(msgspec.Struct, frozen=True):
    """The keywords of all sources in their original spelling and order."""

    keywords: list[str]
    rejected: list[RejectedKeyword]
    repeated: int = 0
    """The number of lines whose keyword equals an earlier keyword. Two spellings count as the same keyword if
    the spellings have the same tokens."""


def read_keywords(sources: Iterable[str]) -> KeywordList:
    """Reads keywords. A source is the path of a list, or a keyword itself. Raises UsageError if a list cannot
    be read, and ConfigError if a library is missing."""
    found: dict[tuple[str, ...], str] = {}
    rejected: list[RejectedKeyword] = []
    repeated = 0
    for source in sources:
        for line, text, reason in _lines(source):
            shown = " ".join(unicodedata.normalize("NFC", text or "").split())
            words = tuple(tokens(shown))
            reason = reason or _fault(words)
            if reason:
                rejected.append(RejectedKeyword(source, line, reason, shown[:500]))
            elif words in found:
                repeated += 1
            else:
                found[words] = shown
    return KeywordList(list(found.values()), rejected, repeated)


def write_rejected(path: Path, rejected: Iterable[RejectedKeyword]) -> None:
    """Writes the rejected lines as JSON lines. Raises UsageError if the file cannot be written."""
    try:
        path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in rejected))
    except OSError as error:
        raise UsageError(f"--rejected {path}: {error.strerror}") from error


def _fault(words: Sequence[str]) -> str:
    if not any(map(is_word, words)):
        return "it has no letter or digit" if words else "the keyword is empty"
    if len(words) > MAX_WORDS:
        return f"it has {len(words)} words and symbols; at most {MAX_WORDS} are counted together"
    return ""


def _lines(source: str) -> Iterator[Place]:
    path = Path(source)
    ending = path.suffix.lower()
    if not path.is_file():
        if ending in (".txt", ".csv", ".tsv", ".xlsx", ".jsonl", ".ndjson") or "/" in source:
            raise UsageError(
                f"{source}: there is no such file; a list of keywords is text, CSV, JSON lines or Excel"
            )
        return iter([(1, source, "")])
    return _of_list(path)


def _of_list(path: Path) -> Iterator[Place]:
    is_json = ending_of(path) in JSON_ENDINGS
    for row in read_list_file(path, _check_header, "keyword"):
        if row.columns is None:
            yield row.line, row.text or None, row.reason
            continue
        plain = {str(name).strip().lower(): value for name, value in row.columns.items()}
        text = next((plain[name] for name in _COLUMN if name in plain), None)
        if is_json and not isinstance(text, str):
            yield row.line, None, "it is neither a text nor an object with the field keyword"
        else:
            yield row.line, "" if text is None else str(text), ""


def _check_header(names: Sequence[str]) -> Sequence[str] | None:
    """The keywords of a table without a header are in its first column."""
    has_header = not {name.strip().lower() for name in names}.isdisjoint(_COLUMN)
    return None if has_header else ["keyword", *(str(n) for n in range(1, len(names)))]

"""Reads lists of keywords: plain text, CSV, JSON lines and Excel.

A line that is not a keyword, such as `!!!`, is rejected with its line number and the reason, and reading
continues.
"""

from __future__ import annotations

import csv
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.client.install_command import install_command
from gossamer.errors import ConfigError, UsageError
from gossamer.uses.keywords.tokens import is_word, tokens

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
    if ending == ".xlsx":
        return _of_excel(path)
    if ending in (".jsonl", ".ndjson"):
        return _of_json(path)
    return _of_csv(path) if ending in (".csv", ".tsv") else _of_text(path)


def _text_of(path: Path) -> str:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if b"\0" in body[:1000] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{path} is not a text file: a list of keywords is text, CSV, JSON lines or Excel")
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _of_text(path: Path) -> Iterator[Place]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if line.strip() and not line.startswith("# "):
            yield number, line, ""


def _of_csv(path: Path) -> Iterator[Place]:
    text = _text_of(path)
    head = text.partition("\n")[0]
    mark = max("\t;,", key=head.count) if path.suffix.lower() == ".csv" else "\t"
    lines = csv.reader(text.splitlines(keepends=True), delimiter=mark)
    column: int | None = None
    number = 1
    while True:
        try:
            values = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, None, str(error)
            continue
        if column is None:
            column = _column_of(values)
            if column is not None:
                number = lines.line_num + 1
                continue
            column = 0  # a list without a header
        if any(value.strip() for value in values):
            yield number, values[column] if column < len(values) else "", ""
        number = lines.line_num + 1


def _of_json(path: Path) -> Iterator[Place]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            found: Any = json.loads(line)
        except ValueError as error:
            yield number, None, f"it is not JSON: {error}"
            continue
        text = _named(found) if isinstance(found, Mapping) else found
        if isinstance(text, str):
            yield number, text, ""
        else:
            yield number, None, "it is neither a text nor an object with the field keyword"


def _of_excel(path: Path) -> Iterator[Place]:
    try:
        import openpyxl
    except ImportError:
        raise ConfigError(f"an Excel list needs another package: {install_command('excel')}") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise UsageError(f"{path} is not an Excel file (.xlsx): {error}") from error
    column: int | None = None
    for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), 1):
        values = ["" if one is None else str(one) for one in row]
        if column is None:
            column = _column_of(values)
            if column is not None:
                continue
            column = 0
        if any(value.strip() for value in values):
            yield number, values[column] if column < len(values) else "", ""
    book.close()


def _column_of(names: Sequence[str]) -> int | None:
    """Returns the position of the column with the keywords, or None if the row is not a header."""
    plain = [name.strip().lower() for name in names]
    return next((plain.index(name) for name in _COLUMN if name in plain), None)


def _named(found: Mapping[str, Any]) -> Any:
    return next((found[name] for name in _COLUMN if name in found), None)

"""Reads list files with any columns: CSV, JSON Lines, Excel, and text with one value per line. All commands
that take a list read it here. A row that cannot be read is returned with its line number and the reason, and
reading continues with the next line. A stray quote loses its own line only."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, UsageError

TABLES = (".csv", ".tsv", ".xlsx")
"""Endings of lists with columns."""
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
MAX_LINE_BYTES = 1 << 20
"""Maximum bytes of a line."""
MAX_VALUE_LINES = 1000
"""Maximum number of lines of a quoted value in CSV."""
_MARKS = "\t;,"
_LINE_END = re.compile(r"\r\n|\r|\n")
_QUOTED = re.compile(r'"([^"]*(?:""[^"]*)*)"(?!")')
CheckNames = Callable[[Sequence[str]], Sequence[str] | None]
"""The type of a function that checks the first row of a table. The function returns None if the row contains
the names of the columns. If the table has no header, the function returns the names of the columns, and the
first row is read as a row. The function raises UsageError if a column is missing."""


class SourceRow(NamedTuple):
    """A row of a source. `line`: the line number of the row, as displayed by an editor or a spreadsheet."""

    line: int
    columns: Mapping[str, Any] | None
    """The values of the row by column name, or None if the row cannot be read."""
    reason: str = ""
    """The reason why the row cannot be read."""
    text: str = ""
    """The beginning of a row that cannot be read."""


def ending_of(path: Path) -> str:
    """Returns the lower-case ending of a list, without the ending of a compressed file.

    >>> ending_of(Path("a/LIST.CSV.gz"))
    '.csv'
    """
    name = path.name.lower().removesuffix(".gz")
    return name[name.rfind(".") :] if "." in name else ""


def read_list_file(
    path: Path, check_names: CheckNames, text_column: str = "url", *, form: str | None = None
) -> Iterator[SourceRow]:
    """Yields the rows of a file. The rows of a text file have the column `text_column`. A CSV file with one
    column and no header is read like a text file. `form`: the ending that decides how the file is read, if
    not its own ending. Raises UsageError if the file cannot be read, and ConfigError if a library is
    missing."""
    ending = form or ending_of(path)
    try:
        if ending == ".xlsx":
            yield from _of_excel(path, check_names)
            return
        with _opened(path) as file:
            if ending in JSON_ENDINGS:
                yield from _of_json(_lines(file, path), text_column)
            elif ending in TABLES:
                yield from _of_csv(_lines(file, path), str(path), ending, check_names, text_column)
            else:
                yield from _of_text(_lines(file, path), text_column)
    except (OSError, EOFError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        from isal import igzip

        return igzip.open(path, "rb")  # type: ignore[no-any-return, no-untyped-call] # isal has no types
    return open(path, "rb")


_Line = tuple[int, str | None]
"""A line number and the line without its end, or None if the line has too many bytes."""


def _lines(file: IO[bytes], path: Path) -> Iterator[_Line]:
    head = file.read(1000)
    file.seek(0)
    number = 0
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):  # "Unicode text" of spreadsheets
        for number, line in enumerate(_LINE_END.split(file.read().decode("utf-16", "replace")), 1):
            yield number, line
        return
    if b"\0" in head:
        raise UsageError(f"{path} is not a text file: a list is text, CSV, JSON lines or Excel (.xlsx)")
    while raw := file.readline(MAX_LINE_BYTES):
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            while (more := file.readline(MAX_LINE_BYTES)) and not more.endswith(b"\n"):
                pass
            number += 1
            yield number, None
            continue
        if not number:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            line = raw.decode("cp1252", "replace")
        for one in _LINE_END.split(line.removesuffix("\n").removesuffix("\r")):
            number += 1
            yield number, one


_TOO_LONG = "the line has 1 MiB or more"


def _of_text(lines: Iterator[_Line], column: str) -> Iterator[SourceRow]:
    for number, line in lines:
        if line is None:
            yield SourceRow(number, None, _TOO_LONG)
        elif line.strip() and not _is_remark(line, column):
            yield SourceRow(number, {column: line.strip()})


def _is_remark(line: str, column: str) -> bool:
    """A keyword may begin with #, for example a hashtag."""
    return line.startswith("#" if column == "url" else "# ")


def _of_json(lines: Iterator[_Line], column: str) -> Iterator[SourceRow]:
    for number, line in lines:
        if line is None:
            yield SourceRow(number, None, _TOO_LONG)
            continue
        if not line.strip():
            continue
        try:
            found = json.loads(line, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            yield SourceRow(number, None, f"it is not JSON: {error}", line[:500])
            continue
        if isinstance(found, str):
            yield SourceRow(number, {column: found})
        elif isinstance(found, dict):
            yield SourceRow(number, found)
        else:
            yield SourceRow(number, None, "it is not a JSON object", line[:500])


def _of_csv(
    lines: Iterator[_Line], source: str, ending: str, check_names: CheckNames, text_column: str
) -> Iterator[SourceRow]:
    mark = "\t" if ending == ".tsv" else ""
    head = next(lines, None)
    while head is not None and (head[1] is None or _is_no_header(head[1])):
        if head[1] is not None and head[1].lower().startswith("sep=") and ending == ".csv":
            mark = head[1][4:5]
        head = next(lines, None)
    if head is None:
        return
    first = head[1] or ""
    mark = mark or max(_MARKS, key=first.count)
    names = _fields(first, mark)
    if isinstance(names, str):
        raise UsageError(f"{source} line {head[0]}: {names}")
    if len(names) == 1 and _is_value(names[0], check_names, text_column):  # a list without a header
        yield from _of_text(iter((head,)), text_column)
        yield from _of_text(lines, text_column)
        return
    if (given := check_names(names)) is not None:
        yield SourceRow(head[0], dict(zip(given, names, strict=False)))
        names = list(given)
    yield from _records(lines, names, mark)


def _is_no_header(line: str) -> bool:
    is_remark = line.startswith("#") and not any(mark in line for mark in _MARKS)
    return not line.strip() or is_remark or (len(line) <= 5 and line.lower().startswith("sep="))


def _records(lines: Iterator[_Line], names: Sequence[str], mark: str) -> Iterator[SourceRow]:
    """Yields the rows of a CSV file. A quoted value may contain line ends. If the quote is not closed, or if
    the value would contain another row, the quote is a stray one, and only its own line is rejected."""
    ahead: deque[_Line] = deque()
    has_urls = False
    while (line := ahead.popleft() if ahead else next(lines, None)) is not None:
        number, text = line
        if text is None:
            yield SourceRow(number, None, _TOO_LONG)
            continue
        has_urls = has_urls or "://" in text
        values = _fields(text, mark)
        if values == _OPEN:
            values, used = _over_several_lines(text, lines, ahead, mark, names, has_urls)
            for _ in range(used):
                ahead.popleft()
        if isinstance(values, str):
            yield SourceRow(number, None, values, text[:500])
        elif len(values) > len(names):
            reason = f"it has {len(values)} columns, and the head has {len(names)}: quote a value that contains {mark!r}"
            yield SourceRow(number, None, reason, text[:500])
        elif any(value.strip() for value in values):
            yield SourceRow(number, dict(zip(names, values, strict=False)))


def _over_several_lines(
    text: str, lines: Iterator[_Line], ahead: deque[_Line], mark: str, names: Sequence[str], has_urls: bool
) -> tuple[list[str] | str, int]:
    """Returns the values of a row whose quoted value continues in the next lines, and the number of those
    lines. Returns the reason as text, and 0, if the quote of the first line is a stray one."""
    columns, size = len(names), len(text)
    parts = [text]
    for used in range(1, MAX_VALUE_LINES + 1):
        if len(ahead) < used:
            if (more := next(lines, None)) is None:
                break
            ahead.append(more)
        part = ahead[used - 1][1]
        if part is None or (size := size + len(part)) > MAX_LINE_BYTES:
            break
        parts.append(part)
        if '"' not in part:
            continue
        values = _fields("\n".join(parts), mark)
        if values == _OPEN:
            continue
        if isinstance(values, str) or len(values) > columns or _holds_a_row(values, mark, columns, has_urls):
            break
        return values, used
    return _OPEN, 0


def _holds_a_row(values: Sequence[str], mark: str, columns: int, has_urls: bool) -> bool:
    """Returns whether a value of several lines contains a line that looks like a row."""
    for place, value in enumerate(values):
        for number, line in enumerate(value.split("\n") if "\n" in value else ()):
            if number == 0 and place == columns - 1:
                continue  # the row is complete before this value
            marks = line.count(mark) + (place if number == 0 else 0)
            if marks >= columns - 1 and (not has_urls or "://" in line):
                return True
    return False


_OPEN = 'a value begins with a quote (") that is not closed: close it, or double a quote within a value'
_CLOSED_EARLY = 'a quote (") within a quoted value must be doubled'


def _fields(text: str, mark: str) -> list[str] | str:
    """Returns the values of one row. Returns the reason as text if the quotes of the row are wrong. A quote
    within a value that does not begin with a quote is an ordinary character, for example `24" screen`."""
    if '"' not in text:
        return text.split(mark)
    values: list[str] = []
    at = 0
    while True:
        if text.startswith('"', at):
            found = _QUOTED.match(text, at)
            if found is None:
                return _OPEN
            end = found.end()
            if end < len(text) and text[end] != mark:
                return _CLOSED_EARLY
            values.append(found[1].replace('""', '"'))
        else:
            end = text.find(mark, at)
            end = len(text) if end < 0 else end
            values.append(text[at:end])
        if end >= len(text):
            return values
        at = end + 1


def _is_value(name: str, check_names: CheckNames, text_column: str) -> bool:
    """Returns whether the only field of the first line is a value instead of a column name."""
    if text_column == "url":
        return "://" in name
    try:
        return check_names([name]) is not None
    except UsageError:
        return True


def _of_excel(path: Path, check_names: CheckNames) -> Iterator[SourceRow]:
    try:
        import openpyxl
    except ImportError:
        raise ConfigError(f"an Excel list needs another package: {install_command('excel')}") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        raise UsageError(f"{path} is not an Excel file (.xlsx): {error}") from error
    rows = book.worksheets[0].iter_rows(values_only=True)
    names = ["" if one is None else str(one) for one in next(rows, ())]
    if names and (given := check_names(names)) is not None:
        yield SourceRow(1, dict(zip(given, names, strict=False)))
        names = list(given)
    for number, values in enumerate(rows, 2):
        if any(value is not None for value in values):
            yield SourceRow(number, dict(zip(names, values, strict=False)))
    book.close()

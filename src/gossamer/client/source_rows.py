"""Reads the rows of a source with any columns. Programs that have their own lists use this module. This
module is not needed for lists of URLs, because a crawl reads such lists itself (`gossamer.run("urls.txt")`).
A source is a CSV file, a JSON Lines file, an Excel file, a text file with one value per line, a sitemap, an
SQL query, or a URL. If a row cannot be read, the row's line number and the reason are returned, and reading
continues."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.app.producers.sql import SqlUrls
from gossamer.app.targets import target_kind
from gossamer.client.background import Background
from gossamer.client.fetch import fetch_page
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, UsageError
from gossamer.parsing.sitemaps import entries

MAX_SITEMAPS = 1000
"""Maximum number of sitemaps of one sitemap index that are read."""
SITEMAP_INTERVAL_S = 1.0
"""Seconds between requests for the sitemaps of an index."""
CheckNames = Callable[[Sequence[str]], None]
"""The type of a function that checks the names of the columns. The function raises UsageError if a column is
missing."""


class SourceRow(NamedTuple):
    """A row of a source. `line`: the line number of the row, as displayed by an editor or a spreadsheet."""

    line: int
    columns: Mapping[str, Any] | None
    """The values of the row by column name, or None if the row cannot be read."""
    reason: str = ""
    """The reason why the row cannot be read."""


def read_rows(
    source: str,
    check_names: CheckNames,
    options: Mapping[str, Any] | None = None,
    *,
    text_column: str = "url",
) -> Iterator[SourceRow]:
    """Yields the rows of a source. A source is a path (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.json`, `.xlsx`,
    or a text file with one value per line), `sitemap:URL`, `sql:DATABASE QUERY` or a URL. The rows of a
    sitemap and the row of a URL have the column `url`. The rows of a text file have the column `text_column`.
    A CSV file with one column and no header is read like a text file. `options`: the options of
    `gossamer.fetch` with which sitemaps are fetched. Raises GossamerError if the source cannot be read."""
    if source.startswith("sitemap:"):
        return _of_sitemap(target_kind(source).text, dict(options or {}))
    if source.startswith("sql:"):
        return _of_query(target_kind(source).text, check_names)
    if source.startswith(("http://", "https://")):
        return iter([SourceRow(1, {"url": source})])
    path = Path(source)
    if not path.is_file():
        raise UsageError(
            f"{source}: there is no such file; a list is a CSV, JSON lines, Excel or text file, sitemap:URL, or "
            "'sql:sqlite:FILE SELECT ...'"
        )
    ending = path.suffix.lower()
    if ending == ".xlsx":
        return _of_excel(path, check_names)
    if ending in (".jsonl", ".ndjson", ".json"):
        return _of_json(path)
    if ending in (".csv", ".tsv"):
        return _of_csv(path, check_names, text_column)
    return _of_text(path, text_column)


def _text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _of_csv(path: Path, check_names: CheckNames, text_column: str) -> Iterator[SourceRow]:
    text = _text_of(path)
    head = text.partition("\n")[0]
    mark = max("\t;,", key=head.count) if path.suffix.lower() == ".csv" else "\t"
    lines = csv.reader(text.splitlines(keepends=True), delimiter=mark)
    names = next(lines, [])
    if len(names) == 1 and _is_value(names[0], check_names, text_column):  # a list without a head
        yield from _of_text(path, text_column)
        return
    check_names(names)
    while True:
        number = lines.line_num + 1
        try:
            values = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            yield SourceRow(number, None, str(error))
            continue
        if not any(value.strip() for value in values):
            continue
        if len(values) > len(names):
            reason = f"it has {len(values)} columns, and the head has {len(names)}: quote a value that contains {mark!r}"
            yield SourceRow(number, None, reason)
        else:
            yield SourceRow(number, dict(zip(names, values, strict=False)))


def _is_value(name: str, check_names: CheckNames, text_column: str) -> bool:
    """Returns whether the only field of the first line is a value instead of a column name."""
    if text_column == "url":
        return "://" in name
    try:
        check_names([name])
    except UsageError:
        return True
    return False


def _of_json(path: Path) -> Iterator[SourceRow]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, parse_float=Decimal)
        except ValueError as error:
            yield SourceRow(number, None, f"it is not JSON: {error}")
            continue
        if isinstance(found, dict):
            yield SourceRow(number, found)
        else:
            yield SourceRow(number, None, "it is not a JSON object")


def _of_text(path: Path, column: str) -> Iterator[SourceRow]:
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield SourceRow(number, {column: line.strip()})


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
    check_names(names)
    for number, values in enumerate(rows, 2):
        if any(value is not None for value in values):
            yield SourceRow(number, dict(zip(names, values, strict=False)))
    book.close()


def _of_query(text: str, check_names: CheckNames) -> Iterator[SourceRow]:
    """Yields the rows of an SQL query."""
    background = Background(lambda _stop: _queried(text, check_names))
    background.start()
    names, rows = background.wait()
    for number, values in enumerate(rows, 1):
        yield SourceRow(number, dict(zip(names, values, strict=True)))


async def _queried(text: str, check_names: CheckNames) -> tuple[list[str], list[Sequence[Any]]]:
    query, names, rows = SqlUrls(text), list[str](), list[Sequence[Any]]()
    try:
        await query.open()
        async for names, some in query.rows():
            if not rows:
                check_names(names)
            rows += some
    finally:
        await query.close()
    return names, rows


def _of_sitemap(url: str, options: dict[str, Any]) -> Iterator[SourceRow]:
    background = Background(lambda _stop: _sitemap_pages(url, options))
    background.start()
    for number, found in enumerate(background.wait(), 1):
        yield SourceRow(number, {"url": found})


async def _sitemap_pages(url: str, options: dict[str, Any]) -> list[str]:
    """Returns the page URLs in a sitemap. If the sitemap is an index, returns the page URLs in all sitemaps
    of the index. Reads at most MAX_SITEMAPS sitemaps."""
    waiting, seen, found = [url], {url}, list[str]()
    while waiting:
        at = waiting.pop()
        page = await fetch_page(at, dict(options))
        if page.status != 200:
            raise UsageError(f"the sitemap {at} has the status {page.status}")
        pages, sitemaps = entries(page.body, at)
        found += map(str, pages)
        for more in map(str, sitemaps):
            if more not in seen and len(seen) < MAX_SITEMAPS:
                seen.add(more)
                waiting.append(more)
        if waiting:
            await asyncio.sleep(SITEMAP_INTERVAL_S)
    return found

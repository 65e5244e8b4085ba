"""Reads the rows of a source with any columns. Programs that have their own lists use this module. This
module is not needed for lists of URLs, because a crawl reads such lists itself (`gossamer.run("urls.txt")`).
A source is a CSV file, a JSON Lines file, an Excel file, a text file with one value per line, a sitemap, an
SQL query, or a URL. If a row cannot be read, the row's line number and the reason are returned, and reading
continues."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer.app.list_files import JSON_ENDINGS, CheckNames, SourceRow, ending_of, read_list_file
from gossamer.app.producers.sql import SqlUrls
from gossamer.app.targets import target_kind
from gossamer.client.background import Background
from gossamer.client.fetch import fetch_page
from gossamer.errors import UsageError
from gossamer.parsing.sitemaps import entries

__all__ = ["JSON_ENDINGS", "CheckNames", "SourceRow", "ending_of", "read_list_file", "read_rows"]

MAX_SITEMAPS = 1000
"""Maximum number of sitemaps of one sitemap index that are read."""
SITEMAP_INTERVAL_S = 1.0
"""Seconds between requests for the sitemaps of an index."""


def read_rows(
    source: str,
    check_names: CheckNames,
    options: Mapping[str, Any] | None = None,
    *,
    text_column: str = "url",
) -> Iterator[SourceRow]:
    """Yields the rows of a source. A source is a path (see `read_list_file`), `sitemap:URL`,
    `sql:DATABASE QUERY` or a URL. The rows of a sitemap and the row of a URL have the column `url`. The rows
    of a text file have the column `text_column`. `options`: the options of `gossamer.fetch` with which
    sitemaps are fetched. Raises GossamerError if the source cannot be read."""
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
    return read_list_file(path, check_names, text_column)


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

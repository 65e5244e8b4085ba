"""Stored page texts for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gossamer.uses.keywords.counting import CountOptions, CountResult, count_texts
from gossamer.uses.keywords.views import RunTables


def page(url: str, text: str, **more: Any) -> dict[str, Any]:
    """Returns the row of a page."""
    return {"url": url, "text": text, **more}


def write(path: Path, pages: Iterable[dict[str, Any]]) -> str:
    """Writes pages as a crawl stores them, and returns the path."""
    path.write_text("".join(json.dumps(one) + "\n" for one in pages))
    return str(path)


def count(
    folder: Path, pages: Iterable[dict[str, Any]], keywords: list[str], **options: Any
) -> tuple[CountResult, RunTables]:
    """Counts keywords in pages. The tables are in `folder / "run"`."""
    files = [write(folder / "pages.jsonl", pages)]
    result = count_texts(files, folder / "run", CountOptions(keywords=keywords, **options), lambda _: None)
    return result, RunTables(folder / "run")


def counts_of(tables: RunTables, site: str = "") -> dict[str, tuple[int, int]]:
    """Returns the count and the number of pages of each keyword."""
    with tables:
        return {one.keyword: (one.count, one.pages) for one in tables.keywords(site)}

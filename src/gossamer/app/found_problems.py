"""Reads what went wrong in a crawl from the crawl's folder: lines that are not seeds, pages that a site could not
read, and items that were rejected. The command line and the Python API report the same problems."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gossamer.sites.failed_pages import failure_reasons

MAX_READ_LINES = 100_000
"""The maximum number of lines of a file of rejected items or seeds that are read."""


class Problem(msgspec.Struct, frozen=True):
    """A problem of a crawl."""

    kind: str
    """`page`: the site could not read a page. `item`: an item was rejected. `seed`: an element of a list is not
    a request."""
    message: str
    count: int = 1
    """The number of pages, items or seeds with this message."""
    url: str | None = None
    """The URL of one such page."""

    def __str__(self) -> str:
        several = f" ({self.count} {self.kind}s)" if self.count > 1 else ""
        return f"{self.message}{several}{f', such as {self.url}' if self.url else ''}"


def found_problems(folder: Path, since: float = 0.0) -> list[Problem]:
    """Returns the problems of the crawl in a folder, the most frequent first among those of a kind. `since`:
    the beginning of the run in seconds since the epoch. Pages and seeds that failed earlier are left out."""
    rejected = item_problems(folder)
    known = {one.message for one in rejected}
    pages = [
        Problem("page", why, count, url)
        for why, count, url in failure_reasons(folder / "failed", since)
        if why not in known
    ]
    return [*seed_problems(folder, since), *pages, *rejected]


def item_problems(folder: Path) -> list[Problem]:
    """Returns the reasons for which items were rejected, the most frequent first."""
    counts, urls = Counter[str](), dict[str, str]()
    for line in _lines(folder / "rejected-items.jsonl"):
        why = f"{line['_site']}: {line['_kind']}: {line['field'] or 'item'}: {line['reason']}"
        counts[why] += 1
        urls.setdefault(why, line.get("_url", ""))
    return [Problem("item", why, count, urls[why]) for why, count in counts.most_common()]


def seed_problems(folder: Path, since: float) -> list[Problem]:
    """Returns one problem for each line that this run rejected as a seed."""
    path = folder / "rejected.jsonl"
    with contextlib.suppress(OSError):
        if path.stat().st_mtime >= since:
            return [Problem("seed", f"{_where(line)}: {line['reason']}") for line in _lines(path)]
    return []


def _where(line: dict[str, Any]) -> str:
    # a list of a Python program has elements, not lines
    return (
        f"list[{line['line'] - 1}]" if line["source"] == "list" else f"{line['source']} line {line['line']}"
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with contextlib.suppress(OSError, ValueError), path.open("rb") as file:
        for raw in itertools.islice(file, MAX_READ_LINES):
            yield json.loads(raw)

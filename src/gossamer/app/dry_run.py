"""Fetches and reads one page in a temporary store, for `try` and `shell`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from gossamer.app.job import Job
from gossamer.app.runner import ExtraReceivers, crawl
from gossamer.model.page import Page
from gossamer.model.summary import Summary
from gossamer.model.visit import Claim, Row
from gossamer.sites.failed_pages import failure_reasons


class Trial(msgspec.Struct):
    """The result: the page (None if none was received), rows as sinks would keep them, and each request."""

    summary: Summary
    page: Page | None
    claim: Claim | None
    rows: list[Row]
    attempts: list[dict[str, Any]]
    dead: list[str]
    """Why it failed for good, one line each."""
    unread: list[str] = []
    """Why a site could not read it: file, line, error."""


class RowsInMemory:
    """A sink that keeps rows in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def target(self) -> str:
        """Its name."""
        return "memory"

    def prepare(self) -> int:
        """Does nothing."""
        return 0

    def upsert(self, rows: list[Row]) -> None:
        """Keeps rows, one per key."""
        known = {(row.kind, row.key) for row in rows}
        self.rows = [row for row in self.rows if (row.kind, row.key) not in known] + list(rows)

    def close(self) -> None:
        """Does nothing."""


async def try_one(job: Job, url: str) -> Trial:
    """Visits one URL and its redirects, with robots.txt, limits and guards as in a crawl, without retries.
    The site files among the job's targets read the page; their seeds are not visited."""
    kept, pages = RowsInMemory(), []

    def tap(claim: Claim, page: Page) -> None:
        pages.append((claim, page))

    with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
        settings = msgspec.structs.replace(
            job.settings,
            data=folder,
            store=None,
            retries=(),
            processes=1,
            scope="page",
            include=(),
            exclude=(),
            limit=None,
        )
        once = msgspec.structs.replace(
            job, settings=settings, outputs=[], name="try", text=True, links=True, fresh=False, sitemaps=False
        )
        taps = ExtraReceivers(tables=[kept], page=tap, only=url)
        summary = await crawl(once, taps=taps)
        log = Path(folder) / "try" / "attempts.jsonl"
        attempts = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        unread = [why for why, _, _ in failure_reasons(Path(folder) / "try" / "failed")]
    claim, page = pages[-1] if pages else (None, None)
    return Trial(
        summary, page, claim, kept.rows, attempts, sorted(summary.errors) + sorted(summary.skipped), unread
    )

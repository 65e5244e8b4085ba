"""Provides `Crawl`, which yields the results of a crawl to `for` and `async for` loops."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gossamer.client.background import Background
from gossamer.client.options import job_of
from gossamer.client.records import CrawledPage, Found
from gossamer.client.tables import to_pandas, to_polars
from gossamer.client.targets import Target, read_targets
from gossamer.model.summary import Summary
from gossamer.model.visit import PageRecord, Row
from gossamer.sites.script_targets import script_targets

if TYPE_CHECKING:
    import pandas
    import polars

    from gossamer.app.found_problems import Problem
    from gossamer.app.job import Job

MAX_WAITING_ROWS = 1000
MAX_WAITING_BYTES = 64 << 20
"""MAX_WAITING_ROWS is the maximum number of records that wait for a slow consumer, and MAX_WAITING_BYTES is
the maximum size of their pages. The crawl pauses when it reaches one of these limits."""
Record_co = TypeVar("Record_co", bound=CrawledPage | Found, covariant=True)
"""The class of the records that a crawl yields."""


class Crawl(Generic[Record_co]):
    """A crawl that yields its results to a `for` loop or an `async for` loop. The crawl starts when the loop
    starts, and runs in a separate thread.

    Rows are delivered at least once. If a process is killed during a commit, the rows of the commit are
    delivered again. The attribute `summary` is set when the crawl has ended. Leaving the loop early stops the
    crawl gracefully. A second loop over the same `Crawl` object runs the crawl again.
    """

    def __init__(self, targets: Sequence[Target], options: dict[str, Any]) -> None:
        self.summary: Summary | None = None
        self.errors: list[Problem] = []
        """What went wrong: pages that the site could not read, rejected items, and elements of a list that are
        not requests. The list is complete when the crawl has ended."""
        self._targets, self._options = targets, options
        self._rows: queue.Queue[tuple[object, int]] = queue.Queue(MAX_WAITING_ROWS)
        self._bytes = 0
        self._room = threading.Condition()
        self._left = False
        self._classes: dict[str, dict[str, type]] = {}

    def __iter__(self) -> Iterator[Record_co]:
        background = self._begin()
        try:
            while (row := self._take(self._rows.get())) is not None:
                yield row
            background.done.result()
        finally:
            self._leave(background)
            background.join()

    async def __aiter__(self) -> AsyncIterator[Record_co]:
        background = self._begin()
        try:
            while True:
                try:
                    row = self._take(self._rows.get_nowait())
                except queue.Empty:
                    await asyncio.sleep(0.01)
                    continue
                if row is None:
                    break
                yield row
            background.done.result()
        finally:
            self._leave(background)
            await asyncio.to_thread(background.join)

    def to_pandas(self) -> pandas.DataFrame:
        """Runs the crawl to its end and returns the records as a pandas DataFrame. Raises GossamerError."""
        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """Runs the crawl to its end and returns the records as a polars DataFrame. Raises GossamerError."""
        return to_polars(self)

    def __repr__(self) -> str:
        names = ", ".join(getattr(target, "name", None) or str(target) for target in self._targets)
        state = self.summary.state if self.summary else "not run to its end"
        return f"<Crawl of {names[:200]}: {state}>"

    def _repr_html_(self) -> str:
        from html import escape

        return escape(repr(self)) + (self.summary._repr_html_() if self.summary else "")

    def _begin(self) -> Background[None]:
        self._rows, self._left, self._bytes = queue.Queue(MAX_WAITING_ROWS), False, 0
        self.errors = []
        background = Background(self._crawl)
        background.done.add_done_callback(lambda _: self._put(None, 0))
        background.start()
        return background

    def _leave(self, background: Background[None]) -> None:
        self._left = True
        with self._room:
            self._room.notify_all()
        if not background.done.done():
            background.stop()
        with contextlib.suppress(queue.Empty):
            while True:
                self._rows.get_nowait()

    def _take(self, waiting: tuple[Any, int]) -> Record_co | None:
        """Returns the next record, or None at the end."""
        row: Record_co | None
        row, size = waiting
        if size:
            with self._room:
                self._bytes -= size
                self._room.notify_all()
        return row

    def _put(self, row: object, size: int) -> None:
        """Queues a record, and blocks while the queue is full."""
        with self._room:
            self._room.wait_for(
                lambda: self._left or not self._bytes or self._bytes + size <= MAX_WAITING_BYTES
            )
            self._bytes += size
        while not self._left:
            with contextlib.suppress(queue.Full):
                self._rows.put((row, size), timeout=0.1)
                return

    async def _crawl(self, stop: asyncio.Event) -> None:
        from gossamer.app.found_problems import found_problems
        from gossamer.app.outcome import error_of

        names, made = read_targets(self._targets)
        with script_targets(made), tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
            usual = {} if self._options.get("data") else {"data": folder, "files": "off"}
            job = job_of(names, usual | self._options)
            began = time.time()
            self.summary = await self._run(job, stop)
            self.errors = await asyncio.to_thread(found_problems, folder_of(job, self.summary.crawl), began)
            error = None if self._left else error_of(job, self.summary)
        if error is not None:
            raise error

    async def _run(self, job: Job, stop: asyncio.Event) -> Summary:
        from gossamer.app.runner import ExtraReceivers, crawl
        from gossamer.client.progress import ProgressLine, RetryNotice, log_warning
        from gossamer.sites.loading import load_all

        if self._left:
            stop.set()
        self._classes = {site.name: site.classes for site in load_all(job.targets, job.args)}
        progress = ProgressLine() if self._options.get("progress") else RetryNotice()
        try:
            receivers = ExtraReceivers(tables=[self], attach_pages=True, warn=log_warning)
            return await crawl(job, progress, stop, receivers)
        finally:
            progress.close()

    def target(self) -> str:
        """Returns the name of this sink. A `Crawl` object is itself the sink that receives the rows of the
        crawl."""
        return "iterator"

    def prepare(self) -> int:
        """Does nothing, because this sink has no files or tables."""
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """Queues rows for the caller's loop, and blocks while the queue is full."""
        for row in rows:
            if isinstance(row.data, PageRecord):
                size = 0 if row.page is None else len(row.page.body)
                self._put(CrawledPage(row.data, row.page), size)
            elif isinstance(row.data, dict):
                classes = self._classes.get(row.data.get("_site", ""), {})
                self._put(Found(row.data, classes.get(row.kind)), 0)

    def close(self) -> None:
        """Does nothing, because this sink has no files or connections."""


def folder_of(job: Job, crawl: str) -> Path:
    """Returns the folder of a crawl."""
    return Path(job.settings.data) / crawl

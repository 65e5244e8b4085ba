"""The Python API: `gossamer.crawl` yields pages or items as they arrive, and `gossamer.run` does the same as
the `gossamer crawl` command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.model.visit import PageRecord, Row

if TYPE_CHECKING:
    from gossamer.app.job import Job
    from gossamer.model.summary import Summary

MAX_WAITING_ROWS = 1000
"""Maximum number of rows that wait for a slow consumer. When the queue is full, the crawl waits."""
_END = object()


class Found(msgspec.Struct, dict=True):
    """An item as a crawl yields it. Its fields are attributes, and so are `_url`, `_site`, `_kind`, `_key`,
    `_seen_at` and `_version`."""

    def __repr__(self) -> str:
        return f"Found({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Crawl:
    """A running crawl, over which the caller iterates with `for` or `async for`. The crawl runs in its own
    thread.

    Rows are delivered at least once: if a process is killed before it settles a commit, the rows of that
    commit are delivered again. `summary` is set after the last row. Leaving the loop early stops the crawl
    gracefully.
    """

    def __init__(self, targets: Sequence[str], options: dict[str, Any]) -> None:
        self.summary: Summary | None = None
        self._targets, self._options = list(targets), options
        self._rows: queue.Queue[object] = queue.Queue(MAX_WAITING_ROWS)
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._left = False

    def __iter__(self) -> Iterator[Any]:
        thread = threading.Thread(target=self._run, name="gossamer", daemon=True)
        thread.start()
        try:
            while (row := self._rows.get()) is not _END:
                if isinstance(row, BaseException):
                    raise row
                yield row
        finally:
            self._leave()
            thread.join()

    async def __aiter__(self) -> AsyncIterator[Any]:
        thread = threading.Thread(target=self._run, name="gossamer", daemon=True)
        thread.start()
        try:
            while True:
                try:
                    row = self._rows.get_nowait()
                except queue.Empty:
                    await asyncio.sleep(0.01)
                    continue
                if row is _END:
                    return
                if isinstance(row, BaseException):
                    raise row
                yield row
        finally:
            self._leave()
            await asyncio.to_thread(thread.join)

    def _leave(self) -> None:
        self._left = True
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):  # the event loop has ended already
                self._loop.call_soon_threadsafe(self._stop.set)
        while not self._rows.empty():
            self._rows.get_nowait()

    def _run(self) -> None:
        end: object = _END
        try:
            with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
                usual = {} if "data" in self._options else {"data": folder, "files": "off"}
                job = job_of(self._targets, usual | self._options)
                asyncio.run(self._crawl(job))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that reads the rows
            end = error
        while not self._left:
            with contextlib.suppress(queue.Full):
                self._rows.put(end, timeout=0.1)
                return

    async def _crawl(self, job: Job) -> None:
        from gossamer.app.runner import ExtraReceivers, crawl

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        if self._left:
            self._stop.set()
        self.summary = await crawl(job, stop=self._stop, taps=ExtraReceivers(tables=[self]))

    def target(self) -> str:
        """Returns the name of this output. `Crawl` is its own sink."""
        return "iterator"

    def prepare(self) -> int:
        """Prepares nothing, because this sink has no files or tables."""
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """Queues rows for the iterating caller, and blocks while the queue is full."""
        for row in rows:
            value: object = row.data if isinstance(row.data, PageRecord) else _found(row.data)  # type: ignore[arg-type] # never a row of a whole response
            while not self._left:
                with contextlib.suppress(queue.Full):
                    self._rows.put(value, timeout=0.1)
                    break

    def close(self) -> None:
        """Closes nothing, because this sink has no files or connections."""


def _found(data: dict[str, Any]) -> Found:
    found = Found()
    vars(found).update(data)
    return found


def crawl(*targets: str | os.PathLike[str], **options: Any) -> Crawl:
    """Crawls targets and yields the results: page records for plain URLs, items for site files.

    Options have the names of the command-line options: `limit=100`, `delay=1`, `scope="domain"`, `text=True`,
    `data=".gossamer"`. Without `data` nothing is stored, and the files of items are downloaded only if
    `files=` is given. Raises GossamerError.

    >>> for page in gossamer.crawl("https://example.com", limit=100):  # doctest: +SKIP
    ...     print(page.url, page.title)
    """
    return Crawl([os.fspath(target) for target in targets], options)


def run(
    *targets: str | os.PathLike[str],
    output: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    **options: Any,
) -> Summary:
    """Runs a crawl like `gossamer crawl`, writes into `output`, and returns the summary. An unfinished crawl
    is resumed. If an event loop already runs, for example in a notebook, the call blocks and the crawl
    runs in its own thread. Raises GossamerError.

    >>> gossamer.run("sites/", output="items.parquet", limit=1000)  # doctest: +SKIP
    """
    from gossamer.app.job import JobOutput
    from gossamer.app.runner import crawl as begin

    job = job_of([os.fspath(target) for target in targets], options)
    specs = [output] if isinstance(output, str | os.PathLike) else output
    job = msgspec.structs.replace(job, outputs=[JobOutput(os.fspath(spec)) for spec in specs])
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(begin(job))
    with ThreadPoolExecutor(1, "gossamer") as thread:
        return thread.submit(lambda: asyncio.run(begin(job))).result()


def job_of(targets: Sequence[str], options: dict[str, Any], folder: str = ".") -> Job:
    """Returns a job made of keyword options. `folder` is the folder in which gossamer.toml is looked for.
    Raises UsageError for an unknown option, with the most similar valid name."""
    from gossamer.app.job import Job
    from gossamer.config.settings import GivenSetting, load

    own = {f for f in Job.__struct_fields__ if f not in ("targets", "settings", "outputs")}
    given = [
        GivenSetting(f"--{name}", name, os.fspath(value) if isinstance(value, os.PathLike) else value)
        for name, value in options.items()
        if name not in own and value is not None
    ]
    rest = {name: value for name, value in options.items() if name in own}
    return Job(targets=list(targets), settings=load(given, folder=folder), **rest)

"""The Python door: `gossamer.crawl` gives pages or items as they come, `gossamer.run` does what the command
line does."""

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

ROOM = 1000
"""Rows that wait for a slow consumer; beyond them the crawl waits."""
_END = object()


class Found(msgspec.Struct, dict=True):
    """An item as a crawl yields it: its fields are attributes, `_url _site _kind _key _seen_at _version`
    beside them."""

    def __repr__(self) -> str:
        return f"Found({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Crawl:
    """A crawl under way: iterate over it, with `async for` or `for` (then it runs in a thread of its own).

    Rows come at least once: those of a commit that a killed process had not settled come again. `summary` is
    there after the last row. Leaving the loop early stops the crawl gracefully.
    """

    def __init__(self, targets: Sequence[str], options: dict[str, Any]) -> None:
        self.summary: Summary | None = None
        self._targets, self._options = list(targets), options
        self._rows: queue.Queue[object] = queue.Queue(ROOM)
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
            with contextlib.suppress(RuntimeError):  # it has ended by itself
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
        except BaseException as error:  # noqa: BLE001 - raised again where the rows are read
            end = error
        while not self._left:
            with contextlib.suppress(queue.Full):
                self._rows.put(end, timeout=0.1)
                return

    async def _crawl(self, job: Job) -> None:
        from gossamer.app.runner import Taps, crawl

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        if self._left:
            self._stop.set()
        self.summary = await crawl(job, stop=self._stop, taps=Taps(tables=[self]))

    def target(self) -> str:
        """As a sink: the iterator."""
        return "iterator"

    def prepare(self) -> int:
        """As a sink: nothing to make ready."""
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """As a sink: hand rows to the loop, waiting while it is busy."""
        for row in rows:
            value: object = row.data if isinstance(row.data, PageRecord) else _found(row.data)  # type: ignore[arg-type] # no whole answers
            while not self._left:
                with contextlib.suppress(queue.Full):
                    self._rows.put(value, timeout=0.1)
                    break

    def close(self) -> None:
        """As a sink: nothing to let go."""


def _found(data: dict[str, Any]) -> Found:
    found = Found()
    vars(found).update(data)
    return found


def crawl(*targets: str | os.PathLike[str], **options: Any) -> Crawl:
    """Crawl targets and iterate over what is found: page records of plain URLs, items of site files.

    Options are named as those of the command line: `limit=100`, `delay=1`, `scope="domain"`, `text=True`,
    `data=".gossamer"` (without `data` nothing is kept, and files of items are fetched only with `files=`).
    Raises GossamerError.

    >>> for page in gossamer.crawl("https://example.com", limit=100):  # doctest: +SKIP
    ...     print(page.url, page.title)
    """
    return Crawl([os.fspath(target) for target in targets], options)


def run(
    *targets: str | os.PathLike[str],
    output: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    **options: Any,
) -> Summary:
    """Run a crawl as `gossamer crawl` does, into `output`; resumes what is unfinished. Returns its summary.
    Where a loop runs already, as in notebooks, it waits for a thread of its own.

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
    """A job from keyword options; an unknown one is a UsageError naming the nearest. `folder`: where
    gossamer.toml may lie."""
    from gossamer.app.job import Job
    from gossamer.config.settings import Given, load

    own = {f for f in Job.__struct_fields__ if f not in ("targets", "settings", "outputs")}
    given = [
        Given(f"--{name}", name, os.fspath(value) if isinstance(value, os.PathLike) else value)
        for name, value in options.items()
        if name not in own and value is not None
    ]
    rest = {name: value for name, value in options.items() if name in own}
    return Job(targets=list(targets), settings=load(given, folder=folder), **rest)

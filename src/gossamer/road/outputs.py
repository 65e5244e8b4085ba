"""The outputs of a crawl as one process writes them: plain files under the crawl's lock, tables, the attempts log.

All that touches a file runs in one thread. The store knows each file's committed length; what lies beyond it is cut.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from gossamer.parts import FileOutput, FileSink, Frontier, HistorySink, Log, TableSink
from gossamer.visit import Row, Visit

Moves = Sequence[tuple[str, int, int]]
"""(path, committed length, new length) of each file that grew, in bytes."""
Append = Callable[[list[Row]], Awaitable[Moves]]


class Outputs:
    """Writes rows. `alone`: no other process writes these files, so the lock is kept. `ours`: raises where another process has closed
    them, because this one gave no sign of life."""

    def __init__(
        self, frontier: Frontier, *, lock: str | os.PathLike[str], files: Sequence[FileOutput] = (),
        tables: Sequence[TableSink] = (), log: Log | None = None, known: Log | None = None, alone: bool = True,
        ours: Callable[[], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        self._frontier, self._alone, self._ours = frontier, alone, ours
        self._files, self._tables, self._log, self._known = files, tables, log, known
        self._histories = [table for table in tables if isinstance(table, HistorySink)]
        self._lengths: dict[str, int] = {}
        self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._locked = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="output")

    async def open(self) -> None:
        """Prepare all, and cut what a killed run left beyond the committed lengths."""
        async with self._held():
            await self.reread()
            for output in self._files:
                for sink in output.sinks():
                    await self._in_thread(sink.append, self._lengths[sink.target()], ())

    async def aside(self, batch: list[Visit], rows: list[Row]) -> None:
        """What needs no committed length: the logs, and tables that upsert."""
        if self._log is not None or (self._tables and (rows or any(visit.gone for visit in batch))):
            await self._in_thread(self._write_aside, batch, rows)

    @asynccontextmanager
    async def exact(self, rows: Sequence[Row]) -> AsyncIterator[Append | None]:
        """Within it the rows' files are ours. Gives `append`; called again with fewer rows, it cuts what it wrote before.

        None when no file wants rows.
        """
        if not rows or not self._files:
            yield None
            return
        if self._ours is not None:
            await self._ours()
        async with self._held():
            sinks = {sink.target(): sink for output in self._files for sink, _ in output.route(rows)}
            if not self._alone or not sinks.keys() <= self._lengths.keys():
                await self.reread()
            yield lambda rows: self._in_thread(self._append, rows, sinks)

    def moved(self, moves: Moves) -> None:
        """These lengths are committed."""
        self._lengths.update((path, new) for path, _, new in moves)

    async def finish(self, whole: Sequence[tuple[str, str, str]] = ()) -> None:
        """At the end of a run that ended by itself: close all (the last Parquet part). A later run goes on from there.

        `whole`: sites, runs and moments; what a run did not see of its site is deleted.
        """
        async with self._held():
            for history in self._histories:
                for one in whole:
                    await self._in_thread(history.unseen, *one)
            await self.reread()
            for output in self._files:
                for sink in output.sinks():
                    await self._in_thread(sink.close, self._lengths.get(sink.target(), 0))
            for table in self._tables:
                await self._in_thread(table.close)

    def release(self) -> None:
        """Let lock and thread go, however it ended."""
        self._thread.shutdown(wait=True)
        os.close(self._lock)

    @asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        if not self._locked:
            await self._in_thread(fcntl.flock, self._lock, fcntl.LOCK_EX)
            self._locked = True
        try:
            yield
        finally:
            if not self._alone:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
                self._locked = False

    async def reread(self) -> None:
        """Committed length of every output: the largest that any bucket knows (one lock orders them all).

        One that no bucket knows is new to the crawl: it is prepared, and its first length committed before any row.
        """
        sinks: dict[str, FileSink | TableSink] = {s.target(): s for output in self._files for s in output.sinks()}
        sinks |= {table.target(): table for table in self._tables}
        known: dict[str, int] = {}
        if sinks:
            found = zip(sinks, await self._frontier.lengths(list(sinks)), strict=True)
            known = {path: length for path, length in found if length is not None}
        for path in sinks.keys() - known.keys():
            known[path] = await self._in_thread(sinks[path].prepare)
            await self._frontier.base(path, known[path])
        self._lengths = known

    def _append(self, rows: list[Row], sinks: dict[str, FileSink]) -> Moves:
        """In the thread: rows to their files. A file that gets none any more is only cut."""
        parts = {sink.target(): part for output in self._files for sink, part in output.route(rows)}
        return [
            (path, self._lengths[path], sink.append(self._lengths[path], parts.get(path, ())))
            for path, sink in sinks.items()
        ]

    def _write_aside(self, batch: list[Visit], rows: list[Row]) -> None:
        if self._log is not None:
            self._log.write([attempt for visit in batch for attempt in visit.attempts])
        if self._known is not None:
            self._known.write([visit.seen for visit in batch if visit.seen is not None])
        if rows:
            for table in self._tables:
                table.upsert(rows)
        if gone := [(visit.claim.request.url, visit.gone) for visit in batch if visit.gone]:
            for history in self._histories:
                history.gone(gone)

    def _in_thread(self, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

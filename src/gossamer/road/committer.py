"""Group commit: rows durable, then claims settled. A crash before the settle changes nothing but time lost.

One commit is in flight at a time and the next begins when it returns, so batches size themselves: large under load, small
when pages are rare. Plain files are appended under the crawl's output lock, and their new length is committed in
the same script that settles the claims of their rows; when that script finds a claim no longer ours, the rows are cut and
written again without it. After a surprise nothing is tried again here: the worker stops, and the next one cuts the tail.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gossamer.errors import Stale
from gossamer.parts import FileOutput, FileSink, Frontier, Log, TableSink
from gossamer.visit import Adds, Row, Visit

MOST_VISITS = 256
MOST_BYTES = 32 << 20
LULL = 0.02
"""Seconds that a lone visit waits for company."""
COMPANY = 32


class Committer:
    """Writes and settles what visits ended with. `alone`: no other process writes these files, the lock is kept."""

    def __init__(
        self, frontier: Frontier, *, buckets: int, lock: str | os.PathLike[str], files: Sequence[FileOutput] = (),
        tables: Sequence[TableSink] = (), log: Log | None = None, alone: bool = True,
    ) -> None:  # fmt: skip
        self.waiting: list[Visit] = []
        self.under_way: list[Visit] = []
        """Visits in the commit under way."""
        self.refused = 0
        """Visits whose claim was no longer ours."""
        self._frontier, self._buckets, self._alone = frontier, buckets, alone
        self._files, self._tables, self._log = files, tables, log
        self.on_settled: Callable[[list[Visit]], None] = lambda _: None
        self._size = 0
        self._lengths: dict[str, int] = {}
        self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._locked = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="output")
        self._wake = asyncio.Event()
        self._closing = False

    def put(self, visit: Visit) -> None:
        """Hand a visit over."""
        visit.put_at = time.monotonic()
        self.waiting.append(visit)
        self._size += visit.size
        self._wake.set()

    @property
    def full(self) -> bool:
        """Whether no more visits should begin."""
        return len(self.waiting) + len(self.under_way) >= MOST_VISITS or self._size >= MOST_BYTES

    @property
    def idle(self) -> bool:
        """Whether all is durable and settled."""
        return not self.waiting and not self.under_way

    def unsettled(self) -> list[Visit]:
        """Visits handed over and not settled yet."""
        return self.under_way + self.waiting

    async def open(self) -> None:
        """Prepare the outputs, so that what is wrong with them is said before the first page is fetched."""
        await self._in_thread(fcntl.flock, self._lock, fcntl.LOCK_EX)
        self._locked = True
        await self._read_lengths()
        for output in self._files:
            for sink in output.sinks():  # what a killed run left beyond the committed length goes now
                await self._in_thread(sink.append, self._lengths[sink.target()], ())
        if not self._alone:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._locked = False

    async def run(self) -> None:
        """Commit until `close` was called and nothing waits. A surprise ends it."""
        while not self._closing or self.waiting:
            if not self.waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            if len(self.waiting) < COMPANY and not self._closing:
                await asyncio.sleep(LULL)
            batch, self.waiting = self.waiting[:MOST_VISITS], self.waiting[MOST_VISITS:]
            self.under_way = batch
            self._size = sum(visit.size for visit in self.waiting)
            for bucket in sorted({visit.claim.bucket for visit in batch}):
                await self._commit(bucket, [visit for visit in batch if visit.claim.bucket == bucket])
            self.under_way = []
            self.on_settled(batch)

    def close(self) -> None:
        """Commit what waits, then end `run`."""
        self._closing = True
        self._wake.set()

    async def finish(self) -> None:
        """After `run` has ended well: close the outputs (the last Parquet part)."""
        if not self._locked:
            await self._in_thread(fcntl.flock, self._lock, fcntl.LOCK_EX)
            self._locked = True
        await self._read_lengths()
        await self._in_thread(self._close_outputs)

    def release(self) -> None:
        """Let lock and thread go, however it ended."""
        self._thread.shutdown(wait=True)
        os.close(self._lock)

    async def _commit(self, bucket: int, batch: list[Visit]) -> None:
        rows = [row for visit in batch for row in visit.rows]
        if self._log is not None or (self._tables and rows):
            await self._in_thread(self._write_aside, batch, rows)
        if not rows or not self._files:
            return await self._settle(bucket, batch, ())
        if not self._locked:
            await self._in_thread(fcntl.flock, self._lock, fcntl.LOCK_EX)
            self._locked = True
        try:
            kinds = [sink.target() for output in self._files for sink, _ in output.route(rows)]
            if not self._alone or any(path not in self._lengths for path in kinds):
                await self._read_lengths()
            await self._commit_rows(bucket, batch)
        finally:
            if not self._alone:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
                self._locked = False

    async def _commit_rows(self, bucket: int, batch: list[Visit]) -> None:
        """Append, then settle with the new lengths; under the lock."""
        while True:
            rows = [row for visit in batch for row in visit.rows]
            moves = await self._in_thread(self._append, rows)
            lost = await self._try_settle(bucket, batch, moves)
            if lost is None:
                self._lengths.update((path, new) for path, _, new in moves)
                return
            batch = [visit for visit in batch if visit.claim.token not in lost]

    async def _settle(self, bucket: int, batch: list[Visit], moves: Sequence[tuple[str, int, int]]) -> None:
        while batch:
            lost = await self._try_settle(bucket, batch, moves)
            if lost is None:
                return
            batch = [visit for visit in batch if visit.claim.token not in lost]

    async def _try_settle(
        self, bucket: int, batch: list[Visit], moves: Sequence[tuple[str, int, int]]
    ) -> set[int] | None:
        """None when settled; the tokens that are no longer ours when not."""
        counts: Counter[str] = Counter()
        adds: Adds = {}
        for visit in batch:
            counts.update(visit.counts)
            for group, flat in visit.adds.items():
                adds.setdefault(group, []).extend(flat)
        now = time.monotonic()
        ends = [visit.ends(now) for visit in batch if visit.settle.action]  # a robots visit is only logged
        try:
            await self._frontier.settle(bucket, ends, counts, adds, moves)
        except Stale as stale:
            self.refused += len(stale.tokens)
            return set(stale.tokens)
        return None

    async def _read_lengths(self) -> None:
        """Committed length of every output: the largest that any bucket knows (one lock orders them all).

        One that no bucket knows is new to the crawl: it is prepared, and its first length committed before any row.
        """
        sinks: dict[str, FileSink | TableSink] = {s.target(): s for output in self._files for s in output.sinks()}
        sinks |= {table.target(): table for table in self._tables}
        known: dict[str, int] = {}
        for bucket in range(self._buckets if sinks else 0):
            for path, length in zip(sinks, await self._frontier.lengths(bucket, list(sinks)), strict=True):
                if length is not None:
                    known[path] = max(known.get(path, 0), length)
        for path in sinks.keys() - known.keys():
            known[path] = await self._in_thread(sinks[path].prepare)
            await self._frontier.base(path, known[path])
        self._lengths = known

    def _append(self, rows: list[Row]) -> list[tuple[str, int, int]]:
        """In the thread: rows to their files; (path, committed, new length) of each that moved."""
        moves = []
        for output in self._files:
            for sink, part in output.route(rows):
                path = sink.target()
                committed = self._lengths[path]
                moves.append((path, committed, sink.append(committed, part)))
        return moves

    def _write_aside(self, batch: list[Visit], rows: list[Row]) -> None:
        if self._log is not None:
            self._log.write([attempt for visit in batch for attempt in visit.attempts])
        if rows:
            for table in self._tables:
                table.upsert(rows)

    def _close_outputs(self) -> None:
        for output in self._files:
            for sink in output.sinks():
                sink.close(self._lengths.get(sink.target(), 0))
        for table in self._tables:
            table.close()

    def _in_thread(self, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

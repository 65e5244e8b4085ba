"""Writes the outputs of a crawl from one process. The outputs are plain files, tables, the log of attempts
and the log of known pages. Plain files are written while this process holds the crawl's output lock.

All access to files runs in one thread. The store records each file's committed length, and bytes beyond this
length are removed. If a sink is unavailable, the process reports the outage once, and retries until the crawl
is stopped. During the outage, visits wait in the committer, and the worker claims no more URLs.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gossamer.config.data_files import open_file
from gossamer.errors import SinkAway
from gossamer.model.interfaces import (
    Drops,
    FileOutput,
    FileSink,
    FrontierVerbs,
    HistorySink,
    Log,
    Movable,
    Packs,
    Ships,
    TableSink,
)
from gossamer.model.visit import Row, Visit
from gossamer.sinks.rows_in_data_folder import KeptRows
from gossamer.state.attempts_table import AttemptsTable, pack_lines
from gossamer.worker.backfill_outputs import OutputBackfill
from gossamer.worker.row_counts import refused_by_files, take_counts

if TYPE_CHECKING:
    from gossamer.recrawl.stored_table import VisitOutcomes

FIRST_RETRY_S, MAX_RETRY_S = 0.1, 5.0
"""FIRST_RETRY_S is the number of seconds before the first retry, and MAX_RETRY_S is the maximum number of
seconds between two retries. The interval between retries doubles after each retry."""
REPORT_OUTAGE_AFTER_S = 1.0
"""The number of seconds after which an outage of a sink is reported."""

WAITING = ": waiting for it"
"""The last part of the message that reports an outage."""

Say = Callable[[str, bool], Awaitable[None]]
"""A function that reports the beginning or the end of an outage. The first argument is a message. The second
argument is True at the beginning, and False at the end."""
Result = TypeVar("Result")


class SinkRetry:
    """Retries calls that fail because a sink is unavailable.

    If `say` is None, a failed call raises SinkAway immediately. After `stop` is set or the monotonic time
    `deadline` has passed, a call is tried once more, and raises SinkAway if this try fails.
    """

    def __init__(
        self, say: Say | None, stop: asyncio.Event | None = None, deadline: float | None = None
    ) -> None:
        self._say, self._stop = say, stop or asyncio.Event()
        self._deadline = math.inf if deadline is None else deadline
        self._since = 0.0
        self._pause, self._next = FIRST_RETRY_S, 0.0
        self._told = ""

    async def through(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Retries `call` until its sink answers, and returns the result. Raises SinkAway if retries are
        disabled, `stop` is set or the deadline has passed."""
        while True:
            last = self._stop.is_set() or time.monotonic() >= self._deadline
            try:
                result = await call()
            except SinkAway as error:
                await self.away(error)
                if last:
                    raise SinkAway(f"{error}; nothing is lost: run the same command again") from error
                with contextlib.suppress(TimeoutError):
                    until = min(self._next, self._deadline) - time.monotonic()
                    await asyncio.wait_for(self._stop.wait(), max(0.001, until))
            else:
                await self.back()
                return result

    @property
    def is_away(self) -> bool:
        """Whether the last call failed because a sink is unavailable."""
        return self._since > 0

    @property
    def is_early(self) -> bool:
        """Whether it is still too early for the next retry."""
        return time.monotonic() < self._next

    async def away(self, error: SinkAway) -> None:
        """Records that a sink is unavailable, and reports the outage once. If retries are disabled (`say` is
        None), raises the error."""
        if self._say is None:
            raise error
        now = time.monotonic()
        self._since = self._since or now
        self._next = now + self._pause
        self._pause = min(2 * self._pause, MAX_RETRY_S)
        if not self._told and now - self._since >= REPORT_OUTAGE_AFTER_S:
            self._told = str(error)
            await self._say(f"{error}{WAITING}", True)

    def take_over(self, reported: str) -> None:
        """Records that an earlier process reported an outage, so that this process reports the end of the
        outage."""
        self._told = reported

    async def back(self) -> None:
        """Records that the sink is available again. If the outage was reported, also reports the end of the
        outage."""
        if self._told and self._say is not None:
            after = f" after {time.monotonic() - self._since:.0f} s" if self._since else ""
            await self._say(f"the output answers again{after}", False)
        self._since, self._pause, self._next, self._told = 0.0, FIRST_RETRY_S, 0.0, ""


Moves = Sequence[tuple[str, int, int]]
"""The files to which rows were appended. Each tuple contains the path, the committed length before the
append, and the length after the append. Both lengths are in bytes."""
Append = Callable[[list[Row]], Awaitable[Moves]]
Hold = Callable[[list[Row]], Awaitable[None]]
"""A function that holds back rows that lack usual values. The rows are held back until the end of the run,
when `model.absence.judge` decides which of the rows are stored."""


class VisitRecords(NamedTuple):
    """Where visits are recorded. `log`: the log of attempts. `known`: the log of known pages. `attempts`: the
    table of attempts in a shared store. `skipped`: the list of skipped URLs.
    `outcomes`: a list in the store, to which the workers of a fleet add their visits in a recrawl."""

    log: Log | None = None
    known: Log | None = None
    attempts: AttemptsTable | None = None
    outcomes: VisitOutcomes | None = None
    skipped: Log | None = None


class WriterRights(NamedTuple):
    """Whether a process may write files. `alone`: whether it is the only writer. A sole writer keeps the lock
    between commits. `ours`: checks whether the process may still write. Raises an error if the process sent no
    heartbeat and another process has closed the files."""

    alone: bool = True
    ours: Callable[[], Awaitable[None]] | None = None


class OutageRules(NamedTuple):
    """What happens while a sink is unavailable. `say`: called when an outage begins or ends. An outage raises
    an error if `say` is None, `stop` is set or the `deadline` has passed."""

    say: Say | None = None
    stop: asyncio.Event | None = None
    deadline: float | None = None


class PastRows(NamedTuple):
    """What the rows of earlier runs decide. `hold`: holds back, until the end of the run, the rows that lack
    usual values. None: these rows are written immediately. `kept`: the rows that the crawl has kept so far, or
    None if the crawl has not kept all of its rows. A new output is first filled with the kept rows.
    `only_pass`: whether a new output is filled only with the rows of the current pass (`--refresh`)."""

    hold: Hold | None = None
    kept: KeptRows | None = None
    only_pass: bool = False


NO_RECORDS, SOLE_WRITER, NO_OUTAGES, NO_PAST = VisitRecords(), WriterRights(), OutageRules(), PastRows()


class Outputs:
    """Writes the rows of one process.

    - `lock`: path of the lock file of the crawl's outputs. `files`, `tables`: the outputs.
    - `records`: where visits are recorded. `writer`: whether this process may write.
    - `outages`: what happens while a sink is unavailable. `past`: the rows of earlier runs.
    """

    def __init__(
        self,
        frontier: FrontierVerbs,
        *,
        lock: str | os.PathLike[str],
        files: Sequence[FileOutput] = (),
        tables: Sequence[TableSink] = (),
        records: VisitRecords = NO_RECORDS,
        writer: WriterRights = SOLE_WRITER,
        outages: OutageRules = NO_OUTAGES,
        past: PastRows = NO_PAST,
    ) -> None:
        self._frontier, self._files, self._tables = frontier, files, tables
        self._alone, self._ours = writer
        self._log, self._known, self._attempts, self._outcomes, self._skipped = records
        self._hold, kept, only_pass = past
        self._histories = [table for table in tables if isinstance(table, HistorySink)]
        self.waiting = SinkRetry(*outages)
        """Retries the calls of commits while a sink is unavailable."""
        # kept separate, so that the success of another sink does not end an outage of an append-only store
        self._shipping = SinkRetry(*outages)
        self._lengths: dict[str, int] = {}
        self._lock = open_file(lock, os.O_RDWR | os.O_CREAT)
        self._locked = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="output")
        self._patiently = _patient(self.waiting, self._thread)
        self._ship_patiently = _patient(self._shipping, self._thread)
        self.backfill = OutputBackfill(frontier, kept, self._patiently, only_pass=only_pass)

    @property
    def keeps_items(self) -> bool:
        """Whether one of the outputs is a table that keeps the history of each item."""
        return bool(self._histories)

    def take_over_outage(self, reason: str) -> None:
        """Continues an outage that an earlier process reported, so that this process reports the end of the
        outage. `reason`: the reason for the crawl's state, as the store contains it. If an earlier process
        reported an outage, `reason` contains the report."""
        if reason.endswith(WAITING):
            ships = any(isinstance(sink, Ships) for sink in self._all())
            (self._shipping if ships else self.waiting).take_over(reason)

    async def open(self) -> None:
        """Prepares all outputs, and truncates the files to their committed lengths, because a killed run may
        have left further bytes."""
        async with self._held():
            await _reopen(self._files, self._frontier)
            await self.backfill.open_kinds(self._files)
            fills = self.backfill.may_fill(self._files, self._tables)
            await self.backfill.forget_deleted(fills)
            starts = await self.backfill.starts(fills)
            new = await self.read_lengths(starts)
            await self.backfill.note(new, self._lengths, fills, starts, self._tables)
            await self.backfill.fill(self._files, self._tables, self._lengths, self._add)
            for output in self._files:
                for sink in output.sinks():
                    await self._patiently(sink.append, self._lengths[sink.target()], ())

    async def aside(self, batch: list[Visit], rows: list[Row]) -> None:
        """Writes the results of visits to all outputs except plain files, namely to the logs, the tables and
        the lists in the store."""
        notes: list[tuple[Log, list[Any]]] = []
        if self._log is not None:
            notes.append((self._log, [attempt for visit in batch for attempt in visit.attempts]))
        if self._known is not None:
            notes.append((self._known, [visit.seen for visit in batch if visit.seen is not None]))
        if self._skipped is not None and (found := [one for visit in batch for one in visit.skipped]):
            notes.append((self._skipped, found))
        if notes:
            await self._patiently(_note, notes)
        if self._attempts is not None and (lines := [one for visit in batch for one in visit.attempts]):
            await self._attempts.add(await self._in_thread(pack_lines, lines), len(lines))
        if self._outcomes is not None:
            await self._outcomes.add([visit.seen for visit in batch if visit.seen is not None])
        if rows and self._tables:
            await self._upsert(batch, rows)
        if self._histories and (
            gone := [(visit.claim.request.url, visit.gone) for visit in batch if visit.gone]
        ):
            for history in self._histories:
                await self._patiently(history.gone, gone)

    async def _upsert(self, batch: list[Visit], rows: list[Row]) -> None:
        """Upserts rows into the tables. Rows that lack usual values are not written to tables that keep an
        item history, because these rows are held back until the end of the run. What the tables did with a
        row is added to the counts of the row's visit, so that it is settled with the visit. If several tables
        compare items, the first one tells the fate of a row."""
        held = [row for row in rows if row.lacks] if self._hold is not None and self._histories else []
        if held and self._hold is not None:
            await self._hold(held)
        good = [row for row in rows if not row.lacks] if held else rows
        counts = batch[0].counts
        names: list[tuple[Row, str]] = []
        for table in self._tables:
            some = good if isinstance(table, HistorySink) else rows
            await self._patiently(table.upsert, some)
            told = {id(row) for row, name in names if name.startswith("fate|")}
            found = take_counts(table, self.backfill.since, told)
            counts = {**counts, **found.written}
            names += found.rows
        batch[0].counts = counts
        if names:
            visits = {id(row): visit for visit in batch for row in visit.rows}
            more: dict[int, Counter[str]] = {}
            for row, name in names:
                more.setdefault(id(visits[id(row)]), Counter())[name] += 1
            for visit in batch:
                visit.counts = {**visit.counts, **more.get(id(visit), {})}

    @asynccontextmanager
    async def exact(self, rows: Sequence[Row]) -> AsyncIterator[Append | None]:
        """A context manager that locks the files to which the given rows are written. Yields a function
        `append`, or None if there are no rows or no files. A repeated call of `append` replaces the rows that
        the previous call wrote."""
        if not rows or not self._files:
            yield None
            return
        if self._ours is not None:
            await self._ours()
        sinks: dict[str, FileSink] = {}
        for output in self._files:
            for sink, part in output.route(rows):
                sinks[sink.target()] = sink
                if isinstance(sink, Packs):
                    sink.pack(part)
        async with self._held():
            if not self._alone or not sinks.keys() <= self._lengths.keys():
                await self.read_lengths()
            yield lambda rows: self._patiently(self._append, rows, sinks)

    async def ship(self) -> None:
        """Sends committed rows to append-only stores. If an append-only store is unavailable, waits for the
        store only if too many rows are queued. Also counts the rows that files and these stores refused."""
        shipped = [sink for sink in self._all() if isinstance(sink, Ships)]
        early = self._shipping.is_early and not any(
            sink.full(_length(self._lengths, sink)) for sink in shipped
        )
        if shipped and not early:
            async with self._held():
                for sink in shipped:
                    if sink.full(_length(self._lengths, sink)):
                        await self._ship_patiently(sink.ship, _length(self._lengths, sink))
                        continue
                    try:
                        await self._in_thread(sink.ship, _length(self._lengths, sink))
                        await self._shipping.back()
                    except SinkAway as error:
                        await self._shipping.away(error)
        if counts := refused_by_files(self._all()):
            await self._frontier.count(counts)

    def refused_at_once(self) -> dict[str, int]:
        """Returns how many rows files have refused since the last call, by the name of their count. The caller
        settles these counts with the visits of the rows."""
        return refused_by_files([sink for sink in self._all() if not isinstance(sink, Ships)])

    def moved(self, moves: Moves) -> None:
        """Records that the new lengths in `moves` are committed."""
        self._lengths.update((path, new) for path, _, new in moves)

    async def conclude(self, work: Callable[[HistorySink], None]) -> None:
        """Calls `work` with each table that keeps an item history. The caller uses this method at the end of
        a run, when all rows of the run are known."""
        for history in self._histories:
            await self._patiently(work, history)

    async def finish(self, *, wait: bool = False) -> None:
        """Closes all outputs, including the last Parquet part, at the end of a run. A later run can continue
        the outputs.

        Raises SinkAway if an unavailable sink has not received all rows yet. A later run sends the missing
        rows. `wait`: whether to wait for unavailable sinks. The wait ends when the sinks answer or the run is
        stopped.
        """
        away: SinkAway | None = None
        async with self._held():
            await _reopen(self._files, self._frontier)
            await self.read_lengths()
            for sink in self._all():
                try:
                    if wait and isinstance(sink, Ships):
                        await self._ship_patiently(sink.ship, _length(self._lengths, sink))
                    await (self._patiently if wait else self._in_thread)(
                        sink.close, _length(self._lengths, sink)
                    )
                except SinkAway as error:
                    away = error
            for table in self._tables:
                await self._in_thread(table.close)
        if counts := refused_by_files(self._all()):
            await self._frontier.count(counts)
        if away is not None:
            raise away

    def release(self) -> None:
        """Releases the lock and closes the thread, the files and the connections. Must be called after every
        run, even after a failed one."""
        for table in self._tables:
            self._thread.submit(table.close)
        for sink in self._all():
            if isinstance(sink, Drops):
                self._thread.submit(sink.drop)
        self._thread.shutdown(wait=True)
        for log in (self._log, self._known, self._skipped):
            if log is not None:
                log.close()
        os.close(self._lock)

    def _all(self) -> list[FileSink]:
        return [sink for output in self._files for sink in output.sinks()]

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

    async def read_lengths(self, fill_from: Mapping[str, int] | None = None) -> list[str]:
        """Reads the committed length of every output from the store. Each bucket stores a separate length for
        an output. The largest length of an output is the latest length, because all commits are made under
        one lock.

        An output without a committed length is new or was moved to another path. A new output is prepared,
        and its initial length is committed before any row is written. Returns the paths of the new outputs.
        `fill_from`: maps the path of an output to an offset in the file of kept rows. A new output is filled
        with the kept rows from its offset on.
        """
        sinks: dict[str, FileSink | TableSink] = {
            s.target(): s for output in self._files for s in output.sinks()
        }
        sinks |= {table.target(): table for table in self._tables}
        known: dict[str, int] = {}
        if sinks:
            found = zip(sinks, await self._frontier.lengths(list(sinks)), strict=True)
            known = {path: length for path, length in found if length is not None}
        if new := sinks.keys() - known.keys():
            known |= await self._moved_here(
                {path: sink for path in new if isinstance(sink := sinks[path], Movable)}, known
            )
        self._lengths = known
        added = [path for path in sinks if path not in known]
        for path in added:
            await self._add(sinks[path], path, (fill_from or {}).get(path))
        return added

    async def _add(self, sink: FileSink | TableSink, path: str, fill_from: int | None = None) -> None:
        """Prepares a new output of the crawl, and commits its initial length. `fill_from`: an offset in the
        file of kept rows. The output must be filled with the kept rows from this offset on. If a killed run
        has already added the output, the method only reads the output's length."""
        (length,) = await self._frontier.lengths([path])
        if length is None:
            if fill_from is not None:
                await self._frontier.fill(path, fill_from)
            length = await self._patiently(sink.prepare)
            await self._frontier.base(path, length)
        self._lengths[path] = length

    async def _moved_here(self, sinks: Mapping[str, Movable], known: Mapping[str, int]) -> dict[str, int]:
        """Detects outputs of this crawl that were moved to a new path, and returns the committed lengths of
        these outputs, keyed by the new path."""
        moved: dict[str, int] = {}
        lengths = await self._frontier.all_lengths()
        left = {path: length for path, length in lengths.items() if path not in known}
        for path, sink in sinks.items() if left else ():
            if (was := await self._in_thread(sink.find, left)) is not None:
                moved[path] = left.pop(was)
                await self._in_thread(sink.adopt, was)
                await self._frontier.renamed(was, path, moved[path])
        return moved

    def _append(self, rows: list[Row], sinks: dict[str, FileSink]) -> Moves:
        """Appends rows to their files. This method runs in the output thread. A file that receives no rows is
        only truncated to its committed length."""
        parts = {sink.target(): part for output in self._files for sink, part in output.route(rows)}
        return [
            (path, self._lengths[path], sink.append(self._lengths[path], parts.get(path, ())))
            for path, sink in sinks.items()
        ]

    def _in_thread(self, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call, *args)


def _length(lengths: Mapping[str, int], sink: FileSink) -> int:
    return lengths.get(sink.target(), 0)


async def _reopen(files: Sequence[FileOutput], frontier: FrontierVerbs) -> None:
    """Opens the files of undeclared kinds that other processes of the crawl wrote. Such a file may have to be cut,
    filled or closed although this process writes no row of its kind."""
    if split := [output for output in files if output.is_split]:
        lengths = dict.fromkeys(await frontier.filling(), 0) | await frontier.all_lengths()
        for output in split:
            output.reopen(lengths)


def _patient(waiting: SinkRetry, thread: ThreadPoolExecutor) -> Callable[..., Awaitable[Any]]:
    """Returns a function that runs a call in the output thread, and retries the call while its sink is
    unavailable."""

    def patiently(call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        loop = asyncio.get_running_loop()
        return waiting.through(lambda: loop.run_in_executor(thread, call, *args))

    return patiently


def _note(notes: list[tuple[Log, list[Any]]]) -> None:
    """Writes the entries of each log. This function runs in the output thread. After a log's entries are
    written, the log is removed from `notes`, so that a retry does not write the same entries twice."""
    while notes:
        log, entries = notes[0]
        log.write(entries)
        del notes[0]

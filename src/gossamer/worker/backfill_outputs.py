"""Fills outputs with the rows of earlier runs. The *kept rows* are the rows that the crawl keeps in a file in
its data folder (`sinks.rows_in_data_folder`). Kept rows are copied to two kinds of outputs: outputs that a
later run adds to the crawl, and outputs that some earlier runs of the crawl did not write.

While an output is being filled, the store records the output's length. The store also records an offset in
the file of kept rows. The rows before this offset have been copied. A later run can therefore continue after
a killed run. The caller must hold the lock of the outputs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from gossamer.model.interfaces import FileOutput, FileSink, FrontierVerbs, HistorySink, TableSink
from gossamer.model.visit import Row
from gossamer.sinks.parquet import discard_parts, missing_part
from gossamer.sinks.rows_in_data_folder import TARGET, KeptRows
from gossamer.worker.row_counts import take_counts, tells_fates

PASS = ""
"""The name of an entry in the store. The entry contains an offset in the file of kept rows. The current pass
(`--refresh`) begins at this offset."""
LOST = -1
"""This value is stored instead of an output's offset if the output cannot be filled. An output cannot be
filled if the crawl did not keep the missing rows."""
Through = Callable[..., Awaitable[Any]]
"""A function that runs a call in the thread of the outputs, and repeats the call while the sink is
unavailable."""
Add = Callable[[FileSink, str, int], Awaitable[None]]
"""A function that prepares an output file that is new to the crawl. The function gets the sink, the path of
the new file, and an offset in the file of kept rows. The new file lacks the kept rows from this offset on."""


class OutputBackfill:
    """Fills the outputs of one process.

    `kept`: the kept rows, or None if the crawl has not kept all of its rows. `only_pass`: whether new outputs
    get only the rows of the current pass (`--refresh`).
    """

    def __init__(
        self, frontier: FrontierVerbs, kept: KeptRows | None, through: Through, *, only_pass: bool
    ) -> None:
        self._frontier, self._kept, self._through, self._only_pass = frontier, kept, through, only_pass
        self.added: list[str] = []
        """The paths of the outputs into which this run wrote rows of earlier runs."""
        self.whole: list[str] = []
        """The paths of `added` into which this run wrote all rows of earlier runs."""
        self.unfilled: list[str] = []
        """The paths of outputs that lack rows of earlier runs. The outputs cannot be filled, because the
        crawl did not keep the missing rows."""
        self.changes: list[str] = []
        """The paths of outputs that lack the rows before the current pass, because they are new, were deleted
        or are overwritten."""
        self.torn: list[str] = []
        """One line per output that lacked a part and is written again."""
        self.since: str | None = None
        """See `sinks.history.row_fates`."""
        self._counts_fates = True

    def count_from(self, since: str | None, *, counted: bool) -> None:
        """Sets the start of the crawl, from which fates of rows are counted (`sinks.history.row_fates`).
        `counted`: whether an earlier run has counted the fates of the kept rows."""
        self.since, self._counts_fates = since, not counted

    @staticmethod
    def may_fill(files: Sequence[FileOutput], tables: Sequence[TableSink]) -> dict[str, bool]:
        """Returns one entry per output that the user named, keyed by the path of the output. The value for an
        output is True if the crawl keeps the rows of the output (see `fills` of
        `sinks.open_outputs.FilteredFiles`)."""
        found = {table.target(): getattr(table, "fills", None) for table in tables}
        for output in files:
            found |= {sink.target(): getattr(output, "fills", None) for sink in output.sinks()}
        return {path: fills for path, fills in found.items() if fills is not None}

    async def open_kinds(self, files: Sequence[FileOutput]) -> None:
        """Opens the files of the kinds of the kept rows, in outputs that have no open file. The kinds of such
        an output are not declared, and no earlier run wrote to it."""
        new = [output for output in files if not output.sinks()]
        if self._kept is None or not new:
            return
        (end,) = await self._frontier.lengths([TARGET])
        end = end or (await self._frontier.filling()).get(PASS)  # a pass forgets the lengths
        if not end:
            return
        rows: dict[tuple[str, object], Row] = {}
        groups = self._kept.read(0, end)
        while (group := await self._through(next, groups, None)) is not None:
            for row in group[0]:
                site = row.data.get("_site") if isinstance(row.data, dict) else None
                rows.setdefault((row.kind, site), row)
        for output in new:
            output.route([*rows.values()])

    async def forget_deleted(self, fills: Mapping[str, bool]) -> None:
        """Makes an output whose file was deleted a new output, so that the kept rows are written again. A folder
        of Parquet parts that lacks a part is emptied and written again. Does nothing if the crawl did not keep
        all of its rows."""
        local = [path for path, kept in fills.items() if kept and os.path.isabs(path)]
        if self._kept is None or not local:
            return
        lengths = await self._frontier.all_lengths()
        known = lengths.keys() | (await self._frontier.filling()).keys()
        for path in (path for path in local if path in known):
            if missing := lacking_part(path, lengths.get(path, 0)):
                await self._through(discard_parts, path, missing)
                self.torn.append(f"{path}: {missing} is missing; all its rows are written again")
            if missing or is_absent(path):
                await self._frontier.no_length(path)
                await self._frontier.filled([path])

    async def starts(self, fills: Mapping[str, bool]) -> dict[str, int]:
        """Maps the path of each output to an offset in the file of kept rows. A new output must be filled
        with the kept rows from its offset on. Outputs for which the store already contains an offset are left
        out."""
        if self._kept is None:
            return {}
        marked = await self._frontier.filling()
        if PASS not in marked and not any(await self._frontier.lengths([TARGET])):
            return {}
        start = marked.get(PASS, 0) if self._only_pass else 0
        return {path: start for path, kept in fills.items() if kept and path not in marked}

    async def note(
        self,
        new: Sequence[str],
        lengths: Mapping[str, int],
        fills: Mapping[str, bool],
        starts: Mapping[str, int],
        tables: Sequence[TableSink],
    ) -> None:
        """Records which new outputs lack rows of earlier runs. `lengths`: the lengths of all outputs.
        `fills`: the result of `may_fill`. `starts`: the result of the method `starts`."""
        # in a pass, each output is new to the store, and an output that is still empty has no earlier rows
        before = (await self._frontier.filling()).get(PASS, 0) if self._only_pass else 0
        files = lengths.keys() - {table.target() for table in tables}
        emptied = {path for path in new if path in files and not lengths[path]}
        self.changes += [
            path for path in new if fills.get(path) and (starts.get(path) or (before and path in emptied))
        ]
        self.unfilled += [
            path
            for path in new
            if (fills.get(path) is False or (fills.get(path) and not self._kept))
            and (not self._only_pass or path in emptied)
        ]

    async def fill(
        self,
        files: Sequence[FileOutput],
        tables: Sequence[TableSink],
        lengths: dict[str, int],
        add: Add,
    ) -> None:
        """Fills the outputs of this run. For each output of the crawl that this run does not write, stores an
        offset, so that a later run can fill the output from this offset."""
        filled = await self._frontier.filling()
        reached = LOST if self._kept is None else lengths[TARGET]
        absent = (await self._frontier.all_lengths()).keys() - lengths.keys() - {TARGET, PASS}
        for path in absent - filled.keys():
            await self._frontier.fill(path, reached)
        ours = {path: at for path, at in filled.items() if path in lengths}
        lost = {path for path, at in ours.items() if at == LOST or self._kept is None}
        self.unfilled += sorted(lost)
        self.added += sorted(path for path, at in ours.items() if path not in lost and at < reached)
        self.whole += [path for path in self.added if not ours[path]]
        for output in files:
            if names := {sink.target() for sink in output.sinks()} & {*self.added}:
                await self._fill_files(output, {name: ours[name] for name in names}, lengths, add)
        added = [table for table in tables if table.target() in self.added]
        for at, table in enumerate(added):
            counts_fates = self._counts_fates and not tells_fates(added[:at])
            await self._fill_table(table, ours[table.target()], reached, counts_fates=counts_fates)
        await self._frontier.filled(list(ours))

    async def _fill_files(
        self, output: FileOutput, filled: dict[str, int], lengths: dict[str, int], add: Add
    ) -> None:
        """Appends the kept rows to the files of an output. `filled`: maps the path of each file to an offset
        in the file of kept rows. The output file already contains the kept rows before this offset. Rows are
        copied in groups, which begin at the same offsets in every run."""
        assert self._kept is not None
        at = min(filled.values())
        groups = self._kept.read(at, lengths[TARGET])
        while (group := await self._through(next, groups, None)) is not None:
            rows, after = group
            for sink, part in output.route(rows):
                path = sink.target()
                if path not in lengths:  # the first rows of a kind create a new file
                    await add(sink, path, at)
                    filled[path] = (await self._frontier.filling()).get(path, after)
                if filled.get(path, after) <= at:
                    lengths[path] = await self._through(sink.append, lengths[path], part)
                    await self._frontier.fill(path, after, lengths[path])
            at = after

    async def _fill_table(self, table: TableSink, at: int, reached: int, *, counts_fates: bool) -> None:
        """Upserts the kept rows into a table. If the table keeps an item history, rows that lack usual values
        are left out, because these rows may have been rejected at the end of their run. `counts_fates`:
        whether the crawl counts which of these rows are new, changed and unchanged."""
        assert self._kept is not None
        groups = self._kept.read(at, reached)
        while (group := await self._through(next, groups, None)) is not None:
            rows, after = group
            good: list[Row] = [row for row in rows if not (row.lacks and isinstance(table, HistorySink))]
            await self._through(table.upsert, good)
            told = set() if counts_fates else {id(row) for row in good}
            written, names = take_counts(table, self.since, told)
            await self._frontier.count({**written, **Counter(name for _, name in names)})
            await self._frontier.fill(table.target(), after)


def is_absent(path: str) -> bool:
    """Returns whether an output is a local file or folder that does not exist. A workbook is only written at
    the end of a run, from a journal."""
    return os.path.isabs(path) and not os.path.exists(path) and not path.lower().endswith(".xlsx")


def lacking_part(path: str, committed: int) -> str:
    """Returns the name of a part that is missing from a folder of Parquet parts, or ''."""
    return missing_part(path, committed) if path.endswith(".parquet") and os.path.isdir(path) else ""

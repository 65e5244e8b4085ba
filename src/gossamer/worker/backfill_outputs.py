"""Fills outputs with the rows of earlier runs. The *kept rows* are the rows that the crawl keeps in a file in
its data folder (`sinks.rows_in_data_folder`). Kept rows are copied to two kinds of outputs: outputs that a
later run adds to the crawl, and outputs that some earlier runs of the crawl did not write.

While an output is being filled, the store records the output's length. The store also records an offset in
the file of kept rows. The rows before this offset have been copied. A later run can therefore continue after
a killed run. The caller must hold the lock of the outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import xxhash

from gossamer.model.interfaces import FileOutput, FileSink, FrontierVerbs, HistorySink, TableSink
from gossamer.model.visit import Row
from gossamer.sinks.rows_in_data_folder import TARGET, KeptRows

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
        self.unfilled: list[str] = []
        """The paths of outputs that lack rows of earlier runs. The outputs cannot be filled, because the
        crawl did not keep the missing rows."""
        self.changes: list[str] = []
        """The paths of new outputs that contain only rows of the current pass."""

    @staticmethod
    def may_fill(files: Sequence[FileOutput], tables: Sequence[TableSink]) -> dict[str, bool]:
        """Returns one entry per output that the user named, keyed by the path of the output. The value for an
        output is True if the crawl keeps the rows of the output (see `fills` of
        `sinks.open_outputs.FilteredFiles`)."""
        found = {table.target(): getattr(table, "fills", None) for table in tables}
        for output in files:
            found |= {sink.target(): getattr(output, "fills", None) for sink in output.sinks()}
        return {path: fills for path, fills in found.items() if fills is not None}

    async def starts(self, fills: Mapping[str, bool]) -> dict[str, int]:
        """Maps the path of each output to an offset in the file of kept rows. A new output must be filled
        with the kept rows from its offset on. Outputs for which the store already contains an offset are left
        out."""
        if self._kept is None or not any(await self._frontier.lengths([TARGET])):
            return {}
        marked = await self._frontier.filling()
        start = marked.get(PASS, 0) if self._only_pass else 0
        return {path: start for path, kept in fills.items() if kept and path not in marked}

    def note(self, new: Sequence[str], fills: Mapping[str, bool], starts: Mapping[str, int]) -> None:
        """Records which new outputs lack rows of earlier runs. `fills`: the result of `may_fill`. `starts`:
        the result of the method `starts`."""
        self.changes += [path for path in new if starts.get(path)]
        self.unfilled += [
            path for path in new if fills.get(path) is False or (fills.get(path) and not self._kept)
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
        for output in files:
            if names := {sink.target() for sink in output.sinks()} & {*self.added}:
                await self._fill_files(output, {name: ours[name] for name in names}, lengths, add)
        for table in tables:
            if table.target() in self.added:
                await self._fill_table(table, ours[table.target()], reached)
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

    async def _fill_table(self, table: TableSink, at: int, reached: int) -> None:
        """Upserts the kept rows into a table. If the table keeps an item history, rows that lack usual values
        are left out, because these rows may have been rejected at the end of their run."""
        assert self._kept is not None
        groups = self._kept.read(at, reached)
        while (group := await self._through(next, groups, None)) is not None:
            rows, after = group
            good: list[Row] = [row for row in rows if not (row.lacks and isinstance(table, HistorySink))]
            await self._through(table.upsert, good)
            await self._frontier.count(written_counts(table))
            await self._frontier.fill(table.target(), after)


def written_counts(table: TableSink) -> dict[str, int]:
    """Returns how many rows of each kind a table has accepted and refused since the last call, and resets
    these counts. Returns {} if the table does not count its rows."""
    offered: Counter[str] | None = getattr(table, "offered", None)
    refused: Counter[str] | None = getattr(table, "refused", None)
    if offered is None or refused is None:
        return {}
    name = f"out|{xxhash.xxh32_hexdigest(table.target().encode())}|"
    counts = {f"{name}{kind}|w": n - refused[kind] for kind, n in offered.items() if n > refused[kind]}
    counts |= {f"{name}{kind}|r": min(n, offered[kind]) for kind, n in refused.items() if n}
    offered.clear()
    refused.clear()
    return counts

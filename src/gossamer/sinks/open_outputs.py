"""Opens all outputs of a crawl, routes rows to them, and makes sure that no two outputs write to the same
file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gossamer.errors import UsageError
from gossamer.model.interfaces import FileOutput, FileSink, HistorySink, TableSink
from gossamer.model.visit import ASIDE, LINK, LINKS, RAW, Row
from gossamer.sinks import graph as graphs
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.attempts import TABLE, attempt_columns, kind
from gossamer.sinks.columns import Columns
from gossamer.sinks.history import Arrival
from gossamer.sinks.jsonl import JsonLines
from gossamer.sinks.output_spec import WHOLE, open_output, parse
from gossamer.sinks.output_spec import OpenedOutput as Files

Wanted = Callable[[Row], bool]
Outputs = tuple[list[FileOutput], list[TableSink]]
MAX_REJECTS_BYTES = 64 << 20
"""The size in bytes at which the file of rejected items is full. After the file of rejected items is full,
gossamer only counts rejected items."""


class SiteOutput(NamedTuple):
    """An output that receives only the items of certain sites."""

    spec: str
    sites: frozenset[str]
    columns: Columns


def open_all(
    specs: Sequence[tuple[str, bool]],
    columns: Columns,
    pages_file: str | None,
    pages: Columns,
    owner: str,
    own: Sequence[SiteOutput] = (),
    aside: str = "",
    keep: bool = False,
    folder: str = ".",
    attempts: str | None = None,
    graph: str | None = None,
    log: AppendLog | None = None,
    kept: FileSink | None = None,
) -> Outputs:
    """Returns all outputs of a crawl, and writes nothing yet. `specs`: the values of `-o` and `-O`, as (spec,
    overwrite). `own`: the outputs of individual sites. The options `--pages`, `--attempts` and `--graph` add
    further outputs.

    If `pages_file` is set, the page records go to that file and not to the other outputs. `aside`: the file
    for rejected items. No other output receives rejected items. `keep`: whether the rows of an earlier run
    stay in the file of rejected items. `folder`: the crawl's own folder. `log`: the log of the crawl's
    appends to files. `kept`: the file in which the crawl keeps all items and page records. Raises UsageError
    if two outputs name the same file. Also raises the errors of `open_output`.
    """
    files: list[FileOutput] = []
    tables: list[TableSink] = []

    def put(output: Files | TableSink, wanted: Wanted, fills: bool = True) -> None:
        if isinstance(output, Files):
            files.append(FilteredFiles(output, wanted, fills))
        else:
            some = FilteredHistory if isinstance(output, HistorySink) else FilteredTable
            tables.append(some(output, wanted, None if output.target() == "-" else fills))

    usual = is_stored_row if "page" in columns else _no_page
    for spec, overwrite in specs:
        output = open_output(spec, columns, overwrite=overwrite, owner=owner, folder=folder, log=log)
        whole = parse(spec).format in WHOLE
        put(output, _raw if whole else usual, fills=not whole)
    if aside:
        file = JsonLines(aside, overwrite=not keep, owner=owner, most=MAX_REJECTS_BYTES, log=log)
        files.append(FilteredFiles(Files(aside, lambda *_: file, None), _aside))
    if pages_file is not None:
        put(open_output(pages_file, pages, owner=owner, folder=folder, log=log), _page)
    if attempts is not None:
        put(*_records("--attempts", attempts, attempt_columns, kind, owner, folder, log), fills=False)
    if graph is not None:
        put(*_records("--graph", graph, graphs.graph_columns, graphs.kind, owner, folder, log), fills=False)
    if kept is not None:
        kept_file = kept
        files.append(FilteredFiles(Files(str(kept.target()), lambda *_: kept_file, None), is_stored_row))
    for spec, sites, kinds in own:
        put(open_output(spec, kinds, owner=owner, folder=folder, log=log), partial(_of_sites, sites))
    _distinct(
        [sink.target() for output in files for sink in output.sinks()] + [table.target() for table in tables]
    )
    return files, tables


def _distinct(places: Sequence[str]) -> None:
    found = Counter(map(_file, places))
    for path in places:
        if (n := found[_file(path)]) > 1:
            raise UsageError(f"{n} outputs write to {path}: give each a file of its own")


def _file(path: str) -> object:
    """Returns an identifier of a file, which is the same for all paths to that file."""
    try:
        there = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return there.st_dev, there.st_ino


def usual_rows(tables: Sequence[TableSink], *, pages: bool) -> list[TableSink]:
    """Wraps tables that are already open. The wrapped tables receive only the rows that are meant for all
    outputs (see `is_stored_row`). `pages`: whether the tables also receive page records."""
    return [FilteredTable(table, is_stored_row if pages else _no_page) for table in tables]


def _records(
    option: str,
    spec: str,
    columns: Callable[[str], Columns],
    kind: Callable[[str], str],
    owner: str,
    folder: str,
    log: AppendLog | None,
) -> tuple[Any, Wanted]:
    """Returns an output that contains only records of one kind, and the filter that selects its rows. Raises
    UsageError."""
    form = parse(spec).format
    if form in WHOLE:
        raise UsageError(f"{option} {spec}: that keeps whole pages; name a .jsonl, .csv, .parquet or .sqlite")
    return open_output(spec, columns(form), owner=owner, folder=folder, log=log), partial(
        _of_kind, kind(form)
    )


def _of_sites(sites: frozenset[str], row: Row) -> bool:
    return type(row.data) is dict and row.data.get("_site") in sites and row.kind != ASIDE


def _aside(row: Row) -> bool:
    return row.kind == ASIDE


def _page(row: Row) -> bool:
    return row.kind == "page"


def _no_page(row: Row) -> bool:
    return row.kind != "page" and is_stored_row(row)


def _of_kind(wanted: str, row: Row) -> bool:
    return row.kind == wanted


def _raw(row: Row) -> bool:
    return row.kind == RAW


def is_stored_row(row: Row) -> bool:
    """Returns whether a row is meant for all outputs. Rejected items, whole responses, attempts and links are
    not meant for all outputs."""
    return row.kind not in (ASIDE, RAW, "", TABLE, LINK, LINKS)


class FilteredFiles:
    """A file output that writes only the rows for which `wanted` returns true.

    `fills` determines what happens if a later run of a crawl adds this output. If `fills` is true, the output
    is first filled with the rows that the crawl kept. If `fills` is false, the output cannot be filled,
    because the crawl does not keep rows for this output. If `fills` is None, gossamer does not even record
    that the output lacks rows. For example, `fills` is None for the file of rejected items.
    """

    def __init__(self, output: Files, wanted: Wanted, fills: bool | None = None) -> None:
        self._output, self._wanted, self.fills = output, wanted, fills
        self.reopen, self.is_split = output.reopen, output.is_split

    def sinks(self) -> Sequence[FileSink]:
        """See `interfaces.FileOutput`."""
        return self._output.sinks()

    def route(self, rows: Sequence[Row]) -> list[tuple[FileSink, Sequence[Row]]]:
        """See `interfaces.FileOutput`."""
        return self._output.route([row for row in rows if self._wanted(row)])


class FilteredTable:
    """A table that writes only the rows for which `wanted` returns true. `fills`: as in `FilteredFiles`."""

    def __init__(self, table: TableSink, wanted: Wanted, fills: bool | None = None) -> None:
        self._table, self._wanted, self.fills = table, wanted, fills
        self.target, self.prepare, self.close = table.target, table.prepare, table.close
        self.offered: Counter[str] = Counter()
        """The number of rows of each kind that were passed to the table. The code that reads the number also
        resets it."""
        self.refused: list[Row] = getattr(table, "refused", [])
        """The rows that the table refused. The code that reads the rows also removes them."""
        self.arrivals: list[Arrival] | None = getattr(table, "arrivals", None)
        """The items that the table received, or None if the table does not compare items with stored items.
        The code that reads the arrivals also removes them."""

    def upsert(self, rows: Sequence[Row]) -> None:
        """See `interfaces.TableSink`."""
        if wanted := [row for row in rows if self._wanted(row)]:
            self._table.upsert(wanted)
            self.offered.update(row.kind for row in wanted)


class FilteredHistory(FilteredTable):
    """A table with history. Only the rows for which `wanted` returns true are written."""

    def __init__(self, table: Any, wanted: Wanted, fills: bool | None = None) -> None:
        super().__init__(table, wanted, fills)
        self.gone, self.unseen, self.missing, self.deleted = (
            table.gone,
            table.unseen,
            table.missing,
            table.deleted,
        )

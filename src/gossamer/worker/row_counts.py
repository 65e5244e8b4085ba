"""Counts what the tables of a crawl did with the rows that they received.

A count belongs to the visit of its row, and is settled with the visit. A row whose visit is not settled is
therefore not counted, and the visit that follows counts it (`sinks.history.row_fates`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import xxhash

from gossamer.model.interfaces import FileSink, HistorySink, TableSink
from gossamer.model.visit import Row
from gossamer.sinks.history import Arrival, row_fates


class TableCounts(NamedTuple):
    """What a table did with the rows of one batch. `written`: the number of written rows, by the name of
    their count. `rows`: refused rows and compared items, each with the name of its count."""

    written: dict[str, int]
    rows: list[tuple[Row, str]]


def take_counts(table: TableSink, since: str | None, told: Collection[int] = ()) -> TableCounts:
    """Returns what a table has done since the last call, and resets the table's own records. `since`: see
    `row_fates`. `told`: the `id` of each row whose fate another table has told."""
    offered: Counter[str] | None = getattr(table, "offered", None)
    if offered is None:
        return TableCounts({}, [])
    name = f"out|{xxhash.xxh32_hexdigest(table.target().encode())}|"
    refused: list[Row] = getattr(table, "refused", [])
    rows = [(row, f"{name}{row.kind}|r") for row in {id(row): row for row in refused}.values()]
    lost = Counter(row.kind for row, _ in rows)
    written = {f"{name}{kind}|w": n - lost[kind] for kind, n in offered.items() if n > lost[kind]}
    arrivals: list[Arrival] = getattr(table, "arrivals", None) or []
    new = [one for one in arrivals if id(one.row) not in told] if told else arrivals
    rows += [(row, f"fate|{row.kind}|{fate}") for row, fate in row_fates(new, since)]
    for some in (offered, refused, arrivals):
        some.clear()
    return TableCounts(written, rows)


def refused_by_files(sinks: Iterable[FileSink]) -> dict[str, int]:
    """Returns how many rows the file sinks have refused since the last call, by the name of their count, and
    resets the records of the sinks. A row that was written again, because a lease was lost, counts once."""
    counts: Counter[str] = Counter()
    for sink in sinks:
        if refused := getattr(sink, "refused", None):
            counts.update(f"fate|{row.kind}|r" for row in {id(row): row for row in refused}.values())
            refused.clear()
    return counts


def tells_fates(tables: Sequence[TableSink]) -> bool:
    """Returns whether one of the tables tells which items are new, changed and unchanged."""
    return any(getattr(table, "arrivals", None) is not None for table in tables)


def known_fates(tables: Sequence[TableSink]) -> str:
    """Returns what the tables know about the items that they receive (`frontier.crawls.Record.tells`), or
    ""."""
    if not tells_fates(tables):
        return ""
    return "items gone" if any(isinstance(table, HistorySink) for table in tables) else "items"

"""Rows to a file of any format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any

from gossamer.errors import UsageError
from gossamer.sinks.attempts import attempt_columns, attempt_row
from gossamer.sinks.columns import Columns, page_columns
from gossamer.sinks.formats import WHOLE, open_output, parse
from gossamer.visit import Row

BATCH = 1000


def write(spec: str, what: str, rows: Iterable[dict[str, Any]], taken: Sequence[str] = ()) -> tuple[int, list[str]]:
    """Write rows to a file anew; how many, and the files (CSV and Parquet have one a kind).

    `taken`: outputs that it must not be. Raises UsageError, SinkError, DiskFull.
    """
    import os

    path, form = parse(spec)
    if form in WHOLE:
        raise UsageError(f"{spec}: that keeps whole pages; rows go to .jsonl, .csv, .parquet or .sqlite")
    if os.path.realpath(path) in {os.path.realpath(parse(one).path) for one in taken}:
        raise UsageError(f"{spec} is what the crawl itself writes: name another file")
    rows = iter(rows)
    first = list(islice(rows, 1))
    text, links, compared = (any(name in row for row in first) for name in ("text", "out_links", "group_id"))
    pages = page_columns(text, links, compared)
    columns: Columns = {"pages": {"page": pages}, "attempts": attempt_columns(form)}.get(what, {})
    sink: Any = open_output(spec, columns, overwrite=True)
    table = hasattr(sink, "upsert")
    lengths = {one.target(): one.prepare() for one in sink.sinks()} if not table else {}
    if table:
        sink.prepare()
    rows, count = chain(first, rows), 0
    while batch := list(islice(rows, BATCH)):
        made = [_row(what, data, form) for data in batch]
        if table:
            sink.upsert(made)
        else:
            for one, part in sink.route(made):
                known = lengths.get(one.target())
                lengths[one.target()] = one.append(one.prepare() if known is None else known, part)
        count += len(made)
    if table:
        sink.close()
    else:
        for one in sink.sinks():
            one.close(lengths[one.target()])
    return count, sorted(lengths) or [os.path.abspath(path)]


def _row(what: str, data: dict[str, Any], form: str) -> Row:
    if what == "items":
        return Row(str(data.get("_kind")), str(data["_key"]), data)
    if what == "pages":
        key = data.get("_key") or data["requested_url"]
        return Row("page", str(key), {name: value for name, value in data.items() if name != "_key"})
    return attempt_row(data, form)

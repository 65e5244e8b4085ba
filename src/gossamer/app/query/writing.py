"""Writes rows to a file of any format."""

from __future__ import annotations

import importlib.util
import secrets
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, UsageError
from gossamer.model.visit import Row, SkippedUrl
from gossamer.sinks.attempts import SKIPPED, attempt_columns, attempt_row, files
from gossamer.sinks.columns import EXTRA, OURS, Column, Columns, page_columns, struct_columns
from gossamer.sinks.field_types import FieldType, common_shape, of_value
from gossamer.sinks.history import STORED
from gossamer.sinks.output_spec import WHOLE, open_output, parse
from gossamer.sinks.sink_url import kind_of

BATCH_ROWS = 1000
APPENDED = ("kafka", "webhook", "valkey")
"""The kinds of stores to which rows may be appended through a journal."""


def write(
    spec: str,
    what: str,
    rows: Iterable[dict[str, Any]],
    taken: Sequence[str] = (),
    *,
    items: Columns | None = None,
    folder: str = ".",
) -> tuple[int, list[str]]:
    """Writes rows to a new file.

    Returns the number of rows and the files written. CSV and Parquet have one file per kind. `taken`: outputs
    that must not be overwritten. `items`: the columns of items (`infer_columns`). If a value does not fit
    into the output's columns, its row is written to a file in `folder`. Raises UsageError, SinkError,
    DiskFull.
    """
    import os

    path, form = parse(spec)
    if form in WHOLE:
        raise UsageError(
            f"{spec}: this format stores whole pages; write rows to .jsonl, .csv, .parquet or .sqlite"
        )
    if os.path.realpath(path) in {os.path.realpath(parse(one).path) for one in taken}:
        raise UsageError(f"{spec} is what the crawl itself writes: name another file")
    rows = iter(rows)
    first = list(islice(rows, 1))
    columns = _columns_of(what, first, form, items or {})
    kind = kind_of(spec)
    # an append-only store keeps the position of each owner, and would take a second export for the first one
    owner = f"export@{secrets.token_hex(8)}" if kind in APPENDED else ""
    appended = kind in ("kafka", "webhook")  # these cannot be emptied
    sink: Any = open_output(spec, columns, overwrite=not appended, owner=owner, folder=folder)
    table = hasattr(sink, "upsert")
    lengths = {one.target(): one.prepare() for one in sink.sinks()} if not table else {}
    if table:
        sink.prepare()
    rows, count = chain(first, rows), 0
    while batch := list(islice(rows, BATCH_ROWS)):
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


def parquet_stream(what: str, rows: Iterable[dict[str, Any]], items: Columns) -> Iterator[bytes]:
    """Yields rows as one Parquet file, with the columns and types that `write` uses. `items`: see `write`. Raises
    UsageError if the rows are items of several kinds, and ConfigError if pyarrow is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError(f"Parquet needs pyarrow: {install_command('parquet')}")
    from gossamer.sinks.arrow import PartStream

    rows = iter(rows)
    first = list(islice(rows, 1))
    found = _columns_of(what, first, "parquet", items)
    if len(found) > 1:
        raise UsageError(f"a Parquet file has one kind of items: name one of {', '.join(sorted(found))}")
    part = PartStream((*next(iter(found.values()), OURS), Column(EXTRA)))
    rows = chain(first, rows)
    while batch := list(islice(rows, BATCH_ROWS)):
        if data := part.add([_row(what, row, "parquet") for row in batch]):
            yield data
    yield part.end()


def _columns_of(what: str, first: Sequence[dict[str, Any]], form: str, items: Columns) -> Columns:
    """Returns the columns of rows by their kinds. `first`: the first row, or nothing."""
    text, links, compared = (any(name in row for row in first) for name in ("text", "out_links", "group_id"))
    ids = any(name in row for row in first for name in ("id", "added_at"))
    pages = page_columns(text, links, compared, ids)
    skipped = {"" if files(form) else SKIPPED: struct_columns(SkippedUrl)}
    return {
        "pages": {"page": pages},
        "attempts": attempt_columns(form),
        "skipped": skipped,
        "items": items,
    }[what]


def infer_columns(rows: Iterable[dict[str, Any]]) -> Columns:
    """Derives the columns of items from their values (`sources.natural_rows_of`). Maps each kind of item to
    its columns."""
    kinds: dict[str, dict[str, FieldType | None]] = {}
    for row in rows:
        fields = kinds.setdefault(str(row.get("_kind")), {})
        for name, value in row.items():
            if name not in _OURS:
                shape, known = of_value(value), fields.get(name)
                fields[name] = (
                    shape if known is None else known if shape is None else common_shape(known, shape)
                )
    return {kind: (*(_column(*field) for field in fields.items()), *OURS) for kind, fields in kinds.items()}


def _column(name: str, shape: FieldType | None) -> Column:
    if shape is None or shape.kind == "json":
        return Column(name, "str" if shape is None else "json")
    if shape.kind == "list":
        return Column(name, "strings") if shape.parts[0][1].kind == "str" else Column(name, "json", shape)
    return Column(name, shape.kind, shape if shape.kind == "decimal" else None)


_STORED = {column.name for column in STORED}
_OURS = {column.name for column in (*OURS, *STORED)}


def _row(what: str, data: dict[str, Any], form: str) -> Row:
    if what == "items":
        data = {name: value for name, value in data.items() if name not in _STORED}
        return Row(str(data.get("_kind")), str(data["_key"]), data)
    if what == "pages":
        key = data.get("_key") or data["requested_url"]
        return Row("page", str(key), {name: value for name, value in data.items() if name != "_key"})
    if what == "skipped":
        return Row("" if files(form) else SKIPPED, data["url"], data)
    return attempt_row(data, form)

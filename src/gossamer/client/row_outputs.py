"""Writes rows of other programs to outputs in the syntax of the option `-o`: every output to which rows can be
appended, which are the stores and streams, and JSON Lines, CSV, Parquet and SQLite files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from gossamer.config.redaction import mask
from gossamer.errors import UsageError
from gossamer.model.interfaces import FileSink, Ships, TableSink
from gossamer.model.visit import Row
from gossamer.sinks.columns import OURS, struct_columns
from gossamer.sinks.output_spec import OpenedOutput, kind_path, open_output, parse
from gossamer.worker.records import format_time

_FILES = ("jsonl", "csv", "parquet")
_BY_KIND = ("csv", "parquet")
_WHOLE = ("json", "xlsx", "warc", "objects")
"""Formats that are written as a whole, or that contain pages instead of rows."""


class RowOutputs:
    """Outputs to which a program writes rows. The program itself must record which rows were sent. `specs`:
    the outputs, in the syntax of the option `-o`. `owner`: a fixed name of the program, which must be the
    same in every run. `batch`: an identifier of the rows that are sent. If rows are sent again, `batch` must
    be the same, because the `webhook-id` is computed from `batch`. `folder`: the folder for rows that are not
    sent yet. `kinds`: the class of each kind of rows, which declares the columns. The rows of other kinds
    have no declared columns.

    Raises UsageError for an output to which rows cannot be appended, and ConfigError if a library is missing.
    """

    def __init__(
        self,
        specs: Sequence[str],
        owner: str,
        batch: str,
        folder: str,
        kinds: Mapping[str, type[msgspec.Struct]] | None = None,
    ) -> None:
        self._tables: list[TableSink] = []
        self._files: list[tuple[OpenedOutput, bool]] = []
        """The outputs to which rows are appended. The flag is true if an output has a file per kind."""
        self._lengths: dict[str, int] = {}
        os.makedirs(folder, exist_ok=True)
        self.names = [output_name(spec) for spec in specs]
        """The names of the outputs, without secrets."""
        self._owner = owner
        columns = {kind: struct_columns(cls) for kind, cls in (kinds or {}).items()}
        for spec in specs:
            form = check_output_spec(spec)
            if form in _FILES:
                output = open_output(spec, columns, owner=owner, folder=folder)
            else:
                as_items = {kind: (*own, *OURS) for kind, own in columns.items()}
                output = open_output(spec, as_items, owner=f"{owner} {batch}", folder=folder)
            if isinstance(output, OpenedOutput):
                self._files.append((output, form in _BY_KIND))
            else:
                output.prepare()
                self._tables.append(output)

    def send(self, kind: str, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Sends rows of the kind `kind` to all outputs. Each row is a pair of a key and a mapping. All
        outputs have received the rows when this method returns. After an error, call this method again with
        the same rows. If rows are sent again, a database still contains each row once, but a stream or a file
        may contain a row several times. Raises SinkError, SinkAway or DiskFull."""
        found = [Row(kind, key, dict(data)) for key, data in rows]
        if not found:
            return
        if self._tables:
            items = [self._as_item(row) for row in found]
            for table in self._tables:
                table.upsert(items)
        for output, is_by_kind in self._files:
            told = (
                found
                if is_by_kind
                else [Row(kind, row.key, {**_fields(row), "_kind": kind}) for row in found]
            )
            for sink, part in output.route(told):
                self._append(sink, part)

    def _as_item(self, row: Row) -> Row:
        """Returns a row with the fields of an item, which stores with one row per key need. If a row is sent
        again, its item does not change."""
        data = _fields(row)
        at = data.get("time")
        seen_at = datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else at
        content = hashlib.blake2b(msgspec.json.encode(data, enc_hook=str), digest_size=16).hexdigest()
        ours = {
            "_url": data.get("url") or "",
            "_site": self._owner,
            "_kind": row.kind,
            "_key": row.key,
            "_seen_at": format_time(seen_at.timestamp())
            if isinstance(seen_at, datetime)
            else format_time(0.0),
            "_hash": content,
        }
        return Row(row.kind, row.key, {**data, **ours})

    def _append(self, sink: FileSink, rows: Sequence[Row]) -> None:
        path = sink.target()
        if path not in self._lengths:
            has_rows = not isinstance(sink, Ships) and os.path.isfile(path)
            self._lengths[path] = (has_rows and os.path.getsize(path)) or sink.prepare()
        self._lengths[path] = sink.append(self._lengths[path], rows)
        if isinstance(sink, Ships):
            sink.ship(self._lengths[path])

    def close(self) -> None:
        """Closes the outputs."""
        for table in self._tables:
            table.close()
        for output, _ in self._files:
            for sink in output.sinks():
                if isinstance(sink, Ships):
                    sink.drop()
                elif sink.target() in self._lengths:
                    sink.close(self._lengths[sink.target()])


def _fields(row: Row) -> dict[str, Any]:
    assert isinstance(row.data, dict), "`send` makes dicts"
    return row.data


def check_output_spec(spec: str) -> str:
    """Returns the format of an output. Raises UsageError for an output to which rows cannot be appended."""
    path, form = parse(spec)
    if form in _WHOLE:
        raise UsageError(
            f"-o {mask(path)}: rows are appended to .jsonl, .csv, .parquet and .sqlite files, and to stores"
        )
    return form


def output_name(spec: str) -> str:
    """Returns a name that identifies an output, without its secrets. The name of a file contains the whole
    path."""
    path, _ = parse(spec)
    return mask(spec) if "://" in path else os.path.abspath(path)


def is_file_missing(spec: str, kind: str) -> bool:
    """Returns whether an output is a file that does not exist, so that it has no rows of this kind."""
    path, form = parse(spec)
    if "://" in path or path == "-":
        return False
    return not os.path.exists(kind_path(path, kind) if form in _BY_KIND else path)

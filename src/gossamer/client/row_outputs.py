"""Writes rows of other programs to outputs in the syntax of the option `-o`: Kafka, webhooks, databases, JSON
Lines files and CSV files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gossamer.errors import UsageError
from gossamer.model.interfaces import FileSink, Ships, TableSink
from gossamer.model.visit import Row
from gossamer.sinks.output_spec import OpenedOutput, open_output, parse

_FILES = ("jsonl", "csv")


class RowOutputs:
    """Outputs to which a program writes rows. The program itself must record which rows were sent. `specs`:
    the outputs, in the syntax of the option `-o`. `owner`: a fixed name of the program, which must be the
    same in every run. `batch`: an identifier of the rows that are sent. If rows are sent again, `batch` must
    be the same, because the `webhook-id` is computed from `batch`. `folder`: the folder for rows that are not
    sent yet.

    Raises UsageError for an output to which rows cannot be appended, and ConfigError if a library is missing.
    """

    def __init__(self, specs: Sequence[str], owner: str, batch: str, folder: str) -> None:
        self._tables: list[TableSink] = []
        self._files: list[OpenedOutput] = []
        self._lengths: dict[str, int] = {}
        os.makedirs(folder, exist_ok=True)
        for spec in specs:
            path, form = parse(spec)
            whose = owner if form in _FILES else f"{owner} {batch}"
            output = open_output(spec, {}, owner=whose, folder=folder)
            if isinstance(output, OpenedOutput):
                if form not in _FILES and "://" not in path:
                    raise UsageError(f"-o {path}: rows are appended to .jsonl and .csv files, and to stores")
                self._files.append(output)
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
        for table in self._tables:
            table.upsert(found)
        for output in self._files:
            for sink, part in output.route(found):
                self._append(sink, part)

    def _append(self, sink: FileSink, rows: Sequence[Row]) -> None:
        path = sink.target()
        if path not in self._lengths:
            has_rows = not isinstance(sink, Ships) and os.path.exists(path)
            self._lengths[path] = (has_rows and os.path.getsize(path)) or sink.prepare()
        self._lengths[path] = sink.append(self._lengths[path], rows)
        if isinstance(sink, Ships):
            sink.ship(self._lengths[path])

    def close(self) -> None:
        """Closes the outputs."""
        for table in self._tables:
            table.close()
        for output in self._files:
            for sink in output.sinks():
                if isinstance(sink, Ships):
                    sink.drop()
                elif sink.target() in self._lengths:
                    sink.close(self._lengths[sink.target()])

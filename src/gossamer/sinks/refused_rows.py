"""Records the rows that a store has refused. Each row is written with the reason to `refused.jsonl` in the
crawl's folder, one JSON object per line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from gossamer.config.data_files import open_file
from gossamer.model.visit import Row
from gossamer.sinks.crash_safe_file import sink_error, sync
from gossamer.sinks.jsonl import encode

Refuse = Callable[[str, Row, str], None]
"""A function that records a refused row. The arguments of the function are the output, the row that the
output cannot store, and the reason."""


def note_refused(refuse: Refuse, refused: list[Row]) -> Refuse:
    """Wraps `refuse` so that it also adds the rows to a list."""

    def noted(output: str, row: Row, reason: str) -> None:
        refuse(output, row, reason)
        refused.append(row)

    return noted


class RefusedRowsFile:
    """Writes refused rows to a file. A row is durable when `refuse` returns. After a kill, the file may
    contain a row twice."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / "refused.jsonl"
        self._told: set[tuple[str, str]] = set()

    def refuse(self, output: str, row: Row, reason: str) -> None:
        """Writes a row to the file. Reports the first refused row of each output and kind on stderr. Raises
        DiskFull, SinkError."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {
            "at": at,
            "output": output,
            "kind": row.kind,
            "key": row.key,
            "reason": reason,
            "row": row.data,
        }
        try:
            fd = open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(fd, encode([line]))
                sync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            raise sink_error(str(self._path), error) from error
        if (output, row.kind) not in self._told:
            self._told.add((output, row.kind))
            print(f"gossamer: {output} refuses a {row.kind}: {reason}; see {self._path}", file=sys.stderr)

"""Rows that a store refuses, kept with the reason: one JSON object a line in `refused.jsonl` of the crawl's
folder."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from gossamer.config.data_files import open_file
from gossamer.model.visit import Row
from gossamer.sinks.exact import failure, sync
from gossamer.sinks.jsonl import encode

Refuse = Callable[[str, Row, str], None]
"""Hears the output, a row that it cannot hold, and why."""


def counting(refuse: Refuse, refused: Counter[str]) -> Refuse:
    """The same, which also counts the rows by kind."""

    def counted(output: str, row: Row, reason: str) -> None:
        refuse(output, row, reason)
        refused[row.kind] += 1

    return counted


class Aside:
    """Keeps refused rows, durable when `refuse` returns; at least once: after a kill a row may stand there
    twice."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / "refused.jsonl"
        self._told: set[tuple[str, str]] = set()

    def refuse(self, output: str, row: Row, reason: str) -> None:
        """Keep a row; the first of an output and kind is told on stderr. Raises DiskFull, SinkError."""
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
            raise failure(str(self._path), error) from error
        if (output, row.kind) not in self._told:
            self._told.add((output, row.kind))
            print(f"gossamer: {output} refuses a {row.kind}: {reason}; see {self._path}", file=sys.stderr)

"""JSON arrays (`FILE.json`): one array that contains all rows, one per line.

The committed part of the file is the array without its closing bracket. The bracket is written when a run
ends, and removed before the next append. Therefore, the file is valid JSON whenever no run is writing it.
After a kill, the file still contains each row exactly once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence

from gossamer.errors import UsageError
from gossamer.model.visit import Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import ExactFile, sink_error, sync, write_at
from gossamer.sinks.jsonl import encode_lines

BEGIN, END, EMPTY = b"[\n", b"\n]\n", b"[\n]\n"


class JsonArray:
    """The FileSink for `.json`, with the rows of all kinds in one array."""

    def __init__(
        self, path: str, *, overwrite: bool = False, owner: str = "", log: AppendLog | None = None
    ) -> None:
        self._overwrite, self._is_open = overwrite, False
        self._file = ExactFile(path, overwrite=overwrite, owner=owner, ends=b"", log=log)
        self.target, self.drop, self.adopt = self._file.target, self._file.drop, self._file.adopt

    def prepare(self) -> int:
        """See `interfaces.FileSink`. Appends to an existing array. Raises UsageError if the file contains
        anything else."""
        if (
            not self._overwrite
            and not self._reopen()
            and not self._is_open
            and os.path.getsize(self._file.path)
        ):
            raise UsageError(
                f"{self._file.path} is not an array that gossamer wrote: give another file with -o, or overwrite "
                "it with -O"
            )
        return self._file.prepare()

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """See `interfaces.Movable`."""
        self._is_open = self._reopen()
        return self._file.find(lengths)

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        self._reopen()
        data = encode_lines(rows).removesuffix(b"\n").replace(b"\n", b",\n")
        return self._file.append(committed, (b",\n" if committed else BEGIN) + data if rows else b"")

    def close(self, committed: int) -> None:
        """See `interfaces.FileSink`. Writes the closing bracket of the array."""
        self._reopen()
        self._file.close(committed)
        with contextlib.suppress(FileNotFoundError), open(self._file.path, "r+b") as file:
            if os.fstat(file.fileno()).st_size == committed:
                write_at(file.fileno(), committed, END if committed else EMPTY)
                sync(file.fileno())

    def _reopen(self) -> bool:
        """Removes the closing bracket of the array. Returns True if the file had a closing bracket, or if the
        file does not exist."""
        try:
            with open(self._file.path, "r+b") as file:
                size = os.fstat(file.fileno()).st_size
                tail = os.pread(file.fileno(), len(EMPTY), max(0, size - len(EMPTY)))
                if tail != EMPTY and not tail.endswith(END):
                    return False
                os.ftruncate(file.fileno(), 0 if tail == EMPTY and size == len(EMPTY) else size - len(END))
                return True
        except FileNotFoundError:
            return True
        except OSError as error:
            raise sink_error(self._file.path, error) from error

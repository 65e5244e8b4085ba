"""Writes the attempts log (one JSON line per request) and the log of known pages. All processes of a crawl
share these files.

Lines are written before the claims are settled, so each line is written at least once, and after a kill a
request may have two lines. The file survives a kill of any process. After a power failure the last lines may
be missing, because the file is not synced to disk.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.config.data_files import open_file
from gossamer.errors import DiskFull, SinkAway, SinkError, own_limit
from gossamer.model.visit import Attempt, KnownLine

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_STEP_BYTES = 64 * 1024


class AttemptsLog:
    """A writer that appends whole lines to the file at `path`. Several processes may have the same file open.
    `mode`: the permission bits of a new file."""

    def __init__(self, path: str | os.PathLike[str], mode: int = 0o666) -> None:
        self.path, self._mode = Path(path), mode
        self._fd = -1
        self._lines = msgspec.json.Encoder().encode_lines

    def write(self, lines: Sequence[Attempt] | Sequence[KnownLine]) -> None:
        """Appends a batch of lines. Raises SinkError, DiskFull or SinkAway. After DiskFull or SinkAway, the
        file contains no line of the batch."""
        if not lines:
            return
        data = self._lines(lines)
        try:
            if self._fd < 0:
                self._fd = open_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, self._mode)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            try:
                self._append(self._fd, data)
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except OSError as error:
            if error.errno in _FULL:
                raise DiskFull(
                    f"no space left for {self.path}: free some, then run the same command again"
                ) from error
            if short := own_limit(error):
                raise SinkAway(f"{self.path} cannot be opened, this process is short of {short}") from error
            raise SinkError(f"cannot write {self.path}: {error.strerror}") from error

    def close(self) -> None:
        """Closes the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, fd: int, data: bytes) -> None:
        size = _whole(fd, os.fstat(fd).st_size)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            os.ftruncate(fd, size)
            raise


def _whole(fd: int, size: int) -> int:
    """Removes an incomplete last line that a killed process may have left. Returns the remaining length in
    bytes."""
    if not size or os.pread(fd, 1, size - 1) == b"\n":
        return size
    start = size
    while start:
        step = min(_STEP_BYTES, start)
        start -= step
        newline = os.pread(fd, step, start).rfind(b"\n")
        if newline >= 0:
            start += newline + 1
            break
    os.ftruncate(fd, start)
    return start

"""The logs of a crawl, shared by all of its processes: of attempts, one JSON line for each request made, and
of known pages.

It is written before the claims are settled, so after a kill a request may stand there twice: at least once.
It survives a kill of any process; after a power cut the last lines may be gone (it is not synced to the
disk).
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
_STEP = 64 * 1024


class AttemptsLog:
    """Appends to `path`, whole lines only. One file may be open in several processes."""

    def __init__(self, path: str | os.PathLike[str], mode: int = 0o666) -> None:
        self.path, self._mode = Path(path), mode
        self._fd = -1
        self._lines = msgspec.json.Encoder().encode_lines

    def write(self, lines: Sequence[Attempt] | Sequence[KnownLine]) -> None:
        """Append a batch in one write. Raises DiskFull, then no line of the batch stands in the file;
        SinkAway, likewise; SinkError."""
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
        """Let the file go."""
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
    """Cut the broken last line that a killed process may have left; the length that stays."""
    if not size or os.pread(fd, 1, size - 1) == b"\n":
        return size
    start = size
    while start:
        step = min(_STEP, start)
        start -= step
        newline = os.pread(fd, step, start).rfind(b"\n")
        if newline >= 0:
            start += newline + 1
            break
    os.ftruncate(fd, start)
    return start

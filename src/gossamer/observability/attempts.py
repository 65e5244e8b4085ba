"""Writes the attempts log (one JSON line per request) and the log of known pages. All processes of a crawl
share these files.

Lines are written before the claims are settled, so each line is written at least once. After a kill, a
request may have two lines. The file survives a kill of any process. After a power failure the last lines may
be missing, because the file is not synced to disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.config.data_files import open_file
from gossamer.errors import DiskFull, SinkAway, SinkError, own_limit
from gossamer.model.visit import Attempt, KnownLine, SkippedUrl

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_STEP_BYTES = 64 * 1024
MIN_LIMIT_BYTES = 1 << 20
"""The smallest limit of a log, in bytes."""


class AttemptsLog:
    """A writer that appends whole lines to the file at `path`. Several processes may have the same file open.
    `mode`: the permission bits of a new file. `limit`: if a batch makes the file larger than this number of
    bytes, the older half of the file is dropped. None: the file grows without limit."""

    def __init__(self, path: str | os.PathLike[str], mode: int = 0o666, limit: int | None = None) -> None:
        self.path, self._mode = Path(path), mode
        self._limit = None if limit is None else max(MIN_LIMIT_BYTES, limit)
        self._fd = -1
        self._lines = msgspec.json.Encoder().encode_lines

    def write(self, lines: Sequence[Attempt] | Sequence[KnownLine] | Sequence[SkippedUrl]) -> None:
        """Appends a batch of lines. Raises SinkError, DiskFull or SinkAway. After DiskFull or SinkAway, the
        file contains no line of the batch."""
        if not lines:
            return
        data = self._lines(lines)
        try:
            self._lock()
            try:
                self._append(self._fd, data)
                if self._limit is not None and os.fstat(self._fd).st_size > self._limit:
                    with contextlib.suppress(OSError):  # the next batch tries again
                        self._drop_older_half()
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

    def _lock(self) -> None:
        """Opens the file and locks it. If another process has replaced the file, opens the new file."""
        while True:
            if self._fd < 0:
                self._fd = open_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, self._mode)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            if self._limit is None or _is_file_at(self._fd, self.path):
                return
            self.close()

    def _drop_older_half(self) -> None:
        """Replaces the file with one that contains the newer half of its lines. A reader that has the file
        open still sees all lines. If the process is killed, either the old file or the new file remains. The
        old file stays locked during the replacement, so that no line is lost."""
        size = os.fstat(self._fd).st_size
        start = size // 2
        while start < size:
            step = os.pread(self._fd, _STEP_BYTES, start)
            if (newline := step.find(b"\n")) >= 0:
                start += newline + 1
                break
            start += len(step)
        new = self.path.with_name(f"{self.path.name}.new")
        new.unlink(missing_ok=True)
        try:
            with open(new, "xb", opener=lambda name, flags: open_file(name, flags, self._mode)) as file:
                while step := os.pread(self._fd, 1 << 20, start):
                    file.write(step)
                    start += len(step)
            os.replace(new, self.path)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def _append(self, fd: int, data: bytes) -> None:
        size = whole_size(fd, os.fstat(fd).st_size)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(fd, rest) :]
        except OSError:
            os.ftruncate(fd, size)
            raise


def _is_file_at(fd: int, path: Path) -> bool:
    """Returns whether the open file `fd` is the file that `path` leads to."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def whole_size(fd: int, size: int) -> int:
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

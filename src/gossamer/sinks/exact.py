"""A plain file that is exact across any kill: bytes beyond the committed length never count.

The store keeps the committed length; the file is cut to it before each append. So that no cut hits foreign bytes, it
carries its owner's mark (an extended attribute, where the file system has them): `owner` while a crawl writes,
`owner length` when it ended. A file that another crawl wrote to since, that grew after the end, shrank, vanished or was
replaced is a SinkError.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.errors import DiskFull, GossamerError, SinkError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MARK = "user.gossamer"
_TAIL = 64


def failure(path: str, error: OSError) -> GossamerError:
    """What an OSError on an output means to a person."""
    if error.errno in _FULL:
        return DiskFull(f"no space left for {path}: free some, then run the same command again")
    return SinkError(f"cannot write {path}: {error.strerror or error}")


def sync(fd: int) -> None:
    """Make the data of a file durable."""
    getattr(os, "fdatasync", os.fsync)(fd)


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_at(fd: int, offset: int, data: bytes) -> None:
    """Write all of `data` at `offset`."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(fd, rest, offset)
        rest, offset = rest[done:], offset + done


def read_mark(fd: int) -> str:
    """The owner's mark of a file or folder, empty when it has none."""
    try:
        return os.getxattr(fd, _MARK).decode("utf-8", "replace")
    except (OSError, AttributeError):  # none yet, or a system without them
        return ""


def write_mark(fd: int, mark: str) -> None:
    """Set the owner's mark, where the file system can."""
    try:
        os.setxattr(fd, _MARK, mark.encode())
    except (OSError, AttributeError):  # best effort: without it a foreign tail cannot be told from ours
        return
    os.fsync(fd)


def check_mark(path: str, mark: str, owner: str, committed: int, size: int) -> None:
    """Raise SinkError when the mark says that bytes beyond `committed` are not ours to cut."""
    name, _, length = mark.partition(" ")
    if mark and owner and name != owner:
        raise SinkError(f"{path} was written by another crawl since: give this one an output of its own with -o")
    if length == str(committed) and size > committed:
        raise SinkError(
            f"{path} has grown by {size - committed} bytes since the crawl ended: somebody else wrote to it; "
            f"cut it back to {committed} bytes or give another -o"
        )


class ExactFile:
    """One plain file. All calls are made under the crawl's output lock; a lock on the file keeps other crawls out."""

    def __init__(self, path: str, *, overwrite: bool = False, owner: str = "") -> None:
        self.path = os.path.abspath(path)
        self._overwrite = overwrite
        self._owner = owner.replace(" ", "_")
        self._fd = -1
        self._last = (0, b"")
        """Length after our last append, and the bytes that then stood before it."""

    def target(self) -> str:
        """Absolute path of the file."""
        return self.path

    def prepare(self) -> int:
        """Create the file, empty it (overwrite) or end its broken last line; its length: the first committed one."""
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise UsageError(f"{self.path}: there is no folder {folder}; make it first")
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise UsageError(f"{self.path} is no plain file: name a file, or use - for the standard output")
        with self._locked(create=True) as fd:
            if self._overwrite:
                os.ftruncate(fd, 0)
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                write_at(fd, size, b"\n")
                size += 1
            if self._owner:
                write_mark(fd, self._owner)
            os.fsync(fd)
            sync_folder(folder)
            return size

    def append(self, committed: int, data: bytes) -> int:
        """Cut to `committed`, append, fdatasync; the new length. Raises SinkError (somebody changed it), DiskFull."""
        with self._locked(create=not committed) as fd:
            self._check(fd, committed)
            return self._write(fd, committed, data)

    def head(self, size: int = 65536) -> bytes:
        """The first bytes of the file."""
        with self._locked(create=False) as fd:
            return os.pread(fd, size, 0)

    def close(self, committed: int) -> None:
        """Cut an uncommitted tail, mark the end, let the file go."""
        if self._fd < 0 and not os.path.exists(self.path) and not committed:
            return
        with self._locked(create=False) as fd:
            self._check(fd, committed)
            if os.fstat(fd).st_size > committed:
                self._write(fd, committed, b"")
            if self._owner:
                write_mark(fd, f"{self._owner} {committed}")
        os.close(self._fd)
        self._fd = -1

    @contextmanager
    def _locked(self, create: bool) -> Iterator[int]:
        try:
            if self._fd < 0:
                flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT if create else 0)
                self._fd = os.open(self.path, flags, 0o666)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            try:
                yield self._fd
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except FileNotFoundError as error:
            raise SinkError(f"{self.path} is gone: put it back, or start anew with --fresh") from error
        except OSError as error:
            raise failure(self.path, error) from error

    def _check(self, fd: int, committed: int) -> None:
        seen, ours = os.stat(self.path), os.fstat(fd)
        if (seen.st_dev, seen.st_ino) != (ours.st_dev, ours.st_ino):
            raise SinkError(f"{self.path} was replaced while the crawl was writing it: put it back, or give another -o")
        size = seen.st_size
        if not stat.S_ISREG(seen.st_mode) or size < committed:
            raise SinkError(
                f"{self.path} has {size} bytes where {committed} were written: somebody cut or replaced it; "
                "put it back, or start anew with --fresh"
            )
        mark = read_mark(fd)
        check_mark(self.path, mark, self._owner, committed, size)
        if self._owner and mark != self._owner:
            write_mark(fd, self._owner)
        if committed:
            tail = os.pread(fd, min(_TAIL, committed), max(0, committed - _TAIL))
            if tail[-1:] != b"\n" or (committed == self._last[0] and tail != self._last[1]):
                raise SinkError(f"{self.path} was changed by somebody else before byte {committed}: give another -o")

    def _write(self, fd: int, committed: int, data: bytes) -> int:
        if os.fstat(fd).st_size > committed:
            os.ftruncate(fd, committed)
        try:
            write_at(fd, committed, data)
            sync(fd)
        except OSError:
            os.ftruncate(fd, committed)  # gives back the room; the next append would cut it, too
            raise
        length = committed + len(data)
        self._last = (length, os.pread(fd, min(_TAIL, length), max(0, length - _TAIL)))
        return length

"""Exact files. An exact file (`ExactFile`) is a plain file that contains each row exactly once, even after a
kill.

The store keeps the committed length, and the file is cut to this length before each append. Each append is
first logged (`append_log`), so that only bytes of this crawl are cut. If the file has uncommitted bytes that
the crawl did not log, these bytes are kept, and a SinkError is raised. The file also has a mark, if the file
system supports extended attributes. The mark is an extended attribute. The mark names the crawl that writes
the file. The mark also contains the length of the file before the crawl, and the length at the end of the
last run. A SinkError is raised if another crawl has written to the file, if the file grew after the crawl
ended, or if the file shrank, vanished or was replaced.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from gossamer.errors import DiskFull, GossamerError, SinkAway, SinkError, UsageError, own_limit
from gossamer.sinks.append_log import MAX_LOST_S, REPAIR, AppendLog, tell_store_went_back, unknown_to_store

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MARK = "user.gossamer"
_CUT = "user.gossamer.cut"
_STORE = "user.gossamer.store"
TAIL_BYTES = 64
"""To detect changes by other programs, this many bytes at the end of the written data are compared."""


def sink_error(path: str, error: OSError) -> GossamerError:
    """Converts an OSError on an output to an error whose message contains advice for the user."""
    if error.errno in _FULL:
        return DiskFull(f"no space left for {path}: free some, then run the same command again")
    if short := own_limit(error):
        return SinkAway(f"{path} cannot be opened, this process is short of {short}")
    return SinkError(f"cannot write {path}: {error.strerror or error}")


def sync(fd: int) -> None:
    """Makes the data of a file durable."""
    getattr(os, "fdatasync", os.fsync)(fd)


def sync_folder(path: str) -> None:
    """Makes the file names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_at(fd: int, offset: int, data: bytes) -> None:
    """Writes all of `data` at `offset`."""
    rest = memoryview(data)
    while rest:
        done = os.pwrite(fd, rest, offset)
        rest, offset = rest[done:], offset + done


class Mark(NamedTuple):
    """The mark of an output, which identifies the crawl that writes the output.

    `owner` is the crawl. `base` is the length of the output before the crawl. `end` is the length of the
    output at the end of the last run, or None during a run. `more` is set if the last run was stopped before
    the crawl finished. Lengths are in bytes.
    """

    owner: str
    base: int = 0
    end: int | None = None
    more: str | None = None


def read_mark(fd: int) -> Mark | None:
    """Returns the mark of a file or folder, which is an extended attribute. If the file or folder has no
    mark, the owner is "". Returns None if the file system does not support marks."""
    try:
        words = os.getxattr(fd, _MARK).decode("utf-8", "replace").split(" ")
        return Mark(
            words[0], int(words[1]), int(words[2]) if words[2:] else None, words[3] if words[3:] else None
        )
    except (ValueError, IndexError):
        return Mark("")
    except OSError as error:
        return Mark("") if error.errno == errno.ENODATA else None
    except AttributeError:  # Python on macOS lacks getxattr
        return None


def has_owner(fd: int) -> bool:
    """Returns whether a crawl has marked the file as its output."""
    mark = read_mark(fd)
    return mark is not None and bool(mark.owner)


def write_mark(fd: int, mark: Mark) -> None:
    """Stores the mark as an extended attribute of the file, if the file system supports that."""
    try:
        os.setxattr(fd, _MARK, " ".join(str(part) for part in mark if part is not None).encode())
    # The mark is optional. Without a mark, data of another program may be taken for an uncommitted tail.
    except (OSError, AttributeError):
        return
    os.fsync(fd)


def _cut(fd: int) -> bytes:
    """Returns the token of the last cut. Each process of the crawl that cuts the file stores a new random
    token in an attribute of the file. A changed token shows that another process cut the file. A process of
    the crawl cuts the file if the store lost a commit of another process."""
    try:
        return os.getxattr(fd, _CUT)
    except (OSError, AttributeError):
        return b""


def check_owner(path: str, fd: int, owner: str, committed: int, size: int) -> None:
    """Checks that this crawl may cut the bytes beyond `committed`, and marks the output as written by this
    crawl.

    Raises SinkError if another crawl wrote to the output, if the output grew after the crawl's end, or if
    bytes from before the crawl would be cut.
    """
    mark = read_mark(fd) if owner else None
    if mark is None:
        return
    if mark.owner not in ("", owner):
        raise SinkError(
            f"{path} was written by another crawl since: give this one an output of its own with -o"
        )
    if size > committed and (committed < mark.base or (not committed and not mark.owner)):
        raise SinkError(f"{path} contains rows from before this crawl, which would be cut: give another -o")
    if size > committed == mark.end:
        raise SinkError(
            f"{path} has grown by {size - committed} bytes since the crawl ended, because another program wrote to it: "
            f"truncate it to {committed} bytes, or give another -o"
        )
    if mark.owner != owner or mark.end is not None:
        write_mark(fd, Mark(owner, mark.base))


def check_appends(path: str, fd: int, log: AppendLog, committed: int, size: int) -> float:
    """Checks in the log that this crawl wrote the bytes beyond `committed`. Other bytes must not be cut. If
    another program wrote these bytes, raises SinkError and changes nothing.

    If the machine has rebooted, the log may be incomplete. After a reboot, no error is raised, and the bytes
    are copied to the crawl's folder.

    Returns the seconds between the first and the last append that wrote these bytes. The result is 0 unless
    the store lost a commit, because a new append is made only after the one before was committed or cut.
    """
    seconds = log.proven_seconds(fd, path, committed, size)
    if seconds is None and log.has_rebooted(path):
        aside = log.keep_aside(fd, path, committed, size)
        print(
            f"gossamer: {path} is cut back to {committed} bytes; what followed is kept in {aside}",
            file=sys.stderr,
        )
    elif seconds is None:
        raise SinkError(
            f"{path} has {size - committed} bytes after byte {committed} that this crawl did not "
            "write; they are kept. "
            f"Move them to another file and run the same command again; {REPAIR} goes on after them"
        )
    elif seconds > MAX_LOST_S:
        raise SinkError(
            f"{path} has rows of {seconds:.0f} s that the store does not know: it was restored "
            "from a copy, or is damaged. "
            f"Put the newest store back, or run {REPAIR}"
        )
    return seconds or 0.0


def changed_error(path: str, committed: int) -> SinkError:
    """Returns the error for a file that does not end with the committed rows."""
    return SinkError(
        f"{path} is an older copy, or was changed by another program before byte {committed}: restore the file, "
        f"run {REPAIR}, or give another -o"
    )


def forgotten_owner(fd: int, owner: str, log: AppendLog) -> str:
    """If a file's mark names an unfinished crawl of the same name in another store, returns the owner that
    the mark contains. Otherwise, returns ""."""
    mark = read_mark(fd)
    if mark is None or not mark.owner or mark.owner == owner or (mark.end is not None and not mark.more):
        return ""
    with contextlib.suppress(OSError, AttributeError):
        store = os.getxattr(fd, _STORE).decode("ascii", "replace")
        if store != log.store and mark.owner.partition("@")[0] == owner.partition("@")[0]:
            return mark.owner
    return ""


def mark_store(fd: int, log: AppendLog | None) -> None:
    """Stores the identity of the crawl's store in an extended attribute of the file."""
    if log is not None and log.store:
        with contextlib.suppress(OSError, AttributeError):
            os.setxattr(fd, _STORE, log.store.encode())


def mark_end(fd: int, owner: str, committed: int, log: AppendLog | None) -> None:
    """Stores two facts in the mark of the file: the length of the file at the end of the run, and whether the
    crawl finished. If the file is later longer than this length, another program has written to the file."""
    mark = read_mark(fd) if owner else None
    if mark is not None:
        write_mark(
            fd, Mark(owner, mark.base, committed, None if log is None or log.finished() else "stopped")
        )


class ExactFile:
    """A plain file that contains each row exactly once (see the module docstring). `ends`: the bytes at the
    end of each row.

    All calls are made under the crawl's output lock. A lock on the file keeps other crawls out.
    """

    def __init__(
        self,
        path: str,
        *,
        overwrite: bool = False,
        owner: str = "",
        ends: bytes = b"\n",
        log: AppendLog | None = None,
    ) -> None:
        self.path = os.path.abspath(path)
        self._log, self._looked = log, False
        self._overwrite = overwrite
        self._owner = owner.replace(" ", "_")
        self._ends = ends
        self._fd, self._inode = -1, (0, 0)
        self._last, self._cut = (0, b""), b""
        """`_last` is a pair of the file's length after this process's last append, and the last bytes before
        that length. `_cut` is the random token that the last process to truncate the file stored in an
        extended attribute of the file."""

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:  # a run that failed did not close the file
            os.close(self._fd)

    def target(self) -> str:
        """Returns the absolute path of the file."""
        return self.path

    def prepare(self) -> int:
        """Creates the file. If the file exists, empties it (if `overwrite` is set) or adds the missing line
        end to its last line. Returns the length of the file in bytes, which is the first committed length.
        Raises UsageError, SinkError, DiskFull."""
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise UsageError(f"{self.path}: the folder {folder} does not exist; create it first")
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise UsageError(f"{self.path} is not a regular file: name a file, or use - for standard output")
        with self._locked(create=True) as fd:
            if self._overwrite:
                os.ftruncate(fd, 0)
            size = os.fstat(fd).st_size
            if size and self._log is not None:
                if not self._log.fresh:
                    self._known(fd, self._log)
                elif has_owner(fd):
                    print(
                        f"gossamer: {self.path} has rows of earlier runs; this crawl appends its rows to them. -O "
                        "overwrites the file",
                        file=sys.stderr,
                    )
            if size and self._ends and os.pread(fd, 1, size - 1) != self._ends:
                write_at(fd, size, self._ends)
                size += 1
            if self._owner:
                mark_store(fd, self._log)
                write_mark(fd, Mark(self._owner, size))
            if self._log is not None:
                self._log.begin(self.path, size)
            os.fsync(fd)
            sync_folder(folder)
            return size

    def refuse_forgotten(self) -> None:
        """Raises SinkError if the file contains rows of this crawl and the store has forgotten the crawl."""
        if self._log is not None and not self._log.fresh and os.path.isfile(self.path):
            with self._locked(create=False) as fd:
                if os.fstat(fd).st_size:
                    self._known(fd, self._log)

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """Returns the path that this file had before it was moved here, or None if the file is not a moved
        output of the crawl. `lengths` maps the paths of the crawl's outputs to their committed lengths.
        Raises SinkError if the file is an older copy."""
        if self._log is None or self._overwrite or not os.path.isfile(self.path):
            return None
        with self._locked(create=False) as fd:
            return self._log.former_path(fd, self.path, os.fstat(fd).st_size, lengths)

    def adopt(self, was: str) -> None:
        """Continues an output that was moved from the path `was` to this path."""
        assert self._log is not None
        self._log.moved(self.path, was)

    def append(self, committed: int, data: bytes) -> int:
        """Cuts the file to `committed` bytes, appends `data`, calls fdatasync, and returns the new length.
        Raises SinkError if another program changed the file. Raises DiskFull if no space is left."""
        with self._locked(create=not committed) as fd:
            return self._write(fd, committed, data, self._check(fd, committed))

    def head(self, size: int = 65536) -> bytes:
        """Returns the first bytes of the file."""
        with self._locked(create=False) as fd:
            return os.pread(fd, size, 0)

    def close(self, committed: int) -> None:
        """Cuts an uncommitted tail, records the end of the run in the mark, and closes the file."""
        if self._fd < 0 and not os.path.exists(self.path) and not committed:
            return
        with self._locked(create=False) as fd:
            size = self._check(fd, committed)
            if size > committed:
                self._write(fd, committed, b"", size)
            mark_end(fd, self._owner, committed, self._log)
        os.close(self._fd)
        self._fd = -1

    def drop(self) -> None:
        """Closes the file and changes nothing in it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @contextmanager
    def _locked(self, create: bool) -> Iterator[int]:
        try:
            if self._fd >= 0 and self._made_anew(create):
                os.close(self._fd)
                self._fd, self._last = -1, (0, b"")
            if self._fd < 0:
                flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT if create else 0)
                self._fd = os.open(self.path, flags, 0o666)
                ours = os.fstat(self._fd)
                self._inode = ours.st_dev, ours.st_ino
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            try:
                yield self._fd
            finally:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
        except FileNotFoundError as error:
            if create:
                raise sink_error(self.path, error) from error
            raise SinkError(f"{self.path} is gone: put it back, or start over with --fresh") from error
        except OSError as error:
            raise sink_error(self.path, error) from error

    def _made_anew(self, create: bool) -> bool:
        """Returns whether another process of the crawl removed the file, and perhaps created the file again.
        A process removes the file if the store lost a commit of another process."""
        try:
            there = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return create
        try:
            found = os.fstat(there)
            mark = read_mark(there) if (found.st_dev, found.st_ino) != self._inode and self._owner else None
            return mark is not None and mark.owner == self._owner
        finally:
            os.close(there)

    def _check(self, fd: int, committed: int) -> int:
        """Checks that the first `committed` bytes of the file are unchanged, and returns the size of the
        file. Raises SinkError."""
        seen = os.stat(self.path)
        if (seen.st_dev, seen.st_ino) != self._inode:
            raise SinkError(
                f"{self.path} was replaced while the crawl was writing it: put it back, or give another -o"
            )
        size = seen.st_size
        if not stat.S_ISREG(seen.st_mode) or size < committed:
            raise SinkError(
                f"{self.path} has {size} bytes where {committed} were written, so another program cut or replaced it; "
                f"put it back, run {REPAIR}, or start over with --fresh"
            )
        check_owner(self.path, fd, self._owner, committed, size)
        if self._log is not None:
            self._by_log(fd, self._log, committed, size)
        if committed:
            tail = os.pread(fd, min(TAIL_BYTES, committed), max(0, committed - TAIL_BYTES))
            changed = committed == self._last[0] and tail != self._last[1] and _cut(fd) == self._cut
            if changed or (self._ends and tail[-1:] != self._ends):
                raise changed_error(self.path, committed)
        return size

    def _by_log(self, fd: int, log: AppendLog, committed: int, size: int) -> None:
        """Checks the file against the log of appends. The committed bytes are checked once per process, and
        uncommitted bytes are checked each time. Raises SinkError."""
        if self._looked and size == committed:
            return
        if log.knows(self.path):
            if not self._looked and committed and log.ends(fd, self.path, committed) is False:
                raise changed_error(self.path, committed)
            if size > committed and (seconds := check_appends(self.path, fd, log, committed, size)):
                tell_store_went_back(log, self.path, committed, seconds)
        if not self._looked:
            log.resume(self.path)
        self._looked = True

    def _known(self, fd: int, log: AppendLog) -> None:
        """Raises SinkError if the file contains rows of this crawl and the store has forgotten the crawl."""
        names = dict.fromkeys([self.path, *log.paths()], 0)
        was = log.former_path(fd, self.path, os.fstat(fd).st_size, names)
        if owner := (was and log.forgotten_by_store(was)) or forgotten_owner(fd, self._owner, log):
            raise unknown_to_store(self.path, owner)

    def _write(self, fd: int, committed: int, data: bytes, size: int) -> int:
        if size > committed:
            if self._owner:
                with contextlib.suppress(OSError, AttributeError):
                    os.setxattr(fd, _CUT, secrets.token_bytes(8))
            os.ftruncate(fd, committed)
        length = committed + len(data)
        if data and self._log is not None:
            self._log.log_append(self.path, committed, data)
        try:
            # Because of O_APPEND, Linux writes at the end of the file even if another program has written
            # there meanwhile.
            write_at(fd, committed, data)
            sync(fd)
        except OSError:
            if os.fstat(fd).st_size <= length:
                # This frees the space. Without this cut, the next append would cut these bytes.
                os.ftruncate(fd, committed)
            raise
        if os.fstat(fd).st_size != length:
            raise SinkError(
                f"another program wrote to {self.path} at the same time, after byte {committed}; "
                "all of it is kept. "
                f"Move its lines to another file, or run {REPAIR}"
            )
        self._last = (
            length,
            data[-TAIL_BYTES:]
            if len(data) >= TAIL_BYTES
            else os.pread(fd, min(TAIL_BYTES, length), max(0, length - TAIL_BYTES)),
        )
        self._cut = _cut(fd)
        return length

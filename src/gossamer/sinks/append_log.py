"""The log of all appends to a crawl's plain files. The log proves which bytes of an output this crawl wrote.

The store keeps the committed length of each file. Bytes beyond that length may be cut only if this crawl
wrote them. Therefore, each append is logged before it is made. A log entry contains the path, the positions
of the first and the last byte, and checksums. The log is in the crawl's folder and is not synced, so it
survives a kill but not a power failure. The log also shows that an output was moved, or that the store was
replaced or emptied after the crawl wrote an output. See docs/decisions/items-and-outputs.md.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from isal import isal_zlib

from gossamer.errors import ConfigError, SinkError, of_data

PAGE_BYTES = 4096
"""The page size of a file in bytes. If a process is killed during a write, the file ends at a multiple of the
page size."""
MAX_SUMS = 64
"""The maximum number of block checksums in one log entry. For an append of more than MAX_SUMS pages, each
checksum covers several pages."""
MAX_BYTES = 4 << 20
"""The log file is shortened when it is larger than this number of bytes."""
KEPT_BYTES = 1 << 20
"""When the log is shortened, at least this many bytes of the newest entries are kept."""
MAX_LOST_S = 60.0
"""After a kill or an outage, the uncommitted appends were made within at most this many seconds. Uncommitted
appends over a longer time show that the store was restored from a copy, or that the file was damaged."""
REPAIR = "gossamer doctor --repair"


MAX_LINES = 1000
"""Appends of up to this many lines are logged with one checksum per line."""


class LogEntry(msgspec.Struct, omit_defaults=True):
    """One line of the log.

    An entry describes one of three events. `sums` is set if the event is an append. `owner` is set if a crawl
    or process began or resumed writing an output. `was` is set if an output was moved. `start` and `end` are
    byte offsets in the file. `step` is the number of bytes per checksum. `at` is the time in seconds since
    the epoch. `boot` contains the machine's name and the ID of its current boot. `begun` is set if the crawl
    writes the output for the first time.
    """

    path: str
    start: int = 0
    end: int = 0
    step: int = PAGE_BYTES
    sums: list[int] = []
    """The checksums (CRC-32) of an append, one per block of the appended bytes. A block ends at a file offset
    that is a multiple of `step`, and the last block ends at the end of the append. Blocks end at page
    boundaries of the file, because interrupted writes also end there."""
    rows: list[int] = []
    """The checksums (CRC-32) of an append that consists of lines, one per line. The checksum of a line covers
    all bytes from the start of the append to the end of the line. The checksums of lines are needed because
    an interrupted write may also end between two lines."""
    at: float = 0.0
    owner: str = ""
    store: str = ""
    boot: str = ""
    was: str = ""
    begun: bool = False


_told: dict[Path, float] = {}
"""The monotonic time at which a lost commit was last told, by crawl folder."""
_encode = msgspec.json.Encoder().encode_lines
_decode = msgspec.json.Decoder(LogEntry).decode


class AppendLog:
    """The log of one crawl in one data folder.

    `store` is the identity of the crawl's store. `fresh`: whether the user asked to discard earlier state
    (`--fresh`). `finished` is called when an output is closed, and returns whether the crawl has finished.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        owner: str,
        store: str = "",
        *,
        fresh: bool = False,
        finished: Callable[[], bool] = lambda: True,
    ) -> None:
        self.finished = finished
        self.path, self.owner, self.store, self.fresh = Path(path), owner, store, fresh

    def log_append(self, path: str, start: int, data: bytes) -> None:
        """Logs an append before it is made. `start` is the offset of `data` in the file."""
        end = start + len(data)
        step = PAGE_BYTES
        while len(data) > step * MAX_SUMS:
            step *= 2
        self._write(
            LogEntry(
                path,
                start,
                end,
                step,
                list(_sums(data, start, step)),
                _line_sums(data),
                round(time.time(), 3),
            )
        )

    def begin(self, path: str, base: int) -> None:
        """Logs that this crawl begins to write an output that has `base` bytes."""
        self._write(
            LogEntry(
                path, base, base, at=time.time(), owner=self.owner, store=self.store, boot=_boot(), begun=True
            )
        )

    def resume(self, path: str) -> None:
        """If the machine has rebooted since the last entry, logs that a process resumes an output."""
        if self._boot_of(path) != _boot():
            self._write(LogEntry(path, at=time.time(), owner=self.owner, store=self.store, boot=_boot()))

    def moved(self, path: str, was: str) -> None:
        """Logs that an output was moved from `was` to `path`."""
        self._write(LogEntry(path, at=time.time(), owner=self.owner, store=self.store, boot=_boot(), was=was))

    def knows(self, path: str) -> bool:
        """Returns whether the log has entries for an output."""
        return bool(self._of(path))

    def has_rebooted(self, path: str) -> bool:
        """Returns whether this machine has rebooted since a process last began or resumed writing an output.
        After a reboot, the log may lack its last lines, because the log is not synced."""
        boot = self._boot_of(path)
        return bool(boot) and boot != _boot() and boot.partition(" ")[0] == _boot().partition(" ")[0]

    def forgotten_by_store(self, path: str, *, rows: bool = True) -> str:
        """If the store was replaced or emptied after the crawl wrote the output, returns the last owner of
        the output according to the log. This owner is the crawl's name in the former store.

        Returns "" if the log contains no entry about a former store. Also returns "" if a user removed the
        crawl from the store, because the store itself was neither replaced nor emptied. Also returns "" if
        `rows` is true and the log contains no appends to the output.
        """
        begun = [one for one in self._of(path) if one.owner]
        rows = not rows or any(one.sums for one in self._of(path))
        last = begun[-1] if begun else None
        lost = (
            last is not None
            and last.owner != self.owner
            and last.store
            and self.store not in ("", last.store)
        )
        return last.owner if last is not None and rows and lost else ""

    def proven_seconds(self, fd: int, path: str, committed: int, size: int) -> float | None:
        """Returns the seconds between the first and the last append that wrote the bytes from `committed` to
        `size`. Returns None if the log does not prove that this crawl wrote these bytes."""
        entries = [one for one in self._of(path) if one.sums]
        at, first, last = committed, 0.0, max((one.at for one in entries), default=0.0)
        while at < size:
            here = [one for one in reversed(entries) if one.start == at]
            whole = next((one for one in here if one.end <= size and _matches(fd, one, one.end)), None)
            if whole is None:
                cut = next((one for one in here if one.end > size and _matches(fd, one, size)), None)
                if cut is None:
                    return None
                first = first or cut.at
                break
            first, at = first or whole.at, whole.end
        return last - first if first else 0.0

    def ends(self, fd: int, path: str, committed: int | None = None) -> bool | None:
        """Returns whether the bytes before `committed` match the last logged append that ended at `committed`.
        Returns None if the log contains no such append. An earlier append that ended there was not committed:
        a kill prevented its commit, or the store lost it. `committed` is None for a file that is written once.
        Such a file must end as the last logged write to it."""
        found = [one for one in self._of(path) if one.sums and committed in (None, one.end)]
        size = os.fstat(fd).st_size if committed is None else committed
        return found[-1].end == size and _matches(fd, found[-1], size) if found else None

    def former_path(self, fd: int, path: str, size: int, lengths: Mapping[str, int]) -> str | None:
        """Returns the path from which the file at `path` was moved, according to the log. The result is one
        of the paths in `lengths`. Returns None if the file is not one of the outputs in `lengths`, or if the
        file was not moved.

        `lengths` maps paths to committed lengths. Raises SinkError if the file is an older or a changed copy.
        """
        if path not in lengths and path in self.paths() and self._begins_as(fd, path, size):
            return None  # this output of the crawl was not moved
        for was, committed in lengths.items():
            if not self._begins_as(fd, was, size):
                continue
            if size < committed or self.ends(fd, was, committed) is False:
                raise SinkError(
                    f"{path} is another version of {was}: it has {size} bytes, and the crawl "
                    f"wrote {committed}. "
                    f"Put the newest version there, or run {REPAIR}"
                )
            return was
        return None

    def _begins_as(self, fd: int, path: str, size: int) -> bool:
        """Returns whether the first bytes of a file match the first append that the log contains for
        `path`."""
        entries = [one for one in self._of(path) if one.sums]
        first = min((one.start for one in entries), default=0)
        return any(
            one.start == first and _matches(fd, one, min(one.end, size, _page_after(one))) for one in entries
        )

    def keep_aside(self, fd: int, path: str, start: int, size: int) -> Path:
        """Copies the bytes from `start` to `size` to a file in the crawl's folder, and returns the path of
        this file. This method is called before bytes are cut, if the log does not prove that this crawl wrote
        these bytes."""
        day = time.strftime("%Y%m%dT%H%M%S")
        to = self.path.parent / f"cut-{os.path.basename(path)}-{start}-{day}"
        with open(to, "xb") as file:
            while start < size and (data := os.pread(fd, min(1 << 20, size - start), start)):
                file.write(data)
                start += len(data)
            file.flush()
            os.fsync(file.fileno())
        return to

    def paths(self) -> list[str]:
        """Returns the current paths of the outputs in the log."""
        moved = {one.was for one in self._entries() if one.was}
        return [path for path in dict.fromkeys(one.path for one in self._entries()) if path not in moved]

    def _boot_of(self, path: str) -> str:
        return next((one.boot for one in reversed(self._of(path)) if one.boot), "")

    def _of(self, path: str) -> list[LogEntry]:
        """Returns the log's entries about an output. If the crawl began to write the output more than once,
        returns only the entries since the last beginning. Entries under earlier paths of the output are
        included."""
        found: list[LogEntry] = []
        names = {path}
        for one in reversed(self._entries()):
            if one.path in names:
                found.append(one)
                if one.begun:
                    break
                if one.was:
                    names.add(one.was)
        return found[::-1]

    def _entries(self) -> list[LogEntry]:
        return list(self._read())

    def _read(self) -> Iterator[LogEntry]:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return
        except OSError as error:
            raise of_data(self.path.parent, error) from error
        with open(fd, "rb") as file:
            for line in file:
                with contextlib.suppress(msgspec.DecodeError):  # a kill cut this line off
                    yield _decode(line)

    def _write(self, *entries: LogEntry) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            fd = os.open(self.path, flags, 0o600)
            try:
                data = _encode(entries)
                if os.write(fd, b"\n" + data if entries[0].owner else data) < len(data):
                    raise ConfigError(f"{self.path} cannot be written in full")
                size = os.lseek(fd, 0, os.SEEK_END)
            finally:
                os.close(fd)
            if size > MAX_BYTES:
                self._shorten()
        except OSError as error:
            raise of_data(self.path.parent, error) from error

    def _shorten(self) -> None:
        """Rewrites the log with fewer entries. The log keeps its newest entries, the first append of each
        output, and all entries that record an owner or a move of an output."""
        lines = self._entries()
        size, newest = 0, len(lines)
        while newest and size < KEPT_BYTES:
            newest -= 1
            size += len(_encode([lines[newest]]))
        seen: set[str] = set()
        kept = []
        for j, one in enumerate(lines):
            if j >= newest or one.owner or one.path not in seen:
                kept.append(one)
            if one.sums:
                seen.add(one.path)
        new = self.path.with_name(f"{self.path.name}.new")
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(_encode(kept))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self.path)


def log_path(folder: str | os.PathLike[str], segment: str = "") -> Path:
    """Returns the path of the log in a crawl's folder. `segment`: identifies the process of a fleet that
    writes the log. '' if the crawl runs without a fleet."""
    return Path(folder) / (f"appends-{segment}.jsonl" if segment else "appends.jsonl")


def tell_store_went_back(log: AppendLog, path: str, committed: int, seconds: float) -> None:
    """Tells that the store lost its last commits, in one line for all outputs of the crawl. `seconds`: see
    `proven_seconds`."""
    folder, now = log.path.parent, time.monotonic()
    if now - _told.get(folder, -MAX_LOST_S) >= MAX_LOST_S:
        _told[folder] = now
        print(
            f"gossamer: the store went back by {max(seconds, 0.1):.1f} s: {path} is cut back to "
            f"{committed} bytes, and the pages that the store forgot are fetched again",
            file=sys.stderr,
        )


def unknown_to_store(path: str, owner: str) -> SinkError:
    """Returns the error for an output whose crawl is missing from the store."""
    name = owner.partition("@")[0]
    return SinkError(
        f"{path} has rows of crawl {name} that the store does not know: it was emptied, or "
        "another one is used. "
        f"Run {REPAIR} {name} to go on, or start over with --fresh (appends), -O (overwrites) or another -o"
    )


def _line_sums(data: bytes) -> list[int]:
    if not data.endswith(b"\n") or data.count(b"\n") > MAX_LINES:
        return []
    found, sum_ = [], 0
    for line in data[:-1].split(b"\n"):
        sum_ = isal_zlib.crc32(line + b"\n", sum_)
        found.append(sum_)
    return found


def _sums(data: bytes | memoryview, start: int, step: int) -> Iterator[int]:
    view, at = memoryview(data), 0
    while at < len(view):
        upto = at + step - (start + at) % step
        yield isal_zlib.crc32(view[at:upto])
        at = upto


def _page_after(entry: LogEntry) -> int:
    """Returns the file offset at which the first block of an append ends."""
    return entry.start + entry.step - entry.start % entry.step


def _matches(fd: int, entry: LogEntry, size: int) -> bool:
    """Returns whether the first `size` bytes of the file match an append. Bytes of the append beyond `size`
    are ignored. If the last block is incomplete, it is compared only if it ends with a complete row."""
    upto = min(entry.end, size)
    if upto <= entry.start:
        return False
    data = os.pread(fd, upto - entry.start, entry.start)
    if len(data) < upto - entry.start:
        return False
    sums = list(_sums(data, entry.start, entry.step))
    if upto == entry.end:
        return sums == entry.sums
    if upto % entry.step == 0:
        return sums == entry.sums[: len(sums)]
    # The write was cut off within a page. If the data ends with a complete row, the row must match too,
    # because another program may have written it.
    if sums[:-1] != entry.sums[: len(sums) - 1]:
        return False
    return isal_zlib.crc32(data) in entry.rows if data.endswith(b"\n") else True


_BOOT = Path("/proc/sys/kernel/random/boot_id")


def _boot() -> str:
    """Returns an identifier of this machine and its current boot."""
    with contextlib.suppress(OSError):
        return f"{platform.node().replace(' ', '_')} {_BOOT.read_text().strip()}"
    return ""

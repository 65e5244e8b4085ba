"""Parquet: a folder of complete part files. The part files are converted from a journal, which contains each
row exactly once.

The committed length is the total number of journal bytes since the first row, including the bytes that are
already converted to parts. `part-A-B.parquet` contains the rows of the bytes A to B, and `_journal-A.rows`
contains the rows from byte A on. When a journal has grown to `part_bytes`, it is converted to a part. The
part is written under a temporary name and synced. Then the part is renamed. The rename is atomic. Therefore,
the files in the folder and the committed length always describe the complete state. Everything beyond the
committed length is cut, even if the store lost its last second of writes. Because the store may lose its last
writes, the journal of a closed part is kept for a while. A journal contains JSON lines. Many records that
arrive at once are written as one Arrow batch (`row_fitting.frame_batch`). Readers (DuckDB, Arrow, Spark)
ignore files whose names begin with `_`, so every part that they find is complete. The columns have Arrow
types that follow the annotations of the item class, for example lists, structs, maps and dates. A decimal is
decimal128(38, 9) unless `Digits` specifies other digits. Times are in UTC with microseconds. Values of a
field without a single type are stored as JSON text. If a folder already has parts, their column types are
kept. If a value does not fit its column, the column becomes null, the value is stored in `_extra`, and the
row is passed to `refuse`.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.append_log import PAGE_BYTES, REPAIR, AppendLog, unknown_to_store
from gossamer.sinks.columns import EXTRA, OURS, Column, extra_fields
from gossamer.sinks.crash_safe_file import (
    Mark,
    changed_error,
    check_owner,
    forgotten_owner,
    mark_end,
    mark_store,
    read_mark,
    sink_error,
    sync,
    sync_folder,
    write_at,
    write_mark,
)
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.row_fitting import Misfit, frame_batch, lines_for, read_frames

_PART = re.compile(r"part-(\d{15})-(\d{15})\.parquet")
_JOURNAL = re.compile(r"_journal-(\d{15})\.rows")
_PART_NAME, _JOURNAL_NAME = "part-%015d-%015d.parquet", "_journal-%015d.rows"
_UNDONE = "_part.tmp"
_MIN_BATCH_RECORDS = 128
"""If an append has at least this many records, the records are written as an Arrow batch, otherwise as
lines."""
_LISTING_INTERVAL_S = 10.0
"""The maximum age in seconds of the listing of a Parquet folder. Each time the folder is listed, the old
journals of closed parts are removed."""


class Parquet:
    """The FileSink for the `.parquet` folder of one kind. `columns` is None if the items are untyped dicts.

    `part_bytes`: the number of journal bytes per part. A row stays in the journal until its part is closed.
    `keep`: the number of seconds for which the journal of a closed part is kept.
    """

    def __init__(
        self,
        path: str,
        columns: Sequence[Column] | None,
        *,
        overwrite: bool = False,
        owner: str = "",
        log: AppendLog | None = None,
        part_bytes: int = 32 << 20,
        keep: float = 60.0,
        refuse: Refuse | None = None,
    ) -> None:
        if importlib.util.find_spec("pyarrow") is None:
            raise ConfigError(f"{path}: Parquet needs pyarrow: {install_command('parquet')}")
        self.path = os.path.abspath(path)
        self._columns = (*(OURS if columns is None else columns), Column(EXTRA))
        self._overwrite = overwrite
        self._owner = owner.replace(" ", "_")
        self._log = log
        self._part_bytes = part_bytes
        self._keep = keep
        self._refuse = refuse
        self.refused: list[Row] = []
        """The rows that lost a value. The code that reads the rows also removes them."""
        self._fit = False
        self._before = 0
        """The journal bytes before this position may come from an earlier run. In the earlier run, the
        columns may have been different, because of other options or another site file."""
        self._left = (-1, 0, 0, 0.0)
        """A tuple of four values that describe the folder after the last append: the committed length in
        bytes, the position at which the current journal starts, the modification time of the folder in
        nanoseconds, and the monotonic time in seconds at which the folder was last listed."""

    def target(self) -> str:
        """Returns the absolute path of the folder."""
        return self.path

    def prepare(self) -> int:
        """Creates the folder, and returns the current committed length of the output. If `overwrite` is set,
        removes all Parquet files in the folder. Otherwise, converts the remaining journals of an earlier
        crawl to parts. Raises UsageError, SinkError, DiskFull."""
        parent = os.path.dirname(self.path)
        if not os.path.isdir(parent):
            raise UsageError(f"{self.path}: the folder {parent} does not exist; create it first")
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise UsageError(
                f"{self.path} is a file, but gossamer writes a folder of parts here: use another name"
            )
        try:
            os.makedirs(self.path, exist_ok=True)
            sync_folder(parent)
        except OSError as error:
            raise sink_error(self.path, error) from error
        with self._locked() as folder:
            if self._overwrite:
                for name in os.listdir(self.path):
                    if name.endswith(".parquet") or _JOURNAL.fullmatch(name) or name == _UNDONE:
                        os.unlink(f"{self.path}/{name}")
            elif self._log is not None and not self._log.fresh:
                self._known(folder, self._log)
            parts, journals = _listing(self.path)
            ended = {start for start, _ in parts}
            for start in sorted(journals - ended):
                with open(self._journal(start), "rb") as left:
                    whole = sum(took for *_, took in read_frames(left, _size(left.name)))
                if whole:
                    self._before = max(self._before, start + whole)
                    self._close_part(start, start + whole)
            self._sweep(0)
            parts, _ = _listing(self.path)
            self._columns = _fitting(self.path, [self._part(*one) for one in parts], self._columns)
            base = max((end for _, end in parts), default=0)
            if self._owner:
                mark_store(folder, self._log)
                write_mark(folder, Mark(self._owner, base))
            if self._log is not None:
                self._log.begin(self.path, base)
            os.fsync(folder)
            return base

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """See `interfaces.Movable`."""
        was = None if self._overwrite or not os.path.isdir(self.path) else self._was(lengths)
        if was is None:
            return None
        parts, journals = _listing(self.path)
        ends = [end for _, end in parts] + [start + _size(self._journal(start)) for start in journals]
        if max(ends, default=0) < lengths[was]:
            raise SinkError(
                f"{self.path} is an older copy of {was}: put the newest one there, or run {REPAIR}"
            )
        return was

    def adopt(self, was: str) -> None:
        """See `interfaces.Movable`."""
        assert self._log is not None
        self._log.moved(self.path, was)
        for name in self._names():
            self._log.moved(f"{self.path}/{name}", f"{was}/{name}")

    def _names(self) -> list[str]:
        parts, journals = _listing(self.path)
        paths = [self._part(*one) for one in parts] + [self._journal(start) for start in journals]
        return [os.path.basename(path) for path in paths]

    def _was(self, folders: Iterable[str]) -> str | None:
        """Returns the path that this folder had before it was moved, or None if none of `folders` is the
        former path. The former path is determined from the log entries about the files in the folder."""
        names = self._names() if self._log is not None else ()
        for was in folders:
            for name in names:
                assert self._log is not None
                with open(f"{self.path}/{name}", "rb") as file:
                    if self._log.former_path(
                        file.fileno(), file.name, _size(file.name), {f"{was}/{name}": 0}
                    ):
                        return was
        return None

    def _known(self, folder: int, log: AppendLog) -> None:
        """Raises SinkError if the folder contains rows of this crawl although the store no longer knows the
        crawl."""
        if not self._names():
            return
        was = self._was(dict.fromkeys([self.path, *(os.path.dirname(path) for path in log.paths())]))
        owner = was and log.forgotten_by_store(was, rows=False)
        if owner := owner or forgotten_owner(folder, self._owner, log):
            raise unknown_to_store(self.path, owner)

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        misfits: list[Misfit] = []
        with self._locked() as folder:
            start, looked = self._as_left(folder, committed), self._left[-1]
            if start is None:
                start, looked = self._settle(folder, committed), time.monotonic()
                self._sweep(self._keep)
            data = _encoded(self._columns, rows, misfits)
            if committed - start >= self._part_bytes:
                self._close_part(start, committed)
                start = committed
            if self._log is not None and data:
                self._log.log_append(self._journal(start), committed - start, data)
            if not _write(self._journal(start), committed - start, data):
                sync_folder(self.path)
            self._left = (committed + len(data), start, os.fstat(folder).st_mtime_ns, looked)
        if self._refuse is not None:
            for row, why in misfits:
                self._refuse(self.path, row, why)
        self.refused += [row for row, _ in misfits]
        return committed + len(data)

    def close(self, committed: int) -> None:
        """Converts the remaining journal to the last part, and removes old journals."""
        if not os.path.isdir(self.path) and not committed:
            return
        with self._locked() as folder:
            start = self._settle(folder, committed)
            if committed > start:
                self._close_part(start, committed)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._journal(start))
            self._sweep(0)
            mark_end(folder, self._owner, committed, self._log)

    def _as_left(self, folder: int, committed: int) -> int | None:
        """If the folder is unchanged since the last append and was listed recently, returns the position at
        which the current journal starts. Otherwise, returns None."""
        length, start, changed, looked = self._left
        if (
            length != committed
            or changed != os.fstat(folder).st_mtime_ns
            or time.monotonic() - looked > _LISTING_INTERVAL_S
        ):
            return None
        end = start + _size(self._journal(start))
        check_owner(self.path, folder, self._owner, committed, end)
        return start if end >= committed else None

    def _settle(self, folder: int, committed: int) -> int:
        """Removes everything beyond `committed`. Returns the start position of the journal to which the next
        rows are appended."""
        parts, journals = _listing(self.path)
        size = max(
            [end for _, end in parts] + [start + _size(self._journal(start)) for start in journals], default=0
        )
        check_owner(self.path, folder, self._owner, committed, size)
        for start, end in parts:
            if start < committed < end and _size(self._journal(start)) < committed - start:
                raise SinkError(
                    f"{self.path} contains rows that the store does not know: start over with --fresh"
                )
        closed = max((end for _, end in parts if end <= committed), default=0)
        kept = {start for start, end in parts if end <= committed}
        opened = max((start for start in journals - kept if start <= committed), default=closed)
        if opened < closed or (opened != committed and _size(self._journal(opened)) < committed - opened):
            raise _lacks(self.path, f"the rows of the bytes {opened} to {committed} are missing")
        if not self._fit and (missing := missing_part(self.path, committed)):
            raise _lacks(self.path, f"{missing} is missing")
        written = [self._part(*one) for one in parts if one[1] <= committed]
        if not self._fit and self._log is not None:
            self._compare(self._log, written, opened, committed)
        for start, end in parts:
            if end > committed:
                os.unlink(self._part(start, end))
        for start in journals:
            if start > committed:
                os.unlink(self._journal(start))
        if not self._fit:  # the site file may have changed in the meantime
            self._columns = _fitting(self.path, written, self._columns)
            self._fit, self._before = True, committed
        return opened

    def _compare(self, log: AppendLog, parts: Sequence[str], opened: int, committed: int) -> None:
        """Compares the last part and the journal that begins at byte `opened` with the log of appends. Raises
        SinkError if they have other rows than the crawl committed, as an older copy of the folder may have:
        its uncommitted rows can be longer than those that were committed in their place."""
        same: list[bool | None] = []
        if parts:
            with open(parts[-1], "rb") as part:
                same.append(log.ends(part.fileno(), part.name))
        if opened != committed:
            with open(self._journal(opened), "rb") as journal:
                same.append(log.ends(journal.fileno(), journal.name, committed - opened))
        if False in same:
            raise changed_error(self.path, committed)

    def _close_part(self, start: int, end: int) -> None:
        """Converts the journal bytes between `start` and `end` to a part."""
        from gossamer.sinks.arrow import write_part

        foreign = start < self._before
        write_part(
            self._journal(start), end - start, f"{self.path}/{_UNDONE}", self._columns, foreign=foreign
        )
        if self._log is not None:
            with open(f"{self.path}/{_UNDONE}", "rb") as part:
                last = max(0, os.fstat(part.fileno()).st_size - PAGE_BYTES)
                data = os.pread(part.fileno(), PAGE_BYTES, last)
            self._log.log_append(self._part(start, end), last, data)
        os.rename(f"{self.path}/{_UNDONE}", self._part(start, end))
        sync_folder(self.path)

    def _sweep(self, keep: float) -> None:
        """Removes the journals of parts that were closed more than `keep` seconds ago."""
        parts, journals = _listing(self.path)
        for start, end in parts:
            if start in journals:
                age = time.time() - os.stat(self._part(start, end)).st_mtime
                if not 0 <= age < keep:
                    os.unlink(self._journal(start))

    def _part(self, start: int, end: int) -> str:
        return f"{self.path}/{_PART_NAME % (start, end)}"

    def _journal(self, start: int) -> str:
        return f"{self.path}/{_JOURNAL_NAME % start}"

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX)
                yield folder
            finally:
                os.close(folder)
        except FileNotFoundError as error:
            raise SinkError(f"{self.path} is gone: put it back, or start over with --fresh") from error
        except OSError as error:
            raise sink_error(self.path, error) from error


def missing_part(path: str, committed: int) -> str:
    """Returns the name of the first part or journal of this crawl that is missing from a folder of parts, or ''.
    `committed`: the committed length of the output."""
    parts, journals = _listing(path)
    base = _base(path)
    at = min((start for start, _ in parts), default=0) if base is None else base
    parts = [one for one in parts if one[1] <= committed]
    for start, end in parts:
        if start > at:
            break
        at = max(at, end)
    if at >= committed or at + _size(f"{path}/{_JOURNAL_NAME % at}") >= committed:
        return ""
    following = [start for start in (*(start for start, _ in parts), *journals) if at < start <= committed]
    return _PART_NAME % (at, min(following)) if following else _JOURNAL_NAME % at


def discard_parts(path: str, missing: str) -> None:
    """Removes all parts and journals that the crawl wrote into a folder, so that it can write them again. Raises
    SinkError if the file system keeps no marks, because the folder may also contain parts of other crawls.
    `missing`: the result of `missing_part`."""
    if (base := _base(path)) is None:
        raise _lacks(path, f"{missing} is missing")
    parts, journals = _listing(path)
    names = [_PART_NAME % one for one in parts if one[0] >= base]
    for name in (*names, *(_JOURNAL_NAME % start for start in journals if start >= base)):
        os.unlink(f"{path}/{name}")
    sync_folder(path)


def _base(path: str) -> int | None:
    """Returns the length of the output before the crawl, or None if the file system keeps no marks."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        mark = read_mark(folder)
    finally:
        os.close(folder)
    return mark.base if mark is not None and mark.owner else None


def _lacks(path: str, what: str) -> SinkError:
    return SinkError(f"{path}: {what}; put it back, run {REPAIR}, or start over with --fresh")


def _encoded(columns: Sequence[Column], rows: Sequence[Row], misfits: list[Misfit]) -> bytes:
    """Encodes rows for the journal. Many records of one class are encoded as an Arrow batch. Other rows are
    encoded as JSON lines."""
    names = frozenset(column.name for column in columns)
    if (
        len(rows) >= _MIN_BATCH_RECORDS
        and len({type(row.data) for row in rows}) == 1
        and isinstance(rows[0].data, Struct)
        and not any(extra_fields(row, names) for row in rows)
    ):
        from gossamer.sinks.arrow import encode_batch

        if found := encode_batch(columns, rows):
            return frame_batch(found)
    return lines_for(columns, rows, misfits)


def _fitting(path: str, parts: Sequence[str], columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Adapts the column types to those of the last part. Raises SinkError if a type cannot be adapted."""
    from gossamer.sinks.arrow import type_conflict, with_part_types

    if not parts:
        return columns
    columns = with_part_types(parts[-1], columns)
    if why := type_conflict(parts[-1], columns):
        raise SinkError(f"{path}: {why}: give another folder with -o, or overwrite it with -O")
    return columns


def _write(journal: str, offset: int, data: bytes) -> int:
    """Cuts a journal to `offset`, appends `data`, and syncs. Returns the size of the journal in bytes before
    the call."""
    fd = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(fd).st_size
        if size > offset:
            os.ftruncate(fd, offset)
        try:
            write_at(fd, offset, data)
            sync(fd)
        except OSError:
            os.ftruncate(fd, offset)
            raise
    finally:
        os.close(fd)
    return size


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _listing(path: str) -> tuple[list[tuple[int, int]], set[int]]:
    """Returns the parts of a folder as sorted pairs (start, end), and the start positions of its journals."""
    names = os.listdir(path)
    parts = [(int(found[1]), int(found[2])) for name in names if (found := _PART.fullmatch(name))]
    return sorted(parts), {int(found[1]) for name in names if (found := _JOURNAL.fullmatch(name))}

"""Parquet: a folder of closed part files, fed by an exact journal.

The committed length counts the journal's bytes from the first row on, over all parts: `part-A-B.parquet`
holds the rows of the bytes A to B, `_journal-A.rows` those from A on. A journal that has grown to
`part_bytes` is turned into its part: written aside, synced, renamed. So the folder and one number say
everything: what lies beyond the committed length is cut, also when the store itself lost its last second (the
journal of a part is kept for a while for that). A journal holds JSON lines, and an Arrow batch where many
records come at once: `rows.frames`. Readers (DuckDB, Arrow, Spark) pass over names that begin with `_`; a
part they see is whole.

Types are Arrow's by the annotations of the item class: lists, structs, maps, dates; a decimal is
decimal128(38, 9) unless `Digits` says more; moments are UTC microseconds; what has no one type is JSON text.
A folder that has parts keeps their types. A value that does not fit its column is null there and kept in
`_extra`, and `refuse` hears of the row.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.config.optional_deps import install
from gossamer.errors import ConfigError, SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.append_log import PAGE, REPAIR, AppendLog, unknown_to_store
from gossamer.sinks.columns import EXTRA, OURS, Column
from gossamer.sinks.exact import (
    Mark,
    failure,
    forgotten,
    mark_end,
    mark_store,
    own,
    sync,
    sync_folder,
    write_at,
    write_mark,
)
from gossamer.sinks.rejects import Refuse
from gossamer.sinks.rows import Misfit, framed, frames, lines_for

_PART = re.compile(r"part-(\d{15})-(\d{15})\.parquet")
_JOURNAL = re.compile(r"_journal-(\d{15})\.rows")
_UNDONE = "_part.tmp"
_MANY = 128
"""Records from which on they are written as an Arrow batch."""
_LONG = 10.0
"""Seconds after which the folder is looked through again: journals of closed parts are swept then."""


class Parquet:
    """The FileSink of one kind's `.parquet` folder. `columns` None: a kind of untyped dicts.

    `part_bytes`: journal bytes of a part (a row stays in the journal until its part is closed); `keep`:
    seconds that the journal of a closed part stays; `at` is called with the name of each step done (tests
    stop there).
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
        at: Callable[[str], None] = lambda step: None,
        refuse: Refuse | None = None,
    ) -> None:
        if importlib.util.find_spec("pyarrow") is None:
            raise ConfigError(f"{path}: Parquet needs pyarrow: {install('parquet')}")
        self.path = os.path.abspath(path)
        self._columns = (*(columns or OURS), Column(EXTRA))
        self._overwrite = overwrite
        self._owner = owner.replace(" ", "_")
        self._log = log
        self._part_bytes = part_bytes
        self._keep = keep
        self._at, self._refuse = at, refuse
        self._fit = False
        self._before = 0
        """What stands before it may have been written with other columns: by an earlier run, with other
        options or another site file."""
        self._left = (-1, 0, 0, 0.0)
        """After our last append: its length, the start of the journal, when a name in the folder changed,
        when all were looked at."""

    def target(self) -> str:
        """Absolute path of the folder."""
        return self.path

    def prepare(self) -> int:
        """Make the folder; overwrite removes all Parquet in it, append closes what an earlier crawl left
        open."""
        parent = os.path.dirname(self.path)
        if not os.path.isdir(parent):
            raise UsageError(f"{self.path}: there is no folder {parent}; make it first")
        if os.path.exists(self.path) and not os.path.isdir(self.path):
            raise UsageError(
                f"{self.path} is a file, and gossamer writes a folder of parts: give another name"
            )
        try:
            os.makedirs(self.path, exist_ok=True)
            sync_folder(parent)
        except OSError as error:
            raise failure(self.path, error) from error
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
                    whole = sum(took for *_, took in frames(left, _size(left.name)))
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
        """See `parts.Movable`."""
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
        """See `parts.Movable`."""
        assert self._log is not None
        self._log.moved(self.path, was)
        for name in self._names():
            self._log.moved(f"{self.path}/{name}", f"{was}/{name}")

    def _names(self) -> list[str]:
        parts, journals = _listing(self.path)
        paths = [self._part(*one) for one in parts] + [self._journal(start) for start in journals]
        return [os.path.basename(path) for path in paths]

    def _was(self, folders: Iterable[str]) -> str | None:
        """Which of the folders this one was, by what the log knows of its files."""
        names = self._names() if self._log is not None else ()
        for was in folders:
            for name in names:
                assert self._log is not None
                with open(f"{self.path}/{name}", "rb") as file:
                    if self._log.original(file.fileno(), file.name, _size(file.name), {f"{was}/{name}": 0}):
                        return was
        return None

    def _known(self, folder: int, log: AppendLog) -> None:
        """Raises SinkError for a folder with rows of this crawl, when the store forgot the crawl."""
        if not self._names():
            return
        was = self._was(dict.fromkeys([self.path, *(os.path.dirname(path) for path in log.paths())]))
        owner = was and log.forgotten_by_store(was, rows=False)
        if owner := owner or forgotten(folder, self._owner, log):
            raise unknown_to_store(self.path, owner)

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `parts.FileSink`."""
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
                self._log.appending(self._journal(start), committed - start, data)
            if not _write(self._journal(start), committed - start, data):
                sync_folder(self.path)
            self._at("journal")
            self._left = (committed + len(data), start, os.fstat(folder).st_mtime_ns, looked)
        if self._refuse is not None:
            for row, why in misfits:
                self._refuse(self.path, row, why)
        return committed + len(data)

    def close(self, committed: int) -> None:
        """Turn the rest into the last part and clear up."""
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
        """The start of the journal, where names in the folder are as our last append left them, not long ago;
        else None."""
        length, start, changed, looked = self._left
        if (
            length != committed
            or changed != os.fstat(folder).st_mtime_ns
            or time.monotonic() - looked > _LONG
        ):
            return None
        end = start + _size(self._journal(start))
        own(self.path, folder, self._owner, committed, end)
        return start if end >= committed else None

    def _settle(self, folder: int, committed: int) -> int:
        """Drop all that lies beyond `committed`; the start of the journal that takes the next rows."""
        parts, journals = _listing(self.path)
        size = max(
            [end for _, end in parts] + [start + _size(self._journal(start)) for start in journals], default=0
        )
        own(self.path, folder, self._owner, committed, size)
        for start, end in parts:
            if start < committed < end and _size(self._journal(start)) < committed - start:
                raise SinkError(
                    f"{self.path} holds rows that the store does not know: start anew with --fresh"
                )
        for start, end in parts:
            if end > committed:
                os.unlink(self._part(start, end))
        for start in journals:
            if start > committed:
                os.unlink(self._journal(start))
        if not self._fit:  # a site file may have changed since
            written = [self._part(*one) for one in parts if one[1] <= committed]
            self._columns = _fitting(self.path, written, self._columns)
            self._fit, self._before = True, committed
        closed = max((end for _, end in parts if end <= committed), default=0)
        kept = {start for start, end in parts if end <= committed}
        opened = max((start for start in journals - kept if start <= committed), default=closed)
        if opened < closed or (opened != committed and _size(self._journal(opened)) < committed - opened):
            raise SinkError(
                f"{self.path}: parts that were written are missing; put them back, run {REPAIR}, or start anew with --fresh"
            )
        return opened

    def _close_part(self, start: int, end: int) -> None:
        """Turn the journal's bytes `start` to `end` into their part."""
        from gossamer.sinks.arrow import convert

        foreign = start < self._before
        convert(self._journal(start), end - start, f"{self.path}/{_UNDONE}", self._columns, foreign=foreign)
        self._at("written")
        os.rename(f"{self.path}/{_UNDONE}", self._part(start, end))
        self._at("renamed")
        if self._log is not None:
            with open(self._part(start, end), "rb") as part:
                size = os.fstat(part.fileno()).st_size
                self._log.appending(
                    part.name, max(0, size - PAGE), os.pread(part.fileno(), PAGE, max(0, size - PAGE))
                )
        sync_folder(self.path)
        self._at("closed")

    def _sweep(self, keep: float) -> None:
        """Remove the journals of parts that were closed more than `keep` seconds ago."""
        parts, journals = _listing(self.path)
        for start, end in parts:
            if start in journals:
                age = time.time() - os.stat(self._part(start, end)).st_mtime
                if not 0 <= age < keep:
                    os.unlink(self._journal(start))
                    self._at("swept")

    def _part(self, start: int, end: int) -> str:
        return f"{self.path}/part-{start:015d}-{end:015d}.parquet"

    def _journal(self, start: int) -> str:
        return f"{self.path}/_journal-{start:015d}.rows"

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
            raise SinkError(f"{self.path} is gone: put it back, or start anew with --fresh") from error
        except OSError as error:
            raise failure(self.path, error) from error


def _encoded(columns: Sequence[Column], rows: Sequence[Row], misfits: list[Misfit]) -> bytes:
    """Rows as the journal holds them: many records as a batch, else as lines."""
    if len(rows) >= _MANY and len({type(row.data) for row in rows}) == 1 and isinstance(rows[0].data, Struct):
        from gossamer.sinks.arrow import batch

        if found := batch(columns, rows):
            return framed(found)
    return lines_for(columns, rows, misfits)


def _fitting(path: str, parts: Sequence[str], columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns with the types of the last part. Raises SinkError where a type of it is another one."""
    from gossamer.sinks.arrow import as_written, clash

    if not parts:
        return columns
    columns = as_written(parts[-1], columns)
    if why := clash(parts[-1], columns):
        raise SinkError(f"{path}: {why}: give another folder with -o, or overwrite it with -O")
    return columns


def _write(journal: str, offset: int, data: bytes) -> int:
    """Cut a journal to `offset`, append, sync; the size that it had."""
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
    """The parts of a folder as (start, end) in order, and the starts of its journals."""
    names = os.listdir(path)
    parts = [(int(found[1]), int(found[2])) for name in names if (found := _PART.fullmatch(name))]
    return sorted(parts), {int(found[1]) for name in names if (found := _JOURNAL.fullmatch(name))}

"""A file that is split into parts as it grows. The committed length is the total length of all parts. Each
part is an `ExactFile`, which contains each row exactly once, even after a kill (`crash_safe_file`).

The name of each part after the first contains the total length of the parts before it. Parts are named
`pages.warc.gz`, then `pages-000001073741830.warc.gz`. In a folder, the first part is
`part-000000000000000.warc.gz`. Together, the names of the parts and the committed length fully describe the
state of the file. Parts that begin beyond the committed length are removed. If the committed length lies
within a part, this part is cut at the committed length. A part that is ready for upload has a marker file
`NAME.ready`. A part that was uploaded and then removed locally leaves a marker file `NAME.sent`. Nothing is
appended to a part that has a marker file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping

from gossamer.errors import SinkError, UsageError
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.crash_safe_file import ExactFile, check_appends, read_mark, sink_error, sync_folder

DIGITS = 15
SENT, READY = ".sent", ".ready"


class PartFiles:
    """The parts of one output.

    `path`: the first part, or the folder of all parts if `folder` is set. `ending`: the file name extension
    of the parts, for example `.warc.gz`. `ends`: the bytes at the end of each row, as in ExactFile.
    """

    def __init__(
        self,
        path: str,
        ending: str,
        *,
        folder: bool,
        overwrite: bool = False,
        owner: str = "",
        ends: bytes = b"",
        log: AppendLog | None = None,
    ) -> None:
        self.path = os.path.abspath(path)
        self.place = self.path if folder else os.path.dirname(self.path)
        self._first = f"part-{0:0{DIGITS}d}{ending}" if folder else os.path.basename(self.path)
        stem = "part" if folder else self._first.removesuffix(ending)
        self._stem, self._ending, self._folder = stem, ending, folder
        self._names = re.compile(
            rf"{re.escape(stem)}-(\d{{{DIGITS}}}){re.escape(ending)}({re.escape(SENT)}|{re.escape(READY)})?"
        )
        self._overwrite, self._owner, self._ends, self._log = overwrite, owner, ends, log
        self._files: dict[int, ExactFile] = {}

    def name(self, start: int) -> str:
        """Returns the name of the part that begins at byte `start`."""
        return self._first if not start else f"{self._stem}-{start:0{DIGITS}d}{self._ending}"

    def where(self, start: int) -> str:
        """Returns the path of the part that begins at byte `start`."""
        return f"{self.place}/{self.name(start)}"

    def starts(self) -> dict[int, bool]:
        """Returns the parts in order. Each key is the byte at which a part starts. Each value is True if the
        part may grow. A part may not grow if it is ready for upload or was uploaded."""
        found: dict[int, bool] = {}
        try:
            names = os.listdir(self.place)
        except FileNotFoundError:
            names = []
        for name in names:
            if name in (self._first, self._first + SENT, self._first + READY):
                found[0] = found.get(0, True) and name == self._first
            elif match := self._names.fullmatch(name):
                found[int(match[1])] = found.get(int(match[1]), True) and not match[2]
        return dict(sorted(found.items()))

    def prepare(self) -> int:
        """Prepares the parts for a new crawl. Returns the length so far. Raises UsageError, SinkError,
        DiskFull."""
        outer = os.path.dirname(self.path)
        if not os.path.isdir(outer):
            raise UsageError(f"{self.path}: the folder {outer} does not exist; create it first")
        if self._folder and os.path.exists(self.path) and not os.path.isdir(self.path):
            raise UsageError(
                f"{self.path} is a file, but gossamer writes a folder of parts here: use another name"
            )
        try:
            os.makedirs(self.place, exist_ok=True)
            if self._overwrite:
                for path in [self.where(start) + end for start in self.starts() for end in ("", SENT, READY)]:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
            last = max((start for start, here in self.starts().items() if here), default=0)
            length = last + self.file(last).prepare()
            sync_folder(outer)
        except OSError as error:
            raise sink_error(self.path, error) from error
        return length

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """See `interfaces.Movable`."""
        starts = [start for start, here in self.starts().items() if here]
        for was, committed in {} if self._overwrite else lengths.items():
            for start in [start for start in reversed(starts) if start <= committed]:
                if self.file(start).find({self._was(was, start): committed - start}):
                    return was
        return None

    def adopt(self, was: str) -> None:
        """Continues an output that was moved from the path `was`. Logs the new path of each part."""
        if self._log is not None:
            for start in self.starts():
                self._log.moved(self.where(start), self._was(was, start))

    def _was(self, was: str, start: int) -> str:
        """Returns the former path of a part. `was`: the former path of the output."""
        if self._folder or not start:
            return f"{was}/{self.name(start)}" if self._folder else was
        return f"{was.removesuffix(self._ending)}-{start:0{DIGITS}d}{self._ending}"

    def settle(self, committed: int) -> int:
        """Removes the parts without committed bytes. Returns the start of the part to which the next rows
        go."""
        starts = self.starts()
        for start in [start for start, here in starts.items() if here and start >= committed and start]:
            self._drop(start)
            del starts[start]
        last = max((start for start in starts if start <= committed), default=0)
        return last if starts.get(last, True) else committed  # the last part was uploaded

    def ends_so(self, start: int, end: int, tail: bytes) -> bool:
        """Returns whether the bytes just before byte `end` of the output still equal `tail`. The part that
        begins at `start` contains these bytes. A part that was uploaded counts as unchanged."""
        try:
            with open(self.where(start), "rb") as file:
                file.seek(end - start - len(tail))
                return file.read(len(tail)) == tail
        except FileNotFoundError:
            return not self.starts().get(start, True)

    def file(self, start: int) -> ExactFile:
        """Returns the `ExactFile` of the part that begins at `start`. Lengths in the `ExactFile` are relative
        to the beginning of the part."""
        if start not in self._files:
            self._files[start] = ExactFile(
                self.where(start), owner=self._owner, ends=self._ends, log=self._log
            )
        return self._files[start]

    def end(self, start: int, committed: int) -> None:
        """Closes the part that begins at `start`. `committed` is the length of the whole output."""
        self._files.pop(start, self.file(start)).close(committed - start)
        self._files.pop(start, None)

    def drop(self) -> None:
        """Closes the files of all parts and changes nothing in them."""
        for file in self._files.values():
            file.drop()

    def _drop(self, start: int) -> None:
        """Removes a part that has no committed bytes. Raises SinkError if another crawl or program wrote the
        part."""
        path = self.where(start)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                mark = read_mark(fd)
                if self._log is not None and self._log.knows(path):
                    check_appends(path, fd, self._log, 0, os.fstat(fd).st_size)
            finally:
                os.close(fd)
            if mark is not None and mark.owner not in ("", self._owner.replace(" ", "_")):
                raise SinkError(
                    f"{path} was written by another crawl since: give this one an output of its own with -o"
                )
            os.unlink(path)
        except OSError as error:
            raise sink_error(path, error) from error
        self._files.pop(start, None)

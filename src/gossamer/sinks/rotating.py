"""A file that goes on in further files as it grows: one committed length over all parts, each exact.

A part is named by the bytes before it: `pages.warc.gz`, then `pages-000001073741830.warc.gz`; in a folder
`part-000000000000000.warc.gz` and so on. The names and one number say everything: parts that begin beyond the
committed length are dropped, the last one before it is cut. A part that is to be sent away has `NAME.ready`,
one that was sent and removed `NAME.sent`: nothing is added to either.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping

from gossamer.errors import SinkError, UsageError
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.exact import ExactFile, belongs, failure, read_mark, sync_folder

DIGITS = 15
SENT, READY = ".sent", ".ready"


class Rotating:
    """`path`: the first part, or (`folder`) the folder of all; `ending`: of the parts' names, `.warc.gz`;
    `ends` as of ExactFile."""

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
        """The name of the part that begins there."""
        return self._first if not start else f"{self._stem}-{start:0{DIGITS}d}{self._ending}"

    def where(self, start: int) -> str:
        """Its path."""
        return f"{self.place}/{self.name(start)}"

    def starts(self) -> dict[int, bool]:
        """Where the parts begin, in order, and whether each may grow (else it is or was sent away)."""
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
        """Make ready for a new crawl; the length so far."""
        outer = os.path.dirname(self.path)
        if not os.path.isdir(outer):
            raise UsageError(f"{self.path}: there is no folder {outer}; make it first")
        if self._folder and os.path.exists(self.path) and not os.path.isdir(self.path):
            raise UsageError(
                f"{self.path} is a file, and gossamer writes a folder of parts: give another name"
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
            raise failure(self.path, error) from error
        return length

    def find(self, lengths: Mapping[str, int]) -> str | None:
        """See `parts.Movable`."""
        starts = [start for start, here in self.starts().items() if here]
        for was, committed in {} if self._overwrite else lengths.items():
            for start in [start for start in reversed(starts) if start <= committed]:
                if self.file(start).find({self._was(was, start): committed - start}):
                    return was
        return None

    def adopt(self, was: str) -> None:
        """Take the parts as those of the output that was at `was`."""
        if self._log is not None:
            for start in self.starts():
                self._log.moved(self.where(start), self._was(was, start))

    def _was(self, was: str, start: int) -> str:
        """Where a part was, when the output was at `was`."""
        if self._folder or not start:
            return f"{was}/{self.name(start)}" if self._folder else was
        return f"{was.removesuffix(self._ending)}-{start:0{DIGITS}d}{self._ending}"

    def settle(self, committed: int) -> int:
        """Drop the parts of which nothing is committed; where the part begins that takes what comes next."""
        starts = self.starts()
        for start in [start for start, here in starts.items() if here and start >= committed and start]:
            self._drop(start)
            del starts[start]
        last = max((start for start in starts if start <= committed), default=0)
        return last if starts.get(last, True) else committed  # all up to here was sent away

    def ends_so(self, start: int, end: int, tail: bytes) -> bool:
        """Whether byte `end` of a part that begins at `start` still comes after `tail`; what was sent away
        stays as it is."""
        try:
            with open(self.where(start), "rb") as file:
                file.seek(end - start - len(tail))
                return file.read(len(tail)) == tail
        except FileNotFoundError:
            return not self.starts().get(start, True)

    def file(self, start: int) -> ExactFile:
        """The exact file of a part; lengths in it count from its own beginning."""
        if start not in self._files:
            self._files[start] = ExactFile(
                self.where(start), owner=self._owner, ends=self._ends, log=self._log
            )
        return self._files[start]

    def end(self, start: int, committed: int) -> None:
        """Let a part go that ends at `committed`."""
        self._files.pop(start, self.file(start)).close(committed - start)
        self._files.pop(start, None)

    def _drop(self, start: int) -> None:
        """Remove a part that nothing vouches for, if it is ours."""
        path = self.where(start)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                mark = read_mark(fd)
                if self._log is not None and self._log.knows(path):
                    belongs(path, fd, self._log, 0, os.fstat(fd).st_size)
            finally:
                os.close(fd)
            if mark is not None and mark.owner not in ("", self._owner.replace(" ", "_")):
                raise SinkError(
                    f"{path} was written by another crawl since: give this one an output of its own with -o"
                )
            os.unlink(path)
        except OSError as error:
            raise failure(path, error) from error
        self._files.pop(start, None)

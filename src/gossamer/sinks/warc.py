"""Whole answers as WARC 1.1: `pages.warc.gz`, or a folder of parts, each with its index (CDXJ) beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gossamer.model.visit import Raw, Row
from gossamer.sinks import cdxj
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.exact import TAIL
from gossamer.sinks.rotating import Rotating
from gossamer.sinks.warc_writer import Records

MOST = 1 << 30
"""Bytes after which the next part begins."""
SMALL = 32 << 10
"""Bytes of a body whose record is made on the loop: 30 us, where the thread takes twice that; of this many a
fifth of a millisecond."""
LATELY = 1000
"""Appends of ours that are known again: more than a store that lost its last second forgets."""


class Wrote(NamedTuple):
    """An append of ours: bytes `at` to `end` of the output, and the last ones of them, in the part that
    begins at `start`."""

    at: int
    end: int
    start: int
    tail: bytes


class Warc:
    """The FileSink of whole answers. `most`: bytes of a part; `ended` hears of each part that is closed."""

    def __init__(
        self,
        path: str,
        *,
        folder: bool = False,
        overwrite: bool = False,
        owner: str = "",
        most: int = MOST,
        ended: Callable[[int, int], None] | None = None,
        log: AppendLog | None = None,
    ) -> None:
        self.parts = Rotating(path, cdxj.ENDING, folder=folder, overwrite=overwrite, owner=owner, log=log)
        self.find, self.adopt = self.parts.find, self.parts.adopt
        self._records, self._most, self._ended = Records(), most, ended
        self._overwrite = overwrite
        self._wrote: deque[Wrote] = deque(maxlen=LATELY)

    def target(self) -> str:
        """Absolute path of the first part, or of the folder."""
        return self.parts.path

    def prepare(self) -> int:
        """See `parts.FileSink`."""
        if self._overwrite:
            for start in self.parts.starts():
                cdxj.forget(self.parts.where(start))
        length = self.parts.prepare()
        last = max((start for start, here in self.parts.starts().items() if here), default=0)
        cdxj.check(self.parts.where(last), length - last)
        return length

    def pack(self, rows: Sequence[Row]) -> None:
        """See `parts.Packs`. What is large is left to the thread."""
        for row in rows:
            raw = row.data
            if isinstance(raw, Raw) and raw.packed is None and len(raw.exchange.body) <= SMALL:
                raw.packed = self._records.pack(raw)

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `parts.FileSink`."""
        start = self.parts.settle(committed)
        raws = [row.data for row in rows if isinstance(row.data, Raw)]
        self._recall(committed)  # also where nothing follows: others may write there before we do again
        if not raws:
            if start < committed or not committed:
                self.parts.file(start).append(committed - start, b"")
            return committed
        if committed - start >= self._most:
            self._end(start, committed)
            start = committed
        data, lines = self._made(raws, start, committed)
        where = self.parts.where(start)
        cdxj.note(where, committed - start, committed - start + len(data), lines)
        end = start + self.parts.file(start).append(committed - start, data)
        self._wrote.append(Wrote(committed, end, start, data[-TAIL:]))
        return end

    def close(self, committed: int) -> None:
        """End the last part at `committed` bytes; a run that goes on writes on in it."""
        start = self.parts.settle(committed)
        if start < committed or not committed:
            self._end(start, committed)

    def _recall(self, committed: int) -> None:
        """Forget the bodies of ours that are cut, also where others wrote since: a store may come back
        without its last commits."""
        known, cut = bool(self._wrote), committed
        while self._wrote and not self._stands(self._wrote[-1], committed):
            cut = min(cut, self._wrote.pop().at)
        self._records.begin(cut if self._wrote or not known else 0)

    def _stands(self, wrote: Wrote, committed: int) -> bool:
        return wrote.end <= committed and self.parts.ends_so(wrote.start, wrote.end, wrote.tail)

    def _made(self, raws: Sequence[Raw], start: int, committed: int) -> tuple[bytes, list[cdxj.IndexLine]]:
        """The records that follow on `committed` bytes, and their lines in the index."""
        name, at = self.parts.name(start), committed
        pieces, lines = [] if start < committed else [self._records.info(name)], []
        at += sum(map(len, pieces))
        for raw in raws:
            data, line = self._records.add(raw, at, at - start, name)
            pieces.append(data)
            lines.append(line)
            at += len(data)
        return b"".join(pieces), lines

    def _end(self, start: int, committed: int) -> None:
        self.parts.end(start, committed)
        cdxj.finish(self.parts.where(start), committed - start)
        if self._ended is not None:
            self._ended(start, committed)

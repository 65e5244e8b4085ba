"""A body on its way to a disk: counted, hashed, refused as soon as its first bytes show that nobody wants it.

What is small stays in memory; what is larger goes to a nameless file, which is gone with the process however
that ends.
"""

from __future__ import annotations

import hashlib
import tempfile
from typing import Any

from gossamer.collectors.http.decoding import TooLarge, decode
from gossamer.items.assets import FileRule
from gossamer.model.media_types import HEAD, media_type
from gossamer.model.page import Spooled

SMALL = 256 << 10
"""Bytes of a file that stay in memory."""
SLOWEST = 256 << 10
"""Bytes a second that a file must come at, where it takes longer than a page may."""
MOST_PIECES = 200_000
"""Pieces of a body, and one more for each KiB."""


class Spool:
    """The body of one file. `most`: bytes; `folder`: where a large one lies meanwhile."""

    def __init__(self, rule: FileRule, most: int, folder: str) -> None:
        self.most, self._rule, self._folder = rule.size or most, rule, folder
        self.coded = False
        """What comes has a content-coding: its first bytes show nothing."""
        self._begin()

    def _begin(self) -> None:
        self.head, self.size, self._pieces, self._hash = b"", 0, 0, hashlib.sha256()
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=SMALL, dir=self._folder)  # noqa: SIM115 - it outlives this

    def write(self, data: bytes, declared: str | None) -> str:
        """Take a piece; the word of what ends the transfer, or ''."""
        before = self.size
        self.size += len(data)
        self._pieces += 1
        if self.size > self.most:
            return "too-large"
        if self._pieces > MOST_PIECES + self.size // 1024:
            return "chunks"
        if before < HEAD:
            self.head += data[: HEAD - before]
            if self.size >= HEAD and not self.coded and not self._rule.takes(media_type(self.head, declared)):
                return "content-type"
        self._hash.update(data)
        self._file.write(data)
        return ""

    def again(self, body: bytes) -> None:
        """Its content is another: without its coding."""
        self._file.close()
        self._begin()
        self.write(body, None)

    def read(self) -> bytes:
        """All of it."""
        self._file.seek(0)
        data: bytes = self._file.read()
        return data

    def end(self) -> Spooled:
        """What came; the file is the caller's."""
        file, self._file = self._file, None
        return Spooled(file, self.size, self._hash.hexdigest())

    def drop(self) -> None:
        """Nobody wants what came."""
        if self._file is not None:
            self._file.close()


def whole(
    spool: Spool | None, body: bytes, coding: str, most: int, *, cut: bool
) -> tuple[bytes, Spooled | None]:
    """A body without its content-coding: itself, or the first bytes of a spool and what lies there. Raises
    TooLarge, BadCoding.

    A spool that is coded is decoded in memory, and so bounded as pages are.
    """
    if spool is None:
        return decode(body, coding, most, cut=cut), None
    if coding:
        if spool.size > most:
            raise TooLarge
        spool.again(decode(spool.read(), coding, min(most, spool.most)))
    return spool.head, spool.end()

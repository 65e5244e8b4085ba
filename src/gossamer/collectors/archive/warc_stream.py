"""A WARC as a stream of records: of the plain file, or member by member."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import BinaryIO, NamedTuple

from isal import isal_zlib

from gossamer import url as urls

PIECE = 64 << 10
MOST_HEAD = 64 << 10
_NEWYEAR = "00000101000000"
"""What a date of digits alone may leave out."""
_ENDS = re.compile(rb"[\r\n]+")


class RecordPosition(NamedTuple):
    """Where a record begins: offset in the file (of its gzip member), bytes into the unpacked member, which
    file; `size`: bytes of the member that it has for itself, 0 where nobody said."""

    offset: int
    within: int
    file: int = 0
    size: int = 0


class Stream:
    """The bytes from an offset on: of the plain file, or of one gzip member."""

    def __init__(self, file: BinaryIO, offset: int, packed: bool) -> None:
        self._file, self._undo = file, isal_zlib.decompressobj(31) if packed else None
        self._have = bytearray()
        self.at, self.record, self.end = 0, 0, offset
        self._size = file.seek(0, os.SEEK_END)
        file.seek(offset)

    def take(self, count: int) -> bytes:
        """Up to `count` bytes; fewer only at the end. Raises BROKEN for a broken member."""
        while len(self._have) < count and self._more():
            pass
        out = bytes(self._have[:count])
        del self._have[:count]
        self.at += len(out)
        return out

    def skip(self, count: int) -> int:
        """Pass over `count` bytes; how many there were. Of a plain file they are not read: a false length
        costs nothing."""
        passed = len(self._have)
        if self._undo is None and count > passed:
            passed += max(0, min(count - passed, self._size - self.end))
            self.end += passed - len(self._have)
            self.at += passed
            self._have.clear()
            self._file.seek(self.end)
            return passed
        passed = 0
        while passed < count and (part := self.take(min(PIECE, count - passed))):
            passed += len(part)
        return passed

    def blank(self) -> None:
        """Pass over line ends, however many there are: two end a record. `record` is where the next one
        begins."""
        while True:
            found = _ENDS.match(self._have)
            passed = found.end() if found else 0
            del self._have[:passed]
            self.at += passed
            if self._have or not self._more():
                self.record = self.at
                return

    def head(self) -> bytes | None:
        """All up to the next empty line, None at the end. Raises ValueError when there is no such line within
        64 KiB."""
        while True:
            found = re.search(rb"\r?\n\r?\n", self._have)
            if found:
                return self.take(found.end())
            if len(self._have) > MOST_HEAD:
                raise ValueError("no end of its header")
            if not self._more():
                if self._have.strip():
                    raise ValueError("cut off in its header")
                return None

    def _more(self) -> bool:
        """Read a piece. `end` is the offset behind what was used: of the member, once it has ended."""
        if self._undo is None:
            piece = self._file.read(PIECE)
            self._have += piece
            self.end += len(piece)
            return bool(piece)
        while not self._undo.eof:
            packed = self._undo.unconsumed_tail or self._file.read(PIECE // 4)
            fresh = not self._undo.unconsumed_tail
            if not packed:
                return False
            part = self._undo.decompress(packed, 4 * PIECE)
            self.end += len(packed) * fresh - len(self._undo.unused_data)
            if part:
                self._have += part
                return True
        return False


class RecordHeader(NamedTuple):
    """A record's header: its type, its fields (names in lower case), the length of its block."""

    kind: str
    fields: dict[str, str]
    length: int

    def url(self) -> str | None:
        """Its target in fetch form; some writers put it in angle brackets."""
        found = urls.parse(self.fields.get("warc-target-uri", "").strip("<>"))
        return found and found.partition("#")[0]


def record(stream: Stream) -> tuple[int, RecordHeader] | None:
    """The next record's header and where it began; None at the end. Raises ValueError."""
    stream.blank()
    began = stream.at
    head = stream.head()
    return None if head is None else (began, header(head))


def header(head: bytes) -> RecordHeader:
    """A record's header from its bytes. Raises ValueError."""
    head = head.strip()
    if not head.startswith(b"WARC/"):
        raise ValueError(f"no WARC record but {head[:20]!r}")
    fields: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise ValueError("it has no length")
    return RecordHeader(fields.get("warc-type", "").lower(), fields, int(length[:18]))


def moment(text: str) -> float:
    """Seconds since the epoch of a WARC-Date, 0 when it is none; of one with nine digits the float that it
    was written from."""
    try:
        if text[19:20] == "." and text[-1] == "Z" and text[20:-1].isdecimal():
            return float(f"{_second(text[:19])}.{text[20:-1]}")
        part = re.search(r"\.(\d+)", text)
        return float(f"{_second(text)}.{part[1] if part else 0}")
    except (ValueError, OverflowError):
        return 0.0


@lru_cache(maxsize=100)
def _second(text: str) -> int:
    if text.isdecimal() and len(text) >= 4:  # a year alone, or all without marks
        found = datetime.strptime(f"{text}{_NEWYEAR[len(text) :]}", "%Y%m%d%H%M%S")
    else:
        found = datetime.fromisoformat(f"{text}-01" if len(text) == 7 else text.replace("Z", "+00:00"))
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int(found.replace(microsecond=0).timestamp())

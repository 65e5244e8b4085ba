"""WARC files (ISO 28500) by URL: an index of offsets is built on open, a record is read when it is asked for.

`.warc` and `.warc.gz`; one gzip member a record is quick, several in one member are found, too, at the price of reading the
member up to them. What is broken is skipped and named in `Warc.skipped`; reading goes on at the next record that is whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from isal import isal_zlib

from gossamer import url as urls
from gossamer.collectors.archive import Kept
from gossamer.collectors.decoding import BROKEN
from gossamer.collectors.heads import parse
from gossamer.page import Headers

PIECE = 64 << 10
MOST_HEAD = 64 << 10
MOST_SKIPPED = 1000
_MAGIC = b"\x1f\x8b\x08"
_KINDS = ("response", "resource", "revisit")
_ENDS = re.compile(rb"[\r\n]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")


class Place(NamedTuple):
    """Where a record begins: offset in the file (of its gzip member), and bytes into the unpacked member."""

    offset: int
    within: int


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
        """Pass over `count` bytes; how many there were. Of a plain file they are not read: a false length costs nothing."""
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
        """Pass over line ends, however many there are: two end a record. `record` is where the next one begins."""
        while True:
            found = _ENDS.match(self._have)
            passed = found.end() if found else 0
            del self._have[:passed]
            self.at += passed
            if self._have or not self._more():
                self.record = self.at
                return

    def head(self) -> bytes | None:
        """All up to the next empty line, None at the end. Raises ValueError when there is no such line within 64 KiB."""
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


class Record(NamedTuple):
    """A record's header: its type, its fields (names in lower case), the length of its block."""

    kind: str
    fields: dict[str, str]
    length: int

    def url(self) -> str | None:
        """Its target in fetch form; some writers put it in angle brackets."""
        found = urls.parse(self.fields.get("warc-target-uri", "").strip("<>"))
        return found and found.partition("#")[0]


class Warc:
    """The responses of a WARC by URL; of several the last counts. Raises OSError when the file cannot be read."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        self._packed = self._file.read(3) == _MAGIC
        self._places: dict[str, Place] = {}
        self._digests: dict[str, Place] = {}
        self.skipped: list[str] = []
        """What was skipped: the offset and why, one line each, 1,000 at most."""
        for place, record in self._walk():
            self._enter(place, record)

    def find(self, url: str, most: int) -> Kept | None:
        """The answer kept for a URL, at most `most` bytes of its body and one more."""
        place = self._places.get(url)
        return None if place is None else self._load(place, most)

    def urls(self) -> list[str]:
        """All URLs that are answered."""
        return list(self._places)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _enter(self, place: Place, record: Record) -> None:
        url = record.url()
        if record.kind not in _KINDS:
            return None
        if url is None or not url.startswith(("http://", "https://")):
            return self._skip(
                place.offset, f"a {record.kind} of {record.fields.get('warc-target-uri', 'nothing')[:100]}"
            )
        digest = record.fields.get("warc-payload-digest", "")
        if record.kind == "revisit":
            original = urls.parse(record.fields.get("warc-refers-to-target-uri", "").strip("<>")) or url
            known = self._digests.get(digest) or self._places.get(original.partition("#")[0])
            if known is None:
                return self._skip(place.offset, f"a revisit of {url[:100]}, whose original is not in the file")
            self._places[url] = known
            return None
        self._places[url] = place
        if digest:
            self._digests.setdefault(digest, place)
        return None

    def _skip(self, offset: int, why: str) -> None:
        if len(self.skipped) < MOST_SKIPPED:
            self.skipped.append(f"byte {offset}: {why}")

    def _walk(self) -> Iterator[tuple[Place, Record]]:
        """All records whose header and block are whole, with their places."""
        offset: int | None = 0
        while offset is not None:
            stream = Stream(self._file, offset, self._packed)
            try:
                while (found := _record(stream)) is not None:
                    within, record = found
                    if stream.skip(record.length) < record.length:
                        raise ValueError("cut off in its block")
                    yield (Place(offset, within) if self._packed else Place(offset + within, 0)), record
            except (ValueError, BROKEN) as error:
                where = offset if self._packed else offset + stream.record
                self._skip(where, str(error) or "broken")
                offset = self._next(where + 1)
            else:
                offset = self._next(stream.end) if self._packed else None

    def _next(self, offset: int) -> int | None:
        """Where the next record may begin, at or behind an offset: a gzip member or `WARC/` on a new line."""
        mark = _MAGIC if self._packed else b"\nWARC/"
        self._file.seek(offset)
        before = b""
        while piece := self._file.read(PIECE):
            at = (before + piece).find(mark)
            if at >= 0:
                return offset - len(before) + at + (0 if self._packed else 1)
            offset += len(piece)
            before = (before + piece)[-len(mark) + 1 :]
        return None

    def _load(self, place: Place, most: int) -> Kept | None:
        stream = Stream(self._file, place.offset, self._packed)
        try:
            stream.skip(place.within)
            found = _record(stream)
            if found is None:
                return None
            record = found[1]
            block = stream.take(min(record.length, most + 4 * MOST_HEAD))
        except (ValueError, BROKEN):  # the file was changed under us
            return None
        return _answer(record, block, most)


def _record(stream: Stream) -> tuple[int, Record] | None:
    """The next record's header and where it began; None at the end. Raises ValueError."""
    stream.blank()
    began = stream.at
    head = stream.head()
    if head is None:
        return None
    first, *lines = head.strip().split(b"\n")
    if not first.startswith(b"WARC/"):
        raise ValueError(f"no WARC record but {first[:20]!r}")
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise ValueError("it has no length")
    return began, Record(fields.get("warc-type", "").lower(), fields, int(length[:18]))


def _answer(record: Record, block: bytes, most: int) -> Kept | None:
    at = _moment(record.fields.get("warc-date", ""))
    if record.kind == "resource":
        headers: Headers = [("content-type", record.fields.get("content-type", "application/octet-stream"))]
        return Kept(200, headers, block[: most + 1], at, record.length)
    end = re.search(rb"\r?\n\r?\n", block)
    head = block[: end.end()] if end else block
    body = block[len(head) :]
    lines = [line + b"\r\n" for line in re.split(rb"\r?\n", head)]
    status, headers = parse(lines)
    if not 100 <= status <= 599:
        return None
    size = record.length - len(head)
    if any(name == "transfer-encoding" and "chunked" in value.lower() for name, value in headers):
        body, whole = _unchunked(body)
        size = len(body) if whole else max(len(body), min(size, most + 1) if size > most else len(body))
    return Kept(status, headers, body[: most + 1], at, size, lines[0][5:8].decode("latin-1").strip())


def _unchunked(body: bytes) -> tuple[bytes, bool]:
    """A chunked body put together, and whether its last chunk was there; writers that did it already left no sizes."""
    out: list[bytes] = []
    at = 0
    while found := _CHUNK.match(body, at):
        size = int(found[1], 16)
        if not size:
            return b"".join(out), True
        out.append(body[found.end() : found.end() + size])
        at = found.end() + size
        at += 2 if body[at : at + 2] == b"\r\n" else 1 if body[at : at + 1] == b"\n" else 0
    return (b"".join(out), False) if out else (body, True)


def _moment(text: str) -> float:
    """Seconds since the epoch of a WARC-Date, 0 when it is none."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0

"""WARC 1.1 records of answers (ISO 28500), each a gzip member of its own, and the lines of their index.

A body that came packed is stored as it is in its member: unpacking the member gives it back, and no time is
lost in packing it twice. A body that was written before (the same bytes, the same coding) is not written
again: a revisit record names the first one. An answer 304 is a revisit record, too.


Whole answers as WARC 1.1: `pages.warc.gz`, or a folder of parts, each with its index (CDXJ) beside it."""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from itertools import count
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from gossamer import __version__
from gossamer.model.visit import Raw, Row
from gossamer.sinks import cdxj
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.cdxj import IndexLine, IndexPosition, line, surt
from gossamer.sinks.exact import TAIL
from gossamer.sinks.rotating import Rotating

PROFILE, UNCHANGED = (
    f"http://netpreserve.org/warc/1.1/revisit/{what}"
    for what in ("identical-payload-digest", "server-not-modified")
)
REMEMBERED = 50_000
"""Bodies that are known again, the last ones."""
_encode = msgspec.json.Encoder().encode
_TRANSFER = re.compile(rb"\n(?i:transfer-encoding:)")
_STORED = 65535
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32 = [a + b for a in _LETTERS for b in _LETTERS]  # base64.b32encode takes five times as long


class First(NamedTuple):
    """Where a body was written: byte in the output, of which URL, when."""

    at: int
    url: str
    date: str


class Packed(NamedTuple):
    """The records of an answer, `data`, and its request, `asked`. `body`: what tells its body from others;
    `first`: where that was written before, for all that was known then. `by`: who made them; another output
    makes its own, as IDs are of one record each."""

    by: object
    date: str
    answer: str
    digest: str
    body: tuple[bytes, bytes]
    first: First | None
    data: bytes
    asked: bytes


class Records:
    """Makes the records of one output."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[bytes, bytes], First] = {}
        self._seed, self._made = secrets.randbits(120), count(1)

    def info(self, name: str) -> bytes:
        """The warcinfo record that begins a file."""
        block = f"software: gossamer/{__version__}\r\nformat: WARC File Format 1.1\r\n".encode()
        now = moment(datetime.now(UTC).timestamp())
        head = (
            f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {now}\r\nWARC-Record-ID: {self._id()}\r\nWARC-Filename: {name}\r\n"
            f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        return member(head.encode("utf-8", "replace"), block, b"")

    def begin(self, at: int) -> None:
        """What follows is written at byte `at` of the output: what was remembered beyond was cut."""
        while self._bodies and self._bodies[last := next(reversed(self._bodies))].at >= at:
            del self._bodies[last]

    def pack(self, raw: Raw) -> Packed:
        """What can be made before it is known where it is written."""
        date, answer, sent, body = moment(raw.at), self._id(), raw.exchange.sent, raw.exchange.body
        hashed, coding = sha1(body, usedforsecurity=False).digest(), _coding(raw.exchange.head)
        digest, first = "-" if raw.status == 304 else _digest(hashed), self._bodies.get((hashed, coding))
        data = _answer(raw, date, answer, digest, coding, first)
        return Packed(
            self, date, answer, digest, (hashed, coding), first, data, self._request(raw, date, answer, sent)
        )

    def add(self, raw: Raw, at: int, offset: int, name: str) -> tuple[bytes, IndexLine]:
        """The records of an answer and its request. `at`: byte in the output, `offset`: in its file, called
        `name`."""
        packed: Packed = raw.packed if raw.packed is not None and raw.packed.by is self else self.pack(raw)
        data, date, first = packed.data, packed.date, None
        if raw.status != 304 and raw.exchange.body:
            first = self._first(packed.body, First(at, raw.url, date))
        if first != packed.first:
            data = _answer(raw, date, packed.answer, packed.digest, packed.body[1], first)
        fresh = first is None and raw.status != 304
        mime = raw.content_type.partition(";")[0].strip() or "-" if fresh else "warc/revisit"
        method = msgspec.UNSET if raw.asked.method == "GET" else raw.asked.method
        place = IndexPosition(
            raw.url, mime, str(raw.status), packed.digest, str(len(data)), str(offset), name, method
        )
        day = f"{date[:4]}{date[5:7]}{date[8:10]}{date[11:13]}{date[14:16]}{date[17:19]}"
        return data + packed.asked, line(surt(raw.url), day, place)

    def _request(self, raw: Raw, date: str, answer: str, sent: bytes) -> bytes:
        """The request's record; none where nobody knows what was sent."""
        if not sent:
            return b""
        said = (
            f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Target-URI: {raw.url}\r\nWARC-Date: {date}\r\nWARC-Record-ID: {self._id()}\r\n"
            f"WARC-Concurrent-To: {answer}\r\nContent-Type: application/http; msgtype=request\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        return member(said.encode("utf-8", "replace"), sent, b"")

    def _first(self, key: tuple[bytes, bytes], own: First) -> First | None:
        """Where this body was written before; else it is remembered."""
        found = self._bodies.get(key)
        if found is None:
            self._bodies[key] = own
            if len(self._bodies) > REMEMBERED:  # a half at once: one at a time from a dict's front is slow
                self._bodies = dict(list(self._bodies.items())[REMEMBERED // 2 :])
        return found

    def _id(self) -> str:
        text = f"{self._seed + next(self._made):030x}"
        return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[12:15]}-8{text[15:18]}-{text[18:]}>"


def _answer(raw: Raw, date: str, answer: str, digest: str, coding: bytes, first: First | None) -> bytes:
    """The record of an answer whose ID is `answer`. `first`: where its body was written before."""
    head, body, kind, fields = raw.exchange.head, raw.exchange.body, "response", ""
    if b"ransfer-" in head:  # the coding is taken off; who reads the record must not look for chunks
        head = _TRANSFER.sub(b"\nX-Crawler-Transfer-Encoding:", head)
    if raw.cut:
        fields = "WARC-Truncated: length\r\n"
    if raw.status == 304:
        kind, body = "revisit", b""
        fields += f"WARC-Profile: {UNCHANGED}\r\nWARC-Refers-To-Target-URI: {raw.url}\r\n"
    elif first is not None:
        kind, body = "revisit", b""
        fields += f"WARC-Profile: {PROFILE}\r\nWARC-Refers-To-Target-URI: {first.url}\r\nWARC-Refers-To-Date: {first.date}\r\n"
    if digest != "-":
        fields += f"WARC-Payload-Digest: {digest}\r\n"
    if raw.address:
        fields += f"WARC-IP-Address: {raw.address}\r\n"
    if (asked := _encode(raw.asked)) != b"{}":
        fields += f"Gossamer-Request: {asked.decode()}\r\n"
    said = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {raw.url}\r\nWARC-Date: {date}\r\nWARC-Record-ID: {answer}\r\n"
        f"{fields}Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head) + len(body)}\r\n\r\n"
    )
    return member(said.encode("utf-8", "replace"), head, body, packed=bool(coding))


def _coding(head: bytes) -> bytes:
    """The first Content-Encoding of a head, in lower letters; b"" where there is none."""
    return head.lower().partition(b"\ncontent-encoding:")[2].partition(b"\n")[0].strip()


def _digest(hashed: bytes) -> str:
    number = int.from_bytes(hashed, "big")
    return "sha1:" + "".join([_BASE32[number >> at & 1023] for at in range(150, -1, -10)])


def member(said: bytes, head: bytes, body: bytes, packed: bool = False) -> bytes:
    """A record as a gzip member: its header, the block in two pieces, the lines that end it. `packed`: the
    body is not packed again."""
    if not packed or not body:
        out: bytes = isal_zlib.compress(b"".join((said, head, body, b"\r\n\r\n")), 1 if body else 0, 31)
        return out
    squeeze = isal_zlib.compressobj(0, isal_zlib.DEFLATED, -15)
    parts = [
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        squeeze.compress(said + head),
        squeeze.flush(isal_zlib.Z_FULL_FLUSH),
    ]
    body += b"\r\n\r\n"
    for at in range(0, len(body), _STORED):
        piece = body[at : at + _STORED]
        size = len(piece)
        parts += (
            b"\1" if at + size == len(body) else b"\0",
            size.to_bytes(2, "little"),
            (size ^ 0xFFFF).to_bytes(2, "little"),
            piece,
        )
    check = isal_zlib.crc32(body, isal_zlib.crc32(head, isal_zlib.crc32(said)))
    length = (len(said) + len(head) + len(body)) & 0xFFFFFFFF
    return b"".join((*parts, check.to_bytes(4, "little"), length.to_bytes(4, "little")))


def moment(seconds: float) -> str:
    """A WARC-Date that gives the same float back.

    >>> moment(1.25)
    '1970-01-01T00:00:01.250000000Z'
    """
    whole, _, part = f"{seconds:.9f}".partition(".")
    return f"{_second(int(whole))}.{part}Z"


@lru_cache(maxsize=100)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


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

"""Writes whole responses as WARC 1.1 (ISO 28500). The output is a file `pages.warc.gz` that continues in
further parts, or a folder of parts.

The CDXJ index of each part is beside it. Each record is a separate gzip member. To save time, a body that is
already compressed is not compressed a second time. The decompressed member contains the body as it was
received, which is still compressed. If the same body (same bytes, same Content-Encoding) was written before,
it is not written again. Instead, a revisit record refers to the first record of the body. A 304 response also
becomes a revisit record.
"""

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
from gossamer.sinks.cdxj import IndexLine, IndexPosition, index_line, surt
from gossamer.sinks.crash_safe_file import TAIL_BYTES
from gossamer.sinks.multipart_file import PartFiles

PROFILE, UNCHANGED = (
    f"http://netpreserve.org/warc/1.1/revisit/{what}"
    for what in ("identical-payload-digest", "server-not-modified")
)
MAX_REMEMBERED_BODIES = 50_000
"""The maximum number of response bodies whose digests an output stores in memory in order to recognize
repeated bodies."""
_encode = msgspec.json.Encoder().encode
_TRANSFER = re.compile(rb"\n(?i:transfer-encoding:)")
_STORED = 65535
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32 = [a + b for a in _LETTERS for b in _LETTERS]  # base64.b32encode is five times slower


class First(NamedTuple):
    """The first record that contains a body: its byte offset in the output, its URL, and its date."""

    at: int
    url: str
    date: str


class EncodedResponse(NamedTuple):
    """A response that was encoded in advance.

    `by`: the RecordEncoder that encoded the response. An output with a different RecordEncoder encodes the
    response again, because record IDs must be unique. `answer`: the ID of the response record. `body`: the
    hash and the Content-Encoding of the body, which identify the body. `first`: the earlier record of the
    same body, or None if no such record was known when this response was encoded. `data`: the response
    record. `asked`: the request record.
    """

    by: object
    date: str
    answer: str
    digest: str
    body: tuple[bytes, bytes]
    first: First | None
    data: bytes
    asked: bytes


class RecordEncoder:
    """Encodes the records of one output."""

    def __init__(self) -> None:
        self._bodies: dict[tuple[bytes, bytes], First] = {}
        self._seed, self._made = secrets.randbits(120), count(1)

    def info(self, name: str) -> bytes:
        """Returns the warcinfo record that is at the beginning of a file."""
        block = f"software: gossamer/{__version__}\r\nformat: WARC File Format 1.1\r\n".encode()
        now = format_date(datetime.now(UTC).timestamp())
        head = (
            f"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Date: {now}\r\nWARC-Record-ID: "
            f"{self._id()}\r\nWARC-Filename: {name}\r\n"
            f"Content-Type: application/warc-fields\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        return gzip_member(head.encode("utf-8", "replace"), block, b"")

    def begin(self, at: int) -> None:
        """Forgets all bodies whose first record begins at byte `at` or later, because the output was cut at
        byte `at`. The next record is written at byte `at`."""
        while self._bodies and self._bodies[last := next(reversed(self._bodies))].at >= at:
            del self._bodies[last]

    def pack(self, raw: Raw) -> EncodedResponse:
        """Encodes those parts of a response's records that do not depend on the position of the records."""
        date, answer, sent, body = format_date(raw.at), self._id(), raw.exchange.sent, raw.exchange.body
        hashed, coding = sha1(body, usedforsecurity=False).digest(), _coding(raw.exchange.head)
        digest, first = "-" if raw.status == 304 else _digest(hashed), self._bodies.get((hashed, coding))
        data = _answer(raw, date, answer, digest, coding, first)
        return EncodedResponse(
            self, date, answer, digest, (hashed, coding), first, data, self._request(raw, date, answer, sent)
        )

    def add(self, raw: Raw, at: int, offset: int, name: str) -> tuple[bytes, IndexLine]:
        """Returns the records of a response and its request, and the index line. `at` is the byte offset in
        the output. `offset` is the byte offset in the file `name`."""
        packed: EncodedResponse = (
            raw.packed if raw.packed is not None and raw.packed.by is self else self.pack(raw)
        )
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
        return data + packed.asked, index_line(surt(raw.url), day, place)

    def _request(self, raw: Raw, date: str, answer: str, sent: bytes) -> bytes:
        """Returns the record of the request, or b"" if the bytes that were sent are unknown."""
        if not sent:
            return b""
        said = (
            f"WARC/1.1\r\nWARC-Type: request\r\nWARC-Target-URI: {raw.url}\r\nWARC-Date: "
            f"{date}\r\nWARC-Record-ID: {self._id()}\r\n"
            f"WARC-Concurrent-To: {answer}\r\nContent-Type: application/http; "
            f"msgtype=request\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        return gzip_member(said.encode("utf-8", "replace"), sent, b"")

    def _first(self, key: tuple[bytes, bytes], own: First) -> First | None:
        """Returns the first record of a body if the body was written before. Otherwise, stores `own` as the
        first record of the body, and returns None."""
        found = self._bodies.get(key)
        if found is None:
            self._bodies[key] = own
            # Half of the entries are removed at once, because removing single entries from the front of a
            # dict is slow.
            if len(self._bodies) > MAX_REMEMBERED_BODIES:
                self._bodies = dict(list(self._bodies.items())[MAX_REMEMBERED_BODIES // 2 :])
        return found

    def _id(self) -> str:
        text = f"{self._seed + next(self._made):030x}"
        return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[12:15]}-8{text[15:18]}-{text[18:]}>"


def _answer(raw: Raw, date: str, answer: str, digest: str, coding: bytes, first: First | None) -> bytes:
    """Returns the record of a response. `answer` is the ID of the returned record. `first` is the earlier
    record of the same body, if any."""
    head, body, kind, fields = raw.exchange.head, raw.exchange.body, "response", ""
    # The body is stored without its transfer coding, so a reader of the record must not expect chunks.
    if b"ransfer-" in head:
        head = _TRANSFER.sub(b"\nX-Crawler-Transfer-Encoding:", head)
    if raw.cut:
        fields = "WARC-Truncated: length\r\n"
    if raw.status == 304:
        kind, body = "revisit", b""
        fields += f"WARC-Profile: {UNCHANGED}\r\nWARC-Refers-To-Target-URI: {raw.url}\r\n"
    elif first is not None:
        kind, body = "revisit", b""
        fields += (
            f"WARC-Profile: {PROFILE}\r\nWARC-Refers-To-Target-URI: "
            f"{first.url}\r\nWARC-Refers-To-Date: {first.date}\r\n"
        )
    if digest != "-":
        fields += f"WARC-Payload-Digest: {digest}\r\n"
    if raw.address:
        fields += f"WARC-IP-Address: {raw.address}\r\n"
    if (asked := _encode(raw.asked)) != b"{}":
        fields += f"Gossamer-Request: {asked.decode()}\r\n"
    said = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {raw.url}\r\nWARC-Date: "
        f"{date}\r\nWARC-Record-ID: {answer}\r\n"
        f"{fields}Content-Type: application/http; msgtype=response\r\nContent-Length: "
        f"{len(head) + len(body)}\r\n\r\n"
    )
    return gzip_member(said.encode("utf-8", "replace"), head, body, packed=bool(coding))


def _coding(head: bytes) -> bytes:
    """Returns the first Content-Encoding of a response head in lower case, or b"" if there is none."""
    return head.lower().partition(b"\ncontent-encoding:")[2].partition(b"\n")[0].strip()


def _digest(hashed: bytes) -> str:
    number = int.from_bytes(hashed, "big")
    return "sha1:" + "".join([_BASE32[number >> at & 1023] for at in range(150, -1, -10)])


def gzip_member(said: bytes, head: bytes, body: bytes, packed: bool = False) -> bytes:
    """Returns a record as a gzip member. The record consists of its header, its block in two pieces, and the
    closing line breaks. `packed`: whether the body is already compressed. If `packed` is true, the body is
    stored unchanged."""
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


def format_date(seconds: float) -> str:
    """Formats a time as a WARC-Date. If a reader converts the date to a float, the float equals `seconds`.

    >>> format_date(1.25)
    '1970-01-01T00:00:01.250000000Z'
    """
    whole, _, part = f"{seconds:.9f}".partition(".")
    return f"{_second(int(whole))}.{part}Z"


@lru_cache(maxsize=100)
def _second(whole: int) -> str:
    return datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")


MAX_PART_BYTES = 1 << 30
"""The size in bytes at which a part is closed and a new part begins."""
MAX_INLINE_BYTES = 32 << 10
"""Responses with bodies of up to this many bytes are encoded in the event loop. The encoding of a small
response takes 30 us in the event loop, and twice as long in a thread. The encoding of a body of exactly
MAX_INLINE_BYTES bytes takes a fifth of a millisecond."""
MAX_REMEMBERED_APPENDS = 1000
"""Each process stores its latest appends in memory, up to this number of appends. After a crash, the store
may lack the writes of its last second. A process makes fewer than 1000 appends per second.
MAX_REMEMBERED_APPENDS is therefore enough for all appends that a crashed store can lose."""


class AppendedRange(NamedTuple):
    """An append of this process. The append wrote the bytes `at` to `end` of the output. These bytes are in
    the part that begins at `start`. `tail` contains the last bytes of the append."""

    at: int
    end: int
    start: int
    tail: bytes


class Warc:
    """The FileSink for whole responses. `most`: the maximum size of a part in bytes. `ended`: a function that
    is called with the start and the end of each closed part."""

    def __init__(
        self,
        path: str,
        *,
        folder: bool = False,
        overwrite: bool = False,
        owner: str = "",
        most: int = MAX_PART_BYTES,
        ended: Callable[[int, int], None] | None = None,
        log: AppendLog | None = None,
    ) -> None:
        self.parts = PartFiles(path, cdxj.ENDING, folder=folder, overwrite=overwrite, owner=owner, log=log)
        self.drop = self.parts.drop
        self.find, self.adopt = self.parts.find, self.parts.adopt
        self._records, self._most, self._ended = RecordEncoder(), most, ended
        self._overwrite = overwrite
        self._wrote: deque[AppendedRange] = deque(maxlen=MAX_REMEMBERED_APPENDS)

    def target(self) -> str:
        """Returns the absolute path of the first part, or of the folder."""
        return self.parts.path

    def prepare(self) -> int:
        """See `interfaces.FileSink`."""
        if self._overwrite:
            for start in self.parts.starts():
                cdxj.remove_index(self.parts.where(start))
        length = self.parts.prepare()
        last = max((start for start, here in self.parts.starts().items() if here), default=0)
        cdxj.check_members(self.parts.where(last), length - last)
        return length

    def pack(self, rows: Sequence[Row]) -> None:
        """See `interfaces.Packs`. Large responses are encoded later, in the thread that appends."""
        for row in rows:
            raw = row.data
            if isinstance(raw, Raw) and raw.packed is None and len(raw.exchange.body) <= MAX_INLINE_BYTES:
                raw.packed = self._records.pack(raw)

    def append(self, committed: int, rows: Sequence[Row]) -> int:
        """See `interfaces.FileSink`."""
        start = self.parts.settle(committed)
        raws = [row.data for row in rows if isinstance(row.data, Raw)]
        # This call is needed even if there are no new rows, because other processes may write to the output
        # before the next append of this process.
        self._recall(committed)
        if not raws:
            if start < committed or not committed:
                self.parts.file(start).append(committed - start, b"")
            return committed
        if committed - start >= self._most:
            self._end(start, committed)
            start = committed
        data, lines = self._made(raws, start, committed)
        where = self.parts.where(start)
        cdxj.note_lines(where, committed - start, committed - start + len(data), lines)
        end = start + self.parts.file(start).append(committed - start, data)
        self._wrote.append(AppendedRange(committed, end, start, data[-TAIL_BYTES:]))
        return end

    def close(self, committed: int) -> None:
        """Closes the last part at `committed` bytes. A run that resumes the crawl continues this part."""
        start = self.parts.settle(committed)
        if start < committed or not committed:
            self._end(start, committed)

    def _recall(self, committed: int) -> None:
        """Finds the latest appends of this process that are no longer in the output, and forgets the bodies
        that these appends wrote. An append is cut from the output if the store lost the commit of the append.
        The check also works if other processes have written to the output in the meantime. If none of the
        latest appends is left, the method forgets all bodies, because earlier appends may be gone too."""
        known, cut = bool(self._wrote), committed
        while self._wrote and not self._stands(self._wrote[-1], committed):
            cut = min(cut, self._wrote.pop().at)
        self._records.begin(cut if self._wrote or not known else 0)

    def _stands(self, wrote: AppendedRange, committed: int) -> bool:
        return wrote.end <= committed and self.parts.ends_so(wrote.start, wrote.end, wrote.tail)

    def _made(self, raws: Sequence[Raw], start: int, committed: int) -> tuple[bytes, list[cdxj.IndexLine]]:
        """Encodes responses as records that will begin at byte `committed` of the output. Returns the encoded
        records and their index lines."""
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
        cdxj.finish_index(self.parts.where(start), committed - start)
        if self._ended is not None:
            self._ended(start, committed)

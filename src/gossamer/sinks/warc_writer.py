"""WARC 1.1 records of answers (ISO 28500), each a gzip member of its own, and the lines of their index.

A body that came packed is stored as it is in its member: unpacking the member gives it back, and no time is
lost in packing it twice. A body that was written before (the same bytes, the same coding) is not written
again: a revisit record names the first one. An answer 304 is a revisit record, too.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha1
from itertools import count
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from gossamer import __version__
from gossamer.model.visit import Raw
from gossamer.sinks.cdxj import IndexLine, IndexPosition, line, surt

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

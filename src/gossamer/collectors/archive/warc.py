"""Reads WARC files (ISO 28500), plain or compressed, and finds their records by URL. When a file is opened,
the offsets of its records are indexed. A record is read when the record is requested.

A file with one gzip member per record is fast to read. If a member contains several records, the member is
decompressed from its start to the requested record. Broken records are skipped and listed in `skipped`, and
reading continues at the next complete record. If gossamer has written a complete index (CDXJ) next to a file,
the offsets are read from this index instead of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from isal import isal_zlib

from gossamer import url as urls
from gossamer.collectors.archive.answers import AnswerPositions, StoredAnswer, answer_key
from gossamer.collectors.http.decoding import BROKEN
from gossamer.collectors.http.transfer import http_version, parse
from gossamer.model.page import Headers
from gossamer.model.visit import RequestContext

CHUNK_BYTES = 64 << 10
MAX_HEAD_BYTES = 64 << 10
_NEWYEAR = "00000101000000"
"""Digits in the form YYYYMMDDHHMMSS. An incomplete date, such as `2026`, is completed with the last digits of
this string."""
_ENDS = re.compile(rb"[\r\n]+")


class RecordPosition(NamedTuple):
    """The position of a record. `offset`: the offset of the record or, in a compressed file, of its gzip
    member. `within`: the record's offset in the decompressed member. `file`: the file's number in the
    archive. `size`: the compressed size of a member that contains only this record, or 0 if the size is
    unknown."""

    offset: int
    within: int
    file: int = 0
    size: int = 0


class Stream:
    """Reads a plain file from an offset to the end, or decompresses the gzip member at an offset."""

    def __init__(self, file: BinaryIO, offset: int, packed: bool) -> None:
        self._file, self._undo = file, isal_zlib.decompressobj(31) if packed else None
        self._have = bytearray()
        self.at, self.record, self.end = 0, 0, offset
        self._size = file.seek(0, os.SEEK_END)
        file.seek(offset)

    def take(self, count: int) -> bytes:
        """Returns `count` bytes, or fewer bytes at the end of the stream. Raises BROKEN if the gzip member is
        damaged."""
        while len(self._have) < count and self._more():
            pass
        out = bytes(self._have[:count])
        del self._have[:count]
        self.at += len(out)
        return out

    def skip(self, count: int) -> int:
        """Skips up to `count` bytes and returns the number of skipped bytes. In a plain file, the method
        seeks past the bytes, so a wrong length in a record's header costs no time."""
        passed = len(self._have)
        if self._undo is None and count > passed:
            passed += max(0, min(count - passed, self._size - self.end))
            self.end += passed - len(self._have)
            self.at += passed
            self._have.clear()
            self._file.seek(self.end)
            return passed
        passed = 0
        while passed < count and (part := self.take(min(CHUNK_BYTES, count - passed))):
            passed += len(part)
        return passed

    def blank(self) -> None:
        """Skips all line ends after a record. Normally, two line ends follow a record, but some files contain
        more or fewer. Sets `record` to the offset of the next record."""
        while True:
            found = _ENDS.match(self._have)
            passed = found.end() if found else 0
            del self._have[:passed]
            self.at += passed
            if self._have or not self._more():
                self.record = self.at
                return

    def head(self) -> bytes | None:
        """Returns all bytes up to and including the next empty line, or None at the end of the file. Raises
        ValueError if there is no empty line within 64 KiB."""
        while True:
            found = re.search(rb"\r?\n\r?\n", self._have)
            if found:
                return self.take(found.end())
            if len(self._have) > MAX_HEAD_BYTES:
                raise ValueError("the header of a record is too long")
            if not self._more():
                if self._have.strip():
                    raise ValueError("cut off in the header of a record")
                return None

    def _more(self) -> bool:
        """Reads more data. Returns False at the end of the file or gzip member. Sets `end` to the file offset
        after the data. After the last data of a gzip member, `end` is the offset after the member."""
        if self._undo is None:
            piece = self._file.read(CHUNK_BYTES)
            self._have += piece
            self.end += len(piece)
            return bool(piece)
        while not self._undo.eof:
            packed = self._undo.unconsumed_tail or self._file.read(CHUNK_BYTES // 4)
            fresh = not self._undo.unconsumed_tail
            if not packed:
                return False
            part = self._undo.decompress(packed, 4 * CHUNK_BYTES)
            self.end += len(packed) * fresh - len(self._undo.unused_data)
            if part:
                self._have += part
                return True
        return False


class RecordHeader(NamedTuple):
    """The header of a record. `kind`: the record's type. `fields`: the header fields, with names in lower
    case. `length`: the length of the record's block."""

    kind: str
    fields: dict[str, str]
    length: int

    def url(self) -> str | None:
        """Returns the record's target URL in fetch form. Some writers put the URL in angle brackets."""
        found = urls.parse(self.fields.get("warc-target-uri", "").strip("<>"))
        return found and found.partition("#")[0]


def next_record(stream: Stream) -> tuple[int, RecordHeader] | None:
    """Returns the next record's offset and header, or None at the end of the stream. Raises ValueError."""
    stream.blank()
    began = stream.at
    head = stream.head()
    return None if head is None else (began, parse_header(head))


def parse_header(head: bytes) -> RecordHeader:
    """Parses a record's header. Raises ValueError."""
    head = head.strip()
    if not head.startswith(b"WARC/"):
        raise ValueError(f"expected a WARC record, found {head[:20]!r}")
    fields: dict[str, str] = {}
    for line in head.decode("utf-8", "replace").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip().lower(), value.strip())
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise ValueError("the record has no valid Content-Length")
    return RecordHeader(fields.get("warc-type", "").lower(), fields, int(length[:18]))


def parse_date(text: str) -> float:
    """Converts a WARC-Date to seconds since the epoch, or to 0 if the date is invalid. If gossamer wrote a
    time with nine decimal places, the result equals the written time exactly."""
    try:
        if text[19:20] == "." and text[-1] == "Z" and text[20:-1].isdecimal():
            return float(f"{_second(text[:19])}.{text[20:-1]}")
        part = re.search(r"\.(\d+)", text)
        return float(f"{_second(text)}.{part[1] if part else 0}")
    except (ValueError, OverflowError):
        return 0.0


@lru_cache(maxsize=100)
def _second(text: str) -> int:
    if text.isdecimal() and len(text) >= 4:  # a year, or a date without separators
        found = datetime.strptime(f"{text}{_NEWYEAR[len(text) :]}", "%Y%m%d%H%M%S")
    else:
        found = datetime.fromisoformat(f"{text}-01" if len(text) == 7 else text.replace("Z", "+00:00"))
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return int(found.replace(microsecond=0).timestamp())


MAX_SKIPPED = 1000
_OTHERS = ("dns:", "whois:", "ftp:", "ftps:", "urn:", "metadata:", "screenshot:")
"""URL schemes of WARC records that are not pages. Other tools store such records in addition to pages."""
_MAGIC = b"\x1f\x8b\x08"
_KINDS = ("response", "resource", "revisit")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_asked = msgspec.json.Decoder(RequestContext).decode
ENDING = ".warc.gz"


class WarcIndexLine(msgspec.Struct):
    """A line of a CDXJ index, with only the fields that gossamer uses."""

    url: str
    mime: str
    digest: str
    offset: str
    length: str = "0"
    status: str = ""
    method: str = "GET"


_line = msgspec.json.Decoder(WarcIndexLine).decode


def files_of(path: Path) -> list[Path]:
    """Returns the files of a WARC in order: all WARC files of a folder, or a single file and its
    continuations."""
    if path.is_dir():
        return sorted(one for one in path.iterdir() if one.name.lower().endswith((".warc", ENDING)))
    stem = path.name.removesuffix(ENDING)
    further = [
        one
        for one in path.parent.glob("*")
        if re.fullmatch(rf"{re.escape(stem)}-\d{{15}}{re.escape(ENDING)}", one.name)
    ]
    return [path, *sorted(further)]


class WarcArchive:
    """Finds the responses of a WARC by URL. See `AnswerPositions` for URLs with several responses. Raises
    OSError if a file cannot be read."""

    def __init__(self, path: Path) -> None:
        self._files: list[BinaryIO] = []
        self._packed: list[bool] = []
        self._places = AnswerPositions[RecordPosition]()
        self._digests: dict[str, RecordPosition] = {}
        self._bodies: dict[RecordPosition, RecordPosition] = {}
        """Maps the position of a revisit record to the position of the record that contains its body."""
        self.skipped: list[str] = []
        """One line per skipped record with file, offset and reason, at most 1,000 lines."""
        self.broken: list[str] = []
        """One line per truncated or damaged file. The line describes the first damage in the file."""
        for number, one in enumerate(files_of(path)):
            self._files.append(one.open("rb"))
            self._packed.append(self._files[-1].read(3) == _MAGIC)
            if not self._index(one, number):
                for place, found in self._walk(number):
                    self._enter(place, found)

    def find(self, url: str, most: int) -> StoredAnswer | None:
        """Returns the response for a key, such as a URL, with at most `most` + 1 bytes of the body."""
        return self._places.latest_answer(url, lambda place: self._load(place, most))

    def urls(self) -> list[str]:
        """Returns the keys of all responses, in the order of the files."""
        return sorted(self._places, key=lambda url: (self._places[url].file, self._places[url]))

    def again(self) -> None:
        """Reopens the files. A forked process must call this method, because otherwise the parent and the
        child process share the file positions."""
        names = [file.name for file in self._files]
        self.close()
        self._files = [one.open("rb") for one in map(Path, names)]

    def close(self) -> None:
        """Closes the files."""
        for file in self._files:
            file.close()

    def _index(self, path: Path, number: int) -> bool:
        """Reads the positions from the index next to a file. Returns False if the index cannot be used, so
        that the file itself must be read. An index cannot be used if it is missing, incomplete, invalid or
        older than the file, or if it lists requests other than GET and HEAD."""
        beside = path.with_name(f"{path.name.removesuffix(ENDING)}.cdxj")
        growing = path.with_name(f".{path.name}.index")
        ended = path.name.endswith(ENDING) and beside.exists() and not growing.exists()
        if not ended or beside.stat().st_mtime < path.stat().st_mtime:
            return False
        try:
            lines = [_line(text.split(b" ", 2)[2]) for text in beside.read_bytes().splitlines()]
            lines.sort(key=lambda one: int(one.offset))
            lost = next(
                (one.offset for one in lines if int(one.offset) + int(one.length) > path.stat().st_size), None
            )
        except (IndexError, ValueError, msgspec.DecodeError):
            return False
        if any(one.method not in ("GET", "HEAD") for one in lines):
            return False  # the index contains no request bodies, so the records must be read
        if lost is not None:
            self.broken.append(
                f"{path} is broken from byte {lost} on (its index lists records beyond its end)"
            )
        for one in lines:
            place, known = (
                RecordPosition(int(one.offset), 0, number, int(one.length)),
                self._digests.get(one.digest),
            )
            if one.mime == "warc/revisit" and one.status == "304":
                continue  # the page was unchanged, so its earlier response stays valid
            if one.mime == "warc/revisit" and known is not None:
                self._bodies[place] = known
            elif one.mime == "warc/revisit":
                self._skip(place, f"a revisit of {one.url[:100]}, whose original record is missing")
                continue
            else:
                self._digests.setdefault(one.digest, place)
            self._places[urls.parse(one.url) or one.url] = place
        return True

    def _enter(self, place: RecordPosition, found: RecordHeader) -> None:
        url = found.url()
        if found.kind not in _KINDS or found.fields.get("warc-profile", "").endswith("server-not-modified"):
            return None  # not a response, or an unchanged page, for which the earlier response stays valid
        if found.fields.get("warc-target-uri", "").lstrip("<").startswith(_OTHERS):
            return None  # a record of another tool, which contains no page
        if url is None or not url.startswith(("http://", "https://")):
            return self._skip(
                place,
                f"a {found.kind} whose URL is not http(s): {found.fields.get('warc-target-uri', '')[:100]}",
            )
        asked = asked_of(found)
        name, digest = answer_key(url, asked.method, asked.body), found.fields.get("warc-payload-digest", "")
        if found.kind == "revisit":
            original = urls.parse(found.fields.get("warc-refers-to-target-uri", "").strip("<>")) or url
            known = self._digests.get(digest) or self._places.get(original.partition("#")[0])
            if known is None:
                return self._skip(place, f"a revisit of {url[:100]}, whose original record is missing")
            self._bodies[place] = self._bodies.get(known, known)
        elif digest:
            self._digests.setdefault(digest, place)
        self._places[name] = place
        return None

    def _skip(self, place: RecordPosition, why: str) -> None:
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(f"{Path(self._files[place.file].name).name} byte {place.offset}: {why}")

    def _walk(self, number: int) -> Iterator[tuple[RecordPosition, RecordHeader]]:
        """Yields all complete records with their positions."""
        offset: int | None = 0
        packed, told = self._packed[number], False
        while offset is not None:
            stream = Stream(self._files[number], offset, packed)
            try:
                while (one := next_record(stream)) is not None:
                    within, found = one
                    if stream.skip(found.length) < found.length:
                        raise ValueError("cut off in the block of a record")
                    yield (
                        (
                            RecordPosition(offset, within, number)
                            if packed
                            else RecordPosition(offset + within, 0, number)
                        ),
                        found,
                    )
            except (ValueError, BROKEN) as error:
                where = offset if packed else offset + stream.record
                self._skip(RecordPosition(where, 0, number), why := str(error) or "broken")
                if not told:
                    self.broken.append(f"{self._files[number].name} is broken from byte {where} on ({why})")
                told = True
                offset = self._next(number, where + 1)
            else:
                offset = self._next(number, stream.end) if packed else None

    def _next(self, number: int, offset: int) -> int | None:
        """Returns the first offset from `offset` on at which a record may begin, or None if no record
        follows. A record may begin at the start of a gzip member or, in a plain file, at a line that begins
        with `WARC/`."""
        packed, file = self._packed[number], self._files[number]
        mark = _MAGIC if packed else b"\nWARC/"
        file.seek(offset)
        before = b""
        while piece := file.read(CHUNK_BYTES):
            at = (before + piece).find(mark)
            if at >= 0:
                return offset - len(before) + at + (0 if packed else 1)
            offset += len(piece)
            before = (before + piece)[-len(mark) + 1 :]
        return None

    def _load(self, place: RecordPosition, most: int) -> StoredAnswer | None:
        found = self._block(place, most)
        if found is None:
            return None
        if found[0].kind != "revisit":
            return _answer(*found, most)
        body = self._block(self._bodies[place], most)
        if body is None:
            return None
        first = _answer(*body, most)
        if first is None or b"HTTP/" not in found[1][:5]:
            return first
        own = _answer(*found, most)
        if own is None:
            return first
        own.body, own.size = first.body, first.size
        return own

    def _block(self, place: RecordPosition, most: int) -> tuple[RecordHeader, bytes] | None:
        """Returns a record's header and block, or None if the record is incomplete or damaged."""
        if place.size and (one := _member(self._files[place.file], place, most)) is not None:
            return one
        stream = Stream(self._files[place.file], place.offset, self._packed[place.file])
        try:
            stream.skip(place.within)
            if (found := next_record(stream)) is None:
                return None
            block = stream.take(size := min(found[1].length, most + 4 * MAX_HEAD_BYTES))
            return (found[1], block) if len(block) == size else None  # a shorter block is incomplete
        except (ValueError, BROKEN):
            return None


def _member(file: BinaryIO, place: RecordPosition, most: int) -> tuple[RecordHeader, bytes] | None:
    """Reads a record's header and block in one step from a gzip member of known size. Returns None if this
    method fails, for example because the member is too large."""
    most += 4 * MAX_HEAD_BYTES
    data = os.pread(file.fileno(), min(place.size, most), place.offset)
    try:
        text: bytes = isal_zlib.decompressobj(31).decompress(data, most + MAX_HEAD_BYTES)
        end = text.find(b"\r\n\r\n") + 4
        found = parse_header(text[:end])
    except (ValueError, BROKEN):
        return None
    block = text[end : end + min(found.length, most)]
    return (found, block) if len(block) == min(found.length, most) else None


def asked_of(found: RecordHeader) -> RequestContext:
    """Returns the context of the page's request, or an empty context if the record contains no valid context.
    WARC files of other programs do not contain request contexts."""
    text = found.fields.get("gossamer-request")
    try:
        return _asked(text) if text else RequestContext()
    except msgspec.DecodeError:
        return RequestContext()


def _answer(found: RecordHeader, block: bytes, most: int) -> StoredAnswer | None:
    at = parse_date(found.fields.get("warc-date", ""))
    if found.kind == "resource":
        headers: Headers = [("content-type", found.fields.get("content-type", "application/octet-stream"))]
        return StoredAnswer(200, headers, block[: most + 1], at, found.length)
    end = re.search(rb"\r?\n\r?\n", block)
    head = block[: end.end()] if end else block
    body = block[len(head) :]
    lines = [line + b"\r\n" for line in head.replace(b"\r\n", b"\n").split(b"\n")]
    status, headers = parse(lines)
    if not 100 <= status <= 599:
        return None
    size = found.length - len(head)
    if any(name == "transfer-encoding" and "chunked" in value.lower() for name, value in headers):
        body, whole = _unchunked(body)
        size = len(body) if whole else max(len(body), min(size, most + 1) if size > most else len(body))
    return StoredAnswer(status, headers, body[: most + 1], at, size, http_version(lines[0]), asked_of(found))


def _unchunked(body: bytes) -> tuple[bytes, bool]:
    """Decodes a chunked body. Returns the decoded body, and True if the body is complete. A body without
    chunk sizes is returned unchanged and counts as complete, because some WARC writers store the decoded
    body."""
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

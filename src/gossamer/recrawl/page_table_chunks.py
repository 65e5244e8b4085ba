"""Packs many known pages into a chunk, which is their stored form. The state of a page takes 24 bytes. The
URLs and validators of all pages of a chunk are compressed together.

A chunk consists of the format of the chunk (1 byte), the number of pages (2 bytes), the states of the pages,
and a zstd frame. The zstd frame contains the line (`KnownLine`) of each page. The lines are split into
columns, because columns are easier to compress than lines. All numbers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec
import zstandard

from gossamer.model.visit import KnownLine
from gossamer.recrawl.page_table import PageState, encode_line, line_of, page_id

FORMAT = 1
CHUNK_PAGES = 128
"""Maximum number of pages in a chunk. A table with larger chunks needs less memory. However, larger chunks
cause more traffic, because each visit rewrites the whole chunk that contains the page."""
LEVEL = 9
"""The compression level of zstd. A high compression level costs little because a chunk is small."""
_HEAD = struct.Struct("<BH")
STATE = struct.Struct("<ffIIHHBB2x")
"""The binary form of a page's state, with these fields: changes, days, time of the last visit, due time,
visits, changed, failed, signals."""
_HASH = 8
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(KnownLine).decode


def pack(pages: Sequence[PageState]) -> bytes:
    """Returns a chunk with these pages. Chunks do not record which pages are queued."""
    found = sorted(((line_of(page), page) for page in pages), key=lambda pair: (pair[0].url, pair[1].id))
    states = b"".join(_state(page) for _, page in found)
    return _HEAD.pack(FORMAT, len(found)) + states + zstandard.compress(_columns(found), LEVEL)


def unpack(raw: bytes) -> list[tuple[PageState, str]]:
    """Returns the pages of a chunk, each with its URL. A chunk contains no host IDs, so the host ID of each
    returned page is 0. Raises ValueError."""
    form, count = _HEAD.unpack_from(raw)
    if form != FORMAT:
        raise ValueError(f"a newer gossamer wrote the table of known pages (format {form})")
    start = _HEAD.size + count * STATE.size
    text, _, hashes = zstandard.decompress(raw[start:]).partition(b"\0")
    columns = [column.split(b"\n") for column in text.split(b"\1")]
    pages = []
    for j, row in enumerate(zip(*columns, strict=True)):
        changes, days, last, due, visits, changed, failed, signals = STATE.unpack_from(
            raw, _HEAD.size + j * STATE.size
        )
        line = _line(row, hashes[2 * _HASH * j :], last)
        state = (changes, days, last, due, 0, visits, changed, failed, 0, signals)
        pages.append((PageState(page_id(line), *state, line=encode_line(line)), line.url))
    return pages


def _state(page: PageState) -> bytes:
    visits, changed = page.visits, page.changed
    while visits > 0xFFFF:
        visits, changed = visits // 2, changed // 2
    times = (max(0, min(page.last, 0xFFFFFFFF)), max(0, min(page.due, 0xFFFFFFFF)))
    return STATE.pack(
        page.changes, page.days, *times, visits, changed, min(page.failed, 255), min(page.signals, 255)
    )


def _columns(found: Sequence[tuple[KnownLine, PageState]]) -> bytes:
    """Returns the columns of the pages. The columns are the URL, the ETag, Last-Modified, the other fields as
    JSON, and the two hashes of each page in binary. If a hash does not have 16 hexadecimal digits, the hash
    stays in the JSON."""
    columns: tuple[list[bytes], ...] = ([], [], [], [])
    hashes = []
    for line, page in found:
        known = line.known
        body, said = _binary(known.body), _binary(known.said)
        hashes.append((body or bytes(_HASH)) + (said or bytes(_HASH)))
        url, etag, modified = map(_plain, (line.url, known.etag, known.modified))
        rest = msgspec.structs.replace(
            known,
            etag="" if etag else known.etag,
            modified="" if modified else known.modified,
            body="" if body else known.body,
            said="" if said else known.said,
        )
        slim = msgspec.structs.replace(line, url="" if url else line.url, at=line.at - page.last, known=rest)
        for column, value in zip(columns, (url, etag, modified, _encode(slim)), strict=True):
            column.append(value)
    return b"\1".join(b"\n".join(column) for column in columns) + b"\0" + b"".join(hashes)


def _line(row: Sequence[bytes], hashes: bytes, last: int) -> KnownLine:
    """Builds the line of a page. `row`: the page's value in each column of the chunk. `last`: the time of the
    page's last visit."""
    url, etag, modified, rest = row
    slim = _decode(rest)
    body, said = hashes[:_HASH], hashes[_HASH : 2 * _HASH]
    known = msgspec.structs.replace(
        slim.known,
        etag=slim.known.etag or etag.decode(),
        modified=slim.known.modified or modified.decode(),
        body=slim.known.body or _text(body),
        said=slim.known.said or _text(said),
    )
    return msgspec.structs.replace(slim, url=slim.url or url.decode(), at=slim.at + last, known=known)


def _plain(text: str) -> bytes:
    """Encodes a text for a column. Returns b"" if the text contains a character that separates values."""
    return b"" if any(mark in text for mark in "\n\0\1") else text.encode()


def _binary(text: str) -> bytes:
    """Returns the bytes of a hash. Returns b"" if the text is not a hash, or if all bytes are zero."""
    if len(text) != 2 * _HASH or text.strip("0123456789abcdef"):
        return b""
    found = bytes.fromhex(text)
    return found if any(found) else b""


def _text(found: bytes) -> str:
    return found.hex() if any(found) else ""

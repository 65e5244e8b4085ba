"""Bytes of answers: heads, content codings, and compression bombs."""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache
from http import HTTPStatus
from typing import Any

Headers = tuple[tuple[str, str], ...]
HTML = "text/html; charset=utf-8"
MIB64 = 64 * 2**20


def head(status: int, headers: Headers = (), length: int | None = None) -> bytes:
    """Returns the status line and headers, with Content-Length if a length is given."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Odd"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if length is not None and status not in (204, 304):
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(status: int, body: bytes, headers: Headers = (("Content-Type", HTML),)) -> bytes:
    """Returns a complete answer with a correct Content-Length."""
    return head(status, headers, len(body)) + body


def zipped(*pieces: bytes) -> bytes:
    """Returns one gzip member of the pieces, compressed as fast as possible. The inner pieces are constant
    text, so each of them is compressed only once.

    >>> zlib.decompress(zipped(b"head", b"stock", b"foot"), 31)
    b'headstockfoot'
    """
    lib = _zlib()
    if len(pieces) == 1:
        return bytes(lib.compress(pieces[0], 1, 31))
    crc = size = 0
    for piece in pieces:
        crc = lib.crc32(piece, crc)
        size += len(piece)
    inner = [_stock(piece) for piece in pieces[1:-1]]
    trailer = struct.pack("<II", crc, size & 0xFFFFFFFF)
    return b"".join((_GZIP, _deflated(pieces[0]), *inner, _deflated(pieces[-1]), _LAST, trailer))


_GZIP = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST = b"\x03\0"  # an empty last block


def _deflated(piece: bytes) -> bytes:
    """Returns deflated data that ends at a byte boundary and refers to nothing before its own start, so that
    pieces can be joined."""
    lib = _zlib()
    made = lib.compressobj(1, zlib.DEFLATED, -15)
    return bytes(made.compress(piece) + made.flush(lib.Z_FULL_FLUSH))


_stock = lru_cache(maxsize=256)(_deflated)


@lru_cache(maxsize=1)
def _zlib() -> Any:
    """Returns isal if it is installed, because it is three times as fast, otherwise zlib."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


@lru_cache(maxsize=8)
def bomb(kind: str) -> tuple[str, bytes]:
    """Returns the Content-Encoding and the body of a compression bomb: 64 MiB of zeros in few bytes. `gzip2`
    is compressed twice."""
    if kind == "br":
        import brotli

        return "br", brotli.compress(bytes(MIB64), quality=5)
    if kind == "zstd":
        import zstandard

        return "zstd", zstandard.ZstdCompressor().compress(bytes(MIB64))
    if kind == "deflate":
        return "deflate", zlib.compress(bytes(MIB64), 6)
    once = zlib.compress(bytes(MIB64), 6, 31)
    return ("gzip", once) if kind == "gzip" else ("gzip, gzip", zlib.compress(once, 9, 31))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)

"""Bytes of answers: heads, content codings, the bombs."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus

Headers = tuple[tuple[str, str], ...]
HTML = "text/html; charset=utf-8"
MIB64 = 64 * 2**20


def head(status: int, headers: Headers = (), length: int | None = None) -> bytes:
    """Status line and headers; Content-Length when a length is given."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Odd"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if length is not None and status not in (204, 304):
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(status: int, body: bytes, headers: Headers = (("Content-Type", HTML),)) -> bytes:
    """A whole answer with a true Content-Length."""
    return head(status, headers, len(body)) + body


def zipped(body: bytes) -> bytes:
    """The gzip form of a body, as fast as the machine can."""
    return _gzip()(body)


@lru_cache(maxsize=1)
def _gzip() -> Callable[[bytes], bytes]:
    try:
        from isal import isal_zlib
    except ImportError:
        return lambda body: zlib.compress(body, 1, 31)
    return lambda body: bytes(isal_zlib.compress(body, 1, 31))


@lru_cache(maxsize=8)
def bomb(kind: str) -> tuple[str, bytes]:
    """Content-Encoding and body of a bomb: 64 MiB of zeros in few bytes; `gzip2` is packed twice."""
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

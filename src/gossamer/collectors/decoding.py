"""Content-codings (RFC 9110 section 8.4) undone under a limit: a bomb of 102 bytes may hold 64 MiB, so output is counted."""

from __future__ import annotations

from isal import isal_zlib

GZIP, ZLIB, RAW = 31, 15, -15


class TooLarge(Exception):  # noqa: N818 - an expected outcome, caught by the collectors
    """The decoded body is larger than the limit."""


class BadCoding(Exception):  # noqa: N818 - as TooLarge
    """A coding we do not know, or several."""


def decode(body: bytes, coding: str, limit: int, *, cut: bool = False) -> bytes:
    """The body without its content-coding; what is broken ends where it breaks, what was not coded stays.

    Raises TooLarge beyond `limit` bytes (with `cut` the first `limit` bytes are the answer), BadCoding for several codings.
    """
    coding = coding.strip().lower()
    if coding in ("", "identity") or not body:
        return body
    if coding in ("gzip", "x-gzip"):
        out = _gzip(body, limit + 1) if body[:2] == b"\x1f\x8b" else body
    elif coding == "deflate":
        out = _deflate(body, limit + 1)
    elif coding == "br":
        out = _brotli(body, limit + 1)
    elif coding == "zstd":
        out = _zstd(body, limit + 1)
    else:
        raise BadCoding(coding)
    if len(out) > limit:
        if not cut:
            raise TooLarge
        out = out[:limit]
    return out


def _gzip(body: bytes, most: int) -> bytes:
    """One call for the usual single member; further members (RFC 1952 section 2.2) follow."""
    out = b""
    while True:
        undo = isal_zlib.decompressobj(GZIP)
        try:
            out += undo.decompress(body, most - len(out))
        except isal_zlib.error:
            return out or _lenient(body, most)
        body = undo.unused_data
        if not undo.eof or len(out) >= most or body[:2] != b"\x1f\x8b":
            return out


def _lenient(body: bytes, most: int) -> bytes:
    """A broken stream, byte by byte as far as it goes."""
    undo, out = isal_zlib.decompressobj(GZIP), b""
    try:
        for at in range(0, len(body), 256):
            out += undo.decompress(body[at : at + 256], most - len(out))
            if len(out) >= most:
                break
    except isal_zlib.error:
        pass
    return out


def _deflate(body: bytes, most: int) -> bytes:
    """zlib as the RFC has it, or the raw stream that some servers send."""
    for window in (ZLIB, RAW):
        undo = isal_zlib.decompressobj(window)
        try:
            return undo.decompress(body, most)
        except isal_zlib.error:
            continue
    return body


def _brotli(body: bytes, most: int) -> bytes:
    import brotli

    undo, out, size = brotli.Decompressor(), [], 0
    try:
        part = undo.process(body, output_buffer_limit=min(most, 1 << 20))
        while part or not undo.can_accept_more_data():
            out.append(part)
            size += len(part)
            if size >= most:
                break
            part = undo.process(b"", output_buffer_limit=min(most - size, 1 << 20))
    except brotli.error:
        if not out:
            return body
    return b"".join(out)


def _zstd(body: bytes, most: int) -> bytes:
    """Windows up to 8 MiB (RFC 9659)."""
    import zstandard

    out, size = [], 0
    try:
        with zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(body, read_across_frames=True) as reader:
            while size < most and (part := reader.read(min(most - size, 1 << 20))):
                out.append(part)
                size += len(part)
    except zstandard.ZstdError:
        if not out:
            return body
    return b"".join(out)

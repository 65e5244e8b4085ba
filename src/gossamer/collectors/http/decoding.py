"""Decodes content codings (RFC 9110 section 8.4) up to a limit. A body of 102 bytes may decode to 64 MiB, so
the decoded bytes are counted."""

from __future__ import annotations

from typing import cast

from isal import isal_zlib

GZIP, ZLIB, RAW = 31, 15, -15
BROKEN = cast(type[Exception], isal_zlib.error)  # the type stub declares `error` as an instance of the class
CHUNK_BYTES = 16 << 10
MAX_MEMBERS = 1000
MAX_CODINGS = 4
"""Maximum number of content codings of a body. Several codings are removed one after another, as in browsers."""


class TooLarge(Exception):
    """The decoded body is larger than the limit."""


class BadCoding(Exception):
    """A body has more than MAX_CODINGS content codings."""


def decode(body: bytes, coding: str, limit: int, *, cut: bool = False) -> bytes:
    """Returns the body without its content coding. If a compressed body is damaged, the part before the
    damage is decoded. A body that is not encoded, or whose coding is unknown (`utf-8`, `none`), is returned
    unchanged, as in browsers. If the decoded body has more than `limit` bytes, returns the first `limit`
    bytes if `cut` is true, and raises TooLarge if `cut` is false. Raises BadCoding if the body has more
    than MAX_CODINGS codings.

    >>> decode(b"plain", "gzip", 100)
    b'plain'
    """
    codings = [
        word
        for word in coding.lower().replace(" ", "").replace("\t", "").split(",")
        if word not in ("", "identity")
    ]
    if len(codings) > MAX_CODINGS:
        raise BadCoding(coding[:100])
    if not body or any(word not in _DECODERS for word in codings):
        return body
    for word in reversed(codings):
        body = _DECODERS[word](body, limit + 1)
        if len(body) > limit:
            if not cut:
                raise TooLarge
            body = body[:limit]
    return body


def _gzip(body: bytes, most: int) -> bytes:
    """Decodes gzip. A stream with a single member, which is the usual case, is decoded in one call."""
    if body[:2] != b"\x1f\x8b":
        return body
    undo = isal_zlib.decompressobj(GZIP)
    try:
        out: bytes = undo.decompress(body, most)
    except BROKEN:
        return bytes(_pieces(body, GZIP, most))
    if undo.eof and undo.unused_data[:2] == b"\x1f\x8b" and len(out) < most:
        return bytes(_pieces(body, GZIP, most))
    return out


def _deflate(body: bytes, most: int) -> bytes:
    """Decodes zlib as RFC 9110 requires, or the raw deflate stream that some servers send."""
    for window in (ZLIB, RAW):
        undo = isal_zlib.decompressobj(window)
        try:
            out: bytes = undo.decompress(body, most)
        except BROKEN:
            continue
        # An uncompressed body may look like the beginning of a raw deflate stream. Therefore, a body counts
        # as raw deflate only if the stream is complete, or if the output is at least as long as the body.
        return out if undo.eof or len(out) >= (min(most, len(body)) if window == RAW else 1) else body
    return bytes(_pieces(body, ZLIB, most) or _pieces(body, RAW, most)) or body


def _pieces(body: bytes, window: int, most: int) -> bytearray:
    """Decodes a stream piece by piece. A broken stream is decoded as far as possible. A gzip stream may have
    several members (RFC 1952 section 2.2), up to a limit. Takes linear time."""
    view, out, at = memoryview(body), bytearray(), 0
    for _ in range(MAX_MEMBERS):
        undo, began, start = isal_zlib.decompressobj(window), len(out), at
        while at < len(view) and not undo.eof and len(out) < most:
            try:
                out += undo.decompress(view[at : at + CHUNK_BYTES], most - len(out))
            except BROKEN:
                return _last(view[start:], at - start, window, out[:began], most)
            at += CHUNK_BYTES
        at = min(at, len(view)) - len(undo.unused_data)
        if window != GZIP or not undo.eof or len(out) >= most or bytes(view[at : at + 2]) != b"\x1f\x8b":
            break
    return out


def _last(view: memoryview, sound: int, window: int, out: bytearray, most: int, fine: int = 64) -> bytearray:
    """Decodes a damaged gzip member or deflate stream up to the damage. The first `sound` bytes are known to
    be intact. The following bytes are decoded in steps of `fine` bytes. If a step fails, its bytes are
    decoded one by one."""
    undo, at, before = isal_zlib.decompressobj(window), 0, len(out)
    try:
        while at < len(view) and len(out) < most and not undo.eof:
            step = min(CHUNK_BYTES, sound - at) if at < sound else fine
            out += undo.decompress(view[at : at + step], most - len(out))
            at += step
    except BROKEN:
        if fine > 1:
            return _last(view, at, window, out[:before], most, 1)
    return out


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
        whole = undo.is_finished()
    except brotli.error:
        whole = False
    return b"".join(out) if out or whole else body


def _zstd(body: bytes, most: int) -> bytes:
    """Decodes zstd with windows up to 8 MiB (RFC 9659)."""
    import zstandard

    out, size = [], 0
    try:
        with zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(
            body, read_across_frames=True
        ) as reader:
            while size < most and (part := reader.read(min(most - size, 1 << 20))):
                out.append(part)
                size += len(part)
    except zstandard.ZstdError:
        pass
    return b"".join(out) if out or body[:4] == b"\x28\xb5\x2f\xfd" else body


_DECODERS = {"gzip": _gzip, "x-gzip": _gzip, "deflate": _deflate, "br": _brotli, "zstd": _zstd}

"""Detects the media type of bytes, and the size of a picture. The functions are pure."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from gossamer.model.content_type import essence

Body = bytes | bytearray | memoryview | str | None
"""Any type of body that callers may pass."""
HEAD_BYTES = 4096
"""The number of bytes from which a type is detected."""
UNKNOWN = "application/octet-stream"
_SIGNS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\1\0", "image/x-icon"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (0, b"OggS", "application/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"PK\3\4", "application/zip"),
    (0, b"PK\5\6", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\7", "application/vnd.rar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"wOF2", "font/woff2"),
    (0, b"wOFF", "font/woff"),
    (0, b"%!PS", "application/postscript"),
    (0, b"{\\rtf", "text/rtf"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"MZ", "application/x-msdownload"),
)
_RIFF = (8,)
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
}
_WITHIN: dict[str, tuple[str, ...]] = {
    "application/zip": (
        "application/vnd.",
        "application/epub+zip",
        "application/java-archive",
        "application/x-zip",
    ),
    "application/x-ole-storage": ("application/msword", "application/vnd.ms-"),
    "application/ogg": ("audio/ogg", "video/ogg"),
    "video/webm": ("audio/webm", "video/x-matroska"),
    "video/mp4": ("audio/mp4", "audio/x-m4a"),
    "application/gzip": ("application/x-gzip", "application/x-tar"),
    "text/plain": (
        "text/",
        "application/javascript",
        "application/x-ndjson",
        "application/x-yaml",
        "application/sql",
    ),
    "application/json": ("application/",),
    "application/xml": ("text/xml", "application/", "image/svg+xml"),
}
"""Maps each container format to the prefixes of the media types that use the format. Files of all media types
with the same container format have the same first bytes, so the Content-Type header determines the type."""
_HTML = re.compile(
    rb"<(?:!doctype html|html|head|body|script|title|meta|table|div|p|br|a|h1|iframe|style)[\s>/]",
    re.IGNORECASE,
)


def to_bytes(body: Body) -> bytes:
    """Returns a body as bytes. Text becomes UTF-8 with a byte order mark, so that no other encoding is
    guessed. For None, the result is empty.

    >>> to_bytes("ä"), to_bytes(None)
    (b'\\xef\\xbb\\xbf\\xc3\\xa4', b'')
    """
    if isinstance(body, str):
        return b"\xef\xbb\xbf" + body.encode("utf-8", "replace")
    return bytes(body) if body else b""


def media_type(head: bytes, declared: str | None = None) -> str:
    """Returns the media type of a file, detected from its first bytes. `declared` (the Content-Type) is used
    only if the bytes do not determine the type. Accepts any bytes. An unknown type is
    `application/octet-stream`.

    >>> media_type(b"%PDF-1.7", "text/html"), media_type(b'{"a": 1}', "application/geo+json"), media_type(b"<html>", "image/png")
    ('application/pdf', 'application/geo+json', 'text/html')
    """
    said = essence(declared)
    shown = _shown(head[:HEAD_BYTES])
    if not shown:  # unknown format: the header counts, unless its type would have been detected
        known = said in _SIGNED or said.startswith(("image/", "text/")) or "/" not in said
        return UNKNOWN if known else said
    return (
        said
        if said != shown and said.endswith("+xml") and shown == "application/xml"
        else _named(said, shown)
    )


def _named(said: str, shown: str) -> str:
    if shown == "application/json" and not (said.endswith("json") or said == "application/javascript"):
        return shown
    return (
        said
        if said.startswith(_WITHIN.get(shown, ())) and said not in _SIGNED and said != "text/html"
        else shown
    )


def _shown(head: bytes) -> str:
    """Returns the media type that the bytes indicate, or '' if the bytes indicate none."""
    for at, sign, name in _SIGNS:
        if head[at : at + len(sign)] == sign and (at not in _RIFF or head[:4] == b"RIFF"):
            return name
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if b"%PDF-" in head[:1024]:
        return "application/pdf"
    if head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"):
        return "audio/mpeg"
    if head[:3] == b"\xef\xbb\xbf":
        head = head[3:]
    elif head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "text/plain"
    text = head.lstrip(b" \t\r\n")
    if (
        not text
        or b"\0" in head
        or any(sign in head for sign in (b"\1", b"\2", b"\3", b"\4", b"\5", b"\6", b"\x0e", b"\x0f"))
    ):
        return ""
    if text[:1] == b"<":
        return _marked_up(text)
    return (
        "application/json"
        if text[:1] in (b"{", b"[") and re.match(rb'[{\[]\s*(["{\[\d\]}tfn-]|$)', text)
        else "text/plain"
    )


def _marked_up(text: bytes) -> str:
    if _HTML.match(text) or (text[:4] == b"<!--" and _HTML.search(text)):
        return "text/html"
    if re.search(rb"<svg[\s>]", text):
        return "image/svg+xml"
    if text[:5] == b"<?xml":
        return "text/html" if re.search(rb"<html[\s>]", text, re.IGNORECASE) else "application/xml"
    return "application/xml" if re.match(rb"<[A-Za-z_][\w.:-]*[\s>/]", text) else "text/plain"


_SIGNED = frozenset(
    {name for _, _, name in _SIGNS} | set(_BRANDS.values()) | {"application/pdf", "text/html", "image/jpg"}
) - {"application/zip"}


Read = Callable[[int, int], bytes]
"""The type of a function that reads a file. A call `read(offset, size)` returns `size` bytes from the offset
on, or fewer bytes at the end of the file."""


def picture_size(read: Read, kind: str) -> tuple[int, int] | None:
    """Returns the (width, height) of a picture in pixels from its header, or None if the header contains no
    size. Accepts any bytes.

    >>> picture_size(lambda at, n: b"GIF89a\\x02\\x00\\x01\\x00"[at : at + n], "image/gif")
    (2, 1)
    """
    measure = _MEASURES.get(kind)
    try:
        found = None if measure is None else measure(read)
    except (struct.error, IndexError):
        return None
    return found if found and 0 < found[0] < 1 << 31 and 0 < found[1] < 1 << 31 else None


def _png(read: Read) -> tuple[int, int]:
    width, height = struct.unpack(">II", read(16, 8))
    return width, height


def _gif(read: Read) -> tuple[int, int]:
    width, height = struct.unpack("<HH", read(6, 4))
    return width, height


def _bmp(read: Read) -> tuple[int, int]:
    width, height = struct.unpack("<ii", read(18, 8))
    return width, abs(height)


def _jpeg(read: Read) -> tuple[int, int] | None:
    at = 2
    for _ in range(1000):  # segments
        mark, kind, size = struct.unpack(">BBH", read(at, 4))
        if mark != 0xFF:
            return None
        if kind == 0xFF:  # fill
            at += 1
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", read(at + 5, 4))
            return width, height
        elif kind in (0xD9, 0xDA):
            return None
        else:
            at += 2 + size
    return None


def _webp(read: Read) -> tuple[int, int] | None:
    head = read(12, 18)
    if head[:4] == b"VP8X":
        return 1 + int.from_bytes(head[12:15], "little"), 1 + int.from_bytes(head[15:18], "little")
    if head[:4] == b"VP8L":
        bits = int.from_bytes(head[9:13], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if head[:4] == b"VP8 ":
        width, height = struct.unpack("<HH", head[14:18])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _boxes(read: Read) -> tuple[int, int] | None:
    """Returns the largest size (`ispe`) among the properties of an AVIF or HEIC picture."""
    head = read(0, 64 << 10)
    sizes = [
        struct.unpack(">II", head[one.end() + 4 : one.end() + 12])
        for one in re.finditer(rb"\0\0\0\x14ispe", head)
    ]
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


_MEASURES: dict[str, Callable[[Read], tuple[int, int] | None]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/bmp": _bmp,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
    "image/avif": _boxes,
    "image/heic": _boxes,
    "image/heif": _boxes,
}

"""The text of a sitemap or feed: out of its gzip, within bounds, in its encoding."""

from __future__ import annotations

import re
import zlib
from typing import Final

LIMIT: Final = 50 * 1024 * 1024
"""Decoded bytes that are read of one sitemap (sitemaps.org: 50 MB)."""
_MEMBERS: Final = 100
"""Members of one gzip file."""
_ENCODING: Final = re.compile(rb"""<\?xml[^<>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:\-]{1,40})["']""")
_TEXT_ENCODING: Final = re.compile(
    r"utf-?8|us-ascii|ascii|iso-?8859-\d+|latin-?1|windows-\d+|cp\d+|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(?:jp|kr)|shift[_-]jis|sjis",
    re.IGNORECASE,
)


def text_of(body: bytes) -> str:
    """The text of a body, without what comes before its first character; any bytes, never raises."""
    return _decoded(_unzipped(body))


def _unzipped(body: bytes) -> bytes:
    """The body out of its gzip (known by its first bytes), once, at most LIMIT; of a broken one what is
    whole."""
    if not body.startswith(b"\x1f\x8b"):
        return body[:LIMIT]
    parts: list[bytes] = []
    room, at = LIMIT, 0
    for _ in range(_MEMBERS):
        unzip = zlib.decompressobj(31)
        while room > 0 and at < len(body) and not unzip.eof:
            chunk = body[at : at + 65536]
            try:
                part = unzip.decompress(chunk, room)
            except zlib.error:
                return b"".join(parts)
            parts.append(part)
            room -= len(part)
            at += len(chunk) - len(unzip.unused_data)
        if room <= 0 or body[at : at + 2] != b"\x1f\x8b":
            break
    return b"".join(parts)


def _decoded(body: bytes) -> str:
    """Text by byte order mark, look of UTF-16 or XML declaration, else UTF-8; what does not fit is U+FFFD."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif len(body) > 1 and (body[0] == 0) != (body[1] == 0):
        encoding = "utf-16-be" if body[0] == 0 else "utf-16-le"
    else:
        declared = _ENCODING.search(body, 0, 1024)
        name = declared[1].decode("ascii") if declared else "utf-8"
        encoding = (
            name if _TEXT_ENCODING.fullmatch(name) and not body.startswith(b"\xef\xbb\xbf") else "utf-8"
        )
    try:
        text = body.decode(encoding, "replace")
    except LookupError:
        text = body.decode("utf-8", "replace")
    return text.lstrip("\ufeff\0 \t\r\n")

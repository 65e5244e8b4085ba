"""Parses Content-Type and determines the type of a page, by the WHATWG MIME Sniffing Standard. All consumers
of media types use this module, so that one header has one meaning. The functions are pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from gossamer.model.lazy_pattern import lazy_pattern

HTML, XHTML = "text/html", "application/xhtml+xml"
PLAIN, BINARY = "text/plain", "application/octet-stream"
HEAD_BYTES: Final = 1445
"""Number of bytes from which the type of a page is determined (section 5.2, "resource header")."""
UNKNOWN: Final = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
"""Types that say nothing. The bytes determine the type of such a page (section 7)."""
_CHARS = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TYPE = lazy_pattern(rf"({_CHARS}/{_CHARS})[\t\n\r ]*(?:;|\Z)")
_PARAMETER = lazy_pattern(rf'[\t\n\r ]*({_CHARS})=(?:"((?:[^"\\]|\\.)*)(?:"[^;]*|\\?\Z)|([^;]*))', re.DOTALL)
_SKIPPED = lazy_pattern(r'(?:[^;="]|"(?:[^"\\]|\\.)*"?)*=?[^;]*')
_LOOSE_CHARSET = lazy_pattern(r""";\s*charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_QUOTED_OR_COMMA = lazy_pattern(r'"(?:[^"\\]|\\.)*"?|,', re.DOTALL)
_VALUE = lazy_pattern(r"[\t\x20-\x7e\x80-\xff]*")


def parse(text: str) -> tuple[str, dict[str, str]] | None:
    """Returns the essence of one media type, in lower case, and its parameters. Returns None for text that is
    no media type ("parse a MIME type").

    >>> parse('Text/HTML ; charset="utf-8"'), parse("html")
    (('text/html', {'charset': 'utf-8'}), None)
    """
    text = text.strip("\t\n\r ")
    found = _TYPE.match(text)
    if found is None:
        return None
    parameters: dict[str, str] = {}
    at = found.end()
    while at < len(text):
        if pair := _PARAMETER.match(text, at):
            quoted = pair[2]
            value = pair[3].rstrip("\t\n\r ") if quoted is None else _unescaped(quoted)
            if _VALUE.fullmatch(value) and (value or quoted is not None):
                parameters.setdefault(pair[1].lower(), value)
            at = pair.end() + 1
        else:  # a parameter without a valid name
            skipped = _SKIPPED.match(text, at)
            assert skipped
            at = skipped.end() + 1
    return found[1].lower(), parameters


def _unescaped(quoted: str) -> str:
    return quoted if "\\" not in quoted else _ESCAPED.sub(r"\1", quoted)


_ESCAPED = lazy_pattern(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=512)
def _extracted(value: str) -> tuple[str, str]:
    """Returns the essence and the charset that a Content-Type header names, each '' if it is missing. A header
    may contain several types, and several headers are joined by commas ("extract a MIME type" of the Fetch
    Standard): the last valid type counts."""
    essence = charset = ""
    for part in _parts(value[:8192]):
        found = parse(part)
        if found is None or found[0] == "*/*":
            continue
        if found[0] != essence:
            charset = ""
        essence, said = found[0], found[1].get("charset", "").strip("'")
        if not said and (loose := _LOOSE_CHARSET.search(part)):
            said = loose[1]  # `charset = x`, which browsers accept
        charset = said or charset
    return essence, charset


def _parts(value: str) -> list[str]:
    """Splits a header at its commas outside of quoted strings."""
    if "," not in value:
        return [value]
    parts, begin = [], 0
    for found in _QUOTED_OR_COMMA.finditer(value):
        if found[0] == ",":
            parts.append(value[begin : found.start()])
            begin = found.end()
    return [*parts, value[begin:]]


def essence(value: str | None) -> str:
    """Returns the media type of a Content-Type header in lower case, without parameters. Returns '' if the
    header is missing or names no type.

    >>> essence("text/html,text/html; charset=utf-8"), essence("Image/PNG"), essence("html")
    ('text/html', 'image/png', '')
    """
    return _extracted(value)[0] if value else ""


def charset(value: str | None) -> str:
    """Returns the charset label of a Content-Type header as written, or ''.

    >>> charset("text/html; charset=latin1, text/html"), charset("text/html")
    ('latin1', '')
    """
    return _extracted(value)[1] if value else ""


def is_xml(kind: str) -> bool:
    """Returns whether a media type is an XML type.

    >>> is_xml("application/rss+xml"), is_xml("text/xml"), is_xml("text/html")
    (True, True, False)
    """
    return kind.endswith("+xml") or kind in ("text/xml", "application/xml")


_BLANKS = b"\t\n\x0c\r "
_BINARY_BYTE = lazy_pattern(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_APACHE = frozenset(
    {
        "text/plain",
        "text/plain; charset=ISO-8859-1",
        "text/plain; charset=iso-8859-1",
        "text/plain; charset=UTF-8",
    }
)
"""Headers that old servers send with any file (section 4.6). The bytes decide whether it is text."""
_HTML_START = lazy_pattern(
    rb"[\t\n\x0c\r ]*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)[ >]",
    re.IGNORECASE,
)
_XML_START = lazy_pattern(rb"[\t\n\x0c\r ]*<\?xml")
_FEED = lazy_pattern(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*<(?:(?:!--(?:(?!-->)[\0-\xff])*-->|\?(?:(?!\?>)[\0-\xff])*\?>|![^>]*>)[\t\n\x0c\r ]*<)*"
    rb"(rss|feed|rdf:RDF)"
)
_SIGNS: Final[tuple[tuple[int, bytes, str], ...]] = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"\0\0\1\0", "image/x-icon"),
    (0, b"\0\0\2\0", "image/x-icon"),
    (0, b"BM", "image/bmp"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP", "image/webp"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (8, b"AIFF", "audio/aiff"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS\0", "application/ogg"),
    (0, b"MThd\0\0\0\6", "audio/midi"),
    (8, b"AVI ", "video/avi"),
    (8, b"WAVE", "audio/wave"),
    (0, b"\x1f\x8b\x08", "application/x-gzip"),
    (0, b"PK\3\4", "application/zip"),
    (0, b"Rar \x1a\7\0", "application/x-rar-compressed"),
    (0, b"Rar!\x1a\7\0", "application/x-rar-compressed"),
)
"""Rows of the tables of sections 6.1, 6.2, 6.4 and 7.1: offset, bytes, type."""
_CONTAINERS: Final = {
    "image/webp": b"RIFF",
    "audio/aiff": b"FORM",
    "video/avi": b"RIFF",
    "audio/wave": b"RIFF",
}


def _signed(head: bytes) -> str:
    """Returns the type whose pattern the bytes match, or ''."""
    for at, sign, kind in _SIGNS:
        if head.startswith(sign, at) and (not at or head.startswith(_CONTAINERS[kind])):
            return kind
    return _mp4(head) or _webm(head) or _mp3(head)


def _mp4(head: bytes) -> str:
    """Matches the signature of MP4 (section 6.2.1)."""
    size = int.from_bytes(head[:4], "big")
    if len(head) < 12 or len(head) < size or size % 4 or head[4:8] != b"ftyp":
        return ""
    brands = [head[8:11], *(head[at : at + 3] for at in range(16, size, 4))]
    return "video/mp4" if b"mp4" in brands else ""


def _webm(head: bytes) -> str:
    """Matches the signature of WebM (section 6.2.2)."""
    if head[:4] != b"\x1aE\xdf\xa3":
        return ""
    at = head.find(b"\x42\x82", 4, 38)
    return "video/webm" if at >= 0 and b"webm" in head[at + 3 : at + 15] else ""


_RATES = (
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
)
"""Bit rates of layer III in kbit/s, of MPEG 2 and MPEG 1."""
_SAMPLES = (44100, 48000, 32000)


def _mp3(head: bytes) -> str:
    """Matches MP3 without ID3 (section 6.2.3): two frames of layer III follow one another."""
    size = _frame(head[:4])
    return "audio/mpeg" if size and len(head) >= size + 4 and _frame(head[size : size + 4]) else ""


def _frame(bits: bytes) -> int:
    """Returns the size of the MP3 frame that begins with these 4 bytes, or 0."""
    if len(bits) < 4 or bits[0] != 0xFF or bits[1] & 0xE0 != 0xE0:
        return 0
    layer, rate, sample = 4 - (bits[1] >> 1 & 3), bits[2] >> 4, bits[2] >> 2 & 3
    if layer != 3 or rate == 15 or sample == 3:
        return 0
    version = bits[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    of_1 = version == 3
    samples = _SAMPLES[sample] >> (0 if of_1 else 1 if version == 2 else 2)
    return _RATES[of_1][rate] * (144_000 if of_1 else 72_000) // samples + (bits[2] >> 1 & 1)


def _text_or_binary(head: bytes) -> str:
    """The rules for distinguishing text from binary (section 7.2)."""
    if head[:2] in (b"\xfe\xff", b"\xff\xfe") or head[:3] == b"\xef\xbb\xbf":
        return PLAIN
    return BINARY if _BINARY_BYTE.search(head) else PLAIN


_RSS_1 = (b"http://purl.org/rss/1.0/", b"http://www.w3.org/1999/02/22-rdf-syntax-ns#")


def _feed(root: bytes, head: bytes) -> str:
    """Returns the type of a resource that is declared as HTML and has the root element of a feed (section
    7.3). RSS 1.0 is recognized by its namespaces."""
    if root == b"rdf:RDF":
        return "application/rss+xml" if all(one in head for one in _RSS_1) else HTML
    return "application/rss+xml" if root == b"rss" else "application/atom+xml"


def identify(head: bytes) -> str:
    """Returns the type of a resource whose type is not declared ("rules for identifying an unknown MIME
    type"). `head`: its first HEAD_BYTES bytes.

    >>> identify(b" <!DOCTYPE html>"), identify(b"GIF89a"), identify(b"hello"), identify(b"\\0")
    ('text/html', 'image/gif', 'text/plain', 'application/octet-stream')
    """
    head = head[:HEAD_BYTES]
    if _HTML_START.match(head):
        return HTML
    if _XML_START.match(head):
        return "text/xml"
    if head[:2] in (b"\xfe\xff", b"\xff\xfe") or head[:3] == b"\xef\xbb\xbf":
        return PLAIN
    return _signed(head) or _text_or_binary(head)


_HTML_STARTS = (b"<!D", b"<!d", b"<ht", b"<HT")
"""How almost all HTML pages begin, and no feed does."""


def page_type(value: str | None, body: bytes) -> str:
    """Returns the type of a page ("MIME type sniffing algorithm"): a media type in lower case, without
    parameters. `value`: the Content-Type header or, if there are several, their values joined by commas. `body`:
    the decoded body, or its beginning.

    If `value` is None, nothing is known about the body, and a text counts as HTML.

    >>> page_type("text/html, text/html", b"<p>"), page_type("html", b"<p>"), page_type("text/html", b"<?xml?><rss>")
    ('text/html', 'text/html', 'application/rss+xml')
    """
    kind = _extracted(value)[0] if value else ""
    if kind == HTML:
        if body[:3] in _HTML_STARTS:
            return HTML
        found = _FEED.match(body, 0, HEAD_BYTES)
        return HTML if found is None else _feed(found[1], body[:HEAD_BYTES])
    if kind in UNKNOWN:
        kind = identify(body[:HEAD_BYTES])
        if value is None:
            return HTML if kind in (PLAIN, BINARY) else kind
        return kind
    if value in _APACHE:
        return _text_or_binary(body[:HEAD_BYTES])
    if kind.startswith(("image/", "audio/", "video/")) and not is_xml(kind):
        shown = _signed(body[:HEAD_BYTES])
        return shown if shown[:6] == kind[:6] or shown == "application/ogg" else kind
    return kind

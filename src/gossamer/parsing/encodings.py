"""Detects the encoding of a body as browsers do (HTML Standard, 13.2.3.2; Encoding Standard), and decodes it.
Also maps the names of encodings on the web (Encoding Standard, 4.2) to Python codecs.

The first of these sources that names an encoding is used: the byte order mark, the charset of Content-Type, a
declaration in the first 1,024 bytes (`<meta>` or XML declaration), a later `<meta>`, a guess. The guess is
UTF-8 if the bytes are valid UTF-8 and not only ASCII, windows-1252 if they are ASCII, otherwise the encoding
that chardet detects.
"""

from __future__ import annotations

import codecs
from functools import cache, lru_cache

from gossamer.data import sections
from gossamer.model.content_type import UNKNOWN, charset, essence, is_xml
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.model.media_types import Body, to_bytes


def named(label: str) -> str | None:
    """Returns the encoding that a label names, in lower case, or None for an unknown label ("get an encoding"
    in the Encoding Standard).

    >>> named(" Latin1 "), named("gb2312"), named("nonsense")
    ('windows-1252', 'gbk', None)
    """
    return _labels().get(label.strip("\t\n\f\r ").lower()) if len(label) < 100 else None


@cache
def codec(name: str) -> str:
    """Returns the Python codec of an encoding. Returns "" for `replacement` and `x-user-defined`, which have
    no codec.

    >>> codec("shift_jis"), codec("ibm855")
    ('cp932', 'cp855')
    """
    return BEYOND[name] if name in BEYOND else _rows()[name][0].strip("-")


@cache
def output_codec(name: str) -> str:
    """Returns the Python codec in which a page with the encoding `name` encodes its queries and forms ("get an
    output encoding"). The result is UTF-8 for encodings that cannot encode them.

    >>> output_codec("gbk"), output_codec("utf-16le")
    ('gbk', 'utf-8')
    """
    if name.startswith(("utf-16", "utf-32")) or name == "replacement":
        return "utf-8"
    return "gbk" if name == "gbk" else codec(name) or "utf-8"


def display_name(name: str) -> str:
    """Returns the name of an encoding in the letter case of the Encoding Standard.

    >>> display_name("utf-8"), display_name("shift_jis"), display_name("windows-1251")
    ('UTF-8', 'Shift_JIS', 'windows-1251')
    """
    kept = name.startswith(("windows-", "x-", "mac")) or name == "gb18030"
    return {"shift_jis": "Shift_JIS", "big5": "Big5"}.get(name, name if kept else name.upper())


BEYOND = {
    "ibm855": "cp855",
    "johab": "johab",
    "utf-32le": "utf-32-le",
    "utf-32be": "utf-32-be",
    "utf-32": "utf-32",
}
"""Encodings that are not in the Encoding Standard, with their codecs. No declaration names them, but a page
that declares no encoding may be detected to have one."""


@lru_cache(maxsize=1)
def _rows() -> dict[str, list[str]]:
    words = (line.split() for line in sections("encodings")["encodings"])
    return {name: rest for name, *rest in words}


@lru_cache(maxsize=1)
def _labels() -> dict[str, str]:
    return {label: name for name, (_, *more) in _rows().items() for label in (name, *more)}


PRESCAN_BYTES = 1024
"""Number of bytes at the start of a body that are searched for a declaration."""
LATE_META_BYTES = 65_536
"""Number of bytes at the start of a body that are searched for a `<meta>` if the first PRESCAN_BYTES declare
no encoding. A browser also uses any `<meta>` that its parser finds before the end of the head."""

_XML = lazy_pattern(
    rb"""<\?xml(?>(?:(?!encoding)[^>])*)encoding[\0-\x20]*=[\0-\x20]*(?:"([^">\0-\x20]+)"|'([^'>\0-\x20]+)')[^>]*>"""
)
_NAME = lazy_pattern(rb"[\t\n\f\r /]*(=?[^\t\n\f\r />=]*)")
_EQUALS = lazy_pattern(rb"[\t\n\f\r ]*=[\t\n\f\r ]*")
_WORD = lazy_pattern(rb"[\t\n\f\r >]")
_META = lazy_pattern(rb"<meta[\t\n\f\r /]")
_TAG = lazy_pattern(rb"/?[a-z][^\t\n\f\r >]*")
_IN_CONTENT = lazy_pattern(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r ;]*)|())"""
)
_RAW = (b"script", b"style", b"textarea", b"title", b"xmp", b"noframes", b"iframe", b"noembed")


def encoding(body: Body, content_type: str | None = None) -> str:
    """Returns the encoding of a body, as a lower-case name from the Encoding Standard. Never raises.

    Searches at most the first 64 KiB for a declaration. A guess is based on at most the first 1 MiB.

    >>> encoding(b'<meta charset="latin2">'), encoding(b"<p>", "text/html; charset=utf8"), encoding("ä".encode())
    ('iso-8859-2', 'utf-8', 'utf-8')
    """
    body = to_bytes(body)
    if found := _mark(body):
        return found[0]
    if content_type and (said := charset(content_type)) and (name := named(said)):
        return name
    kind = essence(content_type)
    if is_xml(kind) or (kind in UNKNOWN and body[:5] == b"<?xml"):
        return _xml(body) or (_guess(body[: 1 << 20]) if _XML.match(body[:PRESCAN_BYTES]) else "utf-8")
    if kind.endswith(("/json", "+json", "javascript")):
        return "utf-8"
    if kind in UNKNOWN or "html" in kind:
        declared = _prescan(body[:PRESCAN_BYTES]) or _xml(body)
        if declared is None and len(body) > PRESCAN_BYTES:
            declared = _meta(body[:LATE_META_BYTES], late=True)
        if declared:
            return declared
    return _guess(body[: 1 << 20])


def decode(body: Body, content_type: str | None = None) -> str:
    """Returns the text of a body without its byte order mark. Bytes that are invalid in the encoding become
    U+FFFD. Never raises.

    >>> decode(b"caf\\xe9", "text/html; charset=iso-8859-1")
    'café'
    """
    body = to_bytes(body)
    name = encoding(body, content_type)
    if found := _mark(body):
        body = body[found[1] :]
    if name == "replacement":
        return "\ufffd" if body else ""
    if name == "x-user-defined":
        return body.decode("latin-1").translate({byte: 0xF700 + byte for byte in range(0x80, 0x100)})
    reader = codec(name)
    try:
        return body.decode(reader)
    except UnicodeDecodeError:
        if name.startswith("windows-"):
            # Python's codecs leave some bytes from 80 to 9F undefined. The Encoding Standard reads these
            # bytes as C1 controls.
            return "".join(map(_single(reader).__getitem__, body))
        if reader == "gb18030":
            codecs.register_error("gossamer.euro", _euro)
            return body.decode(reader, "gossamer.euro")
        return body.decode(reader, "replace")


def _euro(error: UnicodeError) -> tuple[str | bytes, int]:
    """Handles a decoding error of GBK. In the Encoding Standard, byte 80 of GBK is the euro sign, which
    Python's codec lacks."""
    if isinstance(error, UnicodeDecodeError) and error.object[error.start] == 0x80:
        return "€", error.start + 1
    return codecs.replace_errors(error)


def _mark(body: bytes) -> tuple[str, int] | None:
    """Returns the encoding that the byte order mark of a body indicates, and the length of the mark in bytes.
    Returns None if the body has no byte order mark."""
    if body[:3] == b"\xef\xbb\xbf":
        return "utf-8", 3
    if body[:2] == b"\xfe\xff":
        return "utf-16be", 2
    if body[:2] == b"\xff\xfe":
        return "utf-16le", 2
    return None


def _xml(body: bytes) -> str | None:
    """Returns the encoding that an XML declaration names ("get an XML encoding"), or None. UTF-16 is
    recognized by the zero bytes of its first characters."""
    if body[:6] == b"<\0?\0x\0":
        return "utf-16le"
    if body[:6] == b"\0<\0?\0x":
        return "utf-16be"
    found = _XML.match(body[:PRESCAN_BYTES])
    name = named((found[1] or found[2]).decode("latin-1")) if found else None
    # The declaration was read as ASCII, so the body is not in UTF-16.
    return "utf-8" if name in ("utf-16le", "utf-16be") else name


DETECTED_BYTES = 65_536
"""Number of bytes from which the encoding of a page that declares none is detected. Detection takes at most
30 ms."""
MIN_CONFIDENCE = 0.12
"""The confidence of chardet below which a page counts as windows-1252. Of 492 pages and short texts in
windows-1252, the highest confidence for another encoding was 0.10."""
_UNLIKELY = [f"iso-8859-{part}" for part in (3, 4, 10, 13, 14, 15, 16)]
"""Encodings that are rare on the web, and that differ from windows-1252 in a few letters."""
_ALIKE = {
    "shift_jis_2004": "shift_jis",
    "euc_jis_2004": "euc-jp",
    "euc_jisx0213": "euc-jp",
    "ascii": "windows-1252",
}


def _guess(body: bytes) -> str:
    """Returns UTF-8 for valid UTF-8 that is not only ASCII, windows-1252 for ASCII, otherwise the encoding that
    is detected. Zero bytes and escape sequences mean that ASCII bytes may encode other characters."""
    if body.isascii():
        return (
            _detected(body[:DETECTED_BYTES])
            if b"\0" in body[:PRESCAN_BYTES] or b"\x1b$" in body
            else "windows-1252"
        )
    try:
        # final=False, because the body may end in the middle of a character
        _, whole = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return _detected(body[:DETECTED_BYTES])
    return "windows-1252" if body[:whole].isascii() else "utf-8"


@lru_cache(maxsize=16)
def _detected(body: bytes) -> str:
    """Returns the encoding of a body that declares none, detected from its bytes, or windows-1252."""
    import chardet  # only such a page needs the statistics of languages, which take 0.3 s to load

    found = chardet.detect(body, exclude_encodings=_UNLIKELY, compat_names=False)
    reader = found["encoding"]
    if reader is None or found["confidence"] < MIN_CONFIDENCE:
        return "windows-1252"
    name = named(reader) or _ALIKE.get(reader)
    return name or _names_of_codecs().get(codecs.lookup(reader).name, "windows-1252")


@lru_cache(maxsize=1)
def _names_of_codecs() -> dict[str, str]:
    rows = {name: codec(name) for name in [*_rows(), *BEYOND]}
    # the last name of a codec is not the usual one: gbk has the codec of gb18030
    return {codecs.lookup(reader).name: name for name, reader in reversed(rows.items()) if reader}


def _single(reader: str) -> list[str]:
    table = [bytes((byte,)).decode(reader, "replace") for byte in range(256)]
    return [chr(i) if char == "\ufffd" and 0x80 <= i < 0xA0 else char for i, char in enumerate(table)]


def _prescan(head: bytes) -> str | None:
    """Returns the encoding that the first bytes declare, or None. Results are cached by the bytes up to the
    end of the declaration, because most pages of a site begin with the same bytes."""
    head = head.lower()
    if (at := head.find(b"charset")) < 0:
        return None
    end = head.find(b">", at) + 1
    return (_begun(head[:end]) if end else None) or _meta(head, late=False)


@lru_cache(maxsize=256)
def _begun(head: bytes) -> str | None:
    return _meta(head, late=False)


def _meta(head: bytes, late: bool) -> str | None:
    """Returns the first known encoding that a `<meta>` declares, or None (the prescan of the HTML Standard).

    If `late` is set, text that looks like a tag inside of scripts and similar elements is ignored, as in an
    HTML parser.
    """
    head = head.lower()
    # A tag after the last `<meta` or after the last `charset` cannot declare an encoding.
    last = min(head.rfind(b"<meta"), head.rfind(b"charset"))
    at = 0
    while 0 <= (at := head.find(b"<", at)) <= last:
        if head.startswith(b"<!--", at):
            at = head.find(b"-->", at + 2)
        elif tag := _TAG.match(head, at + 1):
            meta = _META.match(head, at)
            pairs, at = _attributes(head, meta.end() if meta else tag.end())
            if meta and at >= 0 and (name := _declared(pairs)):
                return name
            if late and at >= 0 and tag[0] in _RAW:
                at = head.find(b"</" + tag[0], at)
        elif head[at + 1 : at + 2] in (b"!", b"/", b"?"):
            at = head.find(b">", at)
        if at < 0:
            return None
        at += 1
    return None


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Returns the attributes of a tag ("get an attribute") and the position of its `>`. The position is -1 if
    the bytes contain no such `>`."""
    found: dict[bytes, bytes] = {}
    while True:
        name = _NAME.match(head, at)
        assert name
        at = name.end()
        if at >= len(head):
            return found, -1
        if not name[1]:
            return found, at
        value = b""
        if equals := _EQUALS.match(head, at):
            quote = head[equals.end() : equals.end() + 1]
            if quote in (b'"', b"'"):
                at = head.find(quote, equals.end() + 1)
                if at < 0:
                    return found, -1
                value = head[equals.end() + 1 : at]
                at += 1
            else:
                word = _WORD.search(head, equals.end())
                at = word.start() if word else len(head)
                value = head[equals.end() : at]
        found.setdefault(name[1], value)


def _declared(pairs: dict[bytes, bytes]) -> str | None:
    """Returns the encoding that a `<meta>` with these attributes declares, or None."""
    label = pairs.get(b"charset")
    if label is None and pairs.get(b"http-equiv") == b"content-type":
        said = _IN_CONTENT.search(pairs.get(b"content", b""))
        label = said and (said[1] or said[2] or said[3])
    name = named(label.decode("latin-1")) if label else None
    if name in ("utf-16le", "utf-16be"):
        return "utf-8"  # the tag was read as ASCII, so the body is not in UTF-16
    return "windows-1252" if name == "x-user-defined" else name

"""Compares the character encodings that a page declares with one another and with the page's bytes."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import Message
from typing import Any, Final

from gossamer.parsing.encodings import decode, encoding, named

_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_MANY_BYTES: Final = frozenset(("gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr"))


def charset_faults(tree: Any, body: bytes, content_type: str) -> Iterator[str]:
    """Yields the reasons why the characters of a page are read wrongly, or may be. `body`: the bytes that the
    server sent."""
    declared: dict[str, str] = {}
    for mark, name in _MARKS:
        if body.startswith(mark):
            declared["the byte order mark"] = name
            break
    labels = (("the header", _header_label(content_type)), ("the page", _meta_label(tree)))
    for where, label in labels:
        if not label:
            continue
        found = named(label)
        if found is None:
            yield f"{where} declares {label[:40]!r}, which is no encoding of the web"
        else:
            declared[where] = found
    (place, used), *others = declared.items() or [("", "")]
    for where, name in others:
        if name != used:
            yield f"{place} declares {used}, {where} declares {name}: browsers use {used}"
    if used and not body.isascii():
        yield from _wrong_bytes(body, used)


def _header_label(content_type: str) -> str:
    header = Message()
    header["content-type"] = content_type.replace("\n", " ").replace("\r", " ")
    label = header.get_param("charset", "")
    return label if isinstance(label, str) else label[2]


def _meta_label(tree: Any) -> str:
    for meta in tree.select('head meta[charset], head meta[http-equiv="content-type" i][content]'):
        label = str(meta.attrs.get("charset") or "") or _header_label(str(meta.attrs.get("content") or ""))
        if label.strip():
            return label.strip()
    return ""


def _wrong_bytes(body: bytes, used: str) -> Iterator[str]:
    is_utf8 = encoding(body, "text/plain") == "utf-8"
    if used == "utf-8":
        try:
            body.decode()
        except UnicodeDecodeError as error:
            yield f"it declares utf-8, but byte {error.start:,} is not UTF-8"
    elif is_utf8 and not used.startswith(("utf-16", "iso-2022")):
        yield f"it declares {used}, but its bytes are UTF-8"
    elif used in _MANY_BYTES and (lost := decode(body, f"text/html;charset={used}").count("\ufffd")):
        yield f"it declares {used}, but {lost:,} of its characters are not in {used}"

"""What the links of one document are relative to."""

from __future__ import annotations

import re
from typing import Final

from gossamer.parsing.labels import codec
from gossamer.url import Resolver

_AS_UTF8: Final = frozenset(("utf-8", "utf-16le", "utf-16be", "replacement", "x-user-defined"))
"""Encodings of documents whose links are in UTF-8."""
_ODD: Final = re.compile(r"[^\x00-\x7f]")


class Base(Resolver):
    """The URL of a document, parsed once; `resolve` makes its links absolute (http and https only, no fragment)."""

    __slots__ = ("url",)

    def __init__(self, url: str) -> None:
        """`url` may be no URL at all: then only absolute links resolve."""
        super().__init__(url)
        self.url: str = self._base.href if self._base is not None else ""


class OldBase(Base):
    """The base of a document that is not in UTF-8: what its links have in their queries goes out in its own encoding, as
    browsers send it and its server expects it (URL Standard, "query state")."""

    __slots__ = ("_codec",)

    def __init__(self, url: str, encoding: str) -> None:
        """`encoding` by its name in the Encoding Standard."""
        super().__init__(url)
        self._codec = "gbk" if encoding == "gbk" else codec(encoding)

    def _fetch(self, href: str) -> str | None:
        if not href.isascii():
            head, mark, query = href.partition("?")
            href = head + mark + _ODD.sub(lambda found: self._octets(found[0]), query)
        return super()._fetch(href)

    def _octets(self, char: str) -> str:
        try:
            octets = char.encode(self._codec)
        except UnicodeEncodeError:
            return f"%26%23{ord(char)}%3B"
        return "".join(f"%{octet:02X}" if octet > 0x7E or octet in b"\"#<>'" else chr(octet) for octet in octets)


def base_of(url: str, encoding: str) -> Base:
    """The base of a document at `url` in that encoding, by its name in the Encoding Standard."""
    return Base(url) if encoding in _AS_UTF8 else OldBase(url, encoding)

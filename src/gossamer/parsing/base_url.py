"""Resolves the links of a document relative to its base URL."""

from __future__ import annotations

from typing import Final

from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.parsing.encodings import output_codec
from gossamer.url import HrefResolver, origin
from gossamer.url.routes import with_route
from gossamer.url.scope import MAX_URL

_ODD: Final = lazy_pattern(r"[^\x00-\x7f]")


_SCHEME: Final = lazy_pattern(r"[\x00-\x20]*([a-zA-Z][a-zA-Z0-9+.-]*):")
_ROOTED: Final = lazy_pattern(r"[\x00-\x20]*(?:[/\\]|[a-zA-Z][a-zA-Z0-9+.-]*:[\t\n\r]*[/\\])")
"""Matches an href that can be made absolute with only the origin of the base URL."""


class Base(HrefResolver):
    """The base URL of a document, parsed once. `resolve` makes links absolute, accepts only http and https,
    and drops fragments. However, if the attribute `routes` is `routes` or `docsify`, fragments that are
    routes of a single-page application are kept (`url.routes`).

    A URL has at most `MAX_URL` characters. The lengths of the parts are checked before a URL is joined,
    because a page of 100 KB may have a base of 800 KB and 50,000 relative links.
    """

    __slots__ = ("is_long", "routes", "url")

    def __init__(self, url: str) -> None:
        """If `url` is invalid, only absolute links can be resolved. If `url` is too long, the attribute `url`
        contains only its origin."""
        super().__init__(url.partition("#")[0])
        self.routes = ""
        self.url: str = self._base.href if self._base is not None else ""
        self.is_long = len(self.url) > MAX_URL
        if self.is_long:
            self.url = f"{origin(self.url)}/"
            super().__init__(self.url)

    def resolve(self, href: str) -> str | None:
        """Returns the absolute URL of an href, in fetch form (`model.request`). Returns None if the href is
        invalid, is neither http nor https, or is too long."""
        if len(href) > MAX_URL and len(href.partition("#")[0]) > MAX_URL:
            return None
        if self.is_long and not _ROOTED.match(href):
            return None
        found = super().resolve(href)
        if self.routes and found is not None and "#" in href:
            found = with_route(found, href, self.routes == "docsify")
        return None if found is None or len(found) > MAX_URL else found

    def join(self, href: str) -> str | None:
        """Resolves an href without limiting the length of the result. Callers use this method for the href of
        a `base` element."""
        return super().resolve(href)

    def is_too_long(self, href: str) -> bool:
        """Whether an href is an http(s) link that is too long. Call this method only if `resolve` returned
        None for the href.

        >>> Base("https://example.com/").is_too_long("a" * 3000), Base("https://example.com/").is_too_long("mailto:a@b")
        (True, False)
        """
        scheme = _SCHEME.match(href)
        if scheme is not None and scheme[1].lower() not in ("http", "https"):
            return False
        return self.is_long or len(href) + len(self.url) > MAX_URL


class OldBase(Base):
    """The base URL of a document that is not in UTF-8. The queries of the document's links are encoded in the
    document's own encoding. Browsers do the same, and servers expect this encoding (URL Standard, "query
    state")."""

    __slots__ = ("_codec",)

    def __init__(self, url: str, encoding: str) -> None:
        """`encoding`: a name from the Encoding Standard."""
        super().__init__(url)
        self._codec = output_codec(encoding)

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
        return "".join(
            f"%{octet:02X}" if octet > 0x7E or octet in b"\"#<>'" else chr(octet) for octet in octets
        )


def base_of(url: str, encoding: str) -> Base:
    """Returns the base URL of a document that was fetched from `url`. `encoding`: the document's encoding, a
    name from the Encoding Standard."""
    return Base(url) if output_codec(encoding) == "utf-8" else OldBase(url, encoding)

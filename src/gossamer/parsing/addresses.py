"""Links of one document made absolute: http and https only, WHATWG-serialized, without fragment."""

from __future__ import annotations

import upa_url


class Base:
    """The URL that a document's links are relative to, parsed once."""

    __slots__ = ("_base", "url")

    def __init__(self, url: str) -> None:
        self._base = _parsed(url, None)
        self.url = "" if self._base is None else self._base.href

    def resolve(self, href: str) -> str | None:
        """The absolute URL, or None when it is none that a crawler can fetch."""
        found = _parsed(href, self._base)
        if found is None:
            return None
        url: str = found.href
        if not url.startswith(("https://", "http://")):
            return None
        return url.partition("#")[0]


def _parsed(text: str, base: upa_url.URL | None) -> upa_url.URL | None:
    try:
        return upa_url.URL.parse(text, base)
    except TypeError:
        # a lone surrogate, which no URL has
        return None

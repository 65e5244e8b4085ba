"""What the links of one document are relative to."""

from __future__ import annotations

from gossamer.url import Resolver


class Base(Resolver):
    """The URL of a document, parsed once; `resolve` makes its links absolute (http and https only, no fragment)."""

    __slots__ = ("url",)

    def __init__(self, url: str) -> None:
        """`url` may be no URL at all: then only absolute links resolve."""
        super().__init__(url)
        self.url: str = self._base.href if self._base is not None else ""

"""A web crawler that is polite, fast and never loses a URL.

    import gossamer
    for page in gossamer.crawl("https://example.com", limit=100):
        print(page.url, page.title)

This package exports the public API. Each name is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gossamer import url
    from gossamer.api import crawl, run
    from gossamer.errors import GossamerError
    from gossamer.items.assets import File, Image, Ref
    from gossamer.model.item import Digits, Fresh, Item
    from gossamer.model.login import Login
    from gossamer.model.request import Request
    from gossamer.model.site import Site

_HOMES = {
    "File": "gossamer.items.assets",
    "Image": "gossamer.items.assets",
    "Ref": "gossamer.items.assets",
    "Digits": "gossamer.model.item",
    "Fresh": "gossamer.model.item",
    "Item": "gossamer.model.item",
    "Login": "gossamer.model.login",
    "Site": "gossamer.model.site",
    "Request": "gossamer.model.request",
    "Response": "gossamer.model.page",
    "GossamerError": "gossamer.errors",
    "crawl": "gossamer.api",
    "run": "gossamer.api",
}
_PACKAGES = ("blocks", "identity", "items", "parsing", "pipeline", "politeness", "url")

__all__ = [
    "Digits",
    "File",
    "Fresh",
    "GossamerError",
    "Image",
    "Item",
    "Login",
    "Ref",
    "Request",
    "Response",
    "Site",
    "__version__",
    "crawl",
    "run",
    "url",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"gossamer.{name}")
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})

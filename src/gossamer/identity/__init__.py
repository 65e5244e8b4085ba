"""Who we are to a host: headers, credentials, cookies; later header sets, proxies and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.identity import cookies

__all__ = ["cookies"]


def __getattr__(name: str) -> Any:
    """Parts that users name are loaded when they are first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")

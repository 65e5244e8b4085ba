"""The identity of a visitor: headers, credentials, cookies, browser fingerprints, sessions, log-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.identity import cookies

__all__ = ["cookies"]


def __getattr__(name: str) -> Any:
    """Imports a public submodule when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")

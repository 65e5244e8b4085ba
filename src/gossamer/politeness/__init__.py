"""Politeness: what a host wants of us, decided from values.

robots    a robots.txt (RFC 9309): allowed or not, delay, sitemaps, the line that decided
rules     the rules of one agent in it, and how a path is held against them
pace      how soon a host may be asked again
blocks    whether an answer shuts us out: vendor, kind, signs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.politeness import ladder, pace, robots

__all__ = ["blocks", "ladder", "pace", "robots"]


def __getattr__(name: str) -> Any:
    """Loads the parts that users name when they are first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")

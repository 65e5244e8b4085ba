"""Decides when and how gossamer requests the pages of a host, so that the crawl does not harm the host. No
module does I/O.

robots          robots.txt (RFC 9309): allowed or not, delay, sitemaps, the line that decides
robots_access   the result of fetching a robots.txt
pace            how soon a host may be requested again
breaker         when requests to a failing host pause, and when gossamer gives up on the host
ladder          which rung fetches a page
scores          which workers visit hard hosts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.politeness import ladder, pace, robots

__all__ = ["ladder", "pace", "robots"]


def __getattr__(name: str) -> Any:
    """Imports a public module when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")

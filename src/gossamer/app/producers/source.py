"""The shape of a producer, and which one serves a target."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol

from gossamer.app.targets import Rejected
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

BATCH = 5000
"""URLs that are added in one go."""
SHORT = 4 << 20
"""Bytes of a list that is read whole before its crawl begins."""


class UrlBatch(NamedTuple):
    """Some URLs, what is no request, and the position behind them, to be kept when they are added. `share`:
    read so far, 0 to 1."""

    requests: list[Request]
    rejected: list[Rejected]
    position: Any
    share: float | None = None
    editions: tuple[str, ...] = ()
    """By request: what makes it another one for the seen-set than the same URL before ('': nothing)."""
    trouble: str = ""
    """What could not be read just now, for a person."""


class Source(Protocol):
    """One producer."""

    name: str
    """Under which its position is kept."""
    beside: str
    """`*`: what it gives are seeds; a host: seeds as far as they are inside with a page of it."""

    async def open(self, collector: Collector) -> None:
        """See that it can be read. Raises UsageError, ConfigError, StoreError."""

    def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """All from a position on (None: from the start), to its end if there is one."""

    async def added(self, batch: UrlBatch) -> None:
        """A batch is in the frontier, and its position is kept."""

    async def close(self) -> None:
        """Let go of files and connections."""

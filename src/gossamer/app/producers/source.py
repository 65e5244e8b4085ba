"""The interface of a producer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol

from gossamer.app.targets import Rejected
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

BATCH_URLS = 5000
"""The number of URLs that are added at once."""
SHORT_LIST_BYTES = 4 << 20
"""A list of at most this many bytes is read completely before its crawl begins."""


class UrlBatch(NamedTuple):
    """A batch of URLs and rejected lines, and the position behind them, which is stored after they are added.
    `share`: the share of the input read so far, 0 to 1."""

    requests: list[Request]
    rejected: list[Rejected]
    position: Any
    share: float | None = None
    editions: tuple[str, ...] = ()
    """For each request, a text that distinguishes it in the seen-set from an earlier request of the same URL.
    '' if nothing does."""
    trouble: str = ""
    """What could not be read just now, as text."""


class UrlProducer(Protocol):
    """A producer."""

    name: str
    """The name under which its position is stored."""
    beside: str
    """`*`: the producer's URLs are seeds. A host: the URLs are seeds if they are in scope of a page of that
    host."""

    async def open(self, collector: Collector) -> None:
        """Checks that the producer can be read. Raises UsageError, ConfigError, StoreError."""

    def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields everything from a position on (None: from the start) to its end, if it has one."""

    async def added(self, batch: UrlBatch) -> None:
        """Called when a batch is in the frontier and its position is stored."""

    async def close(self) -> None:
        """Closes files and connections."""

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
    """A batch of URLs and rejected lines, and the position after them, which is stored once they are added.
    `share`: the share of the input read so far, 0 to 1."""

    requests: list[Request]
    rejected: list[Rejected]
    position: Any
    share: float | None = None
    editions: tuple[str, ...] = ()
    """The edition of each request, as a text. With a new edition, the seen set accepts a URL again that was
    requested before. '' means that a known URL is rejected."""
    trouble: str = ""
    """A message about a source that could not be read just now, or ''."""


class UrlProducer(Protocol):
    """The interface of a producer, which yields batches of URLs."""

    name: str
    """The name under which the producer's position is stored."""
    beside: str
    """Decides which URLs of the producer are seeds. `*`: all URLs. A host: the URLs that would be in scope as
    links on a page of that host."""

    async def open(self, collector: Collector) -> None:
        """Checks that the producer can be read. Raises UsageError, ConfigError, StoreError."""

    def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields all batches from a position onwards (None: from the start) until the source ends, if it has
        an end."""

    async def added(self, batch: UrlBatch) -> None:
        """Called when a batch is in the frontier and its position is stored."""

    async def close(self) -> None:
        """Closes files and connections."""

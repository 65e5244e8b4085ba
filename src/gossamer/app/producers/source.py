"""The interface of a producer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, Protocol

from gossamer.app.targets import Rejected
from gossamer.model.interfaces import Collector
from gossamer.model.request import Request

BATCH_URLS = 5000
"""The number of URLs that a producer adds in one batch."""
SHORT_LIST_BYTES = 4 << 20
"""A list of at most this many bytes is read completely before its crawl begins."""


class UrlBatch(NamedTuple):
    """A batch of URLs and rejected lines. `position` is the position of the producer after this batch. The
    position is stored after the batch has been added. `share`: the fraction of the input that has been read,
    from 0 to 1."""

    requests: list[Request]
    rejected: list[Rejected]
    position: Any
    share: float | None = None
    editions: tuple[str, ...] = ()
    """One text per request that identifies the version of the page, for example its lastmod. The seen set
    accepts a known URL again if the URL has a new edition. The seen set always rejects a known URL whose
    edition is ''."""
    again: bool = False
    """Whether an earlier run, or this run before an outage, may have added the batch."""
    trouble: str = ""
    """A message that explains why the source cannot be read at the moment, or '' if the source can be
    read."""


class UrlProducer(Protocol):
    """The interface of a producer, which yields batches of URLs."""

    name: str
    """The name under which the producer's position is stored."""
    beside: str
    """Decides which URLs of the producer are in the scope of an open crawl (`Setup.open`). `*` accepts every
    URL. If the value is a host name, each URL of the producer is treated like a link on a page of that
    host."""

    async def open(self, collector: Collector) -> None:
        """Checks whether the producer can be read. Raises UsageError, ConfigError or StoreError if the check
        fails."""

    def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields all batches after a position, or from the start if the position is None. A source without an
        end yields batches forever."""

    async def added(self, batch: UrlBatch) -> None:
        """The runner calls this method after it has added the batch to the frontier and stored the
        position."""

    async def close(self) -> None:
        """Closes files and connections."""

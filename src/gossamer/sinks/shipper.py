"""The interface of shippers, which send the rows of a journal to an append-only store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec


class JournalRow(NamedTuple):
    """One row that is being sent to a store. `row` is the row as JSON."""

    kind: str
    key: str
    host: str
    row: msgspec.Raw


class Shipper(Protocol):
    """Sends batches to a store. A batch counts only once, even if the batch is sent twice. The methods raise
    SinkAway if the failure is temporary, otherwise SinkError."""

    where: str
    knows: bool
    """Whether the store itself saves the journal position. If the store does not save the position, gossamer
    repeats a failed batch until the store accepts the batch. Each repetition has the same end position and
    the same lines."""

    def open(self) -> int:
        """Connects. Returns the position up to which the store has all rows, or 0 if the store does not keep
        the position."""

    def begin(self) -> None:
        """Begins an output of a crawl, before its first row. Decides what happens to rows of earlier runs."""

    def send(self, start: int, end: int, lines: Sequence[JournalRow]) -> int:
        """Makes a batch durable in the store. Returns the position up to which the store has all rows,
        usually `end`."""

    def drop(self) -> None:
        """Closes the connection, even if the connection is broken."""

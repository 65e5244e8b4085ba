"""What brings the rows of a journal to a store that only appends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec


class JournalRow(NamedTuple):
    """One row as it travels: `row` is its JSON."""

    kind: str
    key: str
    host: str
    row: msgspec.Raw


class Shipper(Protocol):
    """Brings batches to a store, each once. Raises SinkAway, SinkError."""

    where: str
    knows: bool
    """Whether the store itself keeps the position; else a batch is said again with the same end and lines,
    until it is sent."""

    def open(self) -> int:
        """Connect; the position up to which the store has all, 0 when it does not know."""

    def send(self, start: int, end: int, lines: Sequence[JournalRow]) -> int:
        """Make a batch durable over there; the position up to which the store has all, mostly `end`."""

    def drop(self) -> None:
        """Let the connection go, also a broken one."""

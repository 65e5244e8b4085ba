"""How one crawl claims and adds."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.model.visit import Settle

FAULTS = ("f", "d")
"""What a visit may say of its host that opens breakers (`visit.Settle.health`)."""


class Policy(msgspec.Struct, frozen=True):
    """How this crawl claims and adds; all times in milliseconds."""

    lanes: tuple[str, ...] | None = None
    """The ready heaps it claims from, `LANE` or `LANE@REGION`; None: all there are."""
    faults: int = 10
    """Faults of a host in a row that open its circuit breaker (`politeness.breaker`)."""
    open_first: int = 30_000
    open_longest: int = 900_000
    """For how long at first, and at most."""
    lease: int = 30_000
    delay: int = -1
    """Fixed delay between starts at one host; -1: the host's own, learned from its answers."""
    first_delay: int = 1000
    """Of a host that has no pace yet."""
    per_host: int = 1
    obey_robots: bool = True
    limit: int = -1
    size_limit: int = -1
    rate: float = 0.0
    host_bytes: int = -1
    host_time: int = -1
    """Most bytes of one host, and longest time since its first claim; -1: no limit."""
    idle: int = 0
    """For how long the crawl was not at work since it began: the time of hosts stood still."""
    gate: int = 16
    seen: str = "default"
    sets: int = 4096
    """Sets of the first generation, all buckets together (bloom: none, its pages split)."""
    depths: bool = False
    """Keep the depth of each URL, so that a shorter way to it that is found late counts: for a tight depth
    limit."""
    host_pages: int = 10_000
    """Page cap of a discovered host; negative: that many for each at once, standing or not."""

    @property
    def limited(self) -> bool:
        """Whether claims are bounded by what the whole crawl does."""
        return self.limit >= 0 or self.size_limit >= 0 or self.rate > 0

    @property
    def of_a_host(self) -> str:
        """The limits of one host, as `host_limits.lua` wants them."""
        return (
            f"{self.host_bytes} {self.host_time} {self.idle}"
            if max(self.host_bytes, self.host_time) >= 0
            else ""
        )

    def heaps(self, waits: tuple[int, int]) -> str:
        """What claims come from, as `ready.lua` wants it; `waits`: ms that easy and hard hosts must have
        waited."""
        return f"{waits[0]} {waits[1]} {'*' if self.lanes is None else ' '.join(self.lanes)}"

    def ends(self, settle: Settle) -> str:
        """How a claim ends, as `settle.lua` wants it."""
        return settle.action + self.says(settle)

    def says(self, settle: Settle) -> str:
        """What a visit says of its host, as `breaker.lua` wants it."""
        said = settle.health
        return f"{said}{self.faults},{self.open_first},{self.open_longest}" if said in FAULTS else said


def heaps(lanes: Sequence[str], region: str) -> tuple[str, ...]:
    """The ready heaps that a worker serves: its lanes, and what asks for its region.

    >>> heaps(["http"], "eu")
    ('http', 'http@eu')
    """
    return tuple(heap for lane in lanes for heap in ((lane, f"{lane}@{region}") if region else (lane,)))

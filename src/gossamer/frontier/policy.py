"""The policy by which one crawl claims and adds: lanes, delays, limits, circuit breakers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.model.visit import Settle

FAULTS = ("f", "d")
"""Values of `visit.Settle.health` that count toward opening a circuit breaker."""


class Policy(msgspec.Struct, frozen=True):
    """The policy of one crawl. All times in milliseconds."""

    lanes: tuple[str, ...] | None = None
    """The ready heaps from which it claims, `LANE` or `LANE@REGION`. None: all."""
    faults: int = 10
    """Number of consecutive faults that opens a host's circuit breaker (`politeness.breaker`)."""
    open_first: int = 30_000
    open_longest: int = 900_000
    """For how long a breaker opens at first, and at most."""
    lease: int = 30_000
    delay: int = -1
    """Fixed delay between starts at one host. -1: the delay that was learned from the host's responses."""
    first_delay: int = 1000
    """The delay of a host whose pace is not known yet."""
    per_host: int = 1
    obey_robots: bool = True
    limit: int = -1
    size_limit: int = -1
    rate: float = 0.0
    host_bytes: int = -1
    host_time: int = -1
    """Maximum bytes of one host, and maximum time since its first claim. -1: no limit."""
    idle: int = 0
    """For how long no process worked on the crawl since it began. Host times do not run meanwhile."""
    gate: int = 16
    seen: str = "default"
    sets: int = 4096
    """Number of sets in the first generation of the seen set, over all buckets. With bloom: none, its pages
    split."""
    depths: bool = False
    """Whether the depth of each URL is stored, so that a shorter path that is found late counts. Needed for
    exact depth limits."""
    host_pages: int = 10_000
    """Page limit of a discovered host. Negative: the limit applies to each at once, regardless of its
    standing."""

    @property
    def limited(self) -> bool:
        """Whether claims are limited by totals of the whole crawl."""
        return self.limit >= 0 or self.size_limit >= 0 or self.rate > 0

    @property
    def of_a_host(self) -> str:
        """Returns the limits of one host in the form of `host_limits.lua`."""
        return (
            f"{self.host_bytes} {self.host_time} {self.idle}"
            if max(self.host_bytes, self.host_time) >= 0
            else ""
        )

    def heaps(self, waits: tuple[int, int]) -> str:
        """Returns the heaps to claim from in the form of `ready.lua`. `waits`: ms that easy and hard hosts
        must have waited."""
        return f"{waits[0]} {waits[1]} {'*' if self.lanes is None else ' '.join(self.lanes)}"

    def ends(self, settle: Settle) -> str:
        """Returns how a claim ends in the form of `settle.lua`."""
        return settle.action + self.says(settle)

    def says(self, settle: Settle) -> str:
        """Returns what a visit says about its host in the form of `breaker.lua`."""
        said = settle.health
        return f"{said}{self.faults},{self.open_first},{self.open_longest}" if said in FAULTS else said


def heaps(lanes: Sequence[str], region: str) -> tuple[str, ...]:
    """Returns the ready heaps that a worker serves: its lanes, and the requests for its region.

    >>> heaps(["http"], "eu")
    ('http', 'http@eu')
    """
    return tuple(heap for lane in lanes for heap in ((lane, f"{lane}@{region}") if region else (lane,)))

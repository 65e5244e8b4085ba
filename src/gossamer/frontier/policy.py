"""The policy with which a crawl claims and adds URLs. The policy contains lanes, delays, limits, and settings
of circuit breakers."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.model.verdict import HostHealth
from gossamer.model.visit import Settle

FAULTS = (HostHealth.FAULT, HostHealth.LAST_FAULT)
"""Values of `visit.Settle.health` that count as faults of the host and can open its circuit breaker."""


class Policy(msgspec.Struct, frozen=True):
    """The policy of one crawl. All times are in milliseconds."""

    lanes: tuple[str, ...] | None = None
    """The names of the ready heaps to claim from. A name is `LANE` or `LANE@REGION`. None means all heaps."""
    faults: int = 10
    """After this many consecutive faults, a host's circuit breaker opens (`politeness.breaker`)."""
    open_first: int = 30_000
    open_longest: int = 900_000
    """The circuit breaker stays open for `open_first` ms the first time. Later it stays open for at most
    `open_longest` ms."""
    lease: int = 30_000
    delay: int = -1
    """Fixed delay between the starts of two requests to one host. -1 means that the delay is learned from the
    host's responses."""
    first_delay: int = 1000
    """The delay of a host whose pace is not known yet."""
    per_host: int = 1
    obey_robots: bool = True
    limit: int = -1
    size_limit: int = -1
    rate: float = 0.0
    host_bytes: int = -1
    host_time: int = -1
    """Limits for each host. `host_bytes`: maximum number of bytes. `host_time`: maximum time since the first
    claim. -1 means no limit."""
    idle: int = 0
    """The total time since the crawl began during which no process worked on the crawl. This time does not
    count toward the time limit of a host."""
    gate: int = 16
    seen: str = "default"
    sets: int = 4096
    """Number of sets in the first generation of the seen set, over all buckets. The mode `bloom` ignores this
    number. In this mode, each set is a page of a filter, and a page splits when it fills up."""
    depths: bool = False
    """Whether to store the depth of each URL. If the crawl later finds a shorter path to a URL, the crawl
    corrects the stored depth. A crawl with a low depth limit needs stored depths."""
    host_pages: int = 10_000
    """Maximum pages of a discovered host. A host gets this maximum only if the host has enough vouchers. A
    negative value means that vouchers are not needed. Then the absolute value is the maximum of every
    discovered host."""

    @property
    def has_total_limits(self) -> bool:
        """Whether totals of the whole crawl limit the claims."""
        return self.limit >= 0 or self.size_limit >= 0 or self.rate > 0

    @property
    def of_a_host(self) -> str:
        """The limits per host, formatted for `host_limits.lua`."""
        return (
            f"{self.host_bytes} {self.host_time} {self.idle}"
            if max(self.host_bytes, self.host_time) >= 0
            else ""
        )

    def heaps(self, waits: tuple[int, int]) -> str:
        """Returns the heaps to claim from, formatted for `ready_heaps.lua`. `waits`: the minimum waits of
        easy hosts and of hard hosts, in ms."""
        return f"{waits[0]} {waits[1]} {'*' if self.lanes is None else ' '.join(self.lanes)}"

    def ends(self, settle: Settle) -> str:
        """Returns the action for a claim in the format of `settle.lua`. The action consists of a letter and a
        health code. The letter states how the claim ends. The health code belongs to the host of the
        claim."""
        return (settle.end or "") + self.says(settle)

    def says(self, settle: Settle) -> str:
        """Returns the health code that a visit reports for its host, in the format of `breaker.lua`."""
        said = settle.health
        return said + f"{self.faults},{self.open_first},{self.open_longest}" if said in FAULTS else said


def served_heaps(lanes: Sequence[str], region: str) -> tuple[str, ...]:
    """Returns the ready heaps that a worker serves. These heaps belong to the worker's lanes. If the worker
    has a region, they include the heaps of these lanes for requests that need this region.

    >>> served_heaps(["http"], "eu")
    ('http', 'http@eu')
    """
    return tuple(heap for lane in lanes for heap in ((lane, f"{lane}@{region}") if region else (lane,)))

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
    """The names of the ready heaps from which the crawl claims URLs. A ready heap has the name `LANE` or
    `LANE@REGION`. If `lanes` is None, the crawl claims URLs from all ready heaps."""
    faults: int = 10
    """After this many consecutive faults, a host's circuit breaker opens (`politeness.breaker`)."""
    open_first: int = 30_000
    open_longest: int = 900_000
    """Maximum number of milliseconds for which a host's circuit breaker stays open. The first time, the
    circuit breaker stays open for `open_first` ms."""
    lease: int = 30_000
    delay: int = -1
    """Fixed delay between the starts of two requests to one host. -1 means that the delay is learned from the
    host's responses."""
    first_delay: int = 1000
    """The delay of a host for which no delay has been learned yet."""
    per_host: int = 1
    obey_robots: bool = True
    limit: int = -1
    size_limit: int = -1
    rate: float = 0.0
    host_bytes: int = -1
    host_time: int = -1
    """Limits per host, where -1 means no limit. `host_bytes` is the maximum number of bytes that are received
    from a host. `host_time` is the maximum time since the host's first claim."""
    idle: int = 0
    """The total time since the crawl began during which no process worked on the crawl. The time during which
    no process works on a crawl does not count towards the time limit of a host."""
    gate: int = 16
    seen: str = "default"
    sets: int = 4096
    """The seen set grows in generations. The first generation of the seen set is spread over this many keys
    of the store. A seen set of the kind `bloom` ignores `sets`, because its filter begins with one page and
    splits pages as it grows."""
    depths: bool = False
    """Whether to store the depth of each URL, which is necessary for a crawl with a low depth limit. If the
    crawl later finds a shorter path to a URL, the crawl corrects the stored depth."""
    host_pages: int = 10_000
    """Maximum number of pages of a discovered host, if the host has enough vouchers (links from other
    registered domains). If the value is negative, hosts need no vouchers, and the maximum is the value
    without the minus sign."""

    @property
    def has_total_limits(self) -> bool:
        """Whether the crawl as a whole has a page, byte or rate limit."""
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
        """Returns the names of the ready heaps from which the crawl claims URLs, formatted for
        `ready_heaps.lua`. `waits`: the minimum waits of easy hosts and of hard hosts, in ms."""
        return f"{waits[0]} {waits[1]} {'*' if self.lanes is None else ' '.join(self.lanes)}"

    def ends(self, settle: Settle) -> str:
        """Returns the text that tells `settle.lua` how to settle a claim. The text consists of a letter and a
        health code. The letter is the outcome of the claim, for example `d` for done. The health code
        describes the health of the claim's host."""
        return (settle.end or "") + self.says(settle)

    def says(self, settle: Settle) -> str:
        """Returns the health code that a visit reports for its host, in the format of `breaker.lua`."""
        said = settle.health
        return said + f"{self.faults},{self.open_first},{self.open_longest}" if said in FAULTS else said


def served_heaps(lanes: Sequence[str], region: str) -> tuple[str, ...]:
    """Returns the names of the ready heaps that a worker serves. Each lane of the worker has one ready heap.
    If the worker has a region, each lane also has a ready heap for requests that need this region.

    >>> served_heaps(["http"], "eu")
    ('http', 'http@eu')
    """
    return tuple(heap for lane in lanes for heap in ((lane, f"{lane}@{region}") if region else (lane,)))

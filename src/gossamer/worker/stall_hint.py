"""Determines why a crawl has not received a page yet. A host that does not answer is retried as often as
`--retries` allows. During the retries, the user should be able to see why the crawl waits."""

from __future__ import annotations

from gossamer.model.verdict import ClaimEnd, HostHealth
from gossamer.model.visit import Visit

FAULTS = (HostHealth.FAULT, HostHealth.REPEATED_FAULT)


class StallHint:
    """Records failures until the first page arrives. The worker calls this object with every visit. The
    attribute `of` contains the host that failed last, and its error. `of` is None before the first failure,
    and after the first page has arrived."""

    def __init__(self) -> None:
        self.of: tuple[str, str] | None = None
        self._over = False

    def __call__(self, visit: Visit) -> None:
        settle, robots = visit.settle, visit.claim.kind == "robots"
        if self._over:
            return
        if settle.end == ClaimEnd.DONE and not robots:
            self._over, self.of = True, None
        elif settle.reason and (settle.end == ClaimEnd.RETRY or (robots and settle.health in FAULTS)):
            self.of = visit.claim.host, settle.reason

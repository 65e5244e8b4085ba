"""Keeps the visits that wait for their commit. The requests of these visits have ended, but their rows are
not durable yet.

Each visit occupies a slot of its host, which the commit normally frees. If the host's delay ends before the
commit, the slot is freed earlier, in the same call that requests the next claims.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping, Sequence

from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Settle, Visit

MAX_DELAY_SHARE = 0.02
"""A worker may free a host's slot late. The delay is at most this share of the time between two requests to
the host. Because of the delay, a single call can free the slots of several slow hosts. Slots of fast hosts
are freed without a delay."""
TIMER_S = 0.002
"""The shortest delay in seconds for which a timer is used. Shorter delays are not useful because timers are
late by up to a millisecond."""
NO_REQUEST_ENDS = (ClaimEnd.REQUEUED, ClaimEnd.REFUSED)

Name = tuple[int, int]


class UncommittedVisits:
    """The visits of one worker that wait for their commit, keyed by bucket and token. Each visit is stored
    with the time at which its host's slot must be freed."""

    def __init__(self) -> None:
        self.freed: set[Name] = set()
        """The bucket and token of each visit whose slot at its host was already freed."""
        self._waiting: dict[Name, Visit] = {}
        self._due: list[tuple[float, Name]] = []

    def add(self, visit: Visit) -> None:
        """Adds a visit that waits for its commit. Ignores a visit that made no request."""
        settle = visit.settle
        if not visit.began or not settle.end or settle.end in NO_REQUEST_ENDS:
            return
        name = visit.claim.bucket, visit.claim.token
        now = time.monotonic()
        start = max(now, visit.began + settle.delay / 1000)
        late = (start - visit.began) * MAX_DELAY_SHARE
        self._waiting[name] = visit
        heapq.heappush(self._due, (start + (late if late >= TIMER_S else 0.0), name))

    def settled(self, visit: Visit) -> None:
        """Removes a visit that has been settled."""
        name = visit.claim.bucket, visit.claim.token
        self._waiting.pop(name, None)
        self.freed.discard(name)

    @property
    def next_at(self) -> float:
        """Returns the monotonic time at which the next slot must be freed, or infinity if no visit waits."""
        while self._due and self._due[0][1] not in self._waiting:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else float("inf")

    def take(self, most: int) -> dict[int, list[Settle]]:
        """Finds the visits whose slots must be freed now. Returns the settle records of these visits, keyed
        by bucket. The result contains at most `most` buckets. The returned visits are removed, so no visit is
        returned twice."""
        now, found = time.monotonic(), dict[int, list[Visit]]()
        while self.next_at <= now and (len(found) < most or self._due[0][1][0] in found):
            _, name = heapq.heappop(self._due)
            found.setdefault(name[0], []).append(self._waiting.pop(name))
            self.freed.add(name)
        return ends(found)


def ends(visits: Mapping[int, Sequence[Visit]]) -> dict[int, list[Settle]]:
    """Returns the settle records of the given visits, keyed by bucket. Each record contains the time from the
    start of the request until now (`Visit.ends`)."""
    now = time.monotonic()
    return {bucket: [visit.ends(now) for visit in some] for bucket, some in visits.items()}

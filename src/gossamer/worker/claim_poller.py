"""Decides when a worker polls which buckets for claims. For each server, one call returns the buckets in
which a host is due.

All workers get the same buckets, so each worker goes through them in a different order. URLs that other
workers add are found by the next poll of all buckets. Changes that this worker's own settles make are known
at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.visit import Claimed
from gossamer.worker.capacity import FleetCaps

POLL_ALL_INTERVAL_S, QUIET_S = 0.5, 1.0
"""POLL_ALL_INTERVAL_S: seconds between two polls of all buckets. QUIET_S: seconds until the next poll if a
poll found no host that is due."""
TICK_S = 0.2
"""Maximum seconds between two polls if the store has only one bucket."""
CAPPED_RETRY_S = 0.02
"""Seconds until the next try if a fleet-wide cap currently allows no claims."""

MIN_CLAIMS_PER_BUCKET = 4
"""Minimum number of claims requested from each of several buckets. A call for one claim costs as much as a
call for several."""


class ClaimPoller:
    """Polls the buckets of one crawl for one worker."""

    def __init__(self, frontier: FrontierVerbs, buckets: int, caps: FleetCaps | None = None) -> None:
        self._frontier, self._buckets, self._caps = frontier, buckets, caps
        self._capped_until = 0.0
        self._due: dict[int, float] = {0: 0.0} if buckets == 1 else {}
        """The monotonic time at which each bucket is due."""
        self._touched: set[int] = set()
        self._look_at = 0.0
        self._turn = random.sample(range(buckets), buckets)
        self._next = 0
        self.waiting = True
        """Whether at least one host is known to be waiting for its next start."""
        self.dry = True
        """Whether the last round returned no claims. If so, every host is waiting until it is due, or until
        its unsettled visits free their slots."""

    def touch(self, bucket: int) -> None:
        """Marks a bucket as changed, because its hosts may now be due at another time."""
        if self._buckets == 1:
            self._due[0] = 0.0
        else:
            self._touched.add(bucket)

    @property
    def next_at(self) -> float:
        """Returns the monotonic time of the next poll."""
        if self._touched:
            return self._capped_until
        at = self._due.get(0, 0.0) if self._buckets == 1 else min((self._look_at, *self._due.values()))
        return max(at, self._capped_until)

    async def claims(self, want: int) -> list[Claimed]:
        """Makes one round through the buckets that are due, and returns about `want` claims, within the caps.
        Returns an empty list if no bucket is due."""
        got = await self._round(want)
        self.dry = not any(one.claims for one in got)
        return got

    async def _round(self, want: int) -> list[Claimed]:
        if self.next_at > time.monotonic() or self._frontier.patience.away:
            return []
        free = want if self._caps is None else await self._caps.take(want)
        if not free:
            self._capped_until = time.monotonic() + CAPPED_RETRY_S
            return []
        got = await self._claims(free)
        if self._caps is not None:
            await self._caps.back(free - sum(len(one.claims) for one in got))
        return got

    async def _claims(self, want: int) -> list[Claimed]:
        if self._buckets > 1 and not self._frontier.patience.away:
            await self._look()
        asks = self._asks(want)
        if not asks or self._frontier.patience.away:
            return []
        got = await self._frontier.everywhere.claim(asks)
        now = time.monotonic()
        for bucket, _ in asks:  # a bucket that did not answer is polled again in the next round
            self._due.pop(bucket, None)
        for one in got:
            self._put(one, now, dict(asks)[one.bucket])
        if self._buckets == 1:
            self._due.setdefault(0, now + TICK_S)
        return got

    def _put(self, one: Claimed, now: float, wanted: int) -> None:
        wait = max((one.next_at - one.now) / 1000, 0.0) if one.next_at >= 0 else None
        if self._buckets == 1:
            self.waiting = wait is not None or bool(one.limit)
            self._due[0] = now + (
                min(TICK_S if wait is None else wait, TICK_S) if len(one.claims) < wanted else 0.0
            )
        elif wait is not None:
            self._due[one.bucket] = now + (max(wait, 0.01) if not one.claims else wait)

    async def _look(self) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._touched.clear()
            self._look_at = now + POLL_ALL_INTERVAL_S
            self._due = {
                bucket: now + wait for bucket, wait in (await self._frontier.everywhere.due()).items()
            }
            if min(self._due.values(), default=now + QUIET_S) >= self._look_at:
                self._look_at = now + QUIET_S
            self.waiting = bool(self._due)
        elif self._touched:
            some, self._touched = sorted(self._touched), set()
            found = await self._frontier.everywhere.due(some)
            for bucket in some:
                self._due.pop(bucket, None)
            self._due |= {bucket: now + wait for bucket, wait in found.items()}
            self.waiting = bool(self._due)

    def _asks(self, want: int) -> Sequence[tuple[int, int]]:
        """Returns the due buckets with the number of claims to request from each."""
        now = time.monotonic()
        due = [bucket for bucket, at in self._due.items() if at <= now]
        if len(due) > 1:
            due.sort(key=lambda bucket: (self._turn[bucket] - self._next) % self._buckets)
            due = due[: -(-want // MIN_CLAIMS_PER_BUCKET)]
            self._next = (self._turn[due[-1]] + 1) % self._buckets
        if not due:
            return []
        share, more = divmod(want, len(due))
        return [(bucket, share + (n < more)) for n, bucket in enumerate(due)]

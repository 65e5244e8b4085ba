"""Decides when a worker polls the frontier for claims, and which buckets the worker polls. One call per
server returns the buckets that contain a due host.

The rank of a bucket is the rank of its first host. A host with more urgent URLs has a higher rank. The worker
first requests claims from the buckets of the highest rank, and only for hosts of this rank. If the worker can
take more claims, the worker continues with the next lower rank. Every 16th claim goes to the bucket whose host
has been due for longest, so that no host starves.

All workers read the same ranks. Each worker therefore polls the buckets of a rank in a different random
order. URLs that other workers add are noticed at the next poll of all buckets. When this worker settles
claims, its poller notices the changes immediately.
"""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Collection, Mapping

from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.visit import Claimed, ClaimOrder, DueBucket
from gossamer.worker.capacity import FleetCaps
from gossamer.worker.uncommitted_visits import UncommittedVisits

POLL_ALL_INTERVAL_S, QUIET_S = 0.5, 1.0
"""POLL_ALL_INTERVAL_S is the number of seconds between two polls of all buckets. QUIET_S is the number of
seconds until the next poll of all buckets if no host is due soon."""
POLL_RANKS_INTERVAL_S = 0.1
"""The number of seconds between two polls of all buckets while the ranks of the buckets differ. When an
urgent host becomes due, the rank of the host's bucket rises. The poller must notice such a change of rank
quickly."""
TICK_S = 0.2
"""Maximum number of seconds between two polls if the store has only one bucket."""
CAPPED_RETRY_S = 0.02
"""The number of seconds until the next attempt to claim URLs if the rate caps of the fleet currently allow no
claims."""

MIN_CLAIMS_PER_BUCKET = 4
"""The minimum number of claims that the poller requests from each bucket if it requests claims from several
buckets. A call that requests one claim costs as much as a call that requests several claims."""
MAX_RANKS_PER_ROUND = 4
"""Maximum number of claim calls in a round. Each call requests claims only from buckets of one rank, except
the last call, which requests claims from buckets of all remaining ranks."""


class ClaimPoller:
    """Polls the buckets of one crawl for one worker."""

    def __init__(
        self,
        frontier: FrontierVerbs,
        buckets: int,
        caps: FleetCaps | None = None,
        uncommitted: UncommittedVisits | None = None,
    ) -> None:
        self._frontier, self._buckets, self._caps = frontier, buckets, caps
        self._uncommitted = uncommitted or UncommittedVisits()
        self._capped_until = 0.0
        self._due: dict[int, float] = {0: 0.0} if buckets == 1 else {}
        """Maps each bucket to the monotonic time at which the bucket is due."""
        self._ranks: dict[int, int] = {}
        """Maps each bucket to the rank of the most urgent host in the bucket."""
        self._several = False
        """Whether the hosts have had several ranks. If they have, the slots of hosts are freed before each claim:
        otherwise, less urgent hosts would be claimed while urgent hosts wait for their commits."""
        self._turns = random.randrange(16)
        """The number of claims so far, plus a random number below 16. One in every 16 claims is for the host
        that has been due for the longest time."""
        self._touched: set[int] = set()
        self._look_at = 0.0
        self._turn = random.sample(range(buckets), buckets)
        self._next = 0
        self.waiting = True
        """Whether the poller knows of at least one host that waits for the start of its next request."""
        self.dry = True
        """Whether the last round returned no claims, for example because all hosts wait for their delay or
        for the commit of their visits."""
        self.short = True
        """Whether the last round returned fewer claims than the worker requested. If the last round returned
        fewer claims than requested, the worker frees the slots of hosts with a separate call."""
        self.capped = False
        """Whether the number of claims in the last round was limited by the rate caps of the fleet, and not
        by the hosts."""

    def touch(self, bucket: int) -> None:
        """Marks a bucket whose hosts may now be due at a different time, so that the bucket is polled
        again."""
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
        if self.short:
            at = min(at, self._uncommitted.next_at)
        return max(at, self._capped_until)

    async def claims(self, want: int) -> list[Claimed]:
        """Requests claims from the due buckets in one round. Returns about `want` claims, or fewer if the
        fleet's caps or the due hosts allow fewer. Returns an empty list if no bucket is due."""
        got = await self._round(want)
        self.dry = not any(one.claims for one in got)
        return got

    async def _round(self, want: int) -> list[Claimed]:
        if self.next_at > time.monotonic() or self._frontier.patience.away:
            return []
        free = want if self._caps is None else await self._caps.take(want)
        if not free:
            self.capped = True
            self._capped_until = time.monotonic() + CAPPED_RETRY_S
            return []
        got = await self._claims(free)
        unused = free - sum(len(one.claims) for one in got)
        self.capped = free < want and unused <= 0
        if self._caps is not None:
            await self._caps.back(unused)
        return got

    async def _claims(self, want: int) -> list[Claimed]:
        if self._buckets > 1 and not self._frontier.patience.away:
            await self._look()
        if self._frontier.patience.away:
            return []
        uncommitted = self._uncommitted.take(want) if self.short or self._several else {}
        got: list[Claimed] = []
        upto, left, asked, called = math.inf, want, set[int](), False
        for turn in range(MAX_RANKS_PER_ROUND):
            before = upto
            asks, orders, upto = self._asks(
                left,
                upto,
                () if turn else uncommitted,
                asked,
                first=not turn,
                last=turn == MAX_RANKS_PER_ROUND - 1,
            )
            if not asks or self._frontier.patience.away:
                break
            found = await self._frontier.all_buckets.claim(asks, orders, {} if turn else uncommitted)
            now = time.monotonic()
            called = True
            asked = {bucket for bucket, _ in asks} | (asked if upto == before else set())
            for bucket, _ in asks:  # a bucket whose server did not answer is polled again in the next round
                self._due.pop(bucket, None)
            for one in found:
                self._put(one, now, dict(asks)[one.bucket])
                left -= len(one.claims)
                self._turns += len(one.claims)
            got += found
            if self._buckets == 1:
                self._due.setdefault(0, now + TICK_S)
            if left <= 0 or self._buckets == 1:
                break
        if called:
            self.short = left > 0
        return got

    def _put(self, one: Claimed, now: float, wanted: int) -> None:
        wait = (one.next_at - one.now) / 1000 if one.next_at >= 0 else None
        self._several = self._several or one.rank != self._ranks.get(one.bucket, one.rank)
        self._ranks[one.bucket] = one.rank
        if self._buckets == 1:
            self.waiting = wait is not None or bool(one.limit)
            self._due[0] = now + (
                min(TICK_S if wait is None else max(wait, 0.0), TICK_S) if len(one.claims) < wanted else 0.0
            )
        elif wait is not None:
            self._due[one.bucket] = now + (max(wait, 0.01) if not one.claims else wait)

    async def _look(self) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._touched.clear()
            self._look_at = now + POLL_ALL_INTERVAL_S
            found = await self._frontier.all_buckets.due()
            self._due, self._ranks = {}, {}
            self._note(now, found)
            if min(self._due.values(), default=now + QUIET_S) >= self._look_at:
                self._look_at = now + QUIET_S
            elif len({self._ranks[bucket] for bucket in self._due}) > 1:
                self._look_at = now + POLL_RANKS_INTERVAL_S
            self.waiting = bool(self._due)
        elif self._touched:
            some, self._touched = sorted(self._touched), set()
            found = await self._frontier.all_buckets.due(some)
            for bucket in some:
                self._due.pop(bucket, None)
            self._note(now, found)
            self.waiting = bool(self._due)

    def _note(self, now: float, found: Mapping[int, DueBucket]) -> None:
        for bucket, one in found.items():
            self._due[bucket], self._ranks[bucket] = now + one.wait, one.rank

    def _asks(
        self,
        want: int,
        upto: float,
        uncommitted: Collection[int],
        asked: Collection[int],
        *,
        first: bool,
        last: bool,
    ) -> tuple[list[tuple[int, int]], dict[int, ClaimOrder], float]:
        """Plans one claim call. Returns the number of claims per bucket as pairs, the order in which each
        bucket chooses its hosts, and the rank of the hosts.

        `uncommitted`: buckets with slots that must be freed. The call always claims from these buckets. `upto`: the
        highest allowed rank of a due bucket. `asked`: buckets of rank `upto` from which an earlier call of
        this round claimed, and which this call omits. `last`: whether the call claims from the due buckets of
        all allowed ranks. Otherwise, it claims only from due buckets of the highest allowed rank. `first`:
        whether every 16th claim goes to the bucket whose host has been due for longest.
        """
        now = time.monotonic()
        due = [
            bucket
            for bucket, at in self._due.items()
            if at <= now
            and (self._rank(bucket) < upto or (self._rank(bucket) == upto and bucket not in asked))
            and bucket not in uncommitted
        ]
        if self._buckets == 1:
            return ([(0, want)], {0: ClaimOrder(self._turns)}, upto) if due or uncommitted else ([], {}, upto)
        share = max(1, want // (len(uncommitted) + len(due))) if uncommitted else 0
        asks, orders = [(bucket, share) for bucket in uncommitted], dict[int, ClaimOrder]()
        want -= share * len(uncommitted)
        if not first and all(self._rank(bucket) == upto for bucket in due):
            due = []  # the next round calls these buckets first, before less urgent hosts
        if not due or want <= 0:
            return asks, orders, upto
        top = max(map(self._rank, due))
        late = list[int]()
        if first and any(self._rank(bucket) < top for bucket in due):
            turns = (self._turns + want) // 16 - self._turns // 16
            late = heapq.nsmallest(turns, due, key=lambda bucket: self._due[bucket])
        asks += [(bucket, 1) for bucket in late]
        orders |= {bucket: ClaimOrder(15) for bucket in late}
        best = [bucket for bucket in due if (last or self._rank(bucket) == top) and bucket not in late]
        if not best or (want := want - len(late)) <= 0:
            return asks, orders, upto
        if len(best) > 1:
            best.sort(
                key=lambda bucket: (-self._rank(bucket), (self._turn[bucket] - self._next) % self._buckets)
            )
            best = best[: -(-want // MIN_CLAIMS_PER_BUCKET)]
            self._next = (self._turn[best[-1]] + 1) % self._buckets
        share, more = divmod(want, len(best))
        turn = self._turns
        for n, bucket in enumerate(best):
            asks.append((bucket, share + (n < more)))
            orders[bucket] = ClaimOrder(turn if first and not late else None, None if last else top)
            turn += asks[-1][1]
        return asks, orders, top

    def _rank(self, bucket: int) -> int:
        return self._ranks.get(bucket, 0)

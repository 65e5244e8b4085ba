"""Commits the results of visits in groups. A commit makes the rows of the visits durable, then settles the
claims. If a crash occurs before the claims are settled, the claims are visited again and no data is lost.

Only one commit runs at a time. All visits of a commit share its fixed cost, which is mainly the fsync. A busy
worker therefore gathers many visits for each commit. An idle worker gathers only a few visits, because a host
may be unable to receive further requests until the commit frees the host's slots.

Rows are appended to plain files while this process holds the crawl's output lock. The Lua script that settles
the claims also commits the new length of the files. If the script reports that the worker has lost a claim,
the committer truncates the files to their previous length, and writes the rows of the other claims again. The
committer does not retry after an unexpected error. Instead, the worker stops, and the next worker removes the
uncommitted rows.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import Moved, Stale
from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.visit import Adds, Claim, Commit, Visit
from gossamer.worker.outputs import Append, Outputs
from gossamer.worker.visit_totals import TotalsOfVisits

if TYPE_CHECKING:
    from gossamer.worker.near_duplicates import DuplicateMarker

MAX_COMMIT_BYTES = 32 << 20
GATHER_WAIT_S = 0.02
"""The number of seconds for which a single visit waits for other visits to join its commit."""
MAX_GATHERED_VISITS = 32
MAX_COMMIT_S = 5.0
"""The number of seconds after which a commit counts as stuck, for example in a database that does not answer.
Until the commit ends, no further visits begin."""


class GatherLimits(NamedTuple):
    """Limits the time for which a busy worker gathers visits for a commit, and the number of gathered
    visits."""

    seconds: float
    """Maximum number of seconds that a visit waits for the start of its commit. If a visit waits longer, the
    lease keeper frees the visit's slot at its host with a separate call."""
    enough: int
    """The number of gathered visits at which the commit starts without further waiting."""
    most: int
    """Maximum number of visits in one commit, and also the maximum number of visits that wait for the next
    commit."""


FEW, MANY = GatherLimits(0.4, 192, 256), GatherLimits(1.0, 448, 512)
ROOMY = 4
"""The committer uses the limits MANY if the crawl's hosts together allow at least ROOMY times as many
concurrent requests as the worker makes. For other crawls, the committer uses the limits FEW, because long
waits for commits could leave the worker without free slots."""


def gather_limits(slots: int, concurrency: int, *, counted: bool = False) -> GatherLimits:
    """Returns the `GatherLimits` for a crawl whose hosts allow `slots` concurrent requests. `counted`:
    whether the crawl has a byte limit. With a byte limit, visits are committed without waiting for other
    visits, because bytes are counted only at the commit."""
    if counted:
        return FEW._replace(seconds=0.0)
    return MANY if slots >= ROOMY * concurrency else FEW


class Committer:
    """Writes and settles the results of visits."""

    def __init__(
        self,
        frontier: FrontierVerbs,
        outputs: Outputs,
        duplicate_marker: DuplicateMarker | None = None,
        *,
        limits: GatherLimits = FEW,
        totals: TotalsOfVisits | None = None,
        on_put: Sequence[Callable[[Visit], None]] = (),
        on_lost: Callable[[Sequence[Claim]], None] = lambda _: None,
    ) -> None:
        """`totals`: counts the requests of visits for the metrics. `on_put`: functions that `put` calls with
        each visit. `on_lost`: a function that is called with lost claims. A claim is lost if the worker no
        longer holds the claim when the visit is settled."""
        self.waiting: list[Visit] = []
        self.under_way: list[Visit] = []
        """The visits in the commit that is in flight."""
        self.refused = 0
        """Number of visits whose claims were lost before they were settled."""
        self._frontier, self._outputs, self._duplicate_marker = frontier, outputs, duplicate_marker
        self._on_put, self._totals, self._on_lost = on_put, totals, on_lost
        self.limits, self._size = limits, 0
        self._began = 0.0
        """The monotonic time at which the commit in flight began, or 0 if no commit is in flight."""
        self._wake = asyncio.Event()
        self._closing = False

    def put(self, visit: Visit) -> None:
        """Queues a visit for the next commit."""
        visit.put_at = time.monotonic()
        for hears in self._on_put:
            hears(visit)
        self.waiting.append(visit)
        self._size += visit.size
        self._wake.set()

    @property
    def full(self) -> bool:
        """Whether no further visits should begin, because too many visits wait for their commit, an output is
        unavailable, or the commit is stuck. A visit that waits in vain would have to be repeated by a later
        run."""
        return (
            len(self.waiting) >= self.limits.most
            or self._size >= MAX_COMMIT_BYTES
            or self._outputs.waiting.is_away
            or (self._began > 0 and time.monotonic() - self._began > MAX_COMMIT_S)
        )

    @property
    def idle(self) -> bool:
        """Whether all visits are durable and settled."""
        return not self.waiting and not self.under_way

    def unsettled_visits(self) -> list[Visit]:
        """Returns the visits that are not settled yet."""
        return self.under_way + self.waiting

    async def run(
        self,
        busy: Callable[[], bool] = lambda: False,
        on_settled: Callable[[list[Visit]], None] = lambda _: None,
        alone: Callable[[], bool] = lambda: False,
    ) -> None:
        """Commits visits until `close` has been called and no visit waits. Raises unexpected errors. `busy`:
        returns whether the worker still finds hosts from which to claim URLs. While `busy` returns True, a
        commit may be delayed to gather more visits. `alone`: returns whether the worker has nothing to do
        until the next commit. `on_settled`: called with the visits of each commit."""
        while not self._closing or self.waiting:
            if not self.waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            await self._gather(busy, alone)
            most = self.limits.most
            batch, self.waiting = self.waiting[:most], self.waiting[most:]
            self.under_way = batch
            self._size = sum(visit.size for visit in self.waiting)
            self._began = time.monotonic()
            await self._commit(batch)
            self._began = 0.0
            self.under_way = []
            on_settled(batch)
            await self._outputs.ship()

    def close(self) -> None:
        """Makes `run` commit the waiting visits and return."""
        self._closing = True
        self._wake.set()

    async def _gather(self, busy: Callable[[], bool], alone: Callable[[], bool]) -> None:
        """Waits for further visits to join the commit, unless the worker has nothing to do until the
        commit."""
        if alone():
            return
        if len(self.waiting) < MAX_GATHERED_VISITS and not self._closing:
            await asyncio.sleep(GATHER_WAIT_S)
        until = self.waiting[0].put_at + self.limits.seconds
        while busy() and len(self.waiting) < self.limits.enough and self._size < MAX_COMMIT_BYTES // 2:
            if self._closing or time.monotonic() >= until:
                break
            await asyncio.sleep(GATHER_WAIT_S)

    async def _commit(self, batch: list[Visit]) -> None:
        """Writes the rows, then settles the claims and commits the files' new lengths.

        A script cannot settle claims on more than one server. If the store has several servers, the committer
        writes and settles the visits of one server at a time.
        """
        if self._duplicate_marker is not None:
            await self._duplicate_marker.mark(batch)
        rows = [row for visit in batch for row in visit.rows]
        buckets: dict[int, list[Visit]] = {}
        for visit in batch:
            buckets.setdefault(visit.claim.bucket, []).append(visit)
        buckets = dict(sorted(buckets.items()))
        await self._outputs.aside(batch, rows)
        async with self._outputs.exact(rows) as append:
            await self._settle(buckets, append, {bucket: _adds(visits) for bucket, visits in buckets.items()})

    async def _settle(
        self, buckets: dict[int, list[Visit]], append: Append | None, adds: dict[int, Adds]
    ) -> None:
        """Settles all visits except the visits whose claims were lost. Removes the rows of lost visits from
        the files.

        The links of lost visits are still added to the frontier, because the `LinkIntake` has cached these
        links as taken and would skip them later.
        """
        lost = False
        while True:
            if append and len(groups := await self._frontier.together(list(buckets))) > 1:
                for group in groups:
                    await self._settle({bucket: buckets[bucket] for bucket in group}, append, adds)
                return
            moves = (
                await append([row for some in buckets.values() for visit in some for row in visit.rows])
                if append
                else ()
            )
            for bucket in [bucket for bucket, some in buckets.items() if not some]:
                await self._frontier.add(adds[bucket])
                del buckets[bucket]
            if not buckets:
                return
            commits = [_commit(bucket, some, adds[bucket], self._totals) for bucket, some in buckets.items()]
            counts = Counter(commits[0].counts)
            counts.update(self._outputs.refused_at_once() if append else {})
            commits[0] = commits[0]._replace(files=moves, counts=counts)
            left: dict[int, list[Visit]] = {}
            for commit, outcome in zip(commits, await self._frontier.settle_all(commits), strict=True):
                # if another store has replaced the original store, this check raises an error, because
                # nothing may be written any more
                if isinstance(outcome, Moved | Stale):
                    await self._frontier.check_same()
                if isinstance(outcome, Moved):
                    if not self._frontier.patience.patient or lost:
                        raise outcome
                    # the store lost its last second of writes, so the files are truncated to the committed
                    # lengths in the store
                    lost = True
                    await self._outputs.read_lengths()
                    left = buckets
                    break
                if isinstance(outcome, Stale):
                    self.refused += len(outcome.tokens)
                    gone = set(outcome.tokens)
                    self._on_lost([v.claim for v in buckets[commit.bucket] if v.claim.token in gone])
                    left[commit.bucket] = [v for v in buckets[commit.bucket] if v.claim.token not in gone]
            if not left:
                self._outputs.moved(moves)
                return
            buckets = left


def _adds(visits: list[Visit]) -> Adds:
    adds: Adds = {}
    for visit in visits:
        for group, flat in visit.adds.items():
            adds.setdefault(group, []).extend(flat)
    return adds


def _commit(bucket: int, visits: list[Visit], adds: Adds, totals: TotalsOfVisits | None) -> Commit:
    counts: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    for visit in visits:
        counts.update(visit.counts)
        hosts[visit.claim.host] += visit.counts.get("bytes", 0)
    now = time.monotonic()
    more = totals(visits, counts) if totals is not None else {}
    # robots.txt visits have no settle record here, because their claims are already settled
    ends = [visit.ends(now) for visit in visits if visit.settle.end]
    return Commit(bucket, ends, counts, adds, hosts=hosts, totals=more)

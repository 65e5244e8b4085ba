"""Group commit: rows durable, then claims settled. A crash before the settle changes nothing but time lost.

One commit is in flight at a time. What it costs by itself, the sync to the disk above all, is shared by its
visits: so a busy worker gathers many; one that finds nothing to do gathers few, as hosts may wait for the
slots of its visits. Plain files are appended under the crawl's output lock, and their new length is committed
in the same script that settles the claims of their rows; when that script finds a claim no longer ours, the
rows are cut and written again without it. After a surprise nothing is tried again here: the worker stops, and
the next one cuts the tail.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from gossamer.errors import Moved, Stale
from gossamer.model.interfaces import FrontierVerbs
from gossamer.model.visit import Adds, Commit, Visit
from gossamer.worker.near_duplicates import Likening
from gossamer.worker.outputs import Append, Outputs

MOST_BYTES = 32 << 20
LULL = 0.02
"""Seconds that a lone visit waits for company."""
COMPANY = 32


class Company(NamedTuple):
    """For what a busy worker waits."""

    seconds: float
    """Then it commits; a little later the keeper frees hosts by a call of its own."""
    enough: int
    """Visits with which it commits."""
    most: int
    """Visits of one commit, and most that wait for the next one."""


FEW, MANY = Company(0.4, 192, 256), Company(1.0, 448, 512)
ROOMY = 4
"""Times as many visits as a worker makes at once that a host must allow for MANY: else it may wait for slots
of what is not settled."""


def company(slots: int, concurrency: int, *, counted: bool = False) -> Company:
    """For what to wait where hosts allow so many requests at once. `counted`: bytes are limited, and what
    waits is not counted yet."""
    if counted:
        return FEW._replace(seconds=0.0)
    return MANY if slots >= ROOMY * concurrency else FEW


class Committer:
    """Writes and settles what visits ended with."""

    def __init__(
        self,
        frontier: FrontierVerbs,
        outputs: Outputs,
        likening: Likening | None = None,
        *,
        company: Company = FEW,
    ) -> None:
        self.waiting: list[Visit] = []
        self.under_way: list[Visit] = []
        """Visits in the commit under way."""
        self.refused = 0
        """Visits whose claim was no longer ours."""
        self.busy: Callable[[], bool] = lambda: False
        """Whether the worker finds work enough: then nothing waits for a commit."""
        self._frontier, self._outputs, self._likening = frontier, outputs, likening
        self.on_settled: Callable[[list[Visit]], None] = lambda _: None
        self.on_put: list[Callable[[Visit], None]] = []
        """Hear of each visit that is handed over."""
        self.company, self._size = company, 0
        self._wake = asyncio.Event()
        self._closing = False

    def put(self, visit: Visit) -> None:
        """Hand a visit over."""
        visit.put_at = time.monotonic()
        for hears in self.on_put:
            hears(visit)
        self.waiting.append(visit)
        self._size += visit.size
        self._wake.set()

    @property
    def full(self) -> bool:
        """Whether no more visits should begin."""
        return len(self.waiting) >= self.company.most or self._size >= MOST_BYTES

    @property
    def idle(self) -> bool:
        """Whether all is durable and settled."""
        return not self.waiting and not self.under_way

    def unsettled(self) -> list[Visit]:
        """Visits handed over and not settled yet."""
        return self.under_way + self.waiting

    async def run(self) -> None:
        """Commit until `close` was called and nothing waits. A surprise ends it."""
        while not self._closing or self.waiting:
            if not self.waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            await self._gather()
            most = self.company.most
            batch, self.waiting = self.waiting[:most], self.waiting[most:]
            self.under_way = batch
            self._size = sum(visit.size for visit in self.waiting)
            await self._commit(batch)
            self.under_way = []
            self.on_settled(batch)
            await self._outputs.ship()

    def close(self) -> None:
        """Commit what waits, then end `run`."""
        self._closing = True
        self._wake.set()

    async def _gather(self) -> None:
        """Wait for company where it comes."""
        if len(self.waiting) < COMPANY and not self._closing:
            await asyncio.sleep(LULL)
        until = self.waiting[0].put_at + self.company.seconds
        while self.busy() and len(self.waiting) < self.company.enough and self._size < MOST_BYTES // 2:
            if self._closing or time.monotonic() >= until:
                break
            await asyncio.sleep(LULL)

    async def _commit(self, batch: list[Visit]) -> None:
        """Rows first, then the settle with the files' new lengths.

        Where the store has several servers, the rows of a file are written and settled server by server: no
        script vouches for two.
        """
        if self._likening is not None:
            await self._likening.mark(batch)
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
        """Settle all visits but those whose claim is no longer ours: their rows are cut.

        Links of refused visits are added all the same: the taker remembers them as taken, and would not take
        them again.
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
            commits = [_commit(bucket, some, adds[bucket]) for bucket, some in buckets.items()]
            commits[0] = commits[0]._replace(files=moves)
            left: dict[int, list[Visit]] = {}
            for commit, outcome in zip(commits, await self._frontier.settle_all(commits), strict=True):
                if isinstance(
                    outcome, Moved | Stale
                ):  # an emptied store knows no claim either: nothing of ours belongs into it
                    await self._frontier.check_same()
                if isinstance(outcome, Moved):
                    if not self._frontier.patience.patient or lost:
                        raise outcome
                    lost = True  # the store came back without its last second: so do the files
                    await self._outputs.reread()
                    left = buckets
                    break
                if isinstance(outcome, Stale):
                    self.refused += len(outcome.tokens)
                    gone = set(outcome.tokens)
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


def _commit(bucket: int, visits: list[Visit], adds: Adds) -> Commit:
    counts: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    for visit in visits:
        counts.update(visit.counts)
        hosts[visit.claim.host] += visit.counts.get("bytes", 0)
    now = time.monotonic()
    return Commit(
        bucket, [visit.ends(now) for visit in visits if visit.settle.action], counts, adds, hosts=hosts
    )  # robots: only logged

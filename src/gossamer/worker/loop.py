"""The worker loop claims URLs, keeps up to `concurrency` visits running, commits the results of the visits
and renews the leases of the claims.

A worker keeps no state of its own except caches. When a worker is stopped, claims whose visits have not begun
return to the front of their queues. A worker that is configured to wait during outages of the store keeps its
claims. During the outage, running visits finish and wait for their commit. When the store is available again,
the waiting visits are settled.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from gossamer.config.resources import memory_short
from gossamer.errors import (
    OWN_LIMITS,
    Away,
    ConfigError,
    GossamerError,
    RightsMissing,
    Stale,
    StoreChanged,
    own_limit,
    short_of,
)
from gossamer.model.interfaces import ClaimLedger, FrontierVerbs
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Commit, Settle, Visit
from gossamer.worker.capacity import ClaimAllowance, FleetCaps, Limiter, SoleCrawlAllowance
from gossamer.worker.claim_poller import TICK_S, ClaimPoller
from gossamer.worker.committer import Committer
from gossamer.worker.concurrency_level import current_level
from gossamer.worker.lease_keeper import LeaseKeeper
from gossamer.worker.store_watch import StoreWatch
from gossamer.worker.uncommitted_visits import UncommittedVisits
from gossamer.worker.worker_score import ScoreKeeper

STATE_INTERVAL_S = 1.0
"""The number of seconds between two reads of the crawl's state."""
MAX_IDLE_SLEEP_S = 0.5
"""Maximum number of seconds for which the worker's loop sleeps while no visit is running."""
STOP_TIMEOUT_S = 7.0
"""Maximum number of seconds for which a graceful stop waits for running requests. If the worker is configured
to wait until outages end, a graceful stop also waits until finished visits are committed, but at most for
about this time."""
CLAIMS_IN_FLIGHT_S = 1.0
"""Maximum number of seconds for which a stop waits for the answers to claim calls. Without this wait, URLs
that a call has just claimed could not be claimed again until their leases expire."""
RETURN_TIMEOUT_S = 3.0
"""Maximum number of seconds for which a worker that fails tries to requeue its claims."""
SHORT_MS = 1000
"""If a visit to a host fails because this process ran short of a resource, URLs of the host may be claimed
again after this number of milliseconds."""
MAX_MEMORY_FAILURES = 3
"""Maximum number of retries of a URL whose visit ran out of memory. If the visit of the URL runs out of
memory again, the page is probably too large, and the worker stops."""
MAX_ENDED_WAITS = 200
"""Maximum number of URLs of a bucket whose wait for a retry is ended at once."""
ALONE_AFTER_DEATHS = 3
"""If at least this number of workers have died during visits of a URL, the URL is visited only while no other
visit is running."""
ENDS = {
    "stopping": "stopped",
    "cancelling": "cancelled",
    "stopped": "stopped",
    "cancelled": "cancelled",
    "failed": "stopped",
    "ending": "stopped",
    "finished": "stopped",
    "limited": "stopped",
    "spent": "credits",
    "mended": "mended",
}
"""The states of a crawl in which workers claim no more URLs. Maps each of these states to the outcome of the
worker's run."""

Result = TypeVar("Result")


class MakesVisits(Protocol):
    """Makes the visits of a batch of claims and passes each visit to `put`. If a batch contains several
    claims, their URLs belong to one host, and were claimed together because many of them may be refused. At
    most one claim of the batch is visited. The other claims are refused or requeued."""

    async def visit(self, batch: list[Claim], put: Callable[[Visit], None]) -> None: ...


class ClaimLimits(NamedTuple):
    """How much a worker may claim. `buckets`: the number of the store's buckets. `concurrency`: the number of
    visits that may run at once. `limiter`: limits the number of running visits according to the resources of
    the process. `room`: limits the claims of this crawl in its process. `caps`: the rate caps of the
    fleet."""

    buckets: int
    concurrency: int
    limiter: Limiter | None = None
    room: ClaimAllowance | None = None
    caps: FleetCaps | None = None


class RunControl(NamedTuple):
    """How the run of a worker is ended and watched.

    - `state`: returns the state of the crawl. `stop`: ends the run when it is set.
    - `surprise`: called when a visit raises an unexpected exception, with the visit's claim and the exception.
      The claims of the failed visit are neither settled nor renewed, so their leases expire.
    - `deadline`: returns the monotonic time at which the run ends, which may change.
    - `paused`: an event that is set while the crawl is paused. If a quality gate fails, this event is set
      immediately.
    """

    state: Callable[[], Awaitable[str]]
    stop: asyncio.Event
    surprise: Callable[[Claim, Exception], None]
    deadline: Callable[[], float | None] = lambda: None
    paused: asyncio.Event | None = None


class Worker:
    """The worker of one crawl.

    - `limits`: how much the worker may claim. `control`: how the run is ended and watched.
    - `score_keeper`: the worker's score (`worker_score`). `held_claims`: the file that lists the claims that the process
      holds.
    - `store_watch`: notices that the store may have lost writes.
    """

    def __init__(
        self,
        frontier: FrontierVerbs,
        visitor: MakesVisits,
        committer: Committer,
        *,
        limits: ClaimLimits,
        control: RunControl,
        score_keeper: ScoreKeeper | None = None,
        held_claims: ClaimLedger | None = None,
        store_watch: StoreWatch | None = None,
    ) -> None:
        self.limiter = limits.limiter or Limiter(limits.concurrency)
        self.frontier, self.visitor, self.committer = frontier, visitor, committer
        self.concurrency, self._deadline = limits.concurrency, control.deadline
        self.deadline = control.deadline()
        self.room, self.score_keeper = limits.room or SoleCrawlAllowance(self.limiter), score_keeper
        self.held: dict[tuple[int, int], Claim] = {}
        """All claims of this worker, keyed by bucket and token. The visit of a claim in `held` has not begun,
        is running, or waits for its commit."""
        self.busy = 0
        """Number of running visits."""
        self.outcome = ""
        """The reason for the end of the run: `finished`, `pages`, `bytes`, `time`, `stopped` or
        `cancelled`."""
        self._finishing = False
        self._paused = control.paused or asyncio.Event()
        self._state, self._stop, self._surprise = control.state, control.stop, control.surprise
        self._ready: deque[list[Claim]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._alone = False
        self._failed: Exception | None = None
        self._strange = ""
        self._starved: dict[str, int] = {}
        self._uncommitted = UncommittedVisits()
        # if the crawl has a byte limit, slots are freed only by the commit, which counts the bytes
        self._frees_early = committer.limits.seconds > 0
        self._claim_poller = ClaimPoller(frontier, limits.buckets, limits.caps, self._uncommitted)
        self.level = partial(current_level, self.limiter, self._claim_poller)
        """A function that returns how many visits may run at once now, and the limit that applies."""
        self._held_claims, self._store_watch = held_claims, store_watch
        self._keeper = LeaseKeeper(
            frontier, self.held, committer, self._claim_poller, self._uncommitted, held_claims
        )

    async def run(self) -> str:
        """Runs until the crawl ends or is stopped, and returns the outcome. Raises the errors of the store
        and of the sinks. Raises ConfigError if the frontier contains a request that this version of gossamer
        does not support."""

        def fail(error: GossamerError) -> None:
            self._failed = self._failed or error
            self._news.set()

        try:
            async with asyncio.TaskGroup() as group:
                commit, *keepers = (
                    group.create_task(report_failure(work, fail))
                    for work in (
                        self.committer.run(self._has_work, self._settled, self._needs_commit),
                        self._keeper.run(self._news.set),
                        self._watch(),
                    )
                )
                await self._crawl()
                ends = time.monotonic() + STOP_TIMEOUT_S + 1.0
                await self._drain()
                self.committer.close()
                # if the store is not reached in time, a later run visits the unsettled URLs again
                if self.frontier.patience.patient:
                    await unless_stopped(commit, self._stop, ends - time.monotonic())
                else:
                    await commit
                if self._failed is not None:
                    raise self._failed
                if self._held_claims is not None:
                    self._held_claims.keep(self.held)
                for keeper in keepers:
                    keeper.cancel()
        except BaseExceptionGroup as failed:
            error = failed.exceptions[0]
            if isinstance(error, GossamerError) and not isinstance(error, Away | StoreChanged):
                await self._return_held()
            raise error from None
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._strange:
            raise ConfigError(self._strange)
        return self.outcome

    async def _crawl(self) -> None:
        while not self.outcome:
            if self._failed is not None:
                raise self._failed
            if self.limiter.over:
                raise short_of(self.limiter.over)
            self._news.clear()
            if self._out and len(self._ready) > 1:
                self._return_all()
            self._begin()
            if self.frontier.patience.patient and self._claim_poller.next_at <= time.monotonic():
                limit = (
                    await unless_stopped(asyncio.create_task(self._claim()), self._stop, CLAIMS_IN_FLIGHT_S)
                    or ""
                )
            else:
                limit = await self._claim()
            if self._finishing and not self.paused and not self._ready and not self.frontier.patience.away:
                for one in await self.frontier.all_buckets.end_waits(MAX_ENDED_WAITS):
                    self._take(one.claims, one.sure)
            self._begin()
            if self._stop.is_set():
                self.outcome = "stopped"
            elif self.deadline is not None and time.monotonic() >= self.deadline:
                self.outcome = "time"
            elif not self.busy and not self._ready and self.committer.idle:
                if limit:
                    self.outcome = limit
                elif not self.paused and not self._claim_poller.waiting and await self._finished():
                    self.outcome = "finished"
            if not self.outcome:
                await self._rest()

    @property
    def _out(self) -> bool:
        return self.score_keeper is not None and self.score_keeper.out

    async def _claim(self) -> str:
        """Claims URLs while more claims are allowed and a bucket is due. Returns the name of the crawl limit
        that was reached, or ''."""
        limit = ""
        while True:
            busy = self.busy + len(self._ready)
            if self.paused or self.committer.full or self._stop.is_set():
                self.room.rests(busy)
                return ""
            want = offered = self.room.ask(busy)
            if self.score_keeper is not None and not (want := self.score_keeper.allowed(offered)) and offered:
                self.room.rests(busy)
            if not want:
                if not offered and not self._claim_poller.short:
                    self.limiter.need_more()
                if self._claim_poller.next_at > time.monotonic():
                    # no host of this crawl is due, so the other crawls of the process may claim more URLs
                    self.room.rests(busy)
                return ""
            got = await self._claim_poller.claims(want)
            if self._store_watch is not None and self._store_watch.is_changed:
                await self._store_watch.follow()
            claims = sum(len(one.claims) for one in got)
            self.room.took(claims)
            if self.score_keeper is not None:
                self.score_keeper.claimed(claims)
            for one in got:
                limit = one.limit or limit
                self._take(one.claims, one.sure)
            if not claims:
                return limit

    def _take(self, claims: list[Claim], sure: bool = True) -> None:
        """Queues new claims. If several URLs of a host were claimed together because many of them may be
        refused (gate claims), the claims form one batch. If `sure` is false, the claims may be missing on the
        replicas of the store, and a failover could lose the claims. Therefore these claims are requeued
        without a visit."""
        gates: dict[str, list[Claim]] = {}
        for claim in claims:
            if claim.strange:
                self._strange, self.outcome = claim.strange, "strange"
            if claim.strange or not sure:
                self._give_back(claim)
                continue
            self.held[claim.bucket, claim.token] = claim
            if claim.kind == "gate":
                gates.setdefault(claim.host, []).append(claim)
            else:
                self._ready.append([claim])
        self._ready.extend(gates.values())
        if self._held_claims is not None and claims:
            self._held_claims.note(claims, self.held)

    def _begin(self) -> None:
        """Starts visits while more visits are allowed. A URL whose visits have repeatedly killed workers
        waits until no other visit runs."""
        for _ in range(len(self._ready)):
            if self.busy >= self.concurrency or self.busy >= self.limiter.visits or self._alone:
                return
            batch = self._ready.popleft()
            if batch[0].crashes >= ALONE_AFTER_DEATHS and (self.busy or not self.committer.idle):
                self._ready.append(batch)
                continue
            self.busy += 1
            task = asyncio.create_task(self._visit(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            self._alone = batch[0].crashes >= ALONE_AFTER_DEATHS

    async def _visit(self, batch: list[Claim]) -> None:
        done: set[int] = set()
        through = False

        def put(visit: Visit) -> None:
            nonlocal through
            through = through or visit.settle.end != ClaimEnd.REQUEUED
            done.add(visit.claim.token)
            if self.score_keeper is not None:
                self.score_keeper.saw(visit)
            self.committer.put(visit)
            if self._frees_early:
                self._uncommitted.add(visit)

        try:
            await self.visitor.visit(batch, put)
            if through and not self.limiter.is_calm:
                self.limiter.record_success()
        # the graceful stop timed out, so the URL is requeued as if its visit had not begun, except that the
        # request is counted
        except asyncio.CancelledError:
            for claim in batch:
                if claim.token not in done and claim.kind != "robots":
                    put(Visit(claim, _returned(claim.token, claim)))
        except Exception as error:  # noqa: BLE001 - a bug in one visit is logged; the others go on
            if self._short(error, batch, done, put):
                return
            if not isinstance(error, RightsMissing):  # a right is missing, whatever the page
                for claim in batch:
                    if claim.token not in done:
                        self.held.pop((claim.bucket, claim.token), None)
            self._surprise(batch[0], error)
            # the worker stops, because these errors are not caused by a page
            if isinstance(error, GossamerError | OSError | MemoryError):
                self._failed = self._failed or error
        finally:
            if batch[0].kind == "robots":
                self.held.pop((batch[0].bucket, batch[0].token), None)
                self._claim_poller.touch(batch[0].bucket)
            self.busy -= 1
            self._alone = False
            self._news.set()

    def _short(
        self, error: Exception, batch: list[Claim], done: set[int], put: Callable[[Visit], None]
    ) -> bool:
        """Returns whether a visit failed because this process ran short of a resource, and requeues the
        claims of such a visit."""
        what = own_limit(error)
        url = batch[0].request.url
        if not what or self._starved.get(url, 0) >= MAX_MEMORY_FAILURES:
            return False
        if isinstance(error, MemoryError):  # the page may be too large, so the number of retries is limited
            self._starved[url] = self._starved.get(url, 0) + 1
        self.limiter.short(what)
        for claim in batch:
            if claim.token not in done and claim.kind != "robots":
                put(Visit(claim, Settle(claim.token, ClaimEnd.REQUEUED, since=0, host_wait=SHORT_MS)))
        return True

    @property
    def paused(self) -> bool:
        """Whether the crawl is paused."""
        return self._paused.is_set()

    def _has_work(self) -> bool:
        return not self._claim_poller.dry

    def _needs_commit(self) -> bool:
        """Returns whether the crawl can continue only after a commit. If no visit runs and no host waits,
        only the commit of waiting visits can add new URLs."""
        if self.busy or self._ready or self._claim_poller.waiting:
            return False
        return any(visit.settle.end for visit in self.committer.waiting)

    def _settled(self, visits: list[Visit]) -> None:
        for visit in visits:
            self.held.pop((visit.claim.bucket, visit.claim.token), None)
            self._uncommitted.settled(visit)
            self._claim_poller.touch(visit.claim.bucket)
        if self._store_watch is not None:
            self._store_watch.settled[visits[-1].claim.bucket] = visits[-1].claim.token
        self._news.set()

    async def _rest(self) -> None:
        """Sleeps until a visit ends, a commit ends, or a bucket becomes due."""
        away = self.paused or self._out or self.frontier.patience.away or self.committer.full
        pause = TICK_S if away else self._claim_poller.next_at - time.monotonic()
        longest = TICK_S if self.busy or self._ready else MAX_IDLE_SLEEP_S
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(max(pause, 0.001), longest)):
                await self._news.wait()

    async def _finished(self) -> bool:
        """Returns whether the crawl is finished. A crawl is finished if two consecutive checks find no open
        URL, and no URL was added between the two checks."""
        before = -1
        for _ in range(2):
            await self.frontier.all_buckets.requeue_expired()
            try:
                is_open, added = await self.frontier.all_buckets.left()
            except Away as error:
                self.frontier.patience.note(error)
                return False
            if is_open:
                return False
            if before == added:
                return True
            before = added
        return False

    async def _watch(self) -> None:
        """Every STATE_INTERVAL_S seconds, reads the crawl's state and checks the free memory."""
        while True:
            await asyncio.sleep(STATE_INTERVAL_S)
            state = await self._state()
            self.deadline = self._deadline()
            if state == "paused":
                self._paused.set()
            else:
                self._paused.clear()
            self._finishing = state == "finishing"
            self.outcome = self.outcome or ENDS.get(state, "")
            self._news.set()
            if memory_short():
                self.limiter.short(OWN_LIMITS[errno.ENOMEM], measured=True)

    def _give_back(self, claim: Claim) -> None:
        """Requeues a claim whose visit has not begun. Does not requeue a robots.txt claim."""
        if claim.kind != "robots":
            self.committer.put(Visit(claim, Settle(claim.token, ClaimEnd.REQUEUED)))

    def _return_all(self) -> None:
        """Requeues all claims whose visits have not begun, except robots.txt claims. If the worker has
        excluded itself from new claims and the run continues, the worker keeps its robots.txt claims and
        visits them. When the run ends, robots.txt claims are dropped and their leases expire."""
        kept = [batch for batch in self._ready if batch[0].kind == "robots" and not self._stop.is_set()]
        for batch in self._ready:
            for claim in batch:
                self._give_back(claim)
        self._ready = deque(kept if not self.outcome else ())

    async def _return_held(self) -> None:
        """Requeues all claims of a worker that fails, except robots.txt claims. If their leases expired
        instead, each URL would count as having killed a worker. Ignores the errors of the store."""
        held = {name: claim for name, claim in self.held.items() if claim.kind != "robots"}
        with contextlib.suppress(GossamerError, TimeoutError):
            async with asyncio.timeout(RETURN_TIMEOUT_S):
                while held:
                    ends: dict[int, list[Settle]] = {}
                    for (bucket, token), claim in held.items():
                        ends.setdefault(bucket, []).append(_returned(token, claim))
                    commits = [Commit(bucket, some, {}, {}) for bucket, some in ends.items()]
                    outcomes = await self.frontier.settle_all(commits)
                    lost = [
                        (commit.bucket, token)
                        for commit, outcome in zip(commits, outcomes, strict=True)
                        if isinstance(outcome, Stale)
                        for token in outcome.tokens
                    ]
                    if not lost:
                        break
                    for name in lost:
                        held.pop(name, None)

    async def _drain(self) -> None:
        """Requeues claims whose visits have not begun, waits for running visits, and cancels the visits that
        are still running after STOP_TIMEOUT_S seconds."""
        self._return_all()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_TIMEOUT_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _returned(token: int, claim: Claim) -> Settle:
    """Returns the record that requeues a claim as if its visit had not begun, except that a request is
    counted."""
    return Settle(token, ClaimEnd.REQUEUED, since=0, delay=round(claim.delay * 1000))


async def report_failure(work: Coroutine[Any, Any, None], fail: Callable[[GossamerError], None]) -> None:
    """Runs a task beside the visits. If the task fails, calls `fail`, so that the worker ends as soon as the reply
    to its running claim has arrived. If the error cancelled the claim, the leases of the claimed URLs would
    expire, and each URL would count as having killed a worker."""
    try:
        await work
    except GossamerError as error:
        fail(error)


async def unless_stopped(work: asyncio.Task[Result], stop: asyncio.Event, seconds: float) -> Result | None:
    """Returns the result of `work`. After `stop` is set, waits at most `seconds` for the result, and returns
    None if `work` has not finished, for example because the store is unavailable."""
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait((work,), timeout=max(0.0, seconds))
        return work.result() if work.done() else None
    finally:
        stopped.cancel()
        work.cancel()

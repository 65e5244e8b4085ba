"""The worker: one loop that claims, keeps up to `concurrency` visits going, commits what they bring, renews its leases.

It holds caches only. What it had not begun when it is stopped goes back to the front of its queue.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.errors import GossamerError
from gossamer.parts import Frontier
from gossamer.road.committer import Committer
from gossamer.road.merit import Merit
from gossamer.road.room import Alone, Caps, Room
from gossamer.visit import Claim, Settle, Visit

RENEW, SWEEP, LOOK, TICK = 10.0, 5.0, 0.5, 0.2
"""Seconds between renewals of all leases, sweeps, looks at the crawl's state, and turns of the keeper."""
CAPPED = 0.02
"""Seconds between looks whether a cap leaves something."""
GRACE = 8.0
"""Seconds that a graceful stop waits for requests under way."""
ALONE = 3
"""A URL whose worker died this often runs when nothing else does."""
ENDS = {
    "stopping": "stopped", "cancelling": "cancelled", "stopped": "stopped", "cancelled": "cancelled", "failed": "stopped",
    "ending": "stopped", "finished": "stopped", "limited": "stopped",
}  # fmt: skip
"""States in which nothing is claimed any more, and what that makes of a worker's run."""


class Visitor(Protocol):
    """Makes visits. A batch of several is a gate: at most one is visited, the refused end, the rest go back."""

    async def visit(self, batch: list[Claim], put: Callable[[Visit], None]) -> None: ...


class Worker:
    """One crawl's worker. `state` tells the crawl's state; `surprise` hears of exceptions, whose claims are left to expire."""

    def __init__(
        self, frontier: Frontier, visitor: Visitor, committer: Committer, *, buckets: int, concurrency: int,
        state: Callable[[], Awaitable[str]], stop: asyncio.Event, surprise: Callable[[Claim, Exception], None],
        deadline: float | None = None, room: Room | None = None, caps: Caps | None = None, merit: Merit | None = None,
    ) -> None:  # fmt: skip
        self.frontier, self.visitor, self.committer = frontier, visitor, committer
        self.buckets, self.concurrency, self.deadline = buckets, concurrency, deadline
        self.room = room or Alone(concurrency)
        self.caps, self.merit = caps, merit
        self.held: dict[int, Claim] = {}
        """Claims that are ours: not begun yet, under way, or waiting for their commit."""
        self.busy = 0
        """Visits under way."""
        self.outcome = ""
        """Why it ended: finished, pages, bytes, time, stopped, cancelled."""
        self._state, self._stop, self._surprise = state, stop, surprise
        self._ready: deque[list[Claim]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._paused = False
        self._alone = False
        self._failed: Exception | None = None
        self._ask_at = [0.0] * buckets
        self._landed: set[int] = set()

    async def run(self) -> str:
        """Work until the crawl ends or is stopped; returns `outcome`. Raises what the store or the sinks raise."""
        self.committer.on_settled = self._settled
        try:
            async with asyncio.TaskGroup() as group:
                commit = group.create_task(self.committer.run())
                keeper = group.create_task(self._keep())
                await self._crawl()
                await self._drain()
                self.committer.close()
                await commit
                keeper.cancel()
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self.outcome

    async def _crawl(self) -> None:
        while not self.outcome:
            if self._failed is not None:
                raise self._failed
            self._news.clear()
            if self._out and len(self._ready) > 1:
                self._give_back()
            self._begin()
            limit = await self._claim()
            self._begin()
            if self._stop.is_set():
                self.outcome = "stopped"
            elif self.deadline is not None and time.monotonic() >= self.deadline:
                self.outcome = "time"
            elif not self.busy and not self._ready and self.committer.idle:
                if limit:
                    self.outcome = limit
                elif not self._paused and await self._finished():
                    self.outcome = "finished"
            if not self.outcome:
                await self._rest()

    @property
    def _out(self) -> bool:
        return self.merit is not None and self.merit.out

    async def _claim(self) -> str:
        """Ask the buckets whose time has come; returns the limit that is reached, or ''."""
        limit = ""
        for bucket in range(self.buckets):
            want = self.room.ask(self.busy + len(self._ready))
            if self.merit is not None:
                want = self.merit.allowed(want)
            now = time.monotonic()
            if self._paused or self.committer.full or not want or self._stop.is_set():
                return ""
            if now < self._ask_at[bucket]:
                continue
            free = want if self.caps is None else await self.caps.take(want)
            if not free:
                self._ask_at[bucket] = time.monotonic() + CAPPED
                continue
            got = await self.frontier.claim(bucket, free)
            self.room.took(len(got.claims))
            if self.merit is not None:
                self.merit.claimed(len(got.claims))
            if self.caps is not None:
                await self.caps.back(free - len(got.claims))
            limit = got.limit or limit
            wait = (got.next_at - got.now) / 1000 if got.next_at >= 0 else TICK
            self._ask_at[bucket] = time.monotonic() + (min(max(wait, 0.0), TICK) if len(got.claims) < free else 0.0)
            self._take(got.claims)
        return limit

    def _take(self, claims: list[Claim]) -> None:
        """Queue new claims; those of one gate stay together."""
        gates: dict[str, list[Claim]] = {}
        for claim in claims:
            self.held[claim.token] = claim
            if claim.kind == "gate":
                gates.setdefault(claim.host, []).append(claim)
            else:
                self._ready.append([claim])
        self._ready.extend(gates.values())

    def _begin(self) -> None:
        """Start visits while there is room; a URL that killed its workers waits until nothing else runs."""
        for _ in range(len(self._ready)):
            if self.busy >= self.concurrency or self._alone:
                return
            batch = self._ready.popleft()
            if batch[0].crashes >= ALONE and (self.busy or not self.committer.idle):
                self._ready.append(batch)
                continue
            self.busy += 1
            task = asyncio.create_task(self._visit(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            self._alone = batch[0].crashes >= ALONE

    async def _visit(self, batch: list[Claim]) -> None:
        done: set[int] = set()

        def put(visit: Visit) -> None:
            done.add(visit.claim.token)
            if self.merit is not None:
                self.merit.saw(visit)
            self.committer.put(visit)

        try:
            await self.visitor.visit(batch, put)
        except asyncio.CancelledError:  # a forced end of a graceful stop: as if it had not begun, but asked just now
            for claim in batch:
                if claim.token not in done and claim.kind != "robots":
                    put(Visit(claim, Settle(claim.token, "b", since=0, delay=round(claim.delay * 1000))))
        except Exception as error:  # noqa: BLE001 - a bug met on one page is kept; the others go on
            for claim in batch:
                if claim.token not in done:
                    self.held.pop(claim.token, None)
            self._surprise(batch[0], error)
            if isinstance(error, GossamerError | OSError | MemoryError):  # no page's fault: nothing goes on from here
                self._failed = self._failed or error
        finally:
            if batch[0].kind == "robots":
                self.held.pop(batch[0].token, None)
                self._ask_at[batch[0].bucket] = 0.0
            self.busy -= 1
            self._alone = False
            self._news.set()

    def _settled(self, visits: list[Visit]) -> None:
        for visit in visits:
            self.held.pop(visit.claim.token, None)
            self._landed.discard(visit.claim.token)
            self._ask_at[visit.claim.bucket] = 0.0
        self._news.set()

    async def _rest(self) -> None:
        """Sleep until a visit ends, a commit returns, or a bucket's time has come."""
        pause = max(0.0, min(self._ask_at) - time.monotonic()) if not self._paused and not self._out else TICK
        try:
            async with asyncio.timeout(min(max(pause, 0.001), TICK)):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _finished(self) -> bool:
        """Two sweeps that find nothing open and nothing added between them."""
        before = -1
        for _ in range(2):
            total = 0
            for bucket in range(self.buckets):
                _, is_open, added, _ = await self.frontier.sweep(bucket)
                if is_open:
                    return False
                total += added
            if before == total:
                return True
            before = total
        return False

    async def _keep(self) -> None:
        """Renew leases, sweep, look at the crawl's state, free hosts while a sink is slow."""
        renewed = swept = looked = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            if now - looked >= LOOK:
                looked = now
                state = await self._state()
                self._paused = state == "paused"
                self.outcome = self.outcome or ENDS.get(state, "")
            if now - renewed >= RENEW:
                renewed = now
                await self._renew()
            if now - swept >= SWEEP:
                swept = now
                for bucket in range(self.buckets):
                    await self.frontier.sweep(bucket)
            await self._free_hosts()
            self._news.set()

    async def _renew(self) -> None:
        by_bucket: dict[int, list[int]] = {}
        for token, claim in self.held.items():
            by_bucket.setdefault(claim.bucket, []).append(token)
        for bucket, tokens in by_bucket.items():
            for token in await self.frontier.renew(bucket, tokens):
                self.held.pop(token, None)

    async def _free_hosts(self) -> None:
        """What is over but not durable for a while keeps no host waiting."""
        late = time.monotonic() - TICK
        by_bucket: dict[int, list[Visit]] = {}
        for visit in self.committer.unsettled():
            if visit.settle.action and visit.put_at < late and visit.claim.token not in self._landed:
                by_bucket.setdefault(visit.claim.bucket, []).append(visit)
        for bucket, visits in by_bucket.items():
            self._landed.update(visit.claim.token for visit in visits)
            await self.frontier.landed(bucket, [visit.ends(time.monotonic()) for visit in visits])
            self._ask_at[bucket] = 0.0

    def _give_back(self) -> None:
        """What was not begun goes back; robots claims run out, or (a worker that took itself out) are made."""
        kept = [batch for batch in self._ready if batch[0].kind == "robots" and not self._stop.is_set()]
        for batch in self._ready:
            for claim in batch:
                if claim.kind != "robots":
                    self.committer.put(Visit(claim, Settle(claim.token, "b")))
        self._ready.clear()
        self._ready.extend(kept if not self.outcome else ())

    async def _drain(self) -> None:
        """Give back what was not begun, wait for what is under way, end the rest."""
        self._give_back()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

"""One run from its time to its end: taken in hand, launched, confirmed, watched, ended; each step compared
and set in the store.

A launch that was not confirmed is made again by whoever leads then: the crawl of a run has one name, and
launching a crawl that is there goes on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import msgspec

from gossamer.app.job import Job
from gossamer.app.runner import crawl as crawl_here
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError, InUse, StoreError
from gossamer.frontier.crawls import ENDED, Crawls
from gossamer.frontier.producer_positions import broken_off
from gossamer.frontier.summary import summary as summary_of
from gossamer.model.summary import Summary
from gossamer.scheduler.jobs import job_of
from gossamer.state.schedules import ScheduledRun, Schedules
from gossamer.store.store import Store

LOOK, AGAIN = 1.0, 5.0
"""Seconds between looks at a crawl that runs elsewhere; before a store that failed is asked again."""

Say = Callable[..., None]
"""Says an event: its name, then facts by name."""
Judge = Callable[[list[str], Summary], list[str]]
"""The gates of `--fail-on` that a summary does not meet."""


class RunOutcome(NamedTuple):
    """How a crawl ended: its state, why, and its summary when it has one."""

    state: str
    reason: str = ""
    summary: Summary | None = None


class Crawler(Protocol):
    """Where crawls run. `most`: how many at once."""

    most: int

    async def crawl(self, job: Job, confirm: Callable[[], Awaitable[None]]) -> RunOutcome | None:
        """See a crawl through, begun before or not; `confirm` is called once it is under way. None: we are to
        stop."""


class Here:
    """Crawls run in this process."""

    def __init__(self, store: Store, stop: asyncio.Event, most: int) -> None:
        self._store, self._stop, self.most = store, stop, most

    async def crawl(self, job: Job, confirm: Callable[[], Awaitable[None]]) -> RunOutcome | None:
        """Run it; when another process does so already, wait for its end."""
        while not self._stop.is_set():
            await confirm()
            try:
                summary = await crawl_here(job, stop=self._stop)
            except InUse:
                await pause(self._stop, LOOK)
                over = await ended(self._store, job.name or "")
                if over is not None:
                    return over
                continue
            if self._stop.is_set() and summary.state == "stopped":
                return None  # it goes on with the next scheduler
            return RunOutcome(summary.state, summary.reason or "", summary)
        return None


class Fleet:
    """Crawls are launched on a fleet and watched. `launch` may be called again for a crawl that is there."""

    most = 1_000_000

    def __init__(self, store: Store, stop: asyncio.Event, launch: Callable[[Job], Awaitable[str]]) -> None:
        self._store, self._stop, self._launch = store, stop, launch

    async def crawl(self, job: Job, confirm: Callable[[], Awaitable[None]]) -> RunOutcome | None:
        """Launch it unless it is there with all its seeds, and watch it; a list that its door did not read to
        the end is gone on with."""
        name = job.name or ""
        record = await Crawls(self._store).get(name)
        if record is None or (not record.seeded and record.state not in ENDED):
            await self._put(job)
        await confirm()
        while not self._stop.is_set():
            over = await ended(self._store, name)
            if over is not None:
                return over
            if (
                await broken_off(self._store, name)
                and (await Crawls(self._store).state(name))[0] == "running"
            ):
                await self._put(job)
            await pause(self._stop, LOOK)
        return None

    async def _put(self, job: Job) -> None:
        """Until all that it holds is in, or we are to stop: then the next scheduler goes on with it."""
        work, end = asyncio.ensure_future(self._launch(job)), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for one in (work, end):
                one.cancel()
            await asyncio.gather(work, end, return_exceptions=True)


async def ended(store: Store, name: str) -> RunOutcome | None:
    """How a crawl ended, None while it goes on or has not begun."""
    record = await Crawls(store).get(name)
    if record is None or record.state not in ENDED:
        return None
    return RunOutcome(record.state, record.reason or "", await summary_of(store, name, hosts=0))


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Sleep, but wake up when we are to stop."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


class Conductor:
    """Sees runs through. `token` and `now` are kept by the loop; `open` are the runs that have not ended, as
    the store has them."""

    def __init__(
        self,
        schedules: Schedules,
        crawler: Crawler,
        settings: Settings,
        say: Say,
        stop: asyncio.Event,
        judge: Judge,
    ) -> None:
        self.schedules, self.crawler, self.say, self.stop = schedules, crawler, say, stop
        self._settings, self._judge = settings, judge
        self.token = 0
        self.open: dict[tuple[str, str], ScheduledRun] = {}
        self._heard = (0.0, 0.0)

    def hear(self, now: float) -> None:
        """The store's clock, just read."""
        self._heard = (now, time.monotonic())

    def now(self) -> float:
        """The store's clock."""
        then, at = self._heard
        return then + time.monotonic() - at

    async def conduct(self, name: str, run: ScheduledRun) -> None:
        """See a run to its end; left as it is when the lead is lost or we are to stop."""
        again = run.state != "waiting"
        taken = await self._turn(name, run, state="launching", begun=run.begun or self.now())
        if taken is None:
            return
        late = round(self.now() - run.at) if not again else None
        self.say("taken up" if again else "begun", schedule=name, crawl=run.crawl, due=run.due, late=late)
        outcome = await self._crawl(name, run.field, taken)
        if outcome is None:
            self.say("left", schedule=name, crawl=run.crawl)
            return
        if (was := self.open.get((name, run.field))) is not None:
            facts = {
                "state": outcome.state,
                "reason": outcome.reason[:500],
                "ended": self.now(),
                "task": None,
            }
            if await self._turn(name, was, **facts) is not None:
                self.say(
                    "ended",
                    schedule=name,
                    crawl=run.crawl,
                    state=outcome.state,
                    reason=outcome.reason or None,
                )

    async def _crawl(self, name: str, field: str, run: ScheduledRun) -> RunOutcome | None:
        """The crawl of a run; what goes wrong with it is its outcome, only a store that is away is asked
        again."""

        async def confirm() -> None:
            was = self.open.get((name, field))
            if was is not None and was.state == "launching":
                await self._turn(name, was, state="launched")

        assert run.task is not None
        told = False
        while not self.stop.is_set():
            try:
                job = job_of(run.task, self._settings, run.crawl)
                outcome = await self.crawler.crawl(job, confirm)
                if outcome is None or outcome.summary is None or outcome.state not in ("finished", "limited"):
                    return outcome
                if bad := self._judge(job.gates, outcome.summary):
                    return outcome._replace(state="gate", reason=f"the gate is not met: {'; '.join(bad)}")
                return outcome
            except StoreError as error:
                if not told:
                    self.say("waits", schedule=name, crawl=run.crawl, reason=str(error))
                told = True
                await pause(self.stop, AGAIN)
            except GossamerError as error:
                return RunOutcome("failed", str(error))
            except Exception as error:  # noqa: BLE001 - a bug met by one crawl ends neither the others nor the scheduler
                return RunOutcome("failed", f"a bug: {traceback.format_exception_only(error)[-1].strip()}")
        return None

    async def _turn(self, name: str, was: ScheduledRun, **facts: object) -> ScheduledRun | None:
        """One step; None when somebody else made another, or the lead is lost. Waits for a store that is
        away."""
        now = msgspec.structs.replace(was, **facts)
        while True:
            try:
                done = await self.schedules.turn(self.token, name, was, now)
                break
            except GossamerError:  # it is away, or its disk is full: the loop says so
                if self.stop.is_set():
                    return None
                await pause(self.stop, LOOK)
        if done == 1 and now.ended is None:
            self.open[name, now.field] = now
        elif done >= 0:
            self.open.pop((name, now.field), None)
        return now if done == 1 else None

"""Follows one run of a schedule through its states. The states are `waiting`, `launching`, `launched`, and a
final state. The final state of the run is `gate` if the crawl does not meet a gate, otherwise the final state
of the crawl. Each step is a compare-and-set in the store.

If a launch was not confirmed, the current leader repeats the launch. This is safe because a run always uses
the same name for its crawl. Launching an existing crawl continues this crawl.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

import msgspec

from gossamer.app.job import Job
from gossamer.app.run_comparison import is_unlike
from gossamer.app.runner import crawl as crawl_here
from gossamer.config.settings import Settings
from gossamer.errors import GateNotMet, GossamerError, InUse, StoreError, UnlikeGoodRuns
from gossamer.frontier.crawls import ENDED, Crawls
from gossamer.frontier.producer_positions import unfinished_producers
from gossamer.frontier.summary import summary as summary_of
from gossamer.model.summary import Summary
from gossamer.scheduler.jobs import job_of, start_of
from gossamer.state.schedules import ScheduledRun, Schedules
from gossamer.state.slots import TaskLead
from gossamer.store.store import Store

CHECK_INTERVAL_S, RETRY_INTERVAL_S = 1.0, 5.0
"""CHECK_INTERVAL_S: seconds between two checks of a crawl that runs elsewhere. RETRY_INTERVAL_S: after an
outage of the store, the run is tried again after this many seconds."""

Say = Callable[..., None]
"""A function that logs an event. The first argument of the function is the name of the event, and the keyword
arguments are the fields of the event."""


class RunOutcome(NamedTuple):
    """The outcome of a crawl or a command. `state`: the final state. `reason`: the reason for this state.
    `summary`: the summary of the crawl, or None if there is no summary. `exit_code`: the exit code of a command or
    of a crawl that failed, otherwise None."""

    state: str
    reason: str = ""
    summary: Summary | None = None
    exit_code: int | None = None


class Crawler(Protocol):
    """The interface of an object that runs crawls. `most`: the maximum number of crawls at once."""

    most: int

    async def crawl(
        self, job: Job, confirm: Callable[[], Awaitable[None]], *, anew: bool = False
    ) -> RunOutcome | None:
        """Runs a crawl to its end, or continues a crawl that was started before. `confirm` is called once the
        crawl is running. `anew`: whether the crawl must be launched again although an earlier run created the
        crawl. Returns None if the scheduler is stopping."""


class ScheduledCommands(Protocol):
    """The interface of an object that runs commands (`scheduler.commands.CommandRunner`). `most`: the maximum
    number of commands at once."""

    most: int

    def log_of(self, name: str, run: ScheduledRun) -> str:
        """Returns the place of the run's output."""

    def lease(self, name: str, run: ScheduledRun) -> AbstractAsyncContextManager[TaskLead | None]:
        """A context manager that makes this process the only one that works on the run."""

    async def let_other_end(self, now: Callable[[], float]) -> None:
        """Waits until the command of another scheduler has ended."""

    async def command(
        self, name: str, run: ScheduledRun, lease: TaskLead, *, again: bool = False
    ) -> RunOutcome | None:
        """Runs the command to its end. Returns None if the command was stopped and must be started again. `again`:
        whether another scheduler may have started the command."""


class LocalCrawler:
    """A `Crawler` that runs crawls in this process."""

    def __init__(self, store: Store, stop: asyncio.Event, most: int) -> None:
        self._store, self._stop, self.most = store, stop, most

    async def crawl(
        self, job: Job, confirm: Callable[[], Awaitable[None]], *, anew: bool = False
    ) -> RunOutcome | None:
        """Runs the crawl. If another process is running the crawl, waits until the crawl ends or the other
        process stops."""
        while not self._stop.is_set():
            await confirm()
            try:
                summary = await crawl_here(job, stop=self._stop)
            except InUse:
                await pause_before_retry(self._stop, CHECK_INTERVAL_S)
                over = await run_outcome(self._store, job.name or "")
                if over is not None:
                    return over
                continue
            if self._stop.is_set() and summary.state == "stopped":
                return None  # the next leader continues the crawl
            return RunOutcome(summary.state, summary.reason or "", summary)
        return None


class Fleet:
    """A `Crawler` that launches crawls on a fleet and watches them. `launch` may be called again for a crawl
    that exists."""

    most = 1_000_000

    def __init__(self, store: Store, stop: asyncio.Event, launch: Callable[[Job], Awaitable[str]]) -> None:
        self._store, self._stop, self._launch = store, stop, launch

    async def crawl(
        self, job: Job, confirm: Callable[[], Awaitable[None]], *, anew: bool = False
    ) -> RunOutcome | None:
        """Launches the crawl and watches it. If the crawl exists and all its seeds have been read, launches
        the crawl only if `anew` is set. If an earlier launch was interrupted before the whole list of seeds
        was read, launches the crawl again to read the rest of the list."""
        name = job.name or ""
        record = await Crawls(self._store).get(name)
        if record is None or anew or (not record.seeded and record.state not in ENDED):
            await self._put(job)
        await confirm()
        while not self._stop.is_set():
            over = await run_outcome(self._store, name)
            if over is not None:
                return over
            if (
                await unfinished_producers(self._store, name)
                and (await Crawls(self._store).state(name))[0] == "running"
            ):
                await self._put(job)
            await pause_before_retry(self._stop, CHECK_INTERVAL_S)
        return None

    async def _put(self, job: Job) -> None:
        """Launches the crawl, and returns when all its seeds are in the frontier. Also returns if the
        scheduler is stopping. The next leader then continues the launch."""
        work, end = asyncio.ensure_future(self._launch(job)), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((work, end), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for one in (work, end):
                one.cancel()
            await asyncio.gather(work, end, return_exceptions=True)


async def run_outcome(store: Store, name: str) -> RunOutcome | None:
    """Returns the outcome of a crawl, or None if the crawl is running or has not started."""
    record = await Crawls(store).get(name)
    if record is None or record.state not in ENDED:
        return None
    return RunOutcome(record.state, record.reason or "", await summary_of(store, name, hosts=0))


async def pause_before_retry(stop: asyncio.Event, seconds: float) -> None:
    """Sleeps for `seconds`, or until `stop` is set."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


def missed_gates(gates: list[str], summary: Summary) -> list[str]:
    """Returns the `--fail-on` gates that a crawl has missed, according to the crawl's summary."""
    from gossamer.app import quality_gate_setup

    return quality_gate_setup.unmet_gates(quality_gate_setup.gates(gates, ()), summary)


class RunSupervisor:
    """Follows the runs of all schedules to their ends.

    The scheduler's loop keeps `token` (the fencing token of the lead) and the store's clock up to date.
    `open`: the stored runs that have not ended. The key of a run is a pair: the name of the schedule and
    `ScheduledRun.field`.
    """

    def __init__(
        self,
        schedules: Schedules,
        crawler: Crawler,
        commands: ScheduledCommands,
        settings: Settings,
        say: Say,
        stop: asyncio.Event,
    ) -> None:
        self.schedules, self.crawler, self.say, self.stop = schedules, crawler, say, stop
        self.commands = commands
        self._settings = settings
        self.token = 0
        self.open: dict[tuple[str, str], ScheduledRun] = {}
        self._heard = (0.0, 0.0)

    def lead(self, token: int) -> None:
        """Writes from now on with this token of the lead, or 0 if another scheduler leads."""
        self.token = token

    def follow(self, runs: dict[tuple[str, str], ScheduledRun]) -> None:
        """Replaces the open runs, keyed by the name of the schedule and the field of the run."""
        self.open = runs

    def set_clock(self, now: float) -> None:
        """Sets this process's copy of the store's clock. `now`: a time that was just read from the store."""
        self._heard = (now, time.monotonic())

    def now(self) -> float:
        """Returns the store's time in seconds since the epoch."""
        then, at = self._heard
        return then + time.monotonic() - at

    async def conduct(self, name: str, run: ScheduledRun) -> None:
        """Follows a run to its end. If the lead is lost or the scheduler is stopping, the run keeps its
        state."""
        again = run.state != "waiting"
        taken = await self._turn(name, run, state="launching", begun=run.begun or self.now())
        if taken is None:
            return
        late = round(self.now() - run.at) if not again else None
        told = {"schedule": name, "crawl": run.crawl or None, "log": None}
        assert taken.task is not None
        if taken.task.command:
            told["log"] = self.commands.log_of(name, taken)
        self.say("taken up" if again else "begun", due=run.due, late=late, **told)
        if taken.task.command:
            await self._conduct_command(name, taken, again, told)
            return
        await self._end(name, run, await self._crawl(name, run.field, taken), told)

    async def _end(
        self, name: str, run: ScheduledRun, outcome: RunOutcome | None, told: dict[str, str | None]
    ) -> None:
        """Records the end of a run. `told`: the facts of the run for the event. If `outcome` is None, the run
        stays open for the next scheduler."""
        if outcome is None:
            self.say("left", **told)
            return
        if (was := self.open.get((name, run.field))) is None:
            return
        facts: dict[str, object] = {"state": outcome.state, "reason": outcome.reason[:500]}
        facts |= {"ended": self.now(), "task": None}
        code = outcome.exit_code
        if code is not None:
            facts["exit_code"] = code
        if await self._turn(name, was, **facts) is not None:
            self.say("ended", state=outcome.state, exit_code=code, reason=outcome.reason or None, **told)

    async def _conduct_command(
        self, name: str, run: ScheduledRun, again: bool, told: dict[str, str | None]
    ) -> None:
        """Runs the command of a run, and records its end before another process may work on the run. If the
        store cannot be reached, tries again later. `again`: whether another scheduler began the run."""
        while not self.stop.is_set():
            try:
                async with self.commands.lease(name, run) as lease:
                    if lease is None:
                        await self._end(name, run, None, told)
                        return
                    if again:
                        await self.commands.let_other_end(self.now)
                    await self._end(name, run, await self._command(name, run, lease, again), told)
                    return
            except StoreError as error:
                self.say("waits", reason=str(error), **told)
                again = True
                await pause_before_retry(self.stop, RETRY_INTERVAL_S)

    async def _command(self, name: str, run: ScheduledRun, lease: TaskLead, again: bool) -> RunOutcome | None:
        was = self.open.get((name, run.field))
        if was is None or self.stop.is_set():
            return None
        launched = await self._turn(name, was, state="launched", log=self.commands.log_of(name, run))
        if launched is None:
            return None
        try:
            return await self.commands.command(name, launched, lease, again=again)
        except StoreError:
            raise
        except GossamerError as error:
            return RunOutcome("failed", str(error), exit_code=error.exit_code)
        except Exception as error:  # noqa: BLE001 - a bug met by one command ends neither the others nor the scheduler
            return RunOutcome("failed", f"a bug: {traceback.format_exception_only(error)[-1].strip()}")

    async def _crawl(self, name: str, field: str, run: ScheduledRun) -> RunOutcome | None:
        """Runs the crawl that belongs to a run, and returns the outcome of the crawl. If the store cannot be
        reached, waits and then runs the crawl again. For any other error, the outcome is `failed`. Returns
        None if the scheduler is stopping."""

        async def confirm() -> None:
            was = self.open.get((name, field))
            if was is not None and was.state == "launching":
                await self._turn(name, was, state="launched")

        assert run.task is not None
        told = False
        while not self.stop.is_set():
            try:
                job = job_of(run.task, self._settings, run.crawl)
                job, anew = await start_of(self.schedules.store, job, run.begun or run.due)
                outcome = await self.crawler.crawl(job, confirm, anew=anew)
                if outcome is None or outcome.summary is None or outcome.state not in ("finished", "limited"):
                    return outcome
                if is_unlike(outcome.reason):
                    return outcome._replace(state="gate", exit_code=UnlikeGoodRuns.exit_code)
                if bad := missed_gates(job.gates, outcome.summary):
                    reason = f"the gate is not met: {'; '.join(bad)}"
                    return outcome._replace(state="gate", reason=reason, exit_code=GateNotMet.exit_code)
                return outcome
            except StoreError as error:
                if not told:
                    self.say("waits", schedule=name, crawl=run.crawl, reason=str(error))
                told = True
                await pause_before_retry(self.stop, RETRY_INTERVAL_S)
            except GossamerError as error:
                return RunOutcome("failed", str(error), exit_code=error.exit_code)
            except Exception as error:  # noqa: BLE001 - a bug met by one crawl ends neither the others nor the scheduler
                return RunOutcome("failed", f"a bug: {traceback.format_exception_only(error)[-1].strip()}")
        return None

    async def _turn(self, name: str, was: ScheduledRun, **facts: object) -> ScheduledRun | None:
        """Changes the stored state of a run. Replaces the stored run `was` with a copy that has the changed
        fields `facts`. Waits if the store cannot be reached. Returns None if another scheduler changed the
        run, the lead was lost, or the scheduler is stopping."""
        now = msgspec.structs.replace(was, **facts)
        while True:
            try:
                done = await self.schedules.turn(self.token, name, was, now)
                break
            except GossamerError:  # the loop logs that the store is unreachable or its disk is full
                if self.stop.is_set():
                    return None
                await pause_before_retry(self.stop, CHECK_INTERVAL_S)
        if done == 1 and now.ended is None:
            self.open[name, now.field] = now
        elif done >= 0:
            self.open.pop((name, now.field), None)
        return now if done == 1 else None

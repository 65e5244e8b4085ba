"""The scheduler's loop. The loop elects the leader, reads changed schedules, decides about due times, and
starts runs. Several schedulers may run, and one of them leads. All decisions use the store's clock, so a
wrong clock on a machine does no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import secrets
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gossamer.app.open_store import open_url
from gossamer.config.settings import Settings
from gossamer.errors import DiskFull, GossamerError, StoreError
from gossamer.recrawl.cron import Cron
from gossamer.recrawl.due_times import decide
from gossamer.scheduler.jobs import runs
from gossamer.scheduler.runs import Crawler, RunSupervisor, Say, ScheduledCommands, pause_before_retry
from gossamer.state.schedules import Lead, ScheduledRun, Schedules, StoredSchedule, Unread
from gossamer.store.embedded import Embedded
from gossamer.store.store import Store

BEAT_INTERVAL_S, LEAD_TIMEOUT_S = 1.0, 7.0
"""BEAT_INTERVAL_S: seconds between two rounds of the loop (beats). LEAD_TIMEOUT_S: a leader that does not
renew its lead for this many seconds loses the lead. If a leader dies, another scheduler takes over within
BEAT_INTERVAL_S + LEAD_TIMEOUT_S seconds."""
STOP_TIMEOUT_S = 9.0
"""Maximum time in seconds that the scheduler waits for its crawls to stop gracefully."""
MAX_QUEUED_RUNS = 100
"""Maximum number of runs of one schedule that may wait for the previous run to end."""

Chore = Callable[[float], Awaitable[None]]
"""A background task of the leader. The loop calls the task about once per second with the store's time,
unless the previous call is still running. The task decides whether work is due."""


class Plan(NamedTuple):
    """A schedule with its parsed cron line. `next`: the next due time in seconds since the epoch, or None."""

    entry: StoredSchedule
    cron: Cron
    next: float | None


class Scheduler:
    """One scheduler process.

    - `embedded`: the embedded store, or None if the store is shared.
    - `crawler`: runs the crawls, in this process or on a fleet. `commands`: runs the commands on this machine.
    - `say`: logs an event.
    - `stop`: an event. When the event is set, `run` stops the crawls and returns.
    - `chore`: a background task that the leader runs.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        embedded: Embedded | None,
        crawler: Crawler,
        commands: ScheduledCommands,
        *,
        say: Say,
        stop: asyncio.Event,
        chore: Chore | None = None,
    ) -> None:
        self._store, self._embedded, self._stop, self._say, self._chore = store, embedded, stop, say, chore
        self.owner = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._schedules = Schedules(store)
        self._supervisor = RunSupervisor(self._schedules, crawler, commands, settings, say, stop)
        self._most_crawls, self._most_commands = crawler.most, commands.most
        self._plans: dict[str, Plan] = {}
        self._unread: set[Unread] = set()
        self._lead = Lead(0, "", 0.0, -1)
        self._seen = -1
        self._away = False
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._side: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Runs the loop until `stop` is set. Then stops the crawls and releases the lead."""
        while not self._stop.is_set():
            try:
                await self._beat()
                if self._away:
                    self._away = False
                    self._say("store is back")
                if self._embedded is not None:
                    self._embedded.note_answer()
            except (StoreError, DiskFull) as error:
                await self._store_away(error)
            await pause_before_retry(self._stop, BEAT_INTERVAL_S)
        await self._end()

    async def _beat(self) -> None:
        lead = await self._schedules.lead(self.owner, LEAD_TIMEOUT_S)
        self._supervisor.set_clock(lead.now)
        self._hear(lead)
        if not lead.token:
            return
        if lead.changes != self._seen:
            await self._read_all(lead)
        for plan in [
            plan for plan in self._plans.values() if plan.next is not None and plan.next <= lead.now
        ]:
            await self._decide(plan, lead)
        self._begin(lead.now)
        if self._chore is not None and (self._side is None or self._side.done()):
            self._side = asyncio.create_task(self._chored(self._chore, lead.now))

    def _hear(self, lead: Lead) -> None:
        """Logs when the leader changes. If this scheduler becomes the leader, it reads all schedules in the
        same round."""
        if lead.token != self._lead.token or lead.leader != self._lead.leader:
            if lead.token:
                self._say("leads", scheduler=self.owner)
                self._seen = -1
            else:
                self._say("stands by", scheduler=self.owner, leader=lead.leader)
        self._lead = lead
        self._supervisor.lead(lead.token)

    async def _read_all(self, lead: Lead) -> None:
        """Reads all schedules and their open runs. `lead` contains the number of the last change to the
        schedules. This number was read before the schedules, so no later change is missed."""
        found = await self._schedules.all()
        unread = {one for one in found if isinstance(one, Unread)}
        plans: dict[str, Plan] = {}
        for entry in found:
            if isinstance(entry, Unread):
                continue
            old = self._plans.get(entry.schedule.name)
            try:
                plans[entry.schedule.name] = old if old is not None and old.entry == entry else planned(entry)
            except ValueError as error:  # this machine does not have the schedule's time zone
                unread.add(Unread(entry.schedule.name, str(error)))
        for one in unread - self._unread:
            self._say("cannot be read", schedule=one.name, reason=one.why)
        self._tell(plans)
        self._plans, self._unread = plans, unread
        open_runs: dict[tuple[str, str], ScheduledRun] = {}
        for name in plans:
            open_runs |= {(name, run.field): run for run in await self._schedules.open(name)}
        self._supervisor.follow(open_runs)
        self._seen = lead.changes

    def _tell(self, plans: dict[str, Plan]) -> None:
        """Logs which schedules were added, changed or removed since the last read."""
        for name, plan in plans.items():
            old = self._plans.get(name)
            if old is None or old.entry.revision != plan.entry.revision:
                due = None if plan.entry.schedule.paused else plan.next
                self._say("paused" if plan.entry.schedule.paused else "scheduled", schedule=name, next=due)
        for name in self._plans.keys() - plans.keys():
            self._say("removed", schedule=name)

    async def _decide(self, plan: Plan, lead: Lead) -> None:
        """Decides for each due time of a schedule whether it is run, skipped or missed. Stores these
        decisions in one atomic step."""
        entry, schedule = plan.entry, plan.entry.schedule
        due = decide(plan.cron, entry.mark, lead.now, schedule.missed, schedule.most)
        going = [run for (name, _), run in self._supervisor.open.items() if name == schedule.name]
        wanted = [(at, True) for at in due.made_up] + [(at, False) for at in due.on_time]
        room = (
            0
            if going and schedule.overlap == "skip"
            else max(0, MAX_QUEUED_RUNS - len({run.due for run in going}))
        )
        begun = [run for at, late in wanted[:room] for run in runs(schedule, at, late=late, now=lead.now)]
        why = f"the run of {stamp(going[0].due)} still goes" if going else f"{MAX_QUEUED_RUNS} runs wait"
        over = [
            ScheduledRun(due=at, at=at, state="skipped", ended=lead.now, reason=why)
            for at, _ in wanted[room:]
        ]
        if due.missed:
            over.append(
                ScheduledRun(
                    due=due.missed[-1],
                    at=due.missed[-1],
                    state="missed",
                    ended=lead.now,
                    times=len(due.missed),
                    reason=f"no scheduler ran from {stamp(due.missed[0])} on",
                )
            )
        over.sort(key=lambda run: run.due)
        counts = {"skipped": len(wanted[room:]), "missed": len(due.missed)}
        done = await self._schedules.due(lead.token, entry, due.mark, begun, over, counts)
        if done != 1:
            self._seen = -1  # the schedule was changed, so all schedules are read again
            return
        self._plans[schedule.name] = planned(entry._replace(mark=due.mark), plan.cron)
        self._supervisor.follow(self._supervisor.open | {(schedule.name, run.field): run for run in begun})
        for run in over:
            self._say(run.state, schedule=schedule.name, due=run.due, times=run.times, reason=run.reason)

    def _begin(self, now: float) -> None:
        """Starts runs that are due. If a schedule has runs for several due times, only the runs of the
        earliest due time start. The numbers of active crawls and commands never exceed `Crawler.most` and
        `ScheduledCommands.most`."""
        self._tasks = {key: task for key, task in self._tasks.items() if not task.done()}
        first: dict[str, float] = {}
        for (name, _), run in self._supervisor.open.items():
            first[name] = min(first.get(name, run.due), run.due)
        ready = [
            (run.at, key)
            for key, run in self._supervisor.open.items()
            if run.at <= now and run.due == first[key[0]] and key not in self._tasks
        ]
        commands = sum(map(self._is_command, self._tasks))
        room = {True: self._most_commands - commands, False: self._most_crawls - len(self._tasks) + commands}
        for _, key in sorted(ready):
            if room[is_command := self._is_command(key)] > 0:
                room[is_command] -= 1
                run = self._supervisor.open[key]
                self._tasks[key] = asyncio.create_task(self._supervisor.conduct(key[0], run))

    def _is_command(self, key: tuple[str, str]) -> bool:
        run = self._supervisor.open.get(key)
        return run is not None and run.task is not None and bool(run.task.command)

    async def _chored(self, chore: Chore, now: float) -> None:
        try:
            await chore(now)
        except GossamerError as error:
            self._say("not cleaned", reason=str(error))

    async def _store_away(self, error: GossamerError) -> None:
        """Logs an outage of the store once. An embedded store is restarted. If the store is shared, the next
        round of the loop tries to reach it again."""
        if not self._away:
            self._away = True
            self._say("store is away", reason=str(error))
        if self._embedded is not None and isinstance(error, StoreError):
            with contextlib.suppress(StoreError):
                url = await asyncio.to_thread(self._embedded.again)
                fresh = await open_url(url, embedded=True)
                await self._store.close()
                self._store.move(fresh)

    async def _end(self) -> None:
        """Stops the crawls of this process. Keeps the lead until these crawls have ended, and then releases
        the lead."""
        self._say("stops", crawls=len(self._tasks))
        tasks = list(self._tasks.values()) + ([self._side] if self._side is not None else [])
        if self._side is not None:
            self._side.cancel()
        deadline = asyncio.get_running_loop().time() + STOP_TIMEOUT_S
        while any(not task.done() for task in tasks) and asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(StoreError):
                await self._schedules.lead(self.owner, LEAD_TIMEOUT_S)
            await asyncio.wait(tasks, timeout=BEAT_INTERVAL_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(StoreError):
            await self._schedules.lead(self.owner, 0)


def planned(entry: StoredSchedule, cron: Cron | None = None) -> Plan:
    """Returns a schedule as a `Plan`, with its parsed cron line. Raises ValueError if the cron line or the
    time zone is invalid."""
    cron = cron or Cron(entry.schedule.cron, entry.schedule.zone)
    return Plan(entry, cron, None if entry.schedule.paused else cron.after(entry.mark))


def stamp(moment: float) -> str:
    """Formats seconds since the epoch as RFC 3339 in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

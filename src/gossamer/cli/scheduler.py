"""`gossamer scheduler`: the process that starts scheduled crawls. The function `run_now` of this module runs
a single schedule on demand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Data,
    Json,
    LogFormat,
    LogLevel,
    Option,
    Quiet,
    Setting,
    StoreUrl,
    log_settings,
    opened_store,
    read_settings,
)
from gossamer.errors import GossamerError, StoreError, UsageError

if TYPE_CHECKING:
    from gossamer.app.job import Job
    from gossamer.config.settings import Settings
    from gossamer.state.schedules import Schedule, ScheduledRun

AtOnce = Annotated[
    int,
    Option(
        "--at-once",
        metavar="N",
        help="Concurrent crawls in this process, without a fleet, and concurrent commands (default 4).",
    ),
]
STOPPED = 11
MANUAL_RUN_S = 30.0
"""For this many seconds, a scheduler does not take over a run that a user started by hand."""
MOMENTS = ("due", "next")
"""Names of the event fields that contain a time in seconds since the epoch."""


def scheduler(
    here: Annotated[
        bool, Option("--here", help="Run crawls in this process, even with a shared store.")
    ] = False,
    at_once: AtOnce = 4,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Start scheduled crawls and commands when they are due, until stopped. If several schedulers run, one scheduler leads
    and the others are on standby."""
    from gossamer.observability.logs import start_logs

    settings = read_settings(data, store, setting, log_settings(log_level, log_format))
    log_format = settings.log_format
    if not 1 <= at_once <= 100:
        raise UsageError("--at-once must be between 1 and 100")
    say = event_printer(as_json, quiet)
    if log_format is not None:
        start_logs(log_format, settings.log_level)
        say = logged_events()
    return asyncio.run(_run(settings, here, at_once, say))


async def _run(settings: Settings, here: bool, at_once: int, say: Callable[..., None]) -> int:
    from gossamer.app.alert_watch import AlertWatch
    from gossamer.app.cleanup import Hourly
    from gossamer.app.open_store import open_store
    from gossamer.fleet import broker_cleanup
    from gossamer.scheduler.commands import CommandRunner
    from gossamer.scheduler.loop import Scheduler
    from gossamer.scheduler.runs import Crawler, Fleet, LocalCrawler

    stop = stop_event(say)
    store, embedded = await open_store(settings)
    try:
        launch = fleet_launcher(settings, here)
        crawler: Crawler = (
            LocalCrawler(store, stop, at_once) if launch is None else Fleet(store, stop, launch)
        )
        alerts = AlertWatch(settings, store) if settings.alerts else None
        watching = asyncio.create_task(alerts.run() if alerts is not None else asyncio.sleep(0))
        chore = Hourly(settings, store, say, {"queues": broker_cleanup.PART})
        commands = CommandRunner(store, settings, stop, at_once)
        await Scheduler(settings, store, embedded, crawler, commands, say=say, stop=stop, chore=chore).run()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    finally:
        await store.close()
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)
    say("stopped")
    return 0


def fleet_launcher(settings: Settings, here: bool = False) -> Callable[[Job], Awaitable[str]] | None:
    """Returns the function that submits a crawl to the fleet. Returns None if crawls run in this process."""
    if settings.store is None or here:
        return None
    from gossamer.app.submit import submit

    return submit


def stop_event(say: Callable[..., None]) -> asyncio.Event:
    """Returns an event that is set at the first SIGINT or SIGTERM. The process exits with code 13 at the
    second signal, or 12 s after the first signal."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def heard() -> None:
        if stop.is_set():
            say("stopped at once")
            os._exit(13)
        stop.set()
        last = threading.Timer(12, os._exit, (13,))
        last.daemon = True
        last.start()

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, heard)
    return stop


def logged_events() -> Callable[..., None]:
    """Returns a function that writes an event of the scheduler to the log."""
    from gossamer.config.value_texts import format_time
    from gossamer.observability.logs import log_event

    def say(event: str, **facts: Any) -> None:
        told = {
            name: format_time(value) if name in MOMENTS and value is not None else value
            for name, value in facts.items()
        }
        log_event("schedule", text=event, **told)

    return say


def event_printer(as_json: bool, quiet: bool) -> Callable[..., None]:
    """Returns a function that prints an event as one line. The line is text on stderr or JSON on stdout."""

    def say(event: str, **facts: Any) -> None:
        from gossamer.cli.printing import clean_line
        from gossamer.config.redaction import mask
        from gossamer.config.value_texts import format_time

        told = {
            name: format_time(value) if name in MOMENTS and value is not None else value
            for name, value in facts.items()
        }
        told = {name: value for name, value in told.items() if value is not None}
        if as_json:
            print(mask(json.dumps({"ts": format_time(time.time()), "event": event, **told})), flush=True)
        elif not quiet:
            words = " ".join(
                f"{name}={value if ' ' not in str(value) else json.dumps(value)}"
                for name, value in told.items()
            )
            print(
                mask(clean_line(f"{format_time(time.time())} {event} {words}".rstrip())),
                file=sys.stderr,
                flush=True,
            )

    return say


def run_now(settings: Settings, name: str, *, as_json: bool, quiet: bool) -> int:
    """Runs a schedule now. The crawl runs in the foreground, like `gossamer crawl`, or is submitted to the
    fleet. Returns the exit code of the crawl or of the submission."""
    from gossamer.cli.crawl import print_end
    from gossamer.cli.foreground_crawl import ForegroundCrawl
    from gossamer.cli.submit import Submission
    from gossamer.scheduler.jobs import job_of

    schedule, run = asyncio.run(_open(settings, name))
    assert run.task is not None
    if schedule.is_command:
        return asyncio.run(_run_command(settings, name, run))
    words = {"quiet": quiet, "json": as_json, "wait": False}
    try:
        job = asyncio.run(_start(settings, job_of(run.task, settings, run.crawl), run))
        if settings.store is not None:
            return Submission(
                job, words, f"gossamer submit ... --name {run.crawl}, or leave it to the scheduler"
            ).run()
        runner = ForegroundCrawl(job, quiet=quiet, again=f"gossamer schedule run {schedule.name}")
        summary, stopped = runner.run()
    except GossamerError as error:
        with contextlib.suppress(StoreError):  # the next process that reads the run record reports the error
            asyncio.run(_close(settings, name, run, "failed", str(error)))
        raise
    code = print_end(summary, stopped, job, words)
    if not stopped:
        asyncio.run(
            _close(settings, name, run, "gate" if code == 30 else summary.state, summary.reason or "")
        )
    return code


async def _open(settings: Settings, name: str) -> tuple[Schedule, ScheduledRun]:
    """Records a manual run, which prevents other runs of the schedule from starting. If an earlier manual run
    was interrupted, returns the earlier run, which is then continued. Raises UsageError if another run is
    open."""
    from gossamer.frontier.stats import CrawlStatistics
    from gossamer.scheduler.jobs import by_hand
    from gossamer.state.schedules import Schedules

    async with opened_store(settings) as store:
        schedules, now = Schedules(store), await CrawlStatistics(store).now()
        schedule = (await schedules.need(name)).schedule
        going = await schedules.open(name)
        if going and going[0].by_hand and not await schedules.leader():
            return schedule, going[0]
        if going:
            how = (
                f"as {going[0].crawl}: see gossamer status {going[0].crawl}, or gossamer stop it"
                if going[0].crawl
                else f"and its output is in {going[0].log or 'a terminal'}: wait until it ends"
            )
            raise UsageError(f"{name} still runs {how}")
        run = by_hand(schedule, now, now + MANUAL_RUN_S)
        if await schedules.turn(None, name, None, run) != 1:
            raise UsageError(
                f"{name} was started or removed by another user at this moment: see gossamer schedule list"
            )
        return schedule, run


async def _run_command(settings: Settings, name: str, run: ScheduledRun) -> int:
    """Runs the command of a schedule in the foreground, and returns its exit code."""
    from gossamer.cli.printing import remark
    from gossamer.scheduler.commands import CommandRunner

    stop = stop_event(lambda event, **_: print(f"gossamer: {event}", file=sys.stderr))
    async with opened_store(settings) as store:
        runner = CommandRunner(store, settings, stop, 1)
        async with runner.lease(name, run) as lease:
            if lease is None:
                raise UsageError(f"{name} ended at this moment: see gossamer schedule runs {name}")
            try:
                outcome = await runner.command(name, run, lease, foreground=True)
            except GossamerError as error:
                await _close(settings, name, run, "failed", str(error))
                raise
            if outcome is None:
                remark(f"stopped. To continue: gossamer schedule run {name}, or leave it to the scheduler")
                return STOPPED
            await _close(settings, name, run, outcome.state, outcome.reason, outcome.exit_code)
            return outcome.exit_code or 0


async def _start(settings: Settings, job: Job, run: ScheduledRun) -> Job:
    """Returns the crawl job for a scheduled run that starts now. With `--refresh`, the run is the first
    crawl, a new pass over the known pages, or the rest of an interrupted pass."""
    from gossamer.scheduler.jobs import start_of

    async with opened_store(settings) as store:
        return (await start_of(store, job, run.begun or run.due)).job


async def _close(
    settings: Settings, name: str, run: ScheduledRun, state: str, reason: str, code: int | None = None
) -> None:
    import msgspec

    from gossamer.frontier.stats import CrawlStatistics
    from gossamer.state.schedules import Schedules

    async with opened_store(settings) as store:
        now = await CrawlStatistics(store).now()
        over = msgspec.structs.replace(run, state=state, reason=reason, ended=now, task=None)
        if code is not None:
            over = msgspec.structs.replace(over, exit_code=code)
        await Schedules(store).turn(None, name, run, over)

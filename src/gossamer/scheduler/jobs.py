"""Turns a schedule into the jobs of its runs. This module names the crawls of the runs, splits a run into
parts, and fills in the placeholders of outputs."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from gossamer import sites as site_files
from gossamer.api import job_of as job_of_options
from gossamer.app import targets
from gossamer.app.job import Job, JobOutput
from gossamer.app.job_payload import folder_of
from gossamer.app.revisit_setup import with_site_rules
from gossamer.config.redaction import mask
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.crawls import check_name as check_crawl_name
from gossamer.frontier.summary import crawl_counts
from gossamer.recrawl.cron import Cron
from gossamer.recrawl.due_times import MISSED, OVERLAP, start_times
from gossamer.sinks.output_spec import parse
from gossamer.state.schedules import COMMAND_VERSION, Schedule, ScheduledRun, ScheduledTask, check_name
from gossamer.store.store import Store

_PLACES = re.compile(r"\{([^{}]*)\}")


def check(schedule: Schedule) -> Cron:
    """Validates a schedule and returns its cron line. Raises UsageError or ConfigError if a run of the
    schedule would fail."""
    check_name(schedule.name)
    try:
        cron = Cron(schedule.cron, schedule.zone)
    except ValueError as error:
        raise UsageError(str(error)) from None
    assert schedule.missed in MISSED
    assert schedule.overlap in OVERLAP
    if schedule.is_command:
        if schedule.spread:
            raise UsageError("--spread is for crawls with several targets: a command is one run")
        return cron
    if repeats_crawl(schedule.task):
        check_crawl_name(schedule.name)
    for target in schedule.task.targets:
        if targets.target_kind(target).kind == "stdin":
            raise UsageError("a schedule has no standard input: name a file instead of -")
    several = schedule.spread > 0 and len(schedule.task.targets) > 1
    for spec, _ in schedule.task.outputs:
        _check_output(spec, several)
    job = job_of(schedule.task, Settings(), "x")
    endless = job.watch is not None or any(
        targets.target_kind(target).kind == "kafka" for target in schedule.task.targets
    )
    sites = site_files.load_all(job.targets, job.args)
    if with_site_rules(job, sites).settings.revisit is not None:
        if not repeats_crawl(schedule.task):
            raise UsageError("a site file sets revisit: give the schedule --revisit, too")
        endless = True
    if endless and job.settings.time_limit is None:
        raise UsageError(
            "a watched sitemap, a topic or --revisit never ends, so its run would never end: give "
            "--time-limit, or crawl it without a schedule"
        )
    return cron


def _check_output(spec: str, several: bool) -> None:
    for place in _PLACES.findall(spec):
        if place not in ("date", "run"):
            raise UsageError(f"-o {mask(spec)}: there is no {{{place}}}; there are {{date}} and {{run}}")
    if spec == "-" or spec.startswith("-:"):
        raise UsageError("-o -: the runs of a schedule have no standard output: name a file")
    folder, form = folder_of(_PLACES.sub("x", spec))
    if folder is None:
        form = parse(_PLACES.sub("x", spec)).format
    if several and form != "sqlite" and "{run}" not in spec:
        raise UsageError(
            f"-o {mask(spec)}: with --spread each target is a crawl of its own: put {{run}} into the name"
        )


def runs(schedule: Schedule, due: float, *, late: bool, now: float) -> list[ScheduledRun]:
    """Returns the run for a due time. If the schedule spreads its targets, returns one run per target.
    `late`: whether the due time was missed. A late run starts at `now` instead of its due time. Times are in
    seconds since the epoch."""
    task = schedule.task
    parts = len(task.targets) if schedule.spread > 0 else 1
    times = start_times(schedule.name, due, parts, schedule.jitter, schedule.spread)
    shift = now - due if late else 0.0
    out = []
    for number, at in enumerate(times, 1):
        part = number if parts > 1 else 0
        own = task if parts == 1 else msgspec.structs.replace(task, targets=[task.targets[number - 1]])
        out.append(made(schedule, own, due, at + shift, part))
    return out


def by_hand(schedule: Schedule, now: float, at: float) -> ScheduledRun:
    """Returns a run that a user starts by hand, with all targets in one crawl. The scheduler ignores the run
    until the time `at`."""
    run = made(schedule, schedule.task, float(int(now)), at, 0, seconds=True)
    return msgspec.structs.replace(run, by_hand=True, state="launched", begun=now)


def made(
    schedule: Schedule, task: ScheduledTask, due: float, at: float, part: int, *, seconds: bool = False
) -> ScheduledRun:
    """Returns one run. The name of its crawl consists of the schedule's name and the due time in UTC, so
    names stay unique when clocks change. Runs that repeat a crawl (`repeats_crawl`) share one crawl, which
    has the schedule's name. `part`: the number of the run's only target, or 0 if the run has all targets.
    `seconds`: whether the name includes the seconds. The run of a command has no crawl. `{date}` and `{run}` are
    replaced in the outputs of a crawl and in the words of a command."""
    moment = datetime.fromtimestamp(due, UTC).strftime("%Y%m%dT%H%M%S" if seconds else "%Y%m%dT%H%M") + (
        f"-{part}" if part else ""
    )
    day = datetime.fromtimestamp(due, ZoneInfo(schedule.zone)).strftime("%Y-%m-%d")
    if task.command:
        words = [word.replace("{date}", day).replace("{run}", moment) for word in task.command]
        own = msgspec.structs.replace(task, command=words)
        return ScheduledRun(version=COMMAND_VERSION, due=due, at=at, state="waiting", task=own)
    outputs = [
        (spec.replace("{date}", day).replace("{run}", moment), overwrite) for spec, overwrite in task.outputs
    ]
    options = task.options
    for name in ("pages", "attempts", "graph", "files"):
        if isinstance(spec := options.get(name), str):
            options = {**options, name: spec.replace("{date}", day).replace("{run}", moment)}
    task = msgspec.structs.replace(task, outputs=outputs, options=options)
    crawl = f"{schedule.name}-{moment}"
    if repeats_crawl(task):
        crawl = f"{schedule.name}-{part}" if part else schedule.name
    return ScheduledRun(due=due, at=at, state="waiting", crawl=crawl, part=part, task=task)


def repeats_crawl(task: ScheduledTask) -> bool:
    """Returns whether all runs of a task work on the same crawl. A task with `--refresh`, `--if-older` or
    `--revisit` uses one crawl for all its runs, because each run visits known pages again."""
    return any(task.options.get(name) for name in ("refresh", "revisit", "if_older"))


class RunStart(NamedTuple):
    """Describes how to start a run that repeats a crawl. `job`: the job of the run. `anew`: whether the job
    must be launched even though the crawl exists."""

    job: Job
    anew: bool


async def start_of(store: Store, job: Job, begun: float) -> RunStart:
    """Decides how a run with `--refresh` starts. `begun`: the time at which the run began, in seconds since
    the epoch on the store's clock.

    The first run creates the crawl. If the previous run left URLs waiting, the next run continues with these
    URLs. Otherwise, the next run begins a pass over the known pages. If a scheduler died during a run, the
    run is resumed, and no new pass begins.
    """
    if not job.refresh and job.settings.if_older is None:
        return RunStart(job, anew=False)
    record = await Crawls(store).get(job.name or "")
    if not job.refresh:  # the crawl itself decides whether it continues or begins a pass
        return RunStart(job, anew=record is not None and record.started_at < begun)
    if record is None or record.started_at >= begun:
        return RunStart(msgspec.structs.replace(job, refresh=False), anew=False)
    counts = await crawl_counts(store, record.name)
    pending = counts["open"] - counts["infra"] > 0
    return RunStart(msgspec.structs.replace(job, refresh=not pending), anew=True)


def job_of(task: ScheduledTask, settings: Settings, crawl: str) -> Job:
    """Returns the job of a run, with the store and the data folder of `settings`. Raises UsageError and
    ConfigError."""
    job = job_of_options(task.targets, task.options, task.folder)
    own = msgspec.structs.replace(job.settings, store=settings.store, data=settings.data)
    outputs = [JobOutput(spec, overwrite) for spec, overwrite in task.outputs]
    return msgspec.structs.replace(job, settings=own, outputs=outputs, name=crawl, gates=task.fail_on or [])

"""`gossamer schedule`: adds, lists, changes and removes scheduled crawls. The command also works while
schedulers are running."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli import crawl as crawls
from gossamer.cli.options import Argument, Data, Json, Option, Quiet, Setting, StoreUrl, read_settings
from gossamer.cli.schedule_store import schedule_store
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.state.schedules import (
        Schedule,
        ScheduledRun,
        ScheduledTask,
        Schedules,
        StoredSchedule,
        Unread,
    )


async def rows_of(settings: Settings) -> tuple[list[dict[str, Any]], str | None]:
    """Returns the rows of `schedule list` and the name of the leading scheduler. The name is None if there is
    no leading scheduler."""
    from gossamer.frontier.stats import CrawlStatistics
    from gossamer.state.schedules import Schedules

    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        return [], None
    async with schedule_store(settings) as store:
        schedules, now = Schedules(store), await CrawlStatistics(store).now()
        rows = [await _row(schedules, entry, now) for entry in await schedules.all()]
        return rows, await schedules.leader()


async def _row(schedules: Schedules, entry: StoredSchedule | Unread, now: float) -> dict[str, Any]:
    from gossamer.recrawl.cron import Cron
    from gossamer.recrawl.due_times import start_times
    from gossamer.state.schedules import Unread

    if isinstance(entry, Unread):
        return {"schedule": entry.name, "state": "unreadable", "reason": entry.why}
    one = entry.schedule
    going, past = await schedules.open(one.name), await schedules.ended(one.name, 50)
    try:
        due = None if one.paused else Cron(one.cron, one.zone).after(max(entry.mark, now))
    except ValueError as error:
        return {"schedule": one.name, "state": "unreadable", "reason": str(error)}
    begins = start_times(one.name, due, 1, one.jitter, 0)[0] if due is not None else None
    busy = [run for run in going if run.state != "waiting"]
    last = busy[-1] if busy else next((run for run in past if run.begun is not None), None)
    state = "paused" if one.paused else "running" if busy else "waiting"
    return {
        "schedule": one.name,
        "cron": one.cron,
        "zone": one.zone,
        "state": state,
        "next": format_utc(begins),
        "last": format_utc(last.begun) if last else None,
        "outcome": await _outcome(schedules, last) if last else None,
        "crawl": last.crawl if last else None,
        "reason": (last.reason or None) if last else None,
        "targets": one.task.targets,
        "jitter": one.jitter,
        "spread": one.spread,
        "missed_policy": one.missed,
        "overlap": one.overlap,
        "open": [run.crawl for run in going],
        **entry.counts,
    }


async def _outcome(schedules: Schedules, run: ScheduledRun) -> str:
    """Returns the final state of a run. If no scheduler has recorded the end of the run, returns the state of
    the run's crawl."""
    from gossamer.frontier.crawls import Crawls

    if run.ended is not None:
        return run.state
    record = await Crawls(schedules.store).get(run.crawl)
    return record.state if record is not None else run.state


def format_utc(at: float | None) -> str | None:
    from gossamer.cli.dead import format_time as shown

    return None if at is None else shown(at)


Name = Annotated[str, Argument(metavar="NAME", help="The schedule's; `gossamer schedule list` shows them.")]
CLOCK: dict[str, tuple[str, str, str]] = {
    "tz": ("--tz", "ZONE", "Time zone of the cron line, such as Europe/Berlin (default UTC)."),
    "jitter": ("--jitter", "TIME", "Start later by a random time of up to this: 5m."),
    "spread": ("--spread", "TIME", "One crawl per target, with starts spread evenly over this time: 2h."),
    "missed": (
        "--missed",
        "WHAT",
        "Due times at which no scheduler ran: run (one run for all, default), skip, all or all:N.",
    ),
    "overlap": ("--overlap", "WHAT", "When due while the last run is still open: skip (default) or queue."),
}
NOT_HERE = ("name", "fresh", "resume", "json", "quiet", "output", "overwrite")
"""Options of `crawl` that a schedule does not have, or that this module handles separately."""
PATHS = ("cache", "archive", "ca_file", "known")

OUTPUTS = ("pages", "attempts", "graph")
KEPT = ("files", "text", "links", "archive", "sitemaps", "priority", "refresh", "known")


def signature() -> inspect.Signature:
    """Returns the signature of `add`. The parameters are NAME, CRON, TARGET..., the options that determine
    the start times, and the options of `crawl`."""
    name, cron = Argument(metavar="NAME"), Argument(metavar="CRON")
    found = [
        _word("name", Annotated[str, name], inspect.Parameter.empty),
        _word("cron", Annotated[str, cron], inspect.Parameter.empty),
    ]
    of_crawl = list(crawls.signature().parameters.values())
    clock = [
        _word(word, Annotated[str | None, Option(flag, metavar=metavar, help=text)], None)
        for word, (flag, metavar, text) in CLOCK.items()
    ]
    rest = [one for one in of_crawl[1:] if one.name not in ("name", "fresh", "resume", "json", "verbose")]
    rest.append(_word("json", Json, False))
    return inspect.Signature([*found, of_crawl[0], *clock, *rest])


def _word(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def add(**words: Any) -> int:
    """Add a schedule, or change an existing schedule. CRON consists of five fields ("30 4 * * mon-fri"), or
    is a word such as @daily."""
    from gossamer.cli.printing import print_action, remark
    from gossamer.scheduler.jobs import check

    schedule = schedule_of(words)
    cron = check(schedule)
    settings = read_settings(words["data"], words["store"], _own(words))
    if words["known"] and not (words["refresh"] or settings.if_older is not None):
        raise UsageError("--known is for --refresh or --if-older: give one of them, too, or no --known")
    if settings.store is not None:
        for_a_fleet(schedule.task)
    had, leader = asyncio.run(_put(settings, schedule))
    due, did = cron.after(time.time()), "changed" if had else "added"
    said = f"{schedule.name} is {did}; next due {_moment(due, schedule.zone)}"
    facts = {"schedule": schedule.name, "did": did, "next": format_utc(due), "scheduler": leader}
    print_action(said, words["json"], words["quiet"], **facts)
    if leader is None:
        remark("no scheduler runs yet: start one with gossamer scheduler", words["quiet"] or words["json"])
    return 0


def for_a_fleet(task: ScheduledTask) -> None:
    """Prints a warning if the task has outputs that a fleet cannot write, or if `--refresh` or `--if-older` is
    given without `--known`. A scheduler with `--here` can still run the task."""
    from gossamer.app.job_payload import check_shareable
    from gossamer.cli.printing import remark

    try:
        check_shareable([spec for spec, _ in task.outputs])
    except UsageError as error:
        remark(f"{error}. Or start the scheduler with --here")
    repeats = next((name for name in ("refresh", "if_older") if task.options.get(name)), None)
    if repeats and not task.options.get("known"):
        remark(
            f"--{repeats.replace('_', '-')} on a fleet needs --known DIR, a folder that all workers reach. "
            "Or start the scheduler with --here"
        )


vars(add)["__signature__"] = signature()


def listed(data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False) -> int:
    """List all schedules. For each schedule, show the next due time, the last run and the result of the last
    run."""
    from gossamer.cli.printing import put_json, put_table, remark

    settings = read_settings(data, store, setting)
    rows, leader = asyncio.run(rows_of(settings))
    if as_json:
        put_json([{**row, "scheduler": leader} for row in rows])
        return 0
    heads = (
        "schedule",
        "cron",
        "zone",
        "state",
        "next",
        "last",
        "outcome",
        "runs",
        "failed",
        "skipped",
        "missed",
    )
    if rows:
        put_table(
            heads,
            [[row.get(head) for head in heads] for row in rows],
            right=heads[7:],
            least=("zone", "missed", "skipped", "failed", "runs"),
        )
    if not rows:
        remark("no schedules yet: gossamer schedule add")
    else:
        remark(f"scheduler: {leader}" if leader else "no scheduler runs: start one with gossamer scheduler")
    return 0


def remove(
    name: Name, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """Remove a schedule. Running crawls of the schedule are not stopped."""
    asyncio.run(_change(read_settings(data, store, setting), name, "drop"))
    return _said(name, "removed", as_json)


def pause(
    name: Name, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """Pause a schedule until it is resumed. Running crawls of the schedule are not stopped."""
    asyncio.run(_change(read_settings(data, store, setting), name, "pause"))
    return _said(name, "paused", as_json)


def resume(
    name: Name, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """Resume a paused schedule. Runs that were due during the pause are skipped."""
    asyncio.run(_change(read_settings(data, store, setting), name, "resume"))
    return _said(name, "resumed", as_json)


def _said(name: str, what: str, as_json: bool) -> int:
    from gossamer.cli.printing import put_json

    if as_json:
        put_json({"schedule": name, "did": what, "said": f"{name} is {what}"})
    else:
        print(f"{name} is {what}")
    return 0


def run(
    name: Name,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run a schedule now, in this process or on the fleet."""
    from gossamer.cli.scheduler import run_now

    return run_now(read_settings(data, store, setting), name, as_json=as_json, quiet=quiet)


def schedule_of(words: dict[str, Any]) -> Schedule:
    """Builds a schedule from the command-line options. Raises UsageError."""
    from gossamer.config import value_parsers
    from gossamer.recrawl.due_times import MISSED, OVERLAP
    from gossamer.state.schedules import Schedule

    def read(option: str, how: Any, default: Any) -> Any:
        if words[option] is None:
            return default
        try:
            return how(words[option])
        except ValueError as error:
            raise UsageError(f"--{option} {words[option]!r}: {error}") from None

    if not words["targets"]:
        raise UsageError("no TARGET given: write gossamer schedule add NAME 'CRON LINE' TARGET...")
    missed, colon, most = ("run" if words["missed"] is None else words["missed"]).partition(":")
    if missed not in MISSED or (colon and missed != "all"):
        raise UsageError(f"--missed {words['missed']!r}: it is run, skip, all (at most 10) or all:N")
    try:
        bound = value_parsers.count(1, 1000, most) if colon else 10
    except ValueError as error:
        raise UsageError(f"--missed {words['missed']!r}: {error}") from None
    return Schedule(
        name=words["name"],
        cron=words["cron"],
        zone="UTC" if words["tz"] is None else words["tz"],
        jitter=read("jitter", value_parsers.seconds, 0.0),
        spread=read("spread", value_parsers.seconds, 0.0),
        missed=missed,
        most=bound,
        overlap=read("overlap", lambda value: value_parsers.one_of(OVERLAP, value), "skip"),
        task=task_of(words),
    )


def task_of(words: dict[str, Any]) -> ScheduledTask:
    """Builds the task of a schedule from the command-line options. Paths are converted to absolute paths,
    because the scheduler may run in another folder. Raises UsageError or ConfigError."""
    from gossamer.cli.options import parse_pair
    from gossamer.sinks.item_files import parse_file_store
    from gossamer.state.schedules import ScheduledTask

    gates = crawls.gates_of(words["fail_on"] or ())
    options: dict[str, Any] = {}
    for pair in words["setting"] or ():
        given = parse_pair(pair)
        options[given.name] = given.value
    for name in (*crawls.HELP, *OUTPUTS, *KEPT):
        if words[name] not in (None, False, []):
            options[name] = words[name]
    for name in ("data", "store"):
        options.pop(name, None)  # the scheduler uses its own data folder and store
    for name in PATHS:
        if name in options:
            options[name] = os.path.abspath(options[name])
    for name in OUTPUTS:
        if name in options:
            options[name] = _path(options[name])
    if words["files"]:
        options["files"] = parse_file_store(words["files"])
    if words["header"]:
        options["headers"] = crawls.headers_of(words["header"])
    if words["argument"]:
        options["args"] = crawls.arguments_of(words["argument"])
    if (every := crawls.time_of("--watch", words["watch"])) is not None:
        options["watch"] = every
    outputs = [(_path(spec), False) for spec in words["output"] or ()]
    outputs += [(_path(spec), True) for spec in words["overwrite"] or ()]
    targets = [
        os.path.abspath(one) if "://" not in one and os.path.exists(one) else one for one in words["targets"]
    ]
    return ScheduledTask(
        targets, options, outputs, str(crawls.folder_of(words["targets"]).resolve()), gates or None
    )


def _path(spec: str) -> str:
    """Returns the output (in the syntax of `-o`) with an absolute path."""
    return (
        spec if spec == "-" or "://" in spec else os.path.abspath(spec) + ("/" if spec.endswith("/") else "")
    )


def _own(words: dict[str, Any]) -> list[str]:
    """Returns the arguments of `-s` that set `data` or `store`, because these settings select the store of
    the schedules."""
    return [pair for pair in words["setting"] or () if pair.partition("=")[0].strip() in ("data", "store")]


async def _put(settings: Settings, schedule: Schedule) -> tuple[bool, str | None]:
    from gossamer.state.schedules import Schedules

    async with schedule_store(settings) as store:
        schedules = Schedules(store)
        old = next((one for one in [await _known(schedules, schedule.name)] if one is not None), None)
        same = old is not None and (old.schedule.cron, old.schedule.zone, old.schedule.paused) == (
            schedule.cron,
            schedule.zone,
            False,
        )
        return await schedules.put(schedule, from_now=not same), await schedules.leader()


async def _known(schedules: Schedules, name: str) -> StoredSchedule | None:
    return await schedules.need(name) if name in await schedules.names() else None


async def _change(settings: Settings, name: str, verb: str) -> None:
    import msgspec

    from gossamer.state.schedules import Schedules

    async with schedule_store(settings) as store:
        schedules = Schedules(store)
        if verb == "drop":
            if not await schedules.drop(name):
                await schedules.need(name)
            return
        schedule = (await schedules.need(name)).schedule
        await schedules.put(
            msgspec.structs.replace(schedule, paused=verb == "pause"),
            from_now=schedule.paused and verb == "resume",
        )


def _moment(due: float | None, zone: str) -> str:
    """Formats a due time in a time zone."""
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return (
        "never" if due is None else datetime.fromtimestamp(due, ZoneInfo(zone)).isoformat(timespec="minutes")
    )

"""`gossamer schedule`: adds, changes and removes schedules of crawls and of other commands. The command also
works while schedulers are running."""

from __future__ import annotations

import asyncio
import inspect
import os
import shlex
import time
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli import crawl as crawls
from gossamer.cli.options import Argument, Data, Json, Option, Quiet, Setting, StoreUrl, read_settings
from gossamer.cli.schedule_store import schedule_store
from gossamer.cli.schedule_views import Name
from gossamer.cli.scheduled_commands import SCHEDULABLE, separate_command
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.state.schedules import (
        Schedule,
        ScheduledTask,
        Schedules,
        StoredSchedule,
    )


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
    what = "What a crawl takes: URLs, site files, lists, sitemap:URL, feed:URL. Or a command: prices run targets.csv."
    targets = of_crawl[0].replace(
        annotation=Annotated[list[str] | None, Argument(metavar="TARGET...", help=what)]
    )
    return inspect.Signature([*found, targets, *clock, *rest])


def _word(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def add(**words: Any) -> int:
    """Add a schedule, or change an existing schedule. CRON consists of five fields ("30 4 * * mon-fri"), or
    is a word such as @daily. In place of targets, a command may follow with its own options: prices, ranks,
    keywords, find, audit, clean, export, reparse."""
    from gossamer.cli.printing import print_action, remark
    from gossamer.cli.scheduled_commands import check_command, refuse_other_command
    from gossamer.scheduler.jobs import check
    from gossamer.scheduler.schedule_rows import format_utc

    refuse_other_command(next(iter(words["targets"] or ()), ""))
    schedule = schedule_of(words)
    cron = check(schedule)
    settings = read_settings(words["data"], words["store"], _own(words))
    if schedule.is_command:
        refuse_crawl_options(words)
        if code := check_command(words["targets"], [flag for flag, _, _ in CLOCK.values()]):
            return code
    else:
        refuse_foreign_targets(words)
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


def refuse_crawl_options(words: dict[str, Any]) -> None:
    """Raises UsageError if options of a crawl stand before the command of a schedule."""
    kept = ("name", "cron", "targets", *CLOCK, "data", "store", "json", "quiet")
    for parameter in signature().parameters.values():
        value = words[parameter.name]
        if parameter.name == "setting":
            value = [pair for pair in value or () if pair not in _own(words)]
        if parameter.name in kept or value in (None, False, [], parameter.default):
            continue
        flag = parameter.annotation.__metadata__[0].flags[0]
        raise UsageError(
            f"{flag} is an option of a crawl. Options of the command follow the command: gossamer schedule add NAME "
            f"CRON {words['targets'][0]} ..."
        )


def refuse_foreign_targets(words: dict[str, Any]) -> None:
    """Raises UsageError if a target of a crawl is a list that contains no pages to crawl. The message contains the
    right command."""
    from gossamer.app.targets import target_kind
    from gossamer.cli.scheduled_commands import check_list

    for target in words["targets"]:
        if os.path.isfile(target) and target_kind(target).kind == "list":
            check_list(target, f"schedule add {words['name']} {shlex.quote(words['cron'])}")


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
vars(add)["prepare_words"] = separate_command


def remove(
    name: Name, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """Remove a schedule. Its running crawls and commands are not stopped."""
    asyncio.run(_change(read_settings(data, store, setting), name, "drop"))
    return _said(name, "removed", as_json)


def pause(
    name: Name, data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False
) -> int:
    """Pause a schedule until it is resumed. Its running crawls and commands are not stopped."""
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
    """Run a schedule now: a crawl in this process or on the fleet, a command on this machine."""
    from gossamer.cli.scheduler import run_now

    return run_now(read_settings(data, store, setting), name, as_json=as_json, quiet=quiet)


def schedule_of(words: dict[str, Any]) -> Schedule:
    """Builds a schedule from the command-line options. Raises UsageError."""
    from gossamer.config import value_parsers
    from gossamer.recrawl.due_times import MISSED, OVERLAP
    from gossamer.state.schedules import COMMAND_VERSION, VERSION, Schedule, ScheduledTask

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
    is_command = words["targets"][0] in SCHEDULABLE
    return Schedule(
        version=COMMAND_VERSION if is_command else VERSION,
        name=words["name"],
        cron=words["cron"],
        zone="UTC" if words["tz"] is None else words["tz"],
        jitter=read("jitter", value_parsers.seconds, 0.0),
        spread=read("spread", value_parsers.seconds, 0.0),
        missed=missed,
        most=bound,
        overlap=read("overlap", lambda value: value_parsers.one_of(OVERLAP, value), "skip"),
        task=ScheduledTask([], folder=os.getcwd(), command=words["targets"])
        if is_command
        else task_of(words),
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
    from gossamer.scheduler.schedule_rows import change_schedule

    async with schedule_store(settings) as store:
        await change_schedule(store, name, verb)


def _moment(due: float | None, zone: str) -> str:
    """Formats a due time in a time zone."""
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return (
        "never" if due is None else datetime.fromtimestamp(due, ZoneInfo(zone)).isoformat(timespec="minutes")
    )

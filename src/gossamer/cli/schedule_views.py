"""`gossamer schedule list` and `gossamer schedule runs`: the schedules and the history of their runs."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Data, Json, Option, Setting, StoreUrl, opened_store, read_settings

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.state.schedules import ScheduledRun, ScheduledTask, Schedules, StoredSchedule, Unread

Limit = Annotated[int, Option("--limit", metavar="N", help="The last N runs (default 20; 0: all).", least=0)]
Name = Annotated[str, Argument(metavar="NAME", help="The schedule's; `gossamer schedule list` shows them.")]


async def rows_of(settings: Settings) -> tuple[list[dict[str, Any]], str | None]:
    """Returns the rows of `schedule list` and the name of the leading scheduler. The name is None if there is
    no leading scheduler."""
    from gossamer.frontier.stats import CrawlStatistics
    from gossamer.state.schedules import Schedules

    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        return [], None
    async with opened_store(settings) as store:
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
        "crawl": (last.crawl or None) if last else None,
        **(result_of(last) if last else {"reason": None}),
        "targets": one.task.targets,
        **({"command": command_line(one.task), "folder": one.task.folder} if one.is_command else {}),
        "jitter": one.jitter,
        "spread": one.spread,
        "missed_policy": one.missed,
        "overlap": one.overlap,
        "open": [run.crawl or format_utc(run.due) for run in going],
        **entry.counts,
    }


def result_of(run: ScheduledRun) -> dict[str, Any]:
    """Returns the reason for the state of a run. For a command, also returns its exit code, the meaning of the
    code, and the place of the output."""
    from gossamer.model.exit_codes import exit_meaning

    found: dict[str, Any] = {"reason": run.reason or None}
    if isinstance(run.exit_code, int):
        found |= {"exit_code": run.exit_code, "meaning": exit_meaning(run.exit_code)}
    return found | ({"log": run.log} if isinstance(run.log, str) else {})


def command_line(task: ScheduledTask) -> str:
    """Returns the command of a schedule as the user would type it, without secrets."""
    from gossamer.config.redaction import mask

    return mask(f"gossamer {shlex.join(task.command or ())}")


async def _outcome(schedules: Schedules, run: ScheduledRun) -> str:
    """Returns the final state of a run. If no scheduler has recorded the end of the run, returns the state of
    the run's crawl."""
    from gossamer.frontier.crawls import Crawls

    if run.ended is not None or not run.crawl:
        return run.state
    record = await Crawls(schedules.store).get(run.crawl)
    return record.state if record is not None else run.state


def format_utc(at: float | None) -> str | None:
    from gossamer.cli.dead import format_time as shown

    return None if at is None else shown(at)


def listed(data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False) -> int:
    """List all schedules. For each schedule, show the next due time, the last run and the result of the last
    run."""
    from gossamer.cli.printing import put_json, put_table, remark

    settings = read_settings(data, store, setting)
    rows, leader = asyncio.run(rows_of(settings))
    if as_json:
        put_json([{**row, "scheduler": leader} for row in rows])
        return 0
    counts = ("runs", "failed", "skipped", "missed")
    heads = ("schedule", "cron", "zone", "state", "next", "last", "outcome", *counts)
    if rows:
        shown = [{**row, "outcome": _with_code(row.get("outcome"), row)} for row in rows]
        put_table(
            heads,
            [[row.get(head) for head in heads] for row in shown],
            right=counts,
            least=("zone", "missed", "skipped", "failed", "runs"),
        )
    for row in rows:
        if row.get("exit_code"):
            where = f"; its output is in {row['log']}" if "log" in row else ""
            remark(
                f"{row['schedule']}: exit code {row['exit_code']} ({row['meaning']}): {row['reason']}{where}"
            )
    if not rows:
        remark("no schedules yet: gossamer schedule add")
    else:
        remark(f"scheduler: {leader}" if leader else "no scheduler runs: start one with gossamer scheduler")
    return 0


def _with_code(outcome: str | None, row: dict[str, Any]) -> str | None:
    """Returns the outcome of a run with the exit code of its command, for example `gate 31`."""
    return f"{outcome} {row['exit_code']}" if row.get("exit_code") else outcome


def runs(
    name: Name,
    limit: Limit = 20,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show the last runs of a schedule, latest first: when, how they ended and why, and where their output is.
    With --json, print one object per line."""
    from gossamer.cli.printing import format_duration, put_json, put_table, remark

    found = asyncio.run(_runs_of(read_settings(data, store, setting), name, limit or None))
    if as_json:
        for row in found:
            put_json(row)
        return 0
    if not found:
        remark(f"{name} has not run yet: see gossamer schedule list")
        return 0
    heads = ("due", "begun", "took", "outcome", "times", "crawl or output", "reason")
    rows = [
        (
            *(row["due"], row["begun"], None if row["seconds"] is None else format_duration(row["seconds"])),
            *(
                _with_code(row["outcome"], row),
                row["times"],
                row.get("log") or row["crawl"],
                row["reason"] or "",
            ),
        )
        for row in found
    ]
    put_table(heads, rows, right=("took", "times"), long=("reason",), least=("times", "begun"))
    return 0


async def _runs_of(settings: Settings, name: str, limit: int | None) -> list[dict[str, Any]]:
    from gossamer.state.schedules import KEPT_RUNS, Schedules

    async with opened_store(settings) as store:
        schedules = Schedules(store)
        await schedules.need(name)
        going = [run for run in await schedules.open(name) if run.state != "waiting"]
        past = await schedules.ended(name, limit or KEPT_RUNS)
        return [await _run_row(schedules, run) for run in [*reversed(going), *past][:limit]]


async def _run_row(schedules: Schedules, run: ScheduledRun) -> dict[str, Any]:
    whole = run.begun is not None and run.ended is not None
    return {
        "due": format_utc(run.due),
        "begun": format_utc(run.begun),
        "ended": format_utc(run.ended),
        "seconds": round((run.ended or 0.0) - (run.begun or 0.0), 1) if whole else None,
        "outcome": await _outcome(schedules, run),
        "crawl": run.crawl or None,
        "times": run.times,
        "by_hand": run.by_hand,
        **result_of(run),
    }

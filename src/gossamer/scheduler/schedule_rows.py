"""The rows of schedules and of their runs, which `gossamer schedule list`, `gossamer schedule runs` and the API show."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from gossamer.config.redaction import mask
from gossamer.config.value_texts import format_time
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.exit_codes import exit_meaning
from gossamer.recrawl.cron import Cron
from gossamer.recrawl.due_times import start_times
from gossamer.state.schedules import (
    KEPT_RUNS,
    ScheduledRun,
    ScheduledTask,
    Schedules,
    StoredSchedule,
    Unread,
)
from gossamer.store.store import Store


async def schedule_rows(store: Store) -> tuple[list[dict[str, Any]], str | None]:
    """Returns the rows of `schedule list`, and the name of the leading scheduler or None."""
    schedules, now = Schedules(store), await CrawlStatistics(store).now()
    rows = [await _row(schedules, entry, now) for entry in await schedules.all()]
    return rows, await schedules.leader()


async def run_rows(store: Store, name: str, limit: int | None) -> list[dict[str, Any]]:
    """Returns the rows of `schedule runs`, latest first. `limit`: the maximum number, or None. Raises UsageError if
    there is no such schedule."""
    schedules = Schedules(store)
    await schedules.need(name)
    going = [run for run in await schedules.open(name) if run.state != "waiting"]
    past = await schedules.ended(name, limit or KEPT_RUNS)
    return [await _run_row(schedules, run) for run in [*reversed(going), *past][:limit]]


async def change_schedule(store: Store, name: str, verb: str) -> None:
    """Pauses, resumes or drops a schedule. `verb`: `pause`, `resume` or `drop`. Raises UsageError if there is no such
    schedule."""
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


async def _row(schedules: Schedules, entry: StoredSchedule | Unread, now: float) -> dict[str, Any]:
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
    found: dict[str, Any] = {"reason": run.reason or None}
    if isinstance(run.exit_code, int):
        found |= {"exit_code": run.exit_code, "meaning": exit_meaning(run.exit_code)}
    return found | ({"log": run.log} if isinstance(run.log, str) else {})


def command_line(task: ScheduledTask) -> str:
    """Returns the command of a schedule as the user would type it, without secrets."""
    return mask(f"gossamer {shlex.join(task.command or ())}")


async def _outcome(schedules: Schedules, run: ScheduledRun) -> str:
    """Returns the final state of a run. If no scheduler has recorded the end of the run, returns the state of
    the run's crawl."""
    if run.ended is not None or not run.crawl:
        return run.state
    record = await Crawls(schedules.store).get(run.crawl)
    return record.state if record is not None else run.state


def format_utc(at: float | None) -> str | None:
    return None if at is None else format_time(at)


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

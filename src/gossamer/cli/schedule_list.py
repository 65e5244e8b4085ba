"""What `gossamer schedule list` shows: when each schedule is due next, its last run and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.cli.schedule_store import kept

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.state.schedules import ScheduledRun, Schedules, StoredSchedule, Unread


async def rows_of(settings: Settings) -> tuple[list[dict[str, Any]], str | None]:
    """What `list` shows of each schedule, and who leads."""
    from gossamer.frontier.stats import Census
    from gossamer.state.schedules import Schedules

    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        return [], None
    async with kept(settings) as store:
        schedules, now = Schedules(store), await Census(store).now()
        rows = [await _row(schedules, entry, now) for entry in await schedules.all()]
        return rows, await schedules.leader()


async def _row(schedules: Schedules, entry: StoredSchedule | Unread, now: float) -> dict[str, Any]:
    from gossamer.recrawl.cron import Cron
    from gossamer.recrawl.due_times import starts
    from gossamer.state.schedules import Unread

    if isinstance(entry, Unread):
        return {"schedule": entry.name, "state": "unreadable", "reason": entry.why}
    one = entry.schedule
    going, past = await schedules.open(one.name), await schedules.ended(one.name, 50)
    try:
        due = None if one.paused else Cron(one.cron, one.zone).after(max(entry.mark, now))
    except ValueError as error:
        return {"schedule": one.name, "state": "unreadable", "reason": str(error)}
    begins = starts(one.name, due, 1, one.jitter, 0)[0] if due is not None else None
    busy = [run for run in going if run.state != "waiting"]
    last = busy[-1] if busy else next((run for run in past if run.begun is not None), None)
    state = "paused" if one.paused else "running" if busy else "waiting"
    return {
        "schedule": one.name,
        "cron": one.cron,
        "zone": one.zone,
        "state": state,
        "next": utc(begins),
        "last": utc(last.begun) if last else None,
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
    """How a run ended; of one that nobody watches (no scheduler runs) its crawl's state."""
    from gossamer.frontier.crawls import Crawls

    if run.ended is not None:
        return run.state
    record = await Crawls(schedules.store).get(run.crawl)
    return record.state if record is not None else run.state


def utc(at: float | None) -> str | None:
    from gossamer.cli.dead import moment as shown

    return None if at is None else shown(at)

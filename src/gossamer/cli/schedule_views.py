"""`gossamer schedule list` and `gossamer schedule runs`: the schedules and the history of their runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Data, Json, Option, Setting, StoreUrl, read_settings
from gossamer.cli.schedule_store import schedule_store

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

Limit = Annotated[int, Option("--limit", metavar="N", help="The last N runs (default 20; 0: all).", least=0)]
Name = Annotated[str, Argument(metavar="NAME", help="The schedule's; `gossamer schedule list` shows them.")]


async def _rows_of(settings: Settings) -> tuple[list[dict[str, Any]], str | None]:
    """Returns the rows of `schedule list` and the name of the leading scheduler. The name is None if there is
    no leading scheduler."""
    from gossamer.scheduler.schedule_rows import schedule_rows

    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        return [], None
    async with schedule_store(settings) as store:
        return await schedule_rows(store)


def listed(data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False) -> int:
    """List all schedules. For each schedule, show the next due time, the last run and the result of the last
    run."""
    from gossamer.cli.printing import put_json, put_table, remark

    settings = read_settings(data, store, setting)
    rows, leader = asyncio.run(_rows_of(settings))
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
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.config.value_texts import format_duration

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
    from gossamer.scheduler.schedule_rows import run_rows

    async with schedule_store(settings) as store:
        return await run_rows(store, name, limit)

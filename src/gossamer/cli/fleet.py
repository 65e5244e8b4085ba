"""`gossamer weight` and `gossamer workers list`, `drain` and `stop`: commands for the fleet as a whole."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Crawl,
    Json,
    Option,
    Quiet,
    Setting,
    StoreUrl,
    open_existing_store,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

Worker = Annotated[str, Argument(metavar="WORKER", help="Its name, or all.")]


HEADS = (
    "worker",
    "state",
    "lanes",
    "region",
    "score",
    "processes",
    "memory",
    "up",
    "last sign",
    "malformed",
    "version",
)
LEAST = ("version", "malformed", "up", "region", "score")
"""Columns that are left out on a narrow terminal, the least important one first."""


def weight(
    crawl: Crawl,
    n: Annotated[
        int | None, Argument(metavar="[N]", help="Its share, relative to other crawls (1 to 1000).")
    ] = None,
    precedence: Annotated[
        int | None,
        Option(
            "--precedence",
            metavar="P",
            help="Crawls with a lower one get only what this crawl leaves (-100 to 100, default 0).",
        ),
    ] = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Change a crawl's share of the fleet, or put it before other crawls, while the crawl runs."""
    if n is None and precedence is None:
        raise UsageError("give a weight from 1 to 1000, or --precedence with a number from -100 to 100")
    if n is not None and not 1 <= n <= 1000:
        raise UsageError(f"a weight lies between 1 and 1000, not {n}")
    if precedence is not None and not -100 <= precedence <= 100:
        raise UsageError(f"--precedence must be between -100 and 100, not {precedence}")
    return asyncio.run(_weight(read_settings(None, store, setting), crawl, n, precedence, as_json, quiet))


async def _weight(
    settings: Settings, name: str, n: int | None, precedence: int | None, as_json: bool, quiet: bool
) -> int:
    from gossamer.cli.printing import print_action
    from gossamer.frontier.crawls import Crawls
    from gossamer.state.fleet_crawls import FleetCrawls

    async with open_existing_store(settings) as store:
        record = await Crawls(store).need(name)
        if n is not None:
            await FleetCrawls(store).set_weight(record.name, n)
        if precedence is not None:
            await FleetCrawls(store).set_precedence(record.name, precedence)
    given = {key: value for key, value in (("weight", n), ("precedence", precedence)) if value is not None}
    said = " and ".join(f"the {key} {value}" for key, value in given.items())
    print_action(f"{name} has {said}", as_json, quiet, crawl=name, **given)
    return 0


def listed(store: StoreUrl = None, setting: Setting = None, as_json: Json = False) -> int:
    """List the workers: where they run, what they serve, and the crawls on which they do not work."""
    return asyncio.run(_listed(read_settings(None, store, setting), as_json))


async def _listed(settings: Settings, as_json: bool) -> int:
    from gossamer.app.worker_list import worker_list
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.config.value_texts import format_bytes
    from gossamer.state.malformed_messages import malformed_text as of_malformed

    async with open_existing_store(settings) as store:
        listed = await worker_list(store)
    found, merits, now = listed.workers, listed.merits, listed.now
    if as_json:
        put_json(listed.plain())
    elif found:
        rows = [
            (
                w.name,
                w.state,
                ",".join(w.lanes),
                w.region or "-",
                format_score(merits[w.name]),
                w.processes,
                format_bytes(w.memory),
                time_ago(w.started, now),
                time_ago(w.beat, now),
                w.malformed,
                w.version,
            )
            for w in found
        ]
        put_table(
            HEADS,
            rows,
            right=("processes", "memory", "up", "last sign", "malformed"),
            least=LEAST,
        )
        for fault in filter(None, (w.clock_fault for w in found)):
            print(fault)
        for (name, crawl, site), why in sorted(listed.refused.items()):
            print(f"{name} does no work for {f'site {site} of ' if site else ''}{crawl}: {why}")
    else:
        remark("no worker is running: start one with gossamer worker")
    if listed.malformed:
        remark(of_malformed(listed.malformed, listed.newest_malformed))
    return 0


def time_ago(moment: float, now: float) -> str:
    """Formats how long ago a time was. Returns '-' for the time 0, which means that the worker's record could
    not be read."""
    from gossamer.config.value_texts import format_duration

    return format_duration(now - moment if moment else None)


def format_score(merit: dict[str, Any]) -> str:
    """Formats a worker's score. `out: REASON` means that the worker claims no more URLs for this reason, for
    example because its last 20 visits failed."""
    if merit["out"]:
        return f"out: {merit['out']}"
    return "-" if merit["score"] is None else f"{merit['score']:.2f}"


def drain(
    worker: Worker,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Let a worker finish its claims and start nothing new. The process runs until you stop it."""
    return asyncio.run(_order(read_settings(None, store, setting), worker, "drain", as_json, quiet))


def stop(
    worker: Worker,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Stop a worker gracefully within 10 s. The worker returns its unfinished URLs."""
    return asyncio.run(_order(read_settings(None, store, setting), worker, "stop", as_json, quiet))


async def _order(settings: Settings, name: str, what: str, as_json: bool, quiet: bool) -> int:
    from gossamer.cli.printing import print_action
    from gossamer.state.workers import WorkerRecords

    async with open_existing_store(settings) as store:
        told = await WorkerRecords(store).order(name, what)
    print_action(f"ordered to {what}: {', '.join(told)}", as_json, quiet, order=what, workers=told)
    return 0

"""Compares a finished run with the last good runs that are comparable (`model.run_guard`). docs/guard.md
describes the rules."""

from __future__ import annotations

import hashlib

import msgspec

from gossamer.app.job import Setup
from gossamer.frontier.crawls import Record
from gossamer.frontier.run_records import RunRecords
from gossamer.model.quality import UNLIKE
from gossamer.store.store import Store
from gossamer.worker.records import format_time

LIMITS = ("time_limit", "size_limit", "host_pages", "host_bytes", "host_time", "ladder")


def likeness(setup: Setup) -> str:
    """Returns a text that is equal for two runs if the runs are comparable: they have the same targets, site
    versions, site arguments, limits and mode. Returns '' if a run is never compared: a run with `--limit`,
    and a run of a crawl that never ends (`--revisit`)."""
    job = setup.job
    settings = job.settings
    if settings.limit is not None or settings.revisit is not None:
        return ""
    spec = msgspec.to_builtins(setup.spec) | {"targets": sorted(setup.spec.targets), "user_agent": ""}
    seeds = sorted(setup.seeds) if not setup.sites else []  # a list of URLs may have other lines each night
    same = [spec, seeds, setup.sites, job.args, job.refresh, job.archive, job.sitemaps]
    limits = [getattr(settings, name) for name in LIMITS]
    return hashlib.blake2b(
        msgspec.json.encode([same, limits], order="deterministic"), digest_size=16
    ).hexdigest()


async def unlike_good_runs(setup: Setup, store: Store, record: Record, fates: dict[str, int]) -> str:
    """Returns a line that describes how a finished run differs from the last good runs. Returns '' if the run
    is like them or is not compared. `fates`: the numbers of new, changed and gone items, if an output stores
    the history of items. Raises StoreError."""
    if setup.job.settings.guard == "off" or not (like := likeness(setup)):
        return ""
    runs, at = RunRecords(store), format_time(record.started_at)
    good = [run for run in await runs.load(like) if (run.crawl, run.at) != (setup.crawl, at)]
    if not good:
        return ""
    from gossamer.model.run_guard import compare, line  # imports statistics, which a first run does not need

    now = await runs.read(setup.crawl, at)
    now.counts |= fates
    if not (found := compare(now, good, partial=setup.job.refresh)):
        return ""
    await runs.set_aside(setup.crawl, like)
    return line(found, now, good)


async def keep_accepted_run(store: Store, record: Record) -> None:
    """Stores an unlike run as a good run, because a person has confirmed that it is right. Raises
    StoreError."""
    runs = RunRecords(store)
    if like := await runs.likeness_aside(record.name):
        await runs.keep(like, await runs.read(record.name, format_time(record.started_at)))


async def keep_good_run(setup: Setup, store: Store, record: Record) -> None:
    """Stores a run as a good run. Raises StoreError."""
    if like := likeness(setup):
        run = await RunRecords(store).read(setup.crawl, format_time(record.started_at))
        if run.counts.get("succeeded"):
            await RunRecords(store).keep(like, run)


def is_unlike(reason: str | None) -> bool:
    """Whether the reason of a finished crawl says that its run is unlike the good runs."""
    return (reason or "").startswith(UNLIKE)

"""`gossamer items CRAWL --confirm-gone`: marks as gone all items that the crawl's last run did not see. Use
this option after a run that did not mark the missing items itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from gossamer.app.job import Job, JobOutput
from gossamer.app.quality_gate_setup import gone_counted
from gossamer.app.seeding import prepare
from gossamer.app.sink_setup import make_outputs
from gossamer.app.wiring import open_store
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, UsageError
from gossamer.frontier.crawl_lock import hold_lock
from gossamer.frontier.crawls import ENDED, Crawls, store_time
from gossamer.model.interfaces import HistorySink
from gossamer.sites import load_all
from gossamer.sites.manifest import read_manifest
from gossamer.worker.records import format_time


class Gone(NamedTuple):
    """The result for one site. `gone`: the number of items that were marked. In a dry run, `gone` is the
    number of items that a real run would mark. `stored`: the number of stored items that are not gone."""

    gone: int
    stored: int


async def confirm_gone(settings: Settings, crawl: str, *, dry_run: bool = False) -> dict[str, Gone]:
    """Marks the unseen items as gone in each store of the crawl that keeps items. Returns the result for each
    site, keyed by the site's name. Raises UsageError if the crawl is running, and ConfigError if none of its
    sites is `complete=True` or no output keeps items."""
    folder = Path(settings.data) / crawl
    note = read_manifest(folder)
    with hold_lock(folder, crawl):
        store, embedded = await open_store(settings)
        try:
            record = await Crawls(store).need(crawl)
            if record.state not in ENDED:
                raise UsageError(f"{crawl} is {record.state}: items that it has not seen yet are not gone")
            given = [JobOutput(spec) for spec in record.outputs]
            job = Job(targets=list(note.sites), settings=settings, name=crawl, outputs=given)
            setup, _ = prepare(job, None)
            sites = load_all(note.sites, {})
            complete = [site.name for site in sites if site.site.complete]
            if not complete:
                raise ConfigError(
                    f"no site of {crawl} has complete=True, so no run is known to see all items"
                )
            tables = [table for table in make_outputs(setup, sites)[1] if isinstance(table, HistorySink)]
            if not tables:
                raise ConfigError(
                    f"{crawl} has no output with one row per item (SQLite, PostgreSQL, MongoDB)"
                )
            now, run = format_time(await store_time(store)), f"{crawl}@{record.started_at}"
            found = {}
            try:
                for name in complete:
                    for table in tables:
                        found[name] = Gone(*await asyncio.to_thread(table.missing, name, run, now))
                        if not dry_run:
                            await asyncio.to_thread(table.unseen, name, run, now)
                if not dry_run:
                    await gone_counted(setup, store, [site.name for site in sites], tables, record.started_at)
            finally:
                for table in tables:
                    await asyncio.to_thread(table.close)
            return found
        finally:
            await store.close()
            if embedded is not None:
                await asyncio.to_thread(embedded.leave)

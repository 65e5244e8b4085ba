"""`gossamer items CRAWL --confirm-gone`: marks as gone all items that the crawl's last run did not see. Use
this option after a run that did not mark the missing items itself."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from gossamer.app.ended_crawl import opened
from gossamer.app.quality_gate_setup import gone_counted
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.frontier.crawls import store_time
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
    async with opened(settings, crawl) as at:
        complete = [site.name for site in at.sites if site.site.complete]
        if at.setup is None or not complete:
            raise ConfigError(f"no site of {crawl} has complete=True, so no run is known to see all items")
        if not at.tables:
            raise ConfigError(f"{crawl} has no output with one row per item (SQLite, PostgreSQL, MongoDB)")
        now, run = format_time(await store_time(at.store)), at.setup.owner
        found = {}
        for name in complete:
            for table in at.tables:
                found[name] = Gone(*await asyncio.to_thread(table.missing, name, run, now))
                if not dry_run:
                    await asyncio.to_thread(table.unseen, name, run, now)
        if not dry_run:
            names = [site.name for site in at.sites]
            await gone_counted(at.setup, at.store, names, at.tables, at.record.started_at)
        return found

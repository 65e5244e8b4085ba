"""`gossamer accept CRAWL`: a person confirms that a run which is not like the last good runs is right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gossamer.app.ended_crawl import opened
from gossamer.app.quality_gate_setup import conclude_run, store_site_results
from gossamer.app.run_comparison import is_unlike, keep_accepted_run
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.summary import summary
from gossamer.model.interfaces import HistorySink
from gossamer.model.summary import Summary


async def accept(settings: Settings, crawl: str) -> Summary:
    """Concludes the last run of a crawl, and stores it as a good run. Returns the crawl's summary. Raises
    UsageError if the run was not unlike the good runs."""
    async with opened(settings, crawl) as at:
        if not is_unlike(at.record.reason):
            raise UsageError(f"the last run of {crawl} needs no decision: it is {at.record.state}")
        if at.setup is not None:
            tables = at.tables

            async def each(work: Callable[[HistorySink], None]) -> None:
                for table in tables:
                    await asyncio.to_thread(work, table)

            await conclude_run(at.setup, at.store, at.sites, each, whole=True, accepted=True)
        await keep_accepted_run(at.store, at.record)
        await Crawls(at.store).explain(crawl, "")
        end = await summary(at.store, crawl)
        if at.setup is not None:
            await store_site_results(at.setup, at.store, end, accepted=True)
        return end

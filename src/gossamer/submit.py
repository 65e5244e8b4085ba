"""Give a crawl to the fleet: its record, its job, its seeds. Workers that live take it up within a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from gossamer import submitted
from gossamer.assemble import open_store
from gossamer.door import begin
from gossamer.errors import ConfigError, GossamerError, UsageError
from gossamer.feeding import feed
from gossamer.frontier.census import Census
from gossamer.frontier.crawls import ENDED
from gossamer.frontier.tasks import Tasks
from gossamer.job import Job
from gossamer.membership import seal_of
from gossamer.refreshing import visit_again
from gossamer.seeding import prepare, seed
from gossamer.settings import Settings
from gossamer.sites.loading import load_all
from gossamer.sites.reach import reach_of
from gossamer.summary import Summary

LOOK = 0.5


Say = Callable[[str], None]


async def submit(job: Job, say: Say = lambda _: None, begun: Say = lambda _: None) -> str:
    """Put a crawl on the fleet, or take it up again; its name. `say` hears how far long lists are, `begun` the name, once workers may
    take the crawl up: long lists follow. Raises GossamerError."""
    if job.settings.store is None:
        raise ConfigError("submit needs the fleet's store: set GOSSAMER_STORE, or give --store valkey://HOST")
    if job.refresh and not job.known:
        raise UsageError(
            "--refresh on a fleet needs --known DIR: the folder, reached by all workers, that was given when the crawl was first submitted"
        )
    submitted.shareable([*(output.spec for output in job.outputs), *filter(None, [job.pages, job.attempts, job.graph])])
    setup, given = prepare(job)
    store, _ = await open_store(job.settings)
    try:
        setup.store = store.url
        record, over = await begin(setup, store, job, "paused")
        if over is not None:
            begun(setup.crawl)
        else:
            tasks = Tasks(store)
            bare = msgspec.structs.replace(
                setup, job=msgspec.structs.replace(job, outputs=[], pages=None, attempts=None, graph=None)
            )
            packed = submitted.pack(setup, seal_of(job.settings, store))
            reaches = {site.name: msgspec.json.encode(reach_of(site)) for site in load_all(job.targets, job.args)}

            async def begin_now() -> None:
                await tasks.submit(setup.crawl, packed, reaches)
                begun(setup.crawl)

            try:
                await visit_again(bare, store, record, say)
                await seed(bare, store, given, record)
                await feed(bare, store, given.sources, say, begin_now)
            except GossamerError as error:
                await tasks.turn(setup.crawl, "paused", "stopped", str(error))
                raise
        return setup.crawl
    finally:
        await store.close()


async def seen(settings: Settings, crawl: str) -> Summary:
    """The summary of a submitted crawl now."""
    store, _ = await open_store(settings)
    try:
        return await Census(store).summary(crawl)
    finally:
        await store.close()


async def wait(settings: Settings, crawl: str, watch: Callable[[Summary], None] | None = None) -> Summary:
    """Wait for a submitted crawl to end; its summary."""
    store, _ = await open_store(settings)
    try:
        while True:
            summary = await Census(store).summary(crawl)
            if watch is not None:
                watch(summary)
            if summary.state in ENDED:
                return summary
            await asyncio.sleep(LOOK)
    finally:
        await store.close()

"""Submits a crawl to the fleet: stores its record, job and seeds. Running workers start on the crawl within a
second."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from gossamer.app import job_payload
from gossamer.app.job import Job
from gossamer.app.login_setup import seal_of
from gossamer.app.open_store import open_store
from gossamer.app.producer_runner import feed
from gossamer.app.recrawl_pass import check_known_to_fleet, give_to_fleet, visit_again
from gossamer.app.revisit_setup import refuse_unkept_window, signals_of
from gossamer.app.runner import begin
from gossamer.app.seeding import prepare, seed
from gossamer.config.settings import Settings
from gossamer.errors import Away, ConfigError, GossamerError, StoreError, StoreFull, UsageError
from gossamer.frontier.crawls import ENDED
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.summary import Summary
from gossamer.sites.loading import load_all
from gossamer.sites.remote_sites import reach_of
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.state.workers import Refusals
from gossamer.store.store import Store

CHECK_INTERVAL_S, CHECKS_PER_MESSAGE_READ = 0.5, 4
"""CHECK_INTERVAL_S is the number of seconds between two checks of the crawl's state. The workers' messages
are read in every CHECKS_PER_MESSAGE_READ-th check."""

Say = Callable[[str], None]


async def say_if_unwatched(job: Job, store: Store, say: Say) -> None:
    """Reports that no process evaluates the alert rules, if the settings name receivers of alerts."""
    if job.settings.alerts:
        from gossamer.app.alert_watch import UNWATCHED, is_watched

        if not await is_watched(store):
            say(UNWATCHED)


async def submit(job: Job, say: Say = lambda _: None, begun: Say = lambda _: None) -> str:
    """Submits a crawl or resumes it. Returns its name. `begun` receives the name as soon as workers may work
    on the crawl. Long lists are read after `begun` was called. `say` receives progress messages while the
    lists are read. Raises GossamerError."""
    if job.settings.store is None:
        raise ConfigError("submit needs the fleet's store: set GOSSAMER_STORE, or give --store valkey://HOST")
    repeats = "--refresh" if job.refresh else "--if-older" if job.settings.if_older is not None else ""
    if repeats and not job.known:
        raise UsageError(
            f"{repeats} on a fleet needs --known DIR: the folder, reached by all workers, that was "
            "given when the crawl was first submitted"
        )
    job_payload.check_shareable(
        [*(output.spec for output in job.outputs), *filter(None, [job.pages, job.attempts, job.graph])]
    )
    setup, given = prepare(job)
    store, _ = await open_store(job.settings)
    try:
        setup.store = store.url
        await refuse_unkept_window(setup, store)
        await check_known_to_fleet(setup, store)
        await say_if_unwatched(job, store, say)
        record, over = await begin(setup, store, job, "paused", given)
        if over is not None:
            begun(setup.crawl)
        else:
            tasks = FleetCrawls(store)
            bare = msgspec.structs.replace(
                setup, job=msgspec.structs.replace(job, outputs=[], pages=None, attempts=None, graph=None)
            )
            packed = job_payload.pack_setup(setup, seal_of(job.settings, store))
            reaches = {
                site.name: msgspec.json.encode(reach_of(site)) for site in load_all(job.targets, job.args)
            }

            async def begin_now() -> None:
                await tasks.submit(setup.crawl, packed, reaches)
                begun(setup.crawl)

            try:
                await give_to_fleet(bare, store)
                await visit_again(bare, store, record, say)
                await seed(bare, store, given, record)
                await feed(bare, store, given.sources, say, begin_now, signals_of(setup, store))
            except GossamerError as error:
                await tasks.turn(setup.crawl, "paused", "stopped", str(error))
                raise
        return setup.crawl
    finally:
        await store.close()


async def read_summary(settings: Settings, crawl: str) -> Summary:
    """Returns the current summary of a submitted crawl."""
    store, _ = await open_store(settings)
    try:
        return await CrawlStatistics(store).summary(crawl)
    finally:
        await store.close()


async def wait_for_end(
    settings: Settings, crawl: str, watch: Callable[[Summary], None] | None = None, say: Say = lambda _: None
) -> Summary:
    """Waits for the end of a submitted crawl and returns its summary. `say` receives messages about workers
    that refuse the crawl."""
    told, look = dict[str, str](), 0
    looking = Looking(settings, say)
    try:
        while True:
            store = await looking.store()
            try:
                await store.check_same()
                if (look := look + 1) % CHECKS_PER_MESSAGE_READ == 0:
                    refused = await Refusals(store).of(crawl)
                    for worker in [worker for worker in refused if told.get(worker) != refused[worker]]:
                        say(f"{crawl}: worker {worker} does not work on it: {refused[worker]}")
                    told = refused
                summary = await CrawlStatistics(store).summary(crawl)
            except (Away, StoreFull) as error:
                await looking.away(error)
                continue
            looking.back()
            if watch is not None:
                watch(summary)
            if summary.state in ENDED:
                return summary
            await asyncio.sleep(CHECK_INTERVAL_S)
    finally:
        await looking.close()


class Looking:
    """A long-lived connection for watching a store. During an outage, waits for the store without a time
    limit, like a worker. Each outage is reported once."""

    def __init__(self, settings: Settings, say: Say) -> None:
        self._settings, self._say = settings, say
        self._store: Store | None = None
        self._seed = 0
        self._since: float | None = None
        self._told = False

    async def store(self) -> Store:
        """Returns the open store. If the store was open before, waits until it can be opened again. Raises
        StoreChanged if the address now leads to another store."""
        while self._store is None:
            try:
                self._store, _ = await open_store(self._settings)
            except (Away, StoreFull) as error:
                if not self._seed:
                    raise
                await self.away(error)
                continue
            self._seed = self._seed or self._store.seed
            self._store.expect(self._seed)
        return self._store

    async def away(self, error: StoreError) -> None:
        """Records that the store is unreachable or full. Waits for a short time."""
        self._since = self._since or time.monotonic()
        if not self._told:
            self._told = True
            self._say(f"{error}; waiting for it")
        await asyncio.sleep(CHECK_INTERVAL_S)

    def back(self) -> None:
        """Records that the store is reachable again."""
        if self._told and self._since is not None:
            self._say(f"the store answers again after {time.monotonic() - self._since:.0f} s")
        self._since, self._told = None, False

    async def close(self) -> None:
        """Closes the store."""
        if self._store is not None:
            await self._store.close()

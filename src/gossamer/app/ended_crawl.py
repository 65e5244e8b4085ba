"""Opens a crawl that has ended, so that a person can decide about its last run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.app.job import Job, JobOutput, Setup
from gossamer.app.job_payload import unpack_setup
from gossamer.app.login_setup import seal_of
from gossamer.app.open_store import open_existing_store
from gossamer.app.seeding import prepare
from gossamer.app.sink_setup import make_outputs
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.crawl_lock import hold_lock
from gossamer.frontier.crawls import ENDED, Crawls, Record
from gossamer.model.interfaces import HistorySink
from gossamer.sites import load_all
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.manifest import read_manifest
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store.store import Store


class EndedCrawl(NamedTuple):
    """A crawl that has ended. `setup`: None if the crawl has no site files. `tables`: its outputs that store the
    history of items."""

    record: Record
    setup: Setup | None
    store: Store
    sites: Sequence[LoadedSite]
    tables: Sequence[HistorySink]


@contextlib.asynccontextmanager
async def opened(settings: Settings, crawl: str) -> AsyncIterator[EndedCrawl]:
    """Opens a crawl, and keeps other processes from running it. Raises UsageError if the crawl does not exist
    or has not ended."""
    folder = Path(settings.data) / crawl
    with contextlib.ExitStack() as locks:
        if folder.exists():
            locks.enter_context(hold_lock(folder, crawl))
        async with open_existing_store(settings) as store:
            record = await Crawls(store).need(crawl)
            if record.state not in ENDED:
                raise UsageError(f"{crawl} is {record.state}: its run must end first")
            setup = await _setup(settings, store, record, folder)
            sites = load_all(setup.job.targets, setup.job.args) if setup is not None else []
            tables = make_outputs(setup, sites)[1] if setup is not None and sites else []
            try:
                histories = [table for table in tables if isinstance(table, HistorySink)]
                yield EndedCrawl(record, setup, store, sites, histories)
            finally:
                for table in tables:
                    await asyncio.to_thread(table.close)


async def _setup(settings: Settings, store: Store, record: Record, folder: Path) -> Setup | None:
    raw = await FleetCrawls(store).job(record.name) if record.fleet else None
    if raw is not None:
        seal = cache(partial(seal_of, settings, store))
        setup = unpack_setup(raw, settings, store.url, "", seal)
    else:
        note = read_manifest(folder)
        if not note.sites:
            return None
        given = [JobOutput(spec) for spec in record.outputs]
        job = Job(targets=list(note.sites), settings=settings, name=record.name, outputs=given)
        setup, _ = prepare(job, None)
        setup.job.refresh = record.refreshing
    return msgspec.structs.replace(setup, spec=record.spec, owner=f"{record.name}@{record.started_at}")

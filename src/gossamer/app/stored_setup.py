"""The setup of an existing crawl, for commands that add URLs to the crawl without running it.

The record of a fleet's crawl contains its setup (`job_payload`). Every other crawl stores a copy of its setup
when the crawl begins. The copy contains no outputs, headers or passwords.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

import msgspec

from gossamer.app import job_payload
from gossamer.app.job import Job, Setup
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Record
from gossamer.sites.loading import load_all
from gossamer.sites.remote_sites import SiteReach, reach_of
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store import keys
from gossamer.store.store import Store


async def store_setup(store: Store, setup: Setup) -> None:
    """Stores a copy of `setup`, the setup of the crawl that this process runs."""
    given = setup.job
    job = Job(targets=[], settings=given.settings, priority=given.priority, gates=given.gates)
    reaches = {site.name: reach_of(site) for site in load_all(setup.job.targets, setup.job.args)}
    bare = msgspec.structs.replace(setup, job=job, credentials={}, lacks=reaches)
    packed = job_payload.pack_setup(bare)
    await store.guard(cast(Awaitable[Any], store.client.set(keys.setup(setup.crawl), packed)))


async def load_setup(store: Store, record: Record, mine: Settings) -> Setup:
    """Returns the setup of a crawl for a process that only adds URLs. `mine`: the settings of this process.
    No site file is loaded, so the field `lacks` of the setup contains the hosts of all sites. Raises
    ConfigError if another version wrote the setup, and UsageError if the store contains no setup of the
    crawl."""
    tasks = FleetCrawls(store)
    key = keys.setup(record.name)
    raw = await (tasks.job(record.name) if record.fleet else _read(store, key))
    if raw is None:
        raise UsageError(
            f"crawl {record.name} has no stored setup: run its command once more, with --fresh if it has "
            "finished, then add URLs"
        )
    setup = job_payload.read_setup(raw)
    reaches = setup.lacks or {}
    if record.fleet and record.sites:
        found = await tasks.site_reaches(record.name, [*record.sites])
        reaches = {
            site: msgspec.json.decode(reach, type=SiteReach)
            for site, reach in zip(record.sites, found, strict=True)
            if reach is not None
        }
    settings = msgspec.structs.replace(setup.job.settings, store=mine.store, data=mine.data)
    job = msgspec.structs.replace(setup.job, targets=[], settings=settings)
    return msgspec.structs.replace(setup, job=job, store=store.url, lacks=reaches)


async def _read(store: Store, key: str) -> bytes | None:
    found: bytes | None = await store.guard(cast(Awaitable[Any], store.client.get(key)))
    return found

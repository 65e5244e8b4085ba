"""Finalizes the crawls of a fleet. When no claims are in flight, one process closes all parts of the outputs
and then sets the final state."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer import sites as site_files
from gossamer.app import job_payload
from gossamer.app.enqueuer import policy
from gossamer.app.job import Setup
from gossamer.app.quality_gate_setup import conclude_run, store_site_results
from gossamer.app.run_comparison import is_unlike
from gossamer.app.sink_setup import make_outputs
from gossamer.config.data_files import make_private
from gossamer.errors import ConfigError, GossamerError, SinkAway, SinkError
from gossamer.frontier.crawls import Crawls, drop_queue
from gossamer.frontier.frontier_client import Frontier
from gossamer.frontier.policy import Policy
from gossamer.frontier.producer_positions import has_active_producer
from gossamer.frontier.stats import CrawlStatistics
from gossamer.frontier.summary import crawl_counts
from gossamer.model.interfaces import HistorySink
from gossamer.state.fleet_crawls import FleetCrawl, FleetCrawls
from gossamer.state.slots import Slots
from gossamer.state.workers import WorkerRecords
from gossamer.store.keys import tag
from gossamer.store.store import Store
from gossamer.worker.outputs import Outputs

log = logging.getLogger("gossamer.worker")

ENDS = {"stopping": "stopped", "cancelling": "cancelled"}
SWEEP_INTERVAL_S = 5.0
"""Seconds between searches for claims with expired leases."""
SetupOf = Callable[[FleetCrawl, str], Awaitable[Setup]]
"""The type of an asynchronous function that returns the setup of a crawl. The function takes the crawl and
the name of a segment. A segment consists of the output parts that one process writes
(`job_payload.segment_name`)."""


class CrawlEnding:
    """Finalizes crawls of the fleet. Any process may do this, but only one at a time for each crawl."""

    def __init__(self, store: Store) -> None:
        self._store, self._fleet_crawls, self._statistics = store, FleetCrawls(store), CrawlStatistics(store)
        self._swept = dict[str, float]()
        self._unclosed = dict[str, str]()
        """Why a part of an output cannot be closed, by crawl."""

    async def look(self, task: FleetCrawl, setup_of: SetupOf) -> None:
        """Takes the next step to finalize a crawl in the state `stopping`, `cancelling` or `ending`. Does
        nothing if the crawl is not ready for the next step."""
        if task.state in ENDS:
            if await self._statistics.in_flight(task.name):
                await self._sweep(task, setup_of)
                return
            if task.state == "cancelling":
                if await has_active_producer(self._store, task.name):
                    # Waits for a `gossamer submit` that is still adding URLs. Its process reads the crawl's
                    # state, and therefore stops within a second. If this process is dead, its lease expires.
                    return
                await drop_queue(self._store, task.name)
            _, reason = await Crawls(self._store).state(task.name)  # a quality gate may have set the reason
            await self._fleet_crawls.turn(task.name, task.state, "ending", reason, ends_as=ENDS[task.state])
        elif task.state == "ending":
            async with Slots(self._store).lead(f"end {task.name}") as mine:
                ends_as = task.ends_as or "finished"
                if mine and ends_as == "finished" and await self._has_urls(task.name):
                    revision = str(task.revision + 1)
                    await self._fleet_crawls.turn(task.name, "ending", "running", revision=revision)
                elif mine and await self._sealed(task, setup_of):
                    if not await self._concluded(task, setup_of, whole=ends_as == "finished"):
                        return
                    _, reason = await Crawls(self._store).state(task.name)
                    if is_unlike(reason):
                        log.warning("crawl %s: %s; nothing is concluded", task.name, reason)
                    unclosed = self._unclosed.pop(task.name, "")
                    await self._fleet_crawls.turn(task.name, "ending", ends_as, reason or unclosed)

    async def _has_urls(self, name: str) -> bool:
        """Returns whether a crawl has open URLs. Such URLs were added after the workers had visited all other
        URLs."""
        return (await crawl_counts(self._store, name))["open"] > 0

    async def _sweep(self, task: FleetCrawl, setup_of: SetupOf) -> None:
        """Requeues claims with expired leases. The finalizer must requeue expired claims itself, because all
        workers of the crawl may be dead, and no worker joins a crawl that is stopping or cancelling."""
        if time.monotonic() - self._swept.get(task.name, float("-inf")) < SWEEP_INTERVAL_S:
            return
        self._swept[task.name] = time.monotonic()
        try:
            how = policy((await setup_of(task, "")).job.settings)
        except ConfigError:  # this machine does not have the key that decrypts the job
            how = Policy()
        await Frontier(self._store, task.name, how).all_buckets.requeue_expired()

    async def _concluded(self, task: FleetCrawl, setup_of: SetupOf, *, whole: bool) -> bool:
        """Counts the items that are gone. If the crawl has visited all of its URLs (`whole`), also stores the
        quality data of its sites for later runs, and marks the stored items that its sites no longer contain
        as gone. Returns False if an output does not answer, so that the caller tries again later."""
        try:
            setup = await setup_of(task, "")
            sites = site_files.load_all(setup.job.targets, setup.job.args, ())
            tables = make_outputs(setup, sites)[1] if sites else []

            async def each(work: Callable[[HistorySink], None]) -> None:
                for table in tables:
                    if isinstance(table, HistorySink):
                        await asyncio.to_thread(work, table)

            try:
                await conclude_run(setup, self._store, sites, each, whole=whole)
            finally:
                for table in tables:
                    await asyncio.to_thread(table.close)
            if whole:
                await store_site_results(
                    setup, self._store, replace(await self._statistics.summary(task.name), state="finished")
                )
        except SinkAway as error:
            log.warning("crawl %s: %s", task.name, error)
            return False
        except GossamerError as error:
            log.warning(
                "crawl %s: items that it did not find any more could not be marked: %s", task.name, error
            )
        return True

    async def _sealed(self, task: FleetCrawl, setup_of: SetupOf) -> bool:
        """Closes the output parts that dead processes wrote. Each living process closes its own output parts.
        Returns whether all output parts are closed."""
        left = await self._segments(task.name)
        crew = WorkerRecords(self._store)
        for segment in left:
            if not await crew.name(f"{task.name}/{segment}", "seal"):
                return False  # the process is alive and will close its own part
        for segment in left:
            cause = "is damaged"
            try:
                setup = await setup_of(task, segment)
                folder = Path(setup.job.settings.data) / setup.crawl
                if not folder.is_dir():
                    cause = "was written on another machine and cannot be closed on this one"
                make_private(folder)
                await self._seal(setup, folder)
            except SinkAway as error:  # the part cannot be closed until a sink accepts the waiting rows
                log.warning("crawl %s: %s", task.name, error)
                return False
            except GossamerError as error:
                log.warning(
                    "crawl %s: part %s of its outputs cannot be closed here: %s", task.name, segment, error
                )
                if isinstance(error, SinkError):  # rows are missing or double there
                    self._unclosed[task.name] = f"part {segment} of its outputs {cause}: {error}"
            await crew.release_name(f"{task.name}/{segment}", "seal")
        return True

    async def _seal(self, setup: Setup, folder: Path) -> None:
        files, tables = make_outputs(setup, site_files.load_all(setup.job.targets, setup.job.args, ()))
        frontier = Frontier(self._store, setup.crawl, policy(setup.job.settings))
        lock = folder / f"output-{setup.segment}.lock"
        parts: Any = Outputs(frontier, lock=lock, files=files, tables=tables)
        try:
            await parts.finish()
        finally:
            parts.release()

    async def _segments(self, name: str) -> set[str]:
        """Returns the segments (see `SetupOf`) of all processes that wrote rows of the crawl."""
        pipe = self._store.client.pipeline(transaction=False)
        for bucket in range(self._store.buckets):
            pipe.hkeys(f"{tag(bucket)}{name}:f")
        found = await self._store.guard(pipe.execute())
        return job_payload.committed_segments([path.decode() for paths in found for path in paths])

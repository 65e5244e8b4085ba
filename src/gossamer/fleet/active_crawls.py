"""Manages the crawls that one process of a worker works on. The crawls share one event loop, and each gets
capacity according to its precedence and its weight."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from gossamer.app import job_payload
from gossamer.app.crawl_worker import CrawlWorker, FleetPlace, limiter_of
from gossamer.app.job import Setup
from gossamer.app.login_setup import seal_of
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, GossamerError, NoProxyLeft, StoreError
from gossamer.fleet.fair_share import FairShares
from gossamer.fleet.finalize import CrawlEnding
from gossamer.fleet.heartbeat import Heartbeat
from gossamer.fleet.process_load import ProcessLoad
from gossamer.fleet.revisit_decider import RevisitDeciders
from gossamer.fleet.site_versions import MissingSites, SiteVersions
from gossamer.frontier.crawls import OUTCOMES, Crawls
from gossamer.frontier.producer_positions import unread_producers
from gossamer.state.fleet_crawls import FleetCrawl, FleetCrawls
from gossamer.store.store import Store

log = logging.getLogger("gossamer.worker")

READ_INTERVAL_S = 1.0
"""Seconds between two reads of the list of crawls."""
DRAIN_TIMEOUT_S = 12.0
"""When a crawl has ended, this process must settle its own claims of the crawl within this many seconds."""
RETRY_INTERVAL_S = 10.0
"""If this process fails to work on a crawl, the process tries again after this many seconds."""


class WorkerProcess(NamedTuple):
    """The worker to which this process belongs."""

    name: str
    settings: Settings
    stopping: Callable[[], bool]
    """A function that returns whether the worker was ordered to stop or drain. The function may be called
    often, because a call takes little time."""
    lanes: tuple[str, ...] = ("http",)


class ActiveCrawl:
    """A crawl that this process works on. `lacks` maps the name of each site that this process cannot serve
    to the reason."""

    def __init__(
        self, crawl_worker: CrawlWorker, task: FleetCrawl, sign: Heartbeat, lacks: dict[str, str]
    ) -> None:
        self.sign, self.lacks = sign, lacks
        self.crawl_worker, self.began, self.revision = crawl_worker, task.began, task.revision
        self.work: asyncio.Task[str] | None = None


class ActiveCrawls:
    """Manages the crawls that this process works on. Between slices, only caches and connections are kept."""

    def __init__(self, me: WorkerProcess, store: Store, halt: asyncio.Event) -> None:
        self.me, self._own = me, secrets.token_hex(6)
        self.limiter = limiter_of(me.settings.concurrency)
        self.load = ProcessLoad(
            lambda: self.limiter.visits + self.limiter.visits // 4, me.settings.recycle_memory
        )
        self.limiter.load = self.load.share
        self._store, self._halt = store, halt
        self._fair = FairShares(self.load.claims)
        self._fleet_crawls, self._ending, self._versions = (
            FleetCrawls(store),
            CrawlEnding(store),
            SiteVersions(store, me.settings),
        )
        self._deciders = RevisitDeciders(store)
        self._missing_sites = MissingSites(store, me.name, self._versions)
        self._seal = cache(partial(seal_of, me.settings, store))
        self._at: dict[str, ActiveCrawl] = {}
        self._shy: dict[str, float] = {}

    async def look(self) -> None:
        """Joins running crawls, leaves ended crawls, and helps to finalize crawls that are stopping,
        cancelling or ending."""
        await self._store.check_same()
        tasks = {task.name: task for task in await self._fleet_crawls.tasks()}
        for name in self._at.keys() - tasks.keys():
            await self._leave(name)
        for name in self._missing_sites.crawls - tasks.keys():
            await self._missing_sites.say(name, {})
        for task in tasks.values():
            if task.name in self._at and self._at[task.name].began != task.began:
                await self._drop(task.name)
            if task.state != "running":
                await self._deciders.end(task.name)
            if task.state == "running":
                await self._join(task)
            elif task.name in self._at and task.state == "ending":
                await self._leave(task.name)
            elif task.state != "ending" or not await self._missing_sites.leaves(task, self._setup):
                await self._ending.look(task, self._setup)

    async def _join(self, task: FleetCrawl) -> None:
        """Starts work on a crawl if this process can work on the crawl and does not work on it yet."""
        at, now = self._at.get(task.name), time.monotonic()
        if at is not None:
            self._fair.share(task.name, task.weight, task.precedence)  # weight and precedence may change
            if at.revision == task.revision:
                await self._deciders.keep(at.crawl_worker.setup)
            await self._versions.serve(task, at.crawl_worker, self.me.lanes, self.me.settings.region or "")
        if self._shy.get(task.name, 0) > now or (
            at is not None and at.work is not None and not at.work.done()
        ):
            return
        if at is not None and at.work is not None:
            await self._ended(task, at)
            return
        try:
            if (
                at is None
                or at.revision != task.revision
                or not self._versions.same(task, at.crawl_worker, at.lacks)
            ):
                if at is not None:
                    await self._leave(task.name)
                at = await self._begin(task)
        except GossamerError as error:
            if isinstance(error, StoreError):
                raise
            await self._refuse(task.name, str(error))
            return
        await self._missing_sites.say(task.name, at.lacks)
        settings = at.crawl_worker.setup.job.settings
        spent = task.spent - (task.run_from if settings.revisit is not None else 0.0)
        at.crawl_worker.setup.deadline = (
            None if settings.time_limit is None else now + settings.time_limit - spent
        )
        self._fair.share(task.name, task.weight, task.precedence)
        await self._fleet_crawls.begin_time(task.name)
        at.work = asyncio.create_task(at.crawl_worker.run())

    async def _begin(self, task: FleetCrawl) -> ActiveCrawl:
        segment = job_payload.segment_name(self._own, task.name)
        setup = await self._setup(task, segment)
        lacks = await self._versions.check(task, setup)
        await asyncio.to_thread(job_payload.make_output_folders, setup)
        sign = Heartbeat(self._store, task.name, segment)
        await sign.give()
        crawl_worker = CrawlWorker(
            setup,
            self._store,
            self.me.name,
            self._halt,
            fleet=FleetPlace(
                self.me.lanes,
                self.me.settings.region or "",
                sign.ours,
                self._fair.share(task.name, task.weight, task.precedence),
                self.limiter,
            ),
        )
        await self._versions.serve(task, crawl_worker, self.me.lanes, self.me.settings.region or "")
        self._at[task.name] = ActiveCrawl(crawl_worker, task, sign, lacks)
        return self._at[task.name]

    async def _setup(self, task: FleetCrawl, segment: str) -> Setup:
        raw = await self._fleet_crawls.job(task.name)
        if raw is None:
            raise ConfigError(f"crawl {task.name} was removed")
        return job_payload.unpack_setup(raw, self.me.settings, self._store.url, segment, self._seal)

    async def _ended(self, task: FleetCrawl, at: ActiveCrawl) -> None:
        """Called when this process's work on a crawl ends during a slice. Depending on how the work ended,
        changes the state of the crawl, or makes this process skip the crawl for a while."""
        assert at.work is not None
        work, at.work = at.work, None
        try:
            outcome = work.result()
        except StoreError:
            raise
        except NoProxyLeft as error:
            log.error("crawl %s: %s", task.name, error)
            await self._fleet_crawls.turn(task.name, "running", "ending", str(error), ends_as="failed")
            return
        except GossamerError as error:
            await self._leave(task.name)
            await self._refuse(task.name, str(error))
            return
        except Exception:
            log.exception(
                "crawl %s: a bug occurred; the worker tries again in %d s", task.name, RETRY_INTERVAL_S
            )
            await self._leave(task.name)
            self._shy[task.name] = time.monotonic() + RETRY_INTERVAL_S
            return
        if at.revision != task.revision:
            return  # the crawl was submitted again, so its limits may differ
        if outcome in OUTCOMES:
            await self._fleet_crawls.turn(
                task.name, "running", "ending", OUTCOMES[outcome], ends_as="limited"
            )
        elif outcome == "finished" and at.crawl_worker.setup.job.settings.revisit is not None:
            self._shy[task.name] = time.monotonic() + READ_INTERVAL_S  # known pages become due again
        elif outcome == "finished" and await all_given(self._store, task.name):
            await self._fleet_crawls.turn(task.name, "running", "ending", ends_as="finished")
        elif outcome == "finished":
            self._shy[task.name] = time.monotonic() + READ_INTERVAL_S  # seeds are still being added

    async def _refuse(self, name: str, why: str) -> None:
        """Makes this process skip a crawl for RETRY_INTERVAL_S seconds, and records the reason."""
        await self._missing_sites.say(name, {"": why})
        self._shy[name] = time.monotonic() + RETRY_INTERVAL_S

    async def _leave(self, name: str) -> None:
        """Stops work on a crawl, and closes this process's part of its outputs."""
        at = self._at.pop(name)
        await self._deciders.end(name)
        self._fair.drop(name)
        if at.work is not None:
            await asyncio.wait([at.work], timeout=DRAIN_TIMEOUT_S)
            at.work.cancel()
            await asyncio.gather(at.work, return_exceptions=True)
        try:
            await at.crawl_worker.outputs.finish()
        except GossamerError as error:
            log.warning("crawl %s: its outputs could not be closed: %s", name, error)
        finally:
            await at.crawl_worker.close()
        await at.sign.end()

    async def _drop(self, name: str) -> None:
        """Stops work on a crawl without committing anything, because this process's local state of the crawl
        may be wrong."""
        at = self._at.pop(name)
        await self._deciders.end(name)
        self._fair.drop(name)
        if at.work is not None:
            at.work.cancel()
            await asyncio.gather(at.work, return_exceptions=True)
        await at.crawl_worker.close()

    async def rest(self, broken: bool) -> None:
        """Ends a slice. Visits in flight finish, and claims whose visits have not begun are requeued.

        Drops each crawl whose work raised an error. Drops all crawls if the store did not answer (`broken`),
        because the store may have lost the writes of the last second, and the local state of the crawls may
        be wrong.
        """
        self._missing_sites.slice()
        for name, at in list(self._at.items()):
            work, at.work = at.work, None
            error = None if work is None else (await asyncio.gather(work, return_exceptions=True))[0]
            if isinstance(error, BaseException):
                log.warning("crawl %s: %s", name, error)
            if broken or isinstance(error, BaseException):
                await self._drop(name)

    async def beat(self) -> None:
        """Renews the heartbeat for each crawl, so that no other process closes this process's parts of the
        outputs."""
        for at in list(self._at.values()):
            await at.sign.give()

    async def close(self, *, forget: bool = False) -> None:
        """Leaves all crawls (`_leave`). If `forget` is true, drops the crawls instead (`_drop`), so that the
        leases of their claims expire."""
        for name in list(self._at):
            with contextlib.suppress(GossamerError):
                await (self._drop(name) if forget else self._leave(name))


async def all_given(store: Store, crawl: str) -> bool:
    """Returns whether all seeds of a crawl were added, including those in long lists."""
    return (await Crawls(store).need(crawl)).seeded and not await unread_producers(store, crawl)

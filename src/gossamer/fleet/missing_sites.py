"""What a worker does no work for, whole crawls or some of their sites, and why: said in the store and in the
log."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from gossamer.app.job import Setup
from gossamer.errors import GossamerError, StoreError
from gossamer.fleet.site_versions import Versions
from gossamer.state.fleet_crawls import FleetCrawl
from gossamer.state.workers import Refusals
from gossamer.store.store import Store

log = logging.getLogger("gossamer.worker")


class Lacking:
    """What one process of a worker knows of that."""

    def __init__(self, store: Store, worker: str, versions: Versions) -> None:
        self._refusals, self._worker, self._versions = Refusals(store), worker, versions
        self._of: dict[str, dict[str, str]] = {}
        self._logged: set[str] = set()

    @property
    def crawls(self) -> set[str]:
        """Those of which something is lacked."""
        return set(self._of)

    async def say(self, crawl: str, lacks: dict[str, str]) -> None:
        """What of a crawl no work is done for, and why, by site ('': all of it). In the log: what is new, of
        sites once a slice."""
        known = self._of.pop(crawl, {})
        for site in sorted(known.keys() | lacks.keys()):
            if known.get(site) != lacks.get(site):
                await self._refusals.refuse(self._worker, crawl, lacks.get(site), site)
        if lacks:
            self._of[crawl] = dict(lacks)
        if "" in lacks:
            if known != lacks:
                log.warning("crawl %s: this worker does no work for it: %s", crawl, lacks[""])
        elif lacks and crawl not in self._logged:
            self._logged.add(crawl)
            each = "; ".join(f"site {site}: {why}" for site, why in sorted(lacks.items()))
            log.warning("crawl %s: this worker does no work for some of its sites: %s", crawl, each)

    def slice(self) -> None:
        """Another slice begins."""
        self._logged.clear()

    async def leaves(self, task: FleetCrawl, setup_of: Callable[[FleetCrawl, str], Awaitable[Setup]]) -> bool:
        """Whether the end of a crawl is others': something is lacked here, and they have all."""
        if task.name not in self._of:
            try:
                await self.say(task.name, self._versions.lacks(task, await setup_of(task, "")))
            except StoreError:
                raise
            except GossamerError as error:
                await self.say(task.name, {"": str(error)})
        return task.name in self._of and await self._refusals.others(task.name)

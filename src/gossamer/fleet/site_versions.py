"""Compares the versions of site files in a fleet. A worker without the fleet's version of a site's file
leaves the site's hosts to workers that have this version. The worker records in the store and in the log why
it does not visit these hosts.

Site files are never sent to other machines. Each machine remembers which version of a site file it last used.
If a user edits a site file on a machine that last used the fleet's version of the file, the edited file
becomes the fleet's new version. If the machine last used a different version, the edited file stays local,
and the machine only reports that its file differs from the fleet's version.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from gossamer import sites as site_files
from gossamer.app.crawl_worker import CrawlWorker
from gossamer.app.job import Setup
from gossamer.config.data_files import make_folder, open_file
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, GossamerError, StoreError
from gossamer.frontier.policy import served_heaps
from gossamer.sites.remote_sites import SiteReach, reach_of
from gossamer.state.fleet_crawls import Edit, FleetCrawl, FleetCrawls
from gossamer.state.workers import Refusals
from gossamer.store.store import Store

log = logging.getLogger("gossamer.worker")


class MissingSites:
    """Records which crawls and sites one process of a worker skips, and why."""

    def __init__(self, store: Store, worker: str, versions: SiteVersions) -> None:
        self._refusals, self._worker, self._versions = Refusals(store), worker, versions
        self._of: dict[str, dict[str, str]] = {}
        self._logged: set[str] = set()

    @property
    def crawls(self) -> set[str]:
        """The names of the crawls that this process skips, either as a whole or for some of their sites."""
        return set(self._of)

    async def say(self, crawl: str, lacks: dict[str, str]) -> None:
        """Records which sites of a crawl this process skips. `lacks` maps each skipped site to the reason why
        it is skipped. The key '' means the whole crawl. Logs new reasons. The reason why a single site is
        skipped is logged at most once per slice."""
        known = self._of.pop(crawl, {})
        for site in sorted(known.keys() | lacks.keys()):
            if known.get(site) != lacks.get(site):
                await self._refusals.refuse(self._worker, crawl, lacks.get(site), site)
        if lacks:
            self._of[crawl] = dict(lacks)
        if "" in lacks:
            if known != lacks:
                log.warning("crawl %s: this worker does not work on it: %s", crawl, lacks[""])
        elif lacks and crawl not in self._logged:
            self._logged.add(crawl)
            each = "; ".join(f"site {site}: {why}" for site, why in sorted(lacks.items()))
            log.warning("crawl %s: this worker does no work for some of its sites: %s", crawl, each)

    def slice(self) -> None:
        """Called at the end of a slice. After this call, the reasons that this slice has logged may be logged
        again in the next slice."""
        self._logged.clear()

    async def leaves(self, task: FleetCrawl, setup_of: Callable[[FleetCrawl, str], Awaitable[Setup]]) -> bool:
        """Returns whether another worker must finalize the crawl. Returns True if some site files of the
        crawl are missing on this machine, and another worker has all of the crawl's site files."""
        if task.name not in self._of:
            try:
                await self.say(task.name, self._versions.lacks(task, await setup_of(task, "")))
            except StoreError:
                raise
            except GossamerError as error:
                await self.say(task.name, {"": str(error)})
        return task.name in self._of and await self._refusals.others(task.name)


class SiteVersions:
    """Compares the site files of one machine with those of the fleet."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._fleet_crawls, self._data = FleetCrawls(store), Path(settings.data)
        self._sites = str(Path(settings.sites).resolve())

    async def check(self, task: FleetCrawl, setup: Setup) -> dict[str, str]:
        """Finds the sites of a crawl that this machine cannot serve, because the site's file is missing or
        has another version. Returns a dict that maps each of these sites to an error message. Stores the
        versions of all site files, and the `SiteReach` of each site that cannot be served, in `setup`. Files
        that were edited on this machine become the fleet's versions. Raises ConfigError if this machine
        cannot serve the crawl."""
        if not task.sites:
            return {}
        force = task.sites
        ours, edits, lacks = self._look(task.name, force, setup)
        if edits or lacks:  # compared again, because another machine may have set a version meanwhile
            force = await self._fleet_crawls.edit(task.name, edits)
            ours, edits, lacks = self._look(task.name, force, setup)
        reaches = await self._reaches(task.name, {name: force[name] for name in lacks}) if lacks else {}
        if lacks.keys() == force.keys() or reaches is None:
            raise ConfigError("; ".join(f"site {name}: {why}" for name, why in sorted(lacks.items())))
        setup.sites.clear()
        setup.sites.update(force)
        setup.lacks = reaches or None
        self._run(task.name, ours)
        return lacks

    def lacks(self, task: FleetCrawl, setup: Setup) -> dict[str, str]:
        """Finds the sites of a crawl that this machine cannot serve, and maps each of them to the reason.
        Raises ConfigError if files cannot be read."""
        return self._look(task.name, task.sites, setup)[2] if task.sites else {}

    def same(self, task: FleetCrawl, crawl_worker: CrawlWorker, lacks: dict[str, str]) -> bool:
        """Returns whether this machine's site files and the fleet's versions have not changed since the crawl
        worker `crawl_worker` was created."""
        return (
            crawl_worker.setup.sites == task.sites
            and all(site_files.version(site.path) == site.version for site in crawl_worker.sites)
            and (not lacks or self.lacks(task, crawl_worker.setup) == lacks)
        )

    async def serve(
        self, task: FleetCrawl, crawl_worker: CrawlWorker, lanes: Sequence[str], region: str
    ) -> None:
        """Lets this worker claim reserved hosts if this machine has the files of their sites. A reserved host
        may be claimed only by workers that have the files of the host's sites."""
        lacks = crawl_worker.setup.lacks or {}
        groups = [group for group in task.apart if not any(site in lacks for site in group.split("+"))]
        served = served_heaps([*lanes, *(f"{lane}+{group}" for group in groups for lane in lanes)], region)
        if served != crawl_worker.frontier.policy.lanes:
            crawl_worker.frontier.change_policy(lanes=served)
        if crawl_worker.apart is not None:
            await crawl_worker.apart.again(task.apart)

    def _look(
        self, crawl: str, force: dict[str, str], setup: Setup
    ) -> tuple[dict[str, str], list[Edit], dict[str, str]]:
        """Compares the site files on this machine with the fleet's versions. Returns three values. The first
        value contains the sites whose files have the fleet's version, and maps each of these sites to its
        version. The second value lists the files that were edited on this machine. The third value maps each
        of the other sites to an error message, which reports that the site's file is missing or has another
        version."""
        faults: list[str] = []
        found = {one.name: one for one in site_files.load_all(setup.job.targets, setup.job.args, (), faults)}
        ours, edits, lacks, ran = dict[str, str](), list[Edit](), dict[str, str](), self._ran(crawl)
        for name, version in force.items():
            if (site := found.get(name)) is None:
                lacks[name] = "; ".join(faults) or (
                    f"its file is missing in {self._sites}: copy it there from another machine"
                )
            elif site.version == version:
                ours[name] = version
            elif ran.get(name) == version:
                edits.append(Edit(name, version, site.version, msgspec.json.encode(reach_of(site))))
            else:
                lacks[name] = (
                    f"the file here is version {site.version}, the fleet runs {version}: "
                    f"update {self._sites} to that version, or submit the crawl again with this one"
                )
        return ours, edits, lacks

    async def _reaches(self, crawl: str, force: dict[str, str]) -> dict[str, SiteReach] | None:
        """Maps each site to the `SiteReach` of the given version of its file. A `SiteReach` contains the
        site's hosts, and the lane, region and ladder that workers need for the site. Returns None if the
        `SiteReach` of at least one site is not in the store."""
        found: dict[str, SiteReach] = {}
        for (name, version), raw in zip(
            force.items(), await self._fleet_crawls.site_reaches(crawl, list(force)), strict=True
        ):
            if raw is None or (one := msgspec.json.decode(raw, type=SiteReach)).version != version:
                return None
            found[name] = one
        return found

    def _ran(self, crawl: str) -> dict[str, str]:
        """Maps each site to the version of its file that this machine last ran for a crawl. Ignores runs that
        used another folder of site files."""
        try:
            found: dict[str, str] = json.loads((self._data / crawl / "sites.json").read_text()).get(
                self._sites, {}
            )
        except (OSError, ValueError):
            return {}
        return found

    def _run(self, crawl: str, versions: dict[str, str]) -> None:
        path = self._data / crawl / "sites.json"
        make_folder(path.parent)
        with open(path, "w", opener=open_file) as file:
            json.dump({self._sites: {**self._ran(crawl), **versions}}, file)

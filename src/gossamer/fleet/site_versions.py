"""What a worker does no work for, whole crawls or some of their sites, and why: said in the store and in the
log.

Which version of a site's file the fleet runs: a worker without it, or with another, leaves the site's
hosts to those that have it.

Code never travels. An edit on a machine that ran the fleet's version until now is the fleet's next version; a
machine that never had the version in force only says so.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from gossamer import sites as site_files
from gossamer.app.job import Setup
from gossamer.app.wiring import Bench
from gossamer.config.data_files import make_folder, open_file
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, GossamerError, StoreError
from gossamer.frontier.policy import heaps
from gossamer.sites.remote_sites import Reach, reach_of
from gossamer.state.fleet_crawls import Edit, FleetCrawl, Tasks
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


class Versions:
    """The site files of one machine against those of the fleet."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._tasks, self._data = Tasks(store), Path(settings.data)
        self._sites = str(Path(settings.sites).resolve())

    async def check(self, task: FleetCrawl, setup: Setup) -> dict[str, str]:
        """What this machine lacks of a crawl's sites, and why; the setup says so, too. An edit here becomes
        the fleet's. Raises ConfigError when it can serve none of them."""
        if not task.sites:
            return {}
        force = task.sites
        ours, edits, lacks = self._look(task.name, force, setup)
        if edits or lacks:  # others may have changed theirs a moment ago
            force = await self._tasks.edit(task.name, edits)
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
        """What this machine lacks of a crawl's sites, and why. Raises ConfigError for files that cannot be
        read."""
        return self._look(task.name, task.sites, setup)[2] if task.sites else {}

    def same(self, task: FleetCrawl, bench: Bench, lacks: dict[str, str]) -> bool:
        """Whether the files are what they were when a bench was made, here and in the fleet."""
        return (
            bench.setup.sites == task.sites
            and all(site_files.version(site.path) == site.version for site in bench.sites)
            and (not lacks or self.lacks(task, bench.setup) == lacks)
        )

    async def serve(self, task: FleetCrawl, bench: Bench, lanes: Sequence[str], region: str) -> None:
        """Claim hosts that others set apart, too, where all files of their sites are here."""
        lacks = bench.setup.lacks or {}
        groups = [group for group in task.apart if not any(site in lacks for site in group.split("+"))]
        served = heaps([*lanes, *(f"{lane}+{group}" for group in groups for lane in lanes)], region)
        if served != bench.frontier.policy.lanes:
            bench.frontier.policy = msgspec.structs.replace(bench.frontier.policy, lanes=served)
        if bench.apart is not None:
            await bench.apart.again(task.apart)

    def _look(
        self, crawl: str, force: dict[str, str], setup: Setup
    ) -> tuple[dict[str, str], list[Edit], dict[str, str]]:
        """Against the versions in force: those that are the same here, those that are edits, what is lacked
        and why."""
        faults: list[str] = []
        found = {one.name: one for one in site_files.load_all(setup.job.targets, setup.job.args, (), faults)}
        ours, edits, lacks, ran = dict[str, str](), list[Edit](), dict[str, str](), self._ran(crawl)
        for name, version in force.items():
            if (site := found.get(name)) is None:
                lacks[name] = "; ".join(faults) or (
                    f"there is no file of it in {self._sites}: put it there, as it is on the other machines"
                )
            elif site.version == version:
                ours[name] = version
            elif ran.get(name) == version:
                edits.append(Edit(name, version, site.version, msgspec.json.encode(reach_of(site))))
            else:
                lacks[name] = (
                    f"the file here is version {site.version}, the fleet runs {version}: "
                    f"bring {self._sites} to that version, or submit the crawl again with this one"
                )
        return ours, edits, lacks

    async def _reaches(self, crawl: str, force: dict[str, str]) -> dict[str, Reach] | None:
        """What is known of sites in these versions; None where that is not known of all of them."""
        found: dict[str, Reach] = {}
        for (name, version), raw in zip(
            force.items(), await self._tasks.reaches(crawl, list(force)), strict=True
        ):
            if raw is None or (one := msgspec.json.decode(raw, type=Reach)).version != version:
                return None
            found[name] = one
        return found

    def _ran(self, crawl: str) -> dict[str, str]:
        """The versions that this machine ran last for a crawl, from this folder."""
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

"""Which version of a site's file the fleet runs: a worker without it, or with another, leaves the crawl to those that have it.

Code never travels. An edit on a machine that ran the fleet's version until now is the fleet's next version; a machine that
never had the version in force only says so.
"""

from __future__ import annotations

import json
from pathlib import Path

from gossamer import sites as site_files
from gossamer.assemble import Bench
from gossamer.errors import ConfigError
from gossamer.frontier.store import Store
from gossamer.frontier.tasks import Task, Tasks
from gossamer.job import Setup
from gossamer.settings import Settings


class Versions:
    """The site files of one machine against those of the fleet."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._tasks, self._data = Tasks(store), Path(settings.data)
        self._sites = str(Path(settings.sites).resolve())

    async def check(self, task: Task, setup: Setup) -> None:
        """Raise ConfigError when this machine cannot serve the crawl's sites; an edit here becomes the fleet's."""
        if not task.sites:
            return
        loaded = site_files.load_all(setup.job.targets, setup.job.args)
        ours = {site.name: site.version for site in loaded}
        if missing := sorted(task.sites.keys() - ours.keys()):
            raise ConfigError(
                f"it has no file of site {', '.join(missing)} in {self._sites}: put it there, as it is on the other machines"
            )
        ours = {name: ours[name] for name in task.sites}
        if ours != task.sites:
            if self._ran(task.name) != task.sites:
                other = sorted(name for name in ours if ours[name] != task.sites[name])[0]
                raise ConfigError(
                    f"its file of site {other} is version {ours[other]}, the fleet runs {task.sites[other]}: "
                    f"bring {self._sites} to that version, or submit the crawl again with this one"
                )
            await self._tasks.versions(task.name, ours)
        setup.sites.clear()
        setup.sites.update(ours)
        self._run(task.name, ours)

    def same(self, task: Task, bench: Bench) -> bool:
        """Whether the files are what they were when a bench was made, here and in the fleet."""
        return bench.setup.sites == task.sites and all(
            site_files.version(site.path) == site.version for site in bench.sites
        )

    def _ran(self, crawl: str) -> dict[str, str] | None:
        """The versions that this machine ran last for a crawl, from this folder."""
        try:
            found: dict[str, str] | None = json.loads((self._data / crawl / "sites.json").read_text()).get(self._sites)
        except (OSError, ValueError):
            return None
        return found

    def _run(self, crawl: str, versions: dict[str, str]) -> None:
        path = self._data / crawl / "sites.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({self._sites: versions}))

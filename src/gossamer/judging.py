"""Settings -> the gates of a crawl in one worker: what is looked at while it runs, and what a gate that is not met does."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
from collections.abc import Callable, Sequence

from gossamer import sites as site_files
from gossamer.errors import GossamerError
from gossamer.frontier.crawls import Crawls, Spec, clock
from gossamer.frontier.quality import Lately, Runs
from gossamer.frontier.store import Store
from gossamer.frontier.tally import summary
from gossamer.frontier.tasks import Tasks
from gossamer.job import Job, Setup
from gossamer.pipeline.gates import Gate, parse
from gossamer.pipeline.window import Trip, Window, counted
from gossamer.quality import LEAST, Part, run_of
from gossamer.road.records import moment
from gossamer.sites.loading import LoadedSite, version
from gossamer.summary import Summary
from gossamer.visit import Visit

STATES = {"pause": "paused", "stop": "stopping"}
LOOK = 1.0
"""Seconds after which a process tells of the pages that it saw, however few."""


class Judge:
    """Looks at the last pages of the crawl, those of all processes. `hold` is called when nothing more is to begin, before the store
    knows of it."""

    def __init__(self, setup: Setup, sites: Sequence[LoadedSite], store: Store) -> None:
        self._setup, self._sites, self._store = setup, sites, store
        self._gates = gates(setup.job.gates, sites)
        self._window = Window(self._gates, {})
        self._lately = Lately(store, setup.crawl)
        self._me, self._pages, self._counts = secrets.token_hex(4), 0, dict[str, int]()
        self._news = asyncio.Event()
        self._pending: Trip | None = None
        self._tripped = self._paused = False
        self.hold: Callable[[], None] = lambda: None

    @property
    def watched(self) -> frozenset[str]:
        """The fields whose coverage some gate asks for."""
        return frozenset(
            name.rpartition(".")[2] for some in self._gates.values() for one in some for name in one.fields
        )

    async def open(self) -> None:
        """Read what the sites gave in their last good runs. Raises StoreError."""
        runs = await Runs(self._store).load([site.name for site in self._sites]) if self._gates else {}
        self._window = Window(self._gates, runs)
        if self._window:
            await self._lately.begin()

    def saw(self, visit: Visit) -> None:
        """A visit ended."""
        if self._window and counted(self._counts, visit.counts, visit.settle.action == "x"):
            self._pages += 1
            if self._pages >= self._window.every:
                self._news.set()

    async def keep(self) -> None:
        """Look at what all processes saw, each time that this one saw some more, until cancelled."""
        while self._window:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self._news.wait()
            self._news.clear()
            with contextlib.suppress(GossamerError):  # the store is away: the next turn tells more
                await self._look()

    async def _look(self) -> None:
        if not self._pages:
            return
        mine = Part(self._me, self._pages, self._counts)
        self._pages, self._counts = 0, {}
        try:
            parts = await self._lately.share(mine)
        except GossamerError:
            self._pages += mine.pages
            for name, n in mine.counts.items():
                self._counts[name] = self._counts.get(name, 0) + n
            raise
        if any(part.pages == 0 for part in parts):
            self._paused = True
        if self._paused:  # what is still coming was read as before: it says nothing of how the crawl goes on
            return
        for trip in self._window.saw(parts):
            if trip.gate.action != "warn":
                self._pending, self._tripped = self._pending or trip, True
                self.hold()
            elif await self._lately.first(trip.name):
                self._say(f"warning: {trip.reason}")
        await self._act()

    async def _act(self) -> None:
        """Write down what a gate asks for: the first of the processes does, and tells."""
        crawl, trip = self._setup.crawl, self._pending
        if trip is None:
            return
        first = await Tasks(self._store).turn(crawl, "running", STATES[trip.gate.action], trip.reason)
        self._pending = None
        if first:
            go_on = f"; mend the site file, then: gossamer resume {crawl}" if trip.gate.action == "pause" else ""
            self._say(f"{STATES[trip.gate.action]}: {trip.reason}{go_on}")
            if trip.gate.action == "pause":  # also those hear of it that look again only when somebody has resumed it
                await self._lately.share(Part(self._me, 0, {}))

    async def state(self, state: str) -> str:
        """The crawl's state once what a gate asks for is written down; `mended`: it goes on with another version of a site file."""
        if self._tripped:
            self._tripped = False
            await self._act()
            state, _ = await Crawls(self._store).state(self._setup.crawl)
        if state == "running" and self._paused:
            self._window.forget()
            self._pages, self._counts = 0, {}
            await self._lately.begin(anew=True)
            if any(version(site.path) != site.version for site in self._sites):
                return "mended"
        self._paused = state == "paused"
        return "paused" if self._tripped else state

    def _say(self, line: str) -> None:
        print(f"gossamer: {self._setup.crawl}: {line}", file=sys.stderr, flush=True)


def gates(texts: Sequence[str], sites: Sequence[LoadedSite]) -> dict[str, list[Gate]]:
    """The gates of a crawl: those of the command under "", those of the sites by name. Raises UsageError."""
    found = {"": [parse(text) for text in texts]}
    found |= {site.name: [parse(text) for text in site.site.gates] for site in sites}
    return {name: some for name, some in found.items() if some}


def missed(job: Job, of: Summary) -> list[str]:
    """The gates of a job and of its sites that its crawl does not meet."""
    return unmet(gates(job.gates, site_files.load_all(job.targets, job.args)), of)


def unmet(gates: dict[str, list[Gate]], of: Summary) -> list[str]:
    """The gates that a whole crawl does not meet, but for those that only warn."""
    found = []
    for site, some in gates.items():
        judged = of if site not in of.sites else of.of_site(site)
        found += [gate.text for gate in some if gate.action != "warn" and gate.test(judged)]
    return found


async def ended(setup: Setup, store: Store, of: Summary) -> None:
    """Remember what the sites of a crawl that finished gave, if it was good: its gates are met."""
    if of.state != "finished" or not of.sites:
        return
    known = gates(setup.job.gates, site_files.load_all(setup.job.targets, setup.job.args))
    if not unmet(known, of):
        for name, one in of.sites.items():
            if one.items >= LEAST:
                await Runs(store).keep(name, run_of(of.crawl, of.started_at, one))


async def mended(setup: Setup, store: Store) -> None:
    """Site files were changed while the crawl was paused: its record says with which versions it goes on."""
    sites = site_files.load_all(setup.job.targets, setup.job.args)
    setup.sites = {site.name: site.version for site in sites}
    await Tasks(store).versions(setup.crawl, setup.sites)


async def seen_whole(setup: Setup, store: Store, sites: Sequence[LoadedSite]) -> list[tuple[str, str, str]]:
    """The sites that say `complete=True` and were seen whole by a crawl that has nothing left to do: nothing was filtered, nothing failed,
    no page was passed over as it had not changed. (site, run, now), for `Outputs.finish`."""
    spec = setup.spec
    sites = [site for site in sites if site.site.complete]
    if not sites or setup.job.refresh or spec.include or spec.exclude or spec.depth < Spec([]).depth:
        return []
    found = await summary(store, setup.crawl, 0)
    if found.dead or found.failed or found.pending:
        return []
    now = moment(await clock(store))
    good = {name for name, one in found.sites.items() if not one.unread and not one.rejected}
    return [(site.name, setup.owner, now) for site in sites if site.name in good]

"""Settings -> the gates of a crawl in one worker: what is looked at while it runs, and what a gate that is
not met does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from gossamer import sites as site_files
from gossamer.app.job import Job, Setup
from gossamer.errors import GossamerError
from gossamer.frontier.crawls import Crawls, Spec, clock
from gossamer.frontier.quality import GoodRuns, HeldRows, RecentPages
from gossamer.frontier.summary import counts, summary
from gossamer.items.gates import GateFailure, QualityGate, Window, counted, parse
from gossamer.model.absence import CompleteSite, Usual, doubt, judge, too_many, usual
from gossamer.model.interfaces import HistorySink
from gossamer.model.packed_row import PackedRow, pack_row, unpack_row
from gossamer.model.quality import SitePart, run_of
from gossamer.model.summary import Summary
from gossamer.model.visit import Row, Visit
from gossamer.sinks.jsonl import encode
from gossamer.sites.loading import LoadedSite, version
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store.keys import tag
from gossamer.store.store import Store
from gossamer.worker.records import moment

STATES = {"pause": "paused", "stop": "stopping"}
REASONS = 5
"""Different reasons for held items that are told."""
LOOK = 1.0
"""Seconds after which a process tells of the pages that it saw, however few."""


class RunJudge:
    """Looks at the last pages of the crawl, those of all processes. `hold` is called when nothing more is to
    begin, before the store knows of it."""

    def __init__(self, setup: Setup, sites: Sequence[LoadedSite], store: Store) -> None:
        self._setup, self._sites, self._store = setup, sites, store
        self._gates = gates(setup.job.gates, sites)
        self._window = Window(self._gates, {})
        self._lately = RecentPages(store, setup.crawl)
        self._me, self._pages, self._counts = secrets.token_hex(4), 0, dict[str, int]()
        self._news = asyncio.Event()
        self._pending: GateFailure | None = None
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
        runs = await GoodRuns(self._store).load([site.name for site in self._sites]) if self._gates else {}
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
        mine = SitePart(self._me, self._pages, self._counts)
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
        first = await FleetCrawls(self._store).turn(crawl, "running", STATES[trip.gate.action], trip.reason)
        self._pending = None
        if first:
            go_on = (
                f"; mend the site file, then: gossamer resume {crawl}" if trip.gate.action == "pause" else ""
            )
            self._say(f"{STATES[trip.gate.action]}: {trip.reason}{go_on}")
            # also those hear of it that look again only when somebody has resumed it
            if trip.gate.action == "pause":
                await self._lately.share(SitePart(self._me, 0, {}))

    async def state(self, state: str) -> str:
        """The crawl's state once what a gate asks for is written down; `mended`: it goes on with another
        version of a site file."""
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
        _say(self._setup.crawl, line)


def gates(texts: Sequence[str], sites: Sequence[LoadedSite]) -> dict[str, list[QualityGate]]:
    """The gates of a crawl: those of the command under "", those of the sites by name. Raises UsageError."""
    found = {"": [parse(text) for text in texts]}
    found |= {site.name: [parse(text) for text in site.site.gates] for site in sites}
    return {name: some for name, some in found.items() if some}


def missed(job: Job, of: Summary) -> list[str]:
    """The gates of a job and of its sites that its crawl does not meet."""
    return unmet(gates(job.gates, site_files.load_all(job.targets, job.args)), of)


def unmet(gates: dict[str, list[QualityGate]], of: Summary) -> list[str]:
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
            if one.items and not one.held:
                await GoodRuns(store).keep(name, run_of(of.crawl, of.started_at, one))


async def mended(setup: Setup, store: Store) -> None:
    """Site files were changed while the crawl was paused: its record says with which versions it goes on."""
    sites = site_files.load_all(setup.job.targets, setup.job.args)
    setup.sites = {site.name: site.version for site in sites}
    await FleetCrawls(store).versions(setup.crawl, setup.sites)


async def expected(store: Store, sites: Sequence[LoadedSite]) -> Usual:
    """The usual fields of the sites' kinds, by their last good runs. Raises StoreError."""
    keys = {
        item.__name__.lower(): str(getattr(item, "item_key", None) or "")
        for site in sites
        for items in site.items.values()
        for item in items
    }
    return usual(await GoodRuns(store).load([site.name for site in sites]), keys)


Each = Callable[[Callable[[HistorySink], None]], Awaitable[None]]
"""Has each store that keeps items do some work."""


async def conclude(
    setup: Setup, store: Store, sites: Sequence[LoadedSite], each: Each, *, whole: bool
) -> None:
    """What follows from a run for the stores that keep items (docs/absence.md): held rows are judged, items
    that a `whole` run did not meet are marked as gone where that is sure, and what became of all of them is
    counted."""
    if not sites:
        return
    record = await Crawls(store).need(setup.crawl)
    since = moment(record.started_at)
    if whole:
        await _judge_held(setup, store, sites, each)
        for seen in await seen_whole(setup, store, sites):
            await each(partial(_mark_gone, setup.crawl, seen))
    found: list[Fates] = []
    await each(lambda history: found.append(history.fates([site.name for site in sites], since)))
    if found:  # several stores have the same items: the first one counts
        await _set_fates(store, setup.crawl, found[0])


async def gone_counted(
    setup: Setup, store: Store, sites: Sequence[str], tables: Sequence[HistorySink], since: float
) -> None:
    """Count anew what became of the items, after more of them were marked as gone."""
    await _set_fates(store, setup.crawl, await asyncio.to_thread(tables[0].fates, sites, moment(since)))


Fates = tuple[int, int, int]
"""Items that are new, changed, gone."""


async def _set_fates(store: Store, crawl: str, fates: Fates) -> None:
    await _set_counts(store, crawl, dict(zip(("fate:new", "fate:changed", "fate:gone"), fates, strict=True)))


def _mark_gone(crawl: str, seen: CompleteSite, history: HistorySink) -> None:
    """Mark the items of a site that a run did not meet, or say why not."""
    unseen, stored = history.missing(seen.site, seen.run, seen.at)
    why = seen.doubt
    if not why and too_many(unseen, stored, seen.share):
        why = f"that is more than {seen.share:.0%} of the {stored} that are stored"
    if not unseen:
        return
    if not why:
        history.unseen(seen.site, seen.run, seen.at)
        return
    said = f"{unseen} stored items were not met, and are not marked as gone: {why}"
    _say(crawl, f"{seen.site}: {said}; where they are gone: gossamer items {crawl} --confirm-gone")


async def hold(held: HeldRows, rows: Sequence[Row]) -> None:
    """Keep rows until the run is judged. Raises StoreError."""
    await held.push([msgspec.msgpack.encode(pack_row(row)) for row in rows])


async def _judge_held(setup: Setup, store: Store, sites: Sequence[LoadedSite], each: Each) -> None:
    """Store the held rows whose run is as usual; keep the others with their reasons."""
    held = HeldRows(store, setup.crawl)
    if not (packed := await held.load()):
        return
    rows = [unpack_row(msgspec.msgpack.decode(one, type=PackedRow)) for one in packed]
    found = await summary(store, setup.crawl, 0)
    verdict = judge(rows, found.sites, await expected(store, sites))
    if verdict.apply:
        await each(lambda history: history.upsert(verdict.apply))
    if verdict.rejected:
        path = Path(setup.job.settings.data) / setup.crawl / "held-items.jsonl"
        await asyncio.to_thread(_keep, path, verdict.rejected)
        by_site = Counter(row.data["_site"] for row, _ in verdict.rejected)  # type: ignore[index] # an item's row is a dict
        await _set_counts(store, setup.crawl, {f"q|{name}|h": n for name, n in by_site.items()})
        for reason, n in Counter(reason for _, reason in verdict.rejected).most_common(REASONS):
            _say(setup.crawl, f"{n} items stay as they were stored: {reason}; what came is in {path}")
    await held.clear()


def _keep(path: Path, rejected: Sequence[tuple[Row, str]]) -> None:
    lines = [
        {"kind": row.kind, "key": row.key, "reason": reason, "item": row.data} for row, reason in rejected
    ]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    with open(file, "wb") as out:
        out.write(encode(lines))


async def _set_counts(store: Store, crawl: str, counts: dict[str, int]) -> None:
    """Counts that a run's end knows, in the place of what they were."""
    await store.guard(
        cast(Awaitable[Any], store.client.hset(f"{tag(0)}{crawl}:n", mapping=cast(Any, counts)))
    )


def _say(crawl: str, line: str) -> None:
    print(f"gossamer: {crawl}: {line}", file=sys.stderr, flush=True)


async def seen_whole(setup: Setup, store: Store, sites: Sequence[LoadedSite]) -> list[CompleteSite]:
    """The sites that say `complete=True`, of a crawl that has nothing left to do, each with the reason why it
    was not seen whole, if there is one. None of a crawl that was to see a part: with filters or a depth, or
    that passed over pages that had not changed."""
    spec = setup.spec
    sites = [site for site in sites if site.site.complete]
    if not sites or setup.job.refresh or spec.include or spec.exclude or spec.depth < Spec([]).depth:
        return []
    found, n = await summary(store, setup.crawl, 0), await counts(store, setup.crawl)
    known, now = gates(setup.job.gates, sites), moment(await clock(store))
    runs = await GoodRuns(store).load([site.name for site in sites])
    return [
        CompleteSite(
            *(site.name, setup.owner, now, site.site.complete),
            doubt(
                *(found.sites.get(site.name), found, n["shut"]),
                unmet({name: known[name] for name in ("", site.name) if name in known}, found),
                runs[site.name],
            ),
        )
        for site in sites
    ]

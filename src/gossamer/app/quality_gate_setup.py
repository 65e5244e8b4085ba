"""Builds the quality gates of a crawl in one worker. The gates measure the crawl while it runs, and act if a
condition is not met."""

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
from gossamer.app.run_comparison import is_unlike, keep_good_run, unlike_good_runs
from gossamer.errors import GossamerError
from gossamer.frontier.crawls import Crawls, Record, Spec, store_time
from gossamer.frontier.quality_records import GoodRuns, HeldRows, RecentPages
from gossamer.frontier.summary import GONE, crawl_counts, summary
from gossamer.items.quality_gates import QualityGate, Window, count_visit, parse
from gossamer.model.absence import CompleteSite, Usual, judge, too_many, usual_fields, why_incomplete
from gossamer.model.interfaces import HistorySink
from gossamer.model.packed_row import PackedRow, pack_row, unpack_row
from gossamer.model.quality import SitePart, run_of
from gossamer.model.summary import Summary
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Row, Visit
from gossamer.sinks.jsonl import encode
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import version
from gossamer.store.keys import tag
from gossamer.store.store import Store
from gossamer.worker.records import format_time
from gossamer.worker.row_counts import take_counts

STATES = {"pause": "paused", "stop": "stopping"}
STOPPED_BY_SITE = "site "
"""The stored reason begins with this text if a page function or a step stopped the crawl."""
MAX_REASONS = 5
"""The maximum number of different rejection reasons that are printed for held-back items."""
REPORT_INTERVAL_S = 1.0
"""A process reports how many pages it has read at intervals of at most this many seconds."""


class RunJudge:
    """Tests the gates against the most recent pages of all processes of the crawl. `paused`: an event that is
    set as soon as a gate forbids further visits. The store may record the new state a little later."""

    def __init__(
        self, setup: Setup, sites: Sequence[LoadedSite], store: Store, paused: asyncio.Event
    ) -> None:
        self._setup, self._sites, self._store = setup, sites, store
        self._gates = gates(setup.job.gates, sites)
        self._window = Window(self._gates, {})
        self._counting = [one for some in self._gates.values() for one in some if one.action and one.counts]
        self._told: set[str] = set()
        self._lately = RecentPages(store, setup.crawl)
        self._me, self._pages, self._counts = secrets.token_hex(4), 0, dict[str, int]()
        self._news = asyncio.Event()
        self._pending: tuple[str, str] | None = None
        """The pending action, such as `pause` or `stop`, and its reason."""
        self._tripped = self._paused = False
        self._hold = paused

    @property
    def watched(self) -> frozenset[str]:
        """The fields whose coverage at least one gate tests."""
        return frozenset(
            name.rpartition(".")[2] for some in self._gates.values() for one in some for name in one.fields
        )

    async def open(self) -> None:
        """Reads the results of the sites' last good runs. Raises StoreError."""
        runs = await GoodRuns(self._store).load([site.name for site in self._sites]) if self._gates else {}
        self._window = Window(self._gates, runs)
        if self._window:
            await self._lately.begin()

    def saw(self, visit: Visit) -> None:
        """Counts a finished visit. Stops the crawl if a page function or a step requested it."""
        if visit.stop and not self._tripped:
            self._pending, self._tripped = ("stop", f"{STOPPED_BY_SITE}{visit.stop}"), True
            self._hold.set()
        if self._window and count_visit(
            self._counts, visit.counts, visit.is_page, visit.settle.end == ClaimEnd.DEAD
        ):
            self._pages += 1
            if self._pages >= self._window.every:
                self._news.set()

    async def keep(self) -> None:
        """Tests the gates at least once per second, and sooner if this process has read many pages. The gates
        use the page counts of all processes. Runs until it is cancelled."""
        while self._window or self._counting:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REPORT_INTERVAL_S):
                    await self._news.wait()
            self._news.clear()
            with contextlib.suppress(GossamerError):  # store unreachable; the next round reports the pages
                await self._look()
                await self._look_at_counts()

    async def _look_at_counts(self) -> None:
        """Tests the gates that use counts of the whole crawl. Each gate acts at most once."""
        left = [one for one in self._counting if one.text not in self._told]
        if not left or self._paused:
            return
        found = await summary(self._store, self._setup.crawl, hosts=0)
        for gate in left:
            if not gate.test(found):
                continue
            self._told.add(gate.text)
            reason = f"gate {gate.text!r} over {found.pages} pages"
            if gate.action != "warn":
                self._pending, self._tripped = self._pending or (gate.action, reason), True
                self._hold.set()
            elif await self._lately.first(gate.text):
                self._say(f"warning: {reason}")
        await self._act()

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
        if self._paused:  # pages that arrive during a pause were read before the pause
            return
        for trip in self._window.saw(parts):
            if trip.gate.action != "warn":
                self._pending, self._tripped = self._pending or (trip.gate.action, trip.reason), True
                self._hold.set()
            elif await self._lately.first(trip.name):
                self._say(f"warning: {trip.reason}")
        await self._act()

    async def _act(self) -> None:
        """Carries out the pending action of a gate. If several processes act at the same time, only the first
        process changes the state and reports the action."""
        if self._pending is None:
            return
        from gossamer.state.fleet_crawls import FleetCrawls

        crawl, (action, reason) = self._setup.crawl, self._pending
        first = await FleetCrawls(self._store).turn(crawl, "running", STATES[action], reason)
        self._pending = None
        if first:
            go_on = f"; repair the site file, then run: gossamer resume {crawl}" if action == "pause" else ""
            self._say(f"{STATES[action]}: {reason}{go_on}")
            # Some processes might not check the crawl's state until a user has resumed the crawl. A report
            # with 0 pages pauses these processes, too.
            if action == "pause":
                await self._lately.share(SitePart(self._me, 0, {}))

    async def state(self, state: str) -> str:
        """Carries out pending actions of gates and returns the crawl's state. Returns "mended" if the pause
        is over and a site file was changed during the pause, so that the crawl continues with the new version
        of the site file."""
        if self._tripped:
            self._tripped = False
            await self._act()
            state, _ = await Crawls(self._store).state(self._setup.crawl)
        if state == "running" and self._paused:
            self._window.forget()
            self._pages, self._counts = 0, {}
            await self._lately.begin(anew=True)
            if any(version(site.path) != site.version for site in self._sites if site.script_site is None):
                return "mended"
        self._paused = state == "paused"
        return "paused" if self._tripped else state

    def _say(self, line: str) -> None:
        _say(self._setup.crawl, line)


def gates(texts: Sequence[str], sites: Sequence[LoadedSite]) -> dict[str, list[QualityGate]]:
    """Returns the gates of a crawl by site name. A gate from the command line has "" as its site name. Raises
    UsageError."""
    found = {"": [parse(text) for text in texts]}
    found |= {site.name: [parse(text) for text in site.site.gates] for site in sites}
    return {name: some for name, some in found.items() if some}


def missed_gates(job: Job, of: Summary) -> list[str]:
    """Tests the gates of the job and of the sites. Returns the gates that the crawl does not meet."""
    return unmet_gates(gates(job.gates, site_files.load_all(job.targets, job.args)), of)


def unmet_gates(gates: dict[str, list[QualityGate]], of: Summary) -> list[str]:
    """Returns the gates that a finished crawl does not meet. The result does not contain gates with the
    action `warn`."""
    found = []
    for site, some in gates.items():
        judged = of if site not in of.sites else of.of_site(site)
        found += [gate.text for gate in some if gate.action != "warn" and gate.test(judged)]
    return found


async def store_site_results(setup: Setup, store: Store, of: Summary, *, accepted: bool = False) -> None:
    """Stores the results of each site of a finished crawl as a good run, if the crawl meets all its gates.
    `accepted`: whether a person has confirmed the run, which is already stored for comparisons."""
    if of.state != "finished" or is_unlike(of.reason):
        return
    known = gates(setup.job.gates, site_files.load_all(setup.job.targets, setup.job.args))
    if not unmet_gates(known, of):
        if not accepted:
            await keep_good_run(setup, store, await Crawls(store).need(of.crawl))
        for name, one in of.sites.items():
            if one.items and not one.held:
                await GoodRuns(store).keep(name, run_of(of.crawl, of.started_at, one))


async def store_mended_sites(setup: Setup, store: Store) -> None:
    """Stores the new versions of site files that were changed while the crawl was paused."""
    from gossamer.state.fleet_crawls import FleetCrawls

    sites = site_files.load_all(setup.job.targets, setup.job.args)
    setup.sites = {site.name: site.version for site in sites}
    await FleetCrawls(store).versions(setup.crawl, setup.sites)


async def usual_fields_of_sites(store: Store, sites: Sequence[LoadedSite]) -> Usual:
    """Returns the fields that items of each kind usually had in the sites' last good runs. Raises
    StoreError."""
    keys = {
        item.__name__.lower(): str(getattr(item, "item_key", None) or "")
        for site in sites
        for items in site.items.values()
        for item in items
    }
    return usual_fields(await GoodRuns(store).load([site.name for site in sites]), keys)


Each = Callable[[Callable[[HistorySink], None]], Awaitable[None]]
"""The type of an asynchronous callable `each`. `each(function)` calls the function once for each sink that
stores the history of items."""


async def conclude_run(
    setup: Setup,
    store: Store,
    sites: Sequence[LoadedSite],
    each: Each,
    *,
    whole: bool,
    accepted: bool = False,
) -> None:
    """At the end of a run, processes rows that were held back and items that the run did not see
    (docs/absence.md). If `whole` is true, writes or rejects the rows that were held back because they lack
    usual values. If `whole` is true, items that the run did not see are marked as gone, unless their absence
    is uncertain. At the end, counts the items that are gone.

    If the run is not like the last good runs, concludes nothing, and stores the difference as the reason of
    the crawl's state. `accepted`: whether a person has confirmed that the run is right."""
    record = await Crawls(store).need(setup.crawl)
    since = format_time(record.started_at)
    if whole:
        unlike = "" if accepted else await _unlike(setup, store, record, sites, each)
        if unlike or is_unlike(record.reason):
            await Crawls(store).explain(setup.crawl, unlike)
        whole = not unlike
    if not sites:
        return
    if whole:
        await _judge_held(setup, store, sites, each, since)
        for seen in await seen_whole(setup, store, sites):
            await each(partial(_mark_gone, setup.crawl, seen))
    if found := await _gone(sites, since, each):
        await _set_counts(store, setup.crawl, {GONE: found[0]})


async def _gone(sites: Sequence[LoadedSite], since: str, each: Each) -> list[int]:
    """Returns the number of items that are gone, for each output that stores the history of items. All of
    them have the same items."""
    found: list[int] = []
    await each(lambda history: found.append(history.deleted([site.name for site in sites], since)))
    return found


async def _unlike(
    setup: Setup,
    store: Store,
    record: Record,
    sites: Sequence[LoadedSite],
    each: Each,
) -> str:
    """Returns how the run differs from the last good runs, or ''."""
    gone = await _gone(sites, format_time(record.started_at), each) if sites else []
    if not gone:
        return await unlike_good_runs(setup, store, record, {})
    unseen: list[int] = []
    for seen in await seen_whole(setup, store, sites):
        await each(lambda history, seen=seen: unseen.append(history.missing(*seen[:3])[0]))  # type: ignore[misc]
    return await unlike_good_runs(setup, store, record, {GONE: gone[0] + sum(unseen) // len(gone)})


async def gone_counted(
    setup: Setup, store: Store, sites: Sequence[str], tables: Sequence[HistorySink], since: float
) -> None:
    """Counts the items that are gone again, after more items were marked as gone."""
    found = await asyncio.to_thread(tables[0].deleted, sites, format_time(since))
    await _set_counts(store, setup.crawl, {GONE: found})


def _mark_gone(crawl: str, seen: CompleteSite, history: HistorySink) -> None:
    """Marks as gone the items of a site that a run did not see, or prints why they are not marked."""
    unseen, stored = history.missing(seen.site, seen.run, seen.at)
    why = seen.doubt
    if not why and too_many(unseen, stored, seen.share):
        why = f"that is more than {seen.share:.0%} of the {stored} stored items"
    if not unseen:
        return
    if not why:
        history.unseen(seen.site, seen.run, seen.at)
        return
    said = f"{unseen} stored items were not seen, but are not marked as gone: {why}"
    _say(crawl, f"{seen.site}: {said}; where they are gone: gossamer items {crawl} --confirm-gone")


async def hold_rows(held: HeldRows, rows: Sequence[Row]) -> None:
    """Holds back item rows that lack usual values. At the end of a complete run, the held-back rows are
    written or rejected. Raises StoreError."""
    await held.push([msgspec.msgpack.encode(pack_row(row)) for row in rows])


async def _judge_held(
    setup: Setup, store: Store, sites: Sequence[LoadedSite], each: Each, since: str
) -> None:
    """Writes a held-back row if the row's missing values are plausible for this run. Otherwise rejects the
    row with a reason. `since`: see `sinks.history.row_fates`."""
    held = HeldRows(store, setup.crawl)
    if not (packed := await held.load()):
        return
    rows = [unpack_row(msgspec.msgpack.decode(one, type=PackedRow)) for one in packed]
    found = await summary(store, setup.crawl, 0)
    verdict = judge(rows, found.sites, await usual_fields_of_sites(store, sites))
    counts, told = Counter[str](), set[int]()

    def write(history: HistorySink) -> None:
        history.upsert(verdict.apply)
        found = take_counts(history, since, told)
        told.update(id(row) for row in verdict.apply)
        counts.update(found.written)
        counts.update(name for _, name in found.rows)

    if verdict.apply:
        await each(write)
    if verdict.rejected:
        path = Path(setup.job.settings.data) / setup.crawl / "held-items.jsonl"
        await asyncio.to_thread(_keep, path, verdict.rejected)
        by_site = Counter(row.data["_site"] for row, _ in verdict.rejected)  # type: ignore[index] # an item's row is a dict
        await _set_counts(store, setup.crawl, {f"q|{name}|h": n for name, n in by_site.items()})
        for reason, n in Counter(reason for _, reason in verdict.rejected).most_common(MAX_REASONS):
            _say(setup.crawl, f"{n} items stay as they were stored: {reason}; the new values are in {path}")
    await held.clear(counts)


def _keep(path: Path, rejected: Sequence[tuple[Row, str]]) -> None:
    lines = [
        {"kind": row.kind, "key": row.key, "reason": reason, "item": row.data} for row, reason in rejected
    ]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    with open(file, "wb") as out:
        out.write(encode(lines))


async def _set_counts(store: Store, crawl: str, counts: dict[str, int]) -> None:
    """Sets counts of the crawl that are known only at the end of a run."""
    await store.guard(
        cast(Awaitable[Any], store.client.hset(f"{tag(0)}{crawl}:n", mapping=cast(Any, counts)))
    )


def _say(crawl: str, line: str) -> None:
    print(f"gossamer: {crawl}: {line}", file=sys.stderr, flush=True)


async def seen_whole(setup: Setup, store: Store, sites: Sequence[LoadedSite]) -> list[CompleteSite]:
    """Returns the sites with `complete=True`. The queue of the crawl must be empty. The result for a site
    contains the reason why the run may have missed a part of the site, or ''. Returns [] if the crawl has
    filters, a maximum depth or `--refresh`, because such a crawl does not cover its sites completely."""
    spec = setup.spec
    sites = [site for site in sites if site.site.complete]
    if not sites or setup.job.refresh or spec.include or spec.exclude or spec.depth < Spec([]).depth:
        return []
    found, n = await summary(store, setup.crawl, 0), await crawl_counts(store, setup.crawl)
    known, now = gates(setup.job.gates, sites), format_time(await store_time(store))
    runs = await GoodRuns(store).load([site.name for site in sites])
    return [
        CompleteSite(
            *(site.name, setup.owner, now, site.site.complete),
            why_incomplete(
                *(found.sites.get(site.name), found, n["shut"]),
                unmet_gates({name: known[name] for name in ("", site.name) if name in known}, found),
                runs[site.name],
            ),
        )
        for site in sites
    ]

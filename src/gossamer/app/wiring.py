"""Builds a worker with all its parts from settings. Only this file and `collector_setup` choose the concrete
classes of a worker's parts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from gossamer import sites as site_files
from gossamer import url as urls
from gossamer.app.enqueuer import Enqueuer
from gossamer.app.followed_limits import follow_limits
from gossamer.app.job import Setup
from gossamer.app.network_setup import Network
from gossamer.app.quality_gate_setup import RunJudge, hold_rows, usual_fields_of_sites
from gossamer.app.sink_setup import duplicate_marker, kept_rows, link_rows, make_outputs, open_file_store
from gossamer.app.verbose_output import VisitLines, write_stderr
from gossamer.config.data_files import make_private, open_file
from gossamer.config.redaction import mask
from gossamer.config.resources import open_descriptors, room_for_visits, visits_at_once
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError, StoreError, UsageError
from gossamer.frontier.background_task import run_beside
from gossamer.frontier.cold import Cold, open_cold, run_spiller
from gossamer.frontier.crawls import FINISHING, NO_CHANGES, Crawls
from gossamer.frontier.held_claims import HeldClaims
from gossamer.frontier.policy import served_heaps
from gossamer.frontier.quality_records import HeldRows
from gossamer.frontier.retry_waits import hasten
from gossamer.frontier.run_records import RunRecords
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.absence import Usual
from gossamer.model.interfaces import Log, TableSink
from gossamer.model.page import Page
from gossamer.model.request import Request, split
from gossamer.model.visit import Claim, Visit
from gossamer.observability import logs, traces
from gossamer.observability.attempts import AttemptsLog
from gossamer.observability.visit_events import VisitEvents
from gossamer.politeness.pace import Delay
from gossamer.recrawl import known_pages
from gossamer.sinks.attempts import attempt_row
from gossamer.sinks.graph import kind as graph_kind
from gossamer.sinks.item_files import OFF
from gossamer.sinks.open_outputs import usual_rows
from gossamer.sinks.output_spec import has_whole_responses, parse
from gossamer.sinks.rows_in_data_folder import INCOMPLETE, unfilled_message
from gossamer.sites import host_rules
from gossamer.sites.captcha_hook import solver
from gossamer.sites.failed_pages import FailedPages
from gossamer.sites.manifest import lacking_message, note_lacking
from gossamer.sites.site_logs import printed_level
from gossamer.state.attempts_table import AttemptsTable
from gossamer.state.domains_with_metrics import MetricDomains
from gossamer.state.learned_rungs import LearnedRungs
from gossamer.state.rates import Caps
from gossamer.state.scores import Scores
from gossamer.store.embedded import Embedded
from gossamer.store.store import BUCKETS_EMBEDDED, Store, connect
from gossamer.store.store_check import wait_until_ready
from gossamer.worker.backfill_outputs import OutputBackfill
from gossamer.worker.capacity import ClaimAllowance, Limiter
from gossamer.worker.climbing import Climbing
from gossamer.worker.committer import Committer, gather_limits
from gossamer.worker.concurrency_level import LevelLog
from gossamer.worker.conditional_get import site_versions
from gossamer.worker.decide import MAX_RETRY_DELAY
from gossamer.worker.fetching import Fetching, SiteHelps
from gossamer.worker.loop import ClaimLimits, RunControl, Worker
from gossamer.worker.min_depth import MinDepthVisits
from gossamer.worker.outputs import OutageRules, Outputs, PastRows, VisitRecords, WriterRights
from gossamer.worker.page_process_messages import ProcessSettings
from gossamer.worker.page_reader import PageReader
from gossamer.worker.read_watch import ReadWatch
from gossamer.worker.reader import PageReceivers, Reader, ReadSettings
from gossamer.worker.records import format_time
from gossamer.worker.robots_gate import HostTreatment, RobotsGate
from gossamer.worker.routing import BROWSER, SiteRouter, lanes_of
from gossamer.worker.row_counts import known_fates
from gossamer.worker.stall_hint import StallHint
from gossamer.worker.store_watch import StoreWatch
from gossamer.worker.unrendered_pages import MAX_NAMED_HOSTS
from gossamer.worker.visit_totals import TotalsOfVisits
from gossamer.worker.visitor import Visitor, VisitSettings, VisitSteps
from gossamer.worker.worker_score import ScoreKeeper

if TYPE_CHECKING:
    from gossamer.app.login_setup import LoginSetup
    from gossamer.recrawl.stored_table import VisitOutcomes
    from gossamer.worker.shared_throttle import SharedThrottle


async def open_store(settings: Settings) -> tuple[Store, Embedded | None]:
    """Opens the configured store: a shared store by URL, or the data folder's embedded store. If the embedded
    store is not running, it is started."""
    embedded = None
    if settings.store is None:
        embedded = Embedded(Path(settings.data))
        url = await start_store(embedded)
    else:
        url = settings.store
    try:
        store = await open_url(url, embedded=embedded is not None)
    except BaseException:
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)
        raise
    return store, embedded


@contextlib.asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the configured store, and closes it at the end. Creates the store if it does not exist."""
    store, embedded = await open_store(settings)
    try:
        yield store
    finally:
        await store.close()
        if embedded is not None:
            await asyncio.to_thread(embedded.leave)


@contextlib.asynccontextmanager
async def open_existing_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the store of existing crawls. Raises UsageError if the data folder has never contained a
    crawl."""
    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        raise UsageError(
            f"there is no crawl in {settings.data} yet: start one with gossamer crawl URL, or "
            "give its folder with --data DIR"
        )
    async with opened_store(settings) as store:
        yield store


def limiter_of(concurrency: int | str) -> Limiter:
    """Returns the limiter of a process. The process makes as many concurrent visits as configured, unless the
    limit of open files allows fewer."""
    least, most = visits_at_once(concurrency)
    fit = min(most, room_for_visits())
    few = (
        f"open files: {open_descriptors()[1]} allowed (ulimit -n), so {fit} pages at once "
        f"instead of {least}: raise it for more"
    )
    return Limiter(
        fit,
        lambda line: print(f"gossamer: {line}", file=sys.stderr),
        least=least,
        begins=few if fit < least else "",
        most_by="descriptors" if fit < most else "fixed" if least == most else "maximum",
    )


async def start_store(embedded: Embedded) -> str:
    """Starts the store of a data folder. If the store already runs, uses the running store. Returns its URL.
    If the call is cancelled while the server starts, the server is stopped."""
    starting = asyncio.ensure_future(asyncio.to_thread(embedded.start))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        embedded.cancelled.set()
        await asyncio.gather(starting, return_exceptions=True)
        await asyncio.to_thread(embedded.leave)
        raise


async def open_url(url: str, *, embedded: bool, patience: float = 0.0) -> Store:
    """Opens and checks a store by URL. `patience`: the number of seconds to wait while the store is
    unreachable."""
    store = connect(url, patience=patience, embedded=embedded)
    try:
        await wait_until_ready(store, 5.0)
        await store.open(BUCKETS_EMBEDDED if embedded else store.usual_buckets, urls.psl_hash())
    except BaseException:
        await store.close()
        raise
    return store


def cold_settings(settings: Settings, crawl: str) -> tuple[Cold | None, int]:
    """Returns the cold store of a crawl, or None if the crawl has none. The second value limits how many URLs
    per host and priority level stay in memory."""
    return open_cold(settings.cold, None if settings.store else Path(settings.data) / crawl, crawl)


class CallerReceivers(NamedTuple):
    """What the program that runs a worker receives in the same process.

    - `tables`: additional sinks. `tap`: called with each page before it is read.
    - `silence`: an object that records why the crawl has no page yet.
    - `say`: called with a line for each visit if the crawl is verbose.
    - `attaches_pages`: whether the rows that `tables` receive contain their page (`Row.page`).
    """

    tables: Sequence[TableSink] = ()
    tap: Callable[[Claim, Page], None] | None = None
    silence: StallHint | None = None
    say: Callable[[str], None] = write_stderr
    attaches_pages: bool = False


NO_CALLER = CallerReceivers()


class FleetPlace(NamedTuple):
    """The place of a worker in a fleet.

    - `lanes`, `region`: the lanes and the region that the worker serves. None: all lanes.
    - `ours`: see `Outputs`.
    - `room`: limits the claims of this crawl in the process. `limiter`: a limiter that the crawls of the
      process share.
    """

    lanes: Sequence[str] | None = None
    region: str = ""
    ours: Callable[[], Awaitable[None]] | None = None
    room: ClaimAllowance | None = None
    limiter: Limiter | None = None


NO_FLEET = FleetPlace()


class CrawlWorker:
    """Connects the parts of one worker process. `run` does the work, and `close` releases everything."""

    def __init__(
        self,
        setup: Setup,
        store: Store,
        name: str,
        stop: asyncio.Event,
        caller: CallerReceivers = NO_CALLER,
        fleet: FleetPlace = NO_FLEET,
    ) -> None:
        """`caller`: what the caller in the same process receives. `fleet`: the place of the worker in a
        fleet."""
        lanes, region = fleet.lanes, fleet.region
        self.setup, self.store, self.name, self.surprises = setup, store, name, 0
        self._region = region
        settings = setup.job.settings
        self.limiter = fleet.limiter or limiter_of(settings.concurrency)
        self.folder = Path(settings.data) / setup.crawl
        make_private(self.folder)
        self.cold, self.hot = cold_settings(settings, setup.crawl)
        heaps = None if lanes is None else served_heaps(lanes, region)
        self.enqueuer = Enqueuer(setup, store, name, heaps)
        self.frontier, self.sites = self.enqueuer.frontier, self.enqueuer.sites
        self._all = self.enqueuer.all_sites
        self.lanes = (
            None if lanes is None else lanes_of(self.frontier, self._all, settings.lane, settings.ladder)
        )
        others = self.lanes is not None and BROWSER not in (lanes or ())
        self.network = Network(setup, self.sites, store, others=others)
        self.clubs: LoginSetup | None = None
        if host_rules.has_accounts(self.sites):
            from gossamer.app.login_setup import LoginSetup

            self.clubs = LoginSetup(setup, self.sites, store, self.network.collectors, self.network.proxies)
        self._paused = asyncio.Event()
        self.judge = RunJudge(setup, self.sites, store, self._paused)
        self._keep = FailedPages(self.folder / "failed").keep
        in_script = any(site.script_site is not None for site in self.sites)
        self.reader = Reader(
            self.sites,
            self.enqueuer.intake,
            self.enqueuer.key,
            self._read_settings(),
            PageReceivers(self._keep, caller.tap, partial(_tell_routes, setup.crawl), caller.attaches_pages),
            graph=link_rows(setup, self.enqueuer.key),
            apart=None if in_script else PageReader(self._page_order),
        )
        self._write(setup, caller.tables, fleet.ours, stop)
        self._visits = self._visitor(settings)
        self.silence = caller.silence or StallHint()
        self._on_put = self._visit_listeners(caller.say)
        self._fleet(lanes)
        self._stop, self._room, self._opened = stop, fleet.room, False
        self._followed = NO_CHANGES
        self._ledger = HeldClaims(self.folder, setup.segment)

    def _visit_listeners(self, say: Callable[[str], None]) -> list[Callable[[Visit], None]]:
        """Returns the callables that receive each visit before the visit is committed."""
        setup = self.setup
        found: list[Callable[[Visit], None]] = [
            complete_attempts(setup.job.attempts, self._region),
            self.judge.saw,
            self.silence,
        ]
        if setup.verbose:
            found.append(VisitLines(say))
        if logs.started() is not None:
            found.append(VisitEvents(setup.crawl, self.name))
        if (traced := traces.started()) is not None:
            found.append(traces.VisitTraces(traced, setup.crawl, self.name))
        return found

    def _read_settings(self) -> ReadSettings:
        setup = self.setup
        job = setup.job
        return ReadSettings(
            pages=job.pages is not None or not self.sites or setup.keeps_rows,
            text=job.text,
            markdown=job.settings.text_format == "markdown",
            links=job.links,
            duplicates=job.settings.duplicates,
            run=setup.owner,
            beside="*" if setup.spec.scope == "page" else "",
            watched=self.judge.watched,
            fetches=job.files != OFF,
            fragments=job.settings.fragments,
        )

    def _page_order(self) -> ProcessSettings:
        """Returns the settings of the separate process that reads costly pages."""
        reader, job = self.reader, self.setup.job
        graph = (
            None if reader.graph is None else (self.setup.crawl, graph_kind(parse(job.graph or "").format))
        )
        return ProcessSettings(
            site_files.sources(self.sites),
            [site.name for site in self.sites],
            dict(job.args or {}),
            list(sys.path),
            tuple(self.setup.spec.drop),
            reader.settings,
            graph,
            [(*name, dict(fields)) for name, fields in reader.usual.items()],
            printed_level(),
            self.setup.crawl,
            str(self.folder),
        )

    def _write(
        self,
        setup: Setup,
        tables: Sequence[TableSink],
        ours: Callable[[], Awaitable[None]] | None,
        stop: asyncio.Event,
    ) -> None:
        """Builds the outputs."""
        aside = (
            self.folder / f"rejected-items{setup.segment and '-'}{setup.segment}.jsonl" if self.sites else ""
        )
        kept = kept_rows(setup, self.store.identity) if setup.keeps_rows else None
        files, own_tables = make_outputs(setup, self.sites, str(aside), self.store.identity, kept)
        self._tells = known_fates(own_tables) if setup.sites or self.sites else ""
        say = partial(_told, self.store, setup.crawl)
        self.keeping = open_file_store(setup, self.reader, self.folder, say, stop)
        self.outputs = Outputs(
            self.frontier,
            lock=self.folder / f"output{setup.segment and '-'}{setup.segment}.lock",
            files=files,
            tables=[*own_tables, *usual_rows(tables, pages=not self.sites)],
            records=VisitRecords(
                self._attempts_log(),
                _known_log(setup),
                self._attempts_table(),
                _visit_outcomes(setup, self.store),
                self.enqueuer.skipped,
            ),
            writer=WriterRights(setup.alone, ours),
            outages=OutageRules(say, stop, setup.deadline),
            past=PastRows(
                partial(hold_rows, HeldRows(self.store, setup.crawl)) if self.sites else None,
                None if (self.folder / INCOMPLETE).exists() else kept,
                setup.job.refresh,
            ),
        )

    def _attempts_log(self) -> AttemptsLog:
        """Returns the attempts log. The log has a limit if the crawl has `--revisit`, because such a crawl
        never ends by itself."""
        settings = self.setup.job.settings
        limit = None if settings.revisit is None else settings.keep_attempts or 0
        return AttemptsLog(self.folder / "attempts.jsonl", limit=limit)

    def _attempts_table(self) -> AttemptsTable | None:
        """Returns the table of attempts in a shared store. Returns None if there is no such table, for
        example because `--attempts` names an output."""
        most = self.setup.job.settings.keep_attempts
        if self.setup.job.settings.store is None or most is None or self.setup.job.attempts is not None:
            return None
        return AttemptsTable(self.store, self.setup.crawl, most)

    async def _count_rows(self) -> None:
        """Stores what the crawl counts as new, changed and unchanged, and prepares the outputs to count."""
        setup = self.setup
        record = await self.enqueuer.crawls.need(setup.crawl)
        notes_pages = setup.known_at is not None or setup.revisits_on_fleet
        await self.enqueuer.crawls.tell(setup.crawl, self._tells or ("pages" if notes_pages else "nothing"))
        revisits = setup.job.settings.revisit is not None
        since = None if revisits else format_time(record.started_at)
        self.outputs.filler.count_from(since, counted=record.tells.startswith("items"))

    def _visitor(self, settings: Settings) -> Visitor:
        setup, collectors = self.setup, self.network.collectors
        treat = None
        if host_rules.has_rules(self.sites):
            needs = lru_cache(10_000)(partial(host_rules.host_needs, self.sites))
            treat = lru_cache(10_000)(lambda host: host_treatment(needs(host), settings))
        gate = RobotsGate(
            self.frontier,
            collectors.robots,
            agent=settings.agent.partition("/")[0].strip(),
            usual=HostTreatment(
                settings.waits,
                None if settings.delay is None else Delay(*settings.delay),
                not settings.ignore_robots,
            ),
            treat=treat,
            opens=self.enqueuer.scope.allows_port,
            ladder=collectors.free,
            files=self.keeping is not None,
        )
        self.apart: SiteRouter | None = None
        if setup.lacks is not None:
            from gossamer.state.fleet_crawls import FleetCrawls

            tell = partial(FleetCrawls(self.store).apart, setup.crawl)
            self.apart = SiteRouter(self.frontier, self._all, setup.lacks, tell, gate.give_back)
        notes = setup.known_at is not None or setup.revisits_on_fleet
        by = site_versions(setup.sites, anew=setup.job.reread) if notes else None
        climbing = Climbing(LearnedRungs(self.store), collectors.ladder, settings.timeout, self.lanes)
        fetching = Fetching(
            collectors.pages,
            gate.treat,
            self.reader,
            same=self.enqueuer.intake.same,
            climbing=climbing if collectors.climbs else None,
            helps=SiteHelps(
                solver(self.sites, self._keep, settings.timeout),
                None if self.clubs is None else self.clubs.members(self.name, gate, treat),
                by or "",
            ),
            lanes=self.lanes,
            short=self.limiter.short,
        )
        raw = has_whole_responses([one.spec for one in setup.job.outputs])
        return Visitor(
            VisitSettings(
                *(setup.crawl, self.name, setup.job.sitemaps, raw, by, _has_page_table(setup)),
                *(settings.rate_limit_wait, _homes(setup)),
            ),
            gate,
            fetching,
            self.reader,
            self.enqueuer.scope,
            VisitSteps(
                MinDepthVisits(self.frontier, self.enqueuer.intake) if self.frontier.policy.depths else None,
                self._sharing(settings),
                self.apart,
                self.keeping,
            ),
        )

    def _fleet(self, lanes: Sequence[str] | None) -> None:
        """Builds the parts that depend on other workers of the fleet, such as the score of this worker and
        the caps on all workers together."""
        self.merit = ScoreKeeper(
            f"{self.name}.{os.getpid()}",
            Scores(self.store, self.setup.crawl),
            self.frontier.set_waits,
            lambda line: print(f"gossamer: {self.name}: {line}", file=sys.stderr),
            serves=self.frontier.policy.heaps((0, 0)),
        )
        settings = self.setup.job.settings
        self.domains = MetricDomains(self.store, settings.metric_domains)
        self.totals = TotalsOfVisits(
            "+".join(lanes or (settings.lane,)), self._region, self.domains.known, self.domains.ask
        )
        self._caps = Caps(self.store, lanes if lanes is not None else (settings.lane,))

    def _sharing(self, settings: Settings) -> SharedThrottle | None:
        """Builds the throttle for hosts that share a budget. Returns None if each host has its own budget."""
        if settings.polite_by == "host":
            return None
        domain, single = lru_cache(10_000)(urls.registered_domain), self.network.single

        async def group(host: str) -> str | None:
            if single is None:
                return f"domain:{domain(host)}"
            address = await single.address(host)
            return address and f"ip:{address}"

        hold = (8 if self.clubs else 2) * self.network.collectors.longest + 10
        from gossamer.state.host_groups import HostGroups
        from gossamer.worker.shared_throttle import SharedThrottle

        return SharedThrottle(
            HostGroups(self.store, settings.per_host, hold),
            group,
            single.failed if single else None,
        )

    @property
    def retry_time(self) -> float | None:
        """The maximum number of seconds for which the crawl goes on when only retries are left, or None. Sites
        with their own waits get enough time for all of these waits."""
        longest = self.setup.job.settings.retry_time
        own = [MAX_RETRY_DELAY * sum(one.site.retries) for one in self.sites if one.site.retries]
        return None if longest is None else max(longest, *own, 0.0)

    async def apply_retries(self) -> None:
        """Applies the waits of `--retries` and of the sites to the URLs that an earlier run left waiting. If
        nothing is retried, these URLs are ended at once."""
        treat = self._visits.gate.treat
        await hasten(self.store, self.setup.crawl, lambda host: treat(host).retries)
        if not self.setup.job.settings.waits:
            await Crawls(self.store).finish(self.setup.crawl)

    async def _state(self) -> str:
        """Returns the crawl's state, or "spent" if the unlocker's credits are used up."""
        state = await self.enqueuer.scope.refresh()
        if self.enqueuer.scope.live is not self._followed:
            self._followed = self.enqueuer.scope.live
            await follow_limits(self.setup, self.frontier, self._followed)
        await self.enqueuer.scope.release()
        ending = state == FINISHING
        state = await self.judge.state("running" if ending else state)
        if ending and state == "running":
            return FINISHING
        if not self.network.collectors.spent or state != "running":
            return state
        logs.log_event("budget_spent", crawl=self.setup.crawl, text="the credits of the unlocker are spent")
        return "spent"

    def _surprise(self, claim: Claim, error: Exception) -> None:
        """Logs an unexpected exception of a visit with its URL. The claim's lease is left to expire."""
        self.enqueuer.intake.forget()
        self.surprises += 1
        path = self.folder / "surprises.log"
        with open(path, "a", opener=open_file) as log:
            print(mask("\n".join((claim.request.url, *traceback.format_exception(error)))), file=log)
        if self.surprises == 1 and not isinstance(
            error, GossamerError
        ):  # the code that ends the run reports expected errors
            print(
                f"gossamer: a bug occurred at {claim.request.url}; the URL is tried again, see {path}",
                file=sys.stderr,
            )

    @cached_property
    def _store_watch(self) -> StoreWatch:
        where = self.store.client.servers.address.shown
        return StoreWatch(self.frontier, self.enqueuer.scope.repeat, where)

    def _committer(self) -> Committer:
        """Builds the committer of a run."""
        settings, policy = self.setup.job.settings, self.frontier.policy
        paces = [one.site.pace.per_host for one in self.sites if one.site.pace is not None]
        slots = min(filter(None, [settings.per_host, *paces]))
        return Committer(
            self.frontier,
            self.outputs,
            duplicate_marker(settings, self.sites, self.store, self.setup.crawl),
            company=gather_limits(
                slots,
                visits_at_once(settings.concurrency)[0],
                counted=max(policy.size_limit, policy.host_bytes) >= 0,
            ),
            totals=self.totals,
            on_put=self._on_put,
            on_lost=lambda lost: _log_lost(self.setup.crawl, self.name, lost),
        )

    async def run(self) -> str:
        """Works until the crawl ends or the stop event is set. Returns the outcome. `run` may be called
        again. The outputs stay open until `Outputs.finish`."""
        if not self._opened:
            await self._open()
        self._followed = NO_CHANGES
        await self._state()
        if self.frontier.policy.host_time >= 0:
            idle = (await self.enqueuer.crawls.need(self.setup.crawl)).idle
            self.frontier.change_policy(idle=round(idle * 1000))
        settings, committer = self.setup.job.settings, self._committer()
        worker = Worker(
            self.frontier,
            self._visits,
            committer,
            limits=ClaimLimits(
                self.store.buckets,
                visits_at_once(settings.concurrency)[1],
                self.limiter,
                self._room,
                self._caps,
            ),
            control=RunControl(
                self._state, self._stop, self._surprise, lambda: self.setup.deadline, self._paused
            ),
            merit=self.merit,
            ledger=self._ledger,
            store_watch=self._store_watch,
        )
        level = LevelLog(self.setup.crawl, self.name, worker.level)
        keeping = asyncio.create_task(self.merit.keep(lambda: worker.busy < self.limiter.visits, level))
        try:
            async with (
                run_spiller(self.store, self.setup.crawl, self.cold, self.hot),
                run_beside(self.judge.keep()),
                run_beside(self.domains.keep()),
            ):
                outcome = await worker.run()
            for site in self.reader.counting.values():
                await RunRecords(self.store).add_samples(self.setup.crawl, site.samples)
            return outcome
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _open(self) -> None:
        if self.clubs is not None:
            await self.clubs.open()
        await self._count_rows()
        await self.outputs.open()
        if self.setup.segment:
            _, reason = await Crawls(self.store).state(self.setup.crawl)
            self.outputs.take_over_outage(reason)
        if not self.setup.segment:
            await _report_unfilled(self.setup, self.store, self.outputs.filler, self.folder)
        self._ledger.open()
        self.limiter.begin()
        await self.judge.open()
        usual: Usual = {}
        if self.sites and self.outputs.keeps_items:
            usual = await usual_fields_of_sites(self.store, self.sites)
        crashes = self.folder if self.setup.job.settings.store is None else None
        watch = None
        if self.sites:
            files = [site.path for site in self.sites]
            watch = ReadWatch(self.setup.job.settings.timeout, files, self._stop)
        self.reader.open(self.setup.crawl, self.folder, crashes, usual, watch)
        self._opened = True

    async def close(self) -> None:
        """Closes all connections and files, even if closing one of them fails or the caller is cancelled."""
        async with contextlib.AsyncExitStack() as last:  # the stack closes its last entry first
            if self.cold is not None:
                last.push_async_callback(self.cold.close)
            last.push_async_callback(self.network.close)
            if self.reader.apart is not None:
                last.push_async_callback(self.reader.apart.close)
            last.callback(self.reader.close)
            if self.keeping is not None:
                last.callback(self.keeping.close)
            last.callback(self.outputs.release)
            last.callback(self._ledger.close)
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(1.0):  # on failure, other workers remove the score later
                    await self.merit.close()


async def _report_unfilled(setup: Setup, store: Store, filler: OutputBackfill, folder: Path) -> None:
    """Warns about outputs that were added after the first run and do not contain the earlier rows."""
    found, lines = filler.unfilled, [*filler.torn]
    if found and (setup.job.refresh or (await CrawlStatistics(store).summary(setup.crawl)).pages):
        lines.append(unfilled_message(setup.crawl, found, folder))
    else:  # the first run: no output lacks a row
        found = []
    note_lacking(folder, [*filler.changes, *found], filler.whole)
    values = [one.spec for one in setup.job.outputs if one.spec not in found]
    lines.append(lacking_message(folder, values))
    for line in filter(None, () if setup.job.per_pass else lines):
        print(f"gossamer: {line}", file=sys.stderr)


def report_archive_damage(worker: CrawlWorker) -> None:
    """Reports damage in the archive that the crawl replays."""
    for line in getattr(worker.network.collectors.pages(Request("http://archive/")).collector, "broken", ()):
        print(f"gossamer: --archive: {line}; the intact parts are read", file=sys.stderr)


def _homes(setup: Setup) -> frozenset[str]:
    """Returns the hosts whose home page is a seed, at most MAX_NAMED_HOSTS of them. Returns no hosts if the
    crawl reads sitemaps, or if site files choose its pages."""
    uses_sitemaps = setup.job.sitemaps or any(one.startswith("sitemap:") for one in setup.job.targets)
    if uses_sitemaps or setup.sites or setup.spec.scope == "page":
        return frozenset()
    homes = (host for scheme, host, path in map(split, setup.seeds) if path == "/")
    return frozenset(islice(homes, MAX_NAMED_HOSTS))


def _has_page_table(setup: Setup) -> bool:
    """Returns whether the crawl has a page table. With a page table, known pages are queued again although
    the seen set contains their URLs. The page table may come from this run or from an earlier run."""
    if setup.revisits_on_fleet:
        return True
    at = setup.known_at
    return at is not None and (setup.job.settings.revisit is not None or known_pages.has_table(at))


def _known_log(setup: Setup) -> Log | None:
    """Returns the log to which visits of known pages are written. With `--revisit`, the page table reads its
    visits from this log. Returns None for a fleet with `--revisit`, because a fleet reports the visits to the
    store."""
    if setup.revisits_on_fleet or (at := setup.known_at) is None:
        return None
    if setup.job.settings.revisit is not None:
        from gossamer.recrawl.page_table import VisitInbox

        return VisitInbox(at / known_pages.TABLE_NAME)
    return AttemptsLog(at / known_pages.name_of(setup.segment), known_pages.FILE_MODE)


def _visit_outcomes(setup: Setup, store: Store) -> VisitOutcomes | None:
    """Returns the list in which the workers of a fleet record their visits of known pages. The list is in the
    store."""
    if not setup.revisits_on_fleet:
        return None
    from gossamer.recrawl.stored_table import VisitOutcomes

    return VisitOutcomes(store, setup.crawl)


async def _told(store: Store, crawl: str, line: str, away: bool) -> None:
    """Reports that an output failed, or that a failed output works again. The report goes to stderr or to the
    log, and to the crawl's state."""
    if logs.started() is None:
        print(f"gossamer: {line}", file=sys.stderr)
    else:
        logs.log_event("sink_away" if away else "sink_back", crawl=crawl, text=line)
    from gossamer.state.fleet_crawls import FleetCrawls

    with contextlib.suppress(StoreError):
        for state in ("running", "ending"):
            await FleetCrawls(store).turn(crawl, state, state, line if away else "")


def _tell_routes(crawl: str, line: str) -> None:
    """Reports how the crawl treats the fragment routes of a host."""
    if logs.started() is None:
        print(f"gossamer: {line}", file=sys.stderr)
    else:
        logs.log_event("routes", crawl=crawl, text=line)


def _log_lost(crawl: str, worker: str, lost: Sequence[Claim]) -> None:
    """Logs each claim that this worker could not commit because it had lost the claim's lease."""
    for claim in lost:
        logs.log_event("lease_lost", crawl=crawl, host=claim.host, url=mask(claim.request.url), worker=worker)


def complete_attempts(spec: str | None, region: str) -> Callable[[Visit], None]:
    """Returns a function that adds this worker's region to the attempts of a visit. If an output of attempts
    is configured, the function also adds the attempts to the visit's rows."""
    form = parse(spec).format if spec is not None else ""

    def complete(visit: Visit) -> None:
        if region:
            for one in visit.attempts:
                one.region = region
        if form and visit.attempts:
            visit.rows = visit.rows + [
                attempt_row(msgspec.structs.asdict(one), form) for one in visit.attempts
            ]

    return complete


def host_treatment(needs: host_rules.HostNeeds, settings: Settings) -> HostTreatment:
    """Returns the rules that apply to requests to a host. The settings of the host's sites take precedence.
    Two options override the settings of all sites. These options are `--retries none` and
    `--ignore-robots`."""
    delay = needs.pace.delay
    usual = None if settings.delay is None else Delay(*settings.delay)
    return HostTreatment(
        needs.retries if needs.retries is not None and settings.waits else settings.waits,
        usual if delay is None else Delay(delay, delay),
        needs.robots and not settings.ignore_robots,
        needs.blocks,
    )

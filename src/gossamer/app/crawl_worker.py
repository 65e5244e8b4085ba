"""Builds a worker with all its parts from the setup of a crawl, and runs it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gossamer import sites as site_files
from gossamer.app.enqueuer import Enqueuer
from gossamer.app.followed_limits import follow_limits
from gossamer.app.job import Setup
from gossamer.app.network_setup import Network
from gossamer.app.open_store import cold_settings
from gossamer.app.quality_gate_setup import RunJudge, usual_fields_of_sites
from gossamer.app.sink_setup import duplicate_marker, link_rows, open_file_store
from gossamer.app.verbose_output import VisitLines, write_stderr
from gossamer.app.visitor_setup import (
    Treatment,
    has_page_table,
    make_robots_gate,
    make_shared_throttle,
    make_site_router,
    seeded_homes,
    site_treatment,
)
from gossamer.app.worker_outputs import (
    complete_attempts,
    count_rows,
    make_worker_outputs,
    report_outage,
    report_unfilled,
)
from gossamer.config.data_files import make_private, open_file
from gossamer.config.redaction import mask
from gossamer.config.resources import open_descriptors, room_for_visits, visits_at_once
from gossamer.config.settings import Settings
from gossamer.errors import GossamerError, StoreError
from gossamer.frontier.background_task import run_beside
from gossamer.frontier.cold import run_spiller
from gossamer.frontier.crawls import FINISHING, NO_CHANGES, Crawls
from gossamer.frontier.held_claims import HeldClaims
from gossamer.frontier.policy import served_heaps
from gossamer.frontier.retry_waits import hasten
from gossamer.frontier.run_records import RunRecords
from gossamer.model.absence import Usual
from gossamer.model.interfaces import TableSink
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim, Visit
from gossamer.observability import logs, traces
from gossamer.observability.visit_events import VisitEvents
from gossamer.sinks.graph import kind as graph_kind
from gossamer.sinks.item_files import OFF
from gossamer.sinks.output_spec import has_whole_responses, parse
from gossamer.sites import host_rules
from gossamer.sites.captcha_hook import solver
from gossamer.sites.failed_pages import FailedPages
from gossamer.sites.site_logs import printed_level
from gossamer.state.domains_with_metrics import MetricDomains
from gossamer.state.learned_rungs import LearnedRungs
from gossamer.state.rates import Caps
from gossamer.state.scores import Scores
from gossamer.store.store import Store
from gossamer.worker.capacity import ClaimAllowance, Limiter
from gossamer.worker.climbing import Climbing
from gossamer.worker.committer import Committer, gather_limits
from gossamer.worker.concurrency_level import LevelLog
from gossamer.worker.conditional_get import site_versions
from gossamer.worker.decide import MAX_RETRY_DELAY
from gossamer.worker.fetching import Fetching, SiteHelps
from gossamer.worker.loop import ClaimLimits, RunControl, Worker
from gossamer.worker.min_depth import MinDepthVisits
from gossamer.worker.page_process_messages import ProcessSettings
from gossamer.worker.page_reader import PageReader
from gossamer.worker.read_watch import ReadWatch
from gossamer.worker.reader import PageReceivers, Reader, ReadSettings
from gossamer.worker.robots_gate import RobotsGate
from gossamer.worker.routing import BROWSER, lanes_of
from gossamer.worker.stall_hint import StallHint
from gossamer.worker.store_watch import StoreWatch
from gossamer.worker.visit_totals import TotalsOfVisits
from gossamer.worker.visitor import Visitor, VisitSettings, VisitSteps
from gossamer.worker.worker_score import ScoreKeeper

if TYPE_CHECKING:
    from gossamer.app.login_setup import LoginSetup


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


class CallerReceivers(NamedTuple):
    """What the program that runs a worker receives in the same process.

    - `tables`: additional sinks. `tap`: called with each page before it is read.
    - `stall_hint`: an object that records why the crawl has no page yet.
    - `say`: called with a line for each visit if the crawl is verbose.
    - `attaches_pages`: whether the rows that `tables` receive contain their page (`Row.page`).
    """

    tables: Sequence[TableSink] = ()
    tap: Callable[[Claim, Page], None] | None = None
    stall_hint: StallHint | None = None
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
        self.logins: LoginSetup | None = None
        if host_rules.has_accounts(self.sites):
            from gossamer.app.login_setup import LoginSetup

            self.logins = LoginSetup(setup, self.sites, store, self.network.collectors, self.network.proxies)
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
        self.outputs, self._fates = make_worker_outputs(setup, self.enqueuer, caller.tables, fleet.ours, stop)
        say = partial(report_outage, store, setup.crawl)
        self.downloads = open_file_store(setup, self.reader, self.folder, say, stop)
        self._visits = self._visitor(settings)
        self.stall_hint = caller.stall_hint or StallHint()
        self._on_put = self._visit_listeners(caller.say)
        self._fleet(lanes)
        self._stop, self._room, self._opened = stop, fleet.room, False
        self._followed = NO_CHANGES
        self._held_claims = HeldClaims(self.folder, setup.segment)

    def _visit_listeners(self, say: Callable[[str], None]) -> list[Callable[[Visit], None]]:
        """Returns the callables that receive each visit before the visit is committed."""
        setup = self.setup
        found: list[Callable[[Visit], None]] = [
            complete_attempts(setup.job.attempts, self._region),
            self.judge.saw,
            self.stall_hint,
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

    def _visitor(self, settings: Settings) -> Visitor:
        """Builds the part that makes the visits."""
        setup, intake = self.setup, self.enqueuer.intake
        treat = site_treatment(self.sites, settings)
        gate = make_robots_gate(
            self.enqueuer, self.network, settings, treat, files=self.downloads is not None
        )
        self.apart = make_site_router(setup, self.enqueuer, gate)
        notes = setup.known_at is not None or setup.revisits_on_fleet
        by = site_versions(setup.sites, anew=setup.job.reread) if notes else None
        return Visitor(
            VisitSettings(
                setup.crawl,
                self.name,
                setup.job.sitemaps,
                has_whole_responses([one.spec for one in setup.job.outputs]),
                by,
                has_page_table(setup),
                settings.rate_limit_wait,
                seeded_homes(setup),
            ),
            gate,
            self._fetching(settings, gate, treat, by or ""),
            self.reader,
            self.enqueuer.scope,
            VisitSteps(
                MinDepthVisits(self.frontier, intake) if self.frontier.policy.depths else None,
                make_shared_throttle(settings, self.network, self.store, has_logins=self.logins is not None),
                self.apart,
                self.downloads,
            ),
        )

    def _fetching(
        self, settings: Settings, gate: RobotsGate, treat: Treatment | None, version: str
    ) -> Fetching:
        """Builds the part that makes the requests of a visit. `version`: the digest of the site files."""
        collectors = self.network.collectors
        climbing = Climbing(LearnedRungs(self.store), collectors.ladder, settings.timeout, self.lanes)
        return Fetching(
            collectors.pages,
            gate.treat,
            self.reader,
            same=self.enqueuer.intake.same,
            climbing=climbing if collectors.climbs else None,
            helps=SiteHelps(
                solver(self.sites, self._keep, settings.timeout),
                None if self.logins is None else self.logins.members(self.name, gate, treat),
                version,
            ),
            lanes=self.lanes,
            short=self.limiter.short,
        )

    def _fleet(self, lanes: Sequence[str] | None) -> None:
        """Builds the parts that depend on other workers of the fleet, such as the score of this worker and
        the caps on all workers together."""
        self.score_keeper = ScoreKeeper(
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
            limits=gather_limits(
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
            score_keeper=self.score_keeper,
            held_claims=self._held_claims,
            store_watch=self._store_watch,
        )
        level = LevelLog(self.setup.crawl, self.name, worker.level)
        scoring = asyncio.create_task(
            self.score_keeper.keep(lambda: worker.busy < self.limiter.visits, level)
        )
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
            scoring.cancel()
            await asyncio.gather(scoring, return_exceptions=True)

    async def _open(self) -> None:
        if self.logins is not None:
            await self.logins.open()
        await count_rows(self.setup, self.enqueuer.crawls, self.outputs, self._fates)
        await self.outputs.open()
        if self.setup.segment:
            _, reason = await Crawls(self.store).state(self.setup.crawl)
            self.outputs.take_over_outage(reason)
        if not self.setup.segment:
            await report_unfilled(self.setup, self.store, self.outputs)
        self._held_claims.open()
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
            if self.downloads is not None:
                last.callback(self.downloads.close)
            last.callback(self.outputs.release)
            last.callback(self._held_claims.close)
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(1.0):  # on failure, other workers remove the score later
                    await self.score_keeper.close()


def report_archive_damage(worker: CrawlWorker) -> None:
    """Reports damage in the archive that the crawl replays."""
    for line in getattr(worker.network.collectors.pages(Request("http://archive/")).collector, "broken", ()):
        print(f"gossamer: --archive: {line}; the intact parts are read", file=sys.stderr)


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

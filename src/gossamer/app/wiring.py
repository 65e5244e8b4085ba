"""Builds a ready worker from settings. This file and `collector_setup` are the only ones that name concrete
parts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from gossamer import sites as site_files
from gossamer import url as urls
from gossamer.app.collector_setup import CollectorSetup
from gossamer.app.gate_setup import RunJudge, hold_rows, usual_fields_of_sites
from gossamer.app.job import Setup
from gossamer.app.login_setup import LoginSetup
from gossamer.app.proxy_setup import make_proxies
from gossamer.app.sink_setup import duplicate_marker, kept_rows, make_outputs, open_file_store
from gossamer.app.unlocker_setup import unlocker
from gossamer.config.data_files import make_folder, open_file
from gossamer.config.redaction import mask
from gossamer.config.resources import open_descriptors, room_for_visits
from gossamer.config.settings import Settings
from gossamer.egress.resolver import Resolver, SingleAddressResolver
from gossamer.errors import GossamerError, StoreError
from gossamer.frontier.background_task import run_beside
from gossamer.frontier.cold import Cold, open_cold, run_spiller
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.held_claims import HeldClaims
from gossamer.frontier.policy import Policy, served_heaps
from gossamer.frontier.quality import HeldRows
from gossamer.frontier.stats import CrawlStatistics
from gossamer.frontier.verbs import Frontier
from gossamer.model.interfaces import TableSink
from gossamer.model.request import Request
from gossamer.model.visit import Claim, Visit
from gossamer.observability.attempts import AttemptsLog
from gossamer.politeness.pace import Delay
from gossamer.recrawl import known_pages
from gossamer.sinks.attempts import attempt_row
from gossamer.sinks.graph import kind as graph_kind
from gossamer.sinks.kept_rows import INCOMPLETE, unfilled_message
from gossamer.sinks.open_outputs import usual_rows
from gossamer.sinks.output_spec import has_whole_responses, parse
from gossamer.sites import host_rules
from gossamer.sites.captcha_hook import solver
from gossamer.sites.failed_pages import FailedPages
from gossamer.sites.remote_sites import stand_ins
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.state.host_groups import HostGroups
from gossamer.state.learned_rungs import LearnedRungs
from gossamer.state.rates import Caps
from gossamer.state.scores import Scores
from gossamer.store.embedded import Embedded
from gossamer.store.keys import bucket_of
from gossamer.store.store import BUCKETS_EMBEDDED, Store, connect
from gossamer.store.store_check import wait_until_ready
from gossamer.url import patterns
from gossamer.url.scope import Scope
from gossamer.worker.capacity import ClaimAllowance, Limiter
from gossamer.worker.committer import Committer, gather_limits
from gossamer.worker.conditional_get import site_versions
from gossamer.worker.crash_marker import CrashMarker
from gossamer.worker.ladder import Climbing
from gossamer.worker.link_intake import LinkIntake
from gossamer.worker.loop import Worker
from gossamer.worker.min_depth import MAX_EXACT_DEPTH, MinDepthVisits
from gossamer.worker.outputs import Outputs
from gossamer.worker.page_frames import ProcessSettings
from gossamer.worker.page_reader import PageReader
from gossamer.worker.reader import Reader
from gossamer.worker.robots_gate import HostTreatment, RobotsGate
from gossamer.worker.routing import BROWSER, SiteRouter, lanes_of
from gossamer.worker.shared_throttle import SharedThrottle
from gossamer.worker.stall_hint import StallHint
from gossamer.worker.visitor import Visitor
from gossamer.worker.worker_score import ScoreKeeper


async def open_store(settings: Settings) -> tuple[Store, Embedded | None]:
    """Opens the store of the settings: a shared one by URL, or the data folder's embedded store, which is
    adopted or started."""
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


def limiter_of(concurrency: int) -> Limiter:
    """Returns the limiter of a process: as many visits as configured, or fewer if the limit of open files
    requires it."""
    fit = min(concurrency, room_for_visits())
    few = (
        f"open files: {open_descriptors()[1]} allowed (ulimit -n), so {fit} pages at once "
        f"instead of {concurrency}: raise it for more"
    )
    return Limiter(
        fit, lambda line: print(f"gossamer: {line}", file=sys.stderr), begins=few if fit < concurrency else ""
    )


async def start_store(embedded: Embedded) -> str:
    """Starts or adopts a data folder's store and returns its URL. If cancelled meanwhile, it leaves no server
    behind."""
    starting = asyncio.ensure_future(asyncio.to_thread(embedded.start))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        embedded.cancelled.set()
        await asyncio.gather(starting, return_exceptions=True)
        await asyncio.to_thread(embedded.leave)
        raise


async def open_url(url: str, *, embedded: bool, patience: float = 0.0) -> Store:
    """Opens and checks a store by URL. `patience`: seconds for which its outages are waited for."""
    store = connect(url, patience=patience, embedded=embedded)
    try:
        await wait_until_ready(store, 5.0)
        await store.open(BUCKETS_EMBEDDED if embedded else store.usual_buckets, urls.psl_hash())
    except BaseException:
        await store.close()
        raise
    return store


def cold_settings(settings: Settings, crawl: str) -> tuple[Cold | None, int]:
    """Returns the cold store of a crawl, or None, and how many URLs per host and level stay hot."""
    return open_cold(settings.cold, None if settings.store else Path(settings.data) / crawl, crawl)


def policy(settings: Settings, lanes: tuple[str, ...] | None = None) -> Policy:
    """Returns the policy of the frontier for these settings. `lanes`: the heaps that a worker of a fleet
    serves."""
    delay = -1 if settings.delay is None else round(settings.delay[0] * 1000)
    first = min([30.0, *settings.retries[:1]]) if settings.retries else 1.0
    return Policy(
        lanes=lanes,
        open_first=max(1, round(first * 1000)),
        delay=delay,
        per_host=settings.per_host,
        obey_robots=not settings.ignore_robots,
        limit=-1 if settings.limit is None else settings.limit,
        host_bytes=-1 if settings.host_bytes is None else settings.host_bytes,
        size_limit=-1 if settings.size_limit is None else settings.size_limit,
        host_time=-1 if settings.host_time is None else round(settings.host_time * 1000),
        rate=settings.rate or 0.0,
        seen=settings.seen,
        host_pages=settings.page_cap,
        depths=settings.depth < MAX_EXACT_DEPTH,
    )


class CrawlWorker:
    """The parts of one worker process, connected. `worker.run()` does the work; `close` releases
    everything."""

    def __init__(
        self,
        setup: Setup,
        store: Store,
        name: str,
        stop: asyncio.Event,
        tables: Sequence[TableSink] = (),
        room: ClaimAllowance | None = None,
        lanes: Sequence[str] | None = None,
        region: str = "",
        ours: Callable[[], Awaitable[None]] | None = None,
        limiter: Limiter | None = None,
    ) -> None:
        """`lanes`, `region`: of a worker of a fleet. Without them the worker serves all lanes. `ours`: see
        `Outputs`. `limiter`: the limiter of the process, if several crawls share it."""
        self.setup, self.store, self.name, self.surprises = setup, store, name, 0
        settings = setup.job.settings
        self.limiter = limiter or limiter_of(settings.concurrency)
        self.crawls = Crawls(store)
        self.frontier = Frontier(
            store, setup.crawl, policy(settings, None if lanes is None else served_heaps(lanes, region))
        )
        self.folder = Path(settings.data) / setup.crawl
        make_folder(self.folder)
        self.cold, self.hot = cold_settings(settings, setup.crawl)
        self.key = canonical_url_function(setup.spec)
        domain = lru_cache(10_000)(urls.registered_domain)
        self._widened = {domain(urls.host(seed)) for seed in setup.seeds}
        # in a narrower scope every URL in scope was asked for, so it needs no budget
        anywhere = setup.spec.scope == "any"
        self.scope = url_filters(setup.spec, settings, setup.seeds, setup.open)
        without = (setup.lacks or ()) if setup.segment else None
        self.sites = site_files.load_all(setup.job.targets, setup.job.args, without)
        watched = [one for site in self.sites for one in site.site.all_patterns]
        patterns.watch((*self.scope.include, *self.scope.exclude, *watched), partial(_report, self.name))
        self._all = [*self.sites, *stand_ins(setup.lacks or {})]
        self.taker = LinkIntake(
            self.scope,
            seed=store.seed,
            remainder=self.frontier.remainder,
            key=self.key,
            own=lambda host: not anywhere or domain(host) in self._widened,
            bucket=lru_cache(10_000)(lambda host: bucket_of(host, store.buckets)),
            depths=self.frontier.policy.depths,
            lane=lru_cache(10_000)(
                lambda host: host_rules.heap_of(self._all, host, settings.lane, settings.region)
            ),
        )
        self.taker.open = setup.open
        self._dial(setup, settings, lanes)
        self.reader = Reader(
            self.sites,
            self.taker,
            self.key,
            text=setup.job.text,
            links=setup.job.links,
            pages=setup.job.pages is not None or not self.sites or setup.keeps_rows,
            duplicates=settings.duplicates,
        )
        self._write(setup, tables, ours, stop)
        self.reader.apart = PageReader(self._page_order)
        self._visits = self._visitor(settings)
        self.silence = StallHint()
        self._fleet(lanes)
        self._stop, self._room, self._opened = stop, room, False
        self._ledger, self._anchors = HeldClaims(self.folder, setup.segment), set[tuple[str, str]]()

    def _page_order(self) -> ProcessSettings:
        """Returns what a process that reads costly pages must know."""
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
            reader.pages,
            reader.text,
            reader.links,
            reader.duplicates,
            reader.run,
            reader.beside,
            sorted(reader.watched),
            reader.fetches,
            graph,
            [(*name, dict(fields)) for name, fields in reader.usual.items()],
        )

    def _write(
        self,
        setup: Setup,
        tables: Sequence[TableSink],
        ours: Callable[[], Awaitable[None]] | None,
        stop: asyncio.Event,
    ) -> None:
        """Builds the outputs, and the gates that judge the items."""
        self.reader.keep, self.reader.run = FailedPages(self.folder / "failed").keep, setup.owner
        self.reader.beside = "*" if setup.spec.scope == "page" else ""
        self.judge = RunJudge(setup, self.sites, self.store)
        self.reader.watched = self.judge.watched
        aside = (
            self.folder / f"rejected-items{setup.segment and '-'}{setup.segment}.jsonl" if self.sites else ""
        )
        kept = kept_rows(setup, self.store.identity) if setup.keeps_rows else None
        files, own_tables = make_outputs(setup, self.sites, str(aside), self.store.identity, kept)
        at, say = setup.known_at, partial(_told, self.store, setup.crawl)
        self.keeping = open_file_store(setup, self.reader, self.folder, say, stop)
        self.outputs = Outputs(
            self.frontier,
            lock=self.folder / f"output{setup.segment and '-'}{setup.segment}.lock",
            files=files,
            tables=[*own_tables, *usual_rows(tables, pages=not self.sites)],
            log=AttemptsLog(self.folder / "attempts.jsonl"),
            alone=setup.alone,
            ours=ours,
            known=AttemptsLog(at / known_pages.name_of(setup.segment), known_pages.FILE_MODE) if at else None,
            say=say,
            stop=stop,
            deadline=setup.deadline,
            hold=partial(hold_rows, HeldRows(self.store, setup.crawl)) if self.sites else None,
            kept=None if (self.folder / INCOMPLETE).exists() else kept,
            only_pass=setup.job.refresh,
        )

    async def _tell_unfilled(self) -> None:
        """Reports outputs that a later run added and that could not be filled with what was found before."""
        found = self.outputs.filler.unfilled
        if (
            found
            and not self.setup.segment
            and (await CrawlStatistics(self.store).summary(self.setup.crawl)).pages
        ):
            print(f"gossamer: {unfilled_message(self.setup.crawl, found, self.folder)}", file=sys.stderr)
        if changes := self.outputs.filler.changes:
            print(
                f"gossamer: {', '.join(map(mask, changes))}: only what changed goes there; "
                f"all rows: gossamer export {self.setup.crawl} FILE",
                file=sys.stderr,
            )

    def _visitor(self, settings: Settings) -> Visitor:
        fixed = None if settings.delay is None else Delay(*settings.delay)
        agent = settings.agent.partition("/")[0].strip()
        treat = None
        if host_rules.has_rules(self.sites):
            needs = lru_cache(10_000)(partial(host_rules.host_needs, self.sites))
            treat = lru_cache(10_000)(lambda host: host_treatment(needs(host), settings))
        gate = RobotsGate(
            self.frontier,
            self.dialling.robots,
            agent=agent,
            obey=not settings.ignore_robots,
            retries=settings.retries,
            fixed=fixed,
            parse=urls.parse,
            treat=treat,
            opens=lambda host: self.scope.allows_port(host),
            ladder=self.dialling.free,
        )
        gate.files = self.keeping is not None
        tell = partial(FleetCrawls(self.store).apart, self.setup.crawl)
        lacks = self.setup.lacks
        self.apart = (
            None if lacks is None else SiteRouter(self.frontier, self._all, lacks, tell, gate.give_back)
        )
        return Visitor(
            self.setup.crawl,
            self.name,
            gate,
            self.dialling.pages,
            self.taker,
            self.reader,
            parse=urls.parse,
            retries=settings.retries,
            fixed=fixed,
            anchor=self._anchor,
            anchored=self.anchored,
            sitemaps=self.setup.job.sitemaps,
            treat=treat,
            solve=solver(self.sites, self.reader.keep, settings.timeout),
            nearer=MinDepthVisits(self.frontier, self.taker) if self.frontier.policy.depths else None,
            sharing=self._sharing(settings),
            climbing=Climbing(LearnedRungs(self.store), self.dialling.ladder, settings.timeout, self.lanes)
            if self.dialling.climbs
            else None,
            by=None if self.setup.known_at is None else site_versions(self.setup.sites),
            raw=has_whole_responses([one.spec for one in self.setup.job.outputs]),
            members=self.clubs.members(self.name, gate, treat),
            keeping=self.keeping,
            lanes=self.lanes,
            apart=self.apart,
            short=self.limiter.short,
        )

    def _dial(self, setup: Setup, settings: Settings, lanes: Sequence[str] | None) -> None:
        """Builds the egress guard and the rungs behind it. The browser may be available on other workers
        only."""
        self.resolver = Resolver(settings.allow_private, names=setup.allowed)
        self.single = SingleAddressResolver(self.resolver) if settings.polite_by == "ip" else None
        guard = self.single or self.resolver
        unlocked = partial(unlocker, settings, setup.crawl, self.store, guard)
        self.proxies = make_proxies(
            setup, self.sites, guard, self.store, lambda domain: self.dialling.forget(domain)
        )
        self.lanes = (
            None if lanes is None else lanes_of(self.frontier, self._all, settings.lane, settings.ladder)
        )
        others = self.lanes is not None and BROWSER not in (lanes or ())
        self.dialling = CollectorSetup(
            setup, self.sites, guard, self.store.seed, unlocked, self.proxies, others
        )
        self.clubs = LoginSetup(setup, self.sites, self.store, self.dialling, self.proxies)

    def _fleet(self, lanes: Sequence[str] | None) -> None:
        """Builds what this worker shares with the fleet: its score, and the caps on all workers."""
        self.merit = ScoreKeeper(
            f"{self.name}.{os.getpid()}",
            Scores(self.store, self.setup.crawl),
            partial(setattr, self.frontier, "waits"),
            lambda line: print(f"gossamer: {self.name}: {line}", file=sys.stderr),
            serves=self.frontier.policy.heaps((0, 0)),
        )
        self._caps = Caps(self.store, lanes if lanes is not None else (self.setup.job.settings.lane,))

    def _sharing(self, settings: Settings) -> SharedThrottle | None:
        """Builds the shared throttle, if hosts do not each have a budget of their own."""
        if settings.polite_by == "host":
            return None
        domain = lru_cache(10_000)(urls.registered_domain)

        async def group(host: str) -> str | None:
            if self.single is None:
                return f"domain:{domain(host)}"
            address = await self.single.address(host)
            return address and f"ip:{address}"

        hold = (8 if self.clubs else 2) * self.dialling.longest + 10
        return SharedThrottle(
            HostGroups(self.store, settings.per_host, hold),
            group,
            self.single.failed if self.single else None,
        )

    async def _state(self) -> str:
        """Returns the crawl's state, or that its limits are used up."""
        state = await self.anchored()
        if self.taker.holds:
            self.taker.holds = await self.frontier.may_redirect_seeds()
        state = await self.judge.state(state)
        return "spent" if self.dialling.spent and state == "running" else state

    async def anchored(self) -> str:
        """Widens the scope by the targets of redirected seeds. Returns the crawl's state."""
        state, anchors = await self.crawls.look(self.setup.crawl)
        for pair in anchors:
            await self._widen(*pair)
        return state

    async def _anchor(self, source: str, target: str) -> None:
        # otherwise the child is within its own scope
        if (source, target) not in self._anchors and not self.setup.open:
            await self.crawls.anchor(self.setup.crawl, source, target)
            await self._widen(source, target)

    async def _widen(self, source: str, target: str) -> None:
        """Adds the host to which a seed was redirected to the scope, and takes links to it that were refused
        before."""
        if (source, target) not in self._anchors:
            self._anchors.add((source, target))
            host = urls.host(target)
            if self.setup.spec.scope == "host":
                await self.frontier.admit(bucket_of(host, self.store.buckets), host)
            self.scope = self.scope.re_anchored(source, target)
            self._widened.add(urls.registered_domain(urls.host(target)))
            self.taker.widen(self.scope)

    def _surprise(self, claim: Claim, error: Exception) -> None:
        """Logs an unexpected exception of a visit with its URL. The claim's lease is left to expire."""
        self.taker.forget()
        self.surprises += 1
        path = self.folder / "surprises.log"
        with open(path, "a", opener=open_file) as log:
            print(mask("\n".join((claim.request.url, *traceback.format_exception(error)))), file=log)
        if self.surprises == 1 and not isinstance(
            error, GossamerError
        ):  # whoever ends the run reports expected errors
            print(
                f"gossamer: a bug was met on {claim.request.url}; it is tried again, see {path}",
                file=sys.stderr,
            )

    async def run(self) -> str:
        """Works until the crawl ends or the stop is set, and returns the outcome. May be called again. Leaves
        the outputs open; `Outputs.finish` ends them."""
        if not self._opened:
            await self.clubs.open()
            await self.outputs.open()
            await self._tell_unfilled()
            self.reader.reading = CrashMarker(self.folder if self.setup.job.settings.store is None else None)
            self._ledger.open()
            self.limiter.begin()
            await self.judge.open()
            if self.sites and self.outputs.keeps_items:
                self.reader.usual = await usual_fields_of_sites(self.store, self.sites)
            self._opened = True
        await self._state()
        if (usual := self.frontier.policy).host_time >= 0:
            idle = (await self.crawls.need(self.setup.crawl)).idle
            self.frontier.policy = msgspec.structs.replace(usual, idle=round(idle * 1000))
        settings = self.setup.job.settings
        paces = [one.site.pace.per_host for one in self.sites if one.site.pace is not None]
        slots = min(filter(None, [settings.per_host, *paces]))
        committer = Committer(
            self.frontier,
            self.outputs,
            duplicate_marker(settings, self.sites, self.store, self.setup.crawl),
            company=gather_limits(
                slots, settings.concurrency, counted=max(usual.size_limit, usual.host_bytes) >= 0
            ),
        )
        committer.on_put = [attempts_as_rows(self.setup.job.attempts), self.judge.saw, self.silence]
        worker = Worker(
            self.frontier,
            self._visits,
            committer,
            buckets=self.store.buckets,
            concurrency=settings.concurrency,
            state=self._state,
            stop=self._stop,
            surprise=self._surprise,
            deadline=self.setup.deadline,
            room=self._room,
            caps=self._caps,
            merit=self.merit,
            ledger=self._ledger,
            limiter=self.limiter,
        )
        self.judge.hold = partial(setattr, worker, "paused", True)
        keeping = asyncio.create_task(self.merit.keep(lambda: worker.busy < settings.concurrency))
        try:
            async with (
                run_spiller(self.store, self.setup.crawl, self.cold, self.hot),
                run_beside(self.judge.keep()),
            ):
                return await worker.run()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def close(self) -> None:
        """Closes all connections and files, even if closing one of them fails or the caller is cancelled."""
        async with contextlib.AsyncExitStack() as last:  # the last entry is closed first
            if self.cold is not None:
                last.push_async_callback(self.cold.close)
            last.push_async_callback(self.resolver.close)
            if self.proxies is not None:
                last.push_async_callback(self.proxies.upkeep.close)
            last.push_async_callback(self.dialling.close)
            if self.reader.apart is not None:
                last.push_async_callback(self.reader.apart.close)
            last.callback(self.reader.reading.close)
            if self.keeping is not None:
                last.callback(self.keeping.close)
            last.callback(self.outputs.release)
            last.callback(self._ledger.close)
            with contextlib.suppress(StoreError, TimeoutError):
                async with asyncio.timeout(1.0):  # other workers remove the score too, later
                    await self.merit.close()


def report_archive_damage(bench: CrawlWorker) -> CrawlWorker:
    """Reports damage in the archive that the crawl replays, then returns the bench."""
    for line in getattr(bench.dialling.pages(Request("http://archive/")).collector, "broken", ()):
        print(f"gossamer: --archive: {line}; what is whole is read", file=sys.stderr)
    return bench


def _report(worker: str, line: str) -> None:
    print(
        f"gossamer: {worker}: {line}; such links are skipped as filter, such pages are parse errors",
        file=sys.stderr,
    )


async def _told(store: Store, crawl: str, line: str, away: bool) -> None:
    """Reports an output's outage to the watcher and to those who read the crawl's state."""
    print(f"gossamer: {line}", file=sys.stderr)
    with contextlib.suppress(StoreError):
        await FleetCrawls(store).turn(crawl, "running", "running", line if away else "")


def attempts_as_rows(spec: str | None) -> Callable[[Visit], None]:
    """Returns a function that adds each visit's requests as rows, if an output of attempts was configured."""
    form = parse(spec).format if spec is not None else ""

    def also(visit: Visit) -> None:
        if form and visit.attempts:
            visit.rows = visit.rows + [
                attempt_row(msgspec.structs.asdict(one), form) for one in visit.attempts
            ]

    return also


def host_treatment(needs: host_rules.HostNeeds, settings: Settings) -> HostTreatment:
    """Returns how a host is treated, first by its sites' settings. `--retries none` and `--ignore-robots`
    apply to all of them."""
    delay = needs.pace.delay
    usual = None if settings.delay is None else Delay(*settings.delay)
    return HostTreatment(
        needs.retries if needs.retries is not None and settings.retries else settings.retries,
        usual if delay is None else Delay(delay, delay),
        needs.robots and not settings.ignore_robots,
        needs.blocks,
    )


def url_filters(spec: Spec, settings: Settings, seeds: list[str], open: bool = False) -> Scope:  # noqa: A002 - as in Setup
    """Returns the pure URL filters of a crawl."""
    rules = Scope.of(
        seeds,
        spec.scope,
        include=spec.include,
        exclude=spec.exclude,
        depth=spec.depth,
        ports=settings.allow_port,
    )
    return msgspec.structs.replace(rules, open=open)


def canonical_url_function(spec: Spec) -> Callable[[str], str]:
    """Returns the function that makes a URL in fetch form canonical, without the parameters that the user
    declares irrelevant."""
    if not spec.drop:
        return urls.key
    drop = urls.DEFAULT_DROP | spec.drop
    return lambda url: urls.key(url, drop)

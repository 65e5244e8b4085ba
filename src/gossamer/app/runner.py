"""Runs one crawl from seeds to summary: prepares the store, adds the seeds, starts and watches the workers,
and ends the run. Used by the command line and by the Python API."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from gossamer import url as urls
from gossamer.app.crawl_worker import CallerReceivers, CrawlWorker, report_archive_damage
from gossamer.app.enqueuer import policy
from gossamer.app.job import Job, Setup
from gossamer.app.open_store import cold_settings, open_store, open_url
from gossamer.app.preflight import output_files, rehearse, usable_outputs
from gossamer.app.producer_runner import run_producers, say_nothing
from gossamer.app.quality_gate_setup import conclude_run, store_mended_sites, store_site_results
from gossamer.app.recrawl_pass import begins_pass, visit_again
from gossamer.app.repair import begin_date, read_crawl_file, write_crawl_file
from gossamer.app.revisit_setup import revisits_of
from gossamer.app.rows_in_data_folder import bound_kept, fill_added, note_kept, reached_rows
from gossamer.app.run_comparison import is_unlike
from gossamer.app.seeding import Targets, has_grown, prepare, seed
from gossamer.app.stored_setup import store_setup
from gossamer.app.target_scheme import with_scheme, with_schemes
from gossamer.app.unlocker_setup import check_unlocker
from gossamer.app.verbose_output import write_stderr
from gossamer.config.data_files import refuse_links_in
from gossamer.errors import ConfigError, CrawlStopped, GossamerError, StoreChanged, StoreError, of_data
from gossamer.frontier.crawl_lock import hold_lock, record_process
from gossamer.frontier.crawls import (
    LIMITS,
    OUTCOMES,
    UNDER_WAY,
    Crawls,
    Record,
    drop_queue,
    forget_crawl,
    forget_robots_failure,
    site_files,
)
from gossamer.frontier.frontier_client import Frontier
from gossamer.frontier.host_limits import is_larger, requeue_parked
from gossamer.frontier.producer_positions import unread_producers
from gossamer.frontier.retry_waits import only_retries
from gossamer.frontier.stats import CrawlStatistics, HostLine, Retries
from gossamer.frontier.summary import count_working_time, crawl_counts
from gossamer.model.page import Page
from gossamer.model.summary import Summary
from gossamer.model.visit import Claim
from gossamer.observability import logs
from gossamer.observability.skipped_log import NAME as SKIPPED
from gossamer.observability.traces import start_traces, stop_traces
from gossamer.store.embedded import Embedded
from gossamer.store.store import Store
from gossamer.worker.crash_marker import last_read
from gossamer.worker.stall_hint import StallHint


class Live(msgspec.Struct):
    """The state of a running crawl for a progress display.

    `rate`, `bytes_rate`, `items_rate`: pages, bytes and items per second in the last 10 s. `left`: the
    estimated seconds until the end. None while no estimate is possible, because the crawl still discovers
    URLs or all URLs wait for a retry. As long as the crawl has received no page, `silent` contains a host and
    the host's error.
    """

    summary: Summary
    queue: int
    in_flight: int
    rate: float
    left: float | None
    hosts: list[HostLine]
    silent: tuple[str, str] | None = None
    retries: Retries = Retries()
    """Describes the URLs that wait for a retry: those of the hosts in `hosts`, or all of them if `only_retries`
    is true."""
    only_retries: bool = False
    """Whether nothing but retries is left."""
    waits_end: float | None = None
    """The seconds until the run ends the wait for retries, or None if it waits for all of them."""
    bytes_rate: float = 0.0
    items_rate: float = 0.0
    limit: int | None = None
    """The crawl's maximum number of pages."""


Watch = Callable[[Live], None]
LOOK_INTERVAL_S = 1.0
"""Seconds between two checks whether only retries are left of a crawl."""
UPDATE_INTERVAL_S, RATE_UPDATES = 0.5, 21
"""UPDATE_INTERVAL_S is the number of seconds between two updates of the progress display. RATE_UPDATES is the
number of recent updates over which the display measures rates."""


class ExtraReceivers(msgspec.Struct):
    """Additional receivers of rows, pages and messages, for a caller in the same process."""

    tables: list[Any] = []
    """Additional sinks."""
    page: Callable[[Claim, Page], None] | None = None
    """A function that receives each page before a page function reads the page."""
    only: str | None = None
    """The only URL that the crawl visits. If `only` is set, the targets determine only how the page at this
    URL is read."""
    use: str | None = None
    carry: Any = None
    """The `carry` value of the request for the URL in `only`. The field `use` names the page function that
    reads the page at this URL."""
    worked: Callable[[Setup, Store], Awaitable[None]] | None = None
    """A function that is called after the workers have finished, and before the end of the crawl is
    recorded."""
    finish: asyncio.Event | None = None
    """If this event is set, the crawl retries nothing more (`Crawls.finish`)."""
    attach_pages: bool = False
    """Whether the rows that `tables` receive contain their page (`Row.page`)."""
    warn: Callable[[str], None] = say_nothing
    """A function that is called with each warning, for example about a source that a producer cannot read.
    The function is called only once per problem."""
    verbose: bool = False
    """Whether the function `say` is called with one line per visit (`app.verbose_output`)."""
    say: Callable[[str], None] = write_stderr
    """A function that is called with each line that a worker process writes to stderr. If `verbose` is true,
    the function is also called with one line per visit."""


async def crawl(
    job: Job,
    watch: Watch | None = None,
    stop: asyncio.Event | None = None,
    receivers: ExtraReceivers | None = None,
) -> Summary:
    """Runs a crawl until it ends. If `stop` is set, the crawl stops within 10 s. Returns its summary. Raises
    GossamerError."""
    receivers, stop = receivers or ExtraReceivers(), stop or asyncio.Event()
    check_unlocker(job.settings)
    job = await with_schemes(job)
    only = None if receivers.only is None else await with_scheme(receivers.only)
    setup, given = prepare(job, only)
    if only is not None:
        use, carry = receivers.use, receivers.carry
        given.seeds = [msgspec.structs.replace(one, use=use, carry=carry) for one in given.seeds]
    setup.job = msgspec.structs.replace(setup.job, outputs=usable_outputs(setup.job, receivers.warn))
    folder = Path(job.settings.data) / setup.crawl
    with hold_lock(folder, setup.crawl, output_files(setup.job)):
        refuse_links_in(folder, folder / "failed", folder / "files")
        store, embedded = await open_store(job.settings)
        place = DataFolder(folder, embedded)
        record: Record | None = None
        try:
            setup.store, setup.verbose = store.url, receivers.verbose
            await rehearse(setup, store)
            record, over = await begin(setup, store, job, given=given)
            if over is not None:
                await fill_added(setup, store, record, receivers.warn)
                return over
            await record_process(store, setup.crawl, str(folder.absolute()), output_files(setup.job))
            if embedded is not None and embedded.alone:
                await everybody_died(setup, store)
            async with count_working_time(store, record):
                await visit_again(setup, store, record)
                await seed(setup, store, given, record)
                revisits = revisits_of(setup, store, receivers.warn)
                async with run_producers(setup, store, given.sources, warn=receivers.warn, revisits=revisits):
                    outcome = await CrawlRun(setup, store, embedded, watch, stop, receivers, place).work()
            if receivers.worked is not None:
                await receivers.worked(setup, store)
            return await end(setup, store, outcome, receivers.warn)
        except (GossamerError, OSError) as raised:
            error = _for_user(place, raised)
            if error is None:
                raise
            # without a record, the crawl may belong to another process; and another store must not receive its data
            if record is None or isinstance(error, StoreChanged):
                raise
            with contextlib.suppress(StoreError):  # the error that is raised below already reports the outage
                await Crawls(store).set(setup.crawl, "stopped", str(error))
                error.summary = await CrawlStatistics(store).summary(setup.crawl)
            raise error from (None if error is raised else raised)
        finally:
            try:
                await store.close()
            finally:
                if embedded is not None:
                    await asyncio.to_thread(embedded.leave)


class DataFolder:
    """Detects that a crawl's folder was removed or replaced since the crawl began."""

    def __init__(self, folder: Path, embedded: Embedded | None) -> None:
        self.folder, self._embedded, self._was = folder, embedded, folder.stat()

    def lost(self) -> ConfigError | None:
        """Returns an error if the folder was removed or replaced, otherwise None."""
        if self._embedded is not None and (lost := self._embedded.lost()) is not None:
            return lost
        with contextlib.suppress(OSError):
            if os.path.samestat(self.folder.stat(), self._was):
                return None
        return ConfigError(
            f"{self.folder} was removed while the crawl ran: put it back and run the same command "
            "again, or start over with --fresh"
        )

    async def until_lost(self) -> str:
        """Raises ConfigError when the folder is removed or replaced."""
        while (lost := self.lost()) is None:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(UPDATE_INTERVAL_S)
        raise lost


def _for_user(place: DataFolder, raised: GossamerError | OSError) -> GossamerError | None:
    """Returns the error to raise for the crawl. If the data folder was removed, returns an error that reports
    the removal, because the removal is the cause of all other errors. Returns None for an OSError that is not
    about the standard output or a file in the data folder."""
    if (lost := place.lost()) is not None:
        return lost
    if isinstance(raised, GossamerError):
        return raised
    if isinstance(raised, BrokenPipeError):  # `gossamer crawl ... -o - | head`
        return CrawlStopped(
            "the program that read the standard output has ended, so the crawl was stopped; "
            "nothing is lost: the same command continues it"
        )
    folder = place.folder
    inside = os.path.abspath(folder.parent)
    if isinstance(raised.filename, str | bytes) and os.path.abspath(os.fsdecode(raised.filename)).startswith(
        f"{inside}{os.sep}"
    ):
        return of_data(folder.parent, raised)
    return None


async def begin(
    setup: Setup, store: Store, job: Job, state: str = "running", given: Targets | None = None
) -> tuple[Record, Summary | None]:
    """Creates or resumes the crawl. Afterwards, the crawl has the state `state`. If the crawl was already
    finished, and `given` has no new URLs, also returns its summary."""
    crawls = Crawls(store)
    known = await crawls.get(setup.crawl)
    if known is not None and known.fleet and known.state in UNDER_WAY and (job.fresh or state == "running"):
        raise ConfigError(
            f"crawl {setup.crawl} is under way on the fleet: end it first with `gossamer stop "
            f"{setup.crawl}`, or give another --name"
        )
    if known is not None and job.name is None:
        refuse_namesake(setup, known)
    limits = {name: getattr(job.settings, name) for name in LIMITS}
    more = known is not None and is_larger(known.limits, limits)
    anew = await begins_pass(setup, store, known)
    anchors = (await crawls.look(setup.crawl))[1] if anew else []
    resumed = known is not None and not job.fresh
    frontier = Frontier(store, setup.crawl, policy(job.settings))
    reached = await reached_rows(frontier) if anew and not job.fresh else {}
    if known is not None and (job.fresh or anew):
        await forget_crawl(store, setup.crawl, cold_settings(job.settings, setup.crawl)[0])
        (Path(job.settings.data) / setup.crawl / SKIPPED).unlink(missing_ok=True)
        known = None
        await asyncio.gather(
            *(forget_robots_failure(store, host) for host in {urls.host(seed) for seed in setup.seeds[:1000]})
        )
    elif (
        known is not None
        and known.state in ("finished", "cancelled")
        and known.spec == setup.spec
        and not more
        and job.settings.revisit is None
    ):
        summary = await CrawlStatistics(store).summary(setup.crawl)
        # requeued dead letters reopen the crawl
        if not summary.pending and not await unread_producers(store, setup.crawl):
            grown = given and known.state == "finished" and await has_grown(setup, store, given)
            if not grown:
                return known, summary
    outputs = [output.spec for output in setup.job.outputs]
    if resumed:
        note_kept(setup)
    record = await crawls.begin(setup.crawl, setup.spec, outputs, setup.sites, limits, state, anew)
    write_crawl_file(setup, begin_date(setup.job, read_crawl_file(Path(job.settings.data) / setup.crawl)))
    if state == "running":
        await store_setup(store, setup)
    for path, offset in reached.items():
        await frontier.fill(path, offset)
    for pair in anchors:
        await crawls.anchor(setup.crawl, *pair)
    if known is not None and more:
        await requeue_parked(store, setup.crawl)
    setup.owner = f"{setup.crawl}@{record.started_at}"
    if job.settings.time_limit is not None:
        # a crawl with --revisit never ends by itself, so the limit applies to each run
        spent = 0.0 if setup.job.settings.revisit is not None else record.spent
        setup.deadline = time.monotonic() + job.settings.time_limit - spent
    return record, None


def refuse_namesake(setup: Setup, known: Record) -> None:
    """Raises ConfigError if the crawl belongs to another site file of the same name, because the rows of both sites
    would be mixed. A site file that was moved, copied or edited is the same site."""
    own = [] if setup.job.fresh else site_files(setup.spec.targets)
    for path in known.site_files if own and known.sites != setup.sites else ():
        if os.path.exists(path) and not any(os.path.samefile(path, one) for one in own):
            raise ConfigError(
                f"{own[0]} and {path} are two sites called {setup.crawl}: give one of them another name in its "
                "Site(...), or give this crawl a name with --name"
            )


async def everybody_died(setup: Setup, store: Store) -> None:
    """Requeues all leased URLs at once. The folder's lock proves that no other process works on these crawls.
    If a process died while it read a page, the death counts as a crash that this page caused."""
    for crawl in await Crawls(store).names():
        frontier = Frontier(store, crawl, policy(setup.job.settings))
        last = last_read(Path(setup.job.settings.data) / crawl)
        for bucket in range(store.buckets):
            blamed = [token for where, token in last if where == bucket]
            while (await frontier.requeue_expired(bucket, nobody_lives=True, blamed=blamed))[0]:
                pass


class CrawlRun:
    """One run of a crawl's workers, in this process and in child processes. Restarts the embedded store if it
    dies."""

    def __init__(
        self,
        setup: Setup,
        store: Store,
        embedded: Embedded | None,
        watch: Watch | None,
        stop: asyncio.Event,
        receivers: ExtraReceivers,
        place: DataFolder,
    ) -> None:
        self.setup, self.store, self.embedded, self._stall_hint, self._place = (
            setup,
            store,
            embedded,
            StallHint(),
            place,
        )
        self.watch, self.stop, self.receivers = watch, stop, receivers
        self.processes = (os.cpu_count() or 1) if (n := setup.job.settings.processes) == "auto" else int(n)
        self.retry_time: float | None = None
        self._frontier: Frontier | None = None
        """The maximum number of seconds for which this run goes on when only retries are left. None while the
        sites are not loaded, or if there is no maximum."""
        self._waits: Retries | None = None
        self._waits_end: float | None = None
        """The monotonic time at which the run ends the wait for retries."""
        self._statistics = CrawlStatistics(store)
        self._looks: deque[tuple[float, Summary]] = deque(maxlen=RATE_UPDATES)
        """The summaries of the most recent updates of the progress display, each with its time."""

    async def work(self) -> str:
        """Runs the workers until the crawl ends and returns the outcome."""
        settings = self.setup.job.settings
        tracing = start_traces(settings.traces, settings.trace_sample)
        watching = asyncio.create_task(self._watch())
        beside = self._log_events(), self._watch_for_alerts(), self._limit_retries()
        others = [asyncio.create_task(one) for one in beside]
        try:
            while True:
                try:
                    while (outcome := await self._while_there()) == "mended" or await self._goes_on(outcome):
                        if outcome == "mended":
                            await store_mended_sites(self.setup, self.store)
                    return outcome
                except StoreError as error:
                    if self.embedded is None or isinstance(error, StoreChanged):
                        raise
                    await self._store_again()
        finally:
            for task in (watching, *others):
                task.cancel()
            await asyncio.gather(watching, *others, return_exceptions=True)
            if tracing:
                await asyncio.to_thread(stop_traces)
            if self.watch is not None:
                with contextlib.suppress(GossamerError):
                    self.watch(await self._live())

    async def _goes_on(self, outcome: str) -> bool:
        """Returns whether someone added URLs to the crawl while its workers ended (`app.url_adding`)."""
        return outcome == "finished" and (await crawl_counts(self.store, self.setup.crawl))["open"] > 0

    async def _while_there(self) -> str:
        """Runs the workers as long as the data folder exists. Raises ConfigError when the folder is
        removed."""
        work, watching = asyncio.create_task(self._together()), asyncio.create_task(self._place.until_lost())
        try:
            await asyncio.wait((work, watching), return_when=asyncio.FIRST_COMPLETED)
            return await (work if work.done() else watching)
        finally:
            for task in (work, watching):
                task.cancel()
            await asyncio.gather(work, watching, return_exceptions=True)

    async def _together(self) -> str:
        """Runs one worker in this process and the others in child processes. Returns the first outcome that
        is not "finished". Returns "finished" if all outcomes are "finished"."""
        crawl_worker = CrawlWorker(
            self.setup,
            self.store,
            f"{os.uname().nodename}:{os.getpid()}",
            self.stop,
            CallerReceivers(
                self.receivers.tables,
                self.receivers.page,
                self._stall_hint,
                self.receivers.say,
                self.receivers.attach_pages,
            ),
        )
        self._frontier = crawl_worker.frontier
        tasks: list[asyncio.Task[str]] = []
        try:
            report_archive_damage(crawl_worker)
            await crawl_worker.apply_retries()
            self.retry_time = crawl_worker.retry_time
            tasks.append(asyncio.create_task(crawl_worker.run()))
            if self.processes > 1:
                from gossamer.app.worker_processes import WorkerProcesses

                others = WorkerProcesses(self.setup, self.processes - 1, self.stop, self.receivers.say)
                tasks.append(asyncio.create_task(others.work()))
            outcomes = await asyncio.gather(*tasks)
            whole = set(outcomes) == {"finished"}
            await conclude_run(
                self.setup, self.store, crawl_worker.sites, crawl_worker.outputs.conclude, whole=whole
            )
            self.setup.finished = set(outcomes) <= {"finished", "cancelled"}
            # finish the output files, so that their rows can be read, although the run may continue
            await crawl_worker.outputs.finish(wait=True)
        finally:
            for task in tasks:
                task.cancel()
            try:
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:  # a second cancellation may arrive while the tasks end
                await crawl_worker.close()
        return next((outcome for outcome in outcomes if outcome != "finished"), "finished")

    async def _store_again(self) -> None:
        assert self.embedded is not None
        await self.store.close()
        again = asyncio.ensure_future(asyncio.to_thread(self.embedded.again))
        try:
            url = await asyncio.shield(again)
        except asyncio.CancelledError:
            self.embedded.cancelled.set()
            await asyncio.gather(again, return_exceptions=True)
            raise
        self.store.move(await open_url(url, embedded=True))
        self.setup.store = url
        if self.embedded.alone:
            await everybody_died(self.setup, self.store)

    async def _watch(self) -> None:
        while self.watch is not None:
            with contextlib.suppress(GossamerError):
                self.watch(await self._live())
            await asyncio.sleep(UPDATE_INTERVAL_S)

    async def _log_events(self) -> None:
        """Logs events that can only be observed in the store, if this process writes a log."""
        if logs.started() is None:
            return
        from gossamer.observability.store_events import StoreEvents

        events = StoreEvents(self.store, self.setup.crawl)
        logs.log_event("crawl_state", crawl=self.setup.crawl, state="running")
        while True:
            with contextlib.suppress(GossamerError):
                await events.look()
            await asyncio.sleep(1)

    async def _limit_retries(self) -> None:
        """Ends the waits for retries when the crawl has only waited for them for `retry_time` seconds, or
        earlier if the next retry is due only after this time. Also ends the waits if a user asks for it."""
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            with contextlib.suppress(GossamerError):  # the run reports an outage of the store
                if await self._waits_enough():
                    await Crawls(self.store).finish(self.setup.crawl)
                    return

    async def _waits_enough(self) -> bool:
        """Returns whether the run must not wait for more retries."""
        if self.receivers.finish is not None and self.receivers.finish.is_set():
            return True
        self._waits = await only_retries(self.store, self.setup.crawl)
        longest, now, before = self.retry_time, time.monotonic(), self._waits_end
        if self._waits is None or longest is None:
            self._waits_end = None
        elif self._waits_end is None:
            self._waits_end = now + longest
        if before != self._waits_end:
            await Crawls(self.store).finish_in(self.setup.crawl, longest if self._waits_end else None)
        return (
            self._waits is not None
            and self._waits_end is not None
            and now + self._waits.next >= self._waits_end
        )

    async def _watch_for_alerts(self) -> None:
        """Sends notifications of alerts, if the settings name a receiver."""
        if not self.setup.job.settings.alerts:
            return
        from gossamer.app.alert_watch import AlertWatch

        alerts = AlertWatch(self.setup.job.settings, self.store)
        try:
            await alerts.run()
        finally:
            await alerts.finish()

    @property
    def _page_limit(self) -> int | None:
        """The maximum number of pages, which may change while the crawl runs."""
        if self._frontier is None:
            return self.setup.job.settings.limit
        return self._frontier.policy.limit if self._frontier.policy.limit >= 0 else None

    async def _live(self) -> Live:
        summary = await (statistics := self._statistics).summary(self.setup.crawl)
        self._looks.append((time.monotonic(), summary))
        (then, first), (now, _) = self._looks[0], self._looks[-1]
        took = max(now - then, 1e-9)
        hosts = sorted(await statistics.hosts(self.setup.crawl, 10, "waiting"), key=_last_to_end)
        flying = await statistics.in_flight(self.setup.crawl)
        retries = self._waits or await statistics.retries(self.setup.crawl, [row.host for row in hosts])
        ends = self._waits_end
        discovers = summary.found - first.found > summary.pages - first.pages
        limit = self._page_limit
        enough = limit is not None and summary.pending >= limit - summary.pages
        left = self._left(summary, known=retries.urls < summary.pending and (enough or not discovers))
        return Live(
            summary=summary,
            queue=summary.pending,
            in_flight=flying,
            rate=(summary.pages - first.pages) / took,
            left=left,
            hosts=hosts,
            silent=self._stall_hint.of,
            retries=retries,
            only_retries=self._waits is not None,
            waits_end=None if ends is None else max(0.0, ends - time.monotonic()),
            bytes_rate=(summary.bytes - first.bytes) / took,
            items_rate=(summary.items - first.items) / took,
            limit=limit,
        )

    def _left(self, summary: Summary, *, known: bool) -> float | None:
        """Returns the estimated seconds until the queue is empty or a limit is reached, at the pace so far.
        `known`: whether an estimate is possible. An estimate is possible if enough URLs are known and some of
        them may be fetched now."""
        left, limit = None, self._page_limit
        if known and summary.pages_per_second and summary.pages > 20:
            todo = summary.pending if limit is None else min(summary.pending, max(0, limit - summary.pages))
            left = todo / summary.pages_per_second
        if self.setup.deadline is not None:
            until = max(0.0, self.setup.deadline - time.monotonic())
            left = until if left is None else min(left, until)
        return left


def ended_waits_message(crawl: str, dead: int) -> str:
    """Returns the message about a run that did not wait for all retries. `dead`: the number of dead letters of
    the crawl."""
    urls = "1 URL is a dead letter" if dead == 1 else f"{dead} URLs are dead letters"
    return (
        f"{urls}: the run did not wait for more retries. To visit them again: gossamer dead requeue {crawl}, "
        "then the same command"
    )


def _last_to_end(host: HostLine) -> tuple[float, int]:
    """Returns the sort key of a host. The host that needs the most time for its queue comes first."""
    return -host.waiting * (host.delay or 0.0), -host.waiting


async def end(setup: Setup, store: Store, outcome: str, warn: Callable[[str], None] = say_nothing) -> Summary:
    """Records the end of the run and returns the crawl's summary. `warn`: called with a message if the run did
    not wait for all retries. Raises StoreChanged if the store was
    emptied. An empty store has no open URLs, so the crawl would wrongly count as finished."""
    await store.check_same()
    crawls = Crawls(store)
    if outcome == "cancelled":
        await drop_queue(store, setup.crawl, cold_settings(setup.job.settings, setup.crawl)[0])
    state = "limited" if outcome in OUTCOMES else outcome
    was, why = await crawls.state(setup.crawl)
    await crawls.set(
        setup.crawl, state, OUTCOMES.get(outcome) or (why if was == "stopping" or is_unlike(why) else "")
    )
    summary = await CrawlStatistics(store).summary(setup.crawl)
    if state == "finished" and summary.pending:  # URLs were added after the counts were last read
        state = "stopped"
        await crawls.set(setup.crawl, state, "URLs were added")
        summary = await CrawlStatistics(store).summary(setup.crawl)
    logs.log_event("crawl_state", crawl=setup.crawl, state=state, text=summary.reason, pages=summary.pages)
    await store_site_results(setup, store, summary)
    await bound_kept(setup, store)
    if summary.dead and (await crawls.need(setup.crawl)).finishing:
        warn(ended_waits_message(setup.crawl, summary.dead))
    if state == "finished":
        known = read_crawl_file(Path(setup.job.settings.data) / setup.crawl)
        write_crawl_file(setup, begin_date(setup.job, known), finished=True)
    return summary

"""Visits the known pages of a crawl again when they are due, without end (`--revisit`).

Workers write the outcome of each visit into the inbox of the page table before they settle its claim. This
loop, in the process that holds the crawl's lock, takes the outcomes over, decides when each page is due, and
queues due pages in batches. A batch is recorded in the table, then queued by one script call per bucket, which
ignores a batch that it has seen. A kill at any moment therefore loses no page and queues none twice.

The budget is spent evenly over time. If it is not used up by due pages, pages that are due next are visited
early. If it does not suffice, the pages that are due first come first, and the price of a visit rises.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.errors import StoreChanged, StoreError, UsageError, of_data
from gossamer.frontier.frontier_client import CHUNK_URLS
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request
from gossamer.model.visit import KnownLine
from gossamer.recrawl import known_pages, page_table
from gossamer.recrawl.freshness import Freshness, measure
from gossamer.recrawl.page_schedule import MAX_HOSTS, Measured, PageSchedule
from gossamer.recrawl.page_table import MAX_INBOX_LINES, PageState, PageTable
from gossamer.recrawl.revisit_policy import SignalRecord, unkept_window
from gossamer.recrawl.revisit_rules import DAY_S, RevisitRules
from gossamer.store import keys
from gossamer.store.store import Store
from gossamer.worker.link_intake import TakenLinks

TICK_S, REFIT_INTERVAL_S, REPORT_INTERVAL_S = 1.0, 60.0, 10.0
"""Seconds between two looks at the inbox and the due pages, between two solutions of the price, and between
two reports."""
FIRST_REFITS = 30
"""The number of ticks at the start in each of which the price is solved."""
MAX_CATCH_UP_S = 60.0
"""The seconds of budget that may be spent at once after a pause."""
QUEUED_S = 30.0
"""Seconds of a host's pace for which pages may be queued."""
MAX_CLOCK_STEP_S = 60.0
"""Seconds by which the clock may differ from the monotonic clock before that is a jump."""
UNKNOWN_DELAY_S, MIN_DELAY_S = 1.0, 0.01
MAX_OUTAGE_S = 60.0
WARN_INTERVAL_S = 3600.0
"""Seconds between two warnings of one kind."""
MAX_REPORTED = 10_000
"""Pages that a user may report as changed before the loop has read them."""

Say = Callable[[str], None]
Result = TypeVar("Result")


class RevisitLoop:
    """The loop of one crawl. `warn` receives messages for the user."""

    def __init__(
        self,
        setup: Setup,
        store: Store,
        rules: RevisitRules,
        warn: Say,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._setup, self._store, self._warn, self._clock = setup, store, warn, clock
        self.rules, self.schedule = rules, PageSchedule(rules)
        self._folder = Path(setup.job.settings.data) / setup.crawl
        self._table: PageTable | None = None
        self._adds: Enqueuer | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="revisit")
        self._tokens, self._added, self._allowed = 0.0, 0, 0.0
        self._walls = (0.0, 0.0)
        self._delays: dict[str, float] = {}
        self._visits = 0.0
        self._ticks, self._refit_at, self._report_at = 0, 0.0, 0.0
        self._warned: dict[str, float] = {}

    @property
    def table(self) -> PageTable:
        """The open table."""
        assert self._table is not None, "the loop is open"
        return self._table

    async def open(self, adds: Enqueuer) -> None:
        """Opens the table, with the pages that the crawl knows from earlier runs. Raises UsageError if the
        budget cannot keep the window."""
        self._adds = adds
        try:
            self._table = await self._do(PageTable, self._folder / page_table.NAME)
            await self._do(self._import)
            await self._do(self._restore)
        except OSError as error:
            raise of_data(self._setup.job.settings.data, error) from error
        await self._read_delays()
        pages = max(await self._do(self.table.counts_of_pages), len(self._setup.seeds))
        if self.rules.window is not None and (needed := self._unkept(pages)):
            raise UsageError(
                f"--revisit {self._setup.job.settings.revisit}: {pages:,} pages need {needed:,.0f} visits a day, "
                f"and the budget allows {self._visits:,.0f}: give --revisit-budget {needed:.0f}/d, or a longer time"
            )

    async def close(self) -> None:
        """Closes the table."""
        await asyncio.to_thread(self._thread.shutdown)
        if self._table is not None:
            self._table.close()

    async def run(self) -> None:
        """Runs until it is cancelled. Waits for a store that is away."""
        away = 0.0
        await self._patiently(self._queue_last_batch)
        while True:
            try:
                busy = await self.tick()
                away = 0.0
            except StoreChanged:
                raise
            except StoreError:
                away = away or time.monotonic()
                if time.monotonic() - away > MAX_OUTAGE_S:
                    raise
                busy = False
                with contextlib.suppress(StoreError):
                    await self._queue_last_batch()
            except OSError as error:
                raise of_data(self._setup.job.settings.data, error) from error
            await asyncio.sleep(0 if busy else TICK_S)

    async def tick(self) -> bool:
        """Makes one step. Returns whether there is more to do at once."""
        now, self._ticks = await self._look_at_clock(), self._ticks + 1
        taken = await self._do(self.table.take_inbox, functools.partial(self._after_visit, now))
        await self._read_reports(now)
        if time.monotonic() >= self._refit_at or self._ticks <= FIRST_REFITS:
            self._refit_at = time.monotonic() + REFIT_INTERVAL_S
            await self._read_delays()
            await self._do(self.schedule.refit, self.table, self._visits, self.allowed)
        await self._queue_due(now)
        if time.monotonic() >= self._report_at:
            self._report_at = time.monotonic() + REPORT_INTERVAL_S
            await self._find_lost(now)
            await self.report(now)
        return taken >= MAX_INBOX_LINES

    async def report(self, now: int) -> Freshness:
        """Publishes the freshness, and warns about a budget that does not suffice."""
        await self._do(self._keep)
        used = min(1.0, self._added / self._allowed) if self._allowed >= 1 else None
        found = await self._do(measure, self.schedule, self.table, now, self._visits, used)
        raw = msgspec.json.encode(found)
        await self._store.guard(
            cast(Awaitable[Any], self._store.client.set(keys.freshness(self._setup.crawl), raw))
        )
        if needed := self._unkept(found.pages):
            what = "--revisit" if self.rules.window is not None else "--max-age"
            self._warn_once(
                "budget",
                f"{found.pages:,} pages need {needed:,.0f} visits a day for {what}, and the budget allows "
                f"{self._visits:,.0f}: pages are visited later; give --revisit-budget {needed:.0f}/d",
            )
        if found.always_changed > max(10, found.pages // 5):
            self._warn_once(
                "always",
                f"{found.always_changed:,} of {found.pages:,} pages changed at every visit: if they differ only in "
                "tokens or advertisements, let a site file name their fields (docs/recrawl.md)",
            )
        return found

    async def signal(self, requests: Sequence[Request]) -> list[bool]:
        """Takes over signals that pages changed: they are due sooner. Returns for each page whether it is
        known."""
        return await self._do(self._signal, requests, await self._look_at_clock(), False)

    def allowed(self, host: str) -> float:
        """Returns the visits a day that the politeness of a host allows."""
        delay = self._delays.get(host, UNKNOWN_DELAY_S)
        return self._setup.job.settings.per_host * DAY_S / max(MIN_DELAY_S, delay)

    def _unkept(self, pages: int) -> float | None:
        """Returns the visits a day that the window or the maximum age needs, if the budget does not suffice."""
        return unkept_window(pages, self.schedule.bounds.most, self._visits)

    # in the thread of the table

    def _import(self) -> None:
        """Takes over the log of known pages that a run without --revisit wrote."""
        if not known_pages.merge_logs(self._folder):
            return
        for batch in known_pages.lines(self._folder):
            self.table.add_lines(batch)
        known_pages.forget(self._folder)

    def _restore(self) -> None:
        table, schedule = self.table, self.schedule
        schedule.measured = Measured(table.fact("stale"), table.fact("days"))
        schedule.signals = SignalRecord(*(table.fact(f"signals.{name}") for name in SignalRecord._fields))
        schedule.price = table.fact("price", 1.0)
        now = self._clock()
        if (last := table.fact("wall", now)) > now + MAX_CLOCK_STEP_S:
            table.shift(round(now - last))
            self._warn(
                f"the clock was set back by {last - now:,.0f} s since the last run: due times moved with it"
            )
        table.limit_due(round(now + self.rules.max_age))

    def _keep(self) -> None:
        table, schedule = self.table, self.schedule
        with table.change():
            table.set_fact("stale", schedule.measured.stale)
            table.set_fact("days", schedule.measured.days)
            table.set_fact("price", schedule.price)
            table.set_fact("wall", self._clock())
            for name, value in schedule.signals._asdict().items():
                table.set_fact(f"signals.{name}", value)

    def _after_visit(
        self, now: int, seen: KnownLine, line: bytes, before: PageState | None
    ) -> PageState | None:
        return self.schedule.after_visit(seen, line, before, self.table.host, page_table.page_id(seen), now)

    def _signal(self, requests: Sequence[Request], now: int, certain: bool) -> list[bool]:
        found = []
        with self.table.change():
            for request in requests:
                seen = KnownLine(request.url, 0, cast(Any, None), needs=_identity(request))
                page = self.table.page(page_table.page_id(seen))
                found.append(page is not None)
                if page is not None and not page.batch:
                    self.table.put(self.schedule.signalled(page, now, certain=certain), page)
        return found

    def _choose(self, now: int, most: int) -> tuple[int, list[PageState]]:
        """Chooses the pages of the next batch, and records them. Returns the number of the batch."""
        crowded = []
        for host, queued in self.table.queued_by_host().items():
            if queued > max(2.0, self.allowed(self.table.host_of(host).name) * QUEUED_S / DAY_S):
                crowded.append(host)
        early = None if self.rules.window is None else now
        chosen = self.table.due(now, early, round(now - self.rules.min_age), most, crowded)
        batch = round(self.table.fact("batch")) + 1
        if chosen:
            self.table.queue(chosen, batch)
        return batch, chosen

    # in the loop

    async def _queue_due(self, now: int) -> None:
        """Queues as many pages as the budget allows by now."""
        most = min(int(self._tokens), CHUNK_URLS)
        if most < 1:
            return
        batch, chosen = await self._do(self._choose, now, most)
        self._tokens -= len(chosen)
        self._added += len(chosen)
        await self._queue(batch, chosen)

    async def _queue_last_batch(self) -> None:
        """Queues the last batch again, in case a kill or an outage came before it was queued."""
        batch = round(await self._do(self.table.fact, "batch"))
        await self._queue(batch, await self._do(self.table.queued, batch))

    async def _queue(self, batch: int, pages: Sequence[PageState]) -> None:
        if not pages:
            return
        assert self._adds is not None
        taken, refused = TakenLinks(), list[PageState]()
        priority = self._setup.job.priority
        beside = "*" if self._setup.open or self._setup.spec.scope == "page" else ""
        for page in pages:
            request = page_table.request_of(page)
            if request.priority == 0 and priority:
                request = msgspec.structs.replace(request, priority=priority)
            if self._adds.take(request, taken, "orv", beside) is not None:
                refused.append(page)
        if refused:  # the scope or a filter changed
            await self._do(self.table.forget_pages, refused)
        adds = {group: links for group, links in taken.adds.items() if "v" in group[4]}
        await self._adds.frontier.revisit(adds, batch)

    async def _find_lost(self, now: int) -> None:
        """Makes pages due again whose visit was lost: nothing waits or is visited, and they count as queued."""
        if not await self._do(self.table.queued_by_host):
            return
        if (await crawl_counts(self._store, self._setup.crawl))["open"] > 0:
            return
        while await self._do(self.table.take_inbox, functools.partial(self._after_visit, now)):
            pass
        await self._do(self.table.unqueue, now)

    async def _read_reports(self, now: int) -> None:
        """Takes over the URLs that a user reported as changed."""
        key = keys.changed_pages(self._setup.crawl)
        found = await self._store.guard(cast(Awaitable[Any], self._store.client.lpop(key, CHUNK_URLS)))
        if found:
            await self._do(self._signal, [Request(url.decode()) for url in found], now, True)

    async def _read_delays(self) -> None:
        """Reads the delay of each of the largest hosts, in seconds, and the budget that follows."""
        settings = self._setup.job.settings
        names = [one.name for one in await self._do(self.table.hosts, MAX_HOSTS)]
        if settings.delay is not None:
            self._delays = dict.fromkeys(names, settings.delay[0])
        elif names:
            assert self._adds is not None
            pipe = self._store.client.pipeline(transaction=False)
            for name in names:
                pipe.hmget(f"{keys.tag(keys.bucket_of(name, self._store.buckets))}h:{name}", ["d", "cd"])
            for name, found in zip(names, await self._store.guard(pipe.execute()), strict=True):
                waits = [float(one) / 1000 for one in found if one is not None]
                self._delays[name] = max(waits, default=UNKNOWN_DELAY_S)
        capacity = sum(map(self.allowed, names)) if names else self.allowed("")
        if settings.rate is not None:
            capacity = settings.rate * DAY_S
        self._visits = self.rules.visits_per_day(capacity)

    async def _look_at_clock(self) -> int:
        """Returns the time, adds to the budget, and moves the due times if the clock was set back."""
        wall, mono = self._clock(), time.monotonic()
        last_wall, last_mono = self._walls
        self._walls = wall, mono
        if not last_mono:
            return round(wall)
        passed = mono - last_mono
        jump = (wall - last_wall) - passed
        if jump < -MAX_CLOCK_STEP_S:
            await self._do(self.table.shift, round(jump))
            self._warn(f"the clock was set back by {-jump:,.0f} s: due times moved with it")
        elif jump > MAX_CLOCK_STEP_S:
            self._warn(
                f"the clock jumped ahead by {jump:,.0f} s: pages that became due are visited at the budget's pace"
            )
        self.pass_time(passed)
        return round(wall)

    def pass_time(self, seconds: float) -> None:
        """Adds the budget of a span of time, at most that of a minute, and at least the next visit."""
        more = self._visits * min(seconds, MAX_CATCH_UP_S) / DAY_S
        self._allowed += more
        self._tokens = min(self._tokens + more, max(1.0, self._visits * MAX_CATCH_UP_S / DAY_S))

    def _warn_once(self, kind: str, line: str) -> None:
        now = time.monotonic()
        if now - self._warned.get(kind, -WARN_INTERVAL_S) >= WARN_INTERVAL_S:
            self._warned[kind] = now
            self._warn(line)

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        until = time.monotonic() + MAX_OUTAGE_S
        while True:
            try:
                return await step()
            except StoreChanged:
                raise
            except StoreError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(TICK_S)

    async def _do(self, call: Callable[..., Result], *args: Any) -> Result:
        """Calls a function in the thread of the table. It ends even if the loop is cancelled meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, functools.partial(call, *args))


def _identity(request: Request) -> dict[str, Any]:
    """Returns what identifies a request beside its URL."""
    values = {"method": request.method, "body": request.body, "key": request.key}
    return {name: value for name, value in values.items() if value is not None}

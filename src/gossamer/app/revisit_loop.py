"""Visits the known pages of a crawl again whenever they are due, and never stops by itself (`--revisit`).

Workers report the outcome of each visit to the page table before they settle the claim of the visit. This
loop runs in the process that holds the crawl's lock, or in one process of a fleet (`fleet.revisit_decider`).
The loop records the outcomes in the table, decides when each page is due, and queues due pages in batches.
Before the loop queues a batch, it records the batch in the table. One script call per bucket queues the pages
of the batch. The script ignores a batch that it has seen before. If the loop is killed at any moment, no page
is lost and no page is queued twice.

The budget is spent evenly over time. If the due pages do not use up the budget, the pages that are due next
are visited early. If the budget is too small, pages are visited in the order of their due times. A small
budget also raises the price of a visit (`recrawl.revisit_policy`), which makes the next intervals longer.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.app.page_table_storage import FolderTableStorage, PageTableStorage
from gossamer.app.revisit_budget import RevisitBudget
from gossamer.errors import StoreChanged, StoreError, of_data
from gossamer.frontier.frontier_client import CHUNK_URLS
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request
from gossamer.recrawl import page_table
from gossamer.recrawl.freshness import Freshness, drop_reported, publish, read_reported
from gossamer.recrawl.page_schedule import MAX_HOSTS
from gossamer.recrawl.page_table import PageState
from gossamer.recrawl.revisit_policy import unkept_window
from gossamer.recrawl.revisit_rules import RevisitRules
from gossamer.recrawl.scheduled_pages import MAX_CLOCK_STEP_S, ScheduledPages
from gossamer.store.store import Store
from gossamer.worker.link_intake import TakenLinks

TICK_S, REFIT_INTERVAL_S, REPORT_INTERVAL_S = 1.0, 60.0, 10.0
"""Intervals in seconds. TICK_S is the interval between two ticks. REFIT_INTERVAL_S is the interval between
two computations of the price of a visit. REPORT_INTERVAL_S is the interval between two reports. Each tick
reads the reported visits and queues due pages."""
MAX_REPORT_SHARE = 0.02
"""The maximum fraction of the loop's time that is spent on reports."""
FIRST_REFITS = 30
"""In the first FIRST_REFITS ticks of the loop, each tick recomputes the price of a visit. After these first
ticks, the price is recomputed every REFIT_INTERVAL_S seconds."""
MAX_OUTAGE_S = 60.0
"""Seconds for which the store may be unavailable before the loop gives up."""
WARN_INTERVAL_S = 3600.0
"""Seconds between two warnings of one kind."""

Say = Callable[[str], None]
Result = TypeVar("Result")


class RevisitLoop:
    """The revisit loop of one crawl. `warn` receives messages for the user. `clock` returns seconds since the
    epoch. `monotonic` returns the seconds of a monotonic clock."""

    def __init__(
        self,
        setup: Setup,
        store: Store,
        rules: RevisitRules,
        warn: Say,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        home: PageTableStorage | None = None,
    ) -> None:
        """`home`: the storage of the page table, by default the crawl's folder."""
        if home is None:
            assert setup.known_at is not None, "only processes of a fleet have no folder"
            home = FolderTableStorage(setup.known_at)
        self._home = home
        self._setup, self._store, self._warn = setup, store, warn
        self._clock, self._monotonic = clock, monotonic
        self.rules, self.budget = rules, RevisitBudget(setup.job.settings, rules)
        self._pages: ScheduledPages | None = None
        self._adds: Enqueuer | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="revisit")
        self._walls = (0.0, 0.0)
        self._ticks, self._refit_at, self._report_at = 0, 0.0, 0.0
        self._warned: dict[str, float] = {}

    @property
    def pages(self) -> ScheduledPages:
        """The known pages."""
        assert self._pages is not None, "the loop is open"
        return self._pages

    async def open(self, adds: Enqueuer) -> None:
        """Opens the page table, which contains the pages known from earlier runs. Raises UsageError if the
        budget is too small to visit every page within the window."""
        self._adds = adds
        try:
            self._pages = await self._home.open(self.rules, self._do)
            self._pages.count_inlinks(adds.intake.mark)
            if back := await self._do(self._pages.restore, self._clock()):
                self._tell_set_back(back)
        except OSError as error:
            raise of_data(self._setup.job.settings.data, error) from error
        await self._read_budget()
        pages = max(await self._do(self.pages.table.sums.page_count), len(self._setup.seeds))
        if self._home.refuses and self.rules.window is not None and (needed := self._unkept(pages)):
            raise self.budget.refusal(pages, needed)

    async def close(self) -> None:
        """Closes the table."""
        await asyncio.to_thread(self._thread.shutdown)
        if self._pages is not None:
            self._pages.close()

    async def run(self) -> None:
        """Runs until it is cancelled. Waits while the store is unavailable."""
        away, resend, busy = 0.0, True, True
        while True:
            try:
                if resend:  # after a kill or an outage, the last batch may be missing from the queue
                    await self._queue(*await self._do(self.pages.last_batch))
                busy, away, resend = await self.tick(), 0.0, False
            except StoreChanged:
                raise
            except StoreError:
                away, resend, busy = away or time.monotonic(), True, False
                if time.monotonic() - away > MAX_OUTAGE_S:
                    raise
            except OSError as error:
                raise of_data(self._setup.job.settings.data, error) from error
            await asyncio.sleep(0 if busy else TICK_S)

    async def tick(self) -> bool:
        """Runs one step of the loop. Returns whether more outcomes are waiting, so that the next step must
        follow immediately."""
        now, self._ticks = await self._read_clock(), self._ticks + 1
        busy = await self._home.take_visits(self.pages, now, self._do)
        await self._read_reports(now)
        if self._monotonic() >= self._refit_at or self._ticks <= FIRST_REFITS:
            self._refit_at = self._monotonic() + REFIT_INTERVAL_S
            await self._read_budget()
            await self._do(self.pages.refit, self.budget.visits, self.budget.allowed)
        await self._do(self.pages.replan)
        await self._queue_due(now)
        if self._monotonic() >= self._report_at:
            began = self._monotonic()
            await self._find_lost(now)
            await self.report(now)
            took = self._monotonic() - began  # a report reads the whole table
            self._report_at = began + max(REPORT_INTERVAL_S, took / MAX_REPORT_SHARE)
        return busy

    async def report(self, now: int) -> Freshness:
        """Publishes the freshness of the pages, and warns if the budget is too small."""
        found = await self._change(self.pages.measure, now, self.budget.visits, self.budget.used)
        await publish(self._store, self._setup.crawl, found)
        if needed := self._unkept(found.pages):
            what = "--revisit" if self.rules.window is not None else "--max-age"
            self._warn_once(
                "budget",
                f"{found.pages:,} pages need {needed:,.0f} visits a day for {what}, and the budget allows "
                f"{self.budget.visits:,.0f}: pages are visited later; give --revisit-budget {needed:.0f}/d",
            )
        if found.always_changed > max(10, found.pages // 5):
            self._warn_once(
                "always",
                f"{found.always_changed:,} of {found.pages:,} pages changed at every visit: docs/recrawl.md says "
                "how to ignore what differs (tokens, advertisements)",
            )
        return found

    async def signal(self, requests: Sequence[Request]) -> list[bool]:
        """Records a change signal for the page of each request. A change signal makes a page due sooner.
        Returns for each page whether it is known."""
        return await self._change(self.pages.signal, requests, round(self._clock()))

    def _unkept(self, pages: int) -> float | None:
        """If the budget is too small to visit every page within the window or the maximum age, returns the
        required number of visits per day. Otherwise returns None."""
        return unkept_window(pages, self.pages.schedule.bounds.most, self.budget.visits)

    async def _read_budget(self) -> None:
        hosts = await self._do(self.pages.table.sums.hosts, MAX_HOSTS)
        await self.budget.read(self._store, [one.name for one in hosts])

    async def _queue_due(self, now: int) -> None:
        """Queues due pages, as far as the budget allows at this moment."""
        most = min(self.budget.available, CHUNK_URLS)
        if most >= 1:
            batch, chosen = await self._change(self.pages.choose, now, most, self.budget.allowed)
            self.budget.spend(len(chosen))
            await self._queue(batch, chosen)

    async def _queue(self, batch: int, pages: Sequence[PageState]) -> None:
        """Queues a batch. Has no effect if the batch was already queued."""
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
            await self._change(self.pages.table.forget_pages, refused)
        adds = {group: links for group, links in taken.adds.items() if "v" in group[4]}
        await self._adds.frontier.revisit(adds, batch)

    async def _find_lost(self, now: int) -> None:
        """Finds pages whose visit was lost, and makes them due again. If the table lists a page as queued
        although the crawl has no open URL, the visit of this page was lost."""
        if not await self._do(self.pages.table.queued_by_host):
            return
        if (await crawl_counts(self._store, self._setup.crawl))["open"] <= 0:
            while await self._home.take_visits(self.pages, now, self._do):
                pass
            await self._change(self.pages.release_lost, now)

    async def _read_reports(self, now: int) -> None:
        """Reads the URLs that were reported as changed, and records a change signal for each. The reports
        come from `gossamer changed` and, on a fleet, from the lists that `gossamer submit` watches."""
        found = await read_reported(self._store, self._setup.crawl, CHUNK_URLS)
        for certain in (True, False):
            requests = [Request(one.url) for one in found if one.certain == certain]
            if requests:
                await self._change(functools.partial(self.pages.signal, certain=certain), requests, now)
        if found:  # reports are dropped only after they were recorded, so a kill loses no report
            await drop_reported(self._store, self._setup.crawl, len(found))

    async def _read_clock(self) -> int:
        """Returns the current time, and increases the budget for the time since the last call. Moves the due
        times if the clock was set back."""
        wall, mono = self._clock(), self._monotonic()
        last_wall, last_mono = self._walls
        self._walls = wall, mono
        if last_mono:
            jump = (wall - last_wall) - (mono - last_mono)
            if jump < -MAX_CLOCK_STEP_S:
                await self._change(self.pages.table.shift, round(jump))
                self._tell_set_back(-jump)
            elif jump > MAX_CLOCK_STEP_S:
                self._warn(
                    f"the clock jumped ahead by {jump:,.0f} s: pages that became due are visited at the pace of "
                    "the budget"
                )
            self.budget.pass_time(mono - last_mono)
        return round(wall)

    def _tell_set_back(self, seconds: float) -> None:
        self._warn(f"the clock was set back by {seconds:,.0f} s: due times moved with it")

    def _warn_once(self, kind: str, line: str) -> None:
        now = self._monotonic()
        if now - self._warned.get(kind, -WARN_INTERVAL_S) >= WARN_INTERVAL_S:
            self._warned[kind] = now
            self._warn(line)

    async def _change(self, call: Callable[..., Result], *args: Any) -> Result:
        """Calls a function that changes the table, and makes the changes durable."""
        result = await self._do(call, *args)
        await self._home.commit(self._do)
        return result

    async def _do(self, call: Callable[..., Result], *args: Any) -> Result:
        """Calls a function in the thread that owns the page table. If the loop is cancelled, the call still
        completes."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, functools.partial(call, *args))

"""Combines the page table of a crawl with the schedule of its pages. This module records visits. This module
also records change signals, and chooses the pages of the next batch. All methods wait for the disk, so an
event loop must call the methods in a thread. All methods may raise OSError."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

from gossamer.model.request import Request
from gossamer.model.visit import KnownLine
from gossamer.recrawl import known_pages, page_table
from gossamer.recrawl.freshness import Freshness, measure
from gossamer.recrawl.page_schedule import Measured, PageSchedule
from gossamer.recrawl.page_table import MAX_INBOX_LINES, PageState, PageTable
from gossamer.recrawl.revisit_policy import SignalRecord
from gossamer.recrawl.revisit_rules import DAY_S, RevisitRules

QUEUED_S = 30.0
"""Maximum time in seconds that the visits of a host's queued pages may take. If the visits of the queued
pages already take longer than this time, no more pages of the host are queued."""
MAX_CLOCK_STEP_S = 60.0
"""Each run of a crawl stores the time that the clock shows. If the clock later shows a time more than this
number of seconds before the stored time, the module assumes that the clock was set back."""

REPLANNED_PAGES = 1000
"""The number of pages whose due times are computed again in one step."""
MAX_PLAN_CHANGE, MAX_DUE_CHANGE = 1.25, 0.1
"""Due times depend on the price of a visit and on the mean change rate. If the price or the mean change rate
has changed by more than the factor MAX_PLAN_CHANGE, all due times are computed again. A new due time is
written only if it changes the interval between two visits by more than 10 % (MAX_DUE_CHANGE)."""

Allowed = Callable[[str], float]
"""A function that returns the number of visits per day that the politeness of a host allows."""


class ScheduledPages:
    """The known pages of a crawl, with their schedule."""

    def __init__(self, folder: Path | None, rules: RevisitRules, table: PageTable | None = None) -> None:
        """`folder`: the crawl's folder. If `table` is None, the table in this folder is used."""
        self._folder, self.rules = folder, rules
        self.schedule = PageSchedule(rules)
        if table is None:
            assert folder is not None, "a table is given, or a folder that contains it"
            table = PageTable(folder / known_pages.TABLE_NAME)
        self.table = table
        self._plan: tuple[float, ...] = ()
        self._replan_after: int | None = None

    def close(self) -> None:
        """Closes the table."""
        self.table.close()

    def import_log(self) -> None:
        """Imports the log of known pages that a run without `--revisit` wrote."""
        if self._folder is None or not known_pages.merge_logs(self._folder):
            return
        for batch in known_pages.lines(self._folder):
            self.table.add_lines(batch)
        known_pages.forget(self._folder)

    def count_inlinks(self, fingerprint: Callable[[Request], int]) -> None:
        """Makes the importance of a page depend on its inlinks. A page is more important if more pages link
        to the page. `fingerprint` returns the fingerprint of a request, as in `KnownLine.links`."""
        self.schedule.weigh_inlinks(lambda url: self.table.inlinks.of(fingerprint(Request(url))))

    def restore(self, now: float) -> float:
        """Loads the facts that an earlier run stored (`store_facts`). If the clock has been set back after
        these facts were stored, shifts all stored times and returns the shift in seconds. Otherwise returns
        0."""
        facts, schedule = self.table.facts, self.schedule
        schedule.measured = Measured(*(facts.get(f"measured.{name}") for name in Measured._fields))
        schedule.signals = SignalRecord(*(facts.get(f"signals.{name}") for name in SignalRecord._fields))
        schedule.price = facts.get("price", 1.0)
        back = facts.get("wall", now) - now
        if back > MAX_CLOCK_STEP_S:
            self.table.shift(-round(back))
        self.table.limit_due(round(now + self.rules.max_age))
        return back if back > MAX_CLOCK_STEP_S else 0.0

    def store_facts(self, now: float) -> None:
        """Stores the numbers that the schedule has computed. A later run loads these numbers (`restore`)."""
        facts, schedule = self.table.facts, self.schedule
        with self.table.change():
            for name, value in schedule.measured._asdict().items():
                facts.set(f"measured.{name}", value)
            facts.set("price", schedule.price)
            facts.set("wall", now)
            for name, value in schedule.signals._asdict().items():
                facts.set(f"signals.{name}", value)

    def take_visits(self, now: int) -> bool:
        """Moves visits from the inbox into the table. Returns whether the inbox contains more visits."""
        return self.table.take_inbox(functools.partial(self._after_visit, now)) >= MAX_INBOX_LINES

    def _after_visit(
        self, now: int, seen: KnownLine, line: bytes, before: PageState | None
    ) -> PageState | None:
        if before is not None and before.batch == 0 and _is_repeated(seen, line, before):
            return before
        return self.schedule.after_visit(seen, line, before, self.table.host, page_table.page_id(seen), now)

    def signal(self, requests: Sequence[Request], now: int, *, certain: bool = False) -> list[bool]:
        """Records a change signal for each known page. For each request, returns whether its page is known.
        `certain`: true if a person reported the changes, false if a list such as a sitemap did."""
        found = []
        with self.table.change():
            for request in requests:
                page = self.table.page(page_table.request_id(request))
                found.append(page is not None)
                if page is not None:
                    self.table.put(self.schedule.signalled(page, now, certain=certain), page)
        return found

    def choose(self, now: int, most: int, allowed: Allowed) -> tuple[int, list[PageState]]:
        """Chooses the pages of the next batch, and records them as queued. Returns the number of the
        batch."""
        crowded = []
        for host, queued in self.table.queued_by_host().items():
            if queued > max(2.0, allowed(self.table.sums.host_of(host).name) * QUEUED_S / DAY_S):
                crowded.append(host)
        until = None if self.rules.window is None else now  # without a window, early visits are allowed
        chosen = self.table.due(now, until, round(now - self.rules.min_age), most, crowded)
        batch = round(self.table.facts.get("batch")) + 1
        if chosen:
            self.table.queue(chosen, batch)
        return batch, chosen

    def last_batch(self) -> tuple[int, list[PageState]]:
        """Returns the number of the last batch, and the pages of this batch that are still queued."""
        batch = round(self.table.facts.get("batch"))
        return batch, self.table.queued(batch)

    def release_lost(self, now: int) -> int:
        """Makes the queued pages due again, and returns their number. Must be called when no visit of these
        pages is in progress."""
        while self.take_visits(now):
            pass
        return self.table.unqueue(now)

    def refit(self, visits: float, allowed: Allowed) -> None:
        """Recomputes the priors of the change rates and the prices of visits. `visits`: the budget in visits
        per day."""
        self.schedule.refit(self.table, visits, allowed)

    def replan(self) -> None:
        """Computes the due times of some waiting pages again, if the price of a visit or the prior changed
        since their visits. Without this step, after a fall of the price of a visit, pages with old due times
        would wait too long while pages with new due times use up the budget."""
        if self.rules.window is not None:
            return
        if self._replan_after is None:
            plan = self.schedule.plan()
            pairs = zip(plan, self._plan, strict=False)
            if self._plan and all(1 / MAX_PLAN_CHANGE <= a / b <= MAX_PLAN_CHANGE for a, b in pairs):
                return
            self._plan, self._replan_after = plan, -(2**63)
        pages = self.table.plan.waiting(self._replan_after, REPLANNED_PAGES)
        times = [(self.schedule.replanned(page), page) for page in pages]
        moved = [
            (due, page.id)
            for due, page in times
            if abs(due - page.due) > MAX_DUE_CHANGE * max(1, page.due - page.last)
        ]
        if moved:
            with self.table.change():
                self.table.plan.set_due(moved)
        self._replan_after = pages[-1].id if len(pages) == REPLANNED_PAGES else None

    def measure(self, now: int, budget: float, used: float | None) -> Freshness:
        """Measures the freshness. `budget`: the allowed visits per day. `used`: the share of the budget that
        was used."""
        self.store_facts(now)
        return measure(self.schedule, self.table, now, budget, used)


def _is_repeated(seen: KnownLine, line: bytes, page: PageState) -> bool:
    """Returns whether the state of a page already contains this visit. If the reply to a report is lost, the
    worker reports the visit again."""
    if 0 < seen.known.status < 400 or not page.failed:
        return line == page.line
    return seen.at == page.last

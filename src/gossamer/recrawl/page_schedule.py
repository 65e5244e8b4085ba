"""Schedules the pages of a page table. Updates the state of a page after a visit, decides when the page is
due next, and computes the price of a visit (`revisit_policy`). This module only decides, and the caller
writes the table.

Times are in seconds in the table, and in days in `revisit_policy`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gossamer.model.request import KnownPage
from gossamer.model.visit import KnownLine
from gossamer.recrawl import revisit_policy as policy
from gossamer.recrawl.change_rate import Prior, fit_prior, host_prior
from gossamer.recrawl.page_table import PageState, PageTable, encode_line, line_of
from gossamer.recrawl.revisit_rules import DAY_S, RevisitRules

GONE_STATUSES = (404, 410)
SAMPLE_PAGES, SAMPLE_PAGES_OF_HOST, MAX_HOSTS = 200, 20, 100
"""The price of a visit is computed from samples of pages. These are the sizes of the samples. SAMPLE_PAGES:
the number of pages from the whole table. SAMPLE_PAGES_OF_HOST: the number of pages from each of the largest
hosts. MAX_HOSTS: the maximum number of hosts that are sampled separately."""
MAX_AGE_SHARE = 0.95
"""A page becomes due at this share of its maximum age. The share is less than 1 so that the page is visited
before the maximum age."""
MAX_CORRECTION, MIN_SHARE = 5.0, 0.001
MIN_MEASURED_VISITS, MEASURED_ROUNDS = 1000, 2
"""The staleness of the copies and the lateness of the visits are measured as means over recent visits. The
number of these visits is about MIN_MEASURED_VISITS, or about MEASURED_ROUNDS times the number of pages,
whichever is larger. With fewer visits, the means would not include the pages that are rarely visited."""


class Measured(NamedTuple):
    """Weighted sums over the visits of known pages, in days. Newer visits have more weight."""

    stale: float = 0.0
    """The number of days for which copies were stale. The number is estimated from the visits that found a
    change."""
    days: float = 0.0
    """The sum of the days between each visit and the previous visit of the same page."""
    predicted: float = 0.0
    """The number of days for which copies were expected to be stale. The expected stale time is computed with
    the change rate that was estimated before each visit."""
    planned: float = 0.0
    """The planned time between each visit and the previous visit of the same page, according to the due
    times."""
    actual: float = 0.0
    """The actual time between each visit and the previous visit of the same page."""

    @property
    def lateness(self) -> float:
        """Returns the ratio of the actual time between two visits to the planned time. Pages are visited
        early if budget is left. Pages are visited late if the budget is too small, or if the crawl was
        stopped."""
        return self.actual / self.planned if self.planned > 0 and self.actual > 0 else 1.0

    @property
    def correction(self) -> float:
        """Returns the ratio of the measured stale time to the predicted stale time. The prediction is
        inexact, because the change rate of a page with few visits is estimated from other pages."""
        little = MIN_SHARE * self.days + 1e-9
        return min(MAX_CORRECTION, max(1 / MAX_CORRECTION, (self.stale + little) / (self.predicted + little)))

    @property
    def share(self) -> float | None:
        """Returns the measured share of time for which copies are stale. Returns None until a page has been
        visited a second time."""
        return self.stale / self.days if self.days > 0 else None


class PageSchedule:
    """Schedules the visits of one crawl's known pages."""

    def __init__(self, rules: RevisitRules) -> None:
        self.rules = rules
        self.prior = Prior()
        self.price = 1.0
        self.own_prices: dict[int, float] = {}
        """Maps the IDs of some hosts to the price of a visit to the host. A host has a separate price if, at
        the common price, the schedule would plan more visits to the host than politeness allows."""
        self.priors: dict[int, Prior] = {}
        """Maps the IDs of the largest hosts to their priors (`change_rate.Prior`)."""
        self.measured = Measured()
        self.inlinks: Callable[[str], int] = lambda _: 0
        """A function that returns the number of inlinks of a URL."""
        self.pages = 0
        """The number of known pages at the last call of `refit`."""
        self.signals = policy.SignalRecord()
        self.bounds = policy.Bounds(rules.min_age / DAY_S, rules.max_age * MAX_AGE_SHARE / DAY_S)

    def rate(self, page: PageState) -> float:
        """Returns the estimated change rate of a page, in changes per day."""
        return self.priors.get(page.host, self.prior).rate(page.history)

    def weigh_inlinks(self, inlinks: Callable[[str], int]) -> None:
        """Makes the importance of a page depend on its inlinks. `inlinks`: returns the number of inlinks of a
        URL."""
        self.inlinks = inlinks

    def weight(self, url: str) -> float:
        """Returns the importance of a page."""
        return self.rules.weight(url, self.inlinks(url) if self.rules.inlinks else 0)

    def interval(self, page: PageState, url: str) -> float:
        """Returns the number of seconds from the visit of a page until the page is due again."""
        most = self.bounds.most
        if self.rules.window is not None:
            days = most
        else:
            price = self.own_prices.get(page.host, self.price)
            days = policy.interval(self.rate(page), price, self.weight(url), self.bounds)
        return policy.spread_interval(days, url, page.visits, most) * DAY_S

    def replanned(self, page: PageState) -> int:
        """Computes the new due time of a waiting page from the current price of a visit and the current prior
        of the change rates. The due time is in seconds since the epoch."""
        return page.last + max(1, round(self.interval(page, line_of(page).url)))

    def plan(self) -> tuple[float, float]:
        """Returns the price of a visit and the mean of the prior. All due times depend on these two
        values."""
        return self.price, self.prior.mean

    def after_visit(
        self,
        seen: KnownLine,
        line: bytes,
        before: PageState | None,
        host: Callable[[str], int],
        number: int,
        now: int,
    ) -> PageState | None:
        """Returns the state of a page after a visit, or None if the page must be removed from the table.
        `host` returns the ID of a host. `number` is the page's ID."""
        at = min(seen.at, now) if seen.at else now
        known = seen.known
        if before is None:
            new = PageState(number, 0.0, 0.0, at, 0, host(seen.url), line=line)
            if not 0 < known.status < 400:
                new = new._replace(failed=1)
            return self._due(new, seen.url, now)
        if known.status == 0 and not known.error:  # a redirect, whose target is visited next
            return self._due(before._replace(batch=0), seen.url, now)
        if not 0 < known.status < 400:
            return self._failed(before, seen, at, now)
        return self._found(before, seen, at, now)

    def _failed(self, page: PageState, seen: KnownLine, at: int, now: int) -> PageState | None:
        """Returns the state after a visit that found no page. After three failed visits in a row, a page is
        forgotten if at least one of these visits reported the page as gone. A page that no visit has ever
        found is also forgotten after three failed visits."""
        failed = page.failed + 1
        before = line_of(page)
        gone = seen.known.status in GONE_STATUSES or not 0 < before.known.status < 400
        if gone and failed >= policy.GONE_VISITS:
            return None
        page = page._replace(last=at, failed=min(failed, 20), batch=0, signals=0)
        if seen.known.status in GONE_STATUSES:  # the next visit must not report the page as gone again
            page = page._replace(line=encode_line(seen))
        return self._due(page, seen.url, now)

    def _found(self, page: PageState, seen: KnownLine, at: int, now: int) -> PageState:
        before = line_of(page).known
        gap = max(0.0, (at - page.last) / DAY_S)
        history = page.history
        line = encode_line(seen)
        if (
            before.by != seen.known.by or not 0 < before.status < 400
        ):  # the site file changed, or the earlier visit found no page
            page = page._replace(line=line, last=max(at, page.last), failed=0, batch=0, signals=0)
            return self._due(page, seen.url, now)
        changed = is_changed(before, seen.known)
        history = history.observe(gap, changed, self.priors.get(page.host, self.prior))
        self._measure(page, gap, changed)
        page = page._replace(
            changes=history.changes,
            days=history.days,
            last=max(at, page.last),
            visits=page.visits + 1,
            changed=page.changed + changed,
            failed=0,
            batch=0,
            signals=0,
            line=line,
        )
        return self._due(page, seen.url, now)

    def _due(self, page: PageState, url: str, now: int) -> PageState:
        seconds = self.interval(page, url)
        if page.failed:
            days = policy.gone_interval(seconds / DAY_S, 1) or 0.0
            seconds = min(self.rules.max_age * MAX_AGE_SHARE, days * DAY_S * 2 ** (page.failed - 1))
        return page._replace(due=max(page.last, now - 1) + max(1, round(seconds)))

    def _measure(self, page: PageState, gap: float, changed: bool) -> None:
        old, record, signals = self.measured, self.signals, page.signals
        prior = self.priors.get(page.host, self.prior)
        stale = prior.stale_days(page.history, gap) if changed else 0.0
        expected = policy.stale_share(prior.rate(page.history), gap) * gap
        planned = max(1, page.due - page.last) / DAY_S
        left = 1 - 1 / max(MIN_MEASURED_VISITS, MEASURED_ROUNDS * self.pages)
        new = (stale, gap, expected, planned, gap)
        self.measured = Measured(*(was * left + more for was, more in zip(old, new, strict=True)))
        self.signals = policy.SignalRecord(
            record.signals + signals,
            record.confirmed + (signals if changed else 0),
            record.missed + (changed and not signals),
            record.days + gap,
        )

    def signalled(self, page: PageState, now: int, *, certain: bool = False) -> PageState:
        """Returns the state of a page after a signal that the page changed, for example a newer lastmod or a
        feed entry. `certain`: whether a person reported the change. If a person reported the change, the page
        is due now."""
        if certain:
            return page._replace(due=min(page.due, now), signals=page.signals + 1)
        sooner = policy.signal_age(self.signals) * DAY_S
        return page._replace(due=max(min(page.due, now), round(page.due - sooner)), signals=page.signals + 1)

    def refit(self, table: PageTable, visits: float, allowed: Callable[[str], float]) -> None:
        """Fits the priors of the change rates to a sample of the table, and computes the prices of visits
        from the sample. `visits`: the budget in visits per day. `allowed`: a function that returns the number
        of visits per day that the politeness of a host allows."""
        sample, self.pages = table.sums.sample(SAMPLE_PAGES), table.sums.page_count()
        if not sample:
            return
        self.prior = fit_prior((one.history for one in sample if one.visits), self.prior)
        hosts = table.sums.hosts(MAX_HOSTS)
        self.priors = {one.id: host_prior(self.prior, one.changes, one.days) for one in hosts}
        if self.rules.window is not None:
            return
        loads: dict[str, policy.HostLoad] = {}
        for one in hosts:
            pages = sample if len(hosts) == 1 else table.sums.sample(SAMPLE_PAGES_OF_HOST, one.id)
            loads[str(one.id)] = policy.HostLoad(one.pages, self._samples(pages), allowed(one.name))
        if (rest := self.pages - sum(one.pages for one in hosts)) > 0:
            inside = {one.id for one in hosts}
            others = [one for one in sample if one.host not in inside] or sample
            loads[""] = policy.HostLoad(rest, self._samples(others), math.inf)
        self.price, own = policy.solve_prices(loads, visits, self.bounds)
        self.own_prices = {int(name): price for name, price in own.items() if name}

    def _samples(self, pages: Sequence[PageState]) -> list[policy.Sample]:
        if not self.rules.weights and not self.rules.inlinks:
            return [policy.Sample(self.rate(one)) for one in pages]
        return [policy.Sample(self.rate(one), self.weight(line_of(one).url)) for one in pages]


def is_changed(before: KnownPage, now: KnownPage) -> bool:
    """Returns whether the content of a page differs from its content at the last visit. Different bytes alone
    are not a change, because they may come from tokens, advertisements or dates of the server.

    >>> is_changed(KnownPage(200, body="a", said="x"), KnownPage(200, body="b", said="x"))
    False
    """
    if before.status != now.status:
        return True
    return before.body != now.body and (not now.said or before.said != now.said)

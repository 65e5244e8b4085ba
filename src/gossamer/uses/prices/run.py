"""Runs `gossamer prices`. A run first visits all product pages once. The run then makes second visits to the
pages with unconfirmed changes, and writes the results into the price history. Each round of visits is a
crawl, which runs in this process, in several processes, or on a fleet."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

import gossamer
from gossamer.client.secrets import bare_secret, with_secrets
from gossamer.client.submission import stop_submitted
from gossamer.errors import ConfigError, CrawlFailed, NothingFound
from gossamer.uses.prices import price_site
from gossamer.uses.prices.history import CONFIRMING_ROUNDS, History
from gossamer.uses.prices.model import Event, Observation, OfferState, PriceTarget
from gossamer.uses.prices.page_memory import KnownProductPage, PageMemory
from gossamer.uses.prices.price_sinks import WatchedPages, list_version, sink_urls, watched_pages
from gossamer.uses.prices.selector_table import SelectorTable, read_selectors

CRAWL = "prices"
"""The prefix of the names of the crawls that a run starts. After the prefix, a crawl's name contains a hash
of the history's URL, because several histories may share a store."""
CONFIRMING_RETRIES = "10s"
"""The retries of visits that confirm held values. They are few, because the first visits of the run already
had all retries, and a value that is not confirmed is held until the next run."""
UNVISITED = "not requested: robots.txt or another rule forbids it"
DAY_S = 86400.0
MAX_RESUME_S = 18 * 3600.0
"""The maximum age in seconds of an interrupted run that is resumed. Instead of resuming an older run,
gossamer begins a new run that visits all pages."""


class RunOptions(msgspec.Struct, kw_only=True):
    """The options of a run. Times are in seconds."""

    history: str = "prices.db"
    """The price history: a path or `postgresql://...`, which may contain `${env:NAME}`."""
    fleet: bool = False
    """Whether the workers of a fleet visit the pages, instead of this process. With a fleet, the history must
    be in PostgreSQL."""
    selectors: str | None = None
    delay: str = "2-8"
    within: float | None = None
    """The maximum duration of the run in seconds. Pages that a run does not visit within its maximum duration
    come first in the next run."""
    spread: float | None = None
    """The time in seconds over which the visits are spread evenly."""
    if_older: float | None = None
    """If not None, the run does not visit a page whose last visit was good and is not older than this number of
    seconds."""
    crawl: dict[str, Any] = {}
    """Additional arguments of `gossamer.run`, such as `data`, `store` and `proxies`."""


class PriceRunSummary(msgspec.Struct, kw_only=True):
    """The result of a run."""

    run: int
    state: str
    """The state of the run: `finished`, `limited` (the run reached its time limit) or `stopped`."""
    targets: int
    pages: int
    checked: int
    """Number of pages that the run visited. For a resumed run, the number of visited pages includes the pages
    that the run visited before the interruption."""
    recent: int
    """Number of pages that the run did not visit because of `if_older`."""
    unchanged: int
    """Number of visited pages that the server reported as unchanged."""
    first_prices: int
    """Number of offers for which the run recorded a price for the first time."""
    changes: int
    held: int
    """Number of held values, which need another visit in the next run."""
    failing: int
    """Number of targets whose visits fail."""
    fresh_share: float
    """The share of pages that were checked within the last 24 hours."""
    seconds: float


def run(
    targets: Sequence[PriceTarget],
    options: RunOptions,
    tell: Callable[[str], None],
    on_events: Callable[[Sequence[Event]], None],
) -> PriceRunSummary:
    """Begins a new run, or resumes an interrupted run. `tell`: called with messages for the user.
    `on_events`: called with the confirmed changes of the run. Raises GossamerError. After a
    KeyboardInterrupt, the next call resumes the run."""
    check_history(options)
    selectors = read_selectors(options.selectors)
    began = time.time()
    with History(with_secrets(options.history)) as history:
        history.list_targets(targets)
        number = history.begin_run(resume=True)
        if began - history.run_started() > MAX_RESUME_S:
            history.end_run()
            number = history.begin_run()
        work = PriceRun(history, targets, selectors, options, tell)
        state = work.visit_all(number)
        if state != "stopped":
            state = work.confirm(state)
        if state == "stopped":
            raise KeyboardInterrupt
        history.end_run()
        events = history.events(run=number)
        on_events(events)
        return _summary(history, work, number, state, began, events)


def check_history(options: RunOptions) -> None:
    """Raises ConfigError if the workers of a fleet cannot use the history of a run."""
    if not options.fleet:
        return
    if not options.history.startswith(("postgresql://", "postgres://", "${")):
        raise ConfigError(
            "the workers of a fleet have no common file: give the price history as --history postgresql://..."
        )
    if bare_secret(options.history):
        raise ConfigError(
            "--history: a secret does not travel to the workers: write ${env:NAME} or ${file:PATH} for the password"
        )


class PriceRun:
    """Visits the pages of one run. Each round of visits is a crawl."""

    def __init__(
        self,
        history: History,
        targets: Sequence[PriceTarget],
        selectors: SelectorTable,
        options: RunOptions,
        tell: Callable[[str], None],
    ) -> None:
        self.history, self.memory = history, PageMemory(history.database)
        self.listed: WatchedPages = watched_pages(targets, selectors.version)
        self.started = history.run_started()
        self.recent = 0
        """Number of pages that are not visited because of `if_older`."""
        self._selectors, self._options, self._tell = selectors, options, tell
        self._outputs = sink_urls(options.history, list_version(targets), selectors.version)
        self._name = f"{CRAWL}-{hashlib.blake2b(options.history.encode(), digest_size=3).hexdigest()}"
        self._end = None if options.within is None else self.started + options.within

    def visit_all(self, number: int) -> str:
        """Visits the pages that the run has not checked yet. The page with the oldest check comes first.
        Returns `finished`, `limited` or `stopped`."""
        if self._options.fleet:  # the command may have been killed while its crawl continued
            self._stop_on_fleet()
        pages, now = self.listed.targets, time.time()
        known = self.memory.read(pages)
        left = [url for url in pages if url not in known or known[url].checked < self.started]
        if len(left) < len(pages):
            done = len(pages) - len(left)
            self._tell(f"run {number} continues: {done:,} of {len(pages):,} pages are checked")
        if self._options.if_older is not None:
            wanted, recent = len(left), self._good_since(self.started - self._options.if_older)
            left = [url for url in left if url not in recent]
            self.recent = wanted - len(left)
        if not left:
            return "finished"
        left.sort(key=lambda url: known[url].checked if url in known else 0.0)
        conditions = {
            url: page.condition(self.listed.version(url), now)
            for url, page in known.items()
            if page.checked < self.started
        }
        state = self._visit(left, conditions)
        if state == "finished":
            self._note_unvisited(left, self.started)
        return state

    def _good_since(self, since: float) -> set[str]:
        """Returns the pages whose last visit is not older than `since`, was good for all targets of the page, and
        left no value to confirm."""
        rows = self.history.query(
            "SELECT target FROM price_offers WHERE target NOT IN (SELECT target FROM price_failing) "
            "GROUP BY target HAVING max(last_checked) >= ? AND count(held) = 0",
            [since],
        )
        good = {target for (target,) in rows}
        return {url for url, found in self.listed.targets.items() if all(one.key in good for one in found)}

    def confirm(self, state: str) -> str:
        """Visits the pages with held values again, until the held values are confirmed or rejected. If such a
        visit fails, the next run visits the page again."""
        url_of = {target.key: url for url, found in self.listed.targets.items() for target in found}
        for number in range(CONFIRMING_ROUNDS):
            held = self.history.held()
            urls = list(dict.fromkeys(url_of[one.target] for one in held if one.target in url_of))
            if not urls or state != "finished":
                break
            if not number:
                self._tell(
                    f"{len(urls):,} pages show something new: they are visited again until it is certain"
                )
            else:
                self._tell(f"{len(urls):,} of them are not certain yet: visit {number + 2}")
            began = time.time()
            state = self._visit(urls, {}, confirming=True)
            if state == "finished":
                self._note_unvisited(urls, began, confirming=True)
            for (target,) in self.history.query(
                "SELECT target FROM price_failing WHERE state = ? AND last >= ?", [OfferState.FAILED, began]
            ):
                url_of.pop(target, None)
        return state

    def _visit(
        self, urls: Sequence[str], conditions: Mapping[str, Mapping[str, str]], *, confirming: bool = False
    ) -> str:
        """Crawls pages. Returns `finished`, `limited` or `stopped`."""
        options = self._options
        given: dict[str, Any] = {
            "delay": options.delay,
            "keep": "off",
            "files": "off",
            "guard": "off",
        } | options.crawl
        given |= {"name": self._name, "fresh": True, "scope": "page", "output": self._outputs[0]}
        given["progress"] = given.get("progress", False) and not confirming
        if confirming:
            given["retries"] = CONFIRMING_RETRIES
        if any(conditions.values()):  # only a conditional request can find a page unchanged
            given["attempts"] = self._outputs[1]
        if self._end is not None:
            if (rest := self._end - time.time()) < 1:
                return "limited"
            given["time_limit"] = rest
        if options.spread is not None and not confirming:
            given["rate"] = max(len(urls) / options.spread, 0.001)
        seeds = price_site.seeds(urls, conditions, self._selectors, confirming=confirming)
        try:
            if options.fleet:
                return self._on_fleet(seeds, given)
            return gossamer.run(price_site.TARGET, seeds, **given).state
        except (CrawlFailed, NothingFound) as error:  # every page failed, and the failures are recorded
            return getattr(error.summary, "state", "finished")

    def _on_fleet(self, seeds: Sequence[Mapping[str, Any]], given: dict[str, Any]) -> str:
        """Lets the fleet crawl pages, and waits for the end of the crawl. If this process is interrupted, the
        crawl is stopped, because no other process would confirm the results of the crawl."""
        given.pop("progress")
        self._tell(f"the fleet visits {len(seeds):,} pages: gossamer top {given['name']}")
        try:
            return gossamer.submit(price_site.TARGET, seeds, wait=True, say=self._tell, **given).state
        except KeyboardInterrupt:
            self._stop_on_fleet()
            raise

    def _stop_on_fleet(self) -> None:
        """Stops the run's crawl if the crawl is running on the fleet."""
        crawl = self._options.crawl
        stop_submitted(self._name, store=crawl.get("store"), setting=crawl.get("setting"))

    def _note_unvisited(self, urls: Iterable[str], since: float, *, confirming: bool = False) -> None:
        """Records the pages that a finished crawl did not visit, for example because of robots.txt."""
        known = self.memory.read(urls)
        unvisited = [url for url in urls if url not in known or known[url].checked < since]
        if not unvisited:
            return
        now = time.time()
        self.history.record(
            [
                Observation(
                    target=one.key,
                    state=OfferState.FAILED,
                    time=now,
                    url=url,
                    detail=UNVISITED,
                    confirming=confirming,
                )
                for url in unvisited
                for one in self.listed.targets[url]
            ]
        )
        self.memory.write([KnownProductPage(url, now, now) for url in unvisited])


def _summary(
    history: History, work: PriceRun, number: int, state: str, began: float, events: Sequence[Event]
) -> PriceRunSummary:
    pages, started, now = work.listed.targets, history.run_started(), time.time()
    visits = work.memory.times()
    failing = {target for (target,) in history.query("SELECT target FROM price_failing")}
    checked = [url for url in pages if url in visits and visits[url].checked >= started]
    return PriceRunSummary(
        run=number,
        state=state,
        targets=sum(map(len, pages.values())),
        pages=len(pages),
        checked=len(checked),
        recent=work.recent,
        unchanged=sum(visits[url].full_read < started for url in checked),
        first_prices=sum(one.kind == "first" for one in events),
        changes=sum(one.kind != "first" for one in events),
        held=len(history.held()),
        failing=sum(target.key in failing for found in pages.values() for target in found),
        fresh_share=sum(url in visits and now - visits[url].checked <= DAY_S for url in pages)
        / max(1, len(pages)),
        seconds=now - began,
    )

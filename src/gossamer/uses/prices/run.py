"""A run: visits all product pages once, then those whose changes need a second visit, and writes what it
finds into the price history."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

import gossamer
from gossamer.errors import CrawlFailed, NothingFound
from gossamer.uses.prices.history import CONFIRMING_ROUNDS, History
from gossamer.uses.prices.model import Event, PriceTarget
from gossamer.uses.prices.page_memory import PageMemory
from gossamer.uses.prices.selector_table import read_selectors
from gossamer.uses.prices.watch import PriceWatch

CRAWL = "prices"
DAY_S = 86400.0
MAX_RESUME_S = 18 * 3600.0
"""An interrupted run is resumed within this time. Later, a new run begins, which checks all pages."""


class RunOptions(msgspec.Struct, kw_only=True):
    """The options of a run. Times are in seconds."""

    history: str = "prices.db"
    """The price history: a path or `postgresql://...`."""
    selectors: str | None = None
    delay: str = "2-8"
    within: float | None = None
    """The run ends after this time, even if pages are left. They come first in the next run."""
    spread: float | None = None
    """The visits are spread evenly over this time."""
    crawl: dict[str, Any] = {}
    """Further options of `gossamer.run`: `data`, `store`, `proxies`, ..."""


class PriceRunSummary(msgspec.Struct, kw_only=True):
    """What a run did."""

    run: int
    state: str
    """`finished`, `limited` (its time was over) or `stopped`."""
    targets: int
    pages: int
    checked: int
    """Pages that this run visited. A resumed run counts those of all its parts."""
    unchanged: int
    """Of these, the pages that the server called unchanged. Only those of this process are counted."""
    changes: int
    held: int
    """Values that wait for another visit, in the next run."""
    failing: int
    """Targets that fail."""
    fresh_share: float
    """The share of pages that were checked within the last 24 hours."""
    seconds: float


def run(
    targets: Sequence[PriceTarget],
    options: RunOptions,
    tell: Callable[[str], None],
    on_events: Callable[[Sequence[Event]], None],
) -> PriceRunSummary:
    """Runs or resumes a run. `tell`: called with messages for the user. `on_events`: called with the confirmed
    changes of the run. Raises GossamerError. A KeyboardInterrupt leaves the run open: the next call resumes
    it."""
    selectors = read_selectors(options.selectors)
    began = time.time()
    with History(options.history) as history:
        memory = PageMemory(history.database)
        history.list_targets(targets)
        number = history.begin_run(resume=True)
        if began - history.run_started() > MAX_RESUME_S:
            history.end_run()
            number = history.begin_run()
        started = history.run_started()
        pages = by_page(targets)
        known = memory.read(pages)
        left = [url for url in pages if url not in known or known[url].checked < started]
        if len(left) < len(pages):
            tell(f"run {number} continues: {len(pages) - len(left):,} of {len(pages):,} pages are checked")
        watch = PriceWatch(pages, history, memory, selectors)
        state, end = "finished", None if options.within is None else started + options.within
        if left:
            state = _visit(watch, watch.seeds(left, known, began), options, end)
            if state == "finished":
                _note_unvisited(watch, memory, left, started)
        if state != "stopped":
            state = _confirm(history, memory, pages, watch, options, end, state, tell)
        if state == "stopped":
            raise KeyboardInterrupt
        history.end_run()
        events = history.events(run=number)
        on_events(events)
        return _summary(history, memory, watch, pages, number, state, began, events)


def by_page(targets: Iterable[PriceTarget]) -> dict[str, list[PriceTarget]]:
    """Returns the targets of each URL. Targets whose URLs are the same page share one URL."""
    urls: dict[str, str] = {}
    pages: dict[str, list[PriceTarget]] = defaultdict(list)
    for target in targets:
        url = urls.setdefault(gossamer.url.canonical(target.url) or target.url, target.url)
        pages[url].append(target)
    return dict(pages)


def _visit(watch: PriceWatch, seeds: list[dict[str, Any]], options: RunOptions, end: float | None) -> str:
    """Crawls pages. Returns `finished`, `limited` or `stopped`."""
    given: dict[str, Any] = {"delay": options.delay, "keep": "off", "files": "off"} | options.crawl
    given["progress"] = given.get("progress", False) and not watch.confirming
    site_options = {name: given.pop(name) for name in ("ladder",) if name in given}
    if end is not None:
        if (rest := end - time.time()) < 1:
            return "limited"
        given["time_limit"] = rest
    if options.spread is not None and not watch.confirming:
        given["rate"] = max(len(seeds) / options.spread, 0.001)
    with watch as attempt_rows:
        try:
            result = gossamer.run(
                watch.site(site_options),
                seeds,
                name=CRAWL,
                fresh=True,
                scope="page",
                attempts=attempt_rows,
                **given,
            )
        except (CrawlFailed, NothingFound) as error:  # every page failed, which is recorded
            return getattr(error.summary, "state", "finished")
    return result.state


def _note_unvisited(watch: PriceWatch, memory: PageMemory, urls: Iterable[str], started: float) -> None:
    """Records the pages that a finished crawl did not visit."""
    known = memory.read(urls)
    unvisited = [url for url in urls if url not in known or known[url].checked < started]
    if unvisited:
        now = time.time()
        watch.write_unvisited(unvisited, "not requested: robots.txt or another rule forbids it", now)
        memory.mark_checked((url, now) for url in unvisited)


def _confirm(
    history: History,
    memory: PageMemory,
    pages: Mapping[str, Sequence[PriceTarget]],
    first: PriceWatch,
    options: RunOptions,
    end: float | None,
    state: str,
    tell: Callable[[str], None],
) -> str:
    """Visits the pages of held values again, until they are confirmed or rejected."""
    url_of = {target.key: url for url, found in pages.items() for target in found}
    watch = PriceWatch(pages, history, memory, first.selectors, confirming=True)
    for number in range(CONFIRMING_ROUNDS):
        urls = list(dict.fromkeys(url_of[one.target] for one in history.held() if one.target in url_of))
        if not urls or state != "finished":
            break
        if not number:
            tell(f"{len(urls):,} pages show something new: they are visited again until it is certain")
        began = time.time()
        state = _visit(watch, watch.seeds(urls, {}, began), options, end)
        if state == "finished":
            _note_unvisited(watch, memory, urls, began)
    return state


def _summary(
    history: History,
    memory: PageMemory,
    watch: PriceWatch,
    pages: Mapping[str, Sequence[PriceTarget]],
    number: int,
    state: str,
    began: float,
    events: Sequence[Event],
) -> PriceRunSummary:
    times, now, started = memory.times(), time.time(), history.run_started()
    failing = {target for (target,) in history.query("SELECT target FROM price_failing")}
    return PriceRunSummary(
        run=number,
        state=state,
        targets=sum(map(len, pages.values())),
        pages=len(pages),
        checked=sum(times.get(url, 0) >= started for url in pages),
        unchanged=watch.counts["unchanged"],
        changes=sum(one.kind != "first" for one in events),
        held=len(history.held()),
        failing=sum(target.key in failing for found in pages.values() for target in found),
        fresh_share=sum(now - times.get(url, 0) <= DAY_S for url in pages) / max(1, len(pages)),
        seconds=now - began,
    )

"""Runs the command `gossamer ranks run`. Fetches the result pages of all searches, up to the needed depth and
within the budget, and writes the results to the history."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.errors import UsageError
from gossamer.parsing.ranks import result_page
from gossamer.parsing.ranks.page_rules import PageRules, default, load
from gossamer.uses.ranks.history import KEEP_DAYS, PageRequest, RankHistory
from gossamer.uses.ranks.model import Keyword, RankEvent, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.rank_crawl import RankCrawl
from gossamer.uses.ranks.reparse import count_outdated, parse_again
from gossamer.uses.ranks.result_page_sources import check_source, choose_source, crawl_options
from gossamer.uses.ranks.search_urls import HOSTS

MAX_RESUME_S = 18 * 3600.0
"""The maximum age in seconds of an interrupted run that is resumed. If an interrupted run is older, gossamer
ends the interrupted run and begins a new run."""
MAX_ROUNDS = 60
BUDGET, NO_CREDIT = "the budget of today is spent", "no credit is left"


class RankRunOptions(msgspec.Struct, kw_only=True):
    """The options of a rank run."""

    history: str = "ranks.db"
    depth: Depth = Depth()
    own: bool = False
    """Whether the run requests result pages directly from the search engines. The run requests result pages
    directly only if the user explicitly chooses this option."""
    archive: str | None = None
    """The path of a WARC file, or of a folder with WARC files, from which the run reads result pages."""
    failed: bool = False
    """Whether to check only the searches whose last check failed or was skipped."""
    if_older: float | None = None
    """If not None, the run leaves out searches whose last check was good, as deep as this run, and is not older
    than this number of seconds."""
    keep_days: float = KEEP_DAYS
    layout: str | None = None
    """The path of a file with rules for parsing result pages. The rules in the file replace the rules in the
    package."""
    hosts: Mapping[str, str] = msgspec.field(default_factory=lambda: HOSTS)
    """The base URL of each engine."""
    crawl: dict[str, Any] = {}
    """Additional arguments of `gossamer.run`, such as `data`, `store`, `unlocker` and `credits_daily`."""


class RankRunSummary(msgspec.Struct, kw_only=True):
    """The result of a rank run. `paid_empty`: the number of unusable pages for which the provider charged
    credits."""

    run: int
    state: str
    """The state of the run: `finished`, `limited` (the budget was too small) or `no-credit` (the provider's
    account is empty)."""
    searches: int
    done: int
    failed: int
    no_results: int
    skipped: int
    recent: int
    """Number of searches that the run left out because of `if_older`."""
    pages: int
    credits: int
    paid_empty: int
    positions: int
    in_results: int
    events: int
    seconds: float


def run(
    keywords: Sequence[Keyword],
    options: RankRunOptions,
    tell: Callable[[str], None],
    on_events: Callable[[Sequence[RankEvent]], None],
) -> RankRunSummary:
    """Starts a run, or resumes an interrupted run. `tell`: called with messages for the user. `on_events`:
    called with the events of the run. Raises GossamerError. After a KeyboardInterrupt, the next call resumes
    the run, and does not fetch the stored pages again."""
    began = time.time()
    source = choose_source(options.crawl, own=options.own, archive=options.archive)
    depth = options.depth._replace(cumulative=source.cumulative)
    searches = {one.search.id: one.search for one in keywords}
    refused = check_source(source, searches)
    if refused:
        tell(f"{len(refused):,} searches are skipped: {next(iter(refused.values()))}")
    if source.notice:
        tell(source.notice)
    with RankHistory(options.history) as history:
        history.list_keywords(keywords)
        layout = load(options.layout) if options.layout else default()
        correct_history(history, layout, tell)
        number, recent = _begin(history, options, depth, searches, tell)
        if not number:
            on_events([])
            return _summary(history, number, [], began, "finished", recent)
        rank_crawl = RankCrawl(
            history.searches(),
            history,
            source,
            hosts=options.hosts,
            layout=layout,
            keep=options.keep_days > 0,
            depth=depth,
            tell=tell,
        )
        skipped = _rounds(history, rank_crawl, depth, options, refused, tell)
        events = history.end_run(depth, skipped, options.keep_days)
        on_events(events)
        reasons = {why for search, why in skipped.items() if search not in refused}
        state = "no-credit" if NO_CREDIT in reasons else "limited" if reasons else "finished"
        return _summary(history, number, events, began, state, recent)


def correct_history(history: RankHistory, layout: PageRules, tell: Callable[[str], None]) -> None:
    """Parses stored pages again if the data file with the page rules has changed since the pages were
    parsed."""
    if not (count := count_outdated(history, layout.version)):
        return
    tell(
        f"the data file for result pages has changed ({layout.version}): {count:,} kept pages are parsed again"
    )
    done = parse_again(
        history, layout.version, lambda body, engine, url: result_page(body, engine, url, data=layout)
    )
    tell(f"{done.corrected:,} positions were corrected, each with a note")


def _begin(
    history: RankHistory,
    options: RankRunOptions,
    depth: Depth,
    searches: Mapping[str, Search],
    tell: Callable[[str], None],
) -> tuple[int, int]:
    """Begins a run, or continues an open run that is not older than `MAX_RESUME_S`. Returns the number of the run,
    and how many searches are left out because of `if_older`. If these are all searches, no run begins, and the
    number is 0."""
    number, started, is_open = history.run()
    if is_open and history.clock() - started > MAX_RESUME_S:
        history.end_run(options.depth)
        is_open = False
    if is_open:
        ((fetched,),) = history.query("SELECT count(*) FROM rank_pages WHERE run = ?", [number])
        tell(f"run {number} continues: {fetched:,} pages are fetched, and are not fetched again")
        return history.begin_run(resume=True), 0
    chosen: list[str] = []
    if options.failed:
        rows = history.query(
            "SELECT c.search FROM rank_checks c WHERE c.state IN ('failed', 'skipped') AND c.run = (SELECT max(d.run) "
            "FROM rank_checks d WHERE d.search = c.search)"
        )
        chosen = [name for (name,) in rows if name in searches]
        if not chosen:
            raise UsageError("--failed: no last check of these keywords failed")
    if options.if_older is None:
        return history.begin_run(searches=chosen), 0
    recent = history.checked_since(history.clock() - options.if_older, depth) & searches.keys()
    if recent:
        tell(f"{len(recent):,} searches are left out: their last check is younger than --if-older")
    left = [name for name in chosen or searches if name not in recent]
    return (history.begin_run(searches=left) if left else 0), len(recent)


def _rounds(
    history: RankHistory,
    rank_crawl: RankCrawl,
    depth: Depth,
    options: RankRunOptions,
    refused: Mapping[str, str],
    tell: Callable[[str], None],
) -> dict[str, str]:
    """Fetches pages in rounds, until no search needs further pages or the budget is spent. Returns the
    reasons why searches were not checked, keyed by search id."""
    skipped, tried, source = dict(refused), set[PageRequest](), rank_crawl.source
    for number in range(MAX_ROUNDS):
        wanted = [one for one in history.next_requests(depth, skipped) if one not in tried]
        if not wanted:
            break
        left = None
        if source.account is not None:
            source = source._replace(account=choose_source(options.crawl, own=options.own).account)
            left = source.account.left if source.account else None
        affordable = fit_budget(wanted, source.cost, left)
        for one in wanted[len(affordable) :]:
            skipped[one.search] = BUDGET
        if not affordable:
            break
        if number:
            tell(f"{len(affordable):,} searches need a further page")
        state = rank_crawl.crawl(affordable, crawl_options(source, options.crawl, left, options.archive))
        if state == "stopped":
            raise KeyboardInterrupt
        tried.update(affordable)
        if state.startswith("no-credit: "):
            tell(state.removeprefix("no-credit: "))
            skipped |= dict.fromkeys([one.search for one in history.next_requests(depth, skipped)], NO_CREDIT)
            break
        if state == "limited":
            unfetched = {one for one in history.next_requests(depth, skipped) if one in tried}
            skipped |= {one.search: BUDGET for one in unfetched}
    if short := sum(why == BUDGET for why in skipped.values()):
        tell(f"the budget does not suffice: {short:,} searches are not checked, or not as deep as wanted")
    return skipped


def fit_budget(
    wanted: Sequence[PageRequest], cost: Callable[[int, int], int], left: int | None
) -> Sequence[PageRequest]:
    """Returns the longest prefix of `wanted` that the remaining credits can pay for. `cost`: a function that
    returns the cost of a request, given the numbers of the first and the last result page. `left`: the
    remaining credits, or None if there is no budget."""
    if left is None:
        return wanted
    for number, one in enumerate(wanted):
        left -= cost(one.first, one.page)
        if left < 0:
            return wanted[:number]
    return wanted


def _summary(
    history: RankHistory,
    number: int,
    events: Sequence[RankEvent],
    began: float,
    state: str,
    recent: int,
) -> RankRunSummary:
    states = dict(
        history.query("SELECT state, count(*) FROM rank_checks WHERE run = ? GROUP BY state", [number])
    )
    ((found, paid, empty),) = history.query(
        "SELECT count(*), sum(credits), "
        "sum(CASE WHEN credits > 0 AND verdict NOT IN ('ok', 'partial', 'no_results') THEN 1 ELSE 0 END) "
        "FROM rank_pages WHERE run = ?",
        [number],
    )
    ((positions, ranked),) = history.query(
        "SELECT count(*), count(p.position) FROM rank_positions p JOIN rank_domains d ON d.search = p.search AND "
        "d.domain = p.domain WHERE p.run = ? AND d.own = 1",
        [number],
    )
    return RankRunSummary(
        run=number,
        state=state,
        searches=sum(states.values()),
        done=states.get("done", 0),
        failed=states.get("failed", 0),
        no_results=states.get("no-results", 0),
        skipped=states.get("skipped", 0),
        recent=recent,
        pages=found,
        credits=int(paid or 0),
        paid_empty=int(empty or 0),
        positions=positions,
        in_results=ranked,
        events=len(events),
        seconds=time.time() - began,
    )

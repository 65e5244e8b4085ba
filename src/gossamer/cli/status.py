"""`gossamer status`: prints one line for each crawl of a store, or the details of one crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Data,
    Json,
    MaybeCrawl,
    Option,
    Setting,
    StoreUrl,
    open_existing_store,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.cli.doctor_findings import Finding
    from gossamer.config.settings import Settings
    from gossamer.frontier.stats import CrawlStatistics
    from gossamer.model.summary import Summary
    from gossamer.observability.crawl_activity import Current
    from gossamer.observability.process_levels import ProcessLevel
    from gossamer.state.lane_backlog import HeapLine
    from gossamer.store.store import Store

OfFreshness = Annotated[
    bool, Option("--freshness", help="How fresh the pages of a crawl with --revisit are.")
]
HEADS = (
    "crawl",
    "state",
    "found",
    "pages",
    "redirected",
    "failed",
    "dead",
    "pending",
    "skipped",
    "hosts",
    "pages/s",
    "last page",
)
LIMITS = {
    "hosts": "hosts: none may be requested now",
    "latency": "latency: visits wait for responses",
    "rate": "rate: gossamer rate allows no more requests",
    "fixed": "fixed: --concurrency allows no more",
    "descriptors": "descriptors: raise ulimit -n for more",
}
"""Messages that explain what limits the number of concurrent visits (`worker.concurrency_level`)."""
LEAST = ("redirected", "hosts", "skipped", "failed", "dead", "last page")
"""Columns that are left out on a narrow terminal, the least important one first."""


def status(
    crawl: MaybeCrawl = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    freshness: OfFreshness = False,
) -> int:
    """Show counts, rates, hosts and errors of a crawl. Without CRAWL, show one line per crawl."""
    if freshness and crawl is None:
        raise UsageError("--freshness is for one crawl: name it")
    return asyncio.run(_status(read_settings(data, store, setting), crawl, as_json, freshness))


async def _status(settings: Settings, name: str | None, as_json: bool, freshness: bool) -> int:
    from gossamer.app.crawl_status import crawl_line, malformed_message
    from gossamer.cli.freshness import print_freshness
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.frontier.stats import CrawlStatistics

    async with open_existing_store(settings) as store:
        statistics = CrawlStatistics(store)
        if name is not None and freshness:
            return await print_freshness(store, name, as_json)
        if name is not None:
            return await _one(statistics, settings, name, as_json)
        found = [await crawl_line(statistics, settings, one) for one in await statistics.crawls.names()]
        odd = await malformed_message(store)
    if as_json:
        put_json([one.plain() for one in found])
    elif found:
        rows = [_row(one.summary, one.now) for one in found]
        put_table(HEADS, rows, right=HEADS[2:], least=LEAST)
        for one in found:
            if one.now.idle is not None:
                remark(f"{one.summary.crawl}: {one.now.idle.text}")
        for one in found:
            if one.unfinished["broken_off"]:
                remark(f"{one.summary.crawl}: {malformed_text(one.unfinished)}")
    else:
        remark("there is no crawl yet")
    if odd:
        remark(odd)
    return 0


def malformed_text(cut: dict[str, Any]) -> str:
    """Returns a message about unfinished producers. `cut`: the result of the function `broken_off`."""
    return (
        f"not read to the end: {', '.join(cut['broken_off'])}; go on, with the same options: {cut['go_on']}"
    )


def _row(s: Summary, now: Current) -> tuple[object, ...]:
    from gossamer.config.value_texts import format_duration
    from gossamer.frontier.crawls import UNDER_WAY

    skipped, going = sum(s.skipped.values()), s.state in UNDER_WAY
    age = "" if now.last_page_age is None else f"{format_duration(int(now.last_page_age))} ago"
    return (
        s.crawl,
        s.state,
        s.found,
        s.pages,
        s.redirected,
        s.failed,
        s.dead,
        s.pending,
        skipped,
        s.hosts,
        f"{now.pages[0]:.1f}" if going else s.pages_per_second,
        age if going else "",
    )


async def _one(statistics: CrawlStatistics, settings: Settings, name: str, as_json: bool) -> int:
    from gossamer.app.crawl_status import crawl_state, malformed_message
    from gossamer.cli.printing import put_json, put_table
    from gossamer.cli.summaries import advice, summary_rows
    from gossamer.config.value_texts import format_duration

    state = await crawl_state(statistics, settings, name)
    summary, record, cut, now, hosts, levels, refused, lost, lanes = state
    odd = await malformed_message(statistics.store) if record.fleet else ""
    if as_json:
        put_json(state.plain())
        return 0
    doubt = f"about {lost:.2g} new URLs were taken for known ones; --seen exact avoids this"
    more = [*current_rows(summary, now), *([("seen-set", doubt)] if lost >= 0.01 else [])]
    more += [("lists", malformed_text(cut))] if cut["broken_off"] else []
    more += [("no work by", f"{worker}: {why}") for worker, why in refused.items()]
    more += [("queue", odd)] if odd else []
    if record.fleet and (record.weight, record.precedence) != (1, 0):
        more.append(("share", f"weight {record.weight}, precedence {record.precedence}"))
    more += [("advice", line) for line in advice(summary)]
    put_table((), [*summary_rows(summary), *more])
    if hosts:
        print()
        rows = [
            (
                *(h.host, h.state, h.waiting, h.retrying, h.in_flight),
                *(format_duration(h.delay), format_duration(h.next)),
            )
            for h in hosts
        ]
        heads = ("host", "state", "waiting", "retries", "in flight", "delay", "next in")
        put_table(heads, rows, right=heads[2:], least=("in flight", "next in"))
    _put_lanes(lanes, now)
    _put_levels(levels)
    return 0


def _put_levels(levels: Sequence[ProcessLevel]) -> None:
    """Prints the number of pages that each process fetches concurrently, and the limit that prevents a higher
    number."""
    from gossamer.cli.printing import put_table
    from gossamer.config.value_texts import format_duration

    if levels:
        print()
        put_table(
            ("process", "pages at once", "limited by", "last sign"),
            [
                (
                    one.process,
                    one.visits,
                    LIMITS.get(one.limit, one.limit),
                    f"{format_duration(int(one.age))} ago",
                )
                for one in levels
            ],
            right=("pages at once",),
            least=("last sign",),
        )


def _put_lanes(lanes: Sequence[HeapLine], now: Current) -> None:
    """Prints a table of the waiting hosts and a table of the workers' page rates. Each table has one row per
    lane and region."""
    from gossamer.cli.printing import put_table

    if any(line.stranded or line.region or line.lane != "http" for line in lanes):
        print()
        waits = [
            (line.lane, line.region or "any", line.ready, line.waiting, format_served(line)) for line in lanes
        ]
        put_table(("lane", "region", "ready", "waiting", "workers"), waits, right=("ready", "waiting"))
    if now.lanes:
        print()
        rates = [
            (one.lanes, one.region or "none", f"{one.pages[0]:.1f}", f"{one.pages[1]:.1f}")
            for one in now.lanes
        ]
        put_table(
            ("lanes of workers", "region", "pages/s in 1 min", "in 10 min"),
            rates,
            right=("pages/s in 1 min", "in 10 min"),
        )


def current_rows(summary: Summary, now: Current) -> list[tuple[str, str]]:
    """Returns table rows that describe the current activity of a crawl. Each row consists of a label and a
    value."""
    from gossamer.config.value_texts import format_duration
    from gossamer.frontier.crawls import UNDER_WAY

    rows = []
    if summary.state in UNDER_WAY:
        last = (
            "no page yet"
            if now.last_page_age is None
            else f"last page {format_duration(int(now.last_page_age))} ago"
        )
        rows.append(("now", f"{now.pages[0]:.1f} pages/s in 1 min, {now.pages[1]:.1f} in 10 min; {last}"))
    if now.response is not None:
        one = now.response
        rows.append(
            (
                "responses",
                f"{one.mean:.3f} s on average, half within {one.p50:.3f} s, 95% within {one.p95:.3f} s",
            )
        )
    return [*rows, *([("idle because", now.idle.text)] if now.idle is not None else [])]


def format_served(line: HeapLine) -> str:
    """Returns the number of workers that serve the hosts of a lane and region, as text. If no worker serves
    the hosts, returns the reason and a command that helps."""
    if line.workers is None:
        return "its own"
    region = f" --region {line.region}" if line.region else ""
    if not line.stranded:
        return str(line.workers)
    lane, files = line.lane.partition("+")[0], f"the fleet's files of {', '.join(line.sites)}"
    if line.lacking:
        serve = "1 worker serves" if line.lacking == 1 else f"{line.lacking} workers serve"
        lack = "lacks" if line.lacking == 1 else "lack"
        return (
            f"none: {serve} lane {lane}, but {lack} {files if line.sites else 'files of the crawl'}: "
            "see gossamer workers list"
        )
    with_files = f" that has {files}: see gossamer workers list" if line.sites else ""
    return f"none: start one with gossamer worker --lane {lane}{region}{with_files}"


async def stranded_findings(store: Store) -> list[Finding]:
    """Returns one `doctor` finding for each lane and region of a running crawl in which hosts wait without a
    worker."""
    from gossamer.cli.doctor_findings import Finding
    from gossamer.frontier.crawls import Crawls
    from gossamer.state.lane_backlog import heaps_of_crawl

    crawls = Crawls(store)
    records = [(name, await crawls.get(name)) for name in await crawls.names()]
    going = [
        name for name, record in records if record is not None and record.fleet and record.state == "running"
    ]
    return [
        Finding(
            "workers",
            "warn",
            f"hosts of {name} that wait in lane {line.lane}: {line.ready + line.waiting}",
            format_served(line),
        )
        for name in going
        for line in await heaps_of_crawl(store, name)
        if line.stranded
    ]

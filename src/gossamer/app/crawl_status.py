"""Reads everything that is known about the state of a crawl. The command `gossamer status` and the operations of
the API show the same values."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from gossamer.app.steering import continue_command
from gossamer.config.settings import Settings
from gossamer.frontier import producer_positions
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import Record
from gossamer.frontier.stats import CrawlStatistics, HostLine
from gossamer.frontier.summary import expected_lost
from gossamer.model.summary import Summary
from gossamer.observability.crawl_activity import Current, current_figures
from gossamer.observability.process_levels import ProcessLevel, process_levels
from gossamer.state.lane_backlog import HeapLine, heaps_of_crawl
from gossamer.state.malformed_messages import MalformedMessages, malformed_text
from gossamer.state.workers import Refusals
from gossamer.store.store import Store

SHOWN_HOSTS = 10
"""Number of hosts that the state of a crawl lists."""


class CrawlState(NamedTuple):
    """The state of one crawl. Its size does not depend on the number of pages."""

    summary: Summary
    record: Record
    unfinished: dict[str, Any]
    """The result of `broken_off`."""
    now: Current
    hosts: list[HostLine]
    """The hosts that fail or wait most."""
    levels: list[ProcessLevel]
    refusals: dict[str, str]
    expected_lost: float
    lanes: list[HeapLine]

    def plain(self) -> dict[str, Any]:
        """Returns the values as `status CRAWL --json` prints them."""
        return {
            **msgspec.to_builtins(self.summary),
            **self.unfinished,
            "now": self.now.plain(),
            "slowest_hosts": [host._asdict() for host in self.hosts],
            "workers": {one.process: one.plain() for one in self.levels},
            "refusals": self.refusals,
            "expected_lost": self.expected_lost,
            "weight": self.record.weight,
            "precedence": self.record.precedence,
            "lanes": [{**line._asdict(), "stranded": line.stranded} for line in self.lanes],
        }


async def crawl_state(statistics: CrawlStatistics, settings: Settings, name: str) -> CrawlState:
    """Returns the state of a crawl. Raises UsageError if the crawl does not exist."""
    summary = await read_summary(statistics, settings, name)
    return CrawlState(
        summary,
        await statistics.crawls.need(name),
        await broken_off(statistics, name),
        await current_figures(statistics, summary),
        await statistics.hosts(name, SHOWN_HOSTS, "failing"),
        await process_levels(statistics.store, [name], await statistics.now()),
        await Refusals(statistics.store).of(name),
        round(await expected_lost(statistics.store, name), 3),
        await heaps_of_crawl(statistics.store, name),
    )


class CrawlLine(NamedTuple):
    """One crawl in the list of all crawls."""

    summary: Summary
    unfinished: dict[str, Any]
    """The result of `broken_off`."""
    now: Current

    def plain(self) -> dict[str, Any]:
        """Returns the values as `status --json` prints them."""
        return {**msgspec.to_builtins(self.summary), **self.unfinished, "now": self.now.plain()}


async def crawl_line(statistics: CrawlStatistics, settings: Settings, name: str) -> CrawlLine:
    """Returns the line of a crawl in the list of all crawls."""
    summary = await read_summary(statistics, settings, name)
    return CrawlLine(summary, await broken_off(statistics, name), await current_figures(statistics, summary))


async def malformed_message(store: Store) -> str:
    """Returns a message about the malformed messages that the fleet's workers rejected. Returns '' if no
    message was rejected."""
    messages = MalformedMessages(store)
    count = await messages.count()
    return malformed_text(count, await messages.newest(1)) if count else ""


async def read_summary(statistics: CrawlStatistics, settings: Settings, name: str) -> Summary:
    """Returns the summary of a crawl. If the store lists the crawl as running but the crawl's process has
    died, the state in the summary is `stopped`."""
    summary = await statistics.summary(name)
    record = await statistics.crawls.need(name)
    if summary.state in ("running", "paused", "stopping", "cancelling") and not is_running(
        record, settings.data
    ):
        summary.state, summary.reason = "stopped", "its process died; the same command continues it"
    return summary


async def broken_off(statistics: CrawlStatistics, name: str) -> dict[str, Any]:
    """Returns a dict with two keys. `broken_off`: the names of the unfinished producers, for example of long
    seed lists. This list is empty while any producer is running, and after the crawl has ended for good.
    `go_on`: the command that continues the unfinished producers, or None if there are none."""
    record = await statistics.crawls.need(name)
    over = record.state in ("finished", "limited", "cancelled")
    left = [] if over else await producer_positions.unfinished_producers(statistics.store, name)
    return {"broken_off": left, "go_on": continue_command(record) if left else None}

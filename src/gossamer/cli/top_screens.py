"""What `gossamer top` shows: snapshots of the crawls, workers and hosts of a store, as values and as lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.frontier.stats import HostLine
    from gossamer.model.summary import Summary
    from gossamer.observability.crawl_activity import Current
    from gossamer.store.store import Store

UPDATE_INTERVAL_S = 1.0
SORTS = ("waiting", "delay", "next", "host", "in_flight")
NUMBERS = (
    "pages/s",
    "10 min",
    "pages",
    "pending",
    "failed",
    "dead",
    "processes",
    "memory",
    "waiting",
    "in flight",
    "delay",
    "next in",
)
"""Headings of the columns whose values are aligned to the right."""
SHOWN_HOSTS, MAX_HOSTS = 8, 1000
"""The busiest hosts that are shown, and the hosts among which a filter searches."""


class TopSnapshots:
    """Takes snapshots of the crawls and workers in a store."""

    def __init__(self, store: Store, name: str | None) -> None:
        from gossamer.frontier.stats import CrawlStatistics

        self._store, self._name, self._statistics = store, name, CrawlStatistics(store)
        self.sort = SORTS[0]
        self.names = [] if name is None else [name]
        """The only crawl that is shown, or nothing."""

    def sort_by_next(self) -> None:
        """Changes the column by which the hosts are sorted to the next column in SORTS."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]

    async def _see(
        self, text: str = ""
    ) -> tuple[list[tuple[Summary, Current]], list[Any], list[HostOfCrawl]]:
        from gossamer.frontier.crawls import UNDER_WAY
        from gossamer.observability.crawl_activity import current_figures
        from gossamer.state.workers import WorkerRecords

        statistics = self._statistics
        names = [self._name] if self._name is not None else await statistics.crawls.names()
        found = []
        for name in names:
            summary = await statistics.summary(name)
            found.append((summary, await current_figures(statistics, summary)))
        hosts = []
        for summary, _ in found:
            if summary.state in UNDER_WAY:
                some = await statistics.hosts(summary.crawl, MAX_HOSTS if text else SHOWN_HOSTS, self.sort)
                fits = [one for one in some if text in one.host]
                hosts += [HostOfCrawl(summary.crawl, one) for one in fits[:SHOWN_HOSTS]]
        if text:
            named = {one.crawl for one in hosts}
            found = [one for one in found if text in one[0].crawl or one[0].crawl in named]
        return found, await WorkerRecords(self._store).all(), hosts

    async def plain(self) -> dict[str, Any]:
        """Returns a snapshot as a dict of values that JSON supports."""
        import msgspec

        crawls, workers, hosts = await self._see()
        return {
            "crawls": [
                {**msgspec.to_builtins(summary), "rate": round(now.pages[0], 2), "now": now.plain()}
                for summary, now in crawls
            ],
            "workers": [msgspec.to_builtins(worker) for worker in workers],
            "hosts": [one.line._asdict() for one in hosts],
        }

    async def overview(self, width: int, paint: Callable[[str, str], str], text: str = "") -> Screen:
        """Returns the crawls, the workers and the busiest hosts. `text`: only crawls and hosts whose names contain
        it."""
        crawls, workers, hosts = await self._see(text)
        screen = Screen()
        rows = [_crawl_row(*one) for one in crawls]
        named = [Place("crawl", one[0].crawl) for one in crawls]
        screen.table(CRAWL_HEADS, rows, ("failed", "dead", "10 min", "time"), width, paint, named)
        rows = [_worker_row(one) for one in workers]
        screen.table(WORKER_HEADS, rows, ("version", "memory", "processes"), width, paint)
        self._add_hosts(screen, hosts, width, paint)
        if not screen.lines:
            screen.lines.append(f"nothing matches {text}" if text else "there is no crawl yet")
        return screen

    async def crawl(self, name: str, width: int, paint: Callable[[str, str], str], text: str = "") -> Screen:
        """Returns the counts of one crawl and its busiest hosts."""
        from gossamer.cli.status import current_rows
        from gossamer.cli.summaries import summary_rows
        from gossamer.observability.crawl_activity import current_figures

        summary = await self._statistics.summary(name)
        now, screen = await current_figures(self._statistics, summary), Screen()
        screen.table((), [*summary_rows(summary), *current_rows(summary, now)], (), width, paint)
        found = await self._statistics.hosts(name, MAX_HOSTS if text else SHOWN_HOSTS, self.sort)
        fits = [HostOfCrawl(name, one) for one in found if text in one.host]
        self._add_hosts(screen, fits[:SHOWN_HOSTS], width, paint)
        return screen

    async def host(
        self, settings: Settings, host: str, width: int, paint: Callable[[str, str], str]
    ) -> Screen:
        """Returns the state of one host."""
        from gossamer.app.host_state import host_state
        from gossamer.cli.hosts import state_rows

        screen = Screen()
        view = (await host_state(self._store, settings, host)).view
        screen.table((), [*state_rows(view)], (), width, paint)
        return screen

    def _add_hosts(
        self, screen: Screen, hosts: list[HostOfCrawl], width: int, paint: Callable[[str, str], str]
    ) -> None:
        named = [Place("host", one.line.host) for one in hosts]
        rows = [_host_row(one.line) for one in hosts]
        screen.table(HOST_HEADS, rows, ("why", "next in", "in flight"), width, paint, named)


class HostOfCrawl(NamedTuple):
    """A host of a crawl."""

    crawl: str
    line: HostLine


class Place(NamedTuple):
    """What a line of the screen leads to. `kind`: `crawl` or `host`."""

    kind: str
    name: str


class Screen:
    """Lines of text. `places`: what some of them lead to, by the number of the line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: dict[int, Place] = {}

    def table(
        self,
        heads: tuple[str, ...],
        rows: list[Any],
        least: tuple[str, ...],
        width: int,
        paint: Callable[[str, str], str],
        places: list[Place] | None = None,
    ) -> None:
        """Adds a table, which is narrowed to at most `width` columns, if possible. `places`: what its rows lead to."""
        from gossamer.cli.printing import clean_line
        from gossamer.cli.tables import FittedTable

        if not rows:
            return
        cells = [[clean_line(cell) for cell in row] for row in rows]
        table = FittedTable(heads, cells, right=NUMBERS, least=least)
        table.fit(width)
        first = len(self.lines) + bool(self.lines)
        self.lines += [*([""] if self.lines else []), *table.lines(paint)]
        for number, place in enumerate(places or ()):
            self.places[first + 1 + number] = place


CRAWL_HEADS = (
    *("crawl", "state", "pages/s", "10 min", "pages", "pending", "failed", "dead", "time"),
    "idle because, or errors",
)
WORKER_HEADS = ("worker", "state", "lanes", "processes", "memory", "version")
HOST_HEADS = ("host", "state", "waiting", "in flight", "delay", "next in", "why")


def _crawl_row(s: Summary, now: Current) -> tuple[object, ...]:
    from gossamer.config.value_texts import format_counts, format_duration

    counts = (f"{now.pages[0]:.1f}", f"{now.pages[1]:.1f}", s.pages, s.pending, s.failed, s.dead)
    why = now.idle.text if now.idle is not None else format_counts(s.errors)
    return (s.crawl, s.state, *counts, format_duration(int(s.elapsed)), why)


def _worker_row(worker: Any) -> tuple[object, ...]:
    from gossamer.config.value_texts import format_bytes

    lanes, memory = ",".join(worker.lanes), format_bytes(worker.memory)
    return worker.name, worker.state, lanes, worker.processes, memory, worker.version


def _host_row(host: HostLine) -> tuple[object, ...]:
    from gossamer.config.value_texts import format_duration
    from gossamer.politeness.pace import why_delay

    why = why_delay(host.delay, host.pace, host.fixed_delay, host.crawl_delay) if host.delay else None
    every, soon = format_duration(host.delay), format_duration(host.next)
    return host.host, host.state, host.waiting, host.in_flight, every, soon, why

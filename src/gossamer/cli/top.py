"""`gossamer top`: a live view of crawls, workers and the busiest hosts. On a pipe, it prints a JSON line
every 10 s."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
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

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.model.summary import Summary
    from gossamer.store.store import Store

UPDATE_INTERVAL_S = 1.0
SHOWN_HOSTS = 8
RATE_UPDATES = 10


def top(
    crawl: MaybeCrawl = None,
    once: Annotated[bool, Option("--once", help="One look, then end.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Watch crawls, workers and hosts; Ctrl-C ends the watching, not the crawls."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_top(read_settings(data, store, setting), crawl, once, as_json))
    return 0


async def _top(settings: Settings, name: str | None, once: bool, as_json: bool) -> None:
    from gossamer.cli.printing import console, is_plain_stderr, put_json

    async with open_existing_store(settings) as store:
        looks = TopSnapshots(store, name)
        if is_plain_stderr() or once or as_json:
            while True:
                if not await looks.wait_and_show(looks.plain, put_json, once):
                    continue
                if once:
                    return
                await asyncio.sleep(UPDATE_INTERVAL_S * 10)
        from rich.live import Live

        with Live(console=console(stderr=True), auto_refresh=False, screen=True) as live:
            while True:
                await looks.wait_and_show(looks.drawn, lambda found: live.update(found, refresh=True), False)
                await asyncio.sleep(UPDATE_INTERVAL_S)


class TopSnapshots:
    """Takes snapshots of the crawls and workers in a store."""

    def __init__(self, store: Store, name: str | None) -> None:
        self._store, self._name = store, name
        self._pages: dict[str, deque[tuple[float, int]]] = {}
        self._away = False

    async def wait_and_show(
        self, look: Callable[[], Awaitable[Any]], show: Callable[[Any], None], once: bool
    ) -> bool:
        """Takes a snapshot and shows it. If the store does not answer, reports that once, waits a second and
        returns False. With `once`, raises the error instead."""
        from gossamer.cli.printing import remark
        from gossamer.errors import Away

        try:
            found = await look()
        except Away as error:
            if once:
                raise
            if not self._away:
                remark(f"{error}; waiting for it")
            self._away = True
            await asyncio.sleep(UPDATE_INTERVAL_S)
            return False
        if self._away:
            remark("the store answers again")
        self._away = False
        show(found)
        return True

    async def _see(self) -> tuple[list[tuple[Summary, float]], list[Any], list[Any]]:
        from gossamer.frontier.crawls import UNDER_WAY
        from gossamer.frontier.stats import CrawlStatistics
        from gossamer.state.workers import WorkerRecords

        census, now = CrawlStatistics(self._store), asyncio.get_running_loop().time()
        names = [self._name] if self._name is not None else await census.crawls.names()
        found = []
        for name in names:
            await census.crawls.need(name)
            summary = await census.summary(name)
            seen = self._pages.setdefault(name, deque(maxlen=RATE_UPDATES))
            seen.append((now, summary.pages))
            (then, pages), gone = seen[0], now - seen[0][0]
            found.append((summary, (summary.pages - pages) / gone if gone > 0 else 0.0))
            del then
        hosts = []
        for summary, _ in found:
            if summary.state in UNDER_WAY:
                hosts += await census.hosts(summary.crawl, SHOWN_HOSTS)
        return found, await WorkerRecords(self._store).all(), hosts

    async def plain(self) -> dict[str, Any]:
        """Returns a snapshot as plain values."""
        import msgspec

        crawls, workers, hosts = await self._see()
        return {
            "crawls": [{**msgspec.to_builtins(summary), "rate": round(rate, 2)} for summary, rate in crawls],
            "workers": [msgspec.to_builtins(worker) for worker in workers],
            "hosts": [host._asdict() for host in hosts],
        }

    async def drawn(self) -> Any:
        """Returns a snapshot as tables."""
        from rich.console import Group
        from rich.text import Text

        from gossamer.cli.printing import clean_line, format_bytes, format_counts, format_duration

        crawls, workers, hosts = await self._see()
        lines = [
            _table(
                ("crawl", "state", "pages/s", "pages", "pending", "failed", "dead", "time", "errors"),
                [
                    (
                        s.crawl,
                        s.state,
                        f"{rate:.1f}",
                        s.pages,
                        s.pending,
                        s.failed,
                        s.dead,
                        format_duration(s.elapsed),
                        format_counts(s.errors),
                    )
                    for s, rate in crawls
                ],
            ),
            Text(),
            _table(
                ("worker", "state", "lanes", "processes", "memory", "version"),
                [
                    (w.name, w.state, ",".join(w.lanes), w.processes, format_bytes(w.memory), w.version)
                    for w in workers
                ],
            ),
            Text(),
            _table(
                ("host", "state", "waiting", "in flight", "delay"),
                [(clean_line(h.host), h.state, h.waiting, h.in_flight, h.delay) for h in hosts],
            ),
        ]
        return Group(*lines)


def _table(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from gossamer.cli.printing import clean_line

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        grid.add_column(head, no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(clean_line(cell)) for cell in row))
    return grid

"""`gossamer top`: shows a live view of crawls, workers and the busiest hosts, and reacts to keys. If stderr
is not a terminal, prints one line of JSON every 10 s."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
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
    from gossamer.frontier.stats import HostLine
    from gossamer.model.summary import Summary
    from gossamer.observability.crawl_activity import Current
    from gossamer.store.store import Store

UPDATE_INTERVAL_S = 1.0
KEYS = "q quit   p pause or continue   s sort hosts   space refresh"
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
SHOWN_HOSTS = 8


def top(
    crawl: MaybeCrawl = None,
    once: Annotated[bool, Option("--once", help="One look, then end.")] = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Watch crawls, workers and hosts. Keys: q quit, p pause, s sort, space refresh."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_top(read_settings(data, store, setting), crawl, once, as_json))
    return 0


async def _top(settings: Settings, name: str | None, once: bool, as_json: bool) -> None:
    from gossamer.cli.printing import is_plain_stderr

    async with open_existing_store(settings) as store:
        snapshots = TopSnapshots(store, name)
        if is_plain_stderr() or once or as_json:
            await _print_lines(snapshots, once)
        else:
            await TopView(snapshots, settings).run()


async def _print_lines(snapshots: TopSnapshots, once: bool) -> None:
    """Prints a snapshot as one line of JSON every 10 s. If `once` is true, prints only one snapshot. During
    an outage of the store, prints a message and waits until the store responds again."""
    from gossamer.cli.printing import put_json, remark
    from gossamer.errors import Away

    away = False
    while True:
        try:
            found = await snapshots.plain()
        except Away as error:
            if once:
                raise
            if not away:
                remark(f"{error}; waiting for it")
            away = True
            await asyncio.sleep(UPDATE_INTERVAL_S)
            continue
        if away:
            remark("the store answers again")
        away = False
        put_json(found)
        if once:
            return
        await asyncio.sleep(UPDATE_INTERVAL_S * 10)


class TopView:
    """Shows the live view on a terminal. The live view fills the screen. When the live view ends, the
    terminal displays its previous screen again."""

    def __init__(self, snapshots: TopSnapshots, settings: Settings) -> None:
        self._snapshots, self._settings = snapshots, settings
        self._message = ""
        """The message in the bottom line. The message describes the effect of the last key, or the reason why
        nothing is shown."""

    async def run(self) -> None:
        """Shows the live view until the user presses q."""
        from gossamer.cli.keys import pressed_keys

        resized = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, resized.set)
        with _whole_screen(), pressed_keys() as keys:
            while True:
                await self._refresh()
                resized.clear()
                key, size = asyncio.ensure_future(keys.get()), asyncio.ensure_future(resized.wait())
                await asyncio.wait(
                    (key, size), timeout=UPDATE_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED
                )
                pressed = key.result() if key.done() else ""
                key.cancel()
                size.cancel()
                if pressed == "q":
                    return
                await self._press(pressed)

    async def _press(self, key: str) -> None:
        from gossamer.errors import GossamerError

        if key == "s":
            self._snapshots.sort_by_next()
            self._message = f"hosts sorted by {self._snapshots.sort.replace('_', ' ')}"
        elif key == "p":
            try:
                self._message = await self._snapshots.toggle_pause(self._settings)
            except GossamerError as error:
                self._message = str(error)
        elif key == " ":
            self._message = ""

    async def _refresh(self) -> None:
        from gossamer.cli.terminal import columns_now, has_colours, painter
        from gossamer.errors import Away

        width = columns_now(sys.stderr) - 1
        paint = painter(has_colours(sys.stderr))
        try:
            lines = await self._snapshots.lines(width, paint)
        except Away as error:
            lines, self._message = [], f"{error}; waiting for it"
        _show_screen(lines, self._message, paint)


@contextlib.contextmanager
def _whole_screen() -> Iterator[None]:
    """Switches to the terminal's alternate screen, and back to the normal screen at the end."""
    sys.stderr.write("\x1b[?1049h\x1b[?25l")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\x1b[?25h\x1b[?1049l")
        sys.stderr.flush()


def _show_screen(lines: list[str], message: str, paint: Callable[[str, str], str]) -> None:
    """Redraws the screen. The message and the list of keys are at the bottom."""
    from gossamer.cli.printing import clean_line
    from gossamer.cli.terminal import columns_now, cut_end, rows_now

    width, rows = columns_now(sys.stderr) - 1, rows_now(sys.stderr)
    shown = lines[: max(0, rows - 2)]
    shown += [""] * (rows - 2 - len(shown))
    shown.append(paint(cut_end(clean_line(message), width), "magenta"))
    shown.append(paint(cut_end(KEYS, width), "bold"))
    painted = "\n".join(f"{line}\x1b[K" for line in shown)
    sys.stderr.write(f"\x1b[?2026h\x1b[H{painted}\x1b[?2026l")
    sys.stderr.flush()


class TopSnapshots:
    """Takes snapshots of the crawls and workers in a store."""

    def __init__(self, store: Store, name: str | None) -> None:
        from gossamer.frontier.stats import CrawlStatistics

        self._store, self._name, self._census = store, name, CrawlStatistics(store)
        self.sort = SORTS[0]

    def sort_by_next(self) -> None:
        """Changes the column by which the hosts are sorted to the next column in SORTS."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]

    async def toggle_pause(self, settings: Settings) -> str:
        """Pauses a running crawl, or continues a paused crawl. Returns a message that describes the
        change."""
        from gossamer.app.steering import toggle_pause
        from gossamer.frontier.crawls import UNDER_WAY, Crawls

        crawls = Crawls(self._store)
        names = [self._name] if self._name is not None else await crawls.names()
        going = [name for name in names if (await crawls.need(name)).state in UNDER_WAY]
        if not going:
            return "no crawl runs"
        if len(going) > 1:
            return "several crawls run: gossamer top CRAWL pauses one"
        return await toggle_pause(crawls, going[0], settings)

    async def _see(self) -> tuple[list[tuple[Summary, Current]], list[Any], list[Any]]:
        from gossamer.frontier.crawls import UNDER_WAY
        from gossamer.observability.crawl_activity import current_figures
        from gossamer.state.workers import WorkerRecords

        census = self._census
        names = [self._name] if self._name is not None else await census.crawls.names()
        found = []
        for name in names:
            summary = await census.summary(name)
            found.append((summary, await current_figures(census, summary)))
        hosts = []
        for summary, _ in found:
            if summary.state in UNDER_WAY:
                hosts += await census.hosts(summary.crawl, SHOWN_HOSTS, self.sort)
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
            "hosts": [host._asdict() for host in hosts],
        }

    async def lines(self, width: int, paint: Callable[[str, str], str]) -> list[str]:
        """Returns a snapshot as lines of text: a table of crawls, a table of workers and a table of hosts.
        Each table is narrowed to at most `width` columns, if possible."""
        from gossamer.cli.printing import clean_line
        from gossamer.cli.tables import FittedTable

        crawls, workers, hosts = await self._see()
        tables = (
            (CRAWL_HEADS, [_crawl_row(*one) for one in crawls], ("failed", "dead", "10 min", "time")),
            (WORKER_HEADS, [_worker_row(one) for one in workers], ("version", "memory", "processes")),
            (HOST_HEADS, [_host_row(one) for one in hosts], ("why", "next in", "in flight")),
        )
        found: list[str] = []
        for heads, rows, least in tables:
            if rows:
                cells = [[clean_line(cell) for cell in row] for row in rows]
                table = FittedTable(heads, cells, right=NUMBERS, least=least)
                table.fit(width)
                found += [*([""] if found else []), *table.lines(paint)]
        return found or ["there is no crawl yet"]


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

"""The progress of a crawl on stderr: a live table on a terminal, a JSON line every 10 s on a pipe."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from gossamer.app.outcome import RETRYABLE
from gossamer.cli.printing import (
    clean_line,
    console,
    format_bytes,
    format_counts,
    format_duration,
    is_plain_stderr,
    remark,
)
from gossamer.cli.summaries import format_share

if TYPE_CHECKING:
    from gossamer.app.runner import Live
    from gossamer.frontier.stats import Retries
    from gossamer.model.summary import Summary

LINE_INTERVAL_S = 10.0
SHOWN_HOSTS = 5


class Progress(Protocol):
    """Shows the progress of a crawl. `seen` is whether any progress was shown."""

    seen: bool

    def show(self, live: Live) -> None: ...

    def close(self) -> None: ...


def progress() -> Progress:
    """Returns the kind of progress display that suits stderr."""
    return Lines() if is_plain_stderr() else LiveTable()


class Lines:
    """Prints one JSON line every 10 s."""

    def __init__(self) -> None:
        self.seen = False
        self._next = time.monotonic() + LINE_INTERVAL_S
        self._told = False

    def show(self, live: Live) -> None:
        """Prints a line if 10 s have passed. Reports once why no page came yet."""
        self.seen = True
        if not self._told and (why := why_no_page(live)):
            self._told = True
            remark(why)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LINE_INTERVAL_S
        import msgspec

        s = live.summary
        line = {
            "crawl": s.crawl,
            "state": s.state,
            "elapsed": round(s.elapsed, 1),
            "found": s.found,
            "pages": s.pages,
            "pending": s.pending,
            "in_flight": live.in_flight,
            "failed": s.failed,
            "dead": s.dead,
            "items": s.items,
            "rejected": s.rejected,
            "retried": s.retried,
            "bytes": s.bytes,
            "pages_per_second": round(live.rate, 2),
            "retries": live.retries.urls,
            "left": None if live.left is None else round(live.left),
            "skipped": s.skipped,
            "errors": s.errors,
            "slowest_hosts": [host[0] for host in live.hosts[:SHOWN_HOSTS]],
        }
        print(msgspec.json.encode(line).decode(), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Does nothing, because the lines need no cleanup."""


class LiveTable:
    """Shows a few lines on a terminal and redraws them."""

    def __init__(self) -> None:
        self.seen = False
        self._live: Any = None

    def show(self, live: Live) -> None:
        """Redraws the lines."""
        from rich.live import Live as Redraw

        self.seen = True
        if self._live is None:
            self._live = Redraw(console=console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(draw_lines(live), refresh=True)

    def close(self) -> None:
        """Stops redrawing and clears the lines."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def draw_lines(live: Live) -> Any:
    """Returns the lines in a form that rich prints."""
    from rich.console import Group
    from rich.text import Text

    s = live.summary
    left = f", about {format_duration(live.left)} left" if live.left is not None and s.pending else ""
    skipped = sum(s.skipped.values())
    parts = [
        Text(f"{clean_line(s.crawl)}: {s.state} for {format_duration(s.elapsed)}{left}", style="bold"),
        Text(
            f"{s.pages} pages, {live.rate:.1f} pages/s, {format_bytes(s.bytes)}, {s.items} items{_aside(s)}"
        ),
        Text(
            f"{live.queue} queued, {live.in_flight} in flight, {s.retried} retried, {s.dead} "
            f"dead, {skipped} skipped"
        ),
    ]
    if s.errors:
        parts.append(Text(f"errors: {format_counts(s.errors)}", style="red"))
    if live.retries.urls:
        parts.append(Text(waiting_line(live.retries), style="yellow"))
    if why := why_no_page(live):
        parts.append(Text(why, style="red"))
    busy = [host for host in live.hosts if host[2:4] != ("0", "0")]
    parts += [Text(clean_line(_host(host)), style="dim") for host in busy[:SHOWN_HOSTS]]
    return Group(*parts)


def waiting_line(retries: Retries) -> str:
    """Returns how many URLs wait for a retry, and until when."""
    urls = "1 URL waits" if retries.urls == 1 else f"{retries.urls} URLs wait"
    last = f", last in {format_duration(retries.last)}" if retries.last > retries.next + 1 else ""
    return f"{urls} for a retry, next in {format_duration(retries.next)}{last}"


def why_no_page(live: Live) -> str:
    """Returns why no page came yet. Returns '' if a page came or the reason is unknown."""
    if live.silent is None or not live.summary.pending:
        return ""
    host, error = live.silent
    todo = RETRYABLE.get(error, "see gossamer status")
    return (
        f"no page yet: {clean_line(host)} gives {error}: {todo}; it is retried after the waits of --retries, "
        "and Ctrl-C keeps it for later"
    )


def _aside(s: Summary) -> str:
    """Formats the number of rejected items and the quality of the worst site."""
    words = f", {s.rejected} rejected" if s.rejected else ""
    worst = min((one.quality for one in s.sites.values()), default=1.0)
    return words + (f", quality {format_share(worst)}" if worst < 1 else "")


def _host(line: tuple[str, ...]) -> str:
    """Formats a `stats.HostLine` whose fields are texts."""
    host, state, waiting, in_flight, delay, after = line
    every = f", every {float(delay):.2g} s" if delay not in ("None", "0.0") else ""
    soon = f", next in {float(after):.1f} s" if float(after) else ""
    return f"{host}: {state}, {waiting} waiting, {in_flight} in flight{every}{soon}"

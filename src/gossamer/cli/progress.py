"""Shows the progress of a crawl on stderr: as live lines on a terminal, otherwise as a JSON line every 10
s."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gossamer.cli.printing import is_plain_stderr, remark
from gossamer.observability import logs

if TYPE_CHECKING:
    from gossamer.app.runner import Live

LINE_INTERVAL_S = 10.0
SHOWN_HOSTS = 5


class Progress(Protocol):
    """Shows the progress of a crawl. `seen`: whether any progress has been shown. `key`: the key that ends the
    wait for retries, or '' if no keys are read."""

    seen: bool
    key: str

    def show(self, live: Live) -> None: ...

    def repaint(self) -> None: ...

    def close(self) -> None: ...


def progress(data: Path, began: float, *, rows_on_terminal: bool = False) -> Progress:
    """Returns the kind of progress display that suits stderr. `data`: the data folder. `began`: the start of
    the run, in seconds since the epoch. `rows_on_terminal`: whether the terminal that shows the progress also
    shows rows."""
    if logs.started() is not None or is_plain_stderr() or rows_on_terminal:
        return Lines()
    from gossamer.cli.live_display import LiveDisplay

    return LiveDisplay(data, began)


class Lines:
    """Prints one JSON line every 10 s."""

    def __init__(self) -> None:
        self.seen, self.key = False, ""
        self._told_wait = False
        self._next = time.monotonic() + LINE_INTERVAL_S
        self._told = False

    def show(self, live: Live) -> None:
        """Prints a line if the last line is at least 10 s old. Reports once why the crawl has no page yet, and once
        that only retries are left, with the end of the wait."""
        self.seen = True
        if not self._told and live.silent is not None:
            from gossamer.cli.crawl_view import why_no_page

            if why := why_no_page(live):
                self._told = True
                remark(why)
        if live.only_retries and not self._told_wait:
            from gossamer.cli.crawl_view import waiting_retries

            remark(f"only retries are left: {waiting_retries(live)}")
        self._told_wait = live.only_retries
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
            "slowest_hosts": [host.host for host in live.hosts[:SHOWN_HOSTS]],
        }
        if logs.started() is None:
            print(msgspec.json.encode(line).decode(), file=sys.stderr, flush=True)
        else:
            logs.log_event("progress", **line)

    def repaint(self) -> None:
        """Does nothing, because the lines do not depend on a width."""

    def close(self) -> None:
        """Does nothing, because the lines need no cleanup."""

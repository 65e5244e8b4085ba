"""Prints the progress of a crawl for the option `progress=True`. On a terminal and in a notebook, one line is
updated in place. Other streams receive a new line every ten seconds. Without that option, a crawl only logs that
it waits for retries."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.app.runner import Live

INTERVAL_S = 10.0
"""Seconds between two lines if a line cannot be updated in place."""


MIN_WAIT_S = 2.0
"""A shorter wait for a retry is not logged."""
_log = logging.getLogger("gossamer.crawl")


def log_warning(line: str) -> None:
    """Logs a warning of a crawl, which the command line would print."""
    _log.warning("%s", line)


class RetryNotice:
    """Logs one line whenever all URLs of a crawl that are left wait for a retry."""

    def __init__(self) -> None:
        self._waits = False

    def __call__(self, live: Live) -> None:
        """Logs a line if the wait has just begun."""
        retries, summary = live.retries, live.summary
        before = self._waits
        self._waits = 0 < summary.pending <= retries.urls and not live.in_flight
        if self._waits and not before and retries.next >= MIN_WAIT_S:
            urls = "1 URL waits" if retries.urls == 1 else f"{retries.urls} URLs wait"
            why = f" ({live.silent[0]}: {live.silent[1]})" if live.silent is not None else ""
            last = f", last in {retries.last:.0f} s" if retries.last > retries.next + 1 else ""
            _log.warning(
                "%s: %s for a retry%s, next in %.0f s%s; retries= sets the waits",
                *(summary.crawl, urls, why, retries.next, last),
            )

    def close(self) -> None:
        """Does nothing, because a line of the log is complete."""


class ProgressLine:
    """Writes the progress of a crawl to stderr."""

    def __init__(self) -> None:
        kernel = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        self._in_place = sys.stderr.isatty() or kernel is not None
        self._next = 0.0
        self._width = 0
        self._notice = RetryNotice()

    def __call__(self, live: Live) -> None:
        """Updates the progress line in place. If stderr cannot update a line, prints a new line every
        INTERVAL_S seconds."""
        self._notice(live)
        now = time.monotonic()
        if self._in_place:
            line = text(live)
            sys.stderr.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        elif now >= self._next:
            self._next = now + INTERVAL_S
            sys.stderr.write(f"{text(live)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Ends the progress line with a line break."""
        if self._in_place and self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()


def text(live: Live) -> str:
    """Formats the state of a crawl as one line of text."""
    summary = live.summary
    parts = [f"{summary.crawl}: {summary.pages} pages"]
    if summary.items:
        parts.append(f"{summary.items} items")
    parts += [f"{live.queue} waiting", f"{live.rate:.1f} pages/s"]
    if summary.errors:
        parts.append(f"{sum(summary.errors.values())} errors")
    if live.left is not None:
        parts.append(f"about {live.left:.0f} s left")
    return ", ".join(parts)

"""Prints the progress of a crawl for the option `progress=True`. On a terminal and in a notebook, one line is
updated in place. Other streams receive a new line every ten seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.app.runner import Live

INTERVAL_S = 10.0
"""Seconds between two lines if a line cannot be updated in place."""


class ProgressLine:
    """Writes the progress of a crawl to stderr."""

    def __init__(self) -> None:
        kernel = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        self._in_place = sys.stderr.isatty() or kernel is not None
        self._next = 0.0
        self._width = 0

    def __call__(self, live: Live) -> None:
        """Updates the progress line in place. If stderr cannot update a line, prints a new line every
        INTERVAL_S seconds."""
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

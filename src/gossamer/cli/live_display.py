"""Shows the progress of a crawl in live lines on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.cli.crawl_view import Signs, crawl_lines
from gossamer.cli.live_lines import LiveLines
from gossamer.cli.responses import Responses
from gossamer.cli.terminal import has_colours, painter, shows

if TYPE_CHECKING:
    from gossamer.app.runner import Live


class LiveDisplay:
    """Shows a few lines on a terminal and repaints them in place."""

    def __init__(self, data: Path, began: float) -> None:
        """`data` is the data folder. `began` is the start of the run, in seconds since the epoch."""
        self.seen = False
        self.key = ""
        self._data, self._began = data, began
        self._screen = LiveLines(sys.stderr)
        self._responses: Responses | None = None
        self._live: Live | None = None
        self._signs = Signs(plain=not shows(sys.stderr, "━─…"))
        self._paint = painter(has_colours(sys.stderr))

    def show(self, live: Live) -> None:
        """Repaints the lines."""
        self.seen = True
        self._live = live
        if self._responses is None:
            self._responses = Responses(self._data / live.summary.crawl / "attempts.jsonl", self._began)
        self._responses.update()
        self.repaint()

    def repaint(self) -> None:
        """Repaints the current lines, for example because the terminal's width has changed."""
        if self._live is not None and self._responses is not None:
            width = self._screen.width
            lines = crawl_lines(self._live, self._responses, width, self._paint, self._signs, self.key)
            self._screen.show(lines)

    def close(self) -> None:
        """Stops repainting and removes the lines."""
        self._live = None
        self._screen.close()

"""Formats tables to fit the width of a terminal. Columns are narrowed, and URLs are shortened in the middle.
If a table is still too wide, the least important columns are left out. Without a width, no text is
shortened."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence

from gossamer.cli.terminal import cut_end, cut_middle, text_width

GAP = "  "
MIN_URL, MIN_TEXT, MIN_PROSE = 24, 16, 24
"""Cells are not shortened below these widths (in terminal columns): MIN_URL for URLs, MIN_PROSE for texts of
several lines, and MIN_TEXT for other texts."""
MAX_NAME = 40
"""Names in the first column are not shortened if they have at most this width, because users copy names into
other commands."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT|-$|\d\d:\d\d")
STYLES = {
    **dict.fromkeys(("ok", "running", "finished", "done", "pass", "updated"), "green"),
    **dict.fromkeys(("warn", "paused", "limited", "retry", "wait", "open", "stopped"), "magenta"),
    **dict.fromkeys(("bad", "failed", "dead", "cancelled", "blocked", "refused"), "red"),
}
"""Maps the names of states and outcomes to colors. A word is colored if it is the whole text of a cell in a
column that shows a state."""
STATES = ("state", "outcome", "verdict", "")
"""The headings of columns that show a state. The empty string stands for a column without a heading."""


class FittedTable:
    """A table of column headings and cells. Cells contain no control characters. A table whose rows are pairs
    of a label and a value has no headings.

    `right`: the headings of the right-aligned columns. `long`: the headings of the columns whose cells may
    have several lines. In a table without headings, the last column may have several lines. `least`: the
    headings of the columns that a narrow terminal leaves out, the least important first.
    """

    def __init__(
        self,
        heads: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        right: Sequence[str] = (),
        long: Sequence[str] = (),
        least: Sequence[str] = (),
    ) -> None:
        self.heads, self.rows = heads, rows
        columns = len(heads) or max(map(len, rows), default=0)
        names = list(heads) or [""] * columns
        self.right = {place for place, name in enumerate(names) if name in right}
        self.long = {place for place, name in enumerate(names) if heads and name in long}
        self.long |= set() if heads or columns < 2 else {columns - 1}
        self.kept = list(range(columns))
        self._least = [names.index(name) for name in least if name in names]
        self._urls = {
            place
            for place in self.kept
            if any("://" in row[place] for row in rows) and place not in self.long
        }
        self._full = [self._natural(place) for place in self.kept]
        self.widths = dict(enumerate(self._full))

    def fit(self, width: int) -> list[str]:
        """Reduces the table to at most `width` characters per line, if possible. Returns the headings of the
        columns that were removed from the table."""
        left_out: list[int] = []
        while self._total(self._least_width) > width and (one := self._next_to_drop()) is not None:
            left_out.append(one)
            self.kept.remove(one)
        self.widths = {place: self._full[place] for place in self.kept}
        while (over := self._total(self.widths.__getitem__) - width) > 0:
            wide = [place for place in self.kept if self.widths[place] > self._least_width(place)]
            if not wide:
                break
            widest = max(wide, key=self.widths.__getitem__)
            below = [self.widths[place] for place in wide if self.widths[place] < self.widths[widest]]
            step = max(1, min(over, self.widths[widest] - max(below, default=0)))
            self.widths[widest] = max(self._least_width(widest), self.widths[widest] - step)
        return [self.heads[place] for place in sorted(left_out)] if self.heads else []

    def lines(self, paint: Callable[[str, str], str], mark: str = "…") -> list[str]:
        """Returns the lines of the table. The lines have no trailing spaces."""
        found = [self._line(list(self.heads), lambda text, _: paint(text, "bold"))] if self.heads else []
        for row in self.rows:
            parts = [self._cell(row[place], place, mark) for place in self.kept]
            for number in range(max(map(len, parts), default=0)):
                texts = [part[number] if number < len(part) else "" for part in parts]
                found.append(self._line(dict(zip(self.kept, texts, strict=True)), self._style(paint)))
        return found

    def _line(self, cells: dict[int, str] | list[str], style: Callable[[str, int], str]) -> str:
        out = []
        for place in self.kept:
            text = cells[place]
            space = " " * (self.widths[place] - text_width(text))
            shown = style(text, place)
            out.append(space + shown if place in self.right else shown + space)
        return GAP.join(out).rstrip()

    def _style(self, paint: Callable[[str, str], str]) -> Callable[[str, int], str]:
        def style(text: str, place: int) -> str:
            head = self.heads[place] if self.heads else ""
            if not self.heads and place == 0 and text not in STYLES:
                return paint(text, "bold")
            return paint(text, STYLES.get(text, "")) if head in STATES else text

        return style

    def _cell(self, text: str, place: int, mark: str) -> list[str]:
        width = self.widths[place]
        if place not in self.long:
            return [(cut_middle if "://" in text else cut_end)(text, width, mark)]
        found = []
        for part in text.split("\n"):
            fits = text_width(part) <= width
            found += [part] if fits else textwrap.wrap(part, width, break_on_hyphens=False)
        return found

    def _natural(self, place: int) -> int:
        texts = [line for row in self.rows for line in row[place].split("\n")]
        return max(map(text_width, [*texts, self.heads[place] if self.heads else ""]), default=0)

    def _least_width(self, place: int) -> int:
        if place in self.right or (place not in self.long and self._times(place)):
            return self._full[place]
        names = place == 0 and self.heads and place not in self._urls
        if names and self._full[0] <= MAX_NAME:
            return self._full[0]
        least = MIN_PROSE if place in self.long else MIN_URL if place in self._urls else MIN_TEXT
        head = text_width(self.heads[place]) if self.heads else 0
        return min(self._full[place], max(least, head))

    def _times(self, place: int) -> bool:
        return bool(self.rows) and all(_TIME.match(row[place]) for row in self.rows)

    def _total(self, width: Callable[[int], int]) -> int:
        return sum(map(width, self.kept)) + len(GAP) * (len(self.kept) - 1)

    def _next_to_drop(self) -> int | None:
        """Returns the next column to leave out, or None. Empty columns are left out first. Next, the columns
        in `least` are left out, and finally the last columns. The first column is never left out."""
        if not self.heads or len(self.kept) < 2:
            return None
        empty = [place for place in self.kept[1:] if all(row[place] in ("", "-") for row in self.rows)]
        named = [place for place in self._least if place in self.kept]
        return (empty or named or self.kept[::-1])[0]

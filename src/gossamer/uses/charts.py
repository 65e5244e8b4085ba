"""Draws charts as SVG, for reports and for the dashboard. A chart needs no script, and its colours are those of the
page, so that it is readable in the dark and on paper. Times are seconds since the epoch, sizes are pixels."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

COLORS = tuple(f"var(--c{number})" for number in range(5))
BAND_COLORS = tuple(f"var(--b{number})" for number in range(7))
BLUE, GOOD, BAD, UNKNOWN = COLORS[0], "var(--in)", "var(--out)", "var(--unknown)"
DAY_S = 86_400.0
MIN_LINE_PX = 3.0
"""A step of a shorter length is shown as a point."""


class ChartSize(NamedTuple):
    """The size of a chart. `left`, `right` and `bottom`: the space for the labels of the axes. `under`: the space
    between the lowest value and the bottom line."""

    width: int = 560
    height: int = 150
    left: int = 64
    right: int = 14
    bottom: int = 26
    under: int = 0
    font: int = 12


Points = Iterable[tuple[float, float | None]]
"""Pairs of a time and a value. None: a gap."""


class Chart:
    """A chart over time. What is drawn first lies behind the rest."""

    def __init__(
        self,
        label: str,
        times: tuple[float, float],
        values: tuple[float, float],
        size: ChartSize | None = None,
    ) -> None:
        """`label`: describes the chart to people who cannot see it. `times` and `values`: the ends of the axes. The
        second value is at the top, so an axis of ranks is `(100, 1)`."""
        self.size = size or ChartSize()
        self._label, self._drawn = label, list[str]()
        self._start, self._end = times
        self._bottom_value, self._top_value = values
        self.bottom = float(self.size.height - self.size.bottom)
        self._floor, self._top = self.bottom - self.size.under, 10.0

    def x(self, at: float) -> float:
        """Returns the place of a time. Times outside of the axis are at its ends."""
        share = (min(max(at, self._start), self._end) - self._start) / ((self._end - self._start) or 1.0)
        return self.size.left + share * (self.size.width - self.size.left - self.size.right)

    def y(self, value: float) -> float:
        """Returns the place of a value."""
        share = (value - self._bottom_value) / ((self._top_value - self._bottom_value) or 1.0)
        return self._floor - share * (self._floor - self._top)

    def rule(self, value: float, color: str = "var(--row)", *, dashed: bool = False) -> None:
        """Draws a horizontal line at a value."""
        self._rule(self.y(value), color, dashed)

    def bottom_rule(self, *, dashed: bool = False) -> None:
        """Draws the bottom line."""
        self._rule(self.bottom, "var(--line)", dashed)

    def _rule(self, y: float, color: str, dashed: bool) -> None:
        right = self.size.width - self.size.right
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        self._drawn.append(f'<path d="M{self.size.left},{y:.1f}H{right}" stroke="{color}"{dash}/>')

    def band(self, lower: float, upper: float) -> None:
        """Draws the range between two values as an area."""
        width = self.size.width - self.size.left - self.size.right
        height = max(1.0, self.y(lower) - self.y(upper))
        self._drawn.append(
            f'<rect x="{self.size.left}" y="{self.y(upper):.1f}" width="{width}" height="{height:.1f}" fill="var(--band)"/>'
        )

    def line(self, points: Points, color: str = BLUE, width: float = 2.0) -> None:
        """Draws a line through points. A point without a neighbour is a dot."""
        path, alone, before = "", list[str](), ""
        for at, value in [*points, (self._end, None)]:
            if value is None:
                if before.startswith("M"):
                    alone.append(before[1:])
                before = ""
                continue
            before = f"{'L' if before else 'M'}{self.x(at):.1f},{self.y(value):.1f}"
            path += before
        if "L" in path:
            self._drawn.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{width:g}"/>')
        self._drawn += [_circle(x, y, 3.0, color) for x, y in (place.split(",") for place in alone)]

    def steps(self, points: Sequence[tuple[float, float]], until: float, color: str = BLUE) -> None:
        """Draws values that each hold until the next one, the last one `until` a time."""
        path, dots = "", list[str]()
        ends = [*(at for at, _ in points[1:]), until]
        for (at, value), end in zip(points, ends, strict=True):
            if end > self._start:
                left, right = self.x(at), self.x(end)
                path += f"{'L' if path else 'M'}{left:.1f},{self.y(value):.1f}H{right:.1f}"
                if at >= self._start and right - left < MIN_LINE_PX:
                    dots.append(_circle(f"{left:.1f}", f"{self.y(value):.1f}", 2.5, color))
        self._drawn += [f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2"/>', *dots]

    def dot(
        self,
        at: float,
        value: float | None,
        color: str,
        radius: float = 2.5,
        *,
        title: str = "",
        hollow: bool = False,
    ) -> None:
        """Draws a point. `value`: None for a point on the bottom line. `title`: a text that a mouse shows."""
        y = self.bottom if value is None else self.y(value)
        self._drawn.append(_circle(f"{self.x(at):.1f}", f"{y:.1f}", radius, color, title, hollow))

    def mark(self, at: float, title: str) -> None:
        """Draws a red mark below the bottom line."""
        self._drawn.append(
            f'<path d="M{self.x(at):.1f},{self.bottom + 3:.1f}v6" stroke="{BAD}" stroke-width="2">'
            f"<title>{escape(title)}</title></path>"
        )

    def strip(self, spans: Iterable[tuple[float, float, str]]) -> None:
        """Draws periods below the bottom line. `spans`: the beginning, the end and the colour of each."""
        for begin, end, color in spans:
            if end > self._start:
                width = max(2.0, self.x(end) - self.x(begin))
                self._drawn.append(
                    f'<rect x="{self.x(begin):.1f}" y="{self.bottom + 3:.0f}" width="{width:.1f}" height="6" fill="{color}"/>'
                )

    def bars(
        self, columns: Sequence[Sequence[float]], colors: Sequence[str], titles: Sequence[str] = ()
    ) -> None:
        """Draws columns of stacked parts, evenly over the whole width. `titles`: a text for each column."""
        width = (self.size.width - self.size.left - self.size.right) / max(1, len(columns))
        gap = 1.0 if width > 3 else 0.0
        for number, parts in enumerate(columns):
            x, below, drawn = self.size.left + number * width, 0.0, ""
            for part, color in zip(parts, colors, strict=False):
                if part:
                    y, height = self.y(below + part), self.y(below) - self.y(below + part)
                    drawn += (
                        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(1.0, width - gap):.1f}" height="{height:.1f}" '
                        f'fill="{color}"/>'
                    )
                    below += part
            title = f"<title>{escape(titles[number])}</title>" if number < len(titles) else ""
            self._drawn.append(f"<g>{title}{drawn}</g>" if drawn and title else drawn)

    def value(self, value: float | None, text: str) -> None:
        """Draws the label of a value. `value`: None for the bottom line."""
        y = self.bottom if value is None else self.y(value)
        self._drawn.append(
            f'<text x="{self.size.left - 7}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )

    def ends(self, first: str = "", last: str = "") -> None:
        """Draws the labels of the first and the last time: the given ones, or the day or the time of day."""
        y, right = self.size.height - 6, self.size.width - self.size.right
        shown = "%H:%M:%S" if self._end - self._start < DAY_S else "%Y-%m-%d"
        begin, end = (
            given or time.strftime(shown, time.gmtime(at))
            for given, at in ((first, self._start), (last, self._end))
        )
        self._drawn.append(
            f'<text x="{self.size.left}" y="{y}">{escape(begin)}</text>'
            f'<text x="{right}" y="{y}" text-anchor="end">{escape(end)}</text>'
        )

    def svg(self) -> str:
        """Returns the drawing."""
        width, height, font = self.size.width, self.size.height, self.size.font
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(self._label)}" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" font-size="{font}" fill="var(--quiet)" '
            f'font-family="system-ui,sans-serif">{"".join(self._drawn)}</svg>'
        )


def share_bar(share: float, width: int = 120) -> str:
    """Returns a small bar whose length is a share of `width`.

    >>> share_bar(0.5, 10)
    '<svg class="bar" width="5" height="9" aria-hidden="true"><rect width="5" height="9" fill="var(--c0)"/></svg>'
    """
    long = round(share * width)
    drawn = f'<rect width="{long}" height="9" fill="{BLUE}"/>'
    return f'<svg class="bar" width="{long}" height="9" aria-hidden="true">{drawn}</svg>'


def _circle(x: str, y: str, radius: float, color: str, title: str = "", hollow: bool = False) -> str:
    fill = f'fill="var(--box)" stroke="{color}"' if hollow else f'fill="{color}"'
    shape = f'<circle cx="{x}" cy="{y}" r="{radius:g}" {fill}'
    return f"{shape}><title>{escape(title)}</title></circle>" if title else f"{shape}/>"

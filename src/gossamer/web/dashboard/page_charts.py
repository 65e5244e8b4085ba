"""The charts of pages, from the results of operations. They are drawn as those of the reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from html import escape
from typing import Any

import msgspec

from gossamer.operations.operation import Operation
from gossamer.uses.charts import BAD, COLORS, GOOD, UNKNOWN, Chart, ChartSize
from gossamer.uses.html_report import chart, legend_entry
from gossamer.uses.keywords.report import draw_trend
from gossamer.uses.keywords.views import TrendPoint
from gossamer.uses.prices.report_html import draw_price_line
from gossamer.uses.prices.series import Point, statistics_of
from gossamer.uses.ranks.report_html import draw_positions
from gossamer.uses.ranks.series import RankPoint

Rows = Sequence[Mapping[str, Any]]
SIZE = ChartSize(height=170)
STATUSES = {
    "2xx": GOOD,
    "3xx": COLORS[0],
    "4xx": "var(--b4)",
    "5xx": BAD,
    "1xx": "var(--b5)",
    "none": UNKNOWN,
}
"""The classes of responses, from the bottom of a column to its top, with their colours."""


def activity_charts(activity: Mapping[str, Any]) -> str:
    """Returns the charts of a crawl: its requests per second, and its responses by status."""
    periods, seconds = activity["periods"], activity["seconds"]
    if not periods:
        return ""
    start, last = _seconds(periods[0]["at"]), _seconds(periods[-1]["at"])
    times = (start, last + seconds)
    rates = [(_seconds(one["at"]) + seconds / 2, one["requests"] / seconds) for one in periods]
    top = max(rate for _, rate in rates) or 1.0
    line = Chart(f"Requests per second, at most {top:.3g}", times, (0, top), SIZE)
    line.bottom_rule()
    line.line(rates)
    line.value(top, f"{top:.3g}")
    line.value(0, "0")
    line.ends()
    most = max(one["requests"] for one in periods)
    bars = Chart(f"Responses by status, at most {most}", times, (0, most), SIZE)
    bars.bottom_rule()
    titles = [_title(one) for one in periods]
    bars.bars(
        [[one["statuses"].get(name, 0) for name in STATUSES] for one in periods], [*STATUSES.values()], titles
    )
    bars.value(most, f"{most:,}")
    bars.value(0, "0")
    bars.ends()
    seen = {name for one in periods for name in one["statuses"]}
    key = "".join(
        legend_entry(color, "no response" if name == "none" else name)
        for name, color in STATUSES.items()
        if name in seen
    )
    unit = f"per {seconds} s" if seconds > 1 else "per second"
    return (
        f'<div class="charts">{chart("Requests per second", "UTC", line.svg())}'
        f"{chart(f'Responses by status, {unit}', key, bars.svg())}</div>"
    )


def _title(period: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{name} {n:,}" for name, n in period["statuses"].items())
    return f"{period['at'][11:19]}: {period['requests']:,} requests: {parts}"


def price_chart(rows: Rows, given: Mapping[str, Any]) -> str:
    """Returns the price line of a target, with its usual band and its stock."""
    points = [_point(row) for row in rows]
    if not points:
        return ""
    after, now = points[0].time, time.time()
    statistics = statistics_of(points, after, now)
    note = "Grey band: where the price was half of the time. Dashed: the median. Bar below: green in stock, red not."
    drawn = draw_price_line(str(given.get("target", "")), points, statistics, after, now)
    return chart("Price", note, drawn) if drawn else ""


def _point(row: Mapping[str, Any]) -> Point:
    values = {name: row.get(name) or None for name in Point._fields}
    for name in ("price", "regular_price", "unit_price"):
        if values[name] is not None:
            values[name] = Decimal(str(values[name]))
    return Point(**{**values, "time": _seconds(row["time"]), "state": row.get("state") or ""})  # type: ignore[arg-type]


def rank_chart(rows: Rows, given: Mapping[str, Any]) -> str:
    """Returns the positions of domains for a keyword. Position 1 is at the top."""
    lines: dict[str, list[RankPoint]] = {}
    failed, depth = list[tuple[float, str]](), 100
    for row in rows:
        at, place = _seconds(row["time"]), str(row["position"])
        if not row.get("domain"):
            failed.append((at, str(row.get("note") or "")))
            continue
        if place.startswith(">"):
            depth = int(place[1:])
        found = None if place.startswith(">") else int(place)
        point = RankPoint(at, found, depth, str(row.get("url") or ""), str(row.get("note") or ""))
        lines.setdefault(str(row["domain"]), []).append(point)
    if not lines:
        return ""
    first = min(one[0].time for one in lines.values())
    keyword = str(given.get("keyword", ""))
    drawn = draw_positions(keyword, depth, [*lines.values()], failed, (first, time.time()))
    key = "".join(legend_entry(COLORS[n % 5], name) for n, name in enumerate(lines))
    return chart("Positions, 1 at the top", key, drawn)


def trend_chart(rows: Rows, given: Mapping[str, Any]) -> str:
    """Returns how often a keyword was found in each run."""
    points = [msgspec.convert(dict(row), TrendPoint) for row in rows]
    if len(points) < 2:
        return ""
    keyword = str(given.get("keyword", ""))
    return chart(
        escape(keyword), f"{points[0].count:,} to {points[-1].count:,}", draw_trend(points), small=True
    )


OF_LISTS: dict[str, Callable[[Rows, Mapping[str, Any]], str]] = {
    "price_series": price_chart,
    "rank_history": rank_chart,
    "keyword_trend": trend_chart,
}


def list_chart(rows: Rows, operation: Operation, given: Mapping[str, Any]) -> str:
    """Returns the chart of a list, or '' if it has none."""
    draw = OF_LISTS.get(operation.name)
    return draw(rows, given) if draw else ""


def _seconds(value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    return datetime.fromisoformat(
        str(value).replace(" ", "T") + ("" if str(value)[-1:] == "Z" else "+00:00")
    ).timestamp()

"""Charts of reports and of the dashboard: one drawer, without scripts and without inline style."""

from __future__ import annotations

import re
from importlib.resources import files
from xml.etree import ElementTree

from gossamer.uses.charts import BLUE, Chart, ChartSize

SIZE = ChartSize(width=120, height=60, left=10, right=10, bottom=20)


def test_only_one_module_draws() -> None:
    """The icon of the dashboard is a drawing too, but no chart."""
    drawing = [
        str(path)
        for path in files("gossamer").rglob("*.py")  # type: ignore[attr-defined]
        if re.search(r"<(path|polyline|circle|rect|text) [a-z]", path.read_text(encoding="utf-8"))
    ]
    assert [path.rpartition("/src/")[2] for path in drawing] == ["gossamer/uses/charts.py"]


def test_a_line_breaks_at_gaps_and_a_lone_point_is_a_dot() -> None:
    chart = Chart("", (0, 4), (0, 10), SIZE)
    chart.line([(0, 0), (1, 10), (2, None), (3, 5)])
    drawn = chart.svg()
    assert 'd="M10.0,40.0L35.0,10.0M85.0,25.0"' in drawn
    assert drawn.count("<circle") == 1
    assert 'cx="85.0" cy="25.0"' in drawn
    alone = Chart("", (0, 4), (0, 10), SIZE)
    alone.line([(2, 5)])
    assert "<path" not in alone.svg()
    assert 'cx="60.0"' in alone.svg()


def test_the_second_value_is_at_the_top_so_ranks_are_inverted() -> None:
    ranks = Chart("", (0, 1), (100, 1), SIZE)
    assert ranks.y(1) == 10 < ranks.y(50) < ranks.y(100) == 40


def test_bars_are_stacked_and_named() -> None:
    chart = Chart("", (0, 1), (0, 4), SIZE)
    chart.bars([[1, 3], [0, 2]], (BLUE, "var(--out)"), ["a: 1 & 3", "b"])
    places = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"', chart.svg())
    assert places == [("10.0", "32.5", "7.5"), ("10.0", "10.0", "22.5"), ("60.0", "25.0", "15.0")]
    assert "<title>a: 1 &amp; 3</title>" in chart.svg()


def test_texts_are_escaped_and_colours_are_those_of_the_page() -> None:
    chart = Chart('"><script>', (0, 100_000), (0, 0), SIZE)
    chart.steps([(0, 0), (99_999, 0)], 100_000)
    chart.band(0, 0)
    chart.strip([(0, 10, BLUE)])
    chart.mark(5, "<b>")
    chart.dot(5, None, BLUE, title="</svg>", hollow=True)
    chart.value(None, "<i>")
    chart.ends("<", "")
    ElementTree.fromstring(chart.svg())  # noqa: S314 - our own text
    assert not re.search(r"<script|style=|#[0-9a-f]{3}", chart.svg())

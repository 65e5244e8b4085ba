"""Writes a report on keywords as one HTML file for a browser or a mail client. The file has no script and loads
nothing. All texts from pages are escaped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from gossamer.errors import UsageError
from gossamer.uses.charts import BLUE, Chart, ChartSize, share_bar
from gossamer.uses.html_report import END, Cell, chart, facts, head, link, section
from gossamer.uses.keywords.run import KeywordRun, list_runs
from gossamer.uses.keywords.views import KeywordTotal, RunTables, TrendPoint, read_trend
from gossamer.uses.numbers import counted, percent

MAX_ROWS: Final = 50
MAX_TRENDS: Final = 12
MAX_RUNS: Final = 60
"""Maximum number of runs in a trend chart. A trend chart shows the latest runs."""
MAX_MATRIX: Final = 12
SIZE = ChartSize(width=360, height=120, left=56, font=11)


def write_report(tables: RunTables, run: KeywordRun, folder: str, output: str) -> None:
    """Writes the report of a run. Raises UsageError if the file cannot be written."""
    try:
        Path(output).write_text(render_report(tables, run, folder), encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror}") from error


def render_report(tables: RunTables, run: KeywordRun, folder: str) -> str:
    """Returns the report as a whole HTML document."""
    sites = tables.sites()
    title = f"Keywords of {', '.join(sites[:3])}{' and others' if len(sites) > 3 else ''}"
    day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.began))
    result = run.result
    counts = (
        []
        if result is None
        else [
            ("pages counted", result.counted),
            ("words", result.words),
            ("copies left out", result.copies),
            ("without a main text", result.empty),
            ("keywords", result.keywords),
        ]
    )
    keywords = tables.keywords(limit=MAX_ROWS)
    parts = [
        _keywords(keywords, result is not None and result.listed),
        _trends(folder, keywords),
        _terms(tables, sites),
        _gaps(tables, sites),
        _overlap(tables, sites),
        _cannibals(tables),
    ]
    top = head(title, day, f"Run {run.id}, {day} UTC")
    return f"{top}{facts((name, f'{value:,}') for name, value in counts)}{''.join(parts)}{END}"


def _keywords(found: Sequence[KeywordTotal], listed: bool) -> str:
    most = max((one.count for one in found), default=0)
    rows = [
        [
            ("", f"{escape(one.keyword)}{_contexts(one)}"),
            ("n", f"{one.count:,}"),
            ("", share_bar(one.count / max(1, most))),
            ("n", f"{one.pages:,}"),
            ("n", percent(one.share, 1)),
            ("n", percent(one.density, 3)),
            *(("n", f"{n:,}") for n in (one.in_title, one.in_headings, one.anchors, one.alt, one.meta)),
        ]
        for one in found
    ]
    heads = (
        "keyword",
        "count:n",
        "",
        "pages:n",
        "of all pages:n",
        "density:n",
        "in title:n",
        "in headings:n",
    )
    note = (
        "Whole words in the main text of the pages, without navigation, header and footer; copies of a page count once. "
        "Links: those of other pages whose text has the keyword."
    )
    title = "Keywords" if listed else "Keywords (the terms that matter most, as there is no list)"
    return section(
        title, (*heads, "links:n", "alt:n", "description:n"), rows, "No keyword was counted.", note
    )


def _contexts(one: KeywordTotal) -> str:
    if not one.contexts:
        return ""
    lines = "".join(f"<div>… {escape(text)} …</div>" for text in one.contexts)
    many = counted(len(one.contexts), "context")
    return f'<details class="small off"><summary>{many}</summary>{lines}</details>'


def _trends(folder: str, keywords: Sequence[KeywordTotal]) -> str:
    runs = [one for one in list_runs(folder) if one.state == "done"][-MAX_RUNS:]
    if len(runs) < 2:
        return ""
    charts = []
    for one in keywords[:MAX_TRENDS]:
        points = read_trend(folder, runs, one.keyword)
        if len(points) > 1:
            charts.append(
                chart(
                    escape(one.keyword),
                    f"{points[0].count:,} to {points[-1].count:,}",
                    draw_trend(points),
                    small=True,
                )
            )
    note = f"Occurrences in the last {counted(len(runs), 'run')}."
    return (
        f'<h2>Trend</h2><p class="note">{note}</p><div class="charts">{"".join(charts)}</div>'
        if charts
        else ""
    )


def draw_trend(points: Sequence[TrendPoint]) -> str:
    """Returns an SVG chart of a keyword's counts over runs. The chart has one step for each run."""
    most = max(1, *(one.count for one in points))
    label = f"Trend of {points[0].keyword}: {', '.join(str(one.count) for one in points)}"
    drawn = Chart(label, (0, len(points) - 1), (0, most), SIZE)
    drawn.bottom_rule()
    drawn.line(((number, one.count) for number, one in enumerate(points)))
    for number, one in enumerate(points):
        drawn.dot(number, one.count, BLUE)
    drawn.value(most, f"{most:,}")
    drawn.value(0, "0")
    drawn.ends(_day(points[0].run), _day(points[-1].run))
    return drawn.svg()


def _terms(tables: RunTables, sites: Sequence[str]) -> str:
    parts = []
    for site in sites[:5]:
        rows = [
            [
                ("", escape(one.term)),
                ("n", f"{one.count:,}"),
                ("n", f"{one.pages:,}"),
                ("n", percent(one.density, 3)),
                ("n", f"{one.tfidf:,.1f}"),
                ("n", f"{one.score:,.1f}"),
            ]
            for one in tables.terms(site, limit=25)
        ]
        heads = ("term", "count:n", "pages:n", "density:n", "TF-IDF:n", "score:n")
        note = "Terms that are frequent on some pages and absent from others come first."
        parts.append(section(f"What matters on {escape(site)}", heads, rows, "No term was found.", note))
    return "".join(parts)


def _gaps(tables: RunTables, sites: Sequence[str]) -> str:
    parts = []
    for other in sites[1:4]:
        rows = [
            [
                ("", escape(one.term)),
                ("", "list" if one.listed else "discovered"),
                *(("n", f"{n:,}") for n in (one.theirs, one.their_pages, one.mine, one.my_pages)),
            ]
            for one in tables.gaps(sites[0], other, 25)
        ]
        heads = ("term", "from", "theirs:n", "their pages:n", "mine:n", "my pages:n")
        title = f"Gaps of {escape(sites[0])} against {escape(other)}"
        parts.append(section(title, heads, rows, "There is none."))
    return "".join(parts)


def _overlap(tables: RunTables, sites: Sequence[str]) -> str:
    if len(sites) < 2:
        return ""
    shown = sites[:MAX_MATRIX]
    pairs = {frozenset((one.site, one.other)): one for one in tables.overlap()}
    rows: list[list[Cell]] = []
    for site in shown:
        row = [("", escape(site))]
        for other in shown:
            found = pairs.get(frozenset((site, other)))
            row.append(
                ("n", "" if site == other else f"{found.both:,} ({percent(found.share)})" if found else "0")
            )
        rows.append(row)
    note = "Keywords that both sites have, and their share of the keywords that either has."
    return section("Overlap", ("site", *(f"{site}:n" for site in shown)), rows, "", note)


def _cannibals(tables: RunTables) -> str:
    rows = [
        [
            ("", escape(one.keyword)),
            ("", escape(one.site)),
            ("n", f"{one.pages:,}"),
            ("u", "<br>".join(map(link, one.urls))),
        ]
        for one in tables.cannibals(limit=25)
    ]
    note = "Each of these pages has the keyword in its title and in a heading."
    return section(
        "Pages that compete for a keyword",
        ("keyword", "site", "pages:n", "the first of them"),
        rows,
        "There is none.",
        note,
    )


def _day(run: str) -> str:
    return f"{run[:4]}-{run[4:6]}-{run[6:8]}"

"""Renders a rank report as a single HTML file for a browser or a mail client. The HTML file contains no
scripts and loads no external resources. All texts from result pages are escaped. A saved result page is
displayed in a sandboxed frame that runs no scripts and loads no external resources."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from gossamer.uses.html_report import END, date, facts, head, legend_entry, link, section, svg, table
from gossamer.uses.html_report import chart as chart_box
from gossamer.uses.numbers import percent
from gossamer.uses.ranks.domains import shown_domain
from gossamer.uses.ranks.measures import BELOW, count_bands
from gossamer.uses.ranks.report import MAX_KEYWORDS, RankChart, RankReport, ShownPage
from gossamer.uses.ranks.series import RankPoint, Standing

WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 560, 170, 64, 14, 26
"""The size of a chart, and the space for axis labels, in pixels."""
COLORS = tuple(f"var(--c{number})" for number in range(5))
BAND_COLORS = tuple(f"var(--b{number})" for number in range(7))
_ACTIVE = re.compile(
    r"<(script|iframe|object|embed|noscript|template)\b.*?(?:</\1\s*>|\Z)|<(?:meta|link|base)\b[^>]*>",
    re.IGNORECASE | re.DOTALL,
)


def render_report(report: RankReport) -> str:
    """Returns the report as a complete HTML document."""
    title = f"Ranks of {shown_domain(report.domain)}"
    period = f"{date(report.after)} to {date(report.now)} (UTC)"
    parts = [
        _facts(report),
        _moves(report),
        _distribution(report),
        _charts(report),
        _keywords(report),
        _rivals(report),
        _features(report),
        _volatility(report),
        _competing(report),
        _failing(report),
        _page(report),
    ]
    return f"{head(title, period, period)}{''.join(parts)}{END}"


def _facts(report: RankReport) -> str:
    places = [one.position for one in report.standings]
    bands = count_bands(places)
    numbers = [
        ("keywords checked", f"{report.checked:,} of {report.listed:,}"),
        ("first 3", f"{bands['1-3']:,}"),
        ("first 10", f"{bands['1-3'] + bands['4-10']:,}"),
        ("not in results", f"{bands.get(BELOW, 0):,}"),
    ]
    if report.days:
        numbers.insert(1, ("visibility", percent(report.days[-1].visibility, 1)))
    if report.domain in report.voice:
        numbers.append(("share of voice", percent(report.voice[report.domain], 1)))
    note = (
        "Visibility: the expected clicks relative to position 1 everywhere, by volume. "
        f"Curve of clicks: {escape(report.curve)}."
    )
    return f'{facts(numbers)}<p class="note">{note}</p>'


def _moves(report: RankReport) -> str:
    rows = [_standing_row(one) for one in report.moves]
    heads = ("keyword", "search", "before:n", "now:n", "change:n", "page")
    return section("Gains and losses", heads, rows, "No position changed in this period.")


def _standing_row(one: Standing) -> list[tuple[str, str]]:
    before = "-" if not one.known_before else str(one.before) if one.before is not None else f">{one.depth}"
    way = "good" if one.change > 0 else "bad"
    change = f"{'▲' if one.change > 0 else '▼'} {abs(one.change)}" if one.change else ""
    return [
        ("", escape(one.keyword)),
        ("", escape(f"{one.engine} {one.place}")),
        ("n", before),
        ("n", one.shown),
        (f"n {way}", change),
        ("u", _page_link(one.url)),
    ]


def _keywords(report: RankReport) -> str:
    rows = []
    ordered = sorted(report.standings, key=lambda one: (one.position is None, one.position or 0, one.keyword))
    for one in ordered[:MAX_KEYWORDS]:
        state = (
            "" if one.state in ("done", "") else f"{one.state}: {one.error.removeprefix(f'{one.state}: ')}"
        )
        rows.append(
            [
                *_standing_row(one)[:5],
                ("n", "-" if one.best is None else str(one.best)),
                ("n", "-" if one.worst is None else str(one.worst)),
                ("n", "" if one.volume is None else f"{one.volume:,}"),
                ("n", date(one.time)),
                ("u", escape(one.note or state)),
            ]
        )
    heads = (
        "keyword",
        "search",
        "before:n",
        "now:n",
        "change:n",
        "best:n",
        "worst:n",
        "volume:n",
        "checked:n",
        "note",
    )
    note = "A failed check has no position: the last known one is shown with its day. >N: not in the first N."
    if len(ordered) > MAX_KEYWORDS:
        note += f" The first {MAX_KEYWORDS} of {len(ordered):,}."
    return section("Keywords", heads, rows, "No keyword has a position yet.", note)


def _rivals(report: RankReport) -> str:
    if not report.voice:
        return ""
    rows = []
    for domain, share in report.voice.items():
        found = report.standings if domain == report.domain else report.rivals.get(domain, [])
        bands = count_bands(one.position for one in found)
        shown = f"{bands['1-3']}", f"{bands['1-3'] + bands['4-10']}", f"{len(found)}"
        rows.append(
            [
                ("own" if domain == report.domain else "", escape(shown_domain(domain))),
                ("n", percent(share, 1)),
                *(("n", value) for value in (shown if found else ("", "", ""))),
            ]
        )
    shares = section(
        "Share of voice",
        ("domain", "share of clicks:n", "first 3:n", "first 10:n", "known positions:n"),
        rows,
        "",
        "Of all organic results of the last checks. Domains without numbers are not followed.",
    )
    return shares + _side_by_side(report)


def _side_by_side(report: RankReport) -> str:
    rivals = sorted(report.rivals, key=lambda one: -len(report.rivals[one]))[:5]
    if not rivals:
        return ""
    places = {(one.search, one.domain): one for found in report.rivals.values() for one in found}
    rows = []
    for own in report.standings[:100]:
        found = [own, *(places.get((own.search, domain)) for domain in rivals)]
        best = min((one.position for one in found if one and one.position is not None), default=None)
        cells = [
            (
                "n best" if one and one.position is not None and one.position == best else "n",
                one.shown if one else "-",
            )
            for one in found
        ]
        rows.append([("", escape(own.keyword)), *cells])
    heads = ("keyword", *(f"{shown_domain(one)}:n" for one in (report.domain, *rivals)))
    return section("Side by side", heads, rows, "", "-: not known, because the page was not fetched.")


def _features(report: RankReport) -> str:
    rows = [
        [
            ("", escape(one.type.replace("_", " "))),
            ("n", f"{one.shown} of {one.pages}"),
            ("n", _delta(one.shown - one.shown_before)),
            ("n", str(one.owned)),
            ("n", _delta(one.owned - one.owned_before)),
        ]
        for one in report.features
    ]
    heads = ("feature", "pages that show it:n", "change:n", "with your domains:n", "change:n")
    return section("Features of page 1", heads, rows, "No page 1 has been read yet.")


def _delta(number: int) -> str:
    return f"{number:+d}" if number else ""


def _competing(report: RankReport) -> str:
    rows = [
        [
            ("", escape(one.keyword)),
            ("n", "-" if one.position is None else str(one.position)),
            ("n", str(one.switches)),
            ("u", "<br>".join(map(_page_link, one.together or one.urls))),
        ]
        for one in report.competing
    ]
    heads = ("keyword", "position:n", "switches:n", "pages")
    return section("Own pages that compete", heads, rows, "In no search do own pages compete.")


def _failing(report: RankReport) -> str:
    rows = [
        [
            ("", escape(one.search.keyword)),
            ("", escape(f"{one.search.engine} {one.search.place}")),
            ("", escape(one.state)),
            ("", escape(one.error)),
            ("n", str(one.runs)),
            ("n", date(one.known)),
        ]
        for one in report.failing[:100]
    ]
    heads = ("keyword", "search", "state", "why", "checks:n", "last position:n")
    return section("Failed checks", heads, rows, "The last check of every search was good.")


def _distribution(report: RankReport) -> str:
    if not report.days:
        return ""
    names = list(dict.fromkeys(name for day in report.days for name in day.bands))
    names.sort(key=lambda name: (name == BELOW, len(name), name))
    key = "".join(legend_entry(BAND_COLORS[n % 7], name) for n, name in enumerate(names))
    width = (WIDTH - LEFT - RIGHT) / len(report.days)
    top, floor = 8.0, float(HEIGHT - BOTTOM)
    most = max(day.known for day in report.days)
    bars = ""
    for number, day in enumerate(report.days):
        y = floor
        for n, name in enumerate(names):
            tall = day.bands.get(name, 0) / most * (floor - top)
            if tall:
                y -= tall
                bars += (
                    f'<rect x="{LEFT + number * width:.1f}" y="{y:.1f}" width="{max(1.0, width - 1):.1f}" '
                    f'height="{tall:.1f}" fill="{BAND_COLORS[n % 7]}"/>'
                )
    axis = _axis(report.days[0].time, report.days[-1].time, ((str(most), top + 4), ("0", floor)))
    bands = svg("Positions by band and day", WIDTH, HEIGHT, bars + axis)
    shares = [day.visibility for day in report.days]
    high = max(*shares, 0.001)
    points = " ".join(
        f"{LEFT + (number + 0.5) * width:.1f},{floor - share / high * (floor - top):.1f}"
        for number, share in enumerate(shares)
    )
    line = _polyline(points, COLORS[0])
    axis = _axis(report.days[0].time, report.days[-1].time, ((percent(high, 1), top + 4), ("0", floor)))
    drawn = svg("Visibility by day", WIDTH, HEIGHT, line + axis)
    return (
        f'<h2>Distribution and visibility</h2><div class="charts">{chart_box("Keywords by band", key, bands, WIDTH)}'
        f"{chart_box('Visibility', 'Share of the clicks that position 1 everywhere would get', drawn, WIDTH)}</div>"
    )


def _volatility(report: RankReport) -> str:
    found = report.volatility
    if len(found) < 2:
        return ""
    high, top, floor = max(max(one.jaccard, one.rbo) for one in found) or 1.0, 8.0, HEIGHT - BOTTOM
    x = _scale(found[0].time, found[-1].time)
    lines = ""
    for name, color in (("jaccard", COLORS[0]), ("rbo", COLORS[1])):
        points = " ".join(
            f"{x(one.time):.1f},{floor - getattr(one, name) / high * (floor - top):.1f}" for one in found
        )
        lines += _polyline(points, color)
    axis = _axis(found[0].time, found[-1].time, ((f"{high:.2f}", top + 4), ("0", floor)))
    key = legend_entry(COLORS[0], "1 - Jaccard of the first ten") + legend_entry(
        COLORS[1], "1 - rank-biased overlap (p = .9)"
    )
    return "<h2>Volatility</h2>" + chart_box(
        "How much the first ten results moved",
        key,
        svg("Volatility by run", WIDTH, HEIGHT, lines + axis),
        WIDTH,
    )


def _charts(report: RankReport) -> str:
    if not report.charts:
        return ""
    note = (
        "Position 1 is at the top. A gap: not in the first N results, drawn at the bottom line. "
        "A red mark: a failed check, which has no position."
    )
    charts = "".join(_chart(chart, report.after, report.now) for chart in report.charts)
    return f'<h2>Histories</h2><p class="note">{note}</p><div class="charts">{charts}</div>'


def _chart(chart: RankChart, after: float, now: float) -> str:
    one = chart.standing
    names = [(one.domain, chart.points), *chart.rivals.items()]
    key = "".join(legend_entry(COLORS[n % 5], shown_domain(name)) for n, (name, _) in enumerate(names))
    title = f"{escape(one.keyword)} <span class=off>{escape(one.engine)} {escape(one.place)}</span>"
    return chart_box(title, key, draw_chart(chart, after, now), WIDTH)


def draw_chart(chart: RankChart, after: float, now: float) -> str:
    """Returns an SVG chart of the positions of domains in a search over time. Position 1 is at the top."""
    lines = [chart.points, *chart.rivals.values()]
    places = [point.position for points in lines for point in points if point.position is not None]
    times = [point.time for points in lines for point in points] or [now]
    lowest = max([*places, 10])
    top, floor, out = 10.0, float(HEIGHT - BOTTOM - 22), float(HEIGHT - BOTTOM)
    x = _scale(max(after, min(times)), max(now, max(times)))

    def y(position: int | None) -> float:
        return out if position is None else top + (position - 1) / max(1, lowest - 1) * (floor - top)

    drawn = "".join(
        f'<path d="M{LEFT},{y(place):.1f}H{WIDTH - RIGHT}" stroke="var(--row)"/>'
        for place in (1, 3, 10)
        if place <= lowest
    )
    drawn += f'<path d="M{LEFT},{out:.1f}H{WIDTH - RIGHT}" stroke="var(--line)" stroke-dasharray="3 3"/>'
    for number in range(len(lines) - 1, -1, -1):
        drawn += _line(lines[number], x, y, COLORS[number % 5], 2.4 if number == 0 else 1.4)
    drawn += "".join(
        f'<path d="M{x(at):.1f},{out + 3:.1f}v6" stroke="var(--out)" stroke-width="2"><title>{escape(why)}</title></path>'
        for at, why in chart.failed
    )
    labels = [
        (str(place), y(place) + 4) for place in dict.fromkeys((1, 10 if lowest > 13 else lowest, lowest))
    ]
    depth = chart.standing.depth
    axis = _axis(max(after, min(times)), max(now, max(times)), (*labels, (f">{depth}", out + 4)))
    return svg(f"Positions for {chart.standing.keyword}, position 1 at the top", WIDTH, HEIGHT, drawn + axis)


def _line(
    points: Sequence[RankPoint],
    x: Callable[[float], float],
    y: Callable[[int | None], float],
    color: str,
    width: float,
) -> str:
    path, inside = "", False
    dots = ""
    shown = [False, *(point.position is not None for point in points), False]
    for number, point in enumerate(points, 1):
        at = f"{x(point.time):.1f},{y(point.position):.1f}"
        if point.position is None:
            inside = False
            dots += f'<circle cx="{x(point.time):.1f}" cy="{y(None):.1f}" r="1.6" fill="{color}"/>'
            continue
        path += f"{'L' if inside else 'M'}{at}"
        inside = True
        if not shown[number - 1] and not shown[number + 1]:  # a point without a neighbour makes no line
            dots += f'<circle cx="{x(point.time):.1f}" cy="{y(point.position):.1f}" r="3" fill="{color}"/>'
        if point.note:
            dots += (
                f'<circle cx="{x(point.time):.1f}" cy="{y(point.position):.1f}" r="3" fill="var(--box)" stroke="{color}">'
                f"<title>{escape(point.note)}</title></circle>"
            )
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>{dots}' if path else dots


def _page(report: RankReport) -> str:
    if report.page is None:
        return ""
    page = report.page
    rows = [
        [
            ("n", str(one.rank) if one.rank else ""),
            ("", escape(one.type.replace("_", " "))),
            ("u", f"<b>{escape(one.title)}</b><br>{_page_link(one.url)}"),
        ]
        for one in page.results[:150]
    ]
    about = f"{page.engine}, {date(page.time)}, by {page.source}, verdict {page.verdict}, data {page.data_version}"
    heads = ("rank:n", "type", "result")
    shown = table(heads, rows) if rows else '<p class="note">The page has no results.</p>'
    title = f"Result page: {escape(page.keyword)}"
    top = f'<h2>{title}</h2><p class="note">{escape(about)}</p>'
    if not page.body:
        return f'{top}<p class="note">The answer of a provider has no page to show.</p>{shown}'
    return f'{top}<div class="beside"><div>{_frame(page)}</div><div>{shown}</div></div>'


def _frame(page: ShownPage) -> str:
    """Returns a sandboxed frame with a saved page. The frame runs no scripts and loads no external
    resources."""
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
    body = _ACTIVE.sub("", page.body)
    return f'<iframe sandbox title="The saved page" srcdoc="{escape(policy + body)}"></iframe>'


def _polyline(points: str, color: str) -> str:
    """Returns a line through points, or the point if there is only one."""
    if " " not in points:
        x, _, y = points.partition(",")
        return f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'


def _scale(start: float, end: float) -> Callable[[float], float]:
    return lambda at: (
        LEFT + (min(max(at, start), end) - start) / ((end - start) or 1.0) * (WIDTH - LEFT - RIGHT)
    )


def _axis(start: float, end: float, labels: Sequence[tuple[str, float]]) -> str:
    texts = "".join(
        f'<text x="{LEFT - 6}" y="{y:.1f}" text-anchor="end">{escape(text)}</text>' for text, y in labels
    )
    return (
        f'{texts}<text x="{LEFT}" y="{HEIGHT - 4}">{date(start)}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{date(end)}</text>'
    )


def _page_link(url: str) -> str:
    return link(url, url[:200])

"""Renders a rank report as a single HTML file for a browser or a mail client. The HTML file contains no
scripts and loads no external resources. All texts from result pages are escaped. A saved result page is
displayed in a sandboxed frame that runs no scripts and loads no external resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gossamer.parsing.still_page import POLICY, still_page
from gossamer.uses.charts import BAND_COLORS, COLORS, Chart, ChartSize
from gossamer.uses.html_report import END, date, facts, head, legend_entry, link, section, table
from gossamer.uses.html_report import chart as chart_box
from gossamer.uses.numbers import percent
from gossamer.uses.ranks.domains import shown_domain
from gossamer.uses.ranks.measures import BELOW, count_bands
from gossamer.uses.ranks.report import MAX_KEYWORDS, RankChart, RankReport, ShownPage
from gossamer.uses.ranks.series import RankPoint, Standing

SIZE, SIZE_OF_RANKS = ChartSize(height=170), ChartSize(height=170, under=22)


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
    first, last = report.days[0].time, report.days[-1].time
    most = max(day.known for day in report.days)
    bands = Chart("Positions by band and day", (first, last), (0, most), SIZE)
    bands.bars([[day.bands.get(name, 0) for name in names] for day in report.days], BAND_COLORS)
    shares = [day.visibility for day in report.days]
    high = max(*shares, 0.001)
    # the points stand above the middle of the bars
    visible = Chart("Visibility by day", (-0.5, len(shares) - 0.5), (0, high), SIZE)
    visible.line(enumerate(shares))
    for drawn, top, text in ((bands, most, str(most)), (visible, high, percent(high, 1))):
        drawn.value(top, text)
        drawn.value(0, "0")
        drawn.ends(date(first), date(last))
    about = "Share of the clicks that position 1 everywhere would get"
    return (
        '<h2>Distribution and visibility</h2><div class="charts">'
        f"{chart_box('Keywords by band', key, bands.svg())}{chart_box('Visibility', about, visible.svg())}</div>"
    )


def _volatility(report: RankReport) -> str:
    found = report.volatility
    if len(found) < 2:
        return ""
    high = max(max(one.jaccard, one.rbo) for one in found) or 1.0
    drawn = Chart("Volatility by run", (found[0].time, found[-1].time), (0, high), SIZE)
    drawn.line(((one.time, one.jaccard) for one in found), COLORS[0])
    drawn.line(((one.time, one.rbo) for one in found), COLORS[1])
    drawn.value(high, f"{high:.2f}")
    drawn.value(0, "0")
    drawn.ends(date(found[0].time), date(found[-1].time))
    key = legend_entry(COLORS[0], "1 - Jaccard of the first ten") + legend_entry(
        COLORS[1], "1 - rank-biased overlap (p = .9)"
    )
    return f"<h2>Volatility</h2>{chart_box('How much the first ten results moved', key, drawn.svg())}"


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
    return chart_box(title, key, draw_chart(chart, after, now))


def draw_chart(chart: RankChart, after: float, now: float) -> str:
    """Returns an SVG chart of the positions of domains in a search over time. Position 1 is at the top."""
    lines = [chart.points, *chart.rivals.values()]
    return draw_positions(chart.standing.keyword, chart.standing.depth, lines, chart.failed, (after, now))


def draw_positions(
    keyword: str,
    depth: int,
    lines: Sequence[Sequence[RankPoint]],
    failed: Sequence[tuple[float, str]],
    period: tuple[float, float],
) -> str:
    """Returns the chart of the positions of domains, the own one first. `failed`: the failed checks."""
    after, now = period
    places = [point.position for points in lines for point in points if point.position is not None]
    times = [point.time for points in lines for point in points] or [now]
    lowest, start, end = max([*places, 10]), max(after, min(times)), max(now, max(times))
    label = f"Positions for {keyword}, position 1 at the top"
    drawn = Chart(label, (start, end), (lowest, 1), SIZE_OF_RANKS)
    for place in (1, 3, 10):
        if place <= lowest:
            drawn.rule(place)
    drawn.bottom_rule(dashed=True)
    for number in range(len(lines) - 1, -1, -1):
        _line(drawn, lines[number], COLORS[number % 5], 2.4 if number == 0 else 1.4)
    for at, why in failed:
        drawn.mark(at, why)
    for place in dict.fromkeys((1, 10 if lowest > 13 else lowest, lowest)):
        drawn.value(place, str(place))
    drawn.value(None, f">{depth}")
    drawn.ends(date(start), date(end))
    return drawn.svg()


def _line(drawn: Chart, points: Sequence[RankPoint], color: str, width: float) -> None:
    drawn.line(((point.time, point.position) for point in points), color, width)
    for point in points:
        if point.position is None:
            drawn.dot(point.time, None, color, 1.6)
        elif point.note:
            drawn.dot(point.time, point.position, color, 3, title=point.note, hollow=True)


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
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return (
        f'<iframe sandbox title="The saved page" srcdoc="{escape(policy + still_page(page.body))}"></iframe>'
    )


def _page_link(url: str) -> str:
    return link(url, url[:200])

"""Renders a report on prices as one HTML file for a browser or a mail client. The file has no script and
loads nothing. All texts from pages are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from html import escape

from gossamer.uses.charts import BAD, GOOD, UNKNOWN, Chart, ChartSize
from gossamer.uses.html_report import END, breakable, date, facts, head, link, section
from gossamer.uses.html_report import chart as chart_box
from gossamer.uses.numbers import percent
from gossamer.uses.prices.changes import UNAVAILABLE
from gossamer.uses.prices.report import MAX_ROWS, PriceChart, PriceReport
from gossamer.uses.prices.series import MarketOffer, Point, PriceStatistics

SIZE = ChartSize(left=70, bottom=34)


def render_report(report: PriceReport) -> str:
    """Returns the report as a whole HTML document."""
    period = f"{date(report.after)} to {date(report.now)} (UTC)"
    numbers = (
        ("targets", f"{report.targets:,}"),
        ("found in the last 24 hours", percent(report.fresh, 1)),
        ("failing", _counted(report.failing)),
        ("stale", _counted(report.stale)),
    )
    parts = [
        _moves(report),
        _charts(report),
        _market(report),
        _current(report),
        _failing(report),
        _stale(report),
    ]
    return f"{head(report.title, period, period)}{facts(numbers)}{''.join(parts)}{END}"


def money(amount: Decimal | None, currency: str | None = None) -> str:
    """Returns an amount with at least two decimals and its currency. Returns `-` for None."""
    if amount is None:
        return "-"
    exponent = amount.as_tuple().exponent
    digits = max(2, -exponent) if isinstance(exponent, int) else 2
    return f"{amount:,.{digits}f} {currency or ''}".rstrip()


def _moves(report: PriceReport) -> str:
    rows = []
    for move in report.moves:
        way = ("bad", "▲") if move.after > move.before else ("good", "▼")
        rows.append(
            [
                ("", escape(move.name or move.target)),
                ("", escape(move.shop)),
                ("d", date(move.time)),
                ("n", money(move.before, move.currency)),
                ("n", money(move.after, move.currency)),
                (f"n {way[0]}", f"{way[1]} {move.percent:+.1f}%"),
            ]
        )
    heads = ("product", "shop", "day", "before:n", "after:n", "change:n")
    return section("Biggest moves", heads, rows, "No price changed in this period.")


def _market(report: PriceReport) -> str:
    shops = sorted({offer.shop for offers in report.markets.values() for offer in offers})
    rows = []
    for product, offers in report.markets.items():
        by_shop: dict[str, MarketOffer] = {}
        for offer in offers:
            by_shop.setdefault(offer.shop, offer)
        rows.append(
            [
                ("", escape(product)),
                *(_cell(by_shop[shop]) if shop in by_shop else ("n", "") for shop in shops),
            ]
        )
    note = "The cheapest offer that can be bought is green. The small number is the price in percent of the median."
    heads = ("product", *(f"{shop}:n" for shop in shops))
    return section("Market", heads, rows, "No product has several targets.", note)


def _cell(offer: MarketOffer) -> tuple[str, str]:
    price = money(offer.price, offer.currency)
    if offer.rank is None:
        return "n off", f'{price}<br><span class="small">{escape(offer.availability or "no price")}</span>'
    mark = "★ " if offer.rank == 1 else ""
    return (
        "n best" if offer.rank == 1 else "n"
    ), f'{mark}{price}<br><span class="small off">{offer.price_index}</span>'


def _current(report: PriceReport) -> str:
    rows = [
        [
            ("", escape(one.name or one.target)),
            ("", escape(one.variant)),
            ("", escape(one.shop)),
            ("n", money(one.price, one.currency)),
            ("", escape(one.availability or "")),
            ("d", date(one.last_seen)),
        ]
        for one in report.current
    ]
    note = f"The first {MAX_ROWS} offers of the list." if len(rows) == MAX_ROWS else ""
    heads = ("product", "variant", "shop", "price:n", "availability", "last found")
    return section("Current prices", heads, rows, "No price was found yet.", note)


def _failing(report: PriceReport) -> str:
    rows = [
        [
            ("", escape(one.target)),
            ("", escape(one.state)),
            ("d", date(one.since)),
            ("n", f"{one.runs:,}"),
            ("u", breakable(one.address or (one.tried[-1] if one.tried else ""))),
        ]
        for one, _ in report.failing
    ]
    heads = ("target", "state", "since", "runs:n", "new address, or what came back")
    return section("Failing", heads, rows, "No target fails.")


def _stale(report: PriceReport) -> str:
    rows = [
        [
            ("", escape(one.target)),
            ("", escape(one.shop)),
            ("d", date(one.last_seen)),
            ("d", date(one.last_checked)),
        ]
        for one in report.stale
    ]
    heads = ("target", "shop", "last found", "last visit")
    return section("Stale", heads, rows, "Every target was found in the last two days.")


def _charts(report: PriceReport) -> str:
    if not report.charts:
        return ""
    note = (
        "Blue: the price. Grey band: where the price was half of the time. Dashed: the median. "
        "Bar below: green while in stock, red while not, grey if unknown."
    )
    charts = "".join(_chart(chart, report.after, report.now) for chart in report.charts)
    return f'<h2>Price lines</h2><p class="note">{note}</p><div class="charts">{charts}</div>'


def _chart(chart: PriceChart, after: float, now: float) -> str:
    move, found = chart.move, chart.statistics
    title = link(chart.url, move.name or move.target)
    currency = next((one.currency for one in reversed(chart.points) if one.price is not None), move.currency)
    about = f"{escape(move.shop)} · lowest {money(found.lowest)}, median {money(found.median)}, highest {money(found.highest, currency)}"
    return chart_box(title, about, draw_chart(chart, after, now))


def draw_chart(chart: PriceChart, after: float, now: float) -> str:
    """Returns an SVG chart of one offer: its prices in the last currency as steps, the usual price band, and
    the stock."""
    return draw_price_line(chart.move.name or chart.move.target, chart.points, chart.statistics, after, now)


def draw_price_line(
    name: str, known: Sequence[Point], found: PriceStatistics, after: float, now: float
) -> str:
    """Returns the chart of the prices of one offer, or '' if no price is known."""
    points = [one for one in known if one.price is not None]
    points = [one for one in points if one.currency == points[-1].currency]
    if not points or found.lowest is None or found.highest is None or found.band is None:
        return ""
    low, high = float(found.lowest), float(found.highest)
    space = (high - low) * 0.08 or high * 0.05 or 1.0
    label = f"Price line: {name}, lowest {found.lowest}, highest {found.highest}"
    drawn = Chart(label, (after, now), (low - space, high + space), SIZE)
    drawn.band(*map(float, found.band))
    drawn.rule(float(found.median or 0), "var(--dash)", dashed=True)
    drawn.steps([(one.time, float(one.price)) for one in points if one.price is not None], now)
    drawn.strip((one.time, until, _color(one)) for one, until in _ends(known, now))
    for price in sorted({found.lowest, found.highest}):
        drawn.value(float(price), money(price))
    drawn.ends(date(after), date(now))
    return drawn.svg()


def _ends(points: Sequence[Point], end: float) -> list[tuple[Point, float]]:
    """Pairs each point with the time until which its values are valid."""
    return list(zip(points, [*(one.time for one in points[1:]), end], strict=True))


def _color(point: Point) -> str:
    if point.availability is None:
        return UNKNOWN
    return BAD if point.availability in UNAVAILABLE else GOOD


def _counted(found: Sequence[object]) -> str:
    return f"{len(found):,} or more" if len(found) == MAX_ROWS else f"{len(found):,}"

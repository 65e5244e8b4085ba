"""Renders a report on prices as one HTML file for a browser or a mail client. The file has no script and
loads nothing. All texts from pages are escaped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from html import escape

from gossamer.uses.prices.report import MAX_ROWS, PriceChart, PriceReport
from gossamer.uses.prices.series import UNAVAILABLE, MarketOffer, Point

WIDTH, HEIGHT, LEFT, BOTTOM = 560, 150, 70, 34
"""The size of a chart in pixels, with the space for the labels of its axes."""
_STYLE = """
body{margin:0;background:#f6f7f9;color:#1c2430;font:15px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:27px;margin:0}h2{font-size:19px;margin:34px 0 10px}h3{font-size:15px;margin:0 0 2px}
.note{color:#566172;margin:2px 0 14px}.facts{margin:18px 0 0;padding:0}
.facts div{display:inline-block;background:#fff;border:1px solid #dde2e9;border-radius:8px;padding:10px 18px;margin:0 8px 8px 0}
.facts dt{color:#566172;font-size:13px}.facts dd{margin:0;font-size:22px;font-weight:600}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;background:#fff;border:1px solid #dde2e9}
th,td{padding:7px 11px;text-align:left;border-bottom:1px solid #e8ebf0;vertical-align:top}
th{background:#eef1f5;font-size:13px;white-space:nowrap}td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.up{color:#a32020}.down{color:#0b6b3a}.best{background:#e3f4ea;font-weight:600}
.out{color:#566172}.index{color:#566172;font-size:12px;font-weight:400}
.chart{display:inline-block;vertical-align:top;width:560px;max-width:100%;background:#fff;
border:1px solid #dde2e9;border-radius:8px;padding:12px 0 6px;margin:0 8px 10px 0}
.chart h3,.chart p{padding:0 14px}.chart svg{display:block;max-width:100%;height:auto}a{color:#0b57a4}
"""


def render_report(report: PriceReport) -> str:
    """Returns the report as a whole HTML document."""
    period = f"{_date(report.after)} to {_date(report.now)} (UTC)"
    facts = (
        ("targets", f"{report.targets:,}"),
        ("found in the last 24 hours", f"{100 * report.fresh:.1f} %"),
        ("failing", _counted(report.failing)),
        ("stale", _counted(report.stale)),
    )
    shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    parts = [_moves(report), _charts(report), _market(report), _failing(report), _stale(report)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}, {period}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(report.title)}</h1><p class="note">{period}</p><dl class="facts">{shown}</dl>'
        f"{''.join(parts)}</main></body></html>\n"
    )


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
        way = "up" if move.after > move.before else "down"
        rows.append(
            [
                ("", escape(move.name or move.target)),
                ("", escape(move.shop)),
                ("", _date(move.time)),
                ("n", money(move.before, move.currency)),
                ("n", money(move.after, move.currency)),
                (f"n {way}", f"{'▲' if way == 'up' else '▼'} {move.percent:+.1f} %"),
            ]
        )
    heads = ("product", "shop", "day", "before:n", "after:n", "change:n")
    return _section("Biggest moves", heads, rows, "No price changed in this period.")


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
    return _section("Market", heads, rows, "No product has several targets.", note)


def _cell(offer: MarketOffer) -> tuple[str, str]:
    price = money(offer.price, offer.currency)
    if offer.rank is None:
        return "n out", f'{price}<br><span class="index">{escape(offer.availability or "no price")}</span>'
    mark = "★ " if offer.rank == 1 else ""
    return (
        "n best" if offer.rank == 1 else "n"
    ), f'{mark}{price}<br><span class="index">{offer.price_index}</span>'


def _failing(report: PriceReport) -> str:
    rows = [
        [
            ("", escape(one.target)),
            ("", escape(one.state)),
            ("", _date(one.since)),
            ("n", f"{one.runs:,}"),
            ("", escape(one.address or (one.tried[-1] if one.tried else ""))),
        ]
        for one, _ in report.failing
    ]
    heads = ("target", "state", "since", "runs:n", "new address, or what came back")
    return _section("Failing", heads, rows, "No target fails.")


def _stale(report: PriceReport) -> str:
    rows = [
        [
            ("", escape(one.target)),
            ("", escape(one.shop)),
            ("", _date(one.last_seen)),
            ("", _date(one.last_checked)),
        ]
        for one in report.stale
    ]
    heads = ("target", "shop", "last found", "last visit")
    return _section("Stale", heads, rows, "Every target was found in the last two days.")


def _section(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[tuple[str, str]]],
    empty: str,
    note: str = "",
) -> str:
    """Returns a heading and a table. A heading that ends in `:n` belongs to a column of numbers. A cell is its
    class and its HTML."""
    if not rows:
        return f'<h2>{title}</h2><p class="note">{empty}</p>'
    head = "".join(
        f'<th scope="col"{" class=n" if name.endswith(":n") else ""}>{escape(name.removesuffix(":n"))}</th>'
        for name in heads
    )
    body = "".join(f"<tr>{''.join(map(_table_cell, row))}</tr>" for row in rows)
    about = f'<p class="note">{note}</p>' if note else ""
    return (
        f'<h2>{title}</h2>{about}<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _table_cell(cell: tuple[str, str]) -> str:
    kind, text = cell
    return f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>"


def _charts(report: PriceReport) -> str:
    if not report.charts:
        return ""
    note = (
        "Blue: the price. Grey band: where the price was half of the time. Dashed: the median. "
        "Bar below: green while in stock, red while not, grey if unknown."
    )
    charts = "".join(_chart(chart, report.after, report.now) for chart in report.charts)
    return f'<h2>Price lines</h2><p class="note">{note}</p>{charts}'


def _chart(chart: PriceChart, after: float, now: float) -> str:
    move, found = chart.move, chart.statistics
    name = escape(move.name or move.target)
    title = (
        f'<a href="{escape(chart.url)}">{name}</a>' if chart.url.startswith(("http://", "https://")) else name
    )
    currency = next((one.currency for one in reversed(chart.points) if one.price is not None), move.currency)
    facts = f"{escape(move.shop)} · lowest {money(found.lowest)}, median {money(found.median)}, highest {money(found.highest, currency)}"
    return (
        f'<div class="chart"><h3>{title}</h3><p class="note">{facts}</p>{draw_chart(chart, after, now)}</div>'
    )


def draw_chart(chart: PriceChart, after: float, now: float) -> str:
    """Returns the price line of one offer as SVG: steps in the last currency, the band, and the stock."""
    found, end = chart.statistics, now
    points = [one for one in chart.points if one.price is not None]
    points = [one for one in points if one.currency == points[-1].currency]
    if not points or found.lowest is None or found.highest is None or found.band is None:
        return ""
    low, high = float(found.lowest), float(found.highest)
    space = (high - low) * 0.08 or high * 0.05 or 1.0
    top, floor = 10.0, float(HEIGHT - BOTTOM)

    def x(when: float) -> float:
        return LEFT + (max(when, after) - after) / (end - after) * (WIDTH - LEFT - 14)

    def y(price: Decimal | float) -> float:
        return floor - (float(price) - low + space) / (high - low + 2 * space) * (floor - top)

    steps, path = _ends(points, end), ""
    for point, until in steps:
        if until > after and point.price is not None:
            path += f"{'L' if path else 'M'}{x(point.time):.1f},{y(point.price):.1f}H{x(until):.1f}"
    lower, upper = found.band
    band = (
        f'<rect x="{LEFT}" y="{y(upper):.1f}" width="{WIDTH - LEFT - 14}" '
        f'height="{max(1.0, y(lower) - y(upper)):.1f}" fill="#e6eaf0"/>'
    )
    median = (
        f'<path d="M{LEFT},{y(found.median or 0):.1f}H{WIDTH - 14}" stroke="#77839a" stroke-dasharray="4 4"/>'
    )
    labels = "".join(
        f'<text x="{LEFT - 8}" y="{y(price) + 4:.1f}" text-anchor="end">{money(price)}</text>'
        for price in sorted({found.lowest, found.highest})
    )
    stock = "".join(
        f'<rect x="{x(one.time):.1f}" y="{floor + 3:.0f}" width="{max(0.5, x(until) - x(one.time)):.1f}" height="6" '
        f'fill="{_color(one)}"/>'
        for one, until in _ends(chart.points, end)
        if until > after
    )
    days = (
        f'<text x="{LEFT}" y="{HEIGHT - 8}">{_date(after)}</text>'
        f'<text x="{WIDTH - 14}" y="{HEIGHT - 8}" text-anchor="end">{_date(now)}</text>'
    )
    label = escape(
        f"Price line: {chart.move.name or chart.move.target}, lowest {found.lowest}, highest {found.highest}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12" fill="#566172" font-family="system-ui,sans-serif">{band}{median}'
        f'<path d="{path}" fill="none" stroke="#0b57a4" stroke-width="2"/>{stock}{labels}{days}</svg>'
    )


def _ends(points: Sequence[Point], end: float) -> list[tuple[Point, float]]:
    """Returns each point with the time until which its values hold."""
    return list(zip(points, [*(one.time for one in points[1:]), end], strict=True))


def _color(point: Point) -> str:
    if point.availability is None:
        return "#b5bdc9"
    return "#c23b3b" if point.availability in UNAVAILABLE else "#2a9d5c"


def _counted(found: Sequence[object]) -> str:
    return f"{len(found)} or more" if len(found) == MAX_ROWS else str(len(found))


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds)) if seconds else "-"

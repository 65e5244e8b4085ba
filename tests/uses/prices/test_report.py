"""The HTML price report on a history of two shops."""

from __future__ import annotations

import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget
from gossamer.uses.prices.report import list_products, read_report
from gossamer.uses.prices.report_html import draw_chart, money, render_report
from gossamer.uses.prices.report_tables import report_tables
from gossamer.uses.prices.target_filter import TargetFilter

DAY = 86_400.0
START = 20_000 * DAY
VISITS = 14
NAME = '<script>alert("kettle")</script> & Co'


def visit(history: History, day: float, prices: dict[str, str], **stock: str) -> None:
    """Makes a run with enough visits to confirm a change in a new shop."""
    history.begin_run()
    for number in range(VISITS):
        history.record(
            [
                Observation(
                    target=key,
                    time=START + day * DAY + number * 60,
                    state=OfferState.PRICED,
                    url=f"https://{key}.example/kettle",
                    price=Decimal(price),
                    currency="EUR",
                    availability=stock.get(key, "InStock"),
                    name=NAME,
                    confirming=number > 0,
                )
                for key, price in prices.items()
            ]
        )
    history.end_run()


@pytest.fixture
def filled(history: History) -> History:
    """Fills a history with two shops that sell the same kettle. Shop `a` lowers its price, and shop `b` sells
    out."""
    history.list_targets(
        [
            PriceTarget(key=key, url=f"https://{key}.example/kettle", shop=f"{key}.example", product="kettle")
            for key in ("a", "b")
        ]
    )
    visit(history, 0, {"a": "40.00", "b": "36.00"})
    visit(history, 5, {"a": "30.00", "b": "36.00"})
    visit(history, 9, {"a": "30.00", "b": "36.00"}, b="OutOfStock")
    return history


class Outline(HTMLParser):
    """The tags of a document, and the tags that are still open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_report_has_moves_charts_and_the_market(filled: History) -> None:
    report = read_report(filled, now=START + 10 * DAY)
    assert [(one.target, one.before, one.after) for one in report.moves] == [("a", Decimal(40), Decimal(30))]
    assert [one.target for one in report.markets["kettle"]] == ["a", "b"]
    assert report.charts[0].url == "https://a.example/kettle"
    text = render_report(report)
    assert "▼ -25.0%" in text
    assert "★ 30.00 EUR" in text
    assert "OutOfStock" in text
    assert "No target fails." in text


def test_a_report_after_the_first_run_has_the_current_prices(history: History) -> None:
    history.list_targets([PriceTarget(key="a", url="https://a.example/kettle", shop="a.example")])
    visit(history, 0, {"a": "40.00"})
    report = read_report(history, now=START + DAY)
    assert [(one.target, one.price, one.availability) for one in report.current] == [
        ("a", Decimal(40), "InStock")
    ]
    assert "40.00 EUR" in render_report(report)
    assert report_tables(report)["prices"].rows[0][4] == Decimal(40)


def test_the_file_is_well_formed_and_loads_nothing(filled: History) -> None:
    text = render_report(read_report(filled, now=START + 10 * DAY))
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert not outline.seen & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"src=|url\(|@import", text)
    assert "&lt;script&gt;" in text


def test_a_shop_and_a_period_limit_the_report(filled: History) -> None:
    now = START + 10 * DAY
    assert read_report(filled, now=now, chosen=TargetFilter(shop="b.example")).moves == []
    assert read_report(filled, now=now, days=3).moves == []
    assert list_products(filled, chosen=TargetFilter(shop="b.example")) == ["kettle"]
    assert list_products(filled, chosen=TargetFilter(shop="c.example")) == []


def test_a_target_that_no_visit_finds_is_stale(filled: History) -> None:
    assert [one.target for one in read_report(filled, now=START + 12 * DAY).stale] == ["a", "b"]


def test_a_chart_shows_steps_and_stock(filled: History) -> None:
    now = START + 10 * DAY
    (chart,) = read_report(filled, now=now).charts
    drawn = draw_chart(chart, START, now)
    assert len(re.findall(r"[ML][\d.]+,[\d.]+H", drawn)) >= 2
    assert "var(--in)" in drawn


def test_a_chart_of_one_day_shows_its_point(filled: History) -> None:
    now = START + 10 * DAY
    (chart,) = read_report(filled, now=now).charts
    alone = chart._replace(points=[one._replace(time=now) for one in chart.points[-1:]])
    assert draw_chart(alone, START, now).count("<circle") == 1


def test_an_empty_history_makes_a_report(history: History) -> None:
    text = render_report(read_report(history, now=START))
    assert "No price changed in this period." in text
    assert "No product has several targets." in text


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [("1234.5", "EUR", "1,234.50 EUR"), ("0.125", None, "0.125"), ("1E+3", "JPY", "1,000.00 JPY")],
)
def test_money(amount: str, currency: str | None, shown: str) -> None:
    assert money(Decimal(amount), currency) == shown

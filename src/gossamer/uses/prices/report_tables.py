"""Creates tables from a price history. The tables are printed in a terminal or written to files. Times are
UTC."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from gossamer.client.table_files import TableRows
from gossamer.uses.prices.failing import Failing
from gossamer.uses.prices.recorder import ShopState
from gossamer.uses.prices.report import PriceReport
from gossamer.uses.prices.series import CurrentPrice, MarketOffer, Move, Point, StaleOffer
from gossamer.uses.prices.shop_health import judge


def moves_table(moves: Sequence[Move]) -> TableRows:
    """Returns the table of price changes."""
    rows = [
        (
            *(one.name or one.target, one.target, one.variant, one.shop, _time(one.time)),
            *(one.before, one.after, one.currency, one.percent.quantize(Decimal("0.1"))),
        )
        for one in moves
    ]
    names = ("name", "target", "variant", "shop", "time", "before", "after", "currency", "percent")
    return TableRows(names, rows)


def market_table(markets: Mapping[str, Sequence[MarketOffer]]) -> TableRows:
    """Returns the table of the offers of products."""
    rows = [
        (
            *(product, one.shop, one.target, one.rank, one.price, one.currency, one.price_index),
            one.availability,
        )
        for product, offers in markets.items()
        for one in offers
    ]
    names = ("product", "shop", "target", "rank", "price", "currency", "index", "availability")
    return TableRows(names, rows)


def current_table(offers: Sequence[CurrentPrice]) -> TableRows:
    """Returns the table of current prices."""
    rows = [
        (
            *(one.name or one.target, one.target, one.variant, one.shop, one.price, one.currency),
            *(one.availability, _time(one.last_seen)),
        )
        for one in offers
    ]
    names = ("name", "target", "variant", "shop", "price", "currency", "availability", "last found")
    return TableRows(names, rows)


def series_table(points: Sequence[Point]) -> TableRows:
    """Returns the table of the prices of one offer. Each price holds from its time on."""
    rows = [(_time(one.time), *one[1:]) for one in points]
    return TableRows(Point._fields, rows)


def stale_table(offers: Sequence[StaleOffer]) -> TableRows:
    """Returns the table of offers that no visit has found for a long time."""
    rows = [
        (one.target, one.variant, one.shop, _time(one.last_seen), _time(one.last_checked)) for one in offers
    ]
    return TableRows(("target", "variant", "shop", "last found", "last visit"), rows)


def failing_table(found: Sequence[tuple[Failing, str]]) -> TableRows:
    """Returns the table of targets that fail, with their URLs."""
    rows = [
        (
            *(one.target, url, one.shop, one.state, _time(one.since), _time(one.last), one.runs),
            *(one.address or None, "; ".join(one.tried)),
        )
        for one, url in found
    ]
    names = ("target", "url", "shop", "state", "since", "last", "runs", "new address", "tried")
    return TableRows(names, rows)


def shops_table(shops: Sequence[ShopState]) -> TableRows:
    """Returns the table of shops and their state: ok, redesigned, away or moved."""
    rows = [
        (
            *(one.shop, one.state, text_of_time(one.since), one.health.known, one.health.lost),
            judge(one.health).detail,
        )
        for one in shops
    ]
    return TableRows(("shop", "state", "since", "pages", "lost", "detail"), rows)


def report_tables(report: PriceReport) -> dict[str, TableRows]:
    """Returns the tables of a report. The key is the name of the table."""
    return {
        "moves": moves_table(report.moves),
        "market": market_table(report.markets),
        "prices": current_table(report.current),
        "failing": failing_table(report.failing),
        "stale": stale_table(report.stale),
    }


def text_of_time(seconds: float) -> str:
    """Formats a time in ISO 8601 format (UTC). Returns '' for 0."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def _time(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(int(seconds), UTC) if seconds else None

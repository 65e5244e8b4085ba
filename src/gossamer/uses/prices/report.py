"""Reads the data of a report on prices: biggest moves with their charts, the market of each product, failing
and stale targets. Each query uses an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.errors import UsageError
from gossamer.uses.prices.failing import Failing, list_failing
from gossamer.uses.prices.history import History
from gossamer.uses.prices.offer_rows import DAY_S
from gossamer.uses.prices.product_groups import list_groups, read_group
from gossamer.uses.prices.series import (
    CurrentPrice,
    MarketOffer,
    Move,
    Point,
    PriceStatistics,
    StaleOffer,
    biggest_moves,
    current_prices,
    fresh_share,
    read_market,
    read_series,
    stale_offers,
    statistics_of,
)
from gossamer.uses.prices.target_filter import ALL, TargetFilter

STALE_DAYS = 2.0
MAX_ROWS = 30
"""Maximum number of rows of a table in a report."""
MAX_CHARTS = 12


class PriceChart(NamedTuple):
    """The price series of one offer, for a chart."""

    move: Move
    """The biggest price change of the offer in the period."""
    points: list[Point]
    statistics: PriceStatistics
    url: str


class PriceReport(NamedTuple):
    """The data that a report on prices shows."""

    title: str
    after: float
    now: float
    targets: int
    fresh: float
    """The share of the listed targets that a visit has found within the last 24 hours, 0 to 1."""
    moves: list[Move]
    charts: list[PriceChart]
    markets: dict[str, list[MarketOffer]]
    """Maps each product to its offers, with the cheapest offer first."""
    current: list[CurrentPrice]
    """The newest values of the first MAX_ROWS offers, by target."""
    failing: list[tuple[Failing, str]]
    stale: list[StaleOffer]


def read_report(history: History, *, now: float, days: float = 30, chosen: TargetFilter = ALL) -> PriceReport:
    """Reads the data of a report on the last `days` days. `chosen`: a filter for targets. The filter applies
    to the moves, the failing targets, the stale targets and the products."""
    database, after = history.database, now - days * DAY_S
    moves = biggest_moves(database, after=after, before=now, limit=MAX_ROWS, chosen=chosen)
    names = list_products(history, chosen=chosen)
    markets = {name: read_market(database, name) for name in names}
    of = ", ".join(filter(None, (chosen.shop, chosen.tag and f"tag {chosen.tag}", chosen.product)))
    return PriceReport(
        title=f"Prices of {of}" if of else "Prices",
        after=after,
        now=now,
        targets=_count_targets(history, chosen),
        fresh=fresh_share(database, now=now, chosen=chosen),
        moves=moves,
        charts=_read_charts(history, moves, after, now),
        markets={name: offers for name, offers in markets.items() if offers},
        current=current_prices(database, limit=MAX_ROWS, chosen=chosen),
        failing=list_failing(database, chosen=chosen, limit=MAX_ROWS),
        stale=stale_offers(database, before=now - STALE_DAYS * DAY_S, limit=MAX_ROWS, chosen=chosen),
    )


def _count_targets(history: History, chosen: TargetFilter) -> int:
    """Returns the number of listed targets. Without a filter, the function counts all targets and subtracts
    the unlisted targets, because an index finds the few unlisted targets quickly."""
    if chosen == ALL:
        ((targets, unlisted),) = history.query(
            "SELECT (SELECT count(*) FROM price_targets), (SELECT count(*) FROM price_targets WHERE listed = 0)"
        )
        return int(targets - unlisted)
    where, values = chosen.condition(history.database)
    ((targets,),) = history.query(f"SELECT count(*) FROM price_targets t WHERE t.listed = 1{where}", values)
    return int(targets)


def choose_targets(history: History, shop: str | None, tag: str | None, product: str | None) -> TargetFilter:
    """Returns the filter of a shop, a tag and a product. Raises UsageError if no target matches one of them."""
    chosen = TargetFilter(shop or "", tag or "", product or "")
    if chosen == ALL:
        return chosen
    if shop and shop not in {one.shop for one in history.shops()}:
        raise UsageError(f"--shop {shop}: unknown shop; gossamer prices shops lists all shops")
    if not chosen.any_target(history.database):
        given = " ".join(
            f"--{name} {value}" for name, value in zip(chosen._fields, chosen, strict=True) if value
        )
        raise UsageError(f"{given}: no target of the last list has this")
    return chosen


def list_products(history: History, *, chosen: TargetFilter = ALL, limit: int = MAX_ROWS) -> list[str]:
    """Returns the products that have several targets. The product with the most targets comes first. A
    product is named by its id, or by the key of one of its targets if the product has no id. `chosen`: the
    filter for targets. Only the products of the chosen targets are returned."""
    if chosen.product:
        return [chosen.product] if len(read_group(history.database, chosen.product)) > 1 else []
    if not chosen.tag:
        return list_groups(history.database, shop=chosen.shop, limit=limit)
    where, values = chosen.condition(history.database)
    keys = history.query(f"SELECT t.key FROM price_targets t WHERE t.listed = 1{where}", values)
    return list_groups(history.database, keys={key for (key,) in keys}, limit=limit)


def _read_charts(history: History, moves: Sequence[Move], after: float, now: float) -> list[PriceChart]:
    charts: dict[tuple[str, str], PriceChart] = {}
    for move in moves:
        offer = move.target, move.variant
        if offer in charts or len(charts) == MAX_CHARTS:
            continue
        points = read_series(history.database, *offer, after=after, before=now)
        known = history.last(*offer)
        charts[offer] = PriceChart(
            move, points, statistics_of(points, after, now), known.url if known else ""
        )
    return list(charts.values())

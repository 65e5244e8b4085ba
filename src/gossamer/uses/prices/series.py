"""Reads series and statistics from the price history. Each query uses an index, so that a history of a
million changes is read as fast as a small one. A price is valid from the time of its point until the time of
the next point. Statistics weight each price by the duration of its validity, and use only the points in the
currency of the last point.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from gossamer.uses.prices import offer_rows
from gossamer.uses.prices.changes import UNAVAILABLE, rounded
from gossamer.uses.prices.database import Database, amount
from gossamer.uses.prices.offer_rows import DAY_S, offer_id
from gossamer.uses.prices.product_groups import read_group
from gossamer.uses.prices.target_filter import ALL, TargetFilter

PERIOD_DAYS = 30
"""A shop in the European Union that announces a discount must also state the lowest price of the last 30 days
before the discount (directive 98/6/EC, article 6a)."""
_POINT = "time, price, regular_price, currency, availability, seller, unit_price, unit, state"


class Point(NamedTuple):
    """The values of an offer, which are valid from `time` until the time of the next point."""

    time: float
    price: Decimal | None
    regular_price: Decimal | None
    currency: str | None
    availability: str | None
    seller: str | None
    unit_price: Decimal | None
    unit: str | None
    state: str


class PriceStatistics(NamedTuple):
    """Statistics of an offer's prices in a period. If the offer had no price, the durations and the number of
    changes are 0, and the other values are None."""

    lowest: Decimal | None
    lowest_since: float | None
    """The time at which the offer first had its lowest price of the period. If the lowest price was already
    valid at the start of the period, the time is before the period."""
    highest: Decimal | None
    median: Decimal | None
    band: tuple[Decimal, Decimal] | None
    """The 25th and the 75th percentile of the price, weighted by time. For half of the time, the price was
    between the 25th and the 75th percentile."""
    at_price_s: float
    """The number of seconds for which the offer has had its last price."""
    known_s: float
    """The total time in seconds, within the period, during which the price was known."""
    changes: int


class Move(NamedTuple):
    """A price change of an offer."""

    target: str
    variant: str
    shop: str
    name: str
    time: float
    before: Decimal
    after: Decimal
    currency: str | None

    @property
    def percent(self) -> Decimal:
        """The change as a percentage of the previous price."""
        return (self.after / self.before - 1) * 100


class MarketOffer(NamedTuple):
    """An offer in comparison with the other offers of the same product."""

    target: str
    variant: str
    shop: str
    price: Decimal | None
    currency: str | None
    availability: str | None
    last_seen: float
    rank: int | None
    """The rank of the offer by price, starting at 1, among the available offers in the same currency, or None
    if the offer is not available. Offers with equal prices have equal ranks."""
    price_index: Decimal | None
    """The price of the offer as a percentage of the median price of all available offers in the same
    currency."""


class CurrentPrice(NamedTuple):
    """The newest values of an offer."""

    target: str
    variant: str
    shop: str
    name: str
    price: Decimal | None
    currency: str | None
    availability: str | None
    last_seen: float


class StaleOffer(NamedTuple):
    """An offer that no visit has found for a long time."""

    target: str
    variant: str
    shop: str
    last_seen: float
    last_checked: float


MAX_FILTERED_OFFERS = 3000
"""If a filter matches at most this number of offers, price changes are read offer by offer. If a filter
matches more than this number of offers, price changes are read day by day."""


def read_series(
    database: Database, target: str, variant: str = "", *, after: float = 0.0, before: float = 1e18
) -> list[Point]:
    """Returns the points of a period, oldest first. The first point may be older than the period, because its
    values are still valid at the beginning of the period."""
    offer = offer_id(target, variant)
    rows = database.rows(
        f"SELECT {_POINT} FROM price_points WHERE offer = ? AND time < ? AND time >= coalesce((SELECT max(time) "
        "FROM price_points WHERE offer = ? AND time <= ?), 0) ORDER BY time",
        [offer, before, offer, after],
    )
    return [
        Point(time, amount(price), amount(regular), currency, stock, seller, amount(unit_price), unit, state)
        for time, price, regular, currency, stock, seller, unit_price, unit, state in rows
    ]


def statistics_of(points: Sequence[Point], after: float, now: float) -> PriceStatistics:
    """Returns the statistics of a series in the period from `after` to `now`."""
    priced = [point for point in points if point.price is not None and point.time < now]
    if not priced:
        return PriceStatistics(None, None, None, None, None, 0.0, 0.0, 0)
    currency = priced[-1].currency
    spans: list[tuple[Decimal, float, float]] = []
    for point, end in zip(priced, [*(one.time for one in priced[1:]), now], strict=True):
        if point.currency == currency and end > after and point.price is not None:
            spans.append((point.price, point.time, end - max(point.time, after)))
    lowest = min(spans)
    at_price, price = priced[-1].time, priced[-1].price
    for point in reversed(priced):
        if (point.price, point.currency) != (price, currency):
            break
        at_price = point.time
    return PriceStatistics(
        lowest=lowest[0],
        lowest_since=lowest[1],
        highest=max(spans)[0],
        median=_weighted(spans, 0.5),
        band=(_weighted(spans, 0.25), _weighted(spans, 0.75)),
        at_price_s=now - at_price,
        known_s=sum(span for _, _, span in spans),
        changes=sum(before[0] != later[0] for before, later in itertools.pairwise(spans)),
    )


def read_statistics(
    database: Database, target: str, variant: str = "", *, now: float, days: float = PERIOD_DAYS
) -> PriceStatistics:
    """Returns the statistics of an offer in the last `days` days."""
    after = now - days * DAY_S
    return statistics_of(read_series(database, target, variant, after=after, before=now), after, now)


def lowest_before(points: Sequence[Point], days: float = PERIOD_DAYS) -> Decimal | None:
    """Returns the lowest price in the `days` days before the last price change. Returns None if no earlier
    price in the same currency is known. An honest shop states its discounts relative to the lowest earlier
    price."""
    priced = [point for point in points if point.price is not None]
    if not priced:
        return None
    last = priced[-1]
    start = last.time
    earlier: list[Decimal] = []
    end = last.time
    for point in reversed(priced):
        same = point.price == last.price and point.currency == last.currency
        if same and not earlier:
            start = end = point.time
            continue
        if end <= start - days * DAY_S or point.currency != last.currency:
            break
        if point.price is not None:
            earlier.append(point.price)
        end = point.time
    return min(earlier, default=None)


def _weighted(spans: Sequence[tuple[Decimal, float, float]], share: float) -> Decimal:
    """Returns a weighted percentile of the prices: the offer had at most this price for `share` of the
    time."""
    ordered = sorted(spans)
    left = share * sum(span for _, _, span in ordered)
    for price, _, span in ordered:
        left -= span
        if left <= 0:
            return price
    return ordered[-1][0]


def biggest_moves(
    database: Database, *, after: float, before: float, limit: int = 50, chosen: TargetFilter = ALL
) -> list[Move]:
    """Returns the biggest price changes in a period, biggest first. The size of a change is abs(ln(after /
    before)), so a doubled and a halved price have the same size of change. The index is read day by day, so
    the time depends on the days and the limit, not on the number of changes. `chosen`: a filter for the
    targets."""
    found: list[tuple[float, int, float]] = []
    few = _few_offers(database, chosen)
    if few is not None:
        period = f"move IS NOT NULL AND time >= {after!r} AND time < {min(before, 1e18)!r}"
        found = database.rows_in(
            f"SELECT move, offer, time FROM price_points WHERE offer IN (?) AND {period}", few, size=100
        )
    else:
        found = _moves_by_day(database, after, before, limit, chosen)
    moves = []
    for _, offer, time in sorted(found, key=lambda one: (-one[0], one[1], one[2]))[:limit]:
        rows = database.rows(
            "SELECT o.target, o.variant, o.shop, coalesce(o.name, ''), p.was, p.price, p.currency FROM "
            "price_points p JOIN price_offers o ON o.id = p.offer WHERE p.offer = ? AND p.time = ?",
            [offer, time],
        )
        for target, variant, at, name, was, price, currency in rows:
            old, new = amount(was), amount(price)
            if old is not None and new is not None:
                moves.append(Move(target, variant, at, name, time, old, new, currency))
    return moves


def _few_offers(database: Database, chosen: TargetFilter) -> list[int] | None:
    """Returns the ids of the offers that match a filter by tag or product. Returns None if the filter has
    neither a tag nor a product, or if more than MAX_FILTERED_OFFERS offers match."""
    if not chosen.is_narrow:
        return None
    where, values = chosen.condition(database)
    rows = database.rows(
        f"SELECT o.id FROM price_offers o JOIN price_targets t ON t.key = o.target WHERE t.listed = 1{where} LIMIT ?",
        [*values, MAX_FILTERED_OFFERS + 1],
    )
    return [offer for (offer,) in rows] if len(rows) <= MAX_FILTERED_OFFERS else None


def _moves_by_day(
    database: Database, after: float, before: float, limit: int, chosen: TargetFilter
) -> list[tuple[float, int, float]]:
    """Returns tuples (move, offer, time), one for each price change. The result contains at least the `limit`
    biggest changes, in no particular order."""
    found: list[tuple[float, int, float]] = []
    where, values = chosen.condition(database) if chosen.is_narrow else ("", [])
    if values:
        where = (
            "AND EXISTS (SELECT 1 FROM price_offers o JOIN price_targets t ON t.key = o.target "
            f"WHERE o.id = p.offer{where}) "
        )
    elif chosen.shop:
        where = "AND EXISTS (SELECT 1 FROM price_offers o WHERE o.id = p.offer AND o.shop = ?) "
        values = [chosen.shop]
    for day in range(int(after // DAY_S), int(before // DAY_S) + 1):
        floor = sorted(found, reverse=True)[limit - 1][0] if len(found) >= limit else 0.0
        found += database.rows(
            "SELECT p.move, p.offer, p.time FROM price_points p WHERE p.day = ? AND p.move > ? AND p.time >= ? "
            f"AND p.time < ? {where}ORDER BY p.move DESC LIMIT ?",
            [day, floor, after, before, *values, limit],
        )
    return found


def read_market(database: Database, product: str) -> list[MarketOffer]:
    """Returns the listed offers of a product, cheapest first. Offers that cannot be bought come last.
    `product`: a product id from the target list, or the key of a matched target."""
    keys = read_group(database, product)
    offers = sorted(
        (offer for offer in offer_rows.read_offers_of(database, keys, size=20) if not offer.gone),
        key=lambda one: (one.target, one.variant),
    )
    buyable = [
        offer
        for offer in offers
        if offer.price is not None and offer.state == "priced" and offer.availability not in UNAVAILABLE
    ]
    by_currency: dict[str | None, list[Decimal]] = {}
    for offer in buyable:
        if offer.price is not None:
            by_currency.setdefault(offer.currency, []).append(offer.price)
    found = []
    for offer in offers:
        prices = by_currency.get(offer.currency, [])
        rank = index = None
        if offer in buyable and offer.price is not None:
            rank = 1 + sum(price < offer.price for price in prices)
            index = rounded((100 * offer.price / statistics.median(prices)).quantize(Decimal("0.1")))
        found.append(
            MarketOffer(
                *(offer.target, offer.variant, offer.shop, offer.price, offer.currency, offer.availability),
                *(offer.last_seen, rank, index),
            )
        )
    return sorted(found, key=lambda one: (one.rank is None, one.currency or "", one.rank or 0, one.target))


def current_prices(database: Database, *, limit: int, chosen: TargetFilter = ALL) -> list[CurrentPrice]:
    """Returns the newest values of the offers of listed targets, in the order of their targets."""
    where, values = chosen.condition(database)
    rows = database.rows(
        "SELECT o.target, o.variant, o.shop, o.name, o.price, o.currency, o.availability, o.last_seen "
        "FROM price_offers o JOIN price_targets t ON t.key = o.target "
        f"WHERE t.listed = 1 AND o.gone = 0{where} ORDER BY o.target, o.variant LIMIT ?",
        [*values, limit],
    )
    return [
        CurrentPrice(target, variant, shop, name or "", amount(price), *rest)
        for target, variant, shop, name, price, *rest in rows
    ]


def stale_offers(
    database: Database, *, before: float, limit: int = 1000, chosen: TargetFilter = ALL
) -> list[StaleOffer]:
    """Returns the offers of listed targets that were last found before the time `before`. The offer that was
    found longest ago comes first."""
    where, values = chosen.condition(database)
    rows = database.rows(
        "SELECT o.target, o.variant, o.shop, o.last_seen, o.last_checked FROM price_offers o JOIN price_targets t "
        f"ON t.key = o.target WHERE o.last_seen < ? AND t.listed = 1 AND o.gone = 0{where} ORDER BY o.last_seen LIMIT ?",
        [before, *values, limit],
    )
    return [StaleOffer(*row) for row in rows]


def fresh_share(database: Database, *, now: float, age_s: float = DAY_S, chosen: TargetFilter = ALL) -> float:
    """Returns the share of the listed targets that a visit has found within the last `age_s` seconds. The
    share is 1 if there are no listed targets."""
    since = now - age_s
    if chosen != ALL:
        return _chosen_fresh_share(database, since, chosen)
    ((targets, unlisted, fresh),) = database.rows(
        "SELECT (SELECT count(*) FROM price_targets), (SELECT count(*) FROM price_targets WHERE listed = 0), "
        "(SELECT count(*) FROM (SELECT DISTINCT target FROM price_offers WHERE last_seen >= ?) AS fresh)",
        [since],
    )
    ((fresh_unlisted,),) = database.rows(
        "SELECT count(*) FROM price_targets t WHERE t.listed = 0 AND EXISTS (SELECT 1 FROM price_offers o WHERE "
        "o.target = t.key AND o.last_seen >= ?)",
        [since],
    )
    listed = targets - unlisted
    return float(fresh - fresh_unlisted) / float(listed) if listed else 1.0


def _chosen_fresh_share(database: Database, since: float, chosen: TargetFilter) -> float:
    where, values = chosen.condition(database)
    ((listed, fresh),) = database.rows(
        "SELECT count(*), sum(CASE WHEN EXISTS (SELECT 1 FROM price_offers o WHERE o.target = t.key AND "
        f"o.last_seen >= ?) THEN 1 ELSE 0 END) FROM price_targets t WHERE t.listed = 1{where}",
        [since, *values],
    )
    return float(fresh) / float(listed) if listed else 1.0

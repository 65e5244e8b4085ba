"""Price series and their statistics, on both databases."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gossamer.uses.prices import offer_rows, series
from gossamer.uses.prices.changes import Offer
from gossamer.uses.prices.history import History
from gossamer.uses.prices.series import Point
from gossamer.uses.prices.target_filter import TargetFilter
from uses.prices.visits import DAY_S, target


def fill(
    history: History, key: str, prices: list[tuple[float, str]], currency: str = "EUR", **values: Any
) -> None:
    """Writes an offer with the given price series, as pairs of day and price."""
    offer = Offer(id=offer_rows.offer_id(key, ""), target=key, shop=f"shop-{key}", currency=currency)
    offer.availability, offer.last_seen = "InStock", prices[-1][0] * DAY_S
    for name, value in values.items():
        setattr(offer, name, value)
    points = []
    for day, price in prices:
        before = Offer(target=key, price=offer.price, currency=offer.currency)
        offer.price, offer.since = Decimal(price), day * DAY_S
        points.append(offer_rows.point_of(offer, before))
    with history.database.transaction():
        offer_rows.write_offers(history.database, [offer])
        offer_rows.write_points(history.database, points)


def test_a_series_begins_with_the_price_that_holds(history: History) -> None:
    fill(history, "a", [(1, "10"), (5, "12"), (9, "11")])
    found = series.read_series(history.database, "a", after=6 * DAY_S, before=20 * DAY_S)
    assert [(point.time / DAY_S, point.price) for point in found] == [(5, Decimal(12)), (9, Decimal(11))]
    assert len(series.read_series(history.database, "a")) == 3
    assert series.read_series(history.database, "b") == []


def test_statistics_weight_prices_by_time(history: History) -> None:
    fill(history, "a", [(0, "50"), (69, "10"), (70, "20"), (90, "30"), (95, "20")])
    found = series.read_statistics(history.database, "a", now=100 * DAY_S)
    assert (found.lowest, found.highest, found.median) == (Decimal(20), Decimal(30), Decimal(20))
    assert found.band == (Decimal(20), Decimal(20))
    assert (found.lowest_since, found.at_price_s, found.known_s) == (70 * DAY_S, 5 * DAY_S, 30 * DAY_S)
    assert found.changes == 2
    assert series.read_statistics(history.database, "a", now=100 * DAY_S, days=31).lowest == Decimal(10)
    assert series.read_statistics(history.database, "b", now=1.0).lowest is None


def test_statistics_never_mix_currencies(history: History) -> None:
    fill(history, "a", [(1, "10")], currency="USD")
    fill(history, "a", [(5, "90")], currency="EUR")
    found = series.read_statistics(history.database, "a", now=10 * DAY_S)
    assert (found.lowest, found.highest) == (Decimal(90), Decimal(90))


def point(day: float, price: str, regular: str | None = None) -> Point:
    return Point(
        day * DAY_S,
        Decimal(price),
        Decimal(regular) if regular else None,
        "EUR",
        None,
        None,
        None,
        None,
        "priced",
    )


def test_lowest_before_is_of_the_days_before_the_last_price_began() -> None:
    points = [point(1, "70"), point(2, "90"), point(50, "80"), point(51, "80", "90")]
    assert series.lowest_before(points) == Decimal(90)
    assert series.lowest_before(points, days=100) == Decimal(70)
    assert series.lowest_before(points[:1]) is None
    assert series.lowest_before([]) is None


def test_biggest_moves_count_ratios_in_both_directions(history: History) -> None:
    fill(history, "a", [(1, "100"), (3, "60")], name="A")
    fill(history, "b", [(1, "60"), (3, "99"), (4, "100")])
    fill(history, "c", [(1, "60"), (40, "10")])
    found = series.biggest_moves(history.database, after=0, before=10 * DAY_S, limit=2)
    assert [(move.target, move.before, move.after) for move in found] == [
        ("a", Decimal(100), Decimal(60)),
        ("b", Decimal(60), Decimal(99)),
    ]
    assert (found[0].name, found[0].percent) == ("A", Decimal(-40))
    assert series.biggest_moves(history.database, after=0, before=1e7, limit=1)[0].target == "c"
    assert [
        one.target
        for one in series.biggest_moves(
            history.database, after=0, before=1e7, chosen=TargetFilter(shop="shop-b")
        )
    ] == [
        "b",
        "b",
    ]


def test_market_ranks_what_can_be_bought(history: History) -> None:
    history.list_targets([target(key, product="p") for key in "abcd"])
    fill(history, "a", [(1, "100")])
    fill(history, "b", [(1, "80")])
    fill(history, "c", [(1, "10")], availability="OutOfStock")
    fill(history, "d", [(1, "80")])
    found = series.read_market(history.database, "p")
    assert [(one.target, one.rank, one.price_index) for one in found] == [
        ("b", 1, Decimal(100)),
        ("d", 1, Decimal(100)),
        ("a", 3, Decimal(125)),
        ("c", None, None),
    ]


def test_stale_offers_and_the_share_of_fresh_ones(history: History) -> None:
    history.list_targets([target("a"), target("b")])
    fill(history, "a", [(1, "1")])
    fill(history, "b", [(9, "1")])
    assert [one.target for one in series.stale_offers(history.database, before=5 * DAY_S)] == ["a"]
    assert series.fresh_share(history.database, now=9.5 * DAY_S) == 0.5
    history.list_targets([target("a")])
    assert series.fresh_share(history.database, now=9.5 * DAY_S) == 0.0
    assert series.fresh_share(history.database, now=1.5 * DAY_S) == 1.0


def test_a_price_counts_only_for_the_time_within_the_period() -> None:
    now, after = 100.0 * DAY_S, 70.0 * DAY_S
    points = [
        Point(time, Decimal(price), None, "EUR", None, None, None, None, "ok")
        for time, price in ((10.0 * DAY_S, "50"), (80.0 * DAY_S, "40"))
    ]
    found = series.statistics_of(points, after, now)
    assert (found.median, found.known_s) == (Decimal("40"), 30 * DAY_S)

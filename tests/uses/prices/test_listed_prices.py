"""Prices in cards on other pages of a shop, on SQLite and PostgreSQL: which are stored, and that they support a price that
comes from another place of the page."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.listed_prices import Listed, read_listed, write_listed
from gossamer.uses.prices.model import ListedOffer, Observation
from uses.prices.visits import run, seen, target

KEYS = [f"k{number:02}" for number in range(6)]
NEW = {"source": "class", "place": ".card-price"}


@pytest.fixture
def shop(history: History, clock: Any) -> History:
    """A history with one price of each target."""
    history.list_targets([target(key) for key in KEYS])
    run(history, clock, KEYS, lambda key, time, again: [seen(key, time, source="class", place=".price-now")])
    return history


def prices(history: History) -> set[Decimal | None]:
    return {offer.price for offer in history.offers()}


def card(url: str, price: str, currency: str | None = "EUR") -> ListedOffer:
    return ListedOffer(url, Decimal(price), currency)


def test_the_last_price_of_each_target_is_stored(shop: History) -> None:
    base, one, other = shop.database, target("k01").url, target("k02").url
    unknown = card("https://shop.example/no-target", "5")
    write_listed(base, [seen("k00", 5.0, listed=(card(one, "7.50"), card(other, "8", None), unknown))])
    write_listed(
        base,
        [
            seen("k00", 9.0, listed=(card(f"{one}#top", "7.00"),)),
            seen("k03", 4.0, listed=(card(other, "1"),)),
        ],
    )
    # a card of a page on itself is no other page
    write_listed(base, [seen("k01", 99.0, listed=(card(one, "1"),))])
    assert read_listed(base, KEYS) == {
        "k01": Listed(Decimal("7.00"), "EUR", 9.0),
        "k02": Listed(Decimal(8), None, 5.0),
    }


@pytest.mark.parametrize(("listed", "recorded"), [("70.19", "70.19"), ("12.00", "99.90")])
def test_a_listing_of_the_shop_is_a_second_opinion(
    shop: History, clock: Any, listed: str, recorded: str
) -> None:
    """The pages of the shop show the prices of one another in cards."""

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        cards = tuple(ListedOffer(target(one).url, Decimal(listed), "EUR") for one in KEYS)
        return [seen(key, time, "70.19", confirming=confirming, listed=cards, **NEW)]

    for _ in range(4):
        run(shop, clock, KEYS, visit)
    assert prices(shop) == {Decimal(recorded)}


def test_the_card_of_a_page_on_itself_is_no_second_opinion(shop: History, clock: Any) -> None:
    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        card = ListedOffer(target(key).url, Decimal("70.19"), "EUR")
        return [seen(key, time, "70.19", confirming=confirming, listed=(card,), **NEW)]

    for _ in range(4):
        run(shop, clock, KEYS, visit)
    assert prices(shop) == {Decimal("99.90")}

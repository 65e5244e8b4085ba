"""Prices that suddenly come from another place of the page, change all at once, or change with the product's name are
not recorded until a second source of the page states them, or a person accepts them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.parsing.products import product_page
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import EventKind, Observation, OfferState, PriceTarget
from gossamer.uses.prices.observe import observations_of, see_page
from uses.prices.visits import run, seen, target

KEYS = [f"k{number:02}" for number in range(30)]
OLD = {"source": "class", "place": ".price-now"}
NEW = {"source": "class", "place": ".card-price"}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "prices.db")


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def a_run(
    history: History, clock: Clock, price: str = "99.90", keys: list[str] = KEYS, **values: Any
) -> list[EventKind]:
    """Makes a run in which the pages of some keys show the given values, and the others what they always showed."""

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        own = {"price": price, **values} if key in keys else OLD
        return [seen(key, time, confirming=confirming, **own)]

    return [event.kind for event in run(history, clock, KEYS, visit)]


def begin(history: History, clock: Clock) -> None:
    history.list_targets([target(key) for key in KEYS])
    a_run(history, clock, **OLD)


def prices(history: History) -> set[Decimal | None]:
    return {offer.price for offer in history.offers()}


def test_prices_from_another_place_wait_for_a_person(history: History, clock: Clock) -> None:
    begin(history, clock)
    assert a_run(history, clock, "70.19", **NEW) == [EventKind.SHOP_REDESIGNED]
    assert a_run(history, clock, "70.19", **NEW) == []
    assert (prices(history), history.held()) == ({Decimal("99.90")}, [])
    assert history.accept("shop.example") == 30
    assert prices(history) == {Decimal("70.19")}
    assert {offer.place for offer in history.offers()} == {".card-price"}
    assert a_run(history, clock, "70.19", **NEW) == []


def test_a_second_source_of_each_page_is_enough(history: History, clock: Clock) -> None:
    begin(history, clock)
    a_run(history, clock, "70.19", **NEW)
    for _ in range(3):
        a_run(history, clock, "70.19", **NEW, second_source="json-ld")
    assert prices(history) == {Decimal("70.19")}


def test_a_redesign_that_ends_changed_nothing(history: History, clock: Clock) -> None:
    begin(history, clock)
    a_run(history, clock, "70.19", **NEW)
    assert a_run(history, clock, **OLD) == [EventKind.SHOP_BACK]
    assert prices(history) == {Decimal("99.90")}
    assert all(not offer.memory and not offer.held for offer in history.offers())


def test_the_same_prices_at_another_place_are_no_redesign(history: History, clock: Clock) -> None:
    begin(history, clock)
    assert a_run(history, clock, **NEW) == []
    assert {offer.place for offer in history.offers()} == {".card-price"}


@pytest.mark.parametrize("pages", [1, 2])
def test_a_shop_with_few_pages_is_checked_too(history: History, clock: Clock, pages: int) -> None:
    keys = KEYS[:pages]
    history.list_targets([target(key) for key in keys])

    def day(price: str = "99.90", **values: Any) -> list[EventKind]:
        events = run(
            history, clock, keys, lambda key, at, again: [seen(key, at, price, confirming=again, **values)]
        )
        return [event.kind for event in events]

    day(**OLD)
    assert day("70.19", **NEW) == [EventKind.SHOP_REDESIGNED]
    assert day("70.19", **NEW) == []
    assert prices(history) == {Decimal("99.90")}
    assert day(**OLD) == [EventKind.SHOP_BACK]
    day("89.90", **OLD)
    day("89.90", **OLD)
    assert prices(history) == {Decimal("89.90")}


def test_a_page_states_the_prices_of_its_cards(history: History, clock: Clock) -> None:
    """A category page that answers for a product, and the related products of a product page."""
    listing: Any = _Page(f"<title>Mugs</title><h1>Mugs</h1>{CARDS}")
    own = "<h1>Pot</h1><div><span class=price>4,00 €</span><button>Add to cart</button></div>"
    product: Any = _Page(f"<title>Pot</title>{own}<h2>Related products</h2>{CARDS}")
    for page in (listing, product):
        (found,) = observations_of(
            see_page(page, page.url, _NoSelectors()), [PriceTarget(key="a", url=page.url)]
        )
        assert {(one.url, one.price, one.currency) for one in found.listed} == {
            (f"https://shop.example/p/{n}", Decimal(n), "EUR") for n in (7, 8, 9)
        }


def test_nearly_all_prices_at_once_are_doubted(history: History, clock: Clock) -> None:
    """Each page shows another new price, so the rule on equal prices does not apply."""
    begin(history, clock)

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        number = KEYS.index(key)
        own = {"price": f"{number + 50}.90"} if number < 27 else {}
        return [seen(key, time, confirming=confirming, **(OLD | own))]

    assert [event.kind for event in run(history, clock, KEYS, visit)] == [EventKind.SHOP_REDESIGNED]
    assert prices(history) == {Decimal("99.90")}


def test_a_price_that_changes_with_the_name_waits_for_days(history: History, clock: Clock) -> None:
    history.list_targets([target(key) for key in KEYS])
    a_run(history, clock, **OLD, name="Kettle model K001")
    other = {**OLD, "keys": KEYS[:1], "name": "Mug of blue stone"}
    assert a_run(history, clock, "79.90", **other) == []
    assert {one.held["price"].reason for one in history.offers() if one.held} == {"name"}
    assert history.held() == []
    found = [kind for _ in range(6) for kind in a_run(history, clock, "79.90", **other)]
    assert found == [EventKind.PRICE]
    assert {one.name for one in history.offers(target="k00")} == {"Mug of blue stone"}


def test_a_product_in_stock_without_a_price_has_lost_it(history: History, clock: Clock) -> None:
    begin(history, clock)
    lost = {"price": None, "availability": "InStock", "source": ""}
    assert a_run(history, clock, **lost) == [EventKind.SHOP_REDESIGNED]


class _Page:
    """A visited page, as `see_page` reads it."""

    status, title, url = 200, "", "https://shop.example/p/1"

    def __init__(self, html: str) -> None:
        self.body = html.encode()
        self.product_page = product_page(html, self.url)

    fetched_at = 1.0
    is_redirected_for_now = False

    @property
    def page(self) -> _Page:
        return self

    request = page


class _NoSelectors:
    def values(self, page: Any) -> dict[str, tuple[str, str]]:
        return {}


CARDS = "".join(
    f"<div class=rel><a href=/p/{n}>Mug {n}</a> <span class=price>{n},00 €</span></div>" for n in (7, 8, 9)
)


@pytest.mark.parametrize(
    ("html", "state", "detail"),
    [
        ("<title>A</title><h1>This product is no longer available</h1>", OfferState.GONE, "gone: "),
        ("<title>Page not found</title><h1>Oops</h1>", OfferState.GONE, "soft-404: "),
        ("<title>Mugs</title><h1>Mugs</h1>", OfferState.EMPTY, "listing: "),
        (
            "<title>A lathe</title><h1>A lathe</h1><p>Price on request</p>",
            OfferState.NO_PRICE,
            "only when asked",
        ),
    ],
)
def test_a_page_without_an_own_product_has_a_state_and_a_reason(
    html: str, state: OfferState, detail: str
) -> None:
    page: Any = _Page(html + CARDS)
    (found,) = observations_of(see_page(page, page.url, _NoSelectors()), [PriceTarget(key="a", url=page.url)])
    assert (found.state, found.price) == (state, None)
    assert detail in found.detail

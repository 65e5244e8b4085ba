"""The facts that a page contains about its product: offers, prices with their roles, and the decision for one
price."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from gossamer.parsing import structured
from gossamer.parsing.html import parse
from gossamer.parsing.products import PriceRole, ProductPage, product_page
from gossamer.parsing.products.tracking_events import tracked_prices

URL = "https://shop.example/lamps/red-lamp"
OFFER = {"@type": "Offer", "price": "5.00", "priceCurrency": "EUR"}


def ld(**product: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps({"@type": "Product", "name": "Red lamp", **product})}</script>'


def page(html: str) -> ProductPage:
    return product_page(html if "<h1" in html else f"<h1>Red lamp</h1><div>{html}</div>", URL)


@pytest.mark.parametrize(
    ("html", "role"),
    [
        ("<p class=price>9,00 €</p>", PriceRole.PRICE),
        ("<del class=price>9,00 €</del>", PriceRole.LIST_PRICE),
        ("<p class=price-old>9,00 €</p>", PriceRole.LIST_PRICE),
        ("<p class=prd_price__oldAmount>9,00 €</p>", PriceRole.LIST_PRICE),
        ("<p class='price line-through'>9,00 €</p>", PriceRole.LIST_PRICE),
        ("<p class=price>UVP 9,00 €</p>", PriceRole.LIST_PRICE),
        ("<p class=price>9,00 € zzgl. MwSt.</p>", PriceRole.WITHOUT_TAX),
        ("<p class=price>Club: 9,00 €</p>", PriceRole.MEMBER_PRICE),
        ("<p class=price>9,00 € mtl.</p>", PriceRole.INSTALLMENT),
        ("<p class=price>3 x 9,00 €</p>", PriceRole.INSTALLMENT),
        ("<p class=price>每期 9 €</p>", PriceRole.INSTALLMENT),
        ("<p class=installment-price>9,00 €</p>", PriceRole.INSTALLMENT),
        ("<p class=shipping-price>9,00 €</p>", PriceRole.SHIPPING),
        ("<p class=price>9,00 € Versand</p>", PriceRole.SHIPPING),
        ("<p class=unit-price>9,00 € / 100 g</p>", PriceRole.UNIT_PRICE),
        ("<p class=price>9,00 € / kg</p>", PriceRole.UNIT_PRICE),
        ("<p class=price>Pfand 9,00 €</p>", PriceRole.DEPOSIT),
        ("<p class=price>You save 9,00 €</p>", PriceRole.SAVING),
        ("<p class=price>+ 9,00 €</p>", PriceRole.SURCHARGE),
        ("<p class=convPrice>9,00 €</p>", PriceRole.CONVERTED),
        ("<p class=price>approx. 9,00 €</p>", PriceRole.CONVERTED),
        ("<div class=related-products><p class=price>9,00 €</p></div>", PriceRole.RELATED),
    ],
)
def test_roles(html: str, role: PriceRole) -> None:
    found = page(f"<p class='price current'>12,00 €</p>{html}")
    assert {one.amount: one.role for one in found.all_candidates}[Decimal("9.00")] == role
    if role != PriceRole.PRICE:
        assert found.record["price"] == Decimal("12.00")


def test_every_candidate_names_its_source_and_place() -> None:
    found = page(
        ld(
            offers={
                **OFFER,
                "seller": {"name": "Ann"},
                "shippingDetails": {"shippingRate": {"value": "3.90", "currency": "EUR"}},
                "priceSpecification": {
                    "priceType": "https://schema.org/ListPrice",
                    "price": 7,
                    "priceCurrency": "EUR",
                },
            }
        )
        + '<meta property="product:price:amount" content="5.00"><p class=price>5,00 €</p><p class=price>8,00 € Versand</p>'
    )
    first, *others = found.all_candidates
    assert (first.amount, first.source, first.place, first.raw) == (
        Decimal("5.00"),
        "json-ld",
        "offers.price",
        "5.00",
    )
    assert (first.seller, first.shipping) == ("Ann", Decimal("3.90"))
    assert first.confidence > 0.95, "other sources confirm it"
    assert {(one.amount, one.role) for one in others} == {
        (Decimal(7), PriceRole.LIST_PRICE),
        (Decimal("8.00"), PriceRole.SHIPPING),
    }
    assert found.decision.price is not None
    assert found.decision.price.amount == first.amount
    assert found.list_price == Decimal(7)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        # a range, offers without a difference that decides, prices with the same role
        (
            ld(offers={"@type": "AggregateOffer", "lowPrice": 5, "highPrice": 9, "priceCurrency": "EUR"}),
            "5 EUR, 9 EUR",
        ),
        (ld(offers=[OFFER, {**OFFER, "price": "6.00"}]), "5.00 EUR, 6.00 EUR"),
        ("<p class=price>5,00 €</p><p class=price>6,00 €</p>", "5.00 EUR, 6.00 EUR"),
    ],
)
def test_cannot_decide_is_an_outcome_with_its_candidates(html: str, reason: str) -> None:
    found = page(html).decision
    assert found.price is None
    assert found.is_undecided
    assert found.reason.endswith(f"does not show which one is meant: {reason}")


@pytest.mark.parametrize(
    "html",
    [
        ld(offers=[{**OFFER, "seller": "A"}, {**OFFER, "price": "6.00", "seller": "B"}]),
        ld(offers=[OFFER, {**OFFER, "price": "6.00", "availability": "SoldOut"}]),
        "<p class=price>5,00 €</p><p class=price>UVP 6,00 €</p>",
        "<p class=price>5,00 €</p><p class=price>4,20 € excl. VAT</p>",
        "<meta property='product:price:amount' content='5.00'><p class=price>5,00 €</p><p class=price>6,00 €</p>",
    ],
)
def test_what_is_told_apart_is_decided(html: str) -> None:
    found = page(html).decision
    assert found.price is not None
    assert found.price.amount == Decimal("5.00")
    assert not found.is_undecided


def test_a_page_without_a_price_is_not_undecided() -> None:
    found = page("<p>Red</p>").decision
    assert (found.price, found.is_undecided, found.reason) == (None, False, "the page shows no price")


def test_offers_in_another_currency_are_left_out() -> None:
    offers = [{**OFFER, "seller": "A"}, {**OFFER, "price": "6.00", "priceCurrency": "CHF", "seller": "A2"}]
    decision = page(ld(offers=offers)).decide("CHF")
    assert decision.price is not None
    assert (decision.price.amount, decision.price.currency) == (Decimal("6.00"), "CHF")


def test_the_page_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = structured.of
    monkeypatch.setattr(
        "gossamer.parsing.products.sources.structured_of", lambda page: calls.append(1) or real(page)
    )
    found = ProductPage(parse(f"<h1>Red lamp</h1>{ld(offers=OFFER)}", None, URL))
    assert (found.record["price"], len(found.offers), len(found.candidates)) == (Decimal("5.00"), 1, 1)
    assert (found.variants, found.list_price, found.unit_price) == ([], None, None)
    assert calls == [1]


@pytest.mark.parametrize(
    "event",
    [
        "fbq('track', 'ViewContent', {content_type: 'product', value: 990, currency: 'EUR'})",
        'gtag("event", "view_item", {"currency": "EUR", "value": 990.00, "items": [{"price": 990.00}]})',
        "dataLayer.push({ecommerce: {currencyCode: 'EUR', detail: {products: [{name: 'x', price: '990'}]}}})",
        "var google_tag_params = {dynx_itemid: 'a', dynx_totalvalue: '990', currency: 'EUR'}",
    ],
)
def test_a_tracking_event_says_which_price_is_meant(event: str) -> None:
    found = page(f"<p>from € 99</p><p>€ 990</p><script>{event}</script>")
    assert (found.record["price"], found.record["currency"]) == (Decimal(990), "EUR")
    alone = page(f"<script>{event}</script>")
    assert (alone.record["price"], alone.record["currency"]) == (Decimal(990), "EUR")


def test_events_of_several_products_say_nothing() -> None:
    assert not tracked_prices([f"f('view_item', {{price: {n}}});" + " " * 1000 for n in (1, 2, 3)]).amounts
    assert not tracked_prices(["f('view_item_list', {price: 5, currency: 'EUR'})"]).amounts


@pytest.mark.parametrize(
    ("html", "availability"),
    [
        ("<button class=reply-button>reply</button>", "InStock"),
        ("<button>Chat with seller</button>", "InStock"),
        ("<li><b>Razpoložljivost:</b> Dobavljivo</li>", "InStock"),
        ("<li>Availability: Out of stock</li>", "OutOfStock"),
        ("<div role=button>Add to cart</div>", "InStock"),
    ],
)
def test_more_places_of_stock(html: str, availability: str) -> None:
    assert page(html).record["availability"] == availability


def test_an_auction_has_the_bid_as_its_price() -> None:
    offer = {**OFFER, "price": "150", "priceCurrency": "USD", "availabilityEnds": "2026-12-06"}
    body = f"<title>For auction: Red lamp</title>{ld(offers=offer)}<h1>Red lamp</h1><b class=price>$200</b><p>Starting price $150</p>"
    assert page(body).record["price"] == Decimal(200)
    assert page(body.replace("<b class=price>$200</b>", "")).record["price"] == Decimal(150)


@pytest.mark.parametrize(
    ("html", "price"),
    [
        # a currency from another source does not change which number has the currency sign
        (
            "<script>gtag('event', 'view_item', {currency: 'TWD'})</script><p class=price>5.1 折 $210</p>",
            "210",
        ),
        # a converted amount has more decimals than the price that the shop shows
        ("<p data-price-amount=71.910401 class=price>71,91 €</p>", "71.91"),
        (ld(offers={**OFFER, "price": "71.910401"}), "71.91"),
        (ld(offers={**OFFER, "price": "0.0123"}), "0.0123"),
        # the same price for screen readers and for other readers
        ("<p class=price><span>$12.99</span> <span aria-hidden=true>$12.99</span></p>", "12.99"),
        # the label for screen readers directly precedes the currency sign
        ("<div class=price--on-sale><i>Sale price</i><b class=price-item>R$ 164,95</b></div>", "164.95"),
    ],
)
def test_amounts_as_shown(html: str, price: str) -> None:
    assert str(page(html).record["price"]) == price


def test_the_currency_is_that_of_the_innermost_element() -> None:
    found = page("<div class=price--on-sale><i>Sale price</i><b class=price-item>R$ 164,95</b></div>")
    assert found.record["currency"] == "BRL"

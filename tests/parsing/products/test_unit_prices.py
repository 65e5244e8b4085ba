"""Prices per unit and packs."""

from __future__ import annotations

import pytest

from gossamer.parsing.products import product_page
from gossamer.parsing.products.unit_prices import pack_of, unit_prices


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("(1,99 € / 100 g)", "19.9", "kg"),
        ("1,99 €/kg", "1.99", "kg"),
        ("Grundpreis: 3,98 € / 1 Liter", "3.98", "l"),
        ("1 kg = 19,90 €", "19.9", "kg"),
        ("Prix au kg : 3,50 €", "3.5", "kg"),
        ("£1.20 per 100g", "12", "kg"),
        ("$4.99 / lb", "11.0011", "kg"),
        ("$0.25/fl oz", "8.4535", "l"),
        ("Cena za 1 kg: 25,00 zł", "25", "kg"),
        ("45,00 Kč / ks", "45", "piece"),
        ("¥120/100g", "1200", "kg"),
        ("1 l / 2,50 EUR", "2.5", "l"),
        ("Preis pro kg 3,50 €", "3.5", "kg"),
        ("1,29 € 1 kg = 2,58 €", "2.58", "kg"),
        ("1.250 ₽ за 1 кг", "1250", "kg"),
    ],
)
def test_unit_prices(text: str, amount: str, unit: str) -> None:
    assert [(str(one.amount), one.unit) for one in unit_prices(text)] == [(amount, unit)]


@pytest.mark.parametrize(
    "text", ["$12.99", "10,00 € / Monat", "5,00 € UVP: 7,00 €", "€ 5 / 7", "", "5 kg", "/kg"]
)
def test_other_prices_are_no_unit_prices(text: str) -> None:
    assert unit_prices(text) == []


@pytest.mark.parametrize(
    ("name", "total", "unit"),
    [
        ("Cola 6 x 0,33 l", "1.98", "l"),
        ("Beer 24 x 330 ml bottles", "7.92", "l"),
        ("Water 6er Pack 1,5 l", "9.0", "l"),
        ("1,5 l x 6", "9.0", "l"),
        ("Rice 2.5kg", "2.5", "kg"),
        ("Cat food 12 x 85g", "1.020", "kg"),
        ("Socks, pack of 3", "3", "piece"),
        ("Batteries AA 8 Stück", "8", "piece"),
    ],
)
def test_packs(name: str, total: str, unit: str) -> None:
    pack = pack_of(name)
    assert pack is not None
    assert (str(pack.total), pack.unit) == (total, unit)


@pytest.mark.parametrize(
    "name", ["Chair", "iPhone 128GB", "TV 55 cm", "Router AX3000", "Juice 1 l and 2 l", ""]
)
def test_names_without_one_content(name: str) -> None:
    assert pack_of(name) is None


@pytest.mark.parametrize(
    ("html", "price", "unit_price", "unit"),
    [
        # beside the price, in an element with its own class or without a class
        (
            "<h1>Tea</h1><p class=price>4,98 €</p><small class=unit-price>1,99 € / 100 g</small>",
            "4.98",
            "19.9",
            "kg",
        ),
        ("<h1>Tea</h1><p class=unit-price>1,99 € / 100 g</p><p class=price>4,98 €</p>", "4.98", "19.9", "kg"),
        ("<h1>Tea</h1><p class=price>(1,99 € / 100 g)</p><p class=price>4,98 €</p>", "4.98", "19.9", "kg"),
        ("<h1>Tea</h1><p>1,99 €/kg</p><p>4,98 €</p>", "4.98", "1.99", "kg"),
        # computed from the size of the pack
        ("<h1>Cola 6 x 0,33 l</h1><p class=price>5,94 €</p>", "5.94", "3", "l"),
        ("<h1>Lamp</h1><p class=price>5,94 €</p>", "5.94", None, None),
    ],
)
def test_a_unit_price_is_a_field_of_its_own(
    html: str, price: str, unit_price: str | None, unit: str | None
) -> None:
    page = product_page(html, "https://shop.example/a")
    found = page.unit_price
    assert str(page.record["price"]) == price
    assert (str(found.amount) if found else None, found.unit if found else None) == (unit_price, unit)


def test_a_unit_price_of_structured_data() -> None:
    page = product_page(
        '<script type="application/ld+json">{"@type": "Product", "name": "Tea", "offers": {"@type": "Offer", "price": 4.98,'
        '"priceCurrency": "EUR", "priceSpecification": {"@type": "UnitPriceSpecification", "price": 1.99, "referenceQuantity":'
        '{"value": 100, "unitCode": "GRM"}, "valueAddedTaxIncluded": true}}}</script>'
    )
    assert page.unit_price is not None
    assert (str(page.record["price"]), str(page.unit_price.amount), page.unit_price.unit) == (
        "4.98",
        "19.9",
        "kg",
    )
    assert page.tax_included is True

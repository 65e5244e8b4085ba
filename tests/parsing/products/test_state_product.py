"""The product in the state that a page's scripts carry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gossamer.parsing.products import product_page


def state(product: Any, **more: Any) -> str:
    text = json.dumps({"props": {"pageProps": {"product": product, **more}}})
    return f'<script id="__NEXT_DATA__" type="application/json">{text}</script>'


def named(**values: Any) -> str:
    return state({"name": "Red lamp", **values})


MONEY = {"amount": "19.90", "currencyCode": "EUR"}
CENTS = {"centAmount": 1990, "currencyCode": "EUR", "fractionDigits": 2}
VARIANT = {
    "price": 1990,
    "compare_at_price": 2500,
    "option1": "x",
    "available": True,
    "requires_shipping": True,
}


@pytest.mark.parametrize(
    ("script", "price", "stock", "former"),
    [
        (named(price=MONEY, availableForSale=False), "19.90", "OutOfStock", None),
        (named(price=CENTS), "19.90", None, None),
        (named(masterVariant={"prices": [{"value": CENTS}]}), "19.90", None, None),
        (
            named(price={"current": 19.9, "previous": 25, "currency": "EUR"}, inStock=True),
            "19.9",
            "InStock",
            "25",
        ),
        (
            named(variants={"edges": [{"node": {"price": MONEY, "compareAtPrice": {"amount": "25.0"}}}]}),
            "19.90",
            None,
            "25.0",
        ),
        (
            named(
                prices={
                    "price": "1990",
                    "regular_price": "2500",
                    "currency_code": "EUR",
                    "currency_minor_unit": 2,
                }
            ),
            "19.90",
            None,
            "25.00",
        ),
        (named(priceInCents=1990, currency="EUR", inventory=0), "19.90", "OutOfStock", None),
        (named(salePrice=19.9, price=25, currency="EUR"), "19.9", None, "25"),
        (named(price={"formatted": "19,90 €", "raw": 1990}), "19.90", None, None),
        (
            state({"name": "Red lamp"}, price={"gross": 19.9, "net": 16.7, "currency": "EUR"}),
            "19.9",
            None,
            None,
        ),
        (
            (
                f"<script>var meta = {json.dumps({'product': {'title': 'Red lamp', 'price': 1990, 'variants': [VARIANT]}})};"
                'Shopify = {currency: {active: "EUR"}}</script>'
            ),
            "19.90",
            "InStock",
            "25.00",
        ),
        (
            (
                '<script type="application/json">{"title": "Red lamp", "price": 1990, "variants": [{"id": 1, "price": 1990}]}'
                '</script><script>Shopify.currency = {"active": "EUR"}</script>'
            ),
            "19.90",
            None,
            None,
        ),
        (named(variants=[{"id": 1, "price": 1990}], currency="EUR"), "1990", None, None),
        # identifiers, counts and flags are no prices
        (named(sku="6491302", offers=3, price=None, currency="EUR"), None, None, None),
        (named(sale=1, price="19.90", currency="EUR"), "19.90", None, None),
        (named(price={"amount": 1990, "divisor": 100, "currency_code": "EUR"}), "19.90", None, None),
        (
            (
                '<script>window.__APOLLO_STATE__ = {"Product:1": {"name": "Red lamp", "price": {"__ref": "Price:1"}, '
                '"stockStatus": "IN_STOCK"}, "Price:1": {"amount": 19.9, "currency": "EUR"}}</script>'
            ),
            "19.9",
            "InStock",
            None,
        ),
        (
            (
                "<script>window.__NUXT__=(function(a,b){return {data:[{product:{name:'Red lamp',price:b,currency:'EUR',"
                "available:a}}]}}(true,19.9));</script>"
            ),
            "19.9",
            "InStock",
            None,
        ),
        (
            (
                '<script type="application/json" id="__NUXT_DATA__">[["ShallowReactive",1],{"p":2},{"name":3,"price":4,'
                '"currency":5,"inStock":6},"Red lamp",19.9,"EUR",false]</script>'
            ),
            "19.9",
            "OutOfStock",
            None,
        ),
        (
            (
                '<script>self.__next_f.push([1,"5:[\\"$\\",null,{\\"product\\":{\\"title\\":\\"Red lamp\\","])</script>'
                '<script>self.__next_f.push([1,"\\"price\\":{\\"amount\\":1990,\\"currency\\":\\"EUR\\",\\"precision\\":2}}}]\\n"])</script>'
            ),
            "19.90",
            None,
            None,
        ),
        # several products, none of which has the name of the page; variants with different prices
        (
            state([{"name": "Blue lamp", "price": MONEY}, {"name": "Green lamp", "price": MONEY}]),
            None,
            None,
            None,
        ),
        (named(related=[{"name": "Blue lamp", "price": MONEY}]), None, None, None),
        (
            named(variants=[{"price": 1, "sku": "a"}, {"price": 2, "sku": "b"}], currency="EUR"),
            None,
            None,
            None,
        ),
    ],
)
def test_states(script: str, price: str | None, stock: str | None, former: str | None) -> None:
    page = product_page(f"<title>Red lamp | Shop</title>{script}", "https://shop.example/p/red-lamp")
    amount, regular = page.record["price"], page.list_price
    assert (
        amount and str(amount),
        page.record["currency"],
        page.record["availability"],
        regular and str(regular),
    ) == (price, price and "EUR", stock, former)
    assert price is None or page.decision.price is not None


def test_a_list_that_begins_with_lists_of_objects_is_no_object_graph() -> None:
    script = '<script type="application/json" id="state">[[{"price": 1, "name": "Another lamp"}, {"b": 2}], {"name": "x"}]</script>'
    page = product_page(f"<title>Red lamp</title><h1>Red lamp</h1>{script}", "https://shop.example/p/1")
    assert page.record["price"] is None

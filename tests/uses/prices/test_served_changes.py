"""Scripted changes in served shops, through the command line. Each change is found once, in its run, and no
other change is reported, although ads rotate, a price and a seller's stock alternate, and one shop is in
maintenance during a run."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

import pytest

from support.web_shops import Product, Shop, make_shop, serving, write_list
from uses.prices.test_run import run, wrong

pytestmark = pytest.mark.timeout(300)
SHOPS, PRODUCTS, RUNS = 8, 20, 5
ALTERNATING = ("/p/0", 2)
"""The path and the shop of a product with A/B prices. Each visit shows one of two prices at random."""
AWAY_RUN, AWAY_SHOP = 3, 6


class AlternatingShop(Shop):
    """A shop with one product that has A/B prices."""

    chance = random.Random(3)

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, str, bytes]:
        product = self.products.get(path)
        if product is None or path != ALTERNATING[0]:
            return super().answer(path, headers)
        price = product.price
        if self.chance.random() < 0.5:
            product.price = price + 1
        try:
            return super().answer(path, headers)
        finally:
            product.price = price


def change(product: Product, kind: str) -> None:
    if kind == "price":
        product.price += Decimal("1.25")
    elif kind == "availability":
        product.in_stock = not product.in_stock
    else:
        product.is_gone = not product.is_gone


def test_each_scripted_change_of_served_shops_is_found_once(tmp_path: Path) -> None:
    shops = [make_shop(number, PRODUCTS) for number in range(SHOPS)]
    shops[ALTERNATING[1]] = AlternatingShop(
        *(shops[ALTERNATING[1]].system, shops[ALTERNATING[1]].currency, shops[ALTERNATING[1]].products)
    )
    chance, found, scripted = random.Random(11), [], []
    for shop in shops:
        for product in shop.products.values():
            product.was = None
            if shop.currency == "JPY":  # JPY has only whole amounts
                shop.currency = "EUR"
    steady = [(shop, path) for shop in shops for path in shop.products if path != ALTERNATING[0]]
    chosen = chance.sample(steady, 40)
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        for number in range(RUNS):
            shops[AWAY_SHOP].is_down = number == AWAY_RUN
            for shop, path in chosen[10 * (number - 1) : 10 * number] if number else []:
                if shop is shops[AWAY_SHOP] and number >= AWAY_RUN - 1:
                    continue
                product = shop.products[path]
                kind = ("price", "price", "availability", "gone")[len(scripted) % 4]
                change(product, kind)
                scripted.append((number, kind, product.sku))
            done = run(tmp_path, delay="0.005")
            found += [
                (number, one["kind"], one.get("target") or one["shop"])
                for one in done["events"]
                if one["kind"] != "first"
            ]
        gone = {sku for _, kind, sku in scripted if kind == "gone"}
        alternating = shops[ALTERNATING[1]].products[ALTERNATING[0]].sku
        different = [one for one in wrong(tmp_path, shops) if one[1] not in {*gone, alternating}]
    away = [
        (AWAY_RUN, "shop-away", f"shop{AWAY_SHOP}"),
        (AWAY_RUN + 1, "shop-back", f"shop{AWAY_SHOP}"),
    ]
    assert sorted(found) == sorted(scripted + away)
    assert len(scripted) > 30
    assert different == []

"""Measures whether a month of prices stays right when shops are redesigned into markup that cannot be read.

    python benchmarks/price_redesigns.py [--days 30] [--seed 1]

The shops have the markup of eight shop systems (`tests/support/web_shops.py`), with prices that change each day.
Five of the shops are redesigned on different days. From then on their pages show the prices of other products, in
cards of many forms, and their own price only in a custom element, or they are answered by a category page, a notice
or a home page. Two further shops, with one and two products, are redesigned so that another product's price stands in
place of their own. One shop changes all prices and the place of its prices on one day, and states them in cards of its
other pages, too. The pages are read and recorded as by `gossamer prices run`. A recorded price is wrong if the product never had
it.
"""

from __future__ import annotations

import argparse
import html
import random
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gossamer.parsing.products import product_page
from gossamer.uses.prices.history import CONFIRMING_ROUNDS, History
from gossamer.uses.prices.model import EventKind, Observation, PriceTarget
from gossamer.uses.prices.observe import observations_of, see_page
from support.web_shops import Product, Shop, make_shop, money, page_of

DAY_S = 86_400.0
PRODUCTS = (*[20] * 10, 1, 2, 1, 2, 20)
"""The number of products of each shop. The first five, two of the small shops and the last one are redesigned."""
REDESIGNED = (0, 1, 2, 3, 4, 10, 11)
LISTED = 14
FOREIGN, MOVED = 5, 6
"""Redesigns: another product's price in place of the own one, and the own price at another place."""
CHANGED_SHARE = 0.03


class NoSelectors:
    def values(self, page: Any) -> dict[str, tuple[str, str]]:
        return {}


def cards(shop: Shop, but: Product, form: int) -> str:
    """Returns the cards of the four products after a product."""
    every = [*shop.products.values()]
    at = every.index(but) + 1
    others = [one for one in (*every[at:], *every[:at]) if one is not but][:4]
    forms = (
        '<div class="rel"><a href="/p/{n}">{name}</a> <span class="price">{price}</span></div>',
        '<li class="product"><a href="/p/{n}"><img src="/{n}.jpg"><h3>{name}</h3><b class="price-now">{price}</b></a></li>',
        '<x-tile><a href="/p/{n}">{name}</a><x-price class="current-price">{price}</x-price><button>Add to cart</button></x-tile>',
    )
    card = forms[form % len(forms)]
    return "".join(
        card.format(n=one.number, name=html.escape(one.name), price=money(one.price, shop.currency))
        for one in others
    )


def redesigned(shop: Shop, one: Product, kind: int) -> str:
    """Returns a page of a shop after its redesign."""
    name = html.escape(one.name)
    more = cards(shop, one, kind)
    if kind in (FOREIGN, MOVED):
        price = one.price if kind == MOVED else Decimal(7 * int(one.price) + 13)
        box = f"<div><b class=cost>{money(price, shop.currency)}</b><button>Add to cart</button></div>"
        more = cards(shop, one, 0) if kind == MOVED else ""
        return f"<title>{name}</title><h1>{name}</h1>{box}<section><h2>Related products</h2>{more}</section>"
    if kind == 0:
        box = f"<x-buybox item={one.number}></x-buybox><p>Ab 50 € frei Haus</p>"
        return f"<title>{name}</title><h1>{name}</h1>{box}<section>{more}</section>"
    if kind == 1:
        aside = f"<aside><h2>You may also like</h2><ul>{more}</ul></aside>"
        return f"<title>{name} | Shop</title><main><h1>{name}</h1><div id=app></div></main>{aside}"
    if kind == 2:
        return f"<title>Shop</title><h1>Everything for your home</h1><div class=grid>{more}</div>"
    if kind == 3:
        return f"<title>{name}</title><h1>Sorry, this product is no longer available</h1><div>{more}</div>"
    return f"<title>{name}</title><h1>{name}</h1><p>In stock</p><div class=c>{more}</div><button>Add to cart</button>"


def visited(
    shop: Shop, target: PriceTarget, one: Product, kind: int | None, at: float, again: bool
) -> list[Observation]:
    body = page_of(shop, one) if kind is None else redesigned(shop, one, kind)
    page = SimpleNamespace(
        body=body.encode(),
        url=target.url,
        status=200,
        title="",
        page=SimpleNamespace(fetched_at=at),
        request=SimpleNamespace(is_redirected_for_now=False),
        product_page=product_page(body, target.url),
    )
    return observations_of(see_page(page, target.url, NoSelectors(), confirming=again), [target])  # type: ignore[arg-type]


def change(one: Product, shop: Shop, chance: random.Random) -> None:
    """Gives a product another price."""
    unit = Decimal(1 if shop.currency == "JPY" else "0.01")
    price = one.price * Decimal(chance.choice(("0.8", "0.95", "1.1")))
    one.price, one.was = max(Decimal("0.99"), price.quantize(unit)), None


def simulate(days: int, seed: int) -> tuple[int, ...]:
    """Returns the numbers of wrong recorded prices, false events, true changes at untouched shops, those that were
    found within a day, events about redesigned shops, prices of the shop with cards that are right at the end, and its
    products."""
    chance = random.Random(seed)
    shops = [make_shop(number, products) for number, products in enumerate(PRODUCTS)]
    kinds = {
        number: (chance.randint(days // 3, 2 * days // 3), min(number, FOREIGN)) for number in REDESIGNED
    } | {LISTED: (days // 2, MOVED)}
    pages: dict[str, tuple[int, Shop, Product, PriceTarget]] = {}
    for number, shop in enumerate(shops):
        for path, one in shop.products.items():
            url = f"https://shop{number}.example{path}"
            pages[url] = number, shop, one, PriceTarget(key=url, url=url, shop=f"shop{number}")
    had = {url: {one.price} for url, (_, _, one, _) in pages.items()}
    now = [0.0]
    changes, found, false, told, wrong = set[tuple[str, int]](), set[tuple[str, int]](), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder, History(f"{folder}/prices.db", lambda: now[0]) as history:
        history.list_targets([target for *_, target in pages.values()])
        for day in range(days):
            now[0] = (day + 1) * DAY_S
            for url, (number, shop, one, _) in pages.items():
                share = 1.0 if (number, day) == (LISTED, kinds[LISTED][0]) else CHANGED_SHARE
                if day and chance.random() < share:
                    change(one, shop, chance)
                    if one.price not in had[url] and number not in kinds:
                        changes.add((url, day))
                    had[url].add(one.price)
            history.begin_run()
            events = []
            wanted, again = [*pages], False
            for _ in range(CONFIRMING_ROUNDS):
                batch: list[Observation] = []
                for url in wanted:
                    number, shop, one, target = pages[url]
                    start, kind = kinds.get(number, (days, 0))
                    now[0] += 0.1
                    batch += visited(shop, target, one, kind if day >= start else None, now[0], again)
                events += history.record(batch)
                wanted, again = sorted({held.target for held in history.held()}), True
                if not wanted:
                    break
            events += history.end_run()
            for event in events:
                if event.kind == EventKind.PRICE:
                    is_true = event.after is not None and Decimal(event.after) in had[event.target]
                    false += not is_true
                    found.add((event.target, int(event.time // DAY_S) - 1))
                elif event.kind in (EventKind.SHOP_REDESIGNED, EventKind.SHOP_AWAY):
                    told += 1
            wrong += sum(
                offer.price is not None and offer.price not in had[offer.target]
                for offer in history.offers()
                if not offer.variant
            )
        last = [one for one in history.offers(shop=f"shop{LISTED}") if not one.variant]
        right = sum(offer.price == pages[offer.target][2].price for offer in last)
    return wrong, false, len(changes), len(changes & found), told, right, PRODUCTS[LISTED]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--days", type=int, default=30)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    start = time.process_time()
    wrong, false, changes, found, told, right, listed = simulate(given.days, given.seed)
    print(
        f"{wrong} wrong prices recorded, {false} false changes, {found} of {changes} changes at untouched shops found on "
        f"their day, {told} events of redesigned shops, {right} of {listed} prices of the shop with cards right at the "
        f"end, {time.process_time() - start:.0f} s of CPU"
    )
    sys.exit(1 if wrong or false else 0)


if __name__ == "__main__":
    main()

"""Measures whether a price belongs to the page's own product, on generated pages of 20 shop systems whose true
values are known.

    python benchmarks/own_product.py [SEED [PAGES]]

PAGES pages (400) of four kinds, in equal numbers:

- `unreadable`: the price of the product is in an element that no text contains; other products have prices.
- `contradiction`: structured data and the visible page do not agree, or hidden elements contain another price.
- `amount`: the amount is written in several elements, or with unusual separators.
- `state`: only data in a script contains the price; other products have visible prices.

In addition, PAGES / 4 pages without a product of their own (a category, a home page, an error page with the status
200, a product that is gone), where each recorded price is an error. The price is what a price run would record.
The pages use the markup of `shop_kinds.py`, of which every second system is taken, and the labels are the pages' own
data. The 95 % intervals come from 1,000 draws with replacement.

    python benchmarks/own_product.py failures SEED PAGES   prints the failures of every second system
"""

from __future__ import annotations

import html
import json
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from string import Template
from typing import Any

from extraction import counted_f1, interval
from extraction_pages import Goods, Language, goods, languages
from shop_kinds import _PART, systems, values

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.observe import observations_of, see_page
from gossamer.uses.prices.selector_table import SelectorTable

SYSTEMS = sorted(systems())[1::2][:20]
ALWAYS = {"in": True, "more": True, "nosale": True, "jsonld": False}


def render(
    one: Goods, system: str, known: dict[str, str], has: dict[str, bool], card_prices: bool = True
) -> str:
    """Returns the body of a product page."""
    template, card = systems()[system]
    cards = "".join(
        Template(card).substitute(
            known, n=n, other=f"Other {n}", price=one.money(share) if card_prices else ""
        )
        for n, share in enumerate((0.3, 0.7, 1.4), 1)
    )
    while (changed := _PART.sub(lambda part: part[2] if has.get(part[1]) else "", template)) != template:
        template = changed
    return Template(template).substitute(known, cards=cards)


def whole(one: Goods, body: str, head: str = "", title: str = "") -> bytes:
    return (
        f'<!DOCTYPE html><html lang="{one.language.code}"><head><meta charset="utf-8"><title>'
        f"{title or html.escape(one.name) + ' | Shop'}</title>{head}</head><body><header><nav><a href=/>Home</a></nav></header>"
        f"{body}<footer><p>© 2026 Shop</p></footer></body></html>"
    ).encode()


def linked(data: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script>'


def thing(one: Goods, offers: Any) -> str:
    return linked({"@context": "https://schema.org", "@type": "Product", "name": one.name, "offers": offers})


def offer(one: Goods, price: Decimal, **more: Any) -> dict[str, Any]:
    return {"@type": "Offer", "price": str(price), "priceCurrency": one.language.currency, **more}


def part_of(one: Goods, share: str) -> Decimal:
    return (one.price * Decimal(share)).quantize(Decimal("0.01"))


def without_amounts(known: dict[str, str], money: str) -> dict[str, str]:
    """Returns the values of a page that shows no amount of its product except `money`."""
    others = dict.fromkeys(
        ("unit", "inst", "member", "exmoney", "converted", "saved", "was", "was_amount"), ""
    )
    return known | others | {"money": money, "regular": money, "amount": "0", "cents": "0"}


def unreadable(one: Goods, system: str) -> tuple[bytes, Decimal | None]:
    box = one.chance.choice(
        (
            "<price-box data-ref='9'></price-box>",
            "<span class='price-slot' data-price-id='x81'></span>",
            "<canvas></canvas>",
        )
    )
    known = without_amounts(values(one, ""), box)
    return whole(one, render(one, system, known, ALWAYS)), None


def contradiction(one: Goods, system: str) -> tuple[bytes, Decimal | None]:
    known, has, head, before = values(one, ""), dict(ALWAYS), "", ""
    other = part_of(one, "1.3")
    kind = one.chance.choice(("struck", "used", "nested", "range", "hidden", "template"))
    if kind == "struck":
        one.former = other
        known, has = values(one, ""), {**ALWAYS, "sale": True, "nosale": False}
        head = thing(one, offer(one, other))
    elif kind == "used":
        used = offer(one, part_of(one, "0.6"), itemCondition="https://schema.org/UsedCondition")
        new = offer(one, one.price, itemCondition="https://schema.org/NewCondition")
        head = thing(one, one.chance.sample([used, new], 2))
    elif kind == "nested":
        head = thing(one, [[offer(one, one.price)]])
        known = without_amounts(known, "<price-box></price-box>")
    elif kind == "range":
        low, high = one.money(), one.money(1.5)
        known = without_amounts(known, f"{low} – {high}")
        head = thing(
            one, {"@type": "AggregateOffer", "minPrice": str(one.price), "maxPrice": str(part_of(one, "1.5"))}
        )
        return whole(one, render(one, system, known, has), head), None
    elif kind == "hidden":
        before = f'<div hidden><span class="price">{one.money(1.3)}</span></div>'
    else:
        before = (
            f'<template><div class="product"><span class="price">{one.money(1.3)}</span></div></template>'
        )
    return whole(one, before + render(one, system, known, has), head), one.price


AMOUNTS: dict[str, Callable[[str, str], str]] = {
    "pl": lambda whole, cents: f'<span class="int">{whole}</span><span class="dec">{cents} zł</span>',
    "fr": lambda whole, cents: f"{whole}<sup>{cents}</sup> €",
    "de": lambda whole, cents: f"<b>{whole}</b><sup>{cents}</sup>&nbsp;€",
    "en": lambda whole, cents: f"<span>$</span><span>{whole}</span><sup>{cents}</sup>",
    "sv": lambda whole, _cents: f"{whole}:-",
}
SWISS = "\u02bc\u2018\u201b\u02b9\u2032\u2019"
"""Separators of thousands before `CHF`, on pages in German."""
THOUSANDS = {
    "pl": ("\u2002", "\u2005", "\u202f"),
    "fr": ("\u2006", "\u2008", "\u205f", "\u202f"),
    "de": (".",),
    "en": (",",),
    "sv": ("\u2005", " ", "\u202f"),
}


def amount(one: Goods, system: str) -> tuple[bytes, Decimal | None]:
    if one.language.code == "sv":
        one.price = Decimal(int(one.price) + 1)
    number = f"{one.price:.2f}"
    whole_part, cents = number.split(".")
    swiss = one.language.code == "de" and one.chance.random() < 0.5
    if len(whole_part) > 3:
        mark = one.chance.choice(SWISS if swiss else THOUSANDS[one.language.code])
        whole_part = whole_part[:-3] + mark + whole_part[-3:]
    written = f"CHF {whole_part}.{cents}" if swiss else AMOUNTS[one.language.code](whole_part, cents)
    known = without_amounts(values(one, ""), written)
    return whole(one, render(one, system, known, ALWAYS)), one.price


def state(one: Goods, system: str) -> tuple[bytes, Decimal | None]:
    name, cents, currency = one.name, int(one.price * 100), one.language.currency
    number = float(one.price)
    told = {
        "amount": {
            "product": {"name": name, "sku": "S81", "price": {"amount": number, "currencyCode": currency}}
        },
        "current": {"product": {"title": name, "price": {"current": number, "currency": currency}}},
        "value": {
            "pdp": {"product": {"name": name, "price": {"value": str(one.price), "currency": currency}}}
        },
        "centAmount": {
            "product": {"name": name, "price": {"value": {"centAmount": cents, "currencyCode": currency}}}
        },
    }
    kind = one.chance.choice((*told, "nuxt2", "nuxt3", "flight", "platform"))
    if kind in told:
        page = one.chance.choice(
            (
                '<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":%s}}</script>',
                "<script>window.__INITIAL_STATE__=%s;</script>",
            )
        )
        script = page % json.dumps(told[kind])
    elif kind == "nuxt2":
        script = (
            "<script>window.__NUXT__=(function(a,b,c){return {data:[{product:{name:a,price:{amount:b,currencyCode:c}}}]}}"
            f"({json.dumps(name)},{number},{json.dumps(currency)}));</script>"
        )
    elif kind == "nuxt3":
        rows: list[Any] = [
            {"data": 1},
            {"product": 2},
            {"name": 3, "price": 4},
            name,
            {"amount": 5, "currencyCode": 6},
        ]
        script = (
            '<script type="application/json" id="__NUXT_DATA__" data-ssr="true">'
            f"{json.dumps([*rows, number, currency])}</script>"
        )
    elif kind == "flight":
        row = "5:" + json.dumps(
            ["$", "$L9", None, {"product": {"name": name, "price": {"amount": number, "currency": currency}}}]
        )
        script = f"<script>self.__next_f.push([1,{json.dumps(row + chr(10))}])</script>"
    else:
        product = {
            "id": 81,
            "title": name,
            "price": cents,
            "variants": [{"id": 811, "title": "Default", "price": cents}],
        }
        script = f'<script type="application/json" data-product-json>{json.dumps(product)}</script>'
        script += f'<script>Shopify = {{"currency": {{"active": {json.dumps(currency)}}}}};</script>'
    known = without_amounts(values(one, ""), "<price-box></price-box>")
    return whole(one, render(one, system, known, ALWAYS) + script), one.price


def nothing_own(one: Goods, system: str) -> tuple[bytes, Decimal | None]:
    _, card = systems()[system]
    known = values(one, "")
    many = "".join(
        Template(card).substitute(known, n=n, other=f"Other {n}", price=one.money(0.3 + n / 7))
        for n in range(1, one.chance.randint(4, 13))
    )
    kind = one.chance.choice(("category", "home", "error", "gone"))
    if kind == "category":
        return whole(one, f"<h1>Lamps</h1><div class=grid>{many}</div>", title="Lamps | Shop"), None
    if kind == "home":
        return whole(one, f"<h2>{known['more']}</h2><section>{many}</section>", title="Shop"), None
    if kind == "error":
        said = {"de": "Seite nicht gefunden", "fr": "Page introuvable"}.get(
            one.language.code, "Page not found"
        )
        return whole(one, f"<h1>{said}</h1><h2>{known['more']}</h2>{many}", title=said), None
    gone = {"de": "Dieser Artikel ist nicht mehr verfügbar", "fr": "Ce produit n'est plus disponible"}
    text = gone.get(one.language.code, "This product is no longer available")
    return whole(one, f"<h1>{html.escape(one.name)}</h1><p>{text}</p><h2>{known['more']}</h2>{many}"), None


KINDS = {"unreadable": unreadable, "contradiction": contradiction, "amount": amount, "state": state}
Make = Callable[[Goods, str], tuple[bytes, Decimal | None]]


def drawn(seed: int, count: int, make: Make) -> list[tuple[str, Goods, bytes, Decimal | None]]:
    """Returns the system, product, page and price of `count` pages."""
    chance = random.Random(f"{seed} {make.__name__}")
    known: list[Language] = [one for one in languages() if "56" in one.style]
    if make is amount:
        known = [one for one in languages() if one.code in AMOUNTS]
    found = []
    for _ in range(count):
        one, system = goods(chance, chance.choice(known)), chance.choice(SYSTEMS)
        one.former = None
        found.append((system, one, *make(one, system)))
    return found


def recorded(body: bytes, name: str) -> Decimal | None:
    """Returns the price that a price run would record for the page."""
    url = f"https://shop.example/p/{name.replace(' ', '-').lower()}"
    page = Page(url, 200, [("content-type", "text/html; charset=utf-8")], body, 0.0, 0.1, len(body))
    seen = see_page(PageView(page), url, SelectorTable([]))
    return observations_of(seen, [PriceTarget(key="k", url=url)])[0].price


def main(seed: int, count: int, failures: bool) -> None:
    scores: dict[str, list[tuple[int, int, int]]] = {}
    for kind, make in KINDS.items():
        for system, one, body, right in drawn(seed, count // len(KINDS), make):
            got = recorded(body, one.name)
            tally = (int(right is not None and got == right), int(got is not None), int(right is not None))
            scores.setdefault(kind, []).append(tally)
            scores.setdefault("all", []).append(tally)
            if failures and got != right and SYSTEMS.index(system) % 2 == 0:
                print(kind, system, one.language.code, right, got)
    wrong = 0
    pages = drawn(seed, count // 4, nothing_own)
    for system, one, body, _ in pages:
        got = recorded(body, one.name)
        wrong += got is not None
        if failures and got is not None and SYSTEMS.index(system) % 2 == 0:
            print("nothing of its own", system, one.language.code, got)
    for kind, many in scores.items():
        prices = sum(one[1] for one in many if not one[2])
        print(
            f"{kind:14} F1 {interval(counted_f1, many)}, {len(many)} pages, {prices} prices where the product has none"
        )
    print(f"pages without a product of their own: {wrong} prices on {len(pages)} pages")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    first, pages_ = (numbers + [2026, 400][len(numbers) :])[:2]
    main(first, pages_, failures="failures" in sys.argv)

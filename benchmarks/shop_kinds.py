"""Measures the quality of the product extractor on the markup of 44 shop systems and marketplaces in 35
languages.

    python benchmarks/shop_kinds.py [SEED [PAGES]] [--hard]

The pages follow the default themes (`data/shop_kinds.txt`, written from the authors' knowledge of them).
Beside the price stand the same elements as in the themes: former prices, prices without taxes, unit prices,
instalments, prices of members, converted prices, points, shipping, thresholds, counters, options with prices,
other products, and tracking events. Half of the pages have structured data. With `--hard`, no page has
structured data. The labels are the pages' own data. Every second system is only scored: its failures are
never shown. The 95 % intervals come from 1,000 draws with replacement.

    python benchmarks/shop_kinds.py failures SEED PAGES   prints the failures that are not held out
"""

from __future__ import annotations

import html
import json
import random
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from string import Template
from typing import Any

from extraction import counted_f1, interval
from extraction_pages import Goods, goods, languages, structured

from gossamer.parsing.products import product_page

KINDS = Path(__file__).parent / "data" / "shop_kinds.txt"
KNOWN = frozenset(
    (
        *("bigcommerce-cornerstone", "hybris-accelerator", "magento2-luma", "opencart3", "prestashop8"),
        *("salesforce-sfra", "shopware6", "tiendanube", "wix"),
    )
)
"""The systems of the held-out half that also occur, with other markup, in `extraction_pages.py`.

The extractor was developed with some of these systems.
"""
_PART = re.compile(r"\[\[(\w+):((?:(?!\[\[|\]\]).)*)\]\]")
_CONVERTED = {"USD": "€ 9,99", "EUR": "US $9.99"}


def systems() -> dict[str, tuple[str, str]]:
    """Returns the templates of the page and of the card of another product, by system."""
    found = {}
    for part in KINDS.read_text("utf-8").split("\n== ")[1:]:
        name, _, rest = part.partition("\n")
        page, _, card = rest.partition("\n--\n")
        found[name.strip()] = (page.strip(), card.strip())
    return found


def unit_price(one: Goods) -> tuple[str, Decimal, str]:
    """Returns the text of a unit price, its amount and its unit."""
    share, many, unit, base = one.chance.choice(
        ((0.4, 1, "kg", "kg"), (0.1, 100, "g", "kg"), (0.5, 1, "l", "l"), (0.05, 100, "ml", "l"))
    )
    whole = "56" not in one.language.style
    amount = (one.price * Decimal(str(share))).quantize(Decimal(1 if whole else "0.01"))
    factor = Decimal(many) / 1000 if unit in ("g", "ml") else Decimal(many)
    text = (
        f"{one.language.money(amount)} / {many} {unit}"
        if many > 1
        else f"{one.language.money(amount)}/{unit}"
    )
    return text, amount / factor, base


def values(one: Goods, unit: str) -> dict[str, str]:
    """Returns the values that a page of the product may contain."""
    former = one.language.money(one.former) if one.former else ""
    saved = one.language.money(one.former - one.price) if one.former else ""
    months = one.chance.choice((3, 4, 10, 12))
    rate = one.money(1 / months)
    return {
        "name": html.escape(one.name),
        "brand": one.name.split()[0],
        "sku": f"{one.chance.randint(10**6, 10**7 - 1)}",
        "money": one.money(),
        "amount": str(one.price),
        "cents": str(int(one.price * 100)),
        "cur": one.language.currency,
        "was": former,
        "was_amount": str(one.former or ""),
        "saved": saved,
        "regular": former or one.money(),
        "stock": one.stock(),
        "buy": one.say("buy"),
        "more": one.say("more"),
        "unit": unit,
        "inst": one.chance.choice(
            (f"{months} x {rate}", f"{months}x {rate}", f"{rate} / {months} x", f"{rate} x {months}")
        ),
        "exmoney": one.money(0.8),
        "incl": one.say("incl") if "tax" in one.traps else "",
        "excl": one.say("excl"),
        "member": one.money(0.9),
        "other_money": one.money(1.2),
        "converted": _CONVERTED.get(one.language.currency, "US $9.99"),
        "ship": f"+ {one.language.money(Decimal(5) if one.price < 10**4 else Decimal(900))}",
        "free": f"{one.say('free')} {one.money(0.5)}",
    }


def page(one: Goods, system: str) -> tuple[bytes, tuple[Decimal, str] | None]:
    """Returns a page, and the unit price that it shows."""
    template, card = systems()[system]
    unit, per_unit, base = unit_price(one)
    has = {
        "sale": one.former is not None,
        "nosale": one.former is None,
        "in": one.available,
        "out": not one.available,
        "ex": "tax" in one.traps and bool(one.say("excl").strip()),
        "unit": "unit" in one.traps,
        "inst": "instalments" in one.traps,
        "ship": one.chance.random() < 0.5,
        "more": "more" in one.traps,
        "member": "member" in one.traps,
        "event": one.chance.random() < 0.5,
        "jsonld": one.data != "none",
    }
    known = values(one, unit)
    cards = "".join(
        Template(card).substitute(known, n=n, other=f"Other {n}", price=one.money(share))
        for n, share in enumerate((0.3, 0.7, 1.4), 1)
    )
    while (changed := _PART.sub(lambda part: part[2] if has[part[1]] else "", template)) != template:
        template = changed
    body = Template(template).substitute(known, cards=cards)
    cart = f'<div class="header-tools"><a class="cart-total" href="/cart">{one.money(0)} (0)</a></div>'
    notice = f"<p class=notice>{known['free']}</p>"
    top = (cart if "cart" in one.traps else "") + (notice if "threshold" in one.traps else "")
    whole = (
        f'<!DOCTYPE html><html lang="{one.language.code}"><head><meta charset="utf-8"><title>{known["name"]} - Shop</title>'
        f"{structured(one)}</head><body><header>{top}<nav><a href=/>Home</a></nav></header>{body}"
        "<footer><p>© 2026 Shop</p></footer></body></html>"
    )
    return whole.encode(), (per_unit, base) if "$unit" in template else None


def drawn(seed: int, count: int, hard: bool) -> list[tuple[str, Goods, bytes, tuple[Decimal, str] | None]]:
    """Generates pages from a seed. Returns the system, product, page and unit price of each.

    Each system is equally likely, and so is each language.
    """
    chance = random.Random(seed)
    known, names = languages(), sorted(systems())
    found = []
    for _ in range(count):
        one, system = goods(chance, chance.choice(known)), chance.choice(names)
        if hard:
            one.data = "none"
        found.append((system, one, *page(one, system)))
    return found


def main(seed: int, count: int, failures: bool, hard: bool) -> None:
    names = sorted(systems())
    scores: dict[str, dict[str, list[tuple[int, int, int]]]] = {}
    check: dict[str, Callable[[Goods], Any]] = {
        "price": lambda one: one.price,
        "currency": lambda one: one.language.currency,
        "availability": lambda one: "InStock" if one.available else "OutOfStock",
    }
    for system, one, body, unit in drawn(seed, count, hard):
        found = product_page(body, f"https://shop.example/{one.language.code}/p/{one.name.replace(' ', '-')}")
        scored = "scored, other" if system in KNOWN else "scored, new"
        group = "seen" if names.index(system) % 2 == 0 else scored
        results = [(name, wanted(one), found.record[name]) for name, wanted in check.items()]
        shown = found.unit_price
        if unit is not None:
            near = (
                shown is not None and shown.unit == unit[1] and abs(shown.amount - unit[0]) <= unit[0] / 1000
            )
            results.append(("unit price", unit, unit if near else shown))
        results.append(("undecided", None, found.decision.is_undecided or None))
        for name, right, got in results:
            if name == "undecided":
                tally = (int(got is None), 1, 1)
            else:
                tally = (int(right == got), int(got is not None), 1)
            scores.setdefault(name, {}).setdefault(group, []).append(tally)
            if failures and tally[0] == 0 and group == "seen":
                print(
                    system, one.language.code, one.data, sorted(one.traps), bool(one.former), name, right, got
                )
    for name, groups in scores.items():
        for group, many in sorted(groups.items()):
            label = "decided" if name == "undecided" else name
            print(f"{label:14}{group:14} F1 {interval(counted_f1, many)}, {len(many)} pages")
    print(json.dumps({"systems": len(names), "languages": len(languages())}))


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    first, pages = (numbers + [1, 400][len(numbers) :])[:2]
    main(first, pages, failures="failures" in sys.argv, hard="--hard" in sys.argv)

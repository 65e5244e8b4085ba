"""Measures the quality of the product extractor on generated shop pages, whose true values are known.

    python benchmarks/extraction_pages.py [SEED [PAGES]]

The pages have the markup of 17 shop systems in 35 languages. The structured data is complete, partial or
missing. Each page has some traps: a cart total in the header, a threshold for free shipping, instalments, a
price without taxes, a former price, a percentage, a unit price, a member's price, points, a deposit,
counters, and other products with prices. Half of the systems and half of the languages are held out: their
failures are counted, but nobody looks at them. The 95 % intervals come from 1,000 draws with replacement.

    python benchmarks/extraction_pages.py failures SEED PAGES   prints the failures that are not held out
"""

from __future__ import annotations

import html
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from string import Template
from typing import Any

from extraction import counted_f1, interval

from gossamer.parsing.products import product

WORDS = Path(__file__).parent / "data" / "shop_translations.txt"
_COLUMNS = ("code", "currency", "style", "in", "out", "buy", "was", "more", "free", "incl", "excl")
_NUMBER = re.compile(r"1(.)234(?:(.)56)?")


@dataclass
class Language:
    """The words of a shop in one language, and the style of its prices (such as `1.234,56 €`)."""

    code: str
    currency: str
    style: str
    words: dict[str, list[str]]

    def money(self, amount: Decimal) -> str:
        number = _NUMBER.search(self.style)
        assert number
        text = f"{amount:,.2f}" if number[2] else f"{amount:,.0f}"
        text = text.replace(",", "\0").replace(".", number[2] or "").replace("\0", number[1])
        return self.style.replace(number[0], text)

    def say(self, chance: random.Random, kind: str) -> str:
        return chance.choice(self.words[kind])


def languages() -> list[Language]:
    found = []
    for line in WORDS.read_text("utf-8").splitlines():
        if line and line[0] != "#":
            cells = dict(zip(_COLUMNS, (cell.strip() for cell in line.split(";")), strict=True))
            said = {name: cells[name].split("|") for name in _COLUMNS[3:]}
            found.append(Language(cells["code"], cells["currency"], cells["style"], said))
    return found


@dataclass
class Goods:
    """A product with its true values, and the contents of its page."""

    chance: random.Random
    language: Language
    name: str
    price: Decimal
    former: Decimal | None
    available: bool
    data: str
    """The extent of the structured data: `full`, `no-price`, `no-stock` or `none`."""
    traps: frozenset[str] = field(default_factory=frozenset)

    def money(self, share: float = 1) -> str:
        amount = self.price * Decimal(str(share))
        whole = "56" not in self.language.style
        return self.language.money(amount.quantize(Decimal(1 if whole else "0.01")))

    def say(self, kind: str) -> str:
        return html.escape(self.language.say(self.chance, kind))

    def stock(self) -> str:
        return self.say("in" if self.available else "out")

    def was(self) -> str:
        return self.language.money(self.former) if self.former else ""

    def button(self, names: str) -> str:
        """Returns a button for buying, or an empty text if the product is sold out."""
        return f'<button type="submit" class="{names}">{self.say("buy")}</button>' if self.available else ""


def goods(chance: random.Random, language: Language) -> Goods:
    makers = ("Norvik", "Altamira", "Kestrel", "Sonnberg", "Pelorus", "Tamsin")
    things = ("Lamp 40", "Drill XR 18", "Mug 330", "Boots", "Kettle 1.7", "Backpack 22L", "Router AX3000")
    whole = "56" not in language.style
    price = Decimal(chance.randint(5, 2500))
    price = price * 100 if whole else price + Decimal(chance.choice(("0.99", "0.50", "0.00", "0.95")))
    former = price + price // 4 + 1 if chance.random() < 0.4 else None
    known = (
        "cart",
        "threshold",
        "instalments",
        "tax",
        "unit",
        "member",
        "points",
        "deposit",
        "counter",
        "more",
    )
    traps = frozenset(name for name in known if chance.random() < 0.35)
    data = chance.choice(("full", "no-price", "no-stock", "none", "none"))
    name = f"{chance.choice(makers)} {chance.choice(things)}"
    return Goods(chance, language, name, price, former, chance.random() < 0.6, data, traps)


def structured(one: Goods) -> str:
    """Returns the JSON-LD and meta elements of the page, if it has any."""
    if one.data == "none":
        return ""
    offer = {"@type": "Offer", "price": str(one.price), "priceCurrency": one.language.currency}
    offer["availability"] = f"https://schema.org/{'InStock' if one.available else 'OutOfStock'}"
    if one.data == "no-price":
        meta = (
            f'<meta property="product:price:amount" content="{one.price}">'
            if one.chance.random() < 0.5
            else ""
        )
        thing: dict[str, Any] = {
            "@context": "https://schema.org",
            "@type": "Product",
            "name": one.name,
            "brand": None,
        }
        return f'{meta}<script type="application/ld+json">{json.dumps(thing)}</script>'
    if one.data == "no-stock":
        del offer["availability"]
    thing = {"@context": "https://schema.org", "@type": "Product", "name": one.name, "offers": offer}
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


def head(one: Goods) -> str:
    """Returns the header above the product, with traps."""
    parts = []
    if "cart" in one.traps:
        parts.append(
            f'<div class="site-tools"><a href="/cart" class="cart-contents"><span class="amount">{one.money(0)}'
            '</span> <span class="count">0</span></a></div>'
        )
    if "threshold" in one.traps:
        parts.append(f'<div class="announcement"><p>{one.say("free")} {one.money(0.5)}</p></div>')
    return "".join(parts)


def beside(one: Goods) -> str:
    """Returns the elements beside the price, with traps."""
    parts = []
    for trap, text in (
        ("counter", '<span class="rating">4.7 (9.3K)</span> <span class="sold-count">5G</span>'),
        ("instalments", f'<div class="installments">3 x {one.money(1 / 3)}</div>'),
        ("unit", f'<small class="unit-price">{one.money(0.1)} / 100 g</small>'),
        ("member", f'<p class="club-price">Club: {one.money(0.9)}</p>'),
        ("points", "<p>+ 250 P</p>"),
        ("deposit", f'<p class="deposit">+ {one.money(0.02)} Pfand</p>' if one.language.code == "de" else ""),
    ):
        parts.append(text if trap in one.traps else "")
    return "".join(parts)


def taxed(one: Goods, names: str) -> str:
    """Returns the price. If the page has that trap, the price without taxes stands before or after it."""
    own = f'<span class="{names}">{one.money()}</span>'
    if "tax" not in one.traps or not one.say("excl").strip():
        return own
    with_tax = f'<span class="{names}">{one.money()} {one.say("incl")}</span>'
    without = f'<span class="{names}">{one.money(0.8)} {one.say("excl")}</span>'
    return with_tax + without if one.chance.random() < 0.5 else without + with_tax


def others(one: Goods, card: str) -> str:
    """Returns other products with prices and buttons. `card` is a template with `$$price`, `$$buy` and
    `$$stock`."""
    if "more" not in one.traps:
        return ""
    cards = "".join(
        Template(card).substitute(price=one.money(share), buy=one.say("buy"), stock=one.say("in"))
        for share in (0.3, 0.7, 1.4)
    )
    return f"<h2>{one.say('more')}</h2>{cards}"


def filled(template: str, one: Goods, card: str, names: str, button: str, old: str) -> str:
    """Returns a whole page. `old` is the template of the former price, with `$$was`."""
    former = Template(old).substitute(was=one.was(), percent="-20%") if one.former else ""
    return Template(template).substitute(
        name=html.escape(one.name),
        price=taxed(one, names),
        former=former,
        stock=one.stock(),
        state="in-stock" if one.available else "out-of-stock",
        button=one.button(button),
        beside=beside(one),
        others=others(one, card),
    )


SYSTEMS: dict[str, tuple[str, str, str, str, str]] = {}
"""For each system: templates of the page and of the card of another product, classes of the price and of the
button, and the template of the former price."""
_FOLDER = Path(__file__).parent / "data" / "shop_templates.txt"
for _part in _FOLDER.read_text("utf-8").split("\n== ")[1:]:
    _name, _, _rest = _part.partition("\n")
    _page, _card, _names, _button, _old = (one.strip() for one in _rest.split("\n--\n"))
    SYSTEMS[_name.strip()] = (_page, _card, _names, _button, _old)


def page(one: Goods, system: str) -> bytes:
    template, card, names, button, old = SYSTEMS[system]
    middle = filled(template, one, card, names, button, old)
    return (
        f'<!DOCTYPE html><html lang="{one.language.code}"><head><meta charset="utf-8"><title>{html.escape(one.name)}'
        f" | Shop</title>{structured(one)}</head><body>{head(one)}{middle}<footer>© 2026</footer></body></html>"
    ).encode()


def drawn(seed: int, count: int) -> list[tuple[str, Goods, bytes]]:
    """Generates pages from a seed. Returns the system, product and page of each.

    Each system is equally likely, and so is each language.
    """
    chance = random.Random(seed)
    known, systems = languages(), sorted(SYSTEMS)
    found = []
    for _ in range(count):
        one, system = goods(chance, chance.choice(known)), chance.choice(systems)
        found.append((system, one, page(one, system)))
    return found


def seen(name: str, names: list[str]) -> bool:
    """Returns whether a system or a language is not held out, so that its failures may be looked at."""
    return names.index(name) % 2 == 0


def kind(system: str, one: Goods) -> str:
    own = seen(system, sorted(SYSTEMS)), seen(one.language.code, sorted(each.code for each in languages()))
    return {
        (True, True): "both seen",
        (False, True): "system kept aside",
        (True, False): "language kept aside",
        (False, False): "both kept aside",
    }[own]


def main(seed: int, count: int, failures: bool) -> None:
    scores: dict[str, dict[str, list[tuple[int, int, int]]]] = {
        "price": {},
        "currency": {},
        "availability": {},
    }
    check: dict[str, Callable[[Goods], object]] = {
        "price": lambda one: one.price,
        "currency": lambda one: one.language.currency,
        "availability": lambda one: "InStock" if one.available else "OutOfStock",
    }
    for system, one, body in drawn(seed, count):
        record = product(body, f"https://shop.example/{one.language.code}/p/{one.name.replace(' ', '-')}")
        group = kind(system, one)
        for name, wanted in check.items():
            right = record[name] == wanted(one)
            scores[name].setdefault(group, []).append((int(right), int(record[name] is not None), 1))
            scores[name].setdefault("all", []).append((int(right), int(record[name] is not None), 1))
            if failures and not right and group == "both seen":
                print(system, one.language.code, one.data, sorted(one.traps), name, wanted(one), record[name])
    for name, groups in scores.items():
        for group, many in sorted(groups.items()):
            print(f"{name:14}{group:22} F1 {interval(counted_f1, many)}, {len(many)} pages")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    seed, count = (numbers + [1, 200][len(numbers) :])[:2]
    main(seed, count, failures="failures" in sys.argv)

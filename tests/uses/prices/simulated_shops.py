"""Simulates shops whose prices follow a script, and the visits to them over some days.

Each day has noise: A/B prices and sellers that differ per visit, glitches (0, 9,999, a tenth), pages that
fail, and body hashes that always differ because of rotating advertisements.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from decimal import Decimal

from gossamer.uses.prices.model import EventKind, Observation, OfferState, PriceTarget

DAY_S = 86_400.0
SHOPS = 40
KINDS = (
    *(EventKind.PRICE,) * 10,
    *(EventKind.AVAILABILITY,) * 4,
    *(EventKind.REGULAR_PRICE,) * 2,
    *(EventKind.SELLER, EventKind.CURRENCY, EventKind.GONE, EventKind.MOVED),
)
REDESIGNED, MAINTAINED, BLOCKING, MOVING = "shop0", "shop1", "shop2", "shop3"
TROUBLE_DAY = 5


@dataclass(frozen=True)
class Product:
    """The true values of a product."""

    key: str
    shop: str
    price: Decimal
    regular_price: Decimal | None = None
    currency: str = "EUR"
    availability: str = "InStock"
    seller: str = "Shop"
    state: OfferState = OfferState.PRICED
    url: str = ""

    @property
    def left(self) -> bool:
        return self.state != OfferState.PRICED


@dataclass(frozen=True)
class Change:
    """A scripted change."""

    day: int
    key: str
    kind: EventKind


@dataclass
class Shops:
    """Products, their scripted changes, and random noise."""

    products: dict[str, Product]
    script: list[Change]
    alternating: set[str]
    ping_pong: set[str]
    random: random.Random

    @classmethod
    def make(cls, products: int, changes: int, days: int, seed: int = 7) -> Shops:
        """Returns shops with a script in which each product changes at most once."""
        chance = random.Random(seed)
        made = {}
        for number in range(products):
            shop = f"shop{number % SHOPS}"
            key, url = f"p{number}", f"https://{shop}.example/p/{number}"
            made[key] = Product(key, shop, Decimal(chance.randint(500, 99_999)) / 100, url=url)
        keys = chance.sample(sorted(made), changes + products // 50)
        changed, noisy = keys[:changes], keys[changes:]
        broken = {REDESIGNED, MAINTAINED, BLOCKING, MOVING}
        script = []
        for number, key in enumerate(changed):
            day = chance.randint(1, days - 1)
            # on and after the trouble day these shops do not show their products
            while made[key].shop in broken and day >= TROUBLE_DAY:
                day = chance.randint(1, TROUBLE_DAY - 1)
            script.append(Change(day, key, KINDS[number % len(KINDS)]))
        half = len(noisy) // 2
        return cls(made, script, set(noisy[:half]), set(noisy[half:]), chance)

    def targets(self) -> list[PriceTarget]:
        return [PriceTarget(key=one.key, url=one.url, shop=one.shop) for one in self.products.values()]

    def begin_day(self, day: int) -> set[Change]:
        """Applies the day's changes of the script to the products. Returns the changes."""
        today = {change for change in self.script if change.day == day}
        for change in today:
            self.products[change.key] = self._changed(self.products[change.key], change.kind)
        return today

    def _changed(self, product: Product, kind: EventKind) -> Product:
        if kind == EventKind.PRICE:
            factor = Decimal(self.random.choice(["0.70", "0.95", "1.02", "1.30"]))
            return replace(product, price=(product.price * factor).quantize(Decimal("0.01")))
        if kind == EventKind.AVAILABILITY:
            return replace(product, availability="OutOfStock")
        if kind == EventKind.REGULAR_PRICE:
            return replace(product, regular_price=product.price + 10)
        if kind == EventKind.SELLER:
            return replace(product, seller="Other seller")
        if kind == EventKind.CURRENCY:
            return replace(product, currency="USD")
        if kind == EventKind.GONE:
            return replace(product, state=OfferState.GONE)
        return replace(product, state=OfferState.MOVED, url=f"{product.url}/new")

    def visit(self, key: str, day: int, time: float, confirming: bool = False) -> Observation:
        """Returns the result of a visit: the true values with the noise of the shop."""
        product = self.products[key]
        plain = Observation(
            target=key, time=time, state=product.state, url=product.url, confirming=confirming
        )
        if day == TROUBLE_DAY and product.shop in (REDESIGNED, MAINTAINED, BLOCKING) and not product.left:
            return self._in_trouble(product, plain)
        if day >= TROUBLE_DAY and product.shop == MOVING and not product.left:
            address = product.url.replace(MOVING, "elsewhere")
            return _with(plain, state=OfferState.MOVED, url=address, detail="redirect 301")
        if product.left:
            return plain
        price, seller = product.price, product.seller
        if key in self.alternating and self.random.random() < 0.5:
            price = (price * Decimal("1.1")).quantize(Decimal("0.01"))
        if key in self.ping_pong and self.random.random() < 0.5:
            seller = "Another seller"
        noise = self.random.random()
        if noise < 0.001:
            price = self.random.choice([Decimal(0), Decimal(9999), product.price / 10])
        elif noise < 0.004:
            failed = self.random.choice([OfferState.FAILED, OfferState.BLOCKED, OfferState.EMPTY])
            return _with(plain, state=failed, detail="http-5xx 503")
        elif noise < 0.005:
            return _with(plain, state=OfferState.UNDECIDED)
        return _with(
            plain,
            price=price,
            regular_price=product.regular_price,
            currency=product.currency,
            availability=product.availability,
            seller=seller,
            source="json-ld",
            body_hash=f"{self.random.random()}",
        )

    def _in_trouble(self, product: Product, plain: Observation) -> Observation:
        if product.shop == BLOCKING:
            return _with(plain, state=OfferState.BLOCKED, detail="http-4xx 403")
        if product.shop == MAINTAINED:
            return _with(plain, state=OfferState.EMPTY, detail="no product")
        if self.random.random() < 0.7:
            return _with(plain, state=OfferState.NO_PRICE)
        return _with(plain, state=OfferState.PRICED, price=Decimal("49"), currency="EUR", source="class")


def _with(seen: Observation, **values: object) -> Observation:
    return Observation(**{name: getattr(seen, name) for name in seen.__struct_fields__} | values)  # type: ignore[arg-type]

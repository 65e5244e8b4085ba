"""Represents the prices of a page. Each price has a role and a source. A decision selects the price that a
buyer pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

import msgspec


class PriceRole(StrEnum):
    """The role of a price on a product page."""

    PRICE = "price"
    """The price that a buyer pays."""
    RANGE_END = "range-end"
    """The highest price of a range of prices."""
    LIST_PRICE = "list-price"
    """A former price or a recommended price of the product."""
    WITHOUT_TAX = "without-tax"
    MEMBER_PRICE = "member-price"
    """A price that only some buyers pay."""
    INSTALLMENT = "installment"
    SHIPPING = "shipping"
    UNIT_PRICE = "unit-price"
    DEPOSIT = "deposit"
    SAVING = "saving"
    """The amount of a discount, or a threshold such as the amount for free shipping."""
    SURCHARGE = "surcharge"
    """An amount that a product option adds to the price."""
    CONVERTED = "converted"
    """The price of the product, converted to a currency other than the currency of the sale."""
    RELATED = "related"
    """The price of another product."""


class PriceCandidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A price of a page with its role and its place on the page."""

    amount: Decimal
    currency: str | None = None
    """The currency as an ISO 4217 code."""
    raw: str = ""
    """The price as written on the page."""
    source: str = ""
    """The source of the price: `json-ld`, `microdata`, `rdfa`, `meta`, `embedded`, `class` or `text`.
    `embedded` means data in a script. `class` means an element whose class or id names a price."""
    place: str = ""
    """The place of the price on the page. For structured data, `place` is a path in the data. For an element,
    `place` is the class, id or tag."""
    confidence: float = 0.0
    """How certain the price is, from 0 to 1."""
    role: PriceRole = PriceRole.PRICE
    tax_included: bool | None = None
    seller: str | None = None
    shipping: Decimal | None = None
    availability: str | None = None


class PriceDecision(msgspec.Struct, frozen=True):
    """The price that a buyer pays, or the reason why the page does not show this price."""

    price: PriceCandidate | None
    """The price that a buyer pays. If the page has no price, or has several prices and does not show which
    price a buyer pays, `price` is None."""
    reason: str = ""
    """The reason why `price` is None as a sentence, or '' if `price` is not None."""
    missing: str = ""
    """The reason as a word: `gone`, `soft-404`, `listing`, `no-price` or `undecided` (`page_kind`), or '' if `price`
    is not None."""

    @property
    def is_undecided(self) -> bool:
        """Whether the page has several prices and does not show which of them a buyer pays."""
        return self.price is None and self.missing == "undecided"


NO_PRICE: Final = "the page shows no price"
ON_REQUEST: Final = "the shop tells the price only when asked"
CONFIDENCE: Final = {
    "json-ld": 0.95,
    "microdata": 0.9,
    "rdfa": 0.9,
    "embedded": 0.8,
    "meta": 0.8,
    "class": 0.6,
    "text": 0.4,
}
"""Maps each source of a price to the confidence in the price. If another source contains the same price, the
difference between the confidence and 1 is halved."""
MAX_CANDIDATES: Final = 40


def merged(found: Iterable[PriceCandidate]) -> list[PriceCandidate]:
    """Returns the candidates without duplicates, the most trusted first. The confidence in a price is higher
    if several sources state it."""
    best: dict[tuple[Decimal, str | None, PriceRole], PriceCandidate] = {}
    for one in found:
        key = (one.amount, one.currency, one.role)
        known = best.get(key)
        if known is None:
            best[key] = one
        elif known.source != one.source:
            raised = round(known.confidence + (1 - known.confidence) / 2, 3)
            best[key] = msgspec.structs.replace(known, confidence=raised)
    return sorted(best.values(), key=lambda one: (one.role != PriceRole.PRICE, -one.confidence))[
        :MAX_CANDIDATES
    ]


def undecided(candidates: Sequence[PriceCandidate]) -> str:
    """Returns the reason why none of several prices on a page was selected. The reason contains the first
    prices of the page."""
    shown = ", ".join(
        f"{one.amount} {one.currency or ''}".strip()
        for one in candidates[:5]
        if one.role in (PriceRole.PRICE, PriceRole.RANGE_END)
    )
    return f"the page shows several prices, and does not show which one is meant: {shown}"

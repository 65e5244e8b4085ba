"""Prices of a page: what each of them is, where it comes from, and which of them a buyer pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

import msgspec


class PriceRole(StrEnum):
    """What a price on a product page is."""

    PRICE = "price"
    """The price that a buyer pays."""
    RANGE_END = "range-end"
    """The highest price of a range of prices."""
    LIST_PRICE = "list-price"
    """A former or recommended price."""
    WITHOUT_TAX = "without-tax"
    MEMBER_PRICE = "member-price"
    """A price that only some buyers pay."""
    INSTALLMENT = "installment"
    SHIPPING = "shipping"
    UNIT_PRICE = "unit-price"
    DEPOSIT = "deposit"
    SAVING = "saving"
    """The amount of a discount, or a threshold such as that of free shipping."""
    SURCHARGE = "surcharge"
    """An amount that an option adds to the price."""
    CONVERTED = "converted"
    """The price in another currency than that of the sale."""
    RELATED = "related"
    """The price of another product."""


class PriceCandidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A price of a page, and where it is."""

    amount: Decimal
    currency: str | None = None
    """ISO 4217."""
    raw: str = ""
    """The text as written."""
    source: str = ""
    """`json-ld`, `microdata`, `rdfa`, `meta`, `embedded` (data in a script), `class` (an element whose class or id
    names a price) or `text`."""
    place: str = ""
    """The path in the structured data, or the class, id or tag of the element."""
    confidence: float = 0.0
    """0 to 1."""
    role: PriceRole = PriceRole.PRICE
    tax_included: bool | None = None
    seller: str | None = None
    shipping: Decimal | None = None
    availability: str | None = None


class PriceDecision(msgspec.Struct, frozen=True):
    """The price that a buyer pays, or why the page does not say which one it is."""

    price: PriceCandidate | None
    """None if the page has no price, or several prices and nothing that tells which one is meant."""
    reason: str = ""
    """Empty if there is a price."""

    @property
    def is_undecided(self) -> bool:
        """Whether the page has several prices, and nothing tells which one is meant."""
        return self.price is None and self.reason != NO_PRICE


NO_PRICE: Final = "the page shows no price"
CONFIDENCE: Final = {
    "json-ld": 0.95,
    "microdata": 0.9,
    "rdfa": 0.9,
    "embedded": 0.8,
    "meta": 0.8,
    "class": 0.6,
    "text": 0.4,
}
"""The confidence in a price by its source. A price that other sources confirm gets half of the rest."""
MAX_CANDIDATES: Final = 40


def merged(found: Iterable[PriceCandidate]) -> list[PriceCandidate]:
    """Returns candidates without repetitions, the most trusted first. A price that a second source confirms
    becomes more certain."""
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
    """Returns the reason for a page with several prices that nothing tells apart."""
    shown = ", ".join(
        f"{one.amount} {one.currency or ''}".strip()
        for one in candidates[:5]
        if one.role in (PriceRole.PRICE, PriceRole.RANGE_END)
    )
    return f"the page shows several prices, and nothing says which one is meant: {shown}"

"""The values of price monitoring: targets, observations and events. Observations are written with the field
names of Zyte's product schema 1.0 (such as `regularPrice`), if the schema has the field. Amounts are
decimals. Times are seconds since the epoch.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

import msgspec

from gossamer.parsing.products import PriceCandidate


class PriceTarget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A product page that is watched."""

    key: str
    """The user's key of the target, which is unique in a list. Default: the URL and the variant."""
    url: str
    shop: str = ""
    """The name of the shop. Default: the registered domain of the URL."""
    product: str = ""
    """The user's own product id. Targets with the same id are offers of the same product."""
    variant: str = ""
    """The variant that is watched: an SKU, a GTIN, or option values. Default: the main offer of the page."""
    name: str = ""
    tags: tuple[str, ...] = ()
    currency: str = ""
    """The expected currency as an ISO 4217 code. Default: any."""
    minimum: Decimal | None = None
    """The minimum advertised price."""
    rules: tuple[str, ...] = ()
    """Rules that apply only to this target, as written (`below 99.90`)."""


class OfferState(StrEnum):
    """The result of visiting a target."""

    PRICED = "priced"
    NO_PRICE = "no-price"
    """A product page without a price, for example because it is sold out."""
    UNDECIDED = "undecided"
    """The page has several prices and does not show which price applies. These prices are stored as
    candidates."""
    EMPTY = "empty"
    """A page without a product, for example a maintenance page."""
    GONE = "gone"
    MOVED = "moved"
    BLOCKED = "blocked"
    FAILED = "failed"


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The data that one visit found for one target, or for one variant of its page."""

    target: str
    """The target's key."""
    variant: str = ""
    """The variant's SKU, GTIN or MPN, otherwise its option values. Empty for the main offer."""
    time: float
    state: OfferState
    url: str = ""
    """The URL that was read. For `moved`: the new address."""
    price: Decimal | None = None
    regular_price: Decimal | None = None
    currency: str | None = None
    currency_raw: str | None = None
    unit_price: Decimal | None = None
    """The price of one `unit`."""
    unit: str | None = None
    """The unit of `unit_price`: `kg`, `l`, `m`, `m2` or `piece`."""
    availability: str | None = None
    """A value of schema.org's ItemAvailability, for example `InStock`."""
    seller: str | None = None
    shipping: Decimal | None = None
    tax_included: bool | None = None
    name: str | None = None
    sku: str | None = None
    gtin: str | None = None
    mpn: str | None = None
    brand: str | None = None
    source: str = ""
    """The source of the price (see `PriceCandidate.source`), or `selector` if it comes from the table of
    selectors."""
    confidence: float = 0.0
    candidates: tuple[PriceCandidate, ...] = ()
    body_hash: str = ""
    detail: str = ""
    """For states other than `priced`: the failure or reason, for example `http-4xx 404`."""
    confirming: bool = False
    """True for a second visit, which confirms or rejects held values."""


class EventKind(StrEnum):
    """The kind of a change. One visit may cause changes of several kinds."""

    FIRST = "first"
    PRICE = "price"
    REGULAR_PRICE = "regular-price"
    CURRENCY = "currency"
    """The currency changed. Amounts in different currencies are never compared."""
    AVAILABILITY = "availability"
    SELLER = "seller"
    VARIANT_GONE = "variant-gone"
    VARIANT_BACK = "variant-back"
    GONE = "gone"
    MOVED = "moved"
    BACK = "back"
    """A page that was gone is available again."""
    SHOP_REDESIGNED = "shop-redesigned"
    """Most pages of a shop lost their price in the same run. No other events are reported for these pages."""
    SHOP_AWAY = "shop-away"
    """Most pages of a shop are blocked, empty or in maintenance."""
    SHOP_BACK = "shop-back"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A confirmed change."""

    kind: EventKind
    time: float
    target: str = ""
    """The target's key. Empty for an event of a whole shop."""
    variant: str = ""
    shop: str = ""
    before: str | None = None
    after: str | None = None
    """`before` and `after` are the values before and after the change, as text. Amounts are given without the
    currency, which is in `currency`."""
    currency: str | None = None
    detail: str = ""
    """For an event of a shop, a description of the cause."""

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
    """The user's key of the target, which is unique in a target list. The default key consists of the URL and
    the variant."""
    url: str
    shop: str = ""
    """The name of the shop. The default name is the registered domain of the target's URL."""
    product: str = ""
    """The user's own id of the product. Targets with the same product id are offers of the same product."""
    variant: str = ""
    """The SKU, the GTIN or the option values of the watched variant. Without a variant, the main offer of the
    page is watched."""
    name: str = ""
    tags: tuple[str, ...] = ()
    currency: str = ""
    """The expected currency as an ISO 4217 code, or '' if the target may have any currency."""
    minimum: Decimal | None = None
    """The minimum price at which the shop may advertise the product."""
    rules: tuple[str, ...] = ()
    """Alert rules that apply only to this target, as the user wrote them (`below 99.90`)."""


class OfferState(StrEnum):
    """The result of visiting a target."""

    PRICED = "priced"
    NO_PRICE = "no-price"
    """A product page without a price, for example because it is sold out."""
    UNDECIDED = "undecided"
    """The page has several prices and does not show which price applies. The prices of an undecided page are
    stored as candidates."""
    EMPTY = "empty"
    """A page without a product, for example a maintenance page."""
    GONE = "gone"
    MOVED = "moved"
    BLOCKED = "blocked"
    FAILED = "failed"


class ListedOffer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The price of a product in a card on another page of its shop. `url`: the URL of the product."""

    url: str
    price: Decimal
    currency: str | None = None


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The data that one visit found for one target, or for one variant of its page."""

    target: str
    """The target's key."""
    variant: str = ""
    """The variant's SKU, GTIN or MPN if the page contains one of them, otherwise the variant's option values.
    For the main offer, `variant` is ''."""
    time: float
    state: OfferState
    url: str = ""
    """The URL that was read. If the state is `moved`, the URL is the new address of the page."""
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
    """The source of the price (see `PriceCandidate.source`), or `selector` if a line of the selector table
    found the price."""
    place: str = ""
    """Where on the page the price comes from: a path in structured data or in a script, or a class, id or tag."""
    second_source: str = ""
    """Another source that states the same price, independently of `source`, or ''."""
    confidence: float = 0.0
    candidates: tuple[PriceCandidate, ...] = ()
    body_hash: str = ""
    detail: str = ""
    """If the state is not `priced`, this text describes the failure or the reason, for example `http-4xx
    404`."""
    confirming: bool = False
    """Whether the visit is a second visit, which confirms or rejects held values."""
    listed: tuple[ListedOffer, ...] = ()
    """The prices that the page states for other products of the shop."""


class EventKind(StrEnum):
    """The kind of a change. One visit may cause changes of several kinds."""

    FIRST = "first"
    PRICE = "price"
    REGULAR_PRICE = "regular-price"
    CURRENCY = "currency"
    """The currency of the price changed. Gossamer never compares amounts in different currencies."""
    AVAILABILITY = "availability"
    SELLER = "seller"
    VARIANT_GONE = "variant-gone"
    VARIANT_BACK = "variant-back"
    GONE = "gone"
    MOVED = "moved"
    BACK = "back"
    """A page is available again after having been gone or moved."""
    SHOP_REDESIGNED = "shop-redesigned"
    """Most pages of a shop lost their price in the same run. For the pages of a redesigned shop, gossamer
    reports no other events."""
    SHOP_AWAY = "shop-away"
    """Most pages of a shop are blocked, are empty or show a maintenance message."""
    SHOP_BACK = "shop-back"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A confirmed change."""

    kind: EventKind
    time: float
    target: str = ""
    """The key of the target, or '' if the event concerns a whole shop."""
    variant: str = ""
    shop: str = ""
    before: str | None = None
    after: str | None = None
    """`before` is the value before the change, and `after` is the value after the change, both as text.
    Amounts in `before` and `after` do not contain the currency, which is in the field `currency`."""
    currency: str | None = None
    detail: str = ""
    """A description of the cause if the event concerns a whole shop."""

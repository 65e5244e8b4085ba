"""Finds the changes of offers by comparing observations. The functions are pure: they use neither a clock nor
a database.

Six fields of each offer are compared: the price with its currency, the regular price, the availability, the
seller, the state of the page, and the state of the variant. If a visit shows a value that differs from the
known value, the new value is held. A held value becomes a change after enough visits have shown the value.
Two visits are usually enough, and more are necessary if the field alternated before. If a visit shows the
known value again, the held value is dropped. So a single visit never causes a change, and a failed visit
changes nothing.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, NamedTuple

import msgspec

from gossamer.uses.prices.model import Event, EventKind, Observation, OfferState
from gossamer.uses.prices.shop_health import DOUBTFUL_VISITS

UNAVAILABLE = frozenset(("OutOfStock", "SoldOut", "Discontinued"))
"""The availabilities of an offer that cannot be bought."""

AGREEING_VISITS = 2
"""The usual number of visits that must show a new value before the new value is reported as a change."""
YOUNG_DAYS = 5
"""The age in days below which the known values of an offer count as young. If the known values of an offer in
a doubtful shop are D days old, a change needs YOUNG_DAYS - D additional visits. If an offer alternates
between two values at random, visits on YOUNG_DAYS days usually show both values."""
ALTERNATING_VISITS = 20
"""The number of visits that must show an alternating value before the value is reported as a change. A new
value counts as alternating if an earlier visit showed the value, and another visit contradicted the value
less than MEMORY_S seconds ago."""
GONE_CHECKS = 3
"""A variant counts as gone after this number of consecutive visits of the page without the variant."""
DAY_S = 86_400.0
MEMORY_S = 7 * 86_400.0
"""The number of seconds for which an offer stores a value that a later visit contradicted."""
MAX_REMEMBERED = 20
SUSPECT_RATIO = 10
MAX_DIGITS = 15
"""Amounts are rounded to this many significant digits, which SQLite stores exactly."""
_WORDS = re.compile(r"[^\W_]+")
_STORED_DIGITS = Context(prec=MAX_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
PLACEHOLDERS = frozenset(
    Decimal(text) for text in ("9999", "99999", "999999", "9999999", "9999.99", "99999.99", "999999.99")
)
"""Amounts that shops show for products without a price."""
REDESIGNED = "redesigned"
"""The reason of a value that a redesigned shop shows. The value is held until another source of the page states it, or
a person accepts the values of the shop."""
NAME_DAYS = 3
"""A price that changed together with the product's name is held until visits have shown it for this many days: the
page may be about another product now."""
SUSPECT = ("zero", "placeholder", "currency", "ten-times", "baseline", "name", REDESIGNED)
"""The reasons why a price counts as suspect. The reason `baseline` means that the price differs by a factor
of ten or more from the only earlier price. If later visits confirm a `baseline` price, the earlier price was
wrong, and the confirmed price replaces the earlier price without an event."""
FOUND = (OfferState.PRICED, OfferState.NO_PRICE)


class HeldChange(msgspec.Struct, omit_defaults=True):
    """A value that differs from the known value, and the number of visits that have shown the new value."""

    value: str
    reason: str
    since: float
    last: float
    seen: int = 1
    needed: int = AGREEING_VISITS
    rival: str = ""
    """If the last visit contradicted the held value with a value that may be an error, this field contains
    the contradicting value. The contradicting value is ignored unless the next visit shows it again."""
    found: dict[str, Any] = {}
    """Values of other columns of the offer, which are stored together with the held value when the held value
    is confirmed. Each value in `found` is a text or a number."""


class Offer(msgspec.Struct, kw_only=True):
    """A target or one of its variants, with its confirmed values. Corresponds to a row of `price_offers`."""

    id: int = 0
    target: str
    variant: str = ""
    shop: str = ""
    url: str = ""
    state: str = OfferState.PRICED
    """The state of the page. Blocked, empty and failed visits do not change the state of the page."""
    price: Decimal | None = None
    regular_price: Decimal | None = None
    currency: str | None = None
    unit_price: Decimal | None = None
    unit: str | None = None
    availability: str | None = None
    seller: str | None = None
    shipping: Decimal | None = None
    tax_included: bool | None = None
    source: str | None = None
    place: str | None = None
    """Where on the page the price comes from (`Observation.place`)."""
    confidence: float | None = None
    body_hash: str | None = None
    name: str | None = None
    sku: str | None = None
    gtin: str | None = None
    mpn: str | None = None
    brand: str | None = None
    candidates: str | None = None
    """The candidates for the price as JSON if the state of the offer is `undecided`, otherwise None."""
    first_seen: float = 0.0
    last_seen: float = 0.0
    """The time of the last visit that found the offer."""
    last_checked: float = 0.0
    """The time of the last visit of the offer's page, whether or not the visit succeeded."""
    since: float = 0.0
    """The time at which the newest of the confirmed values was first seen, or 0 if no value is confirmed
    yet."""
    missed: int = 0
    gone: bool = False
    """Whether the variant has disappeared from its page."""
    median: Decimal | None = None
    """The median of the confirmed prices in the offer's current currency."""
    held: dict[str, HeldChange] = {}
    memory: dict[str, dict[str, float]] = {}
    """Maps each field to a dict of contradicted values. The dict maps each value to the time of the visit
    that contradicted the value."""


class Compared(NamedTuple):
    """The result of comparing one visit with an offer."""

    agreed: tuple[str, ...] = ()
    """The fields whose held value this visit showed for the second time. The list contains only fields whose
    held value has the reason `changed`."""
    contradicted: tuple[str, ...] = ()
    """The fields with a held value for which this visit showed the known value again. The list contains
    neither fields with suspect prices nor the fields `page` and `variant`."""
    new_amount: str = ""
    """The price that this visit showed for the first time, or '' if the visit showed no new price. A price
    that a visit shows for the first time is held until other visits confirm the price."""


def amount_text(amount: Decimal | None) -> str | None:
    """Returns an amount as text, without an exponent. If the amount has decimals, the text has at least two
    decimals.

    >>> amount_text(Decimal("99.9")), amount_text(Decimal("1E+3")), amount_text(Decimal("0.125"))
    ('99.90', '1000', '0.125')
    """
    if amount is None:
        return None
    whole, dot, rest = f"{amount.normalize():f}".partition(".")
    return f"{whole}.{rest:0<2}" if dot else whole


def rounded(amount: Decimal | None) -> Decimal | None:
    """Returns an amount with at most MAX_DIGITS significant digits. Returns None for NaN and infinity."""
    if amount is None or not amount.is_finite():
        return None
    return _STORED_DIGITS.plus(amount)


def seen_fields(offer: Offer, seen: Observation) -> dict[str, str]:
    """Returns the compared fields of an observation, with their values as text. Fields that the observation
    does not show are left out."""
    fields: dict[str, str] = {}
    if seen.state in (OfferState.GONE, OfferState.MOVED):
        fields["page"] = f"{seen.state} {seen.url if seen.state == OfferState.MOVED else ''}".strip()
    elif seen.state in FOUND:
        fields["page"] = ""
    if seen.state not in (*FOUND, OfferState.MOVED):
        return fields
    price = rounded(seen.price)
    if price is not None:
        fields["price"] = f"{_currency(offer, seen)} {amount_text(price)}"
        fields["regular_price"] = amount_text(rounded(seen.regular_price)) or ""
    if seen.availability:
        fields["availability"] = seen.availability
    if seen.seller:
        fields["seller"] = seen.seller
    fields["variant"] = ""
    return fields


def _currency(offer: Offer, seen: Observation) -> str:
    """Returns the currency to use for an observation when the observation is compared with the offer. If the
    offer or the observation has no currency, the currency counts as unchanged."""
    if offer.price is not None and not offer.currency:
        return ""
    return seen.currency or offer.currency or ""


def known_field(offer: Offer, field: str) -> str | None:
    """Returns the known value of a field as text. Returns None if no visit has shown the field."""
    if field == "price":
        return None if offer.price is None else f"{offer.currency or ''} {amount_text(offer.price)}"
    if field == "regular_price":
        return amount_text(offer.regular_price) or ""
    if field == "page":
        if offer.state == OfferState.MOVED:
            return f"moved {offer.url}"
        return "gone" if offer.state == OfferState.GONE else ""
    if field == "variant":
        return "gone" if offer.gone else ""
    found: str | None = getattr(offer, field)
    return found


def suspicion(offer: Offer, seen: Observation, expected: str = "") -> str:
    """Returns the reason why a price is suspect (`zero`, `placeholder`, `currency`, `name` or
    `ten-times`), or "".

    `expected`: the currency that the target must have.
    """
    price = seen.price
    if price is None:
        return ""
    if price <= 0:
        return "zero"
    if price in PLACEHOLDERS and price != offer.price:
        return "placeholder"
    wanted = expected or offer.currency
    if wanted and seen.currency and seen.currency != wanted:
        return "currency"
    if price != offer.price and not seen.second_source and _is_renamed(offer, seen):
        return "name"
    for usual in (offer.price, offer.median):
        if usual and not (usual / SUSPECT_RATIO < price < usual * SUSPECT_RATIO):
            return "ten-times"
    return ""


def _is_renamed(offer: Offer, seen: Observation) -> bool:
    """Whether a page shows another product than before: another name, and not the same number."""
    if (
        not offer.name
        or not seen.name
        or any(
            (known := getattr(offer, field)) and known == getattr(seen, field)
            for field in ("gtin", "sku", "mpn")
        )
    ):
        return False
    before, now = (set(_WORDS.findall(name.lower())) for name in (offer.name, seen.name))
    return 2 * len(before & now) < min(len(before), len(now)) + 1 and before != now


def compare(offer: Offer, seen: Observation, expected: str = "") -> Compared:
    """Compares an observation with an offer, and updates `held` and `memory` of the offer. The known values
    of the offer stay the same. `expected`: the currency that the target must have."""
    agreed: list[str] = []
    contradicted: list[str] = []
    new_amount = ""
    for field, value in seen_fields(offer, seen).items():
        held, known = offer.held.get(field), known_field(offer, field)
        if value == known:
            if held and held.reason == "baseline" and held.seen > AGREEING_VISITS and held.rival != value:
                held.rival = value  # visits have shown the held price more often than the known price
                continue
            if held and _contradict(offer, field, seen.time):
                contradicted.append(field)
            continue
        if _adopted(offer, field, value, known, seen):
            continue
        if held and held.value == value:
            if held.reason == REDESIGNED and seen.second_source:
                held.reason = "changed"
            if held.seen == 1 and held.reason == "changed":
                agreed.append(field)
            held.seen, held.last, held.rival = held.seen + 1, seen.time, ""
            continue
        new = _hold(offer, field, value, seen, expected)
        if held and field == "price" and _may_be_glitch(held, new):
            held.rival = value
            continue
        if held and held.reason == "baseline" and new.reason in SUSPECT:
            new.reason = "baseline"  # the first price remains in doubt, even after a glitch
        offer.held[field] = new
        if field == "price":
            new_amount = value
    return Compared(tuple(agreed), tuple(contradicted), new_amount)


def _may_be_glitch(held: HeldChange, new: HeldChange) -> bool:
    """Whether a new price is ignored because the new price may be an error. A new price may be an error if
    the new price is suspect, or differs from the held price by a factor of ten or more. If the next visit
    shows the new price again, the new price replaces the held price."""
    if new.value == held.rival:
        return False
    (_, _, one), (_, _, other) = held.value.rpartition(" "), new.value.rpartition(" ")
    was, now = Decimal(one), Decimal(other)
    return new.reason in SUSPECT or not (was / SUSPECT_RATIO < now < was * SUSPECT_RATIO)


def _adopted(offer: Offer, field: str, value: str, known: str | None, seen: Observation) -> bool:
    """Adopts a new value of a field at once if the value does not count as a change. Returns whether the
    value was adopted. The first seller of an offer does not count as a change, nor does the first
    availability, unless the offer can no longer be bought. A regular price does not count while no price is
    known. If a target has moved and the visit read its new address, the state of the page does not count."""
    if known is None and (field == "seller" or (field == "availability" and value not in UNAVAILABLE)):
        setattr(offer, field, value)
    elif field == "regular_price" and offer.price is None:
        offer.regular_price = Decimal(value) if value else None
    elif field == "page" and not value and offer.state == OfferState.MOVED and seen.url == offer.url:
        offer.state = str(seen.state)
    else:
        return False
    return True


def _contradict(offer: Offer, field: str, time: float) -> bool:
    """Drops a held value. Returns whether the visit counts as a contradiction of the held value. Only
    contradicted values are remembered."""
    held = offer.held.pop(field)
    if field in ("page", "variant") or held.reason in SUSPECT:
        return False
    remembered = {value: at for value, at in offer.memory.get(field, {}).items() if time - at < MEMORY_S}
    remembered[held.value] = time
    newest = sorted(remembered.items(), key=lambda one: one[1])[-MAX_REMEMBERED:]
    offer.memory[field] = dict(newest)
    return True


def _hold(offer: Offer, field: str, value: str, seen: Observation, expected: str) -> HeldChange:
    reason, needed = "changed", AGREEING_VISITS
    if field == "price":
        reason = suspicion(offer, seen, expected) or reason
    if field == "variant":
        reason = "back"
    if field == "page":
        reason = seen.state if seen.state in (OfferState.GONE, OfferState.MOVED) else "back"
    at = offer.memory.get(field, {}).get(value)
    if at is not None and seen.time - at < MEMORY_S:
        reason, needed = "alternates" if reason == "changed" else reason, ALTERNATING_VISITS
    found: dict[str, Any] = {}
    if field == "price":
        if reason == "ten-times" and offer.first_seen == offer.last_seen:
            reason = "baseline"
        found = {
            "source": seen.source,
            "place": seen.place,
            "confidence": seen.confidence,
            "body_hash": seen.body_hash,
        }
    return HeldChange(value, str(reason), seen.time, seen.time, needed=needed, found=found)


def miss(offer: Offer, seen: Observation) -> None:
    """Records that a visit of the page did not show this variant."""
    offer.missed += 1
    if offer.gone:
        offer.held.pop("variant", None)
    elif held := offer.held.get("variant"):
        held.seen, held.last = held.seen + 1, seen.time
    else:
        offer.held["variant"] = HeldChange("gone", "missing", seen.time, seen.time, needed=GONE_CHECKS)


def visits_needed(offer: Offer, field: str, doubtful_visits: int = 0) -> int:
    """Returns the number of visits that must show a held value before the value becomes a change.
    `doubtful_visits`: a lower limit of the result, which applies to all offers of the shop, or 0 for a
    trusted shop (`shop_health.doubtful_visits`)."""
    held = offer.held[field]
    young = 0
    if doubtful_visits == DOUBTFUL_VISITS:
        young = max(0, YOUNG_DAYS - int((held.since - offer.since) // DAY_S))
    return max(held.needed, doubtful_visits + young)


def is_ready(offer: Offer, field: str, doubtful_visits: int = 0) -> bool:
    """Whether enough visits have shown a held value. `doubtful_visits`: see `visits_needed`."""
    held = offer.held[field]
    if waits(held):
        return False
    return held.seen >= visits_needed(offer, field, doubtful_visits)


def waits(held: HeldChange) -> bool:
    """Whether a held value waits for something else than further visits in this run: for a person, or for days."""
    return held.reason == REDESIGNED or (held.reason == "name" and held.last - held.since < NAME_DAYS * DAY_S)


def first_sight(offer: Offer, seen: Observation, expected: str = "") -> Event | None:
    """Stores the values of the first visit that found an offer, and returns an event. If the price is
    suspect, the price is held, and no event is reported until a second visit has shown the price."""
    offer.first_seen = seen.time
    offer.state = str(seen.state)
    offer.availability, offer.seller, offer.currency = seen.availability, seen.seller, seen.currency
    if suspicion(offer, seen, expected):
        offer.currency = None
        offer.held["price"] = _hold(
            offer, "price", f"{seen.currency or ''} {amount_text(seen.price)}", seen, expected
        )
        take_details(offer, seen)
        return None
    offer.price, offer.regular_price = rounded(seen.price), rounded(seen.regular_price)
    offer.median, offer.since = offer.price, seen.time
    take_details(offer, seen)
    return _event(offer, EventKind.FIRST, seen.time, None, amount_text(offer.price))


def take_details(offer: Offer, seen: Observation) -> None:
    """Stores the values for which no changes are reported: identifiers, unit price, shipping, tax, and the
    source of the price."""
    offer.shipping, offer.tax_included = rounded(seen.shipping), seen.tax_included
    if seen.price is not None and rounded(seen.price) == offer.price:
        offer.unit_price, offer.unit = rounded(seen.unit_price), seen.unit
        offer.source, offer.place = seen.source, seen.place
        offer.confidence, offer.body_hash = seen.confidence, seen.body_hash
        offer.currency = offer.currency or seen.currency
    doubted = offer.held.get("price")
    for name in ("name", "sku", "gtin", "mpn", "brand") if not doubted or not waits(doubted) else ():
        if value := getattr(seen, name):
            setattr(offer, name, value)


def release(offer: Offer, fields: Sequence[str]) -> list[Event]:
    """Turns held values of an offer into its known values. Returns one event for each value, except for a
    `baseline` price."""
    events: list[Event] = []
    for field in fields:
        held = offer.held.pop(field)
        events += _RELEASES[field](offer, held)
        offer.since = max(offer.since, held.since)
        offer.memory.pop(field, None)
    return events


def _release_price(offer: Offer, held: HeldChange) -> list[Event]:
    currency, _, amount = held.value.rpartition(" ")
    before, was, first = offer.price, offer.currency, not offer.since
    offer.price, offer.currency = Decimal(amount), currency or None
    offer.unit_price = offer.unit = None
    for name, value in held.found.items():
        setattr(offer, name, value)
    if held.reason == "baseline":
        offer.median = offer.price
        return []
    if first:
        return [_event(offer, EventKind.FIRST, held.since, None, amount_text(offer.price))]
    if before is not None and was != offer.currency:
        offer.median = offer.price
        shown = [
            f"{amount_text(value)} {code or '?'}" for value, code in ((before, was), (offer.price, currency))
        ]
        return [_event(offer, EventKind.CURRENCY, held.since, shown[0], shown[1])]
    return [_event(offer, EventKind.PRICE, held.since, amount_text(before), amount_text(offer.price))]


def _release_regular_price(offer: Offer, held: HeldChange) -> list[Event]:
    before = offer.regular_price
    offer.regular_price = Decimal(held.value) if held.value else None
    return [_event(offer, EventKind.REGULAR_PRICE, held.since, amount_text(before), held.value or None)]


def _release_availability(offer: Offer, held: HeldChange) -> list[Event]:
    before, offer.availability = offer.availability, held.value
    return [_event(offer, EventKind.AVAILABILITY, held.since, before, held.value)]


def _release_seller(offer: Offer, held: HeldChange) -> list[Event]:
    before, offer.seller = offer.seller, held.value
    return [_event(offer, EventKind.SELLER, held.since, before, held.value)]


def _release_page(offer: Offer, held: HeldChange) -> list[Event]:
    before = offer.state
    state, _, address = held.value.partition(" ")
    if state == OfferState.MOVED:
        old, offer.url, offer.state = offer.url, address, state
        return [_event(offer, EventKind.MOVED, held.since, old, address)]
    offer.state = state or str(OfferState.PRICED if offer.price is not None else OfferState.NO_PRICE)
    if state:
        return [_event(offer, EventKind.GONE, held.since, before, state)]
    return [_event(offer, EventKind.BACK, held.since, before, offer.state)]


def _release_variant(offer: Offer, held: HeldChange) -> list[Event]:
    offer.gone = held.value == "gone"
    kind = EventKind.VARIANT_GONE if offer.gone else EventKind.VARIANT_BACK
    return [_event(offer, kind, held.since, offer.variant, offer.variant)]


_RELEASES = {
    "page": _release_page,
    "variant": _release_variant,
    "price": _release_price,
    "regular_price": _release_regular_price,
    "availability": _release_availability,
    "seller": _release_seller,
}
FIELDS = tuple(_RELEASES)
"""The fields of an offer, in the order in which held values become known values."""


def _event(offer: Offer, kind: EventKind, time: float, before: str | None, after: str | None) -> Event:
    return Event(
        kind=kind,
        time=time,
        target=offer.target,
        variant=offer.variant,
        shop=offer.shop,
        before=before,
        after=after,
        currency=offer.currency,
    )


def move(before: Decimal | None, after: Decimal | None) -> float | None:
    """Returns the size of a price change, which is abs(ln(after / before)). Returns None if there is no
    change, or if one of the prices is missing or zero.

    >>> round(move(Decimal(100), Decimal(50)), 3)
    0.693
    """
    if not before or not after or before <= 0 or after <= 0 or before == after:
        return None
    return abs(math.log(float(after / before)))


def median(prices: Sequence[Decimal]) -> Decimal | None:
    """Returns the median of prices, rounded to the precision of the database."""
    return rounded(statistics.median(prices)) if prices else None

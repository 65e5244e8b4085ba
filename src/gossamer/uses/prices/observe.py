"""Converts a visited page, or a failed visit, to observations of its targets. Does no I/O."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TypedDict
from urllib.parse import urlsplit

import msgspec

from gossamer.parsing.prices import price
from gossamer.uses.prices.model import Candidate, Observation, OfferState, PriceTarget
from gossamer.uses.prices.page_offers import (
    PageOffer,
    PageProduct,
    amount_of,
    availability_of,
    iso_of,
    read_product,
)

if TYPE_CHECKING:
    from gossamer import PageView

MAX_CANDIDATES = 20
CONFIDENCE = {
    "selector": 1.0,
    "json-ld": 0.95,
    "microdata": 0.9,
    "rdfa": 0.9,
    "embedded": 0.8,
    "meta": 0.8,
    "class": 0.6,
    "text": 0.4,
}
"""The confidence in a price by its source. A price that other sources confirm gets half of the rest."""
_UNSOLD = ("OutOfStock", "SoldOut", "Discontinued")
_STRUCK = (
    "del, s, strike, .old-price, .was-price, .regular-price, .price-old, .list-price, .price--was, "
    "[data-regular-price]"
)
_LOCALE = re.compile(r"^/[a-z]{2}(?:[-_][a-z]{2})?(?=/)")
_MAIN_FIELDS = ("name", "price", "currency", "sku", "gtin", "brand", "availability")
_META_PRICES = (
    "meta[property='product:price:amount'], meta[property='og:price:amount'], meta[itemprop='price']"
)


class MainFields(TypedDict):
    """The fields of the generic extractor's record that an observation uses."""

    name: str | None
    price: Decimal | None
    currency: str | None
    sku: str | None
    gtin: str | None
    brand: str | None
    availability: str | None


class Selectors(Protocol):
    """The selectors for a page."""

    def values(self, page: PageView) -> dict[str, tuple[str, str]]:
        """Returns the fields that the selectors find on a page: (text, selector) by field."""


class PageReading(msgspec.Struct, omit_defaults=True):
    """What a page says about its product, before it is compared with a target."""

    product: PageProduct
    main: MainFields
    chosen: dict[str, tuple[str, str]]
    """The fields of the table of selectors: (text, selector)."""
    candidates: list[Candidate]
    regular: Decimal | None = None


class SeenPage(msgspec.Struct, omit_defaults=True):
    """What one visit of a page saw, before it is compared with the targets of the page. It travels from the
    process that reads the page to the history."""

    time: float
    url: str
    """The URL that was read, after redirects."""
    confirming: bool = False
    body_hash: str = ""
    state: OfferState | None = None
    """The state of all targets of the page. None: `reading` decides for each target."""
    detail: str = ""
    reading: PageReading | None = None


def read_page(page: PageView, selectors: Selectors) -> PageReading:
    """Reads a page with the table of selectors, its structured data and the generic extractor."""
    product, found, chosen = read_product(page), page.product, selectors.values(page)
    main: MainFields = {name: found[name] for name in _MAIN_FIELDS}  # type: ignore[assignment]
    candidates = _candidates(page, product, main, chosen)
    reading = PageReading(product, main, chosen, candidates)
    reading.regular = _regular(page, reading)
    return reading


def _candidates(
    page: PageView, product: PageProduct, main: MainFields, chosen: dict[str, tuple[str, str]]
) -> list[Candidate]:
    """Returns the different prices that a page shows for its main offer, the most trusted first."""
    found: list[Candidate] = []
    if "price" in chosen:
        text, selector = chosen["price"]
        read = price(text, main["currency"])
        if read is not None and read.amount is not None:
            found.append(_candidate(read.amount, read.iso or main["currency"], text, "selector", selector))
    for offer in product.offers or product.variants:
        currency = offer.currency or main["currency"]
        found += [
            _candidate(amount, currency, offer.raw, offer.source, offer.place)
            for amount in (offer.amount, offer.high)
            if amount is not None
        ]
    for meta in page.css(_META_PRICES):
        text = meta.attrib.get("content", "")
        if (value := amount_of(text)) is not None:
            found.append(_candidate(value, main["currency"], text, "meta", "meta"))
    if main["price"] is not None:
        found.append(_candidate(main["price"], main["currency"], "", "class", ""))
    best: dict[tuple[Decimal, str | None], Candidate] = {}
    for one in found:
        known = best.get((one.amount, one.currency))
        if known is None:
            best[one.amount, one.currency] = one
        elif known.source != one.source:
            raised = known.confidence + (1 - known.confidence) / 2
            best[one.amount, one.currency] = msgspec.structs.replace(known, confidence=round(raised, 3))
    return sorted(best.values(), key=lambda one: -one.confidence)[:MAX_CANDIDATES]


def _candidate(amount: Decimal, currency: str | None, raw: str, source: str, place: str) -> Candidate:
    return Candidate(amount, currency, raw[:200], source, place, CONFIDENCE[source])


def _regular(page: PageView, reading: PageReading) -> Decimal | None:
    """Returns the price before a discount: from the table, structured data, or a struck price that is higher
    than the price and stands in the element that shows the price."""
    if "regular_price" in reading.chosen:
        return amount_of(reading.chosen["regular_price"][0])
    for offer in reading.product.offers:
        if offer.regular is not None:
            return offer.regular
    now = reading.main["price"]
    if now is None:
        return None
    for block in page.css("[class*=price], [id*=price], [class*=Price]")[:20]:
        shown = block.price(_STRUCK)
        if shown is not None and now < shown < 20 * now and str(now).split(".")[0] in _digits(block):
            return shown
    return None


def _digits(block: Any) -> str:
    text = block.xpath("string(.)").get() or ""
    return "".join(one for one in text if one.isdigit())


def see_page(page: PageView, requested: str, selectors: Selectors, *, confirming: bool = False) -> SeenPage:
    """Returns what a page that arrived shows. `requested`: the URL of its targets, before redirects."""
    body = hashlib.blake2b(page.body, digest_size=8).hexdigest()
    seen = SeenPage(page.page.fetched_at, page.url, confirming, body)
    reading = read_page(page, selectors)
    has_product = reading.main["price"] is not None or bool(
        reading.product.name or reading.product.offers or reading.product.variants or reading.chosen
    )
    for_now = page.request.is_redirected_for_now
    if other_page(requested, page.url) and not (for_now and has_product and same_path(requested, page.url)):
        seen.state, seen.detail = _redirected(requested, page.url, has_product, for_now)
    elif not has_product and reading.main["availability"] is None:
        seen.state = OfferState.EMPTY
        seen.detail = f"HTTP {page.status}, without a product: {(page.title or 'no title')[:100]}"
    else:
        seen.reading = reading
    return seen


def _redirected(requested: str, found: str, has_product: bool, for_now: bool) -> tuple[OfferState, str]:
    """Returns the state of a page that redirects to another page, with the detail."""
    detail = f"{requested} redirects to {found}"
    if not has_product:
        return OfferState.GONE, f"{detail}, which is not a product page"
    if for_now:
        return OfferState.FAILED, f"{detail} for now (a temporary redirect): nothing is read there"
    return OfferState.MOVED, detail


def observations_of(seen: SeenPage, targets: Sequence[PriceTarget]) -> list[Observation]:
    """Returns the observations of the targets of a page."""
    shared: dict[str, Any] = {
        "time": seen.time,
        "confirming": seen.confirming,
        "body_hash": seen.body_hash,
        "url": seen.url,
    }
    if seen.reading is None:
        state = seen.state or OfferState.FAILED
        return [Observation(target=one.key, state=state, detail=seen.detail, **shared) for one in targets]
    found: list[Observation] = []
    for target in targets:
        found += _observations(target, seen.reading, shared)
    return found


def other_page(requested: str, found: str) -> bool:
    """Returns whether a redirect led to another page. Another scheme, `www.`, capitals, a final slash, and the
    query are not another page."""
    one, other = urlsplit(requested), urlsplit(found)
    return (
        one.netloc.removeprefix("www.").lower() != other.netloc.removeprefix("www.").lower()
        or one.path.rstrip("/").lower() != other.path.rstrip("/").lower()
    )


def same_path(requested: str, found: str) -> bool:
    """Returns whether two URLs have the same path except for a language or country in front, so that a temporary
    redirect between them leads to the same product.

    >>> same_path("https://shop.example/p/1", "https://www.shop.example/en-gb/p/1/")
    True
    """
    one, other = (_LOCALE.sub("", urlsplit(url).path.rstrip("/").lower()) for url in (requested, found))
    return one == other


def _observations(target: PriceTarget, reading: PageReading, shared: dict[str, Any]) -> list[Observation]:
    if target.variant:
        offer = find_variant(reading.product.variants, target.variant)
        if offer is None:
            detail = f"the page has no variant {target.variant}"
            return [Observation(target=target.key, state=OfferState.NO_PRICE, detail=detail, **shared)]
        one = _of_variant(target, offer, reading, shared)
        return [msgspec.structs.replace(one, variant="")]
    found = [_of_main(target, reading, shared)]
    keys = {found[0].variant}
    for offer in reading.product.variants:
        if (key := offer.key()) and key not in keys:
            keys.add(key)
            found.append(_of_variant(target, offer, reading, shared))
    return found


def find_variant(variants: Iterable[PageOffer], wanted: str) -> PageOffer | None:
    """Returns the variant with an SKU, GTIN, MPN, name, or option values."""
    plain = wanted.casefold().strip()
    parts = {part.strip() for part in plain.replace(",", "/").split("/")}
    for one in variants:
        names = (one.sku, one.gtin, one.mpn, one.name, one.key())
        if plain in [name.casefold() for name in names if name]:
            return one
        if parts <= {option.casefold() for option in one.options}:
            return one
    return None


def _of_main(target: PriceTarget, reading: PageReading, shared: dict[str, Any]) -> Observation:
    main, product, chosen = reading.main, reading.product, reading.chosen
    best = _decided(target, reading)
    offer = next((one for one in product.offers if best is not None and one.amount == best.amount), None)
    offer = offer or (product.offers[0] if product.offers else PageOffer(""))
    currency = iso_of(chosen["currency"][0]) if "currency" in chosen else None
    currency = currency or (best.currency if best else None) or offer.currency or main["currency"]
    availability = availability_of(chosen["availability"][0]) if "availability" in chosen else None
    availability = availability or main["availability"] or offer.availability
    state, detail = OfferState.PRICED, ""
    if best is None:
        state = OfferState.UNDECIDED if reading.candidates else OfferState.NO_PRICE
        detail = _why_undecided(reading.candidates) if reading.candidates else "the page shows no price"
    regular = reading.regular if best and reading.regular and reading.regular > best.amount else None
    return Observation(
        target=target.key,
        state=state,
        price=best.amount if best else None,
        regular_price=regular,
        currency=currency,
        currency_raw=None,
        availability=availability,
        seller=chosen["seller"][0] if "seller" in chosen else offer.seller,
        shipping=amount_of(chosen["shipping"][0]) if "shipping" in chosen else offer.shipping,
        tax_included=offer.tax_included,
        name=_field(reading, "name"),
        sku=_field(reading, "sku"),
        gtin=_field(reading, "gtin"),
        mpn=chosen["mpn"][0] if "mpn" in chosen else product.mpn,
        brand=_field(reading, "brand"),
        source=best.source if best else "",
        confidence=best.confidence if best else 0.0,
        candidates=tuple(reading.candidates) if len(reading.candidates) > 1 or best is None else (),
        detail=detail,
        **shared,
    )


def _why_undecided(candidates: Sequence[Candidate]) -> str:
    shown = ", ".join(f"{one.amount} {one.currency or ''}".strip() for one in candidates[:5])
    return f"the page shows several prices, and nothing says which one is meant: {shown}"


def _field(reading: PageReading, name: str) -> str | None:
    if name in reading.chosen:
        return reading.chosen[name][0]
    value: str | None = reading.main[name]  # type: ignore[literal-required]
    own: str | None = getattr(reading.product, name)
    return own if value is None else value


def _decided(target: PriceTarget, reading: PageReading) -> Candidate | None:
    """Returns the price of the main offer, or None if there is none or if nothing decides between several.

    The table of selectors decides. Otherwise the generic extractor's price counts, except if the page only
    states a range of prices, or if several main offers have different prices and no seller or SKU tells them
    apart."""
    if (first := next(iter(reading.candidates), None)) is not None and first.source == "selector":
        return first
    amount = reading.main["price"]
    offers = [one for one in reading.product.offers if one.amount is not None]
    if target.currency:
        same = [one for one in offers if one.currency == target.currency]
        if same and len(same) < len(offers):
            offers, amount = same, same[0].amount
    if amount is None:
        return None
    ranges = [one for one in offers if one.high is not None and one.high != one.amount]
    if ranges and len(ranges) == len(offers) and not reading.product.variants:
        return None
    for source in ("json-ld", "microdata"):
        own = [one for one in offers if one.source == source and one.availability not in _UNSOLD]
        told = {(one.seller, one.sku, one.tax_included) for one in own}
        if len({one.amount for one in own}) > len(told):
            return None
    return next((one for one in reading.candidates if one.amount == amount), None)


def _of_variant(
    target: PriceTarget, offer: PageOffer, reading: PageReading, shared: dict[str, Any]
) -> Observation:
    currency = offer.currency or reading.main["currency"]
    return Observation(
        target=target.key,
        variant=offer.key(),
        state=OfferState.NO_PRICE if offer.amount is None else OfferState.PRICED,
        price=offer.amount,
        regular_price=offer.regular,
        currency=currency,
        availability=offer.availability,
        seller=offer.seller,
        shipping=offer.shipping,
        tax_included=offer.tax_included,
        name=offer.name or reading.main["name"],
        sku=offer.sku,
        gtin=offer.gtin,
        mpn=offer.mpn,
        brand=_field(reading, "brand"),
        source=offer.source if offer.amount is not None else "",
        confidence=CONFIDENCE.get(offer.source, 0.0) if offer.amount is not None else 0.0,
        **shared,
    )


def see_failure(failure: Any, *, confirming: bool = False) -> SeenPage:
    """Returns what is known of a URL that failed for good. `failure`: the argument of `@site.failed`."""
    status, reason = failure.status, failure.reason
    if status in (404, 410):
        state = OfferState.GONE
    elif reason == "blocked":
        state = OfferState.BLOCKED
    else:
        state = OfferState.FAILED
    said = [reason, str(status) if status is not None and str(status) not in failure.detail else ""]
    said.append("" if failure.detail == reason else failure.detail)
    detail = " ".join(filter(None, said))[:300]
    at = failure.page.page.fetched_at if failure.page is not None else time.time()
    return SeenPage(at, failure.url, confirming, state=state, detail=detail)

"""Converts a visited page, or a failed visit, to observations of its targets. Does no I/O."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from gossamer.parsing.prices import price
from gossamer.parsing.products import (
    CONFIDENCE,
    PageOffer,
    PriceCandidate,
    PriceDecision,
    PriceRole,
    ProductPage,
    amount_of,
    availability_of,
    iso_of,
)
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget
from gossamer.uses.prices.selector_table import SelectorTable

if TYPE_CHECKING:
    from gossamer import PageView

MAX_CANDIDATES = 20
_PAID = (PriceRole.PRICE, PriceRole.RANGE_END)


class PageReading(msgspec.Struct):
    """What a page says about its product, before it is compared with a target."""

    product: ProductPage
    chosen: dict[str, tuple[str, str]]
    """The fields of the table of selectors: (text, selector)."""
    candidates: list[PriceCandidate]
    """The prices that the buyer may pay, the most trusted first."""

    @property
    def main(self) -> dict[str, Any]:
        """The generic extractor's record: `name price currency sku gtin brand availability`."""
        return self.product.record


def read_page(page: PageView, selectors: SelectorTable) -> PageReading:
    """Reads a page with the table of selectors and with the generic extractor."""
    product, chosen = page.product_page, selectors.values(page)
    prices = [one for one in product.candidates if one.role in _PAID]
    if (own := _chosen_price(chosen, product.record["currency"])) is not None:
        prices = [own, *(one for one in prices if (one.amount, one.currency) != (own.amount, own.currency))]
    return PageReading(product, chosen, prices[:MAX_CANDIDATES])


def _chosen_price(chosen: dict[str, tuple[str, str]], currency: str | None) -> PriceCandidate | None:
    """Returns the price of the table of selectors, or None."""
    text, selector = chosen.get("price", ("", ""))
    read = price(text, currency) if text else None
    if read is None or read.amount is None:
        return None
    return PriceCandidate(read.amount, read.iso or currency, text[:200], "selector", selector, 1.0)


def _regular(reading: PageReading) -> Decimal | None:
    """Returns the price before a discount, of the table of selectors or of the page."""
    if "regular_price" in reading.chosen:
        return amount_of(reading.chosen["regular_price"][0])
    return reading.product.list_price


def observe_page(
    page: PageView,
    targets: Sequence[PriceTarget],
    requested: str,
    selectors: SelectorTable,
    *,
    confirming: bool = False,
) -> list[Observation]:
    """Returns the observations of a page that arrived. `requested`: the URL of its targets, before
    redirects."""
    now, body = page.page.fetched_at, hashlib.blake2b(page.body, digest_size=8).hexdigest()
    reading = read_page(page, selectors)
    shared: dict[str, Any] = {"time": now, "confirming": confirming, "body_hash": body, "url": page.url}
    has_product = reading.main["price"] is not None or bool(
        reading.product.name or reading.product.offers or reading.product.variants or reading.chosen
    )
    if other_page(requested, page.url):
        state = OfferState.MOVED if has_product else OfferState.GONE
        detail = f"{requested} redirects to {page.url}"
        if state == OfferState.GONE:
            detail += ", which is not a product page"
        return [Observation(target=one.key, state=state, detail=detail, **shared) for one in targets]
    if not has_product and reading.main["availability"] is None:
        detail = f"HTTP {page.status}, without a product: {(page.title or 'no title')[:100]}"
        return [
            Observation(target=one.key, state=OfferState.EMPTY, detail=detail, **shared) for one in targets
        ]
    found: list[Observation] = []
    for target in targets:
        found += _observations(target, reading, shared)
    return found


def other_page(requested: str, found: str) -> bool:
    """Returns whether a redirect led to another page. Another scheme, `www.`, capitals, a final slash, and the
    query are not another page."""
    one, other = urlsplit(requested), urlsplit(found)
    return (
        one.netloc.removeprefix("www.").lower() != other.netloc.removeprefix("www.").lower()
        or one.path.rstrip("/").lower() != other.path.rstrip("/").lower()
    )


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
    decision = _decided(target, reading)
    best = decision.price
    offer = next((one for one in product.offers if best is not None and one.amount == best.amount), None)
    offer = offer or (product.offers[0] if product.offers else PageOffer(""))
    currency = iso_of(chosen["currency"][0]) if "currency" in chosen else None
    currency = currency or (best.currency if best else None) or offer.currency or main["currency"]
    availability = availability_of(chosen["availability"][0]) if "availability" in chosen else None
    availability = availability or main["availability"] or offer.availability
    state, detail = OfferState.PRICED, ""
    if best is None:
        state = OfferState.UNDECIDED if decision.is_undecided else OfferState.NO_PRICE
        detail = decision.reason
    former = _regular(reading) if best else None
    regular = former if best and former and former > best.amount else None
    unit = product.unit_price if best and best.amount == main["price"] else None
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
        unit_price=unit.amount if unit else None,
        unit=unit.unit if unit else None,
        tax_included=product.tax_included if offer.tax_included is None else offer.tax_included,
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


def _field(reading: PageReading, name: str) -> str | None:
    if name in reading.chosen:
        return reading.chosen[name][0]
    value: str | None = reading.main[name]
    return value


def _decided(target: PriceTarget, reading: PageReading) -> PriceDecision:
    """Returns the price of the main offer, or why there is none. The table of selectors decides, otherwise the
    generic extractor."""
    if (first := next(iter(reading.candidates), None)) is not None and first.source == "selector":
        return PriceDecision(first)
    return reading.product.decide(target.currency)


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
        unit_price=offer.unit_price.amount if offer.unit_price else None,
        unit=offer.unit_price.unit if offer.unit_price else None,
        **shared,
    )


def observe_failure(
    failure: Any, targets: Sequence[PriceTarget], *, confirming: bool = False
) -> list[Observation]:
    """Returns the observations of a URL that failed for good. `failure`: the argument of `@site.failed`."""
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
    return [
        Observation(
            target=one.key, state=state, time=at, url=failure.url, detail=detail, confirming=confirming
        )
        for one in targets
    ]

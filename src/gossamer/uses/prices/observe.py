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
from gossamer.parsing.products import (
    CONFIDENCE,
    ON_REQUEST,
    PageOffer,
    PriceCandidate,
    PriceDecision,
    PriceRole,
    ProductPage,
    UnitPrice,
    amount_of,
    availability_of,
    iso_of,
    listed_prices,
    page_kind,
)
from gossamer.uses.prices.model import ListedOffer, Observation, OfferState, PriceTarget

if TYPE_CHECKING:
    from gossamer import PageView

MAX_CANDIDATES = 20
MAX_LISTED = 100
_PAID = (PriceRole.PRICE, PriceRole.RANGE_END)
_LOCALE = re.compile(r"^/[a-z]{2}(?:[-_][a-z]{2})?(?=/)")
_MAIN_FIELDS = ("name", "price", "currency", "sku", "gtin", "brand", "availability")


class MainFields(TypedDict):
    """The fields that are copied from the generic extractor's record into an observation."""

    name: str | None
    price: Decimal | None
    currency: str | None
    sku: str | None
    gtin: str | None
    brand: str | None
    availability: str | None


class Selectors(Protocol):
    """The common interface of `SelectorTable` and `CarriedSelectors`."""

    def values(self, page: PageView) -> dict[str, tuple[str, str]]:
        """Returns the fields that the selectors find on a page: field -> (text, selector)."""


class PageReading(msgspec.Struct, omit_defaults=True):
    """The product data of a page, before it is compared with a target."""

    main: MainFields
    chosen: dict[str, tuple[str, str]]
    """Maps each field that the selector table finds on the page to a tuple of the field's text and the
    selector."""
    candidates: list[PriceCandidate]
    """The candidates for the price that a buyer has to pay. The most trusted candidate comes first."""
    decisions: dict[str, PriceDecision]
    """Maps each currency (an ISO 4217 code) to the price decision for that currency, if the page has prices
    in several currencies. The key '' maps to the price decision for all currencies together."""
    offers: list[PageOffer] = []
    variants: list[PageOffer] = []
    name: str | None = None
    mpn: str | None = None
    list_price: Decimal | None = None
    unit_price: UnitPrice | None = None
    tax_included: bool | None = None
    second_source: str = ""
    """Another source of the page that states the price of `decisions['']`."""
    notice: tuple[OfferState, str] | None = None
    """The state and its description, if the page says that it has no product of its own."""


class SeenPage(msgspec.Struct, omit_defaults=True):
    """The result of one visit of a page, before it is compared with the targets of the page. The process that
    reads the page sends this result to the process that writes the history."""

    time: float
    url: str
    """The final URL of the page, after redirects."""
    confirming: bool = False
    body_hash: str = ""
    state: OfferState | None = None
    """The state of all targets of the page, or None if the state of each target must be derived from
    `reading`."""
    detail: str = ""
    reading: PageReading | None = None
    listed: tuple[ListedOffer, ...] = ()


def read_page(page: PageView, selectors: Selectors) -> PageReading:
    """Reads a page with the table of selectors and with the generic extractor."""
    product, chosen = page.product_page, selectors.values(page)
    main: MainFields = {name: product.record[name] for name in _MAIN_FIELDS}  # type: ignore[assignment]
    prices = [one for one in product.candidates if one.role in _PAID]
    if (own := _chosen_price(chosen, main["currency"])) is not None:
        prices = [own, *(one for one in prices if (one.amount, one.currency) != (own.amount, own.currency))]
    regular = product.list_price
    if "regular_price" in chosen:
        regular = amount_of(chosen["regular_price"][0])
    return PageReading(
        main,
        chosen,
        prices[:MAX_CANDIDATES],
        _decisions(product),
        product.offers,
        product.variants,
        product.name,
        product.mpn,
        regular,
        product.unit_price,
        product.tax_included,
        product.second_source,
        None if chosen else _notice(product),
    )


def _notice(product: ProductPage) -> tuple[OfferState, str] | None:
    """Returns the state of a page that has no product of its own, and a description, or None."""
    decision = product.decision
    if decision.missing in (page_kind.GONE, page_kind.SOFT_404):
        return OfferState.GONE, f"{decision.missing}: {decision.reason}"
    if decision.missing == page_kind.LISTING:
        return OfferState.EMPTY, f"{decision.missing}: {decision.reason}"
    return None


def _listed(product: ProductPage) -> tuple[ListedOffer, ...]:
    """Returns the prices of other products, which may support a price on the page of such a product."""
    found = list(listed_prices(product).items())[:MAX_LISTED]
    return tuple(ListedOffer(url, one.amount, one.currency) for url, one in found)


def _chosen_price(chosen: dict[str, tuple[str, str]], currency: str | None) -> PriceCandidate | None:
    """Returns the price that the table of selectors finds, or None."""
    text, selector = chosen.get("price", ("", ""))
    read = price(text, currency) if text else None
    if read is None or read.amount is None:
        return None
    return PriceCandidate(read.amount, read.iso or currency, text[:200], "selector", selector, 1.0)


def _decisions(product: ProductPage) -> dict[str, PriceDecision]:
    currencies = {one.currency for one in product.offers if one.amount is not None}
    several = currencies if len(currencies) > 1 else ()
    return {"": product.decision} | {one: product.decide(one) for one in several if one}


def see_page(page: PageView, requested: str, selectors: Selectors, *, confirming: bool = False) -> SeenPage:
    """Returns the result of a visit that received a page. `requested`: the URL before redirects. The targets
    of the page are listed under this URL."""
    body = hashlib.blake2b(page.body, digest_size=8).hexdigest()
    seen = SeenPage(page.page.fetched_at, page.url, confirming, body)
    reading = read_page(page, selectors)
    if not reading.second_source:
        seen.listed = _listed(page.product_page)
    has_product = reading.notice is None and (
        reading.main["price"] is not None
        or bool(reading.name or reading.offers or reading.variants or reading.chosen)
        or reading.decisions[""].reason == ON_REQUEST
    )
    for_now = page.request.is_redirected_for_now
    if other_page(requested, page.url) and not (for_now and has_product and same_path(requested, page.url)):
        seen.state, seen.detail = _redirected(requested, page.url, has_product, for_now)
    elif reading.notice is not None:
        seen.state, detail = reading.notice
        seen.detail = f"HTTP {page.status}, {detail}"
    elif not has_product and reading.main["availability"] is None:
        seen.state = OfferState.EMPTY
        seen.detail = f"HTTP {page.status}, without a product: {(page.title or 'no title')[:100]}"
    else:
        seen.reading = reading
    return seen


def _redirected(requested: str, found: str, has_product: bool, for_now: bool) -> tuple[OfferState, str]:
    """Returns the state of a page that redirects to another page, and a description of the redirect."""
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
        found = [Observation(target=one.key, state=state, detail=seen.detail, **shared) for one in targets]
    else:
        found = [one for target in targets for one in _observations(target, seen.reading, shared)]
    if seen.listed and found:
        found[0] = msgspec.structs.replace(found[0], listed=seen.listed)
    return found


def other_page(requested: str, found: str) -> bool:
    """Returns whether a redirect led to another page. Differences in the scheme, `www.`, upper case, a final
    slash, and the query are ignored."""
    one, other = urlsplit(requested), urlsplit(found)
    return (
        one.netloc.removeprefix("www.").lower() != other.netloc.removeprefix("www.").lower()
        or one.path.rstrip("/").lower() != other.path.rstrip("/").lower()
    )


def same_path(requested: str, found: str) -> bool:
    """Returns whether two URLs have the same path except for a language or country prefix. A temporary
    redirect between two URLs with the same path leads to the same product.

    >>> same_path("https://shop.example/p/1", "https://www.shop.example/en-gb/p/1/")
    True
    """
    one, other = (_LOCALE.sub("", urlsplit(url).path.rstrip("/").lower()) for url in (requested, found))
    return one == other


def _observations(target: PriceTarget, reading: PageReading, shared: dict[str, Any]) -> list[Observation]:
    if target.variant:
        offer = find_variant(reading.variants, target.variant)
        if offer is None:
            detail = f"the page has no variant {target.variant}"
            return [Observation(target=target.key, state=OfferState.NO_PRICE, detail=detail, **shared)]
        one = _of_variant(target, offer, reading, shared)
        return [msgspec.structs.replace(one, variant="")]
    found = [_of_main(target, reading, shared)]
    keys = {found[0].variant}
    for offer in reading.variants:
        if (key := offer.key()) and key not in keys:
            keys.add(key)
            found.append(_of_variant(target, offer, reading, shared))
    return found


def find_variant(variants: Iterable[PageOffer], wanted: str) -> PageOffer | None:
    """Returns the variant whose SKU, GTIN, MPN, name or option values equal `wanted`, or None."""
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
    main, chosen = reading.main, reading.chosen
    decision = _decided(target, reading)
    best = decision.price
    offer = next((one for one in reading.offers if best is not None and one.amount == best.amount), None)
    offer = offer or (reading.offers[0] if reading.offers else PageOffer(""))
    currency = iso_of(chosen["currency"][0]) if "currency" in chosen else None
    currency = currency or (best.currency if best else None) or offer.currency or main["currency"]
    availability = availability_of(chosen["availability"][0]) if "availability" in chosen else None
    availability = availability or main["availability"] or offer.availability
    state, detail = OfferState.PRICED, ""
    if best is None:
        state = OfferState.UNDECIDED if decision.is_undecided else OfferState.NO_PRICE
        detail = decision.reason
    former = reading.list_price
    regular = former if best and former and former > best.amount else None
    unit = reading.unit_price if best and best.amount == main["price"] else None
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
        tax_included=reading.tax_included if offer.tax_included is None else offer.tax_included,
        name=_field(reading, "name"),
        sku=_field(reading, "sku"),
        gtin=_field(reading, "gtin"),
        mpn=chosen["mpn"][0] if "mpn" in chosen else reading.mpn,
        brand=_field(reading, "brand"),
        source=best.source if best else "",
        place=best.place if best else "",
        second_source=reading.second_source if best and best == reading.decisions[""].price else "",
        confidence=best.confidence if best else 0.0,
        candidates=tuple(reading.candidates) if len(reading.candidates) > 1 or best is None else (),
        detail=detail,
        **shared,
    )


def _field(reading: PageReading, name: str) -> str | None:
    if name in reading.chosen:
        return reading.chosen[name][0]
    value: str | None = reading.main[name]  # type: ignore[literal-required]
    return value


def _decided(target: PriceTarget, reading: PageReading) -> PriceDecision:
    """Returns the price of the main offer, or the reason why there is none. A price from the table of
    selectors takes precedence over the generic extractor."""
    if (first := next(iter(reading.candidates), None)) is not None and first.source == "selector":
        return PriceDecision(first)
    return reading.decisions.get(target.currency) or reading.decisions[""]


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
        place=offer.place if offer.amount is not None else "",
        confidence=CONFIDENCE.get(offer.source, 0.0) if offer.amount is not None else 0.0,
        unit_price=offer.unit_price.amount if offer.unit_price else None,
        unit=offer.unit_price.unit if offer.unit_price else None,
        **shared,
    )


def see_failure(failure: Any, *, confirming: bool = False) -> SeenPage:
    """Returns the result of a visit that failed permanently. `failure`: the argument of `@site.failed`."""
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

"""Reads all data of a product page: its record, its offers, and all of its prices. Each part of the data is
read when it is first used, and then stored."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

from gossamer.parsing.html import Document, once
from gossamer.parsing.prices import price
from gossamer.parsing.products import page_kind
from gossamer.parsing.products.candidates import (
    CONFIDENCE,
    NO_PRICE,
    ON_REQUEST,
    PriceCandidate,
    PriceDecision,
    PriceRole,
    merged,
    undecided,
)
from gossamer.parsing.products.offers import PageOffer, embedded_variants
from gossamer.parsing.products.record import ProductRecord, read_record
from gossamer.parsing.products.shown_prices import unit_price_beside
from gossamer.parsing.products.sources import ProductSources
from gossamer.parsing.products.unit_prices import Pack, UnitPrice, computed, pack_of
from gossamer.parsing.shop_page import element_text

MAX_HREF_CHARS: Final = 2000
LISTED: Final = "the page shows prices of several products, and none of its own"
_UNSOLD: Final = ("OutOfStock", "SoldOut", "Discontinued")


class ListedPrice(NamedTuple):
    """The price of another product. `currency`: an ISO 4217 code, or None if the card names no currency."""

    amount: Decimal
    currency: str | None


class ProductPage:
    """All data of a product page. `found`: the page's structured data, if it has already been read."""

    def __init__(self, page: Document, found: dict[str, Any] | None = None) -> None:
        self.page = page
        self._sources = ProductSources(page, found)

    @once
    def _record(self) -> ProductRecord:
        return read_record(self._sources)

    @property
    def record(self) -> dict[str, Any]:
        """The product as one record: `name price currency sku gtin brand availability`."""
        return self._record.fields

    @once
    def offers(self) -> list[PageOffer]:
        """The offers of the product itself in structured data."""
        return [one for offers, _ in self._sources.offered for one in offers]

    @once
    def variants(self) -> list[PageOffer]:
        """The offers of the product's variants, in structured data or in the data of the shop system."""
        told = next((variants for _, variants in self._sources.offered if variants), None)
        return told or embedded_variants(self.page)

    @once
    def name(self) -> str | None:
        """The product's name in structured data."""
        return next((name for one in self._sources.mains.values() if (name := one.text("name"))), None)

    @once
    def mpn(self) -> str | None:
        """The manufacturer's part number in structured data."""
        return next((mpn for one in self._sources.mains.values() if (mpn := one.text("mpn"))), None)

    @once
    def candidates(self) -> list[PriceCandidate]:
        """The prices in structured data, meta elements and the record, the most trusted first. The visible
        page is read only if the record needs a value from it."""
        return merged([*self._told, *self._record_price()])

    @once
    def all_candidates(self) -> list[PriceCandidate]:
        """All prices of the page with their roles, the most trusted first. The visible page is always read."""
        shown = list(self._sources.shown.candidates(self.record["currency"]))
        return merged([*self._told, *shown, *self._record_price()])

    @once
    def decision(self) -> PriceDecision:
        """The price that a buyer pays, or the reason why the page does not show it."""
        return self.decide()

    def decide(self, currency: str = "") -> PriceDecision:
        """Returns the price in a currency, or the reason why there is none. `currency`: an ISO 4217 code, or
        '' for any.

        The result is the record's price, unless the page is ambiguous. A page is ambiguous if it states only
        a range of prices, or if its offers have different prices but the same seller, SKU and tax. A page is
        also ambiguous if its visible part shows different prices in elements with the same class names,
        parent and role."""
        amount: Decimal | None = self.record["price"]
        if self._sources.notice[0]:
            kind, text = self._sources.notice
            return PriceDecision(None, f"the page says: {text[:100]}", kind)
        offers = [one for one in self.offers if one.amount is not None]
        if currency:
            same = [one for one in offers if one.currency == currency]
            if same and len(same) < len(offers):
                offers, amount = same, same[0].amount
        prices = [one for one in self.candidates if one.role == PriceRole.PRICE]
        if amount is None:
            return _why_missing(self._sources, self.record["availability"], self.candidates if prices else [])
        if self._is_ambiguous(offers):
            return PriceDecision(None, undecided(self.all_candidates), page_kind.UNDECIDED)
        found = next((one for one in prices if one.amount == amount), None)
        return PriceDecision(found, "" if found else NO_PRICE, "" if found else page_kind.NO_PRICE)

    def _is_ambiguous(self, offers: list[PageOffer]) -> bool:
        """Whether the page does not show which of its prices a buyer pays. `offers`: the offers with a price."""
        shown = self._sources.shown
        if self._record.contradicts:
            return True
        if self._record.is_shown:
            return bool(shown.rivals) or shown.is_range
        if (
            shown.is_clear
            and shown.best
            and shown.best.price.amount == self.record["price"]
            and not shown.is_range
        ):
            return False
        ranges = [one for one in offers if one.high is not None and one.high != one.amount]
        if ranges and len(ranges) == len(offers) and not self.variants:
            return True
        for source in ("json-ld", "microdata"):
            own = [one for one in offers if one.source == source and one.availability not in _UNSOLD]
            told = {(one.seller, one.sku, one.tax_included) for one in own}
            if len({one.amount for one in own}) > len(told):
                return True
        return False

    @once
    def second_source(self) -> str:
        """Another source than that of the price of `decision` which states the same price, or ''. Structured data and
        scripts are one kind of source, the visible page is another."""
        best = self.decision.price
        if best is None:
            return ""
        if best.source not in ("class", "text"):
            return "class" if self._sources.shown.pays(best.amount) else ""
        told = (one.source for one in self._told if one.amount == best.amount)
        return next(told, "") or ("embedded" if best.amount in self._sources.tracked.amounts else "")

    @once
    def list_price(self) -> Decimal | None:
        """The former or recommended price. This price is taken from an offer. If no offer contains such a
        price, a struck-through price on the page is used. The struck-through price must be higher than the
        current price, and one element must show both prices."""
        for offer in self.offers:
            if offer.regular is not None:
                return offer.regular
        now = self.record["price"]
        if now is None:
            return None
        shown = self._sources.shown.former_price(now)
        is_drawn = shown is None and not self._record.is_shown and not self._told
        return self._sources.state.regular if is_drawn else shown

    @once
    def pack(self) -> Pack | None:
        """The pack size in the product's name."""
        return pack_of(self.record["name"] or "")

    @once
    def unit_price(self) -> UnitPrice | None:
        """The price per kg, l, m, m2 or piece. The unit price is taken from structured data or from the text
        beside the price. If the page shows no unit price, the unit price is computed from the price and the
        pack size."""
        for offer in self.offers:
            if offer.unit_price is not None:
                return offer.unit_price
        now = self.record["price"]
        own = computed(now, self.pack) if now else None
        return unit_price_beside(self._sources.shop, now, own) or own

    @once
    def tax_included(self) -> bool | None:
        """Whether the price includes taxes, or None if the page does not mention taxes."""
        told = next((one.tax_included for one in self.offers if one.tax_included is not None), None)
        best = self._sources.shown.best if told is None and self._record.is_shown else None
        return best.tax_included if best else told

    @once
    def _told(self) -> list[PriceCandidate]:
        return list(self._told_prices())

    def _told_prices(self) -> Iterator[PriceCandidate]:
        for offer in self.offers or self.variants:
            yield from offer.candidates(self.record["currency"])
        if self._sources.metas.amount is not None:
            yield PriceCandidate(
                self._sources.metas.amount,
                self.record["currency"],
                self._sources.metas.raw[:200],
                "meta",
                "meta",
                CONFIDENCE["meta"],
            )

    def _record_price(self) -> Iterator[PriceCandidate]:
        """Yields the record's price if it comes from the visible page or a script."""
        amount, currency = self.record["price"], self.record["currency"]
        if self._record.is_shown and (best := self._sources.shown.best):
            source = "class" if best.is_named else "text"
            yield PriceCandidate(
                amount,
                currency,
                best.text[:200],
                source,
                best.place,
                CONFIDENCE[source],
                tax_included=best.tax_included,
            )
        elif amount is not None and all(one.amount != amount for one in self._told):
            place = self._sources.state.place if amount == self._sources.state.price else ""
            yield PriceCandidate(amount, currency, "", "embedded", place or "script", CONFIDENCE["embedded"])


def _why_missing(
    sources: ProductSources, availability: str | None, candidates: list[PriceCandidate]
) -> PriceDecision:
    """Returns why a page has no price of its own product. `candidates`: prices between which nothing decides."""
    if candidates:
        return PriceDecision(None, undecided(candidates), page_kind.UNDECIDED)
    if sources.shown.own.is_on_request:
        return PriceDecision(None, ON_REQUEST, page_kind.NO_PRICE)
    if availability is None and sources.shown.own.is_listing:
        return PriceDecision(None, LISTED, page_kind.LISTING)
    return PriceDecision(None, NO_PRICE, page_kind.NO_PRICE)


def listed_prices(product: ProductPage) -> dict[str, ListedPrice]:
    """Returns the prices that cards of a page state for other products, by the absolute URL of the product. A product with
    several prices is left out."""
    page, shop = product.page, product._sources.shop
    found: dict[str, ListedPrice | None] = {}
    for element in product._sources.shown.own.others:
        link = page.base.resolve(shop.structure.link_of(element)[:MAX_HREF_CHARS] or "#")
        read = price(element_text(element, struck=False), None)
        if link and read and read.amount and link.partition("#")[0] != page.url.partition("#")[0]:
            one = ListedPrice(read.amount, read.iso)
            found[link] = one if found.get(link, one) == one else None
    return {link: one for link, one in found.items() if one is not None}

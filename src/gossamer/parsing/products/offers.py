"""Reads the offers of a product and of its variants from structured data and from the data that shop systems put
into their pages (WooCommerce, Shopify).

The price, list price, unit price, seller, shipping and tax of an offer are read in one pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Any, Final

import msgspec

from gossamer.parsing.html import Document, attribute_of
from gossamer.parsing.prices import price
from gossamer.parsing.products.candidates import CONFIDENCE, PriceCandidate, PriceRole
from gossamer.parsing.products.unit_prices import UnitPrice, plain, unit_of
from gossamer.parsing.structured import Node

MAX_OFFERS = 200
"""Maximum number of offers that are read per page."""
MAX_SCRIPTS = 100
"""Maximum number of JSON scripts that are searched for variants."""
_LIST_PRICES = ("listprice", "strikethroughprice", "msrp", "srp", "regularprice")
_NUMBERS = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "ean", "isbn")
_PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,8})?")
_UNUSUAL = re.compile(r"used|refurbished|damaged|lease|rental")
"""Matches conditions and business functions of offers that do not sell new goods, in lower case."""
_OPTIONS = ("size", "color", "colour", "material", "pattern")


class PageOffer(msgspec.Struct):
    """An offer on a page. Every value may be missing."""

    source: str
    place: str = ""
    amount: Decimal | None = None
    high: Decimal | None = None
    """The highest price, if the offer is a range of prices."""
    regular: Decimal | None = None
    currency: str | None = None
    raw: str = ""
    availability: str | None = None
    seller: str | None = None
    shipping: Decimal | None = None
    tax_included: bool | None = None
    unit_price: UnitPrice | None = None
    name: str | None = None
    sku: str | None = None
    gtin: str | None = None
    mpn: str | None = None
    options: tuple[str, ...] = ()
    is_variant: bool = False

    def key(self) -> str:
        """Returns the SKU, GTIN or MPN, otherwise the option values."""
        return self.sku or self.gtin or self.mpn or " / ".join(self.options)

    def candidates(self, currency: str | None = None) -> Iterator[PriceCandidate]:
        """Yields the prices of the offer. `currency`: the currency of the prices if the offer names no
        currency."""
        amounts = (
            (self.amount, PriceRole.PRICE),
            (self.high, PriceRole.RANGE_END),
            (self.regular, PriceRole.LIST_PRICE),
        )
        for amount, role in amounts:
            if amount is not None:
                yield PriceCandidate(
                    amount,
                    self.currency or currency,
                    self.raw[:200] if role == PriceRole.PRICE else "",
                    self.source,
                    self.place,
                    CONFIDENCE[self.source],
                    role,
                    self.tax_included,
                    self.seller,
                    self.shipping,
                    self.availability,
                )


def offers_of(product: Node, source: str) -> tuple[list[PageOffer], list[PageOffer]]:
    """Returns the main offers and the variants of a product in structured data."""
    offers = list(_offers(product, source))[:MAX_OFFERS]
    nodes = [*product.nodes("hasvariant"), *product.nodes("model")][:MAX_OFFERS]
    variants = [_of_variant(one, source) for one in nodes]
    if not variants and len({one.sku for one in offers if one.sku}) > 1:
        variants = [one for one in offers if one.sku]
        offers = [one for one in offers if not one.sku]
    for one in variants:
        one.is_variant = True
    return offers, variants


def embedded_variants(page: Document) -> list[PageOffer]:
    """Returns the variants in the data of a shop system (WooCommerce, Shopify)."""
    found = _of_woocommerce(page) or _of_shopify(page)
    for one in found:
        one.is_variant = True
    return found


def usual_offers(many: Sequence[Node]) -> list[Node]:
    """Returns the offers to sell new goods. If no offer is of this kind, returns all: a shop may sell only used
    goods."""
    usual = [
        one
        for one in many
        if not _UNUSUAL.search(" ".join(one.texts("itemcondition", "businessfunction")).lower())
    ]
    return usual or list(many)


def specifications(offer: Node) -> list[Node]:
    """Returns the price specifications of an offer that apply to every buyer of one piece."""
    return [
        one
        for one in offer.nodes("pricespecification")
        if "validformembertier" not in one.properties
        and not any(_several(many) for many in one.nodes("eligiblequantity"))
    ]


def _several(quantity: Node) -> bool:
    least = amount_of(quantity.text("minvalue", "value"))
    return least is not None and least > 1


def _offers(product: Node, source: str) -> Iterator[PageOffer]:
    if "offer" in product.types:
        yield _offer(product, source, "offer")
    found = [
        (one, place)
        for offer in product.nodes("offers")
        for inner in (list(offer.nodes("offers")),)
        for one, place in (((one, "offers.offers") for one in inner) if inner else ((offer, "offers"),))
    ]
    usual = usual_offers([one for one, _ in found])
    for one, place in found:
        if any(one is other for other in usual):
            yield _offer(one, source, place)


def _of_variant(node: Node, source: str) -> PageOffer:
    found = next(_offers(node, source), None) or PageOffer(source, "hasVariant")
    found.place = "hasVariant.offers"
    found.name = found.name or node.text("name")
    found.sku = node.text("sku") or found.sku
    found.gtin = node.text(*_NUMBERS) or found.gtin
    found.mpn = node.text("mpn") or found.mpn
    found.options = tuple(node.texts(*_OPTIONS))
    return found


def _offer(node: Node, source: str, place: str) -> PageOffer:
    """Reads an offer, with its price specifications, shipping and seller."""
    found = PageOffer(source, place)
    terms = specifications(node)
    currency = node.text("pricecurrency") or next(
        (code for one in terms if (code := one.text("pricecurrency"))), None
    )
    found.currency = iso_of(currency)
    if text := node.text("price"):
        found.amount, found.raw, found.place = amount_of(text, currency), text, f"{place}.price"
    elif text := node.text("lowprice", "minprice"):
        found.amount, found.raw, found.place = amount_of(text, currency), text, f"{place}.lowPrice"
        found.high = amount_of(node.text("highprice", "maxprice"), currency)
    for one in terms:
        kind = (one.text("pricetype") or "").lower()
        value = amount_of(one.text("price", "minprice"), currency)
        if kind.rpartition("/")[2] in _LIST_PRICES or kind.endswith(_LIST_PRICES):
            found.regular = found.regular or value
        elif "referencequantity" in one.properties:
            found.unit_price = found.unit_price or _unit_price(one, value)
        elif found.amount is None:
            found.amount, found.raw = value, one.text("price", "minprice") or ""
            found.high = amount_of(one.text("maxprice"), currency) if not one.text("price") else None
            found.place = f"{place}.priceSpecification.price"
        if (tax := one.text("valueaddedtaxincluded")) is not None:
            found.tax_included = tax.lower() in ("true", "1", "yes")
    found.availability = availability_of(node.text("availability"))
    found.seller = node.text("seller", "offeredby")
    for details in node.nodes("shippingdetails"):
        for rate in details.nodes("shippingrate"):
            found.shipping = amount_of(rate.text("value"), rate.text("currency"))
    found.name, found.sku, found.mpn = node.text("name"), node.text("sku"), node.text("mpn")
    found.gtin = node.text(*_NUMBERS)
    return found


def _unit_price(specification: Node, amount: Decimal | None) -> UnitPrice | None:
    """Returns the price per unit, computed from the amount and the reference quantity of a price
    specification."""
    for quantity in specification.nodes("referencequantity"):
        known = unit_of(quantity.text("unitcode", "unittext") or "")
        many = amount_of(quantity.text("value")) or Decimal(1)
        if known and amount and many > 0:
            return UnitPrice(plain(amount / (many * known[1])), known[0])
    return None


def as_shown(amount: Decimal) -> Decimal:
    """Returns an amount rounded as a shop shows it. After a currency conversion, the data of shop systems
    contain more decimals than the page shows. Amounts below 1, such as prices of electronic parts, are exact.

    >>> as_shown(Decimal("71.910401")), as_shown(Decimal("0.0123")), as_shown(Decimal("1299.000"))
    (Decimal('71.91'), Decimal('0.0123'), Decimal('1299.000'))
    """
    exponent = amount.as_tuple().exponent
    is_converted = amount >= 1 and isinstance(exponent, int) and exponent < -3
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP) if is_converted else amount


def amount_of(text: str | None, currency: str | None = None) -> Decimal | None:
    """Returns the amount that a text states. Plain numbers are read exactly."""
    if not text:
        return None
    if _PLAIN.fullmatch(text):
        return as_shown(Decimal(text))
    found = price(text, currency)
    return found.amount if found else None


@lru_cache(maxsize=500)
def iso_of(currency: str | None) -> str | None:
    """Returns the ISO 4217 code of a currency, or None. `currency`: the sign, name or code of the currency on
    the page."""
    if not currency:
        return None
    found = price(f"1 {currency}")
    return found.iso if found else None


AVAILABILITIES: Final = (
    *("InStock", "OutOfStock", "PreOrder", "PreSale", "BackOrder", "SoldOut", "Discontinued", "InStoreOnly"),
    *("LimitedAvailability", "MadeToOrder", "OnlineOnly", "Reserved"),
)
"""The values of schema.org's ItemAvailability."""
_AVAILABLE: Final = {name.lower(): name for name in AVAILABILITIES} | dict.fromkeys(
    ("oos", "unavailable", "notinstock"), "OutOfStock"
)
_SEPARATORS: Final = re.compile(r"[\s_-]")


def availability_of(text: str | None) -> str | None:
    """Returns the value of schema.org's ItemAvailability that a text contains, or None.

    >>> availability_of("https://schema.org/in_stock"), availability_of("unknown")
    ('InStock', None)
    """
    if not text:
        return None
    last = re.split(r"[/#:]", text.strip())[-1]
    return _AVAILABLE.get(_SEPARATORS.sub("", last).lower())


def _of_woocommerce(page: Document) -> list[PageOffer]:
    """Reads the variations of WooCommerce's form."""
    forms = page.tree.select("form[data-product_variations]")[:1]
    found = []
    for one in _objects(attribute_of(forms[0], "data-product_variations") if forms else None):
        sale, full = _number(one.get("display_price")), _number(one.get("display_regular_price"))
        options = one.get("attributes")
        found.append(
            PageOffer(
                "embedded",
                "data-product_variations",
                amount=sale,
                regular=full if full != sale else None,
                raw=str(one.get("display_price", "")),
                availability="InStock" if one.get("is_in_stock") else "OutOfStock",
                sku=_word(one.get("sku")),
                options=tuple(map(str, options.values())) if isinstance(options, dict) else (),
            )
        )
    return found


def _of_shopify(page: Document) -> list[PageOffer]:
    """Reads the variants of Shopify's product JSON. The prices in this JSON are in the smallest unit of the
    currency."""
    for script in page.tree.select("script[type='application/json']")[:MAX_SCRIPTS]:
        text = script.text
        if '"variants"' not in text or '"price"' not in text:
            continue
        product = _json(text)
        variants = product.get("variants") if isinstance(product, dict) else None
        if not isinstance(variants, list) or len(variants) < 2:
            continue
        return [_of_shopify_variant(one) for one in variants[:MAX_OFFERS] if isinstance(one, dict)]
    return []


def _of_shopify_variant(one: dict[str, Any]) -> PageOffer:
    cents, full = _number(one.get("price")), _number(one.get("compare_at_price"))
    is_whole = isinstance(one.get("price"), int)
    scale = Decimal(100) if is_whole else Decimal(1)
    return PageOffer(
        "embedded",
        "variants.price",
        amount=None if cents is None else cents / scale,
        regular=full / scale if full and cents is not None and full > cents else None,
        raw=str(one.get("price", "")),
        availability=None if "available" not in one else ("InStock" if one["available"] else "OutOfStock"),
        sku=_word(one.get("sku")),
        gtin=_word(one.get("barcode")),
        options=tuple(str(value) for n in (1, 2, 3) if (value := one.get(f"option{n}"))),
    )


def _objects(text: str | None) -> Iterable[dict[str, Any]]:
    found = _json(text) if text else None
    return [one for one in found if isinstance(one, dict)][:MAX_OFFERS] if isinstance(found, list) else []


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or value in (None, ""):
        return None
    return amount_of(str(value))


def _word(value: Any) -> str | None:
    return (
        str(value).strip() or None if isinstance(value, str | int) and not isinstance(value, bool) else None
    )

"""The offers of a page's product and of its variants, read from structured data and from the data that shop
systems put into their pages (WooCommerce, Shopify)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.parsing.prices import price
from gossamer.parsing.structured import Node, nodes

if TYPE_CHECKING:
    from gossamer import PageView

MAX_OFFERS = 200
"""The most offers of a page that are read."""
PRODUCTS = frozenset(
    ("product", "productgroup", "productmodel", "individualproduct", "someproducts", "vehicle", "book")
)
_LIST_PRICES = ("listprice", "strikethroughprice", "msrp", "srp", "regularprice")
_NUMBERS = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "ean", "isbn")
_OPTIONS = ("size", "color", "colour", "material", "pattern")
_SYNTAX = {"json_ld": "json-ld", "microdata": "microdata", "rdfa": "rdfa"}


class PageOffer(msgspec.Struct):
    """An offer as a page describes it. Every value may be missing."""

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
    name: str | None = None
    sku: str | None = None
    gtin: str | None = None
    mpn: str | None = None
    options: tuple[str, ...] = ()
    is_variant: bool = False

    def key(self) -> str:
        """Returns the SKU, GTIN or MPN, otherwise the option values."""
        return self.sku or self.gtin or self.mpn or " / ".join(self.options)


class PageProduct(msgspec.Struct):
    """The product of a page in structured data, with its offers."""

    name: str | None = None
    sku: str | None = None
    gtin: str | None = None
    mpn: str | None = None
    brand: str | None = None
    offers: list[PageOffer] = []
    variants: list[PageOffer] = []


def read_product(page: PageView) -> PageProduct:
    """Returns the product that a page is about, with its offers."""
    found = PageProduct()
    for syntax, many in nodes(page.structured).items():
        main = _main([one for one in many if one.types & PRODUCTS], page)
        if main is None:
            continue
        source = _SYNTAX[syntax]
        found.name = found.name or main.text("name")
        found.sku = found.sku or main.text("sku")
        found.gtin = found.gtin or main.text(*_NUMBERS)
        found.mpn = found.mpn or main.text("mpn")
        found.brand = found.brand or main.text("brand")
        offers = list(_offers(main, source))[:MAX_OFFERS]
        variants = [
            _of_variant(one, source) for one in [*main.nodes("hasvariant"), *main.nodes("model")][:MAX_OFFERS]
        ]
        if not variants and len({one.sku for one in offers if one.sku}) > 1:
            variants = [one for one in offers if one.sku]
            for one in variants:
                one.is_variant = True
            offers = [one for one in offers if not one.sku]
        found.offers += offers
        found.variants = found.variants or variants
    found.variants = found.variants or _of_woocommerce(page) or _of_shopify(page)
    for one in found.variants:
        one.is_variant = True
    return found


def _main(products: list[Node], page: PageView) -> Node | None:
    """Returns the product whose name the page's heading or title contains, or else the first with offers."""
    if len(products) < 2:
        return products[0] if products else None
    words = f"{page.title or ''} {page.css('h1').xpath('string(.)').get() or ''}".lower()
    named = [one for one in products if (name := one.text("name")) and name.lower() in words]
    group = [one for one in named if "productgroup" in one.types]
    offered = [
        one for one in named or products if "offers" in one.properties or "hasvariant" in one.properties
    ]
    return next(iter([*group, *offered, *named]), None)


def _offers(product: Node, source: str) -> Iterator[PageOffer]:
    for offer in product.nodes("offers"):
        inner = list(offer.nodes("offers"))
        if inner:
            for one in inner:
                yield _offer(one, source, "offers.offers")
        else:
            yield _offer(offer, source, "offers")


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
    specifications = list(node.nodes("pricespecification"))
    currency = node.text("pricecurrency") or next(
        (code for one in specifications if (code := one.text("pricecurrency"))), None
    )
    found.currency = iso_of(currency)
    if text := node.text("price"):
        found.amount, found.raw, found.place = amount_of(text, currency), text, f"{place}.price"
    elif text := node.text("lowprice"):
        found.amount, found.raw, found.place = amount_of(text, currency), text, f"{place}.lowPrice"
        found.high = amount_of(node.text("highprice"), currency)
    for one in specifications:
        kind = (one.text("pricetype") or "").lower()
        value = amount_of(one.text("price", "minprice"), currency)
        if kind.rpartition("/")[2] in _LIST_PRICES or kind.endswith(_LIST_PRICES):
            found.regular = found.regular or value
        elif found.amount is None and "referencequantity" not in one.properties:
            found.amount, found.raw = value, one.text("price", "minprice") or ""
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


def amount_of(text: str | None, currency: str | None = None) -> Decimal | None:
    """Returns the amount that a text states. Plain numbers are read exactly."""
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,6})?", text):
        return Decimal(text)
    found = price(text, currency)
    return found.amount if found else None


@lru_cache(maxsize=500)
def iso_of(currency: str | None) -> str | None:
    """Returns the ISO 4217 code of a currency as written, or None."""
    if not currency:
        return None
    found = price(f"1 {currency}")
    return found.iso if found else None


AVAILABILITIES = (
    *("InStock", "OutOfStock", "PreOrder", "PreSale", "BackOrder", "SoldOut", "Discontinued", "InStoreOnly"),
    *("LimitedAvailability", "MadeToOrder", "OnlineOnly", "Reserved"),
)
_AVAILABLE = {name.lower(): name for name in AVAILABILITIES}


def availability_of(text: str | None) -> str | None:
    """Returns the value of schema.org's ItemAvailability that a text states, or None.

    >>> availability_of("https://schema.org/in_stock"), availability_of("unknown")
    ('InStock', None)
    """
    if not text:
        return None
    last = re.split(r"[/#:]", text.strip())[-1]
    return _AVAILABLE.get(re.sub(r"[\s_-]", "", last).lower())


def _of_woocommerce(page: PageView) -> list[PageOffer]:
    """Reads the variations of WooCommerce's form."""
    if b"data-product_variations" not in page.body:
        return []
    text = page.css("form[data-product_variations]::attr(data-product_variations)").get()
    found = []
    for one in _objects(text):
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


def _of_shopify(page: PageView) -> list[PageOffer]:
    """Reads the variants of Shopify's product JSON. Its prices are in the smallest unit of the currency."""
    if b'"variants"' not in page.body:
        return []
    for text in page.css("script[type='application/json']::text").getall():
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

"""Reads the product of a page from structured data and from meta elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import turbohtml

from gossamer.parsing import shop_page
from gossamer.parsing.html import Document, attribute_of
from gossamer.parsing.prices import Price, price
from gossamer.parsing.products.offers import as_shown, availability_of, iso_of, specifications, usual_offers
from gossamer.parsing.products.shown_brands import brand_in
from gossamer.parsing.structured import Node

FIELDS: Final = ("name", "price", "currency", "sku", "gtin", "brand", "availability")
_PRODUCTS: Final = frozenset(
    (
        "product",
        "productgroup",
        "individualproduct",
        "productmodel",
        "someproducts",
        "vehicle",
        "car",
        "book",
        "offerforpurchase",
    )
)
_RELATIONS: Final = (
    "isrelatedto",
    "issimilarto",
    "isaccessoryorsparepartfor",
    "isconsumablefor",
    "itemlistelement",
    "recommendedproducts",
)
"""Properties whose values are other products than the one that has them."""
_WORDS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]|[^\W_]+")
_LIST_PRICES: Final = frozenset(("strikethroughprice", "listprice", "msrp", "srp", "regularprice"))
_NUMBERS: Final = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "ean", "isbn", "upc")
_METAS: Final = {
    "price": (
        "product:sale_price:amount",
        "product:price:amount",
        "og:price:amount",
        "product:price",
        "og:price",
        "price",
        "twitter:data1",
    ),
    "currency": (
        "product:sale_price:currency",
        "product:price:currency",
        "og:price:currency",
        "og:currency",
        "currency",
        "pricecurrency",
    ),
    "sku": (
        "product:retailer_item_id",
        "product:sku",
        "product:retailer_part_no",
        "sku",
        "product_id",
        "og:sku",
        "productid",
    ),
    "brand": ("product:brand", "og:brand", "brand"),
    "availability": ("product:availability", "og:availability", "availability"),
    "gtin": ("product:ean", "product:gtin", "product:isbn", "og:upc", "og:ean", "product:upc", "book:isbn"),
}


def main_node(many: list[Node], page: Document) -> Node | None:
    """Returns the product that the page is about, or None. The candidate with the best score is returned. A
    candidate has a higher score if its name matches the page's title and heading, if it contains the page's
    URL, if it has offers or variants, or if it has a SKU. Products that other products refer to as related do
    not count, nor does a product with another name than the page."""
    related = [part for one in many for part in one.nodes(*_RELATIONS)]
    known = [
        one
        for one in many
        if (one.types & _PRODUCTS or ("offers" in one.properties and "name" in one.properties))
        and not any(one == other for other in related)
    ]
    if not known:
        return next((one for one in many if "offer" in one.types and "offers" not in one.properties), None)
    heading = " ".join(one.text[:500] for one in page.tree.select("h1")[:3])
    words = _tokens(f"{page.title or ''} {heading}")
    address = {_path(page.url), _path(page.canonical or page.url)}

    def here(one: Node) -> bool:
        return any(_path(value) in address for value in one.texts("url", "mainentityofpage"))

    def fits(one: Node) -> float:
        return (
            round(2 * _likeness(one, words), 1)
            + 2 * here(one)
            + ("offers" in one.properties or "hasvariant" in one.properties)
            + 0.5 * ("sku" in one.properties)
        )

    best = max(known[:500], key=fits)
    names = {" ".join(one.texts("name")) for one in known}
    is_named = here(best) or not best.text("name") or not words
    if is_named or _likeness(best, words | _tokens(unquote(page.url[:500]))) >= (
        0.5 if len(names) > 1 else 0.2
    ):
        return best
    return None


def _likeness(one: Node, words: set[str]) -> float:
    """Returns the share of the words of a product's name that the page has in its title, heading or address."""
    name = _tokens(one.text("name") or "")
    return len(name & words) / len(name) if name else 0.0


def _tokens(text: str) -> set[str]:
    """Returns the words of a text in lower case. Each character is a word in scripts without spaces."""
    return set(_WORDS.findall(text[:3000].lower()))


def _path(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rpartition("://")[2].rstrip("/").lower()


def _alone(main: Node, many: list[Node]) -> bool:
    """Whether all products with the same name have the same SKU. Products with the same name and different
    SKUs are sizes or colors of one product."""
    names, numbers = [*main.texts("name")], [*main.texts("sku")]
    return not any(
        one.types & _PRODUCTS and [*one.texts("name")] == names and [*one.texts("sku")] != numbers
        for one in many
    )


def told_by(main: Node, many: list[Node], url: str) -> dict[str, Any]:
    """Returns the fields of the product that a node describes, including those in its offers and variants.
    `many`: all nodes in the structured data of the page."""
    alone = _alone(main, many)
    variants = list(main.nodes("hasvariant", "model"))[:100]
    offers = [*_offers([main, *variants])]
    amount = _price(main, offers)
    own = "" if "offer" in main.types else shop_page.bare_number(main.text("sku", "productid") or "")
    return {
        "name": main.text("name"),
        "price": amount.amount if amount else None,
        "currency": amount.iso or amount.currency if amount else None,
        "sku": own if alone and own else _shared([main, *offers, *variants], url),
        "gtin": gtin_in(text for one in (main, *offers[:1]) for text in one.texts(*_NUMBERS)),
        "brand": next(
            (name for text in main.texts("brand", "manufacturer") if (name := brand_in(text))), None
        ),
        "availability": _availability(text for offer in offers for text in offer.texts("availability")),
    }


def _offers(many: Iterable[Node]) -> Iterator[Node]:
    """Yields the offers of the nodes, and the offers inside aggregate offers."""
    for one in many:
        if "offer" in one.types:
            yield one
        for offer in one.nodes("offers"):
            yield offer
            yield from offer.nodes("offers", "itemoffered")


def _price(main: Node, offers: list[Node]) -> Price | None:
    """Returns the lowest price of the available offers. If no available offer has a price, returns the lowest
    price of all offers."""
    offers = usual_offers(
        [one for one in offers if not any(part.text("price") for part in one.nodes("offers"))] or offers
    )
    there = [
        one
        for one in offers
        if _availability(one.texts("availability")) in (None, "InStock", "LimitedAvailability", "OnlineOnly")
    ]
    for some in (there, offers, [main]):
        found = [value for one in some[:200] if (value := _priced(one)) is not None and value.amount]
        if found:
            return min(found, key=lambda value: value.amount or 0)
    return None


def _priced(offer: Node) -> Price | None:
    """Returns the price of an offer: its own price, the price of its price specification, or the lowest price
    of a range."""
    holders = [
        offer,
        *(
            one
            for one in specifications(offer)
            if "referencequantity" not in one.properties
            and not _LIST_PRICES & set(map(_last, one.texts("pricetype")))
        ),
    ]
    currency = next(
        (
            text
            for one in [*holders, *offer.nodes("pricespecification")]
            for text in one.texts("pricecurrency", "currency")
        ),
        None,
    )
    for names in (("price",), ("lowprice",), ("minprice",), ("highprice",), ("",)):
        for one in holders:
            for text in one.texts(*names):
                found = number_in_data(text, currency)
                if found is not None and found.amount is not None:
                    return found
    return None


def currency_in(main: Node) -> str | None:
    """Returns the currency of the product's offers in the spelling of the page, or None."""
    offers = _offers([main])
    holders = (part for one in offers for part in (one, *one.nodes("pricespecification")))
    return next((text for one in holders for text in one.texts("pricecurrency", "currency")), None)


def number_in_data(text: str, currency: str | None) -> Price | None:
    """Parses a plain decimal number (`1299.000`) exactly, and any other text as a price written for
    people."""
    if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,8})?", text):
        return Price(as_shown(Decimal(text)), currency, iso_of(currency))
    return price(text, currency)


def _last(text: str) -> str:
    return text[max(text.rfind("/"), text.rfind(":")) + 1 :].lower()


def _shared(many: list[Node], url: str) -> str | None:
    """Returns the longest prefix of a SKU that occurs in the page's URL, or None. The SKUs of a product's
    variants often have this prefix in common. The prefix must have at least 5 characters and contain a
    digit."""
    address = url.lower()
    for number in list(
        dict.fromkeys(shop_page.bare_number(text) for one in many for text in one.texts("sku", "productid"))
    )[:100]:
        for end in range(len(number), 4, -1):
            if any(map(str.isdigit, number[:end])) and number[:end].lower() in address:
                return number[:end].rstrip("-_/")
    return None


def gtin_in(texts: Iterable[str]) -> str | None:
    """Returns the first text that is a valid GTIN: 8, 12, 13 or 14 digits with a correct check digit."""
    for text in texts:
        digits = re.sub(r"[\s-]", "", text.rpartition(":")[2])[:20]
        if digits.isascii() and digits.isdigit() and len(digits) in (8, 12, 13, 14):
            numbers = [int(digit) for digit in reversed(digits)]
            if sum(numbers[0::2]) % 10 == -3 * sum(numbers[1::2]) % 10 and any(numbers):
                return digits
    return None


def _availability(texts: Iterable[str]) -> str | None:
    """Returns one availability for all offers: InStock if any offer is in stock, otherwise the first known
    value."""
    found = [word for text in texts if (word := availability_of(text))]
    return "InStock" if "InStock" in found else found[0] if found else None


class MetaFields(NamedTuple):
    """The fields of the product that the meta elements of a page contain."""

    record: dict[str, Any]
    amount: Decimal | None
    """The amount of the first meta element for a price, whether or not the page has a meta element for the
    currency."""
    currency: str | None
    """The currency that the meta elements name, as written."""
    raw: str


def meta_fields(tree: turbohtml.Document) -> MetaFields:
    """Returns the fields found in meta elements, including microdata properties outside of any item."""
    said: dict[str, str] = {}
    for meta in tree.select("meta[content]")[:2000]:
        for attribute in ("property", "name", "itemprop"):
            if (name := attribute_of(meta, attribute).strip().lower()) and (
                value := attribute_of(meta, "content").strip()
            ):
                said.setdefault(name, value[:500])
    first = {
        field: next((said[name] for name in names if name in said), None) for field, names in _METAS.items()
    }
    found = number_in_data(first["price"], first["currency"]) if first["price"] else None
    amount = found if found and found.amount and (found.iso or first["currency"]) else None
    record = {
        "price": amount.amount if amount else None,
        "currency": amount.iso if amount else None,
        "sku": first["sku"],
        "gtin": gtin_in([first["gtin"] or ""]),
        "brand": first["brand"],
        "availability": _availability([first["availability"] or ""]),
    }
    bare = next((said[name] for name in _METAS["price"][:-1] if name in said), "")
    plain = number_in_data(bare, None) if bare else None
    return MetaFields(
        record, (plain.amount or None) if plain else None, first["currency"], first["price"] or ""
    )

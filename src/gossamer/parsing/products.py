"""Reads the product that a page is about as one record: name, price, currency, SKU, GTIN, brand and
availability.

The sources are tried in this order: structured data, meta elements, then the visible page and its scripts.
For the SKU, a number beside a label on the page takes precedence over these sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing import shop_page
from gossamer.parsing import shop_words as words
from gossamer.parsing.html import Document, attribute_of, parse
from gossamer.parsing.prices import Price, price
from gossamer.parsing.shop_page import (
    MAX_ELEMENTS,
    Element,
    Shop,
    author_names,
    begins_more,
    element_text,
    element_value,
    is_hidden,
    shown_availability,
)
from gossamer.parsing.structured import Node, nodes
from gossamer.parsing.structured import of as structured_of


def shown_brand(shop: Shop, name: str) -> str | None:
    """Returns the brand that the page shows for the product, or None. The sources are tried in this order: an
    element marked as the brand (such as `itemprop=brand`), the text next to a brand label, an element with a
    brand class whose text is part of the product's name, and an element with a brand class near the
    heading."""
    for one in shop.tree.select("[itemprop~=brand], [data-brand], [data-product-brand], [id*='byline' i]")[
        :50
    ]:
        found = brand_in(attribute_of(one, "data-product-brand") or element_value(one))
        if found and not shop.elsewhere(one) and not of_site(found, shop.page.url):
            return found
    if found := next((found for value in shop.labelled_values("brand") if (found := brand_in(value))), None):
        return found
    beside = None
    for element in _called_so(shop):
        found = brand_in(element_value(element)) if element not in shop.above else None
        if found and not shop.elsewhere(element) and not of_site(found, shop.page.url):
            if found.lower() in name.lower():
                return found
            beside = beside or (found if shop.near(element) else None)
    return beside


def _called_so(shop: Shop) -> Iterator[Element]:
    """Yields elements whose class or id names a brand or a manufacturer, then links to brand pages."""
    for element in shop.tree.select(words.MAKERS)[:MAX_ELEMENTS]:
        if words.MAKER.search(author_names(element)):
            yield element
    for link in shop.tree.select("a[href]")[:2000]:
        if words.OF_MAKER.search(attribute_of(link, "href")) and (
            shop.near(link) or words.STORE.search(element_value(link))
        ):
            yield link


def named_so(shop: Shop) -> str | None:
    """Returns the text of the first element whose class or id contains `product-brand`, wherever the element
    is on the page. This is the weakest sign of a brand, so it is tried last."""
    for element in shop.tree.select(words.MAKERS)[:MAX_ELEMENTS]:
        found = brand_in(element_value(element)) if words.BRANDED.search(author_names(element)) else None
        if found and not shop.elsewhere(element) and not of_site(found, shop.page.url):
            return found
    return None


def of_site(brand: str, url: str) -> bool:
    """Whether a brand equals a part of the site's host name. Such a brand usually comes from the site's
    logo."""
    letters = "".join(filter(str.isalnum, brand.lower()))
    return any(
        letters == label.replace("-", "")
        for label in url.lower().split("/")[2:3]
        for label in label.split(".")
    )


def brand_in(text: str) -> str | None:
    """Returns the brand name in the text of a brand element, such as `Brand: Acme` or `Visit the Acme Store`.
    Returns None if the text contains no brand."""
    text = words.LOGO.sub("", text[:200].partition(" | ")[0].strip(words.MARKS))
    label, bare = words.LABELLED.search(text), words.LABELS["brand"].match(text)
    if label is None and bare and text[bare.end() : bare.end() + 1] in ("", " "):
        label = bare
    if found := words.STORE.search(text):
        text = next(filter(None, found.groups()), "").strip()
    elif label:
        text = text[label.end() :].strip(words.MARKS)
    return text if 1 < len(text) <= 40 and text[0].isalnum() and not words.NO_BRAND.search(text) else None


CURRENT_PRICE_BONUS: Final = 20
"""Bonus for elements whose class or id names the current price. They rank like elements that are this much
closer to the heading."""
MAX_BARE_PRICE_CHARS: Final = 40
"""Maximum length of a text that is only a price."""
_NEVER: Final = frozenset(
    ("script", "style", "del", "s", "strike", "body", "html", "form", "input", "select", "option", "template")
)

_SEVERAL: Final = re.compile(r"\d(?:\D{2,}|[^\d.,'’·:\s])\d")


def shown_price(shop: Shop, hint: str | None, said: Decimal | None = None) -> Price | None:
    """Returns the price nearest to the product's heading. Elements whose class or id names a price come
    first, except those that belong to other products. If there is no such element, or if all of them are
    doubtful, the first text that is only a price is used.

    `hint` is the currency to use if the text names none. `said` is an amount without a currency in the page's
    meta elements. A shown price of this amount comes first.
    """
    listed = shop.tree.select("h1, h2, h3, h4, [class], [id], [itemprop], [data-testid], [data-test]")[
        :20_000
    ]
    order = {element: place for place, element in enumerate(listed)}
    start = order.get(shop.heading, 0) if shop.heading else 0
    end = next((at for at, one in enumerate(listed[start + 1 :], start + 1) if begins_more(one)), len(listed))
    best: tuple[tuple[bool, bool, bool, bool, int, int], Price] | None = None
    for rank, selector in enumerate(words.PRICES):
        for element in shop.tree.select(selector)[:MAX_ELEMENTS]:
            text = _price_text(element)
            found = price(text, hint) if text else None
            if not found or not found.amount or found.amount < 0 or shop.elsewhere(element):
                continue
            place = order.get(element, 0)
            away = place - start - CURRENT_PRICE_BONUS * (words.NOW.search(author_names(element)) is not None)
            key = (
                found.currency is None,
                found.amount != said,
                not start <= place < end,
                _doubtful(element, text, found),
                rank if rank < 2 else 2,
                away if place >= start else start - place,
            )
            if best is None or key < best[0]:
                best = (key, found)
    if best and (best[1].amount == said or not (best[0][2] or best[0][3])):
        return best[1]
    return _bare_price(shop, hint) or (best[1] if best else None)


def _price_text(element: Element) -> str:
    """Returns the text of an element that may contain a price. Returns an empty text if the element shows an
    old price."""
    if _old(element):
        return ""
    text = next(filter(None, (attribute_of(element, name) for name in words.PRICED)), "") or element_text(
        element
    )
    if not 0 < len(text) < 120 or not any(map(str.isdigit, text)):
        return ""
    return (
        element_text(element, struck=False)
        if _SEVERAL.search(text) and not element.attrs.get("content")
        else text
    )


def _doubtful(element: Element, text: str, found: Price) -> bool:
    """Whether a price is hidden, one of several in the text, or labeled as a different price: a former price,
    a price without taxes, a monthly rate."""
    several = found.currency is not None and text.count(found.currency) > 1
    return (
        several
        or is_hidden(element)
        or words.NOT_NOW.search(text) is not None
        or words.DOUBTFUL.search(author_names(element)) is not None
        or words.NOT_NOW.search(_around(element, text)) is not None
    )


def _around(element: Element, text: str) -> str:
    """Returns the text of a price's parent if it has a label and no other number. Otherwise returns ''."""
    parent = element.parent
    if not isinstance(parent, Element) or parent.tag in ("body", "main"):
        return ""
    around = element_text(parent, 12)
    before, _, after = around.partition(text)
    return "" if len(around) > 80 or any(map(str.isdigit, before + after)) else around


def _old(element: Element) -> bool:
    parent = element.parent
    return (
        element.tag in _NEVER
        or words.OLD.search(author_names(element)) is not None
        or "line-through" in attribute_of(element, "style")
        or (isinstance(parent, Element) and words.STRUCK.search(author_names(parent)) is not None)
    )


def _bare_price(shop: Shop, hint: str | None) -> Price | None:
    """Returns the first short text after the heading that consists of a price with its currency and little
    else. If there is none, returns the last such text before the heading."""
    behind = not any(element == shop.heading for element, _ in shop.small)
    ahead = None
    for element, text in shop.small:
        if element == shop.heading:
            behind = True
        elif behind and begins_more(element):
            break
        elif (
            len(text) <= MAX_BARE_PRICE_CHARS
            and words.BARE_PRICE.fullmatch(text)
            and not (words.NOT_NOW.search(text) or words.COUNT.match(text))
        ):
            found = price(element_text(element, struck=False), hint)
            shown = not (
                _old(element)
                or is_hidden(element)
                or shop.elsewhere(element)
                or words.DOUBTFUL.search(author_names(element))
                or words.NOT_NOW.search(_around(element, text))
            )
            if shown and found and found.amount and found.currency and (behind or shop.near(element)):
                if behind:
                    return found
                ahead = found
    return ahead


def currency_of(found: Price, url: str, language: str | None) -> str | None:
    """Returns the ISO 4217 code of a price's currency. A sign that several currencies share (`$ kr ¥ Rs`) is
    resolved by the country code of the host, or else by the page's language, or else to the most common
    currency.

    >>> [currency_of(price("$1"), url, "en-AU") for url in ("https://shop.com.ar/a", "https://shop.example/a")]
    ['ARS', 'AUD']
    >>> currency_of(price("$1"), "https://t.co/a", None), currency_of(price("9 kr."), "https://shop.example", "da")
    ('USD', 'DKK')
    """
    known = words.SIGNS.get((found.currency or "").lower().rstrip("."))
    if known is None:
        return found.iso
    try:
        labels = (urlsplit(url).hostname or "").split(".")
    except ValueError:
        labels = [""]
    # .co is used worldwide, .com.co only in Colombia
    country = "" if labels[-1] == "co" and labels[-2:-1] != ["com"] else labels[-1]
    speech, _, region = (language or "").lower().partition("-")
    return (
        known.get(country)
        or known.get(region)
        or (known.get(speech) if known is not words.SIGNS["$"] else None)
        or found.iso
    )


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
_WORDS: Final = re.compile(r"\w+")
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
_AVAILABLE: Final = {
    word.lower(): word
    for word in (
        "InStock",
        "OutOfStock",
        "PreOrder",
        "PreSale",
        "BackOrder",
        "SoldOut",
        "Discontinued",
        "LimitedAvailability",
        "OnlineOnly",
        "InStoreOnly",
        "MadeToOrder",
        "Reserved",
    )
} | dict.fromkeys(("oos", "unavailable", "notinstock"), "OutOfStock")


def product(body: Body, url: str | None = None, content_type: str | None = None) -> dict[str, Any]:
    """Returns the product that a page is about. Accepts any bytes and never raises. The keys are `name`,
    `price` (Decimal), `currency` (ISO 4217), `sku`, `gtin` (8, 12, 13 or 14 digits), `brand` and
    `availability` (a schema.org value: InStock, OutOfStock, PreOrder, ...). A value that the page does not
    contain is None.

    >>> page = b'<script type="application/ld+json">{"@type": "Product", "name": "A", "sku": 7,\\
    ... "offers": {"price": "5.00", "priceCurrency": "EUR", "availability": "http://schema.org/InStock"}}</script>'
    >>> {name: str(value) for name, value in product(page, "https://example.com/").items() if value}
    {'name': 'A', 'price': '5.00', 'currency': 'EUR', 'sku': '7', 'availability': 'InStock'}
    """
    return of(parse(body, content_type, url))


def of(page: Document, found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Does the same as `product` for a parsed page. `found` is the page's structured data, if it has already
    been read."""
    record: dict[str, Any] = dict.fromkeys(FIELDS)
    spare: list[str] = []
    for many in nodes(found or structured_of(page)).values():
        if (main := _main(many, page)) is not None:
            _fill(record, _told(main, page.url, _alone(main, many)))
            variants = main.nodes("hasvariant", "model")
            spare += [
                shop_page.bare_number(text)
                for one in (main, *_offers([main]), *variants)
                for text in one.texts("sku", "productid", "identifier")
            ]
    _fill(record, _metas(page.tree))
    here = shop_page.Shop(page)
    record["sku"] = (
        shop_page.product_number(here.labelled_values("sku", own=record["sku"] is not None)) or record["sku"]
    )
    _fill(record, _shown(here, record, spare))
    return record


def _fill(record: dict[str, Any], more: dict[str, Any]) -> None:
    """Fills the fields of the record that are still None with values of `more`. A price and its currency
    belong together: a record that has a price but no currency does not get the currency of a different
    price."""
    if record["price"] is not None and record["currency"] is None and more.get("price") != record["price"]:
        more = {
            name: value for name, value in more.items() if name != "currency" or more.get("price") is None
        }
    for name, value in more.items():
        if record[name] is None and value is not None:
            record[name] = value


def _main(many: list[Node], page: Document) -> Node | None:
    """Returns the product that the page is about, or None. The candidate with the best score is returned. A
    name that matches the page's title and heading, the page's URL, offers and a SKU each add to the score."""
    known = [
        one
        for one in many
        if one.types & _PRODUCTS or ("offers" in one.properties and "name" in one.properties)
    ]
    known = known or [one for one in many if "offer" in one.types]
    if not known:
        return None
    heading = next((one.text for one in page.tree.select("h1")[:1]), "")
    words = set(_WORDS.findall(f"{page.title or ''} {heading}".lower()))
    address = {_path(page.url), _path(page.canonical or page.url)}

    def fits(one: Node) -> float:
        name = set(_WORDS.findall((one.text("name") or "").lower()))
        same = len(name & words) / len(name) if name else 0.0
        here = any(_path(value) in address for value in one.texts("url", "mainentityofpage"))
        return (
            round(2 * same, 1)
            + 2 * here
            + ("offers" in one.properties or "hasvariant" in one.properties)
            + 0.5 * ("sku" in one.properties)
        )

    best = max(known[:500], key=fits)
    return best if len(known) == 1 or fits(best) >= 1 else known[0]


def _path(url: str) -> str:
    return url.partition("#")[0].partition("?")[0].rpartition("://")[2].rstrip("/").lower()


def _alone(main: Node, many: list[Node]) -> bool:
    """Whether no other product has the same name and a different SKU. Products with the same name are sizes
    and colors of one product."""
    names, numbers = [*main.texts("name")], [*main.texts("sku")]
    return not any(
        one.types & _PRODUCTS and [*one.texts("name")] == names and [*one.texts("sku")] != numbers
        for one in many
    )


def _told(main: Node, url: str, alone: bool) -> dict[str, Any]:
    """Returns the fields of the product that a node describes. Also reads the node's offers and variants."""
    variants = list(main.nodes("hasvariant", "model"))[:100]
    offers = [*_offers([main, *variants])]
    amount = _price(main, offers)
    own = "" if "offer" in main.types else shop_page.bare_number(main.text("sku", "productid") or "")
    return {
        "name": main.text("name"),
        "price": amount.amount if amount else None,
        "currency": amount.iso or amount.currency if amount else None,
        "sku": own if alone and own else _shared([main, *offers, *variants], url),
        "gtin": _gtin(text for one in (main, *offers[:1]) for text in one.texts(*_NUMBERS)),
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
            for one in offer.nodes("pricespecification")
            if not {"strikethroughprice", "listprice"} & {_last(text) for text in one.texts("pricetype")}
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
                found = _number(text, currency)
                if found is not None and found.amount is not None:
                    return found
    return None


def _number(text: str, currency: str | None) -> Price | None:
    """Parses a plain decimal number (`1299.000`) exactly, and any other text as a price written for
    people."""
    if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,6})?", text):
        sign = price(f"1 {currency}") if currency else None
        return Price(Decimal(text), currency, sign.iso if sign else None)
    return price(text, currency)


def _last(text: str) -> str:
    return text[max(text.rfind("/"), text.rfind(":")) + 1 :].lower()


def _shared(many: list[Node], url: str) -> str | None:
    """Returns the part of a SKU that offers or variants share. This is the longest beginning of one of their
    SKUs that the page's URL contains. It must have at least 5 characters and a digit."""
    address = url.lower()
    for number in list(
        dict.fromkeys(shop_page.bare_number(text) for one in many for text in one.texts("sku", "productid"))
    )[:100]:
        for end in range(len(number), 4, -1):
            if any(map(str.isdigit, number[:end])) and number[:end].lower() in address:
                return number[:end].rstrip("-_/")
    return None


def _gtin(texts: Iterable[str]) -> str | None:
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
    found = [
        word
        for text in texts
        if (word := _AVAILABLE.get(re.sub(r"[\s_-]", "", _last(text.replace("#", "/")))))
    ]
    return "InStock" if "InStock" in found else found[0] if found else None


def _metas(tree: turbohtml.Document) -> dict[str, Any]:
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
    amount = _number(first["price"], first["currency"]) if first["price"] else None
    amount = amount if amount and amount.amount and (amount.iso or first["currency"]) else None
    return {
        "price": amount.amount if amount else None,
        "currency": amount.iso if amount else None,
        "sku": first["sku"],
        "gtin": _gtin([first["gtin"] or ""]),
        "brand": first["brand"],
        "availability": _availability([first["availability"] or ""]),
    }


def _said_amount(tree: turbohtml.Document) -> Decimal | None:
    """Returns the amount of the page's first meta element for a price, whether or not it has a currency."""
    for name in _METAS["price"][:-1]:
        for meta in tree.select(f'meta[property="{name}"], meta[name="{name}"]')[:1]:
            amount = _number(attribute_of(meta, "content").strip(), None)
            return amount.amount if amount and amount.amount else None
    return None


def _shown(here: shop_page.Shop, record: dict[str, Any], spare: list[str]) -> dict[str, Any]:
    """Returns values for the fields that the record lacks, read from the visible page and its scripts.
    `spare` contains the SKUs of the structured data, which are used if the page shows no SKU."""
    page, found = here.page, dict[str, Any]()
    heading = " ".join(here.heading.text[:1000].split()) if here.heading else None
    if record["name"] is None:
        titles = [attribute_of(one, "content") for one in page.tree.select('meta[property="og:title"]')[:1]]
        found["name"] = next((one for one in (heading, *titles, page.title) if one), None)
    if record["price"] is None and (amount := shown_price(here, record["currency"], _said_amount(page.tree))):
        found["price"] = amount.amount
        found["currency"] = currency_of(amount, page.url, page.language) or shop_page.embedded_value(
            shop_page.scripts(page.tree), "currency"
        )
    if record["gtin"] is None:
        found["gtin"] = _gtin(here.labelled_values("gtin"))
    if record["availability"] is None:
        found["availability"] = shown_availability(here)
    name = record["name"] or found["name"] or ""
    texts = shop_page.scripts(page.tree) if None in (record["sku"], record["brand"]) else []
    state = shop_page.told_of(texts, heading or name) if texts else {}
    if record["price"] is None and "price" not in found and "price" in state:
        amount = _number(state["price"], state.get("currency"))
        found |= {"price": amount.amount, "currency": amount.iso} if amount and amount.iso else {}
    if record["sku"] is None:
        found["sku"] = (
            shop_page.shown_number(here)
            or shop_page.embedded_value(texts, "sku")
            or next(filter(None, spare), None)
            or state.get("sku")
            or shop_page.held_number(here)
            or shop_page.number_in(page.url)
            or shop_page.product_number(here.labelled_values("mpn"))
        )
    if record["brand"] is None:
        found["brand"] = (
            shown_brand(here, f"{name} {page.title or ''}")
            or _no_publisher(here, state.get("brand") or shop_page.embedded_value(texts, "brand"))
            or named_so(here)
        )
    return found


def _no_publisher(here: shop_page.Shop, brand: str | None) -> str | None:
    """Returns the brand, or None if the page shows the same name as the publisher."""
    return None if brand in [one.strip() for one in here.labelled_values("publisher")] else brand

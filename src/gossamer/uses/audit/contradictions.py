"""Compares the JSON-LD of a page with its visible text: price, availability, name and date. A difference is
reported only if the difference is certain. A value counts as correct if the value occurs anywhere on the
page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gossamer.parsing.html import Document
    from gossamer.parsing.products.pages import ProductPage

NAMED: Final = {
    "Product": "name",
    "ProductGroup": "name",
    "Recipe": "name",
    "Event": "name",
    "Article": "headline",
    "NewsArticle": "headline",
    "BlogPosting": "headline",
}
"""Maps each schema.org type to the property whose value the page shows as its heading."""
MIN_SHOWN_WORDS: Final = 20
"""The minimum number of words of a page whose text is compared with its structured data. If a page has fewer
words, scripts probably insert the page's text."""
MIN_SHARED: Final = 0.34
"""The minimum share of the words of a product's or article's name that the page's text must contain."""
SAME_DAYS: Final = 1
"""Two dates count as equal if they differ by at most this many days, because the dates may be in different
time zones."""
_SOLD: Final = frozenset(("OutOfStock", "SoldOut", "Discontinued"))
_PRODUCTS: Final = frozenset(("Product", "ProductGroup"))
_NUMBER: Final = re.compile(r"\d[\d.,'\u2019\u00a0\u202f ]*")
_WORD: Final = re.compile(r"\w+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0eff]")
_DAY: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_METADATA: Final = re.compile(
    rb"<script\b[^>]*ld\+json[^>]*>.*?</script\s*>|<meta\b[^>]*>", re.IGNORECASE | re.DOTALL
)
_NEAR_CHARS: Final = 25
"""Maximum number of characters between the day and the year of a date."""


def find_contradictions(document: Document, values: Sequence[Any]) -> Iterator[str]:
    """Yields a text for each difference between the page and its JSON-LD. `values`: the parsed JSON-LD scripts."""
    nodes = list(main_nodes(values))
    if not nodes:
        return
    text = document.text
    words = set(_WORD.findall(f"{document.title or ''} {text}".casefold()))
    if len(words) < MIN_SHOWN_WORDS:
        return
    for kind, node in nodes:
        if fault := _name_fault(kind, node, words):
            yield fault
    products = [node for kind, node in nodes if kind in _PRODUCTS]
    # with several products, it is unknown to which product a price on the page belongs
    if len(products) == 1:
        yield from _offer_faults(document, text, products[0])
    articles = [node for kind, node in nodes if NAMED[kind] == "headline"]
    if len(articles) == 1 and (fault := _date_fault(document, text, articles[0])):
        yield fault


def main_nodes(values: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the main objects of the page, with their types. A main object is at the top level of a script,
    in `@graph` or in `mainEntity`."""
    waiting = list(values)
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            kinds = one.get("@type")
            for kind in kinds if isinstance(kinds, list) else [kinds]:
                if (name := str(kind).rpartition("/")[2]) in NAMED:
                    yield name, one
                    break
            waiting.extend(one[name] for name in ("@graph", "mainEntity") if name in one)


def _name_fault(kind: str, node: dict[str, Any], shown: set[str]) -> str:
    name = node.get(NAMED[kind])
    if not isinstance(name, str) or _UNSPACED.search(name):
        return ""
    words = set(_WORD.findall(name.casefold()))
    if not words or len(words & shown) >= MIN_SHARED * len(words):
        return ""
    return f"{kind}: {NAMED[kind]} {name[:100]!r} is not on the page"


def _offer_faults(document: Document, text: str, product: dict[str, Any]) -> Iterator[str]:
    from gossamer.parsing.products.pages import ProductPage
    from gossamer.parsing.shop_page import Shop, shown_availability

    offers = _dicts(product.get("offers"))
    prices = list(_prices(offers))
    is_right = not prices or any(_is_shown(price, text) for price in prices)
    if not is_right and (shown := _shown_price(ProductPage(document))):
        yield f"price {prices[0]} in the data, {shown} on the page"
    told = {
        str(one["availability"]).rpartition("/")[2]
        for one in offers
        if isinstance(one.get("availability"), str)
    }
    seen = shown_availability(Shop(document))
    if told and seen:
        is_sold = told <= _SOLD
        if (is_sold and seen == "InStock") or (told == {"InStock"} and seen in _SOLD):
            yield f"availability {min(told)} in the data, {seen} on the page"


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def _prices(offers: Sequence[dict[str, Any]]) -> Iterator[Decimal]:
    for offer in offers:
        nested = _dicts(offer.get("priceSpecification")) + _dicts(offer.get("offers"))
        for one in (offer, *nested):
            for name in ("price", "lowPrice", "highPrice"):
                try:
                    value = Decimal(str(one[name]).strip())
                except (KeyError, InvalidOperation):
                    continue
                if value.is_finite() and value > 0:
                    yield value


def _is_shown(price: Decimal, text: str) -> bool:
    """Returns whether the digits of a price occur on the page, with any separators.

    >>> _is_shown(Decimal("1234.5"), "only EUR 1.234,50 today"), _is_shown(Decimal("5"), "5,- or 6.00")
    (True, True)
    >>> _is_shown(Decimal("9.90"), "EUR 12.90")
    False
    """
    cents = f"{price:.2f}".replace(".", "")
    wanted = {cents, f"{price:f}".replace(".", "")}
    if cents.endswith("00"):
        wanted.add(cents[:-2])
    for found in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", found[0])
        parts = re.split(r"\D+", found[0].strip())
        if wanted & {digits, digits.lstrip("0"), *parts}:
            return True
        if any("".join(parts[at : at + 2]) in wanted for at in range(len(parts) - 1)):
            return True
    return False


def _shown_price(page: ProductPage) -> str:
    """Returns the price that a buyer pays according to the page. The text is as written on the page. Returns
    '' if the page shows no such price."""
    for one in page.all_candidates:
        if one.source in ("class", "text") and one.role.value == "price":
            return one.raw or str(one.amount)
    return ""


def _date_fault(document: Document, text: str, article: dict[str, Any]) -> str:
    from gossamer.parsing import pagedates

    told = [day for name in ("datePublished", "dateModified") if (day := _day_of(article.get(name)))]
    if not told or not (published := _day_of(article.get("datePublished"))):
        return ""
    bare = _METADATA.sub(b"", document.tree.html.encode("utf-8", "replace"))
    shown = _day_of(pagedates.dates(bare, None, "text/html; charset=utf-8").published)
    if shown is None or any(abs(shown - day) <= timedelta(SAME_DAYS) for day in told):
        return ""
    near = [published + timedelta(days) for days in range(-SAME_DAYS, SAME_DAYS + 1)]
    if any(_stands_in(day, text) for day in near):
        return ""
    return f"datePublished {published} in the data, {shown} on the page"


def _day_of(value: Any) -> date | None:
    found = _DAY.match(value) if isinstance(value, str) else None
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def _stands_in(day: date, text: str) -> bool:
    """Returns whether the text contains the day of the month near the year.

    >>> _stands_in(date(2026, 3, 5), "on 5 March 2026"), _stands_in(date(2026, 3, 5), "on 6 March 2026")
    (True, False)
    """
    number, year, gap = f"0?{day.day}(?!\\d)", f"{day.year}(?!\\d)", f".{{0,{_NEAR_CHARS}}}?"
    pattern = rf"(?<!\d){number}{gap}(?<!\d){year}|(?<!\d){year}{gap}(?<!\d){number}"
    return re.search(pattern, text, re.DOTALL) is not None

"""Reads the product of a page from the state that its scripts carry: the data from which a shop's program draws
the page. Reads plain objects, Nuxt 2 and 3, rows of React's flight format, caches of Apollo, and the product JSON of
shop platforms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

import turbohtml

from gossamer.parsing import embedded
from gossamer.parsing import shop_words as words
from gossamer.parsing.prices import price
from gossamer.parsing.products.offers import as_shown, availability_of, iso_of

MAX_NODES: Final = 30_000
"""Maximum number of objects and lists of a page's state that are looked at."""
MAX_DEPTH: Final = 14
MAX_ROWS: Final = 5000
MIN_SCORE: Final = 1.8
"""An object with at least this score is the product: it has the name of the page, or part of it and a key such as
`product`."""
_NAMES: Final = (
    "name",
    "title",
    "productname",
    "producttitle",
    "displayname",
    "product_name",
    "product_title",
    "item_name",
    "itemname",
)
_NOW: Final = (
    *("formattedprice", "formatted_price", "priceformatted", "formatted", "formattedvalue", "displayprice"),
    *(
        "centamount",
        "unit_amount",
        "amountincents",
        "priceincents",
        "price_in_cents",
        "price_cents",
        "pricecents",
    ),
    *(
        "finalprice",
        "final_price",
        "saleprice",
        "sale_price",
        "specialprice",
        "special_price",
        "discountedprice",
    ),
    *(
        "discounted_price",
        "currentprice",
        "current_price",
        "sellingprice",
        "selling_price",
        "offerprice",
        "nowprice",
    ),
    *("final", "sale", "discounted", "current", "selling", "now", "actual", "special"),
    *(
        "price",
        "prices",
        "pricing",
        "priceinfo",
        "priceinformation",
        "pricedata",
        "price_info",
        "calculated_price",
    ),
    "item_price",
    *(
        "amount",
        "value",
        "amountvalue",
        "gross",
        "grossprice",
        "withtax",
        "pricewithtax",
        "unitprice",
        "retailprice",
    ),
    *("regular", "full", "base", "list"),
    *("pricerange", "price_range", "minvariantprice", "minimum_price", "minprice", "min"),
    *(
        "offers",
        "offer",
        "buybox",
        "defaultvariant",
        "default_variant",
        "selectedvariant",
        "selected_variant",
    ),
    *(
        "mastervariant",
        "selectedorfirstavailablevariant",
        "firstvariant",
        "sku",
        "skus",
        "variants",
        "variations",
    ),
    *("variantinfo", "commerce", "items", "nodes", "edges", "node"),
)
"""Keys of the price that a buyer pays, and of objects that hold it, the most certain first."""
_HOLDERS_OF_PRICES: Final = frozenset(
    (
        *("offers", "offer", "buybox", "sku", "skus", "variants", "variations", "variantinfo", "commerce"),
        *("defaultvariant", "default_variant", "selectedvariant", "selected_variant", "mastervariant"),
        *("firstvariant", "selectedorfirstavailablevariant", "items", "nodes", "edges", "node"),
    )
)
"""Keys whose values count only if they are objects or lists: the text or number below such a key is an identifier or a
count."""
_FLAGS: Final = frozenset(("sale", "special", "final", "discounted", "current", "now"))
"""Keys of prices that are also keys of flags, which a platform may write as 1."""
_FORMER: Final = (
    *(
        "compareatprice",
        "compare_at_price",
        "oldprice",
        "old_price",
        "listprice",
        "list_price",
        "regularprice",
    ),
    *(
        "regular_price",
        "wasprice",
        "was_price",
        "originalprice",
        "original_price",
        "previousprice",
        "previous",
    ),
    *(
        "strikeprice",
        "strikethroughprice",
        "msrp",
        "rrp",
        "uvp",
        "was",
        "old",
        "original",
        "former",
        "regular",
    ),
    *("basepriceold", "crossedprice", "pricebeforediscount", "full", "list"),
)
_MINOR: Final = re.compile(r"cent(?:s|amount)?$|incents|_cents|minor|unit_amount")
_DIGITS: Final = (
    *(
        "fractiondigits",
        "fraction_digits",
        "currency_minor_unit",
        "minorunit",
        "decimalplaces",
        "exponent",
        "precision",
    ),
    *("decimals", "scale"),
)
"""Keys of the number of decimals of an amount in minor units."""
_CURRENCIES: Final = (
    *(
        "currency",
        "currencycode",
        "currency_code",
        "pricecurrency",
        "currencyisocode",
        "currencyiso",
        "isocode",
    ),
    *("currencyid", "currency_iso", "cur", "unit"),
)
_STOCK: Final = (
    *(
        "availability",
        "availabilitystatus",
        "availability_status",
        "stockstatus",
        "stock_status",
        "stocklevelstatus",
    ),
    *(
        "inventorystatus",
        "instock",
        "in_stock",
        "isinstock",
        "is_in_stock",
        "hasstock",
        "available",
        "isavailable",
    ),
    *(
        "is_available",
        "availableforsale",
        "available_for_sale",
        "purchasable",
        "ispurchasable",
        "buyable",
        "orderable",
    ),
    *("soldout", "sold_out", "issoldout", "outofstock", "out_of_stock", "isoutofstock"),
    *(
        "stock",
        "inventory",
        "stockquantity",
        "stock_quantity",
        "stocklevel",
        "quantityavailable",
        "inventoryquantity",
    ),
)
_SOLD: Final = frozenset(("soldout", "sold_out", "issoldout", "outofstock", "out_of_stock", "isoutofstock"))
_HOLDERS: Final = frozenset(
    ("product", "productdetail", "productdetails", "productdata", "pdp", "currentproduct")
)
_PLATFORM: Final = frozenset(("compare_at_price", "option1", "requires_shipping", "inventory_management"))
"""Keys of a platform whose whole numbers are in minor units."""
_SHOPIFY: Final = frozenset(("Shopify", "ShopifyAnalytics"))
"""Variables that every page of a Shopify shop has. The whole numbers of its product objects are in minor units."""
_TAGS: Final = frozenset(
    ("ShallowReactive", "Reactive", "ShallowRef", "Ref", "Set", "NuxtError", "AsyncData")
)
_ROW: Final = re.compile(r"(?:^|\n)[0-9a-f]{1,8}:(?=[\[{])")
_SEGMENT: Final = re.compile(r"\s[|–—·•:-]\s|\s*[|•]\s*")
_PLAIN: Final = re.compile(r"\d{1,12}(?:\.\d{1,8})?")
_DECODER: Final = json.JSONDecoder(strict=False)


class StateProduct(NamedTuple):
    """The product in a page's scripts. Each value may be None."""

    price: Decimal | None = None
    regular: Decimal | None = None
    currency: str | None = None
    """The currency as an ISO 4217 code."""
    availability: str | None = None
    name: str | None = None
    place: str = ""
    """The keys that lead to the product, joined by points."""


class _Found(NamedTuple):
    score: float
    product: dict[str, Any]
    parents: tuple[dict[str, Any], ...]
    path: tuple[str, ...]


def state_product(
    tree: turbohtml.Document, heading: str, title: str, url: str, fallback: str | None = None
) -> StateProduct:
    """Returns the product that a page's state has under the name that the page shows. `heading`, `title`: the texts of
    the page that may name the product. `fallback`: the currency of the page, if the state names none."""
    names = {_plain(one) for one in (heading, title, *_SEGMENT.split(title)[:1]) if one.strip()}
    values = list(_values(tree))
    best: _Found | None = None
    for one in _products(values, names, _plain(title), url):
        if best is None or one.score > best.score:
            best = one
    if best is None:
        return StateProduct()
    lower = _lower(best.product)
    above = [lower, *map(_lower, reversed(best.parents))]
    above += [{"currency": value} for name, value in values if name.lower().endswith("currency")]
    above += [_lower(value) for _, value in values if isinstance(value, dict)]
    currency = next((code for one in above if (code := _currency(one))), None) or fallback
    if any(name.partition(".")[0] in _SHOPIFY for name, _ in values):
        lower = _in_minor_units(lower)
    read = _amount(lower, _NOW, currency) or next(
        (found for one in above[1:2] if (found := _amount(_priced(one), _NOW, currency))), None
    )
    amount = read.amount if read and (read.currency or read.is_exact) else None
    name = next((value for key in _NAMES if isinstance(value := lower.get(key), str)), None)
    return StateProduct(
        amount,
        _former(lower, amount, currency) if amount is not None else None,
        iso_of(read.currency) if read else None,
        _availability(lower),
        name,
        ".".join(best.path),
    )


def _former(lower: dict[str, Any], now: Decimal, currency: str | None, depth: int = 4) -> Decimal | None:
    """Returns the former price in an object or in the objects that hold its price, or None."""
    for key in (*_FORMER, "price"):
        found = _amount({key: lower[key], **_units(lower)}, (key,), currency) if key in lower else None
        if found and now < found.amount < 20 * now:
            return found.amount
    for key, value in lower.items() if depth else ():
        if key in _NOW:
            for one in value[:200] if isinstance(value, list) else [value]:
                former = _former(_lower(one), now, currency, depth - 1) if isinstance(one, dict) else None
                if former is not None:
                    return former
    return None


def _units(lower: dict[str, Any]) -> dict[str, Any]:
    """Returns the keys that decide how an amount is read."""
    return {
        key: value for key, value in lower.items() if key in _DIGITS or key in _PLATFORM or key == "variants"
    }


def _products(values: list[tuple[str, Any]], names: set[str], title: str, url: str) -> Iterator[_Found]:
    """Yields the objects of the state that may be the page's product, with their scores."""
    left = MAX_NODES
    waiting: list[tuple[Any, tuple[dict[str, Any], ...], tuple[str, ...]]] = [
        (value, (), (name,)) for name, value in values
    ]
    waiting.reverse()
    references: dict[str, Any] = {}
    while waiting and left > 0:
        value, parents, path = waiting.pop()
        left -= 1
        if len(path) > MAX_DEPTH:
            continue
        if isinstance(value, str):
            value = _nested(value)
        if isinstance(value, list):
            waiting += [(one, parents, path) for one in reversed(value[:500]) if isinstance(one, dict | list)]
        elif isinstance(value, dict):
            references |= {key: one for key, one in value.items() if ":" in key and isinstance(one, dict)}
            score = _score(value, names, title, url, path)
            if score >= MIN_SCORE:
                yield _Found(score, _resolved(value, references), parents, path)
            for key, one in reversed(value.items()):
                if isinstance(one, dict | list | str) and not words.OTHERS.search(words.lower(str(key)[:80])):
                    waiting.append((one, (*parents[-3:], value), (*path, str(key)[:40])))


def _score(value: dict[str, Any], names: set[str], title: str, url: str, path: tuple[str, ...]) -> float:
    """Returns how certainly an object is the page's product: 2 and more if it has the page's name."""
    lower = _lower(value)
    name = next((_plain(one) for key in _NAMES if isinstance(one := lower.get(key), str) and one), "")
    held = words.lower(path[-1]) in _HOLDERS
    if not name or not (held or any(key in lower for key in (*_NOW, *_STOCK))):
        return 0
    same = 2.0 if name in names else 1.0 if len(name) > 3 and f" {name} " in f" {title} " else 0.0
    told = any(
        isinstance(one := lower.get(key), str | int) and len(str(one)) > 2 and str(one).lower() in url.lower()
        for key in ("slug", "handle", "url_key", "urlkey", "sku", "id", "code")
    )
    score = same + held + told + 0.5 * (_amount(lower, _NOW, None) is not None) - 0.01 * len(path)
    return score if same or (held and (told or not names)) else 0


def _values(tree: turbohtml.Document) -> Iterator[tuple[str, Any]]:
    """Yields the values of the page's scripts by name, with the formats of frameworks resolved."""
    for name, value in embedded.of(tree).items():
        if name.endswith("__next_f") and isinstance(value, list):
            yield from ((name, row) for row in _rows(value))
        elif isinstance(value, list) and _is_flat(value):
            yield name, _revived(value)
        elif not name and isinstance(value, list):
            yield from (
                (name, _revived(one) if isinstance(one, list) and _is_flat(one) else one) for one in value
            )
        else:
            yield name, value


def _rows(pushed: list[Any]) -> Iterator[Any]:
    """Yields the values of rows in React's flight format: `5:["$", ...]`."""
    text = "".join(
        one[1] for one in pushed if isinstance(one, list) and len(one) > 1 and isinstance(one[1], str)
    )
    for number, start in enumerate(_ROW.finditer(text)):
        if number == MAX_ROWS:
            return
        try:
            yield _DECODER.raw_decode(text, start.end())[0]
        except (ValueError, RecursionError):
            continue


def _is_flat(value: list[Any]) -> bool:
    """Whether a list holds an object graph whose values are positions in the list (Nuxt 3)."""
    first = value[0] if value else None
    if isinstance(first, list) and len(first) > 1 and isinstance(first[0], str) and first[0] in _TAGS:
        return True
    return (
        isinstance(first, dict)
        and len(value) > 2
        and bool(first)
        and all(type(one) is int and -8 < one < len(value) for one in first.values())
    )


def _revived(flat: list[Any]) -> Any:
    """Returns the object graph of a flat list."""
    made: dict[int, Any] = {}

    def value(at: Any, depth: int) -> Any:
        if type(at) is not int or not 0 <= at < len(flat) or depth > MAX_DEPTH or len(made) > MAX_NODES:
            return None
        if at in made:
            return made[at]
        one = flat[at]
        if isinstance(one, dict):
            filled: dict[str, Any] = {}
            made[at] = filled
            filled.update((key, value(place, depth + 1)) for key, place in one.items())
            return filled
        if isinstance(one, list):
            if one and isinstance(one[0], str):
                made[at] = None
                made[at] = value(one[1], depth) if one[0] in _TAGS and len(one) > 1 else None
                return made[at]
            items: list[Any] = []
            made[at] = items
            items.extend(value(place, depth + 1) for place in one[:500])
            return items
        return one

    return value(0, 0)


def _nested(text: str) -> Any:
    """Returns the value of a text that is JSON, else None."""
    if len(text) < 20 or text[0] not in "[{" or "rice" not in text:
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _resolved(value: dict[str, Any], references: dict[str, Any], depth: int = 3) -> dict[str, Any]:
    """Returns an object with its references into a cache of Apollo resolved."""
    found = {}
    for key, one in value.items():
        if (
            isinstance(one, dict)
            and isinstance(name := one.get("__ref") or one.get("id"), str)
            and name in references
        ):
            one = references[name]
        found[key] = _resolved(one, references, depth - 1) if depth and isinstance(one, dict) else one
    return found


def _lower(value: Any) -> dict[str, Any]:
    return {str(key).lower(): one for key, one in value.items()} if isinstance(value, dict) else {}


def _first(lower: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((lower[key] for key in keys if lower.get(key) is not None), None)


def _priced(lower: dict[str, Any]) -> dict[str, Any]:
    """Returns the parts of an object whose keys name a price."""
    return {key: one for key, one in lower.items() if "pric" in key}


def _currency(lower: dict[str, Any]) -> str | None:
    for key in _CURRENCIES:
        found = lower.get(key)
        if isinstance(found, dict):
            found = _first(_lower(found), ("code", "isocode", "iso", "active", "id", "name"))
        if isinstance(found, str) and len(found) <= 20 and iso_of(found):
            return found
    return None


class _Amount(NamedTuple):
    amount: Decimal
    currency: str | None
    """The currency as written."""
    is_exact: bool
    """Whether the amount is certainly not in minor units, even without a currency."""


def _amount(
    lower: dict[str, Any], keys: tuple[str, ...], currency: str | None, depth: int = 6
) -> _Amount | None:
    """Returns the amount under the first of some keys that has one."""
    currency = _currency(lower) or currency
    for key in keys:
        value = lower.get(key)
        if value is None or isinstance(value, bool):
            continue
        if isinstance(value, dict):
            found = _amount(_lower(value), _NOW, currency, depth - 1) if depth else None
        elif isinstance(value, list):
            many = (
                {_amount(_lower(one), _NOW, currency, depth - 1) for one in value[:200]} if depth else set()
            )
            found = many.pop() if len(many - {None}) == 1 == len(many) else None
        elif key in _HOLDERS_OF_PRICES or (value == 1 and key in _FLAGS):
            found = None
        else:
            found = _single(key, value, lower, currency)
        if found:
            return found
    return None


def _single(key: str, value: Any, lower: dict[str, Any], currency: str | None) -> _Amount | None:
    """Reads a number, or a text with a number. A whole number is in minor units if the object says so, by the name of
    the key, by the number of decimals, or by the keys of a platform that writes so."""
    text = str(value).strip()[:60]
    if _PLAIN.fullmatch(text):
        amount, iso = Decimal(text), currency
        digits = _first(lower, _DIGITS)
        if digits is None and lower.get("divisor") in (10, 100, 1000):
            digits = len(str(lower["divisor"])) - 1
        if digits is None and (_MINOR.search(key) or (_is_of_platform(lower) and isinstance(value, int))):
            digits = 2
        scaled = isinstance(digits, int) and 0 < digits < 5 and text.isdecimal()
        amount = amount.scaleb(-digits) if scaled and isinstance(digits, int) else amount
        is_exact = scaled or "." in text
    elif (
        isinstance(value, str)
        and key not in ("sku", "name")
        and (found := price(text, currency))
        and found.amount
    ):
        amount, iso, is_exact = found.amount, found.iso or currency, True
    else:
        return None
    return _Amount(as_shown(amount), iso, is_exact) if amount > 0 else None


def _in_minor_units(lower: dict[str, Any]) -> dict[str, Any]:
    """Returns a product object of Shopify, which has variants, with the number of decimals of its whole numbers."""
    variants = lower.get("variants")
    if not isinstance(variants, list) or not variants or any(name in lower for name in _DIGITS):
        return lower
    known = [{"decimals": 2, **_lower(one)} for one in variants if isinstance(one, dict)]
    return {**lower, "decimals": 2, "variants": known}


def _is_of_platform(lower: dict[str, Any]) -> bool:
    """Whether an object has the keys of a platform whose whole numbers are in minor units."""
    variants = lower.get("variants")
    inner = _lower(variants[0]) if isinstance(variants, list) and variants else {}
    return max(len(_PLATFORM & lower.keys()), len(_PLATFORM & inner.keys())) > 1


def _availability(lower: dict[str, Any], depth: int = 4) -> str | None:
    """Returns the availability that an object of the state has, as a value of schema.org, or None."""
    for key in _STOCK:
        value = lower.get(key)
        if isinstance(value, bool):
            return "InStock" if value != (key in _SOLD) else "OutOfStock"
        if isinstance(value, int | float):
            return "InStock" if value > 0 else "OutOfStock"
        if isinstance(value, str) and (word := availability_of(value) or _worded(value)):
            return word
        if isinstance(value, dict) and depth:
            inner = _lower(value)
            if word := _availability(
                {
                    **inner,
                    **(
                        {"availability": one}
                        if (one := _first(inner, ("status", "value", "code", "level")))
                        else {}
                    ),
                },
                depth - 1,
            ):
                return word
    found = set()
    for key in ("variants", "skus", "offers", "edges", "nodes", "node", "mastervariant", "defaultvariant"):
        inside = lower.get(key)
        for one in inside[:200] if isinstance(inside, list) else [inside]:
            if isinstance(one, dict) and depth and (word := _availability(_lower(one), depth - 1)):
                found.add(word)
    return "InStock" if "InStock" in found else next(iter(found), None)


_WORDED: Final = {"available": "InStock", "in_stock": "InStock", "yes": "InStock", "no": "OutOfStock"}


def _worded(text: str) -> str | None:
    return _WORDED.get(text.strip().lower())


def _plain(text: str) -> str:
    return " ".join(text.lower().split())[:300]

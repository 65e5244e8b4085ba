"""Word lists and patterns that `shop_page` and `products` use to read product pages: classes, labels and
phrases in the languages of many shops."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from gossamer.data import alternatives, grouped, sections

_words = partial(alternatives, "shop_words")
_grouped = partial(grouped, "shop_words")

CALLED: Final = frozenset(
    (
        "class",
        "id",
        "data-test",
        "data-testid",
        "data-test-id",
        "data-qa",
        "data-hook",
        "data-automation",
        "data-automation-id",
        "data-cy",
    )
)
"""Attributes in which the authors of a page name its elements."""


def lower(text: str) -> str:
    """Returns a text in lower case without changing the number of characters. A pattern for lower-case texts
    is several times as fast as a case-insensitive pattern."""
    return text.lower() if text.isascii() else text.replace("\u0130", "i").lower()


OTHERS: Final = re.compile(_grouped("others"))
"""Matches lower-case classes and ids of page sections about other products, or of page sections that are not
about products."""
MORE: Final = re.compile(_grouped("more"))
"""Matches lower-case headings of sections about other products."""
_BEFORE: Final = _words("struck")
STRUCK: Final = re.compile(_BEFORE, re.IGNORECASE)
"""Matches classes and ids of former prices."""
OLD: Final = re.compile(
    rf"{_BEFORE}|regular|saving|discount-|unit|per-|from-|instal|label|(?<![a-z])range|filter|symbol|currency|month|basis",
    re.IGNORECASE,
)
"""Matches classes and ids of prices that are not the product's price, such as unit prices and savings."""
NOW: Final = re.compile(_words("now"), re.IGNORECASE)
"""Matches classes and ids of the current price."""
DOUBTFUL: Final = re.compile(_words("doubtful"), re.IGNORECASE)
"""Matches classes and ids of prices that only some buyers pay, such as prices of members and prices without
taxes."""


def _texts(kind: str, signs: bool = True) -> str:
    """Returns a pattern for words that are typical of the text beside a price of the given kind."""
    ends = f"|{_words(f'signs_{kind}')}" if signs else ""
    return rf"(?<!\w)(?:{_words(f'text_{kind}')})(?!\w){ends}"


_NOT_NOW: Final = {
    "installment": _texts("installment"),
    "without-tax": _texts("without_tax"),
    "deposit": _texts("deposit", signs=False),
    "member-price": _texts("member", signs=False),
    "shipping": _texts("shipping"),
    "converted": _texts("converted"),
    "saving": _texts("saving"),
    "list-price": _texts("former"),
}
NOT_NOW: Final = re.compile("|".join(_NOT_NOW.values()))
"""Matches lower-case words beside prices that are not the current price, such as former prices, prices
without taxes and monthly rates."""
TEXT_ROLES: Final = {role: re.compile(pattern) for role, pattern in _NOT_NOW.items()}
"""Maps the role of a price to the pattern for words beside such a price. `NOT_NOW` combines the patterns of
all roles."""
NAME_ROLES: Final = {
    role: re.compile(_words(f"name_{kind}"), re.IGNORECASE)
    for role, kind in (
        ("unit-price", "unit"),
        ("installment", "installment"),
        ("shipping", "shipping"),
        ("saving", "saving"),
        ("converted", "converted"),
    )
}
"""Patterns for classes and ids of prices that are not the current price, by the role of the price."""
NOT_NOW_NAMES: Final = re.compile("|".join(one.pattern for one in NAME_ROLES.values()))
"""Matches lower-case classes and ids that any pattern of `NAME_ROLES` matches."""
WITH_TAX: Final = re.compile(rf"(?<!\w)(?:{_words('with_tax')})")
"""Matches lower-case words beside a price that includes taxes."""
GONE: Final = _grouped("gone")
"""Pattern alternatives for texts about a product that is not available."""
SOON: Final = _words("soon")
BACK: Final = _words("back")
THERE: Final = _grouped("there")
"""Pattern alternatives for texts about a product that is in stock."""
STOCK_SUBJECT: Final = _words("stock_subject")
"""Pattern alternatives for words that may precede a text about stock."""
STOCK_LABEL: Final = _words("label_stock")
"""Pattern alternatives for labels that may precede a text about stock."""
AUCTION: Final = re.compile(rf"(?<![^\W\d_])(?:{_words('auction')})", re.IGNORECASE)
"""Matches words that occur in the titles and URLs of auctions."""
CLASSIFIED: Final = re.compile(_words("classified"))
"""Matches lower-case texts of buttons for contacting the seller of a classified ad."""
PRICE_LABEL: Final = re.compile(_words("price_label"))
"""Matches lower-case texts that begin with a name for a price or a number of pieces."""
ON_REQUEST: Final = re.compile(_words("on_request"))
"""Matches lower-case texts that stand in place of a price that the shop tells only when asked."""
NOT_FOUND: Final = re.compile(_words("not_found"))
"""Matches lower-case headings of pages that say that there is no such page."""
REMOVED: Final = re.compile(
    rf"(?<!\w)(?:{_words('page_subject')})(?!\w).*(?:{_words('gone')}|{_words('removed')})|"
    rf"(?:{_words('gone')}|{_words('removed')}).*(?<!\w)(?:{_words('page_subject')})(?!\w)"
)
"""Matches lower-case headings that say, in place of a name, that the product is gone."""
BUY: Final = re.compile(_grouped("buy"))
"""Matches lower-case texts, classes and URLs of buttons that put the product into the cart."""
MESSAGE: Final = re.compile(_words("message"), re.IGNORECASE)
"""Matches texts of buttons that request a message when the product is available again."""
BARE_PRICE: Final = re.compile(
    r"[^\d%]{0,12}\d[\d.,'’ʼ‘‛ʹ′ \u00a0\u202f\u2002-\u200a\u205f]{0,14}"
    rf"(?:[^\d%]{{0,14}}|[^\d%]{{0,8}}(?<!\w)(?:{_words('with_tax')})[^\d%]{{0,12}})",
    re.IGNORECASE,
)
"""Matches a text that contains only a price, its currency, and possibly a note about included taxes."""
COUNT: Final = re.compile(r"\s*\+|\s*\D{0,3}\d[\d.,]*[KMGBT]\W*$")
"""Matches short texts that are not a price but a surcharge, points or a count (`+ 250 P`, `9.3K`, `5G`)."""
PRICED: Final = ("content", "data-price", "data-product-price", "data-price-amount")
PRICES: Final = (
    "[itemprop~=price]",
    "[data-price], [data-product-price], [data-price-amount]",
    '[id*="price" i], [class*="price" i]',
    '[data-testid*="price" i], [data-test*="price" i], [data-qa*="price" i], [data-hook*="price" i]',
    (
        '[class*="preis" i], [class*="prix" i], [class*="prezzo" i], [class*="precio" i], '
        '[class*="preco" i], [class*="cena" i]'
    ),
    '[class*="prijs" i], [class*="prc" i], [id*="prc" i], [class*="hinta" i], [class*="fiyat" i]',
    '[id*="preis" i], [id*="prix" i], [id*="cena" i]',
)
_NO: Final = r"(?:nummer|number|no\.?|nr\.?|num\.?|id|code|#)"
LABELS: Final = {
    field: re.compile(_words(f"label_{field}").replace("{no}", _NO), re.IGNORECASE)
    for field in ("sku", "mpn", "brand", "publisher", "gtin")
}
ANY_LABEL: Final = re.compile("|".join(pattern.pattern for pattern in LABELS.values()))
"""Matches a label of any kind at the beginning of a lower-case text."""
LABELS["stock"] = re.compile(STOCK_LABEL, re.IGNORECASE)
ANY_FIELD: Final = re.compile(f"{ANY_LABEL.pattern}|{STOCK_LABEL}")
"""Matches a label of any kind, or of the availability, at the beginning of a lower-case text."""
LABEL: Final = re.compile(r"[^\W\d_][\w .-]{1,24}:\s")
"""Matches any label with a colon at the beginning of a text, such as `Weight: `."""
NUMBERED: Final = (
    "[itemprop~=sku], [data-sku], [data-product-sku], [data-item-number], [class~=sku], [id=sku]"
)
HELD: Final = ("content", "data-sku", "data-product-sku", "data-item-number")
ENTITIES: Final = ("data-product-id", "data-pid", "data-item-id", "data-article-id")
"""Attributes that contain a product id for the shop's scripts. The product id is used only if the page
contains no product number that is more reliable."""
MARKS: Final = " \n\t\r:：#№.\u200e\u200f\u202a\xa0-–|"
SAYS: Final = re.compile(r"[\s\u200e]*[:：|–]|\s+-\s")
APART: Final = frozenset(("br", "p", "div", "li", "td", "th", "tr", "dt", "dd"))
IDS: Final = frozenset(
    (
        "sku",
        "pid",
        "productid",
        "product_id",
        "products_id",
        "itemid",
        "item_id",
        "id",
        "item",
        "article",
        "asin",
        "variantid",
        "skuid",
    )
)
IN_PATH: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,4}[-_]?)?(\d{5,20})(?![A-Za-z0-9])|"
    r"(?<![A-Za-z0-9])([A-Z0-9]{8,14})(?![A-Za-z0-9])"
)
BRANDED: Final = re.compile(r"(?:^|[\s_-])product[\w-]*[-_]brand(?:[-_]?name)?(?:\s|$)", re.IGNORECASE)
MAKERS: Final = (
    '[class*="brand" i], [id*="brand" i], [class*="manufacturer" i], [class*="vendor" i], '
    '[class*="designer" i], '
    '[class*="supplier" i], '
    '[class*="producer" i], [class*="hersteller" i], [class*="marque" i], [class*="marca" i], '
    '[class*="marke" i], [class*="merk" i], '
    '[data-testid*="brand" i], [data-test*="brand" i]'
)
MAKER: Final = re.compile(
    r"brand(?!ing)|manufacturer|vendor|designer|supplier|producer|hersteller|(?<![a-z])(?:marque(?!e)|marca|marke(?!t)|merke?(?![a-z]))",
    re.IGNORECASE,
)
OF_MAKER: Final = re.compile(
    r"[/_.-](?:brands?|marken?|marques?|marcas?|marche|merke[nr]?|manufacturers?|hersteller|fabricantes?|vendors?|designers?|"
    r"producers?|producenci|"
    r"producent|znacky|znacka|vyrobc[ei])[/_=-][\w%]",
)
"""Matches URLs of brand pages, in lower case."""
EMBEDDED_KEYS: Final = {
    "currency": ("currency", "priceCurrency"),
    "sku": ("sku", "productSku", "product_sku"),
    "brand": ("brand", "manufacturer", "vendor"),
}
"""The beginnings of the keys that the patterns of `EMBEDDED` match after a quotation mark."""
EMBEDDED: Final = {
    "currency": re.compile(
        r"""\\?["'](?:currency|currencyCode|priceCurrency)\\?["']\s?:\s?\\?["']([A-Z]{3})\\?["']"""
    ),
    "sku": re.compile(
        r"""\\?["'](?:sku|productSku|product_sku)\\?["']\s?:\s?\\?["']([\w./-]{3,40})\\?["']"""
    ),
    "brand": re.compile(
        r"""\\?["'](?:brand|brandName|brand_name|manufacturer|vendor)\\?["']\s?:\s?\\?["']([^"'\\{}<>]{2,40})\\?["']"""
    ),
}


def _keyed(keys: str, value: str) -> re.Pattern[str]:
    """Returns a pattern for a key of an object and the value after the key. `keys`: the possible names of the
    key, separated by `|`."""
    return re.compile(
        rf"""(?:[{{,\s"']|^)(?:{keys})\\?["']?\s?:\s?\\?["']?({value})\\?["']?\s*(?:[,}}\]\n]|$)"""
    )


BRAND_OBJECT: Final = re.compile(
    r"""("(?:brand|manufacturer|vendor)"\s?:\s?)\{[^{}"]{0,5}(?:"(?!name")\w{1,20}"\s?:\s?[^{},]{1,80},\s?){0,5}"""
    r""""name"\s?:\s?("[^"{}]{1,60}")[^{}]{0,300}\}"""
)
STATE: Final = {
    "sku": tuple(
        _keyed(keys, r"[\w./-]{0,30}\d[\w./-]{0,30}")
        for keys in (
            r"sku|item_sku|productSku|product_sku",
            r"item_id|itemId|item_number|\w{0,12}(?:[aA]rticle|[pP]art|[iI]tem|[sS]tyle)(?:Number|No)|productCode|product_code|code",
            "productId|product_id|id",
        )
    ),
    "brand": (
        _keyed(r"brand|item_brand|brandName|brand_name|manufacturer|vendor", r"""[^"'\\{}<>,\n]{2,40}"""),
    ),
}
"""Maps each field of a product to patterns for the field in a product object in a script. For each field, the
patterns of the most reliable keys come first."""
LOGO: Final = re.compile(r"^logo (?:of |von |de )?|[ -]+logo$", re.IGNORECASE)
STORE: Final = re.compile(_words("store"), re.IGNORECASE)
LABELLED: Final = re.compile(rf"(?<![^\W\d_])(?:{LABELS['brand'].pattern})\s*[:：]", re.IGNORECASE)
NO_BRAND: Final = re.compile(
    r"[{}<>$]|\b(?:brands|marken|marcas|marques|marche|null|undefined|none|n/?a|(?:our|all) \w+)\b",
    re.IGNORECASE,
)
SIGNS: Final = {
    sign: dict(one.split("=") for one in rest)
    for sign, *rest in map(str.split, sections("currencies")["signs"])
}
"""For each sign that several currencies share, maps country codes and language codes to currency codes."""

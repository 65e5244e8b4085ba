"""Reads the product that a page is about: one record, its offers and variants, and all of its prices.

- `product(body, url)` returns the record: name, price, currency, SKU, GTIN, brand and availability.
- `product_page(body, url)` returns the record and its sources: offers, variants, price candidates with their
  roles, the decision or the reason why there is none, unit price, pack and list price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.parsing.products.candidates import (
    CONFIDENCE,
    ON_REQUEST,
    PriceCandidate,
    PriceDecision,
    PriceRole,
)

if TYPE_CHECKING:
    from gossamer.model.media_types import Body
    from gossamer.parsing.html import Document
    from gossamer.parsing.products.offers import PageOffer, amount_of, availability_of, iso_of
    from gossamer.parsing.products.pages import ProductPage, listed_prices
    from gossamer.parsing.products.structured_product import FIELDS
    from gossamer.parsing.products.unit_prices import Pack, UnitPrice

__all__ = [
    "CONFIDENCE",
    "FIELDS",
    "ON_REQUEST",
    "Pack",
    "PageOffer",
    "PriceCandidate",
    "PriceDecision",
    "PriceRole",
    "ProductPage",
    "UnitPrice",
    "amount_of",
    "availability_of",
    "iso_of",
    "listed_prices",
    "of",
    "product",
    "product_page",
]


_MODULES = {
    "FIELDS": "structured_product",
    "Pack": "unit_prices",
    "PageOffer": "offers",
    "ProductPage": "pages",
    "listed_prices": "pages",
    "UnitPrice": "unit_prices",
    "amount_of": "offers",
    "availability_of": "offers",
    "iso_of": "offers",
}


def __getattr__(name: str) -> Any:
    """Imports `ProductPage` when it is first used, because that import compiles long lists of words."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


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
    from gossamer.parsing.html import parse

    return of(parse(body, content_type, url))


def of(page: Document, found: dict[str, Any] | None = None) -> dict[str, Any]:
    """Does the same as `product` for a parsed page. `found` is the page's structured data, if it has already
    been read."""
    from gossamer.parsing.products.pages import ProductPage

    return ProductPage(page, found).record


def product_page(body: Body, url: str | None = None, content_type: str | None = None) -> ProductPage:
    """Returns all data that a page contains about its product. Accepts any bytes and never raises.

    >>> page = product_page("<h1>Tea 250 g</h1><p class=price>5,00 €</p><p class=price>4,20 € excl. VAT</p>")
    >>> page.decision.price.amount, page.unit_price
    (Decimal('5.00'), UnitPrice(amount=Decimal('20'), unit='kg', raw=''))
    >>> [(str(one.amount), str(one.role)) for one in page.all_candidates]
    [('5.00', 'price'), ('4.20', 'without-tax')]
    """
    from gossamer.parsing.html import parse
    from gossamer.parsing.products.pages import ProductPage

    return ProductPage(parse(body, content_type, url))

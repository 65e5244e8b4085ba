"""Finds the product pages of a shop by a crawl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import gossamer
from gossamer.errors import UsageError
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.targets import currencies, shop_of


def discover(url: str, *, limit: int, options: Mapping[str, Any] | None = None) -> Iterator[PriceTarget]:
    """Crawls a shop and yields a target for each product page. A product page has a price. A product page
    also has at least one of the following: an offer in structured data, a variant, an SKU, or an
    availability. A page below a product page is left out if both pages have the same product name. For
    example, the page `/p/7/reviews` is below the product page `/p/7`. Raises GossamerError."""
    start = gossamer.url.parse(url)
    if start is None or not start.startswith(("http://", "https://")):
        raise UsageError(f"shop:{url}: write the address of the shop, such as shop:https://shop.example/")
    seen: dict[str, str] = {}
    listings = set[str]()
    for page in gossamer.crawl(start, limit=limit, sitemaps=True, progress=True, **(options or {})):
        if page.status != 200 or page.error:
            continue
        main, product = page.product, page.product_page
        sold = product.offers or product.variants or main["sku"] or main["availability"]
        address = page["canonical"] or page.url
        whole, _, query = address.partition("?")
        if main["price"] is None or not sold:
            listings.add(whole)
            continue
        if query and whole in listings:  # a filter or a search that leaves one product
            continue
        if address in seen or gossamer.url.host(address) != gossamer.url.host(page.url):
            continue
        name = main["name"] or ""
        if name and name in (seen.get(parent) for parent in _parents(address)):
            continue
        seen[address] = name
        yield PriceTarget(
            key=address,
            url=address,
            shop=shop_of(address),
            name=name,
            currency=main["currency"] if main["currency"] in currencies() else "",
        )


def _parents(address: str) -> Iterator[str]:
    """Yields the addresses of all parent folders of an address, each with and without a final slash.

    >>> list(_parents("https://shop.example/p/7"))
    ['https://shop.example/p/', 'https://shop.example/p', 'https://shop.example/', 'https://shop.example']
    """
    parts = urlsplit(address)
    path = parts.path.rstrip("/")
    while path:
        path = path.rpartition("/")[0]
        yield f"{parts.scheme}://{parts.netloc}{path}/"
        yield f"{parts.scheme}://{parts.netloc}{path}"

"""Finds the product pages of a shop by a crawl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gossamer
from gossamer.errors import UsageError
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.targets import currencies, shop_of


def discover(url: str, *, limit: int, options: Mapping[str, Any] | None = None) -> Iterator[PriceTarget]:
    """Crawls a shop and yields a target for each product page. A page counts as a product page if it has a
    price and also an offer in structured data, an SKU or an availability. Raises GossamerError."""
    start = gossamer.url.parse(url)
    if start is None or not start.startswith(("http://", "https://")):
        raise UsageError(f"shop:{url}: write the address of the shop, such as shop:https://shop.example/")
    seen: set[str] = set()
    for page in gossamer.crawl(start, limit=limit, sitemaps=True, progress=True, **(options or {})):
        if page.status != 200 or page.error:
            continue
        main = page.product
        if main["price"] is None:
            continue
        product = page.product_page
        if not (product.offers or product.variants or (main["sku"] or main["availability"])):
            continue
        address = page["canonical"] or page.url
        if address in seen or gossamer.url.host(address) != gossamer.url.host(page.url):
            continue
        seen.add(address)
        yield PriceTarget(
            key=address,
            url=address,
            shop=shop_of(address),
            name=main["name"] or "",
            currency=main["currency"] if main["currency"] in currencies() else "",
        )

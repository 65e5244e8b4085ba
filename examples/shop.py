"""Extracts the products of a WooCommerce shop: https://scrapeme.live/shop/, a shop made for practice.

    gossamer crawl examples/shop.py -o products.csv

The listing pages contain all the required data, so the crawl fetches only these pages: 48 requests for 755
products. Most WooCommerce shops have this markup. To crawl another shop, change `hosts` and `seeds`.
"""

import re
from decimal import Decimal

from gossamer import Item, Site

site = Site("shop", hosts=["scrapeme.live"], seeds=["https://scrapeme.live/shop/"], must_have=["ul.products"])


class Product(Item, key="id"):
    id: int
    name: str
    price: Decimal | None
    """The price, or the lowest price if sizes have their own prices. None if the shop shows no price (sold
    out, on request)."""
    url: str


@site.page()
def listing(page):
    for product in page.css("ul.products:not(.related *, .upsells *) > li.product"):
        number = product.css("[data-product_id]::attr(data-product_id)").get() or product.attrib["class"]
        price = ".price ins" if product.css(".price ins") else ".price"  # <del> contains the former price
        yield Product(
            id=int(re.search(r"(?:^|post-)(\d+)", number)[1]),
            name=" ".join("".join(product.css(".woocommerce-loop-product__title ::text").getall()).split()),
            price=product.price(price),
            url=page.urljoin(product.css("a::attr(href)").get()),
        )
    yield from page.follow("a.next.page-numbers")

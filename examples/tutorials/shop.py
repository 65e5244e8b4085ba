"""Extracts the products of a WooCommerce shop into one Redis hash, by id. Follows only the pagination.

gossamer crawl examples/tutorials/shop.py -o 'valkey://127.0.0.1:6379/0?hash=crawling:product'
"""

from gossamer import Item, Site

site = Site("tutorial_shop", seeds=["http://127.0.0.1:8000/shop/"])


class Product(Item, key="id"):
    id: int
    name: str
    price: str
    """The price as the page shows it."""


@site.page()
def listing(page):
    for product in page.css(".product"):
        yield Product(
            id=int(product.css("[data-product_id]::attr(data-product_id)").get()),
            name=product.css("h2::text").get(),
            price=product.css(".amount::text").get(),
        )
    yield from page.follow("a[href*='/shop/page/']:not([href*='#'])")

"""The products of a WooCommerce shop: https://scrapeme.live/shop/, a shop made for practice.

    gossamer crawl examples/shop.py -o products.csv

The listing pages say all that is wanted, so only they are fetched: 48 requests for 755 products.
Most WooCommerce shops have this markup: change `hosts` and `seeds`, and try.
"""

from decimal import Decimal

from gossamer import Item, Site

site = Site("shop", hosts=["scrapeme.live"], seeds=["https://scrapeme.live/shop/"], must_have=["ul.products"])


class Product(Item, key="id"):
    id: int
    name: str
    price: Decimal | None
    """None when the shop names none (sold out, on request)."""
    url: str


@site.page(r"^/shop/(page/\d+/)?$")
def listing(page):
    for product in page.css("ul.products > li.product"):
        yield Product(
            id=int(product.css("[data-product_id]::attr(data-product_id)").get()),
            name=product.css(".woocommerce-loop-product__title::text").get("").strip(),
            price=product.price(".price ins") or product.price(".price"),  # <del> is what it cost before
            url=page.urljoin(product.css("a::attr(href)").get()),
        )
    yield from page.follow("a.next.page-numbers")

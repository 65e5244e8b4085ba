from gossamer import Item, Site
from gossamer.items import Unwanted


class Product(Item, key="sku"):
    sku: str
    price: float | None


def has_price(item, page):
    if item["price"] is None:
        raise Unwanted("no price")


site = Site("pipeline", seeds=["http://127.0.0.1:8000/checked/"], steps=[has_price], sinks=["shop.sqlite"])


@site.page()
def products(page):
    for row in page.css("tr"):
        yield Product(sku=row.css(".sku::text").get(), price=row.price(".price"))
    yield from page.follow("li.next a")

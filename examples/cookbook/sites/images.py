from typing import Annotated

from gossamer import Image, Item, Site

site = Site("images", seeds=["http://127.0.0.1:8000/images/"])


class Book(Item):
    title: str
    cover: Annotated[str, Image()]


@site.page()
def listing(page):
    for book in page.css("article"):
        yield Book(title=book.css("h2::text").get(), cover=book.css("img::attr(src)").get())
    yield from page.follow("li.next a")

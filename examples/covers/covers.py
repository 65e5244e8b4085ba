"""Extracts books with their covers and categories from https://books.toscrape.com, a site made for practice.

    gossamer crawl examples/covers/covers.py -o covers.sqlite --files covers

Each cover is fetched once, and stored in `covers/` under the hash of its content. The tables `file` and
`reference` join a cover with its book.

    sqlite3 covers.sqlite "SELECT b.title, f.path FROM book b JOIN reference r ON r.key = b._key AND r.field = 'cover'
        JOIN file f ON f.url = r.to_key"
    sqlite3 covers.sqlite "SELECT c.name, count(*) FROM category c JOIN reference r ON r.to_kind = 'category'
        AND r.to_key = c._key GROUP BY 1"
"""

from typing import Annotated

from gossamer import Image, Item, Ref, Site

site = Site("covers", hosts=["books.toscrape.com"], seeds=["https://books.toscrape.com/"])


class Category(Item, key="name"):
    name: str


class Book(Item, key="upc"):
    upc: str
    title: str
    cover: Annotated[str | None, Image("image/jpeg", "image/png", size="2M", width=50)]
    category: Annotated[str | None, Ref(Category)]


@site.page(r"/catalogue/[^/]+/index\.html$")
def book(page):
    category = page.css(".breadcrumb a[href*='/books/']::text").get()
    yield Category(name=category)
    yield Book(
        upc=page.css("td::text").get(),
        title=page.css("h1::text").get(),
        cover=page.css("#product_gallery img::attr(src)").get(),
        category=category,
    )


@site.page()
def listing(page):
    yield from page.follow("article h3 a, li.next a")

"""Extracts books from https://books.toscrape.com, a site made for practice.

gossamer crawl examples/books.py -o books.parquet
"""

from decimal import Decimal

from gossamer import Item, Site

site = Site("books", hosts=["books.toscrape.com"], seeds=["https://books.toscrape.com/"])


class Book(Item, key="upc"):
    upc: str
    title: str
    price: Decimal


@site.page(r"/catalogue/[^/]+/index\.html$")
def book(page):
    yield Book(
        upc=page.css("td::text").get(),
        title=page.css("h1::text").get(),
        price=page.price(".price_color"),
    )


@site.page()
def listing(page):
    yield from page.follow("article h3 a, li.next a")

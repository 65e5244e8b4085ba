"""Extracts quotes into one Redis list per author. An entry of a list is the text of a quote.

gossamer crawl examples/tutorials/quotes.py -o 'valkey://127.0.0.1:6379/0?list=crawling:quote:{author}&value=text'
"""

from gossamer import Item, Site

site = Site("tutorial_quotes", seeds=["http://127.0.0.2:8000/"])


class Quote(Item):
    text: str
    author: str


@site.page()
def listing(page):
    for quote in page.css(".quote"):
        yield Quote(text=quote.css(".text::text").get(), author=quote.css(".author::text").get())
    yield from page.follow("li.next a")

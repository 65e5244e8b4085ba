"""Extracts pages that are complete only after a log-in from https://quotes.toscrape.com, a site made for
practice.

    QUOTES_USER=me QUOTES_PASSWORD=any gossamer crawl examples/login/members.py -o quotes.jsonl
    gossamer sessions list

The site accepts any user and password. After the log-in, the pages show a link to Goodreads beside each
author. gossamer logs in once, and later crawls use the session until it ends.
"""

from gossamer import Item, Login, Site

site = Site(
    "members",
    hosts=["quotes.toscrape.com"],
    seeds=["https://quotes.toscrape.com/"],
    session=Login(
        "https://quotes.toscrape.com/login",
        {"username": "${env:QUOTES_USER}", "password": "${env:QUOTES_PASSWORD}"},
        shows="a[href='/logout']",
    ),
)


class Quote(Item):
    text: str
    author: str
    goodreads: str
    """The author's page on Goodreads, whose link is visible only after the log-in."""


@site.page(r"^/(page/\d+/)?$")
def listing(page):
    for quote in page.css("div.quote"):
        yield Quote(
            text=quote.css(".text::text").get("").strip("“”"),
            author=quote.css(".author::text").get(),
            goodreads=quote.css("a[href*='goodreads.com']::attr(href)").get(),
        )
    yield from page.follow("li.next a")

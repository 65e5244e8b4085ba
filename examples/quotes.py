"""Extracts quotes and their authors from https://quotes.toscrape.com, a site made for practice.

    gossamer crawl examples/quotes.py -o quotes.jsonl

There are two kinds of items. A Quote contains the path of its author's page. The path is the key of an
Author, so a Quote can be joined with its Author.
"""

from gossamer import Item, Site

site = Site(
    "quotes",
    hosts=["quotes.toscrape.com"],
    seeds=["https://quotes.toscrape.com/"],
    must_have=["h1 a"],  # a page without this link is an error page, even if its status is 200
)


class Quote(Item):
    text: str
    author: str
    author_page: str
    """The path of the author's page, which equals `page` of the Author."""
    tags: list[str]


class Author(Item, key="page"):
    page: str
    name: str
    born: str
    born_in: str
    about: str


@site.page(r"^/author/")
def author(page):
    yield Author(
        page=path(page.url),
        name=page.css(".author-title::text").get("").strip(),
        born=page.css(".author-born-date::text").get(""),
        born_in=page.css(".author-born-location::text").get("").removeprefix("in "),
        about=" ".join(page.css(".author-description::text").get("").split()),
    )


@site.page(r"^/(tag/[^/]+/)?(page/\d+/)?$")
def listing(page):
    for quote in page.css("div.quote"):
        yield Quote(
            text=quote.css(".text::text").get("").removeprefix("“").removesuffix("”"),
            author=quote.css(".author::text").get(),
            author_page=path(quote.css("a[href^='/author/']::attr(href)").get()),
            tags=quote.css("a.tag::text").getall(),
        )
    yield from page.follow("a[href^='/author/'], li.next a")


def path(url):
    """Returns `/author/Name` for a URL of an author. The URL may be a link or the URL of the page itself."""
    return "/author/" + url.partition("/author/")[2].strip("/")

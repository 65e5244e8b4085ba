"""Quotes with their authors: https://quotes.toscrape.com, a site made for practice.

    gossamer crawl examples/quotes.py -o quotes.jsonl

Two kinds of items: a Quote names its author's page, an Author is keyed by that page, so the two join on it.
"""

from gossamer import Item, Site

site = Site(
    "quotes",
    hosts=["quotes.toscrape.com"],
    seeds=["https://quotes.toscrape.com/"],
    must_have=["h1 a"],  # a page without the site's head is an error page, whatever its status says
)


class Quote(Item):
    text: str
    author: str
    author_page: str
    """Path of the author's page: what joins a quote with its Author."""
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
    """`/author/Name` of an author's URL, the same in a link and on the page itself."""
    return "/author/" + url.partition("/author/")[2].strip("/")

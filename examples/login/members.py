"""Pages that only those who are logged in see whole: https://quotes.toscrape.com, a site made for practice,
which lets anybody in.

    QUOTES_USER=me QUOTES_PASSWORD=any gossamer crawl examples/login/members.py -o quotes.jsonl
    gossamer sessions list

Who is logged in sees beside each author a link to Goodreads. The log-in is made once; later crawls use it as
long as it holds.
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
    """The author's page there: nobody sees it who is not logged in."""


@site.page(r"^/(page/\d+/)?$")
def listing(page):
    for quote in page.css("div.quote"):
        yield Quote(
            text=quote.css(".text::text").get("").strip("“”"),
            author=quote.css(".author::text").get(),
            goodreads=quote.css("a[href*='goodreads.com']::attr(href)").get(),
        )
    yield from page.follow("li.next a")

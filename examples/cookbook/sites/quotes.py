from gossamer import Site

site = Site("quotes", seeds=["http://127.0.0.1:8000/quotes/"])


@site.page()
def quotes(page):
    for quote in page.css("div.quote"):
        yield {
            "text": quote.css("span.text::text").get(),
            "author": quote.css("small.author::text").get(),
            "tags": quote.css("a.tag::text").getall(),
        }
    yield from page.follow("li.next a")

from gossamer import Site

site = Site("sitemap", hosts=["127.0.0.1:8000"])


@site.page("/news/")
def news(page):
    yield {
        "title": page.css("article h1::text").get(),
        "day": page.css("time::attr(datetime)").get(),
    }

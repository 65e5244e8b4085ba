from gossamer import Site

site = Site("gone", seeds=["http://127.0.0.1:8000/offers/"])


@site.page(r"/offers/\d")
def offer(page):
    yield {"path": page.url.partition("8000")[2], "title": page.css("h1::text").get()}


@site.page(status=[404, 410])
def gone(page):
    yield {"path": page.url.partition("8000")[2], "gone": page.status}


@site.page()
def listing(page):
    yield from page.follow("a")

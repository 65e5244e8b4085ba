from gossamer import Site

site = Site("shared", seeds=["http://127.0.0.1:8000/shelves/"])


@site.page("/shelf/")
def shelf(page):
    yield from page.follow("a.book", carry=page.url.rpartition("/")[2], again=True)


@site.page("/book/")
def book(page):
    yield {"shelf": page.carry, "title": page.css("h1::text").get()}


@site.page()
def shelves(page):
    yield from page.follow("a.shelf")

from gossamer import Site

site = Site("books", seeds=["http://127.0.0.1:8000/books/"])


@site.page("/book/")
def book(page):
    yield {
        "title": page.css("h1::text").get(),
        "upc": page.css(".upc::text").get(),
        "price": page.price(".price"),
    }


@site.page()
def listing(page):
    yield from page.follow("h3 a, li.next a")

from gossamer import Site

site = Site("search", seeds=["http://127.0.0.1:8000/search/"])


@site.page("/find")
def results(page):
    for result in page.css("li::text").getall():
        yield {"result": result}


@site.page()
def form(page):
    for words in ("tea", "coffee", "cocoa"):
        yield page.form("#search").fill(q=words)

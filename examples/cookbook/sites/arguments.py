from gossamer import Site


def seeds(args):
    return [f"http://127.0.0.1:8000/categories/{one}" for one in args["categories"].split(",")]


site = Site("arguments", hosts=["127.0.0.1"], seeds=seeds, args={"categories": "poetry"})


@site.page()
def titles(page):
    for title in page.css("li:not(.next)::text").getall():
        yield {"title": title}
    yield from page.follow("li.next a")

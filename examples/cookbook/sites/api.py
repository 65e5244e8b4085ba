from gossamer import Site

site = Site("api", seeds=["http://127.0.0.1:8000/api/?page=1"])


@site.page()
def items(page):
    for item in page.json("items"):
        yield {"id": item["id"], "name": item["name"], "price": item["price"]["amount"]}
    yield page.json("next")

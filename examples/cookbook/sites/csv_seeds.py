import csv

from gossamer import Site

with open("urls.csv", newline="") as file:
    SHELVES = {row["url"]: row["shelf"] for row in csv.DictReader(file)}

site = Site("csv_seeds", seeds=SHELVES)


@site.page()
def product(page):
    yield {
        "name": page.css("h1::text").get(),
        "shelf": SHELVES[page.url],
        "price": page.price(".price"),
    }

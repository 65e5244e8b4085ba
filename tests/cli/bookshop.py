"""A small bookshop: a listing of two pages, detail pages, a table, and pages that a crawl must not read or
cannot read."""

from __future__ import annotations

import http.server
from typing import Any

ROBOTS = "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /secret/\n"
SITE = """from decimal import Decimal
from gossamer import Item, Site

site = Site("books", hosts=["{host}"], seeds=["http://{host}/"])

class Book(Item, key="title"):
    title: str
    price: Decimal | None
    shelf: str | None

@site.page(r"^/book-")
def book(page):
    shelf = (page.carry or {{}}).get("shelf")
    yield Book(title=page.css("h1::text").get(), price=page.price(".price"), shelf=shelf)

@site.page(r"^/nothing")
def nothing(page):
    return []

@site.page()
def listing(page):
    yield from page.follow("h3 a", use="book", carry={{"shelf": page.title}})
    yield from page.follow("li.next a")
    yield "https://other.example/x"
    yield "/secret/z"
"""


def card(number: int) -> str:
    return (
        f'<article class="product_pod"><img src="/{number}.png"><h3><a href="/book-{number}/index.html">'
        f'The Book of {number}</a></h3><p class="price">£1{number}.50</p></article>'
    )


def body_of(path: str) -> tuple[int, str]:
    """Return the status and the body of the page at a path."""
    sides = "".join(f'<li><a href="/shelf/{n}">Shelf {n}</a></li>' for n in range(30))
    if path == "/":
        rest = '<a href="https://other.example/">o</a><a href="/secret/x">s</a><a rel="nofollow" href="/nf">n</a>'
        cards = "".join(map(card, range(6)))
        following = '<ul class="pager"><li class="next"><a href="/page-2.html">next</a></li></ul>'
        return 200, f'<title>Books</title><h1>All</h1><ul class="nav">{sides}</ul>{cards}{rest}{following}'
    if path == "/page-2.html":
        return 200, f"<title>Books 2</title><h1>All</h1>{''.join(map(card, range(6, 9)))}"
    if path.startswith("/book-"):
        table = "<table><tr><th>UPC</th><td>a897</td></tr><tr><th>Tax</th><td>£0.00</td></tr></table>"
        title = f"<h1>The Book of {path[6]}</h1>"
        return (
            200,
            f'<title>Book</title>{title}<p class="price">£1{path[6]}.50</p><p class="stock">In stock</p>{table}',
        )
    if path == "/cities":
        head = "<tr><th>City</th><th>Area (km²)</th></tr>"
        return (
            200,
            f"<title>C</title><table>{head}<tr><td>Rome</td><td>1285</td></tr><tr><td>Bari</td><td>117</td></tr></table>",
        )
    pages = {
        "/app": '<title>App</title><div id="root"></div><script src="/app.js"></script>',
        "/nothing": "<h1>Nothing</h1>",
        "/robots.txt": ROBOTS,
    }
    return (200, pages[path]) if path in pages else (404, "none")


class Bookshop(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = (302, "") if self.path == "/moved" else body_of(self.path)
        data = body.encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/secret/y")
        kind = "text/plain" if self.path == "/robots.txt" else "text/html; charset=utf-8"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""

"""Serves a small bookshop on this machine for practice crawls: `python examples/bookshop/serve.py`.

The pages have the markup of books.toscrape.com: listings of five books each, and one page per book. `--port
N` selects the port (default 8000; 0: any free port). `--sale` lowers the prices of two books. The program
needs only Python.
"""

from __future__ import annotations

import argparse
import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BOOKS = [  # title, price, copies in stock
    ("A Grammar of Snow", 18.50, 3),
    ("Small Boats, Large Water", 12.00, 12),
    ("The Kettle's Long Evening", 9.75, 0),
    ("Tidal Clocks", 21.30, 7),
    ("Slow Maps", 15.00, 4),
    ("The Ferry to Anywhere", 11.25, 9),
    ("Letters to a Lighthouse", 8.40, 1),
    ("Winter Bees", 16.80, 5),
    ("The Paper Orchard", 13.60, 2),
    ("Nine Quiet Engines", 24.90, 6),
    ("Under the Tin Roof", 7.95, 0),
    ("A Map of Echoes", 19.20, 8),
]
PER_PAGE = 5
ROBOTS = "User-agent: *\nDisallow: /basket\n"


def slug(title: str) -> str:
    """Returns the book's name for its URL, such as "slow-maps" for "Slow Maps"."""
    return "-".join("".join(c for c in title.lower() if c.isalnum() or c == " ").split())


def shell(title: str, body: str) -> str:
    """Returns a whole page."""
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title></head><body>\n"
        f'<p><a href="/">Bookshop</a> <a href="/basket">Basket</a></p>\n{body}\n</body></html>\n'
    )


def listing(number: int) -> str:
    """Returns the listing page with this number. The first number is 1."""
    books = BOOKS[(number - 1) * PER_PAGE : number * PER_PAGE]
    cards = "\n".join(
        f'<article class="product_pod"><h3><a href="/catalogue/{slug(title)}/index.html">{title}</a></h3>'
        f'<p class="price_color">£{price:.2f}</p></article>'
        for title, price, _ in books
    )
    is_last = number * PER_PAGE >= len(BOOKS)
    following = (
        "" if is_last else f'<ul><li class="next"><a href="/page-{number + 1}.html">next</a></li></ul>'
    )
    return shell("All books", f"<h1>All books</h1>\n{cards}\n{following}")


def book(title: str, price: float, copies: int) -> str:
    """Returns the page of one book."""
    upc = hashlib.sha256(title.encode()).hexdigest()[:12]
    stock = f"In stock ({copies} available)" if copies else "Out of stock"
    return shell(
        title,
        f'<article class="product_page"><h1>{title}</h1><p class="price_color">£{price:.2f}</p>'
        f'<p class="availability">{stock}</p><table><tr><th>UPC</th><td>{upc}</td></tr></table></article>',
    )


def pages(sale: bool) -> dict[str, str]:
    """Returns every page of the shop by its path."""
    listings = {f"/page-{n}.html": listing(n) for n in range(2, -(-len(BOOKS) // PER_PAGE) + 1)}
    prices = {"Slow Maps": 9.00, "Winter Bees": 12.50} if sale else {}
    books = {
        f"/catalogue/{slug(title)}/index.html": book(title, prices.get(title, price), copies)
        for title, price, copies in BOOKS
    }
    return {"/": listing(1), **listings, **books, "/basket": shell("Basket", "<h1>Your basket is empty</h1>")}


class Shop(BaseHTTPRequestHandler):
    """Serves the pages with an ETag, so that a crawler can check whether a page has changed."""

    protocol_version = "HTTP/1.1"
    pages: dict[str, str]

    def do_GET(self) -> None:
        text = ROBOTS if self.path == "/robots.txt" else self.pages.get(self.path)
        body = (text if text is not None else "Not found\n").encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        is_unchanged = text is not None and self.headers.get("If-None-Match") == etag
        self.send_response(304 if is_unchanged else 200 if text is not None else 404)
        kind = "text/html" if body.startswith(b"<") else "text/plain"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("ETag", etag)
        self.send_header("Content-Length", "0" if is_unchanged else str(len(body)))
        self.end_headers()
        if not is_unchanged:
            self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Prints nothing per request."""


def main() -> None:
    """Serves until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--sale", action="store_true")
    options = parser.parse_args()
    Shop.pages = pages(options.sale)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Shop)
    print(f"The bookshop is open: http://127.0.0.1:{server.server_port}/ (Ctrl-C closes it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()

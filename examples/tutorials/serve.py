"""Serves four small sites on loopback for the examples of this folder.

    python examples/tutorials/serve.py [--port 8000]

- http://127.0.0.1:8000/shop/ is a WooCommerce shop with two listing pages.
- http://127.0.0.2:8000/ contains quotes on two pages.
- http://127.0.0.3:8000/ contains articles.
- The product pages /p/1 of the three addresses show their prices in three ways.
"""

import argparse
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
PRODUCTS = [  # data-product_id, name, price
    (759, "Tin Kettle", "£63.00"),
    (730, "Clay Pot", "£1,105.50"),
    (732, "Bamboo Whisk", "£12.00"),
    (729, "Glass Jug", "£9.95"),
]
QUOTES = [  # text, author
    ("“A lamp is a small argument.”", "Mira Holt"),
    ("“Later is where the unfinished lives.”", "Odile Fürst"),
    ("“Count the doors, then knock.”", "Mira Holt"),
    ("“Nobody's map shows the weather.”", "Odile Fürst"),
    ("“Rain has no editor.”", "J.P. Ansel"),
]
ARTICLES = [  # title, text
    (
        "Green tea for beginners",
        (
            "Green tea is best with water of 70 degrees. A Japanese green tea such as sencha wants less time. "
            "Keep green tea in a closed tin, and warm the tea pot."
        ),
    ),
    (
        "Choosing a tea pot",
        (
            "A tea pot of cast iron keeps warm for an hour. Never wash a clay tea pot with soap. Steam is no tea, "
            "and a team drinks more of it."
        ),
    ),
]
PRICES = [  # one product page per address
    '<div class="buybox"><b>Tin Kettle</b> <i class="now">1,299.99 GBP</i></div><p class="price">£5.00 shipping</p>',
    '<h1>Clay Pot</h1><p class="price">£12.50</p>',
    '<h1>Bamboo Whisk</h1><p data-price="9.95">the best price in town</p><meta itemprop="priceCurrency" content="GBP">',
]


def shell(title: str, body: str) -> str:
    """Returns a whole page, with a header, navigation and a footer."""
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        "<style>p { color: black }</style></head><body><header>Practice tea</header>"
        f'<nav><a href="/">Home of tea</a></nav>{body}<script>var tea = "green tea"</script>'
        "<footer>tea, all rights reserved</footer></body></html>"
    )


def listing(number: int) -> str:
    """Returns a listing page of the shop."""
    cards = "".join(
        f'<li class="product"><a href="/shop/item-{one}/"><h2>{name}</h2><span class="amount">{price}</span></a>'
        f'<a data-product_id="{one}" href="?add-to-cart={one}">Add</a></li>'
        for one, name, price in PRODUCTS[(number - 1) * 2 : number * 2]
    )
    links = '<a href="/shop/page/1/">1</a><a href="/shop/page/2/">2</a><a href="/shop/page/2/#top">top</a>'
    return shell("Shop", f"<ul>{cards}</ul>{links}")


def quotes(number: int) -> str:
    """Returns a page of quotes."""
    divs = "".join(
        f'<div class="quote"><span class="text">{text}</span> by <small class="author">{author}</small></div>'
        for text, author in QUOTES[(number - 1) * 3 : number * 3]
    )
    return shell(
        "Quotes", divs + ('<li class="next"><a href="/page/2/">Next</a></li>' if number == 1 else "")
    )


def pages() -> dict[str, dict[str, str]]:
    """Returns the pages of each address by their paths."""
    articles = {
        f"/{n}": shell(title, f"<main><h1>{title}</h1><p>{text}</p></main>")
        for n, (title, text) in enumerate(ARTICLES, 1)
    }
    links = "".join(f'<p><a href="{path}">Article</a></p>' for path in articles)
    home = shell("Articles", f"<main><h1>Articles</h1><p>What our customers ask most.</p>{links}</main>")
    shop = {"/shop/": listing(1), "/shop/page/1/": listing(1), "/shop/page/2/": listing(2)}
    shop |= {f"/shop/item-{one}/": shell(name, f"<h1>{name}</h1>") for one, name, _ in PRODUCTS}
    sites = (shop, {"/": quotes(1), "/page/2/": quotes(2)}, {"/": home, **articles})
    return {
        address: {**site, "/p/1": shell("A product", price)}
        for address, site, price in zip(ADDRESSES, sites, PRICES, strict=True)
    }


PAGES = pages()


class Handler(BaseHTTPRequestHandler):
    """Serves the pages of the address to which the client connected."""

    def do_GET(self) -> None:
        site = PAGES[self.connection.getsockname()[0]]
        body = site.get(self.path, "no such page").encode()
        self.send_response(200 if self.path in site else 404)
        self.send_header("Content-Type", f"text/{'html' if self.path in site else 'plain'}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    """Serves all sites until the program is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    first = ThreadingHTTPServer((ADDRESSES[0], parser.parse_args().port), Handler)
    others = [ThreadingHTTPServer((one, first.server_port), Handler) for one in ADDRESSES[1:]]
    for server in others:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(" ".join(f"http://{one}:{first.server_port}/" for one in ADDRESSES), flush=True)
    first.serve_forever()


if __name__ == "__main__":
    main()

"""Serves two small tea shops with texts on loopback, for practice with `gossamer keywords`
(docs/keywords.md).

    python examples/teashops/serve.py [--ports 8001 8002]

The first shop represents your site, and the second shop represents a competitor. Each shop has a blog of a
few pages.
"""

import argparse
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHOPS = {
    "Leaf and Kettle": [
        (
            "Green tea for beginners",
            (
                "Green tea is best with water of 70 degrees. Boiling water makes green tea bitter. A Japanese green tea such as "
                "sencha wants less time than a Chinese one. Keep green tea in a closed tin, because light and air take its taste."
            ),
        ),
        (
            "How to brew green tea",
            (
                "To brew green tea, warm the tea pot first. Two grams of leaves are enough for a cup. Brew green tea for two "
                "minutes, then taste it. The second infusion of a good sencha is often better than the first one."
            ),
        ),
        (
            "Choosing a tea pot",
            (
                "A tea pot of cast iron keeps warm for an hour. A tea pot of glass shows the colour of the leaves. Never wash a "
                "clay tea pot with soap, because the clay keeps the taste. A lid that drips is the mark of a bad pot."
            ),
        ),
        (
            "Black tea and milk",
            (
                "Black tea from Assam is strong enough for milk. Milk first or milk last is an old quarrel; the cup does not mind. "
                "Black tea keeps for two years, so buy what you drink. Darjeeling is a black tea that wants no milk."
            ),
        ),
        (
            "Herbal infusions",
            (
                "Mint, camomile and rooibos are no tea, but infusions. They take boiling water and ten minutes. Rooibos from the "
                "Cape is sweet without sugar. An infusion of mint is good after a heavy meal, and warm milk before sleep."
            ),
        ),
        (
            "Water for tea",
            (
                "Hard water makes tea dull. A filter takes the lime out of the water, and the taste of a white tea comes back. "
                "Water that has boiled twice has lost its air. Our kettle shows the degrees, so no leaf is burnt."
            ),
        ),
    ],
    "Matcha House": [
        (
            "What is matcha?",
            (
                "Matcha is green tea that is ground to powder. Ceremonial matcha comes from the first harvest. For a matcha latte, "
                "whisk matcha with a little hot water, then add oat milk. Matcha has as much caffeine as a small coffee."
            ),
        ),
        (
            "The matcha latte at home",
            (
                "A matcha latte needs a bamboo whisk, a bowl and oat milk. Sieve the matcha, so that it has no lumps. Whisk it in "
                "the shape of a W until foam stands on it. A cold matcha latte with ice is our summer drink."
            ),
        ),
        (
            "Bubble tea without sugar",
            (
                "Bubble tea is black tea with tapioca pearls. Cook the tapioca pearls for twenty minutes. Bubble tea without sugar "
                "tastes of tea again. Oat milk makes bubble tea creamy, and a wide straw is half of the fun."
            ),
        ),
        (
            "Cold brew tea",
            (
                "Cold brew tea stands in the fridge for a night. Cold brew takes less bitterness from the leaves. Green tea and "
                "white tea are good for cold brew. Put a slice of lemon into the bottle, and take it to work."
            ),
        ),
        (
            "How to whisk",
            (
                "A bamboo whisk has a hundred tines. Put the whisk into warm water before you use it. A bamboo whisk lasts for a "
                "year if it dries on a stand. An electric whisk is faster, but the foam is coarse."
            ),
        ),
        (
            "Our tea farms",
            (
                "Our matcha grows near Uji, in the shade. The farmers cover the bushes for three weeks before harvest. Shade makes "
                "the leaves sweet and dark. We visit each farm every spring, and pay before the harvest."
            ),
        ),
    ],
}


def page(shop: str, number: int) -> str:
    """Returns a page of a shop. Page 0 links to all other pages."""
    articles = SHOPS[shop]
    nav = "".join(f'<a href="/{n}">{title}</a> ' for n, (title, _) in enumerate(articles, 1))
    if number:
        title, text = articles[number - 1]
        after = number % len(articles) + 1
        more = f'<p>Read next: <a href="/{after}">{articles[after - 1][0]}</a></p>'
        main = f"<article><h1>{title}</h1><p>{text}</p>{more}</article>"
    else:
        title, main = (
            "Home",
            "<h1>Our blog</h1><p>All that we know about tea, and what our customers ask.</p>",
        )
    return (
        f'<!DOCTYPE html><html lang="en"><head><title>{title} - {shop}</title></head><body><header>{shop}</header>'
        f"<nav><a href=/>Home</a> {nav}</nav><main>{main}</main><footer>{shop}, all rights reserved</footer></body></html>"
    )


def handler_of(shop: str) -> type[BaseHTTPRequestHandler]:
    """Returns a handler that serves the pages of a shop."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/") or "0"
            found = name.isdecimal() and int(name) <= len(SHOPS[shop])
            body = page(shop, int(name)).encode() if found else b"no such page"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8" if found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def main() -> None:
    """Serves both shops until the program is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ports", type=int, nargs=2, default=(8001, 8002))
    servers = [
        ThreadingHTTPServer(("127.0.0.1", port), handler_of(shop))
        for port, shop in zip(parser.parse_args().ports, SHOPS, strict=True)
    ]
    print(" ".join(f"http://127.0.0.1:{server.server_port}/" for server in servers), flush=True)
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    servers[0].serve_forever()


if __name__ == "__main__":
    main()

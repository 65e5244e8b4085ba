"""A shop on loopback whose markup can be changed during a crawl."""

from __future__ import annotations

import http.server
from collections.abc import Iterator
from contextlib import contextmanager

from support.answers import answering


class Shop:
    """A shop whose start page `/` links to `pages` products. `price` is the CSS class of the price
    element."""

    pages = 600

    def __init__(self) -> None:
        self.price = "price"
        self.changes_at = -1
        """The number of served products after which the price class becomes `cost`."""
        self.served = 0
        self.gone: set[str] = set()
        """Products without any link to them."""
        self.missing: set[str] = set()
        """Products that answer 404."""
        self.failing: set[str] = set()
        """Products that answer 503."""
        self.priceless = 0
        """Products whose number is a multiple of this value have no price. 0 means that all have one."""
        self.titles: dict[str, str] = {}
        self.url = ""

    def body(self, path: str) -> str | None:
        if path == "/":
            return "".join(
                f'<a class=p href="/p/{n}">x</a>' for n in range(self.pages) if f"/p/{n}" not in self.gone
            )
        if not path.startswith("/p/") or path in self.gone | self.missing:
            return None
        self.served += 1
        if self.served == self.changes_at:
            self.price = "cost"
        n = path[3:]
        price = (
            "" if self.priceless and int(n) % self.priceless == 0 else f"<b class={self.price}>{n}.50 EUR</b>"
        )
        return f"<h1>{self.titles.get(path, f'Pot {n}')}</h1><i class=sku>{n}</i>{price}"


@contextmanager
def serving() -> Iterator[Shop]:
    """Serves a shop for the duration of the block."""
    made = Shop()

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            failing = self.path in made.failing
            body = None if failing else made.body(self.path)
            data = (body or "none").encode()
            self.send_response(200 if body is not None else 503 if failing else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with answering(Answers) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made

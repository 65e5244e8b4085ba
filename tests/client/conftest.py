"""A small local shop, which the tests of the Python API crawl."""

from __future__ import annotations

import http.server
from collections.abc import Iterator

import pytest

from support.answers import answering

TEA = """<title>Tea {n}</title><h1>Tea {n}</h1><p class="price">{n}.50 €</p>
<script type="application/ld+json">{{"@type": "Product", "name": "Tea {n}",
 "offers": {{"price": "{n}.50", "priceCurrency": "EUR"}}}}</script><a href="/">all</a>"""
HTML = "text/html; charset=utf-8"
PAGES = {
    "/": (
        HTML,
        "<title>Teas</title>" + "".join(f'<a class="tea" href="/tea/{n}">{n}</a>' for n in (1, 2, 3)),
    ),
    **{f"/tea/{n}": (HTML, TEA.format(n=n)) for n in (1, 2, 3)},
    "/api": ("application/json", '{"teas": [1, 2, 3]}'),
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /private\nCrawl-delay: 0\n"),
}


@pytest.fixture(scope="session")
def shop() -> Iterator[str]:
    """Serve the shop, and yield its URL without a trailing slash."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = PAGES.get(self.path, (HTML, "<title>No such page</title>"))
            self.send_response(200 if self.path in PAGES else 503 if self.path == "/busy" else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self) -> None:
            """Return the body of the request and its type in the title."""
            given = self.rfile.read(int(self.headers["Content-Length"])).decode()
            body = f"<title>{given} {self.headers['Content-Type']}</title>".encode()
            self.send_response(200)
            self.send_header("Content-Type", HTML)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Disable the request log."""

    with answering(Handler) as port:
        yield f"http://127.0.0.1:{port}"

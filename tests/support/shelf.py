"""A small web on loopback that records the requested paths."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

from support.answers import answering


class Shelf(BaseHTTPRequestHandler):
    """A front page with `links` links, pages, redirects, a page that is gone, and a page that fails."""

    asked: ClassVar[list[str]] = []
    links: ClassVar[int] = 2

    def do_GET(self) -> None:
        self.asked.append(self.path)
        what = self.path.split("/")[1]
        status = {"r": 302, "missing": 404, "fails": 503}.get(what, 200)
        links = "".join(f'<a href="/p/{n}">x</a>' for n in range(self.links)) if self.path == "/" else ""
        body = f"<title>{self.path}</title>{links}".encode()
        if self.path == "/robots.txt":
            status, body = 404, b""
        self.send_response(status)
        if what == "r":
            self.send_header("Location", f"/p/{self.path.split('/')[2]}")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextlib.contextmanager
def serving_shelf(links: int = 2) -> Iterator[str]:
    """Serves the web. Yields its URL without a slash at the end."""
    Shelf.asked, Shelf.links = [], links
    with answering(Shelf) as port:
        yield f"http://127.0.0.1:{port}"

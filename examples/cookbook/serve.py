"""Serves the twelve small sites of the cookbook on http://127.0.0.1:8000, always with the same content.

python examples/cookbook/serve.py [--port 8000] [--pages 20]
"""

from __future__ import annotations

import argparse
import json
import struct
import zlib
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PER_PAGE = 10
TAGS = ("life", "love", "books", "humor", "friends")
CATEGORIES = ("poetry", "travel", "history")


class Sites(BaseHTTPRequestHandler):
    """Serves all sites, each under its own folder. `pages` is the number of pages per listing."""

    protocol_version = "HTTP/1.1"

    def __init__(self, pages: int, *given: object) -> None:
        self.pages = pages
        super().__init__(*given)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Responds with a page."""
        url = urlsplit(self.path)
        folder, _, rest = url.path.lstrip("/").partition("/")
        answer: Callable[..., tuple[int, str, str | bytes]] | None = getattr(
            self, f"_{folder.replace('.', '_')}", None
        )
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        self._send(*(answer(rest, query) if answer is not None else _html("", 404)))

    def do_POST(self) -> None:
        """Responds to a form."""
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        form = {name: values[0] for name, values in parse_qs(sent).items()}
        if self.path == "/members/login":
            good = form.get("user") == "reader" and form.get("token") == "t-123"
            self._send(
                302, "text/html", b"", Location="/members/1" if good else "/members/login", **_cookie(good)
            )
        elif self.path == "/search/find":
            words = form.get("q", "")
            items = "".join(f"<li>{words} {n}</li>" for n in range(PER_PAGE) if form.get("token") == "s-1")
            self._send(*_html(f"<ul>{items}</ul>"))
        else:
            self._send(*_html("", 404))

    def _send(self, status: int, kind: str, body: str | bytes, **headers: str) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _quotes(self, rest: str, _: dict[str, str]) -> tuple[int, str, str | bytes]:
        page = int(rest.partition("page/")[2] or 1)
        quotes = (
            f"<div class=quote><span class=text>Quote {n}</span><small class=author>Author {n % 7}</small>"
            f"<a class=tag>{TAGS[n % 5]}</a><a class=tag>{TAGS[n % 3]}</a></div>"
            for n in range((page - 1) * PER_PAGE, page * PER_PAGE)
        )
        return _html("".join(quotes) + self._next(page, "/quotes/page/{}"))

    def _books(self, rest: str, query: dict[str, str]) -> tuple[int, str, str | bytes]:
        if rest.startswith("book/"):
            n = int(rest.removeprefix("book/"))
            return _html(f"<h1>Book {n}</h1><p class=price>£{n}.50</p><p class=upc>upc-{n}</p>")
        page = int(query.get("page", 1))
        links = (
            f"<h3><a href=/books/book/{n}>Book {n}</a></h3>"
            for n in range((page - 1) * PER_PAGE, page * PER_PAGE)
        )
        return _html("".join(links) + self._next(page, "/books/?page={}"))

    def _members(self, rest: str, _: dict[str, str]) -> tuple[int, str, str | bytes]:
        if rest == "login":
            return _html(
                "<form method=post><input name=token type=hidden value=t-123><input name=user><input name=password type=password></form>"
            )
        if "member=yes" not in self.headers.get("Cookie", ""):
            return _html("<a href=/members/login>Log in</a>")
        page = int(rest or 1)
        rows = "".join(
            f"<li class=row>Secret {n}</li>" for n in range((page - 1) * PER_PAGE, page * PER_PAGE)
        )
        return _html(f"<a href=/members/logout>Log out</a>{rows}" + self._next(page, "/members/{}"))

    def _search(self, _: str, __: dict[str, str]) -> tuple[int, str, str | bytes]:
        return _html(
            "<form id=search method=post action=/search/find><input type=hidden name=token value=s-1><input name=q></form>"
        )

    def _api(self, _: str, query: dict[str, str]) -> tuple[int, str, str | bytes]:
        page = int(query.get("page", 1))
        items = [
            {"id": n, "name": f"Item {n}", "price": {"amount": n + 0.5}}
            for n in range((page - 1) * PER_PAGE, page * PER_PAGE)
        ]
        following = f"/api/?page={page + 1}" if page < self.pages else None
        return 200, "application/json", json.dumps({"items": items, "next": following})

    def _sitemap(self, rest: str, _: dict[str, str]) -> tuple[int, str, str | bytes]:
        if rest == "sitemap.xml":
            host = self.headers["Host"]
            urls = "".join(
                f"<url><loc>http://{host}/sitemap/news/{n}</loc></url>" for n in range(self.pages * PER_PAGE)
            )
            return (
                200,
                "application/xml",
                f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>',
            )
        n = int(rest.removeprefix("news/"))
        return _html(
            f"<article><h1>News {n}</h1><time datetime=2026-11-{n % 28 + 1:02}>today</time></article>"
        )

    def _feed(self, rest: str, _: dict[str, str]) -> tuple[int, str, str | bytes]:
        return _html(f"<h1>Product {rest}</h1><p class=price>{rest}.00 EUR</p>")

    def _images(self, rest: str, query: dict[str, str]) -> tuple[int, str, str | bytes]:
        if rest.endswith(".png"):
            return 200, "image/png", _png(int(rest.removeprefix("cover-").removesuffix(".png")))
        page = int(query.get("page", 1))
        books = (
            f"<article><h2>Book {n}</h2><img src=/images/cover-{n}.png></article>"
            for n in range((page - 1) * PER_PAGE, page * PER_PAGE)
        )
        return _html("".join(books) + self._next(page, "/images/?page={}"))

    def _offers(self, rest: str, _: dict[str, str]) -> tuple[int, str, str | bytes]:
        if not rest:
            return _html("".join(f"<a href=/offers/{n}>offer</a>" for n in range(self.pages * PER_PAGE)))
        n = int(rest)
        return _html(f"<h1>Offer {n}</h1>", 404 if n % 5 == 1 else 410 if n % 5 == 2 else 200)

    def _shelves(self, rest: str, _: dict[str, str]) -> tuple[int, str, str | bytes]:
        kind, _, number = rest.partition("/")
        if kind == "book":
            return _html(f"<h1>Book {number}</h1>")
        if kind == "shelf":
            start = int(number) * PER_PAGE // 2  # neighbouring shelves have half of their books in common
            return _html(
                "".join(
                    f"<a class=book href=/shelves/book/{n}>book</a>" for n in range(start, start + PER_PAGE)
                )
            )
        return _html("".join(f"<a class=shelf href=/shelves/shelf/{n}>shelf</a>" for n in range(self.pages)))

    def _categories(self, rest: str, query: dict[str, str]) -> tuple[int, str, str | bytes]:
        page = int(query.get("page", 1))
        titles = "".join(f"<li>{rest} {n}</li>" for n in range((page - 1) * PER_PAGE, page * PER_PAGE))
        return _html(titles + self._next(page, f"/categories/{rest}?page={{}}"))

    def _checked(self, rest: str, query: dict[str, str]) -> tuple[int, str, str | bytes]:
        page = int(query.get("page", 1))
        rows = "".join(
            f"<tr><td class=sku>sku-{n}</td><td class=price>{'ask' if n % 4 == 3 else f'{n},95 €'}</td></tr>"
            for n in range((page - 1) * PER_PAGE, page * PER_PAGE)
        )
        return _html(f"<table>{rows}</table>" + self._next(page, "/checked/?page={}"))

    def _next(self, page: int, url: str) -> str:
        return f"<li class=next><a href='{url.format(page + 1)}'>Next</a></li>" if page < self.pages else ""


def _html(body: str, status: int = 200) -> tuple[int, str, str]:
    return status, "text/html; charset=utf-8", f"<!doctype html><title>Cookbook</title>{body}"


def _cookie(good: bool) -> dict[str, str]:
    return {"Set_Cookie": "member=yes; Path=/"} if good else {}


def _png(number: int) -> bytes:
    """Returns an image of one pixel. The number determines its colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixel = zlib.compress(b"\0" + struct.pack(">I", number)[1:])
    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


def server(port: int = 0, pages: int = 20) -> ThreadingHTTPServer:
    """Returns the server without starting it."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(Sites, pages))


def main() -> None:
    """Serves the sites until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--pages", type=int, default=20, help="pages of each listing")
    given = parser.parse_args()
    print(f"http://127.0.0.1:{given.port}/quotes/ and eleven more sites; Ctrl-C ends it")
    try:
        server(given.port, given.pages).serve_forever()
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()

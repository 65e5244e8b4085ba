# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of `@site.page(status=...)`, functions for pages with an error status."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer import Site
from gossamer.errors import ConfigError
from support.answers import answering

SITE = """
from gossamer import Site

site = Site("shop", seeds=["{web}/"], must_have=["h1"], pace="10ms", retries="none")


@site.page(r"^/$")
def front(page):
    yield from (page.request(path, use="product") for path in ("/1", "/2", "/gone", "/never", "/closed"))


@site.page()
def product(page):
    yield {{"url": page.url, "name": page.css("h1::text").get()}}


@site.page("/g", status=[404, 410])
def gone(page):
    yield {{"url": page.url, "gone": page.status}}
    yield page.request("/3", use="product")


@site.page(status=404)
def never(page):
    yield {{"url": page.url, "never": True}}
"""


def test_pages_with_an_error_status_reach_their_function(room: Path) -> None:
    statuses = {"/gone": 410, "/never": 404, "/closed": 403, "/robots.txt": 404}

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = statuses.get(self.path, 200)
            body = b"<a href=/other>no heading</a>" if status > 200 else f"<h1>{self.path}</h1>".encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with answering(Shop) as port:
        web = f"http://127.0.0.1:{port}"
        (room / "shop.py").write_text(SITE.format(web=web))
        code, out, err = gossamer(room, "crawl", "shop.py", "-o", "items.jsonl", "--json")
        assert code == 0, err
    rows = [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    items = {row["url"].removeprefix(web): row for row in rows}
    assert set(items) == {"/1", "/2", "/3", "/gone", "/never"}
    assert (items["/gone"]["gone"], items["/never"]["never"]) == (410, True)
    assert json.loads(out)["errors"] == {"http-4xx": 3}


def none(page: Any) -> None: ...


@pytest.mark.parametrize("status", [200, 500, "404", [404, 302]])
def test_other_statuses_are_refused(status: Any) -> None:
    site = Site("shop", hosts=["shop.example"])
    with pytest.raises(ConfigError, match="400 to 499"):
        site.page(status=status)(none)


def test_the_first_function_that_reads_the_status_counts() -> None:
    site = Site("shop", hosts=["shop.example"])
    site.page("^/a", name="one")(none)
    site.page("^/a", name="two", status=404)(none)
    site.page(name="rest", status=[404, 410])(none)
    found = [
        (function.name if (function := site.function(f"https://shop.example{path}", use, status)) else None)
        for path, use, status in (("/a", None, 200), ("/a", None, 404), ("/b", "one", 410), ("/b", None, 200))
    ]
    assert found == ["one", "two", "rest", None]

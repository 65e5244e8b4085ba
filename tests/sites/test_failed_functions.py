# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of `@site.failed`, a function for URLs that have failed for good."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer import Site
from gossamer.errors import ConfigError
from support.answers import answering

SITE = """
from gossamer import Site

site = Site("shop", seeds=["{web}/"], hosts=["127.0.0.1", "no.invalid"], pace="10ms", retries=["10ms"])


@site.page(r"^/$")
def front(page):
    for path in ("/1", "/500", "/404", "/410", "/costly", "http://no.invalid/", "/bad"):
        yield page.request(path, use="product", carry=path)


@site.page()
def product(page):
    yield {{"url": page.url, "name": page.css("h1::text").get()}}


@site.page(status=410)
def gone(page):
    yield {{"url": page.url, "gone": True}}


@site.failed
def failed(failure):
    if failure.carry == "/bad":
        raise KeyError("on purpose")
    failure.count("given up")
    yield {{
        "url": failure.url,
        "failed": failure.reason,
        "status": failure.status,
        "heading": failure.page and failure.page.css("h1::text").get(),
        "carry": failure.carry,
    }}
    if failure.status == 500:
        yield failure.request("/2?for=" + failure.options.use, use="product")
"""
HEADINGS = {
    "/1": "one",
    "/2?for=product": "two",
    "/404": "not here",
    "/500": "down",
    "/410": "sold",
    "/bad": "bad",
}
STATUSES = {"/404": 404, "/500": 500, "/410": 410, "/costly": 404, "/robots.txt": 404, "/bad": 404}


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"<h1>{HEADINGS.get(self.path, 'front')}</h1>".encode()
        if self.path == "/costly":
            body = b"<h1>costly</h1>" + b"<b>n</b>" * 20_000
        self.send_response(STATUSES.get(self.path, 200))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def test_urls_that_failed_reach_the_function(room: Path) -> None:
    with answering(Shop) as port:
        (room / "shop.py").write_text(SITE.format(web=f"http://127.0.0.1:{port}"))
        code, out, err = gossamer(room, "crawl", "shop.py", "-o", "items.jsonl", "--json")
    summary = json.loads(out)
    rows = [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    by_path = {row["url"].removeprefix(f"http://127.0.0.1:{port}"): row for row in rows}
    assert code == 0
    assert {path: row["name"] for path, row in by_path.items() if "name" in row} == {
        "/1": "one",
        "/2?for=product": "two",
    }
    assert by_path["/410"]["gone"], "a function for the status takes precedence"
    failed = {
        path: (row["failed"], row["status"], row["heading"])
        for path, row in by_path.items()
        if "failed" in row
    }
    assert failed == {
        "/404": ("http-4xx", 404, "not here"),
        "/500": ("http-5xx", 500, "down"),
        "/costly": ("http-4xx", 404, "costly"),
        "http://no.invalid/": ("dns", None, None),
    }
    assert by_path["/500"]["carry"] == "/500"
    assert summary["items"] == len(rows) == 7
    assert summary["counters"] == {"given up": 4}
    assert summary["dead"] == 2, "the failures are still dead letters"
    assert summary["errors"] == {"http-4xx": 4, "http-5xx": 1, "dns": 1}
    line = next(line for line in err.splitlines() if "KeyError" in line)
    assert " error shop " in line
    assert "/bad: @site.failed: shop.py:" in line


def test_mistakes_are_found_when_the_file_is_loaded() -> None:
    site = Site("a", seeds=["http://a.example/"])

    @site.failed
    def one(failure: object) -> None: ...

    with pytest.raises(ConfigError, match=r"two functions with @site.failed"):
        site.failed(one)
    with pytest.raises(ConfigError, match="called with one argument"):
        Site("b").failed(lambda: None)

    async def late(failure: object) -> None: ...

    with pytest.raises(ConfigError, match="not async def"):
        Site("c").failed(late)

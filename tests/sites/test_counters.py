# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of `page.count(...)`, the counters of page functions and steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer.model.page import Page
from gossamer.parsing.page_view import MAX_COUNTERS, PageView
from support.answers import answering

SITE = """
from gossamer import Site


def step(item, page):
    page.count("steps", 2)


site = Site("shop", seeds=["{web}/"], pace="1ms", steps=[step], retries="none")


@site.page()
def product(page):
    yield from page.follow("a")
    page.count("odd pages", page.url[-1] in "13579")
    page.count("read")
    if page.url.endswith("/bad"):
        raise ValueError("no price")
    yield {{"url": page.url}}
"""


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        links = "".join(f"<a href=/{n}>x</a>" for n in [*range(12), "bad"])
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(links)))
        self.end_headers()
        self.wfile.write(links.encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def web() -> Iterator[str]:
    with answering(Shop) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("processes", ["1", "2"])
def test_counters_are_summed(room: Path, web: str, processes: str) -> None:
    (room / "shop.py").write_text(SITE.format(web=web))
    code, out, err = gossamer(room, "crawl", "shop.py", "--processes", processes, "-o", "a.jsonl", "--json")
    assert code == 0, err
    assert json.loads(out)["counters"] == {"odd pages": 6, "read": 13, "steps": 26}, (
        "an error drops its counts"
    )
    status = gossamer(room, "status", "shop", "--json")[1]
    assert json.loads(status)["counters"] == {"odd pages": 6, "read": 13, "steps": 26}
    assert "counters" in gossamer(room, "status", "shop")[1]


def view() -> PageView:
    return PageView(Page("http://a.example/", 200, [], b"", fetched_at=0.0, elapsed=0.0, wire=0))


@pytest.mark.parametrize("name", ["", "a|b", "a:b", "x" * 81, "a\nb", 7])
def test_names(name: object) -> None:
    with pytest.raises(ValueError, match="a name has 1 to 80"):
        view().count(name)  # type: ignore[arg-type] # a wrong one


def test_numbers_and_limits() -> None:
    page = view()
    with pytest.raises(TypeError, match="whole number"):
        page.count("a", 1.5)  # type: ignore[arg-type] # a wrong one
    for n in range(MAX_COUNTERS):
        page.count(f"c{n}", -n)
    with pytest.raises(ValueError, match="few fixed names"):
        page.count("one more")
    page.count("c1")
    assert page.counted["c1"] == 0

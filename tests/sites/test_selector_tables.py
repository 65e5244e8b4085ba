# ruff: noqa: F811 - pytest takes fixtures by their names
"""Site files with a table of selectors by host and without page functions."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer.errors import ConfigError
from gossamer.sites import loading
from support.answers import answering

PAGES = {
    "/": "<a class=product href=/product/1>1</a><a class=product href=/product/2>2</a><a href=/about>a</a>",
    "/product/1": "<h1>One\n chair</h1><b class=price>12,50 €</b><img src=/a.png><img src=/b.png>",
    "/product/2": "<h1>Two</h1><i class=old>20 €</i><img src='http://[bad'>",
    "/about": "<h1>About</h1>",
}
TABLE = """
seeds = "{web}/"
selectors = {{
    "{host}": {{
        "name": "h1", "price": ".price", "old_price": "//i[@class='old']", "photos": ["img::attr(src)"],
        "follow": "a.product", "pages": "^/product/",
    }},
    "*.other.example": {{"title": "h2"}},
}}
"""


def test_a_crawl_by_a_table(room: Path) -> None:
    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PAGES.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with answering(Shop) as port:
        web = f"http://127.0.0.1:{port}"
        (room / "prices.py").write_text(TABLE.format(web=web, host=f"127.0.0.1:{port}"))
        code, _, err = gossamer(room, "crawl", "prices.py", "-o", "out.jsonl", "--delay", "0.01")
        assert code == 0, err
        items = sorted(
            map(json.loads, (room / "out.jsonl").read_text().splitlines()), key=lambda one: str(one["url"])
        )
    fields = [{name: value for name, value in item.items() if not name.startswith("_")} for item in items]
    nothing = {"title": None}
    assert fields == [
        {
            "url": f"{web}/product/1",
            "name": "One chair",
            "price": 12.5,
            "old_price": None,
            "photos": [f"{web}/a.png", f"{web}/b.png"],
            **nothing,
        },
        {
            "url": f"{web}/product/2",
            "name": "Two",
            "price": None,
            "old_price": "20 €",
            "photos": [],
            **nothing,
        },
    ]
    assert {item["_kind"] for item in items} == {"item"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("selectors = []", "is not a table"),
        ("selectors = {}", "is not a table"),
        ("selectors = {1: {'a': 'b'}}", "1 is not a host"),
        ("selectors = {'a.example': 'h1'}", "a.example needs a table of fields"),
        ("selectors = {'a.example': {'follow': 'a'}}", "a.example needs a table of fields"),
        ("selectors = {'a.example': {'name': 'h1['}}", "a.example: name: "),
        ("selectors = {'a.example': {'name': '//h1['}}", "a.example: name: "),
        ("selectors = {'a.example': {'name': 3}}", "3 is not a selector"),
        ("selectors = {'a.example': {'name': ['h1', 'h2']}}", "is not a selector"),
        ("selectors = {'a.example': {'name': 'h1', 'follow': ['a']}}", "is not a selector"),
        ("selectors = {'a.example': {'two words': 'h1'}}", "the name of a field"),
        ("selectors = {'a.example': {'_x': 'h1'}}", "the name of a field"),
        ("selectors = {'a.example': {'name': 'h1', 'pages': '('}}", "page"),
        ("seeds = ['https://b.example/']\nselectors = {'a.example': {'name': 'h1'}}", "belongs to no host"),
        ("seeds = [1]\nselectors = {'a.example': {'name': 'h1'}}", "belongs to no host"),
    ],
)
def test_a_wrong_table(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "table.py"
    file.write_text(text)
    with pytest.raises(ConfigError, match=why):
        loading.load(file)

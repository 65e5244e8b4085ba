# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of `page.request(again=True)` and `key=` in crawls that are stopped, repeated and repaired."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from support.answers import answering

SITE = """
from gossamer import Site

site = Site("shop", seeds=["{web}/"], pace="1ms", retries="none")


@site.page("^/$")
def front(page):
    yield from page.follow("a", use="shelf")


@site.page(name="shelf")
def shelf(page):
    for link in page.css("a"):
        yield from page.follow(link, use="book", carry={{"shelf": page.url}}, again=True)


@site.page(name="book")
def book(page):
    yield {{"shelf": page.carry["shelf"], "book": page.url}}


@site.page("^/sessions", name="sessions")
def sessions(page):
    for n in range(4):
        yield page.request(f"/view?product=7&sid={{n}}", key="product 7", use="view")


@site.page(name="view")
def view(page):
    yield {{"view": page.url}}
"""
SHELVES, BOOKS = 3, 5
ALL = {(f"/shelf{shelf}", f"/new{book}") for shelf in range(SHELVES) for book in range(BOOKS)}


class Shop(BaseHTTPRequestHandler):
    """Serves shelves that all contain the same books. The URL of each book redirects."""

    def do_GET(self) -> None:
        links: list[str] = []
        if self.path == "/":
            links = [f"/shelf{n}" for n in range(SHELVES)]
        elif self.path.startswith("/shelf"):
            links = [f"/book{n}" for n in range(BOOKS)]
        body = "".join(f"<a href={link}>x</a>" for link in links).encode()
        self.send_response(302 if self.path.startswith("/book") else 200)
        self.send_header("Location", self.path.replace("book", "new"))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def web(room: Path) -> Iterator[str]:
    with answering(Shop) as port:
        web = f"http://127.0.0.1:{port}"
        (room / "shop.py").write_text(SITE.format(web=web))
        yield web


def books(path: Path, web: str) -> Counter[tuple[str, str]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return Counter((row["shelf"].removeprefix(web), row["book"].removeprefix(web)) for row in rows)


def crawl(room: Path, *words: str) -> dict[str, int]:
    code, out, err = gossamer(room, "crawl", "shop.py", "-o", "items.jsonl", "--json", *words)
    assert code == 0, err
    summary: dict[str, int] = json.loads(out)
    return summary


def test_each_shelf_requests_its_books_again(room: Path, web: str) -> None:
    for limit in (3, 7, 12):  # stopped and resumed
        crawl(room, "--limit", str(limit))
    summary = crawl(room)
    assert books(room / "items.jsonl", web) == Counter(ALL)
    assert summary["pages"] == 1 + SHELVES + len(ALL)


def test_a_refresh_visits_each_of_them_once(room: Path, web: str) -> None:
    crawl(room, "-s", "keep=1G")
    (room / "items.jsonl").rename(room / "before.jsonl")
    summary = crawl(room, "--refresh")
    assert summary["pages"] == 1 + SHELVES + len(ALL)
    assert summary["unchanged"] == summary["pages"]


def test_a_repair_knows_which_of_them_are_done(room: Path, web: str) -> None:
    crawl(room)
    for path in (room / ".gossamer/store/appendonlydir").glob("*.incr.aof"):
        path.write_bytes(b"")
    code, _, err = gossamer(room, "doctor", "--repair", "shop")
    assert code == 0, err
    crawl(room)
    assert books(room / "items.jsonl", web) == Counter(ALL)


def test_of_several_requests_with_one_key_one_is_made(room: Path, web: str) -> None:
    site = (room / "shop.py").read_text().replace(f'"{web}/"', f'"{web}/sessions"')
    (room / "shop.py").write_text(site)
    summary = crawl(room)
    rows = [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    assert len(rows) == 1
    assert rows[0]["view"].startswith(f"{web}/view?product=7&sid=")
    assert summary["pages"] == 2


def test_a_list_may_give_keys(room: Path, web: str) -> None:
    lines = [json.dumps({"url": f"{web}/view?sid={n}", "key": f"k{n % 2}", "use": "view"}) for n in range(6)]
    (room / "urls.jsonl").write_text("\n".join(lines))
    code, _, err = gossamer(room, "crawl", "shop.py", "urls.jsonl", "-o", "items.jsonl", "--json")
    assert code == 0, err
    rows = [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    assert sum("view" in row for row in rows) == 2

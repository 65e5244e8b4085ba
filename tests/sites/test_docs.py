"""The names in docs/sites.md are those of Site, and the site files in that page work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gossamer.items.steps import Fields, prepare_steps, run_steps
from gossamer.model.item import Item, plain_fields
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.site import KNOWN
from gossamer.parsing.page_view import PageView
from gossamer.sites import load
from gossamer.sites.page_functions import run

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "sites.md").read_text()
SCRAPY = (
    (Path(__file__).resolve().parents[2] / "docs" / "from-scrapy.md").read_text().partition("## Cookbook")[0]
)
FILES = {code.split()[1].rstrip(":"): code for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)}


def test_every_word_of_a_site_is_documented() -> None:
    table = TEXT.partition("## What a Site takes")[2].partition("##")[0]
    words = {
        word
        for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", cell)
    }
    assert words == set(KNOWN)


def test_every_word_of_a_page_is_one() -> None:
    table = TEXT.partition("| of the page |")[2].partition("\n\n")[0]
    for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        for word in re.findall(r"`(\w+)[(`]", cell):
            assert hasattr(PageView, word), word


PAGES = [
    (
        "shop.py",
        "https://shop.example/all",
        "<li class=product data-group=tea><a href=/p/1>x</a></li><a class=next href='?p=2'>n</a>",
        None,
        [],
        ["https://shop.example/p/1", "https://shop.example/all?p=2"],
    ),
    (
        "shop.py",
        "https://shop.example/p/1",
        "<h1>Pot</h1><b itemprop=sku>7</b><i class=price>1.299,00 €</i>",
        Request("https://shop.example/p/1", use="product", carry={"group": "tea"}),
        [{"sku": "7", "name": "Pot", "group": "tea", "price": 1299}],
        [],
    ),
    (
        "api.py",
        "https://api.example/items?page=1",
        '{"data": {"items": [{"id": 1, "name": "a", "x": 0}]}, "next": "/items?page=2"}',
        None,
        [{"id": 1, "name": "a"}],
        ["https://api.example/items?page=2"],
    ),
    (
        "search.py",
        "https://search.example/",
        "<form id=search action=/find method=post><input name=q>",
        None,
        [],
        ["https://search.example/find"],
    ),
    (
        "search.py",
        "https://search.example/find",
        "<table class=results><tr><td>T<td><a href=/t>t</a></table>",
        None,
        [{"title": "T", "link": "/t"}],
        [],
    ),
    (
        "news.py",
        "https://news.example/1",
        "<article><h1>T</h1><time datetime=2024-05-01></article>",
        None,
        [{"url": "https://news.example/1", "title": "T", "day": "2024-05-01"}],
        [],
    ),
]


@pytest.mark.parametrize(("name", "url", "body", "request_", "items", "links"), PAGES)
def test_its_site_files(
    name: str,
    url: str,
    body: str,
    request_: Request | None,
    items: list[object],
    links: list[str],
    tmp_path: Path,
) -> None:
    (tmp_path / name).write_text(FILES[name])
    (site,) = load(tmp_path / name)
    page = Page(url, 200, [("content-type", "text/html; charset=utf-8")], body.encode(), 0.0, 0.0, len(body))
    parsed = run(site, PageView(page, request=request_))
    assert parsed.detail == ""
    assert [plain_fields(item) if isinstance(item, Item) else item for item in parsed.items] == items
    assert [request.url for request in parsed.requests] == links


def test_the_spider_that_became_a_site_file(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", SCRAPY, re.DOTALL)
    (tmp_path / "shop.py").write_text(code)
    (site,) = load(tmp_path / "shop.py")
    kind = [("content-type", "text/html")]
    body = b"<article><h3><a href=/books/1>a</a></h3></article><li class=next><a href='?page=2'>n</a>"
    parsed = run(site, PageView(Page("https://shop.example/books", 200, kind, body, 0.0, 0.0, len(body))))
    assert [(one.url, one.use, one.carry) for one in parsed.requests] == [
        ("https://shop.example/books/1", "book", {"shelf": "new"}),
        ("https://shop.example/books?page=2", None, None),
    ]
    body = b"<h1>Tea</h1><table><td>7</td></table><p class=price_color>9.50</p>"
    page = Page("https://shop.example/books/1", 200, kind, body, 0.0, 0.0, len(body))
    (book,) = run(site, PageView(page, request=parsed.requests[0])).items
    assert plain_fields(book) == {"upc": "7", "title": "Tea", "shelf": "new", "price": 9.5}
    fields = Fields(plain_fields(book), "book", None)
    assert run_steps(prepare_steps(site.site.steps), fields, page).dropped == ""
    fields["price"] = 26.0
    assert run_steps(prepare_steps(site.site.steps), fields, page).dropped == "too dear"

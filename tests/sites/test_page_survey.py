"""The findings of `gossamer new` on a page: its kind, fields, detail links and pagination."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites.check import check
from gossamer.sites.new import name_of, new
from gossamer.sites.page_survey import column_names, survey
from support import fork_server

MENU = "<nav>" + "".join(f"<a href=/topic/{n}>A long name of topic {n}</a>" for n in range(40)) + "</nav>"
PARAGRAPHS = "<p>" + "This sentence is a part of the article about kettles, and it has a comma. " * 6 + "</p>"


def page(html: str, url: str = "https://a.example/list") -> Page:
    body = html.encode()
    return Page(url, 200, [("content-type", "text/html; charset=utf-8")], body, 0.0, 0.0, len(body))


def view(html: str, url: str = "https://a.example/list") -> PageView:
    return PageView(page(html, url))


def posts(form: str, count: int = 10) -> str:
    return MENU + "".join(form.format(n=n) for n in range(count))


@pytest.mark.parametrize(
    ("form", "selector", "pattern"),
    [
        (
            '<article class="post"><h2><a href="/2024/title-{n}/">The title of {n}</a></h2><p>Text</article>',
            "article.post a",
            "^/2024/[^/]+/$",
        ),
        (
            '<li class="css-1x2y3z card"><a class="more" href="/p/{n}">A kettle of {n} litres</a> <b>$1{n}.00</b></li>',
            "a.more",
            "^/p/[^/]+$",
        ),
        (
            '<tr><td class="title"><a href="/story?id={n}">A story about kettles {n}</a></td></tr>',
            "td.title a",
            r"^/story(?:\?|$)",
        ),
        (
            '<div class="item"><h3><a href="/item-{n}">The item {n}</a></h3><a href="/item-{n}#c">comments</a></div>',
            "div.item a",
            "",
        ),
    ],
)
def test_detail_links(form: str, selector: str, pattern: str) -> None:
    html = posts(form)
    found = survey(view(f"<table>{html}</table>" if form.startswith("<tr") else html))
    assert found.kind == "listing"
    assert found.details is not None
    assert (found.details.selector, found.details.pattern) == (selector, pattern)
    assert len(found.details.urls) == 10


def test_a_detail_page_without_a_pattern_is_named_by_use(tmp_path: Path) -> None:
    listing = posts('<div class="item"><h3><a href="/item-{n}">The item of {n}</a></h3></div>')
    detail = page("<h1>Item</h1><p class=price>12 €</p>", "https://a.example/item-0")
    files = new("items", "https://a.example/list", page(listing), tmp_path, detail=detail)
    assert 'page.follow("div.item a", use="product")' in files[0].read_text()
    assert json.loads((tmp_path / "items" / "pages" / "detail.json").read_text())["use"] == "product"
    assert [one.ok for one in check(files[0])] == [True, True]


@pytest.mark.parametrize(
    ("link", "selector"),
    [
        ('<a rel="next" href="?page=2">2</a>', 'a[rel~="next"]'),
        ('<ul><li class="next"><a href="/list/2">more</a></li></ul>', "li.next a"),
        ('<a href="/list/2" aria-label="Next page">&gt;</a>', 'a[aria-label="Next page"]'),
        ('<a href="/list/2">Next »</a>', 'a:contains("Next")'),
        ('<div class="pagination"><a href="/list/2">2</a></div>', ".pagination a"),
        ('<a rel="next" href="/list">2</a>', ""),
        ('<a rel="next" href="https://b.example/">2</a>', ""),
    ],
)
def test_next_page(link: str, selector: str) -> None:
    html = posts('<h2 class="t"><a href="/a/{n}">The title of {n}</a></h2>') + link
    found = survey(view(html))
    assert (found.kind, found.next_page) == ("listing", selector)
    if selector:
        assert len(view(html).css(selector)) == 1


def test_kinds() -> None:
    product = '<script type="application/ld+json">{"@type": "Product", "name": "K", "offers": {"price": "5", "priceCurrency": "EUR"}}</script>'
    article = '<meta property="og:type" content="article"><meta name="author" content="M. Holt">'
    found = survey(view(product + "<h1>K</h1>", "https://a.example/k"))
    assert (found.kind, [one.name for one in found.fields]) == ("product", ["title", "price", "currency"])
    found = survey(
        view(f"{article}<article><h1>K</h1>{PARAGRAPHS}{PARAGRAPHS}</article>", "https://a.example/k")
    )
    assert (found.kind, [one.name for one in found.fields]) == ("article", ["title", "author", "text"])
    related = posts(
        '<article class="r"><h3><a href="/r/{n}">A related kettle {n}</a></h3><b>$1{n}</b></article>', 6
    )
    assert survey(view(f"{product}<h1>K</h1>{related}", "https://a.example/k")).kind == "product"
    assert survey(view("<h1>T</h1><p>Text")).kind == survey(view("")).kind == "page"
    assert [one.name for one in survey(view("")).fields] == ["title"]


def test_names() -> None:
    assert column_names(["class", "Größe", "A b", "A-b", ""]) == [
        "column_1",
        "gr_e",
        "a_b",
        "a_b_4",
        "column_5",
    ]
    urls = ["https://www.shop.example/", "https://m.a-b.example/", "http://[::1]:80/", "https://1a.example/"]
    assert [name_of(url) for url in urls] == ["shop", "a_b", "site", "site"]


def test_text_of_a_page_is_not_run(tmp_path: Path) -> None:
    code = "\"]');open('ran','w');#\\"
    for number, html in enumerate(
        (
            posts(
                f'<h2 class="{code.replace(chr(34), "&quot;")}"><a href="/{{n}}/x">The title of {{n}}</a></h2>'
            ),
            posts('<h2><a href="/{n}/x">The title of {n}</a></h2>')
            + f"<a href='/2' aria-label=\"{code.replace(chr(34), '&quot;')}\">»</a>",
            f"<table><tr><th>{code}</th><th>b</th></tr><tr><td>1</td><td>2</td></tr><tr><td>1</td><td>2</td></tr></table>",
            posts("<h2><a href=\"/');open('ran','w')#/{n}/x\">The title of {n}</a></h2>"),
            posts("<h2><a href=\"/');open('ran','w')/{n}/x\">The title of {n}</a></h2>"),
        )
    ):
        (file, *_) = new(f"s{number}", "https://a.example/list", page(html), tmp_path)
        fork_server.run(
            [sys.executable, "-c", f"compile(open({str(file)!r}).read(), 'x', 'exec')"], check=True
        )
        assert all(one.ok for one in check(file))
    assert not Path("ran").exists()
    assert not (tmp_path / "ran").exists()

"""The view that a page function receives, and the requests that the function makes with it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing.page_view import MAX_CARRY_BYTES, PageView

URL = "https://example.com/shop/list.html?x=1"
DATA = {
    "data": {"items": [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}], "none": None, "0": "zero"},
    "n": 0,
}


def view(
    body: str | bytes, kind: str = "text/html; charset=utf-8", request: Request | None = None, **headers: str
) -> PageView:
    body = body.encode() if isinstance(body, str) else body
    given = [("content-type", kind), *((name.replace("_", "-"), value) for name, value in headers.items())]
    return PageView(Page(URL, 200, given, body, 0.0, 0.0, len(body)), request=request)


@pytest.mark.parametrize(
    ("path", "want"),
    [
        (None, DATA),
        ("n", 0),
        ("data.items[0].id", 1),
        ("data.items[1].tags", []),
        ("data.items[*].id", [1, 2]),
        ("data.items[*].tags[0]", ["a", None]),
        ("data.items[2].id", None),
        ("data.none.x", None),
        ("data.items.id", None),
        ("data[0]", None),
        ("data.0", "zero"),
        ("nothing", None),
        ("n.x", None),
        ("n[*]", None),
        ("data.items[-1].id", 2),
        ("data.items[-3].id", None),
        ("data.items.1.id", 2),
        ("$.data.items[0].id", 1),
        ("data['items'][0][\"id\"]", 1),
        ("['data'].items[*]", DATA["data"]["items"]),
    ],
)
def test_json_paths(path: str | None, want: Any) -> None:
    assert view(json.dumps(DATA), "application/json").json(path) == want


@pytest.mark.parametrize("path", ["items[0", "items[a]", "items..id", "a b[", "items[1:2]", "a]", "'a'", "."])
def test_what_is_no_path_is_said(path: str) -> None:
    with pytest.raises(ValueError, match="not a path into JSON"):
        view("{}", "application/json").json(path)


def test_json_of_a_script_and_what_is_none() -> None:
    page = view('<script type="application/json">{"a": [{"b": 2}]}</script>')
    assert page.json("a[0].b", page.css("script::text").get()) == 2
    for text in ("<p>", "", "{", "[" * 100_000):
        with pytest.raises(ValueError):
            view(text).json()


def test_what_a_page_is() -> None:
    page = view(
        "<title> A\n b </title><html lang=de>é", request=Request(URL, depth=2, carry={"n": 1}), x_one="1"
    )
    assert (page.url, page.status, page.title, page.depth, page.carry) == (URL, 200, "A b", 2, {"n": 1})
    assert page.headers["x-one"] == "1"
    assert page.body.endswith("é".encode())
    assert page.text.endswith("é")
    assert page.language == "de"
    assert view("é".encode("latin-1"), "text/html; charset=iso-8859-1").text == "é"
    # the view of a non-HTML response has no elements
    assert view('{"a": 1}', "application/json").css("*::text").getall() == []


PRICES = [
    ("<p class=p>£1,299.00</p>", Decimal("1299.00")),
    ("<p class=p>sold out</p><p class=p>12 €</p>", Decimal(12)),
    ("<p class=p><b>3</b>,<sup>50</sup> €</p>", Decimal("3.50")),
    ("<p class=p>sold out</p>", None),
    ("", None),
]


@pytest.mark.parametrize(("html", "want"), PRICES)
def test_price(html: str, want: Decimal | None) -> None:
    assert view(html).price(".p") == want


LINKS = """<article><h3><a href="one.html">1</a></h3></article><a href="/two#part">2</a><a href="mailto:a@b">m</a><a>none</a>
<a href="javascript:go()">j</a><a href="//other.example/x">o</a><a href="ftp://example.com/">f</a><a href="">self</a>
<li class=next><a href=" three.html ">3</a></li><a href="http://[">bad</a><img src="pic.png">"""


def test_follow_a_selector() -> None:
    page = view(LINKS)
    assert [one.url for one in page.follow("article h3 a, li.next a")] == [
        "https://example.com/shop/one.html",
        "https://example.com/shop/three.html",
    ]
    found = [one.url for one in page.follow("a")]
    assert found == [
        "https://example.com/shop/one.html",
        "https://example.com/two",
        "https://other.example/x",
        "https://example.com/shop/three.html",
    ]  # without mail, script and ftp links, and without empty and invalid ones
    assert [one.url for one in page.follow("img")] == ["https://example.com/shop/pic.png"]
    assert [one.url for one in page.follow("article a::attr(href)")] == ["https://example.com/shop/one.html"]
    assert [one.url for one in page.follow(page.css("h3 a"))] == ["https://example.com/shop/one.html"]
    assert [one.url for one in page.follow(["?page=2", "tel:1"])] == [
        "https://example.com/shop/list.html?page=2"
    ]
    assert list(page.follow("nothing")) == []
    assert [one.url for one in page.follow(page.css("h3 a")[0])] == ["https://example.com/shop/one.html"]
    # these texts cannot be selectors, so they are URLs
    for url in ("/two", "https://example.com/two", "../two", "HTTPS://example.com/two"):
        assert [one.url for one in page.follow(url)] == ["https://example.com/two"]
    assert [one.url for one in page.follow("?q=1")] == ["https://example.com/shop/list.html?q=1"]
    assert list(page.follow("two html")) == list(page.follow(None)) == []
    with pytest.raises(ValueError, match=r"CSS selector 'two\[html'"):
        list(page.follow("two[html"))
    for what in (page.css("li"), "h3", page.css("h3")[0]):
        with pytest.raises(ValueError, match="is not a link: select the <a> in it"):
            list(page.follow(what))


def test_follow_an_address_as_the_page_has_it() -> None:
    page = view(
        '<a class=next href="page-2.html">2</a><a href=three>3</a><a href="odd name">4</a><a href="x:y">5</a><a class=three>6</a>'
    )
    for href, want in (
        ("page-2.html", "page-2.html"),
        ("cat/page-2.html", "cat/page-2.html"),
        ("index.php?id=3", "index.php?id=3"),
        ("a%20b", "a%20b"),
        ("three", "three"),
        ("odd name", "odd%20name"),
        (page.css("a.next::attr(href)").get(), "page-2.html"),
    ):
        assert [one.url for one in page.follow(href)] == [f"https://example.com/shop/{want}"]
    assert [one.url for one in page.follow(".next")] == ["https://example.com/shop/page-2.html"]
    assert list(page.follow(".three")) == list(page.follow("a.last::attr(href)")) == []


def test_the_base_is_obeyed() -> None:
    page = view('<base href="/top/"><a href="a">x</a>')
    assert [one.url for one in page.follow("a")] == [page.urljoin("a")] == ["https://example.com/top/a"]
    with pytest.raises(ValueError, match="mailto"):
        page.urljoin("mailto:a@b")


def test_a_request_hands_on_where_it_came_from() -> None:
    page = view(LINKS, request=Request(URL, depth=3, priority=7))
    one = page.request("x", use="detail", carry={"rank": 1})
    assert (one.url, one.depth, one.priority, one.referrer) == ("https://example.com/shop/x", 4, 7, URL)
    assert (one.use, one.carry) == ("detail", {"rank": 1})
    assert page.request("x", priority=0).priority == 0
    assert {each.use for each in page.follow("a", use="detail")} == {"detail"}
    post = page.request(
        "/search", method="POST", body="q=1", headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (post.method, post.body) == ("POST", "q=1")


def test_what_no_request_can_be() -> None:
    page = view("")
    for url in ("mailto:a@b", "javascript:1", "http://[", "ftp://example.com/"):
        with pytest.raises(ValueError, match="not an http"):
            page.request(url)
    page.request("x", carry="y" * (MAX_CARRY_BYTES - 2))
    with pytest.raises(ValueError, match="4096"):
        page.request("x", carry="y" * (MAX_CARRY_BYTES - 1))
    with pytest.raises(ValueError, match="4096"):
        page.request("x", carry="é" * (MAX_CARRY_BYTES // 2))
    with pytest.raises(TypeError):
        page.request("x", carry=object())
    with pytest.raises(TypeError):
        page.request("x", colour="red")


NOFOLLOW = '<a href="/a">a</a><a rel="noopener NoFollow" href="/b">b</a>'


def test_a_method_is_written_large() -> None:
    request = view("").request(
        "/x", method="post", body="q=1", headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert (request.method, request.body) == ("POST", "q=1")


def test_nofollow_is_obeyed_and_counted() -> None:
    page = view(NOFOLLOW)
    assert [one.url for one in page.follow("a")] == ["https://example.com/a"]
    assert page.shut == {"/b"}
    assert page.request("/b").url == "https://example.com/b"  # an explicit request


@pytest.mark.parametrize(
    ("meta", "headers"),
    [('<meta name=robots content="NOINDEX, nofollow">', {}), ("", {"x_robots_tag": "none"})],
)
def test_a_page_that_says_nofollow_gives_no_links(meta: str, headers: dict[str, str]) -> None:
    page = view(meta + NOFOLLOW, **headers)
    assert list(page.follow("a")) == list(page.follow(["/c"])) == []
    assert page.shut == {"/a", "/b", "/c"}


def test_a_page_as_records_and_text() -> None:
    said = "A lamp that shines in a red of its own, which no other lamp of this shop, however dear it may be, has ever shown."
    page = view(
        f'<script type="application/ld+json">{{"@type": "Product", "name": "Lamp", "offers": {{"price": 5, "priceCurrency": "EUR"}}}}</script>'
        f"<nav><a href=/>Home</a></nav><h1>Lamp</h1><p>{said * 3}</p><p><a href=/all>All</a> of our lamps shine in red.</p>"
    )
    assert page.structured["json_ld"][0]["name"] == "Lamp"
    assert (page.product["name"], page.product["price"], page.product["currency"]) == (
        "Lamp",
        Decimal(5),
        "EUR",
    )
    assert page.main_text == f"Lamp\n\n{said * 3}\n\nAll of our lamps shine in red."
    assert (
        page.markdown == f"# Lamp\n\n{said * 3}\n\n[All](https://example.com/all) of our lamps shine in red."
    )
    assert view("{}", "application/json").product["name"] is None

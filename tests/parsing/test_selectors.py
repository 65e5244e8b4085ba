"""CSS and XPath selectors, with the extensions that users of parsel expect."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import parsel
import pytest

from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.parsing.selectors import Selection, split_selectors

HTML = b"""<!doctype html><html lang=en><title>T</title><body>
<h1 class="big  bold" id=top>One <b>two</b> three</h1>
<ul><li data-n=1><a href="/a" rel="x y">A</a> <i>1.50</i></li><li data-n=2><a href="/b">B</a></li><li data-n=3>no link</li></ul>
<p title="x,y">comma</p><p>id=7; id=8</p><div><p>deep</p></div><template><p>later</p></template>
<script>var data = {"n": [1, 2]};</script>"""


@pytest.fixture(scope="module")
def page() -> PageView:
    return PageView(
        Page(
            "https://example.com/",
            200,
            [("content-type", "text/html; charset=utf-8")],
            HTML,
            0.0,
            0.0,
            len(HTML),
        )
    )


CSS: list[tuple[str, list[str]]] = [
    ("h1::text", ["One ", " three"]),  # the element's own texts
    ("h1 ::text", ["One ", "two", " three"]),  # the texts of its descendants, too
    ("h1 b::text", ["two"]),
    ("li a::attr(href)", ["/a", "/b"]),
    ("li::attr(data-n)", ["1", "2", "3"]),
    # an attribute that is a list of words gives one text; elements without the attribute give nothing
    ("li a::attr( rel )", ["x y"]),
    ("h1::attr(class)", ["big bold"]),
    ("li:nth-child(2) a::text", ["B"]),
    ("li:not([data-n='1']) a::text", ["B"]),
    ("ul > li:has(i) a::text", ["A"]),
    ("a::text, i::text", ["A", "1.50", "B"]),  # in the order of the page, also for a list of selectors
    ("i::text, a::text", ["A", "1.50", "B"]),
    ("a::attr(href), a::text", ["/a", "A", "/b", "B"]),
    ("title::text, li a", ["T", '<a href="/a" rel="x y">A</a>', '<a href="/b">B</a>']),
    ("p[title='x,y']::text", ["comma"]),
    ('p[title="x,y"]::text, b::text', ["two", "comma"]),
    ("p:is(div p, [title])::text", ["comma", "deep"]),
    ("b", ["<b>two</b>"]),
    ("b, title", ["<title>T</title>", "<b>two</b>"]),  # in the order of the page
    ("nothing", []),
    ("nothing::text", []),
    ("b::attr(none)", []),
    ("h1 *::text", ["One ", "two", " three"]),  # the same in parsel's notation
    ("div::text, p[title]::text, div p::text", ["comma", "deep"]),
    ("li ::attr(href)", ["/a", "/b"]),  # of the element and of all its descendants
    ("li *::attr(data-n)", ["1", "2", "3"]),
    ("::attr(href)", ["/a", "/b"]),
    ("*::attr(href)", ["/a", "/b"]),
    ("ul > *::attr(data-n)", ["1", "2", "3"]),
    ("ul > ::attr(data-n)", ["1", "2", "3"]),
    ("li:contains('link')::attr(data-n)", ["3"]),
    ('li:contains("1.50") a::text', ["A"]),
    ("li:contains(A) + li a::text", ["B"]),
    ("a:contains('A'), a:contains('B')", ['<a href="/a" rel="x y">A</a>', '<a href="/b">B</a>']),
    ("li:contains('nowhere')", []),
]


@pytest.mark.parametrize(("query", "want"), CSS)
def test_css(page: PageView, query: str, want: list[str]) -> None:
    assert page.css(query).getall() == want
    assert page.css(query).get() == (want[0] if want else None)
    assert page.css(query).get("else") == (want[0] if want else "else")
    assert len(page.css(query)) == len(want)
    assert bool(page.css(query)) is bool(want)


XPATH: list[tuple[str, list[str]]] = [
    ("//li/a/@href", ["/a", "/b"]),
    ("//li/a/text()", ["A", "B"]),
    ("//b", ["<b>two</b>"]),
    ("count(//li)", ["3"]),
    ("sum(//li/i)", ["1.5"]),
    ("string(//h1)", ["One two three"]),
    ("normalize-space(//li[1])", ["A 1.50"]),
    ("//li[contains(., 'link')]/@data-n", ["3"]),
    ("//nothing", []),
    ("//title | //b", ["<title>T</title>", "<b>two</b>"]),
    ("//li[a]/@data-n", ["1", "2"]),
    ("count(//li) = 3", ["1"]),  # a number or boolean as a text, like parsel
    ("boolean(//zzz)", ["0"]),
    ("//h1[has-class('big')]/b/text()", ["two"]),
    ("//*[has-class('big', \"bold\") and @id]/@id", ["top"]),
    ("//h1[has-class('bi')]", []),
    ("//a[re:test(@href, '/[bc]')]/text()", ["B"]),
]


@pytest.mark.parametrize(("query", "want"), XPATH)
def test_xpath(page: PageView, query: str, want: list[str]) -> None:
    assert page.xpath(query).getall() == want


def test_selections_nest(page: PageView) -> None:
    rows = [
        (li.attrib["data-n"], li.css("a::text").get(), li.xpath("./a/@href").get("-"))
        for li in page.css("li")
    ]
    assert rows == [("1", "A", "/a"), ("2", "B", "/b"), ("3", None, "-")]
    assert page.css("ul").css("a").css("::attr(href)").getall() == ["/a", "/b"]
    assert page.css("ul").xpath(".//a").css("::text").getall() == ["A", "B"]
    assert page.css("h1").css("::text").getall() == ["One ", "two", " three"]
    assert (
        page.css("h1::text").css("b").getall() == page.css("h1::text").xpath("//b").getall() == []
    )  # a text has no descendants
    assert page.css("li").attrib == {"data-n": "1"}
    assert page.css("nothing").attrib == {}
    assert page.css("a::text")[0].attrib == {}


def test_an_element_is_found_in_itself(page: PageView) -> None:
    assert [a.css("a::attr(href)").get() for a in page.css("a")] == ["/a", "/b"]
    assert [li.css("::attr(href)").get() for li in page.css("li")] == ["/a", "/b", None]
    assert page.css("ul").css("ul > li").getall() == page.css("li").getall()
    assert page.css("li")[0].css(":scope > i::text").getall() == ["1.50"]
    assert page.css("b")[0].getall() == ["<b>two</b>"]


NESTED = b"<div>1<div>2<div>3</div>4</div>5<p>6<i>7</i></p>8</div><div>9</div>"


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("div::text", "12345" + "89"),
        ("div ::text", "123456789"),
        ("div *::text", "123456789"),
        ("*::text", "123456789"),
    ],
)
def test_texts_of_nested_elements_come_once_and_in_the_pages_order(query: str, want: str) -> None:
    view = PageView(Page("https://example.com/", 200, [("content-type", "text/html")], NESTED, 0.0, 0.0, 0))
    assert "".join(view.css(query).getall()) == want


@pytest.mark.parametrize(
    "query",
    [
        "li::text, .b::text",
        ".b::text, li::text",
        "li::text, b::text",
        "p::text, li *::text, li::text",
        "a::attr(href), a::attr(id), a::attr(href)",
        "li, b::text, li::attr(class)",
        "::text, li::text",
        "p, li::text",
    ],
)
def test_each_node_of_joined_selectors_comes_once_as_in_parsel(query: str) -> None:
    html = "<ul><li class=a>one <b>x</b> tail</li><li class=b>two</li></ul><p class=b>three</p><a href=/1 id=q>l</a>"
    headers = [("content-type", "text/html")]
    view = PageView(
        Page("http://a.example/", 200, headers, html.encode(), fetched_at=0.0, elapsed=0.0, wire=0)
    )
    assert view.css(query).getall() == parsel.Selector(html).css(query).getall()


def test_deep_pages_are_asked_in_time() -> None:
    body = b"<div>x" * 20000 + b"<i>y</i>" * 20000
    view = PageView(Page("https://example.com/", 200, [("content-type", "text/html")], body, 0.0, 0.0, 0))
    for query in ("div::text", "div ::text", "div *::text"):
        assert 20000 <= len(view.css(query)) <= 40000


def test_variables_of_xpath(page: PageView) -> None:
    assert page.xpath("//li[@data-n=$n]/a/text()", n="2").getall() == ["B"]
    assert page.css("ul").xpath("./li[@data-n>$n]/@data-n", n=1).getall() == ["2", "3"]
    with pytest.raises(ValueError, match="XPath"):
        page.xpath("//li[@data-n=$n]")


def test_marks_of_contains_are_gone_again(page: PageView) -> None:
    before = page.css("body").get()
    with pytest.raises(ValueError, match="CSS selector"):
        page.css("li:contains('A'):nope")
    page.css("li:contains('A') a")
    assert page.css("body").get() == before


def test_a_hard_space_is_a_space_for_regular_expressions() -> None:
    body = b"<p>1&nbsp;299&nbsp;kr</p>"
    view = PageView(Page("https://example.com/", 200, [("content-type", "text/html")], body, 0.0, 0.0, 0))
    assert view.css("p").re(r"[\d\s]+\d") == ["1\u00a0299"]


def test_slices_and_ends(page: PageView) -> None:
    found = page.css("li")
    assert isinstance(found[1:], Selection)
    assert found[1:].css("a::text").getall() == ["B"]
    assert found[-1].text == "no link"
    assert [one.attrib["data-n"] for one in found[::2]] == ["1", "3"]
    with pytest.raises(IndexError):
        found[3]
    assert page.css("h1")[0].text == "One two three"
    assert "Selection of 3" in repr(found)


def test_regular_expressions(page: PageView) -> None:
    assert page.css("p::text").re(r"id=(\d)") == ["7", "8"]
    assert page.css("p::text").re(r"id=\d") == ["id=7", "id=8"]
    assert page.css("p::text").re(r"(i)(d)=7") == ["i", "d"]
    assert page.css("p::text").re(r"id=7(x)?") == [""]
    assert page.css("p::text").re_first(r"id=(\d)") == "7"
    assert page.css("p::text").re_first("nope") is None
    assert page.css("p::text").re_first("nope", "-") == page.re_first("nope", "-") == "-"
    assert page.re(r'"n": \[(\d), (\d)\]') == ["1", "2"]  # embedded data
    # for an element, the pattern is applied to its HTML
    assert page.css("li")[0].re_first(r"[\d.]+<") == "1.50<"


def test_prices_below_an_element(page: PageView) -> None:
    assert page.css("li")[0].price("i") == page.price("li i") == Decimal("1.50")
    assert page.css("li")[1].price("i") is None


BAD_CSS = [
    "",
    "p[",
    "::",
    "p:unknown-thing",
    "a::attr()",
    "> b",
    "a,,b",
    "p:contains(x",
    "p:contains()",
    "[",
    "a::before",
    "\x00",
]


@pytest.mark.parametrize("query", BAD_CSS)
def test_a_bad_css_selector_is_a_value_error_that_names_it(page: PageView, query: str) -> None:
    with pytest.raises(ValueError) as caught:
        page.css(query)
    assert "CSS selector" in str(caught.value)


@pytest.mark.parametrize("query", ["//p[", "//x:y", "", "//a[@href=]", "nope(1)", "]"])
def test_a_bad_xpath_is_a_value_error_that_names_it(page: PageView, query: str) -> None:
    with pytest.raises(ValueError, match="XPath"):
        page.xpath(query)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("a:is(b, c), d", ["a:is(b, c)", "d"]),
        ("a[x='1,2'],b", ["a[x='1,2']", "b"]),
        ('a[x="],("], b', ['a[x="],("]', "b"]),
        ("a,", ["a", ""]),
    ],
)
def test_lists_are_split_at_their_own_commas(query: str, parts: list[str]) -> None:
    assert split_selectors(query) == parts


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe", b"<" * 1000, b"<p>" * 2000, b"{}"])
def test_any_bytes_can_be_asked(body: bytes) -> None:
    view = PageView(Page("https://example.com/", 200, [("content-type", "text/html")], body, 0.0, 0.0, 0))
    answers: list[Any] = [
        view.css("p ::text").getall(),
        view.xpath("//a/@href").getall(),
        view.re("x"),
        view.title,
    ]
    assert len(answers) == 4

"""Time and memory are proportional to the size of a page, whatever its markup. The parser checks lengths
before it joins strings."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import turbohtml

from gossamer.model.page import Page
from gossamer.parsing import embedded, html, links, page_cost, pagedates, products, structured, tables, text
from gossamer.parsing.base_url import Base
from gossamer.parsing.page_cost import TooComplex, is_costly
from gossamer.parsing.page_view import PageView
from support.repetitions import repetitions

URL = "https://www.example.com/a/b"
EXPLODES = b"".join(b"<b class=c%d><p>" % n for n in range(20_000))


def script(body: bytes) -> bytes:
    return b"<script>" + body + b"</script>"


FAMILIES: dict[str, Callable[[int], bytes]] = {
    "objects that are not JSON": lambda n: script(b"var a={b:1};" * n),
    "objects that end too early": lambda n: script(b'var abc={"b":c};' * n),
    "escaped quotes behind a quote": lambda n: script(b'x="' + b'\\"' * n),
    "escaped apostrophes": lambda n: script(b"x={a:'" + b"\\'" * n),
    "escaped backticks": lambda n: script(b"x=`" + b"\\`" * n),
    "brackets in an expression": lambda n: script(b"x=(" * n),
    "patterns": lambda n: script(b"x=/a[/;" * n),
    "open lists": lambda n: script(b"a=[" + b"[" * n),
    "calls": lambda n: script(b'JSON.parse("' * n),
}


def cpu(call: Callable[[bytes], Any], body: bytes) -> float:
    began = time.process_time()
    call(body)
    return time.process_time() - began


@pytest.mark.parametrize("family", FAMILIES)
def test_scripts_are_read_in_linear_time(family: str) -> None:
    """Quadratic work would take 100 times as long, many seconds."""
    assert cpu(embedded.embedded, FAMILIES[family](20_000)) < 4.0


@pytest.mark.parametrize(
    "resolve", [Base(URL).resolve, Base("https://www.example.com/" + "a" * 900_000 + "/").resolve]
)
def test_what_is_longer_than_a_url_may_be_is_not_joined(resolve: Callable[[str], str | None]) -> None:
    assert resolve("x" * 3000) is None
    assert resolve("/short#" + "f" * 3000) == "https://www.example.com/short"
    assert resolve("//other.example/y") == "https://other.example/y"
    assert cpu(lambda _: [resolve(f"x{n}") for n in range(50_000)], b"") < 5.0


def test_a_long_base_reaches_its_origin_alone() -> None:
    base = Base("https://www.example.com/" + "a" * 3000 + "/")
    assert base.url == "https://www.example.com/"
    assert base.resolve("x") is None
    assert base.resolve("?q") is None
    assert base.is_too_long("x")
    assert not base.is_too_long("mailto:a@b.example")


def test_a_page_with_a_long_base_and_many_links() -> None:
    body = (
        b"<base href='/"
        + b"a" * 800_000
        + b"/'>"
        + b"".join(b"<a href=x%d>x</a>" % n for n in range(50_000))
        + b"<a href=/y>y</a>"
    )
    page = Page(URL, 200, [("content-type", "text/html")], body, 0.0, 0.0, len(body))
    view = PageView(page)
    assert [one.url for one in view.follow("a")] == ["https://www.example.com/y"]
    assert len(view.too_long) == 50_000
    assert [one.url for one in links.links(body, URL)] == ["https://www.example.com/y"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda page: page.css("b"),
        lambda page: page.title,
        lambda page: page.product,
        lambda page: page.form(),
    ],
)
def test_a_view_of_a_page_that_explodes_is_refused(ask: Callable[[PageView], Any]) -> None:
    """Log-ins, `check`, `new` and `shell` parse pages themselves."""
    assert page_cost.may_explode(EXPLODES)
    page = Page(URL, 200, [("content-type", "text/html")], EXPLODES, 0.0, 0.0, len(EXPLODES))
    with pytest.raises(TooComplex, match="too complex"):
        ask(PageView(page))
    small = Page(URL, 200, [("content-type", "text/html")], b"<p>good", 0.0, 0.0, 7)
    assert PageView(small).css("p::text").get() == "good"


@pytest.mark.parametrize(
    "read",
    [
        links.links,
        structured.structured,
        products.product,
        pagedates.dates,
        text.main_text,
        lambda body, url: tables.of(html.parse(body, "text/html", url).tree),
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        b'<div itemscope itemref="'
        + b" ".join(b"a%d" % n for n in range(2000))
        + b'">'
        + b"<i id=a1 itemprop=x>" * 2000,
        b'<div prefix="'
        + b" ".join(b"a%d: http://e/%d" % (n, n) for n in range(2000))
        + b'">'
        + b"<b typeof=a1:X property=a2:y>" * 2000,
        b"<table><tr>" + b"<td colspan=1000 rowspan=65534>x" * 300,
        b"<p>" + b"1." * 50_000 + b"2026-01-" * 20_000,
        b'<script type="application/ld+json">' + b'{"a":[{' * 20_000,
        ("<h1>x</h1><p>" + "กขคงจฉชซ" * 12 + " 10</p><p class=date>" + "अआइई" * 25 + " 9").encode(),
        b"<aside><div class=date>" * 250 + b"<p>12 May" * 5000,
        b"<script>" + b'"date_published_' * 20_000,
    ],
    ids=["itemref", "prefixes", "spans", "digits", "json-ld", "thai", "asides", "scripts"],
)
def test_pure_functions_take_time_by_the_size(read: Callable[[bytes, str], Any], body: bytes) -> None:
    assert cpu(lambda one: read(one, URL), body) < 6.0


def test_a_page_that_leaves_many_formatting_elements_open_is_read_apart() -> None:
    left = b"".join(b"<p><b class=c%d>" % n for n in range(600))
    assert is_costly(left)
    assert not is_costly(left.replace(b"<p>", b"</b>"))
    assert not is_costly(b"<p><b class=c>a <em>b</em> <code>c</code>" * 600), "three of the kind are reopened"
    usual = b"".join(b'<p><b id="%d">a</b> <em>b</em> <code>c</code></p>' % n for n in range(600))
    assert not is_costly(usual)


@pytest.mark.parametrize(
    "between",
    [
        b"",
        b"<!--</b>-->",
        b"<p title='</b>'>",
        b"<script></b></script>",
        b"<textarea></b></textarea>",
        b"<table><td></b>",
        b"<select></b></select>",
        b"<svg></b></svg>",
        b"<!-- <b -->x</b>",
        b"</i>",
        b"<ul>" * 9 + b"</b>" + b"</ul>" * 9,
        b"<span title='</b>'>",
        b'<span x="y"" z="></b>">',
        b'<i></i><span title="></b>">',
        b"<span><!--</span></b>-->",
    ],
)
def test_an_end_tag_that_closes_nothing_does_not_hide_an_open_element(between: bytes) -> None:
    count = 1100
    page = b"".join(b"<b id=%d>" % n + between for n in range(count)) + b"</b>" * count
    assert is_costly(page)
    assert is_costly(b"</b>" * count + page)
    assert is_costly(page.decode("latin-1").encode("utf-16"))


WORDS = (
    *(
        b"<b>",
        b"<b id=%d>",
        b"</b>",
        b"</b>",
        b"<code class=x>",
        b"</code>",
        b"<EM>",
        b"</em>",
        b"<nobr>",
        b"<font size=%d>",
    ),
    *(
        b"</font>",
        b"<span>",
        b"</span>",
        b"<span class='a'>",
        b"<a href=x>",
        b"</a>",
        b"<sub>",
        b"</sub>",
        b"x",
        b"<p>",
        b"</p>",
    ),
    *(
        b"<div>",
        b"</div>",
        b"<table>",
        b"<td>",
        b"</table>",
        b"<!--",
        b"-->",
        b"<script>",
        b"</script>",
        b"<select>",
        b"</select>",
    ),
    *(
        b"<svg>",
        b"</svg>",
        b"<br>",
        b"<img src=x>",
        b"<i title='",
        b"'>",
        b"<ul><li>",
        b"</ul>",
        b"<title>",
        b"</title>",
        b"<b",
        b">",
    ),
    *(
        b"<button>",
        b"</button>",
        b"<math><mi>",
        b"</mi></math>",
        b"<template>",
        b"</template>",
        b"<h1>",
        b"</h1>",
        b"<desc>",
        b"/",
    ),
)


FORMATTING = ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]


def test_no_more_formatting_elements_are_open_than_start_tags_without_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The formatting elements around a node of the tree are at least those that were open there."""
    monkeypatch.setattr(page_cost, "_may_clone", lambda *_: True)  # no number is harmless
    random = Random(1)
    for _ in range(repetitions(10_000)):
        some = random.sample(WORDS, random.randint(3, 14))
        words = random.choices(some, k=random.randint(5, 60))
        body = b"".join(word % random.randint(0, 9) if b"%d" in word else word for word in words)
        found = page_cost._STARTS.findall(body)
        assert len(page_cost._TAGS.findall(body)) >= page_cost._count(found)
        opened, stack = 0, [(turbohtml.parse(body.decode()), 0)]
        while stack:
            node, around = stack.pop()
            inside = around + (getattr(node, "tag", None) in FORMATTING)
            opened = max(opened, inside)
            stack += [(child, inside) for child in node.children]
        assert opened < page_cost._unclosed(body, found, 0) + page_cost.MAX_NESTED, body

"""Page functions: their allowed results, and the handling of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer import Item, Request, Site
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites import LoadedSite, load
from gossamer.sites.page_functions import MAX_VALUES, PageResult, gather_follow, run

URL = "https://a.example/list"


class Book(Item, key="n"):
    n: int


def view(body: str = "<h1>T</h1><a href=/x>x</a>", request: Request | None = None) -> PageView:
    return PageView(
        Page(URL, 200, [("content-type", "text/html")], body.encode(), 0.0, 0.0, 0), request=request
    )


def applied(function: Callable[[Any], Any], page: PageView | None = None, **site: Any) -> PageResult:
    one = Site("s", **site)
    one.page(name="f")(function)
    return run(LoadedSite(one, Path(__file__), "v", {}, False), page or view())


def generator(page: Any) -> Iterator[Any]:
    yield Book(n=1)
    yield {"free": "form"}
    yield "/rel#frag"
    yield from page.follow("a", use="f")
    yield Request("https://b.example")


def test_a_generator_may_give_items_dicts_urls_and_requests() -> None:
    parsed = applied(generator, view(request=Request(URL, depth=4, priority=2)))
    assert parsed.error is None
    assert parsed.items == [Book(n=1), {"free": "form"}]
    assert [(one.url, one.use) for one in parsed.requests] == [
        ("https://a.example/rel", None),
        ("https://a.example/x", "f"),
        ("https://b.example/", None),
    ]
    assert {(one.depth, one.priority, one.referrer) for one in parsed.requests[:2]} == {(5, 2, URL)}
    # an explicit request does not bypass --depth
    assert (parsed.requests[2].depth, parsed.requests[2].referrer) == (5, URL)
    assert parsed.function == "f"


@pytest.mark.parametrize(
    ("given", "items", "requests"),
    [
        (None, 0, 0),
        ([], 0, 0),
        ((), 0, 0),
        ([Book(n=1), "/x"], 1, 1),
        (Book(n=1), 1, 0),
        ({"a": 1}, 1, 0),
        ("/x", 0, 1),
        (Request("https://a.example/y", method="POST", body="b"), 0, 1),
        (iter([Book(n=1)]), 1, 0),
    ],
)
def test_lists_and_single_things_are_as_good(given: Any, items: int, requests: int) -> None:
    parsed = applied(lambda page: given)
    assert (len(parsed.items), len(parsed.requests), parsed.error) == (items, requests, None)


WRONG = [
    (lambda page: 7, "int"),
    (lambda page: [page.css("a")], "Selection"),
    (lambda page: [["/x"]], "yields a list: write `yield from`"),
    (lambda page: [page.follow("a")], "yields a generator: write `yield from`"),
    (lambda page: page.follow("a", callback="f"), "a request has no callback=: there are use, carry"),
    (lambda page: page.follow("a", use=generator), "name a page function"),
    (lambda page: page.json(), "the page is not JSON"),
    (lambda page: [{5: 1}], "and 5 is not"),
    (lambda page: [Book], "_ItemMeta"),
    (lambda page: ["mailto:a@b"], "not an http(s) URL"),
    (lambda page: [Request("tel:1")], "not an http(s) URL"),
    (lambda page: [Request("https://a.example/", use="@sitemap")], "name a page function"),
    (lambda page: [Request("https://a.example/", carry="x" * 5000)], "4096"),
    (lambda page: page.css("p[").get(), "CSS selector"),
    (lambda page: page.follow(5), "not iterable"),
    (lambda page: [page.request("/x", method="POST", body={"q": 1})], "body= is a text"),
    (lambda page: [Book(m=1)], "Unexpected keyword"),
    (lambda page: sys.exit(3), "SystemExit"),
]


@pytest.mark.parametrize(("function", "says"), WRONG)
def test_what_is_wrong_is_said(function: Callable[[Any], Any], says: str) -> None:
    parsed = applied(function)
    assert parsed.error == "parse"
    assert says in parsed.detail
    assert (parsed.items, parsed.requests) == ([], [])


def test_an_error_names_file_and_line_and_what_came_before_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from gossamer import Site\nsite = Site('a')\n@site.page()\ndef listing(page):\n    yield {'n': 1}\n    yield '/x'\n"
        "    detail(page)\ndef detail(page):\n    return page.css('h1::text').get()[99]\n"
    )
    (tmp_path / "a.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "a.py", Path("a.py")):
        (loaded,) = load(path)
        parsed = run(loaded, view())
        assert (parsed.error, parsed.items, parsed.requests) == ("parse", [], [])
        assert parsed.detail == "a.py:9 in detail: IndexError: string index out of range"
    assert os.fspath(tmp_path) not in parsed.detail


def test_deep_recursion_and_endless_yields_end() -> None:
    def deep(page: Any) -> Any:
        return deep(page)

    def endless(page: Any) -> Iterator[dict[str, int]]:
        while True:
            yield {"n": 1}

    assert "RecursionError" in applied(deep).detail
    assert f"more than {MAX_VALUES}" in applied(endless).detail


def test_must_have() -> None:
    assert applied(lambda page: None, must_have=["h1", "a[href]"]).error is None
    parsed = applied(lambda page: {"n": 1}, must_have=["h1", ".price"])
    assert (parsed.error, parsed.items) == ("missing", [])
    assert "'.price'" in parsed.detail
    assert "must_have of site s" in applied(lambda page: None, must_have=["p["]).detail
    site = Site("s", must_have=[".price"])  # even without any page function
    assert run(LoadedSite(site, Path("s.py"), "v", {}, False), view()).error == "missing"


def test_a_request_names_its_function() -> None:
    parsed = applied(lambda page: {"carry": page.carry}, view(request=Request(URL, use="f", carry=[1])))
    assert parsed.items == [{"carry": [1]}]
    parsed = applied(lambda page: None, view(request=Request(URL, use="gone")))
    assert "no page function 'gone'" in parsed.detail


def test_follow_functions() -> None:
    loaded = LoadedSite(Site("s"), Path(__file__), "v", {}, False)
    requests, problem = gather_follow(loaded, lambda page: [*page.follow("a"), "/y"], view())
    assert ([one.url for one in requests], problem) == (["https://a.example/x", "https://a.example/y"], None)
    for wrong in (lambda page: 1 / 0, lambda page: [Book(n=1)], lambda page: None):
        requests, problem = gather_follow(loaded, wrong, view())
        assert requests == []
        assert problem

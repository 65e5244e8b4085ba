"""Routes in URL fragments: which fragments are routes, and the form of their URLs."""

from __future__ import annotations

import pytest

from gossamer import url as urls
from gossamer.model.request import Request, pack, unpack
from gossamer.parsing.base_url import Base
from gossamer.url.routes import RouteResolver, route_of, same_route, seed_with_route, with_route

PAGE = "https://example.com/docs/#/intro/start"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("#/guide", "https://example.com/docs/#/guide"),
        ("#!/guide?a=1", "https://example.com/docs/#!/guide?a=1"),
        (" #/a b ", "https://example.com/docs/#/a%20b"),
        ("./#/guide", "https://example.com/docs/#/guide"),
        ("/#/guide", "https://example.com/#/guide"),
        ("https://example.org/#/x", "https://example.org/#/x"),
        ("#/", "https://example.com/docs/"),
        ("#!/", "https://example.com/docs/"),
        ("#top", "https://example.com/docs/"),
        ("next#part", "https://example.com/docs/next"),
        ("#", "https://example.com/docs/"),
        ("mailto:a@example.com#/x", None),
    ],
)
def test_links_of_a_page_with_routes(href: str, url: str | None) -> None:
    base = Base(PAGE)
    base.routes = "routes"
    assert base.url == "https://example.com/docs/"
    assert base.resolve(href) == url
    assert RouteResolver(base.url).resolve(href) == url
    assert Base(PAGE).resolve(href) == (url and url.partition("#")[0]), "elsewhere fragments are dropped"


def test_headings_of_docsify_are_no_pages() -> None:
    base = Base("https://example.com/")
    base.routes = "docsify"
    assert base.resolve("#/guide?id=install") == "https://example.com/#/guide"
    assert base.resolve("#/?id=install") == "https://example.com/"
    assert (
        RouteResolver("https://example.com/", docsify=True).resolve("#/a?v=2&id=b")
        == "https://example.com/#/a?v=2"
    )


def test_the_canonical_form_keeps_a_route() -> None:
    url = "https://example.com/a?utm_source=x&b=2&a=1#/item?b=2&a=1;sid=3"
    assert urls.key(url) == "https://example.com/a?a=1&b=2#/item?b=2&a=1;sid=3"
    assert urls.key(urls.key(url)) == urls.key(url)
    assert urls.canonical(url) == "https://example.com/a?a=1&b=2", "a text of unknown origin has none"
    assert urls.key("https://example.com/#/a") != urls.key("https://example.com/#/b")
    assert urls.host("https://example.com:81/#/a/b") == "example.com:81"


def test_a_route_survives_the_frontier() -> None:
    request = Request("https://example.com/docs/?a=1#/x/y", 2, referrer="https://example.com/docs/#/x")
    host, stored = pack(request)
    assert unpack(host, stored) == request


def test_seeds_keep_routes_and_no_other_fragment() -> None:
    assert seed_with_route("https://example.com/#/a") == "https://example.com/#/a"
    assert seed_with_route("https://example.com/#a") == "https://example.com/"
    assert route_of("https://example.com/#//") == ""
    assert with_route("https://example.com/", "") == "https://example.com/"
    assert same_route("https://example.com/#/a/", "https://example.com/#/a")
    assert not same_route("https://example.com/#/a", "https://example.com/#/a/b")

"""Route links: the decision whether a page's route links lead to pages, and the hrefs that become entries."""

from __future__ import annotations

import pytest

from gossamer.model.page import Page
from gossamer.parsing import html
from gossamer.parsing.links import find_hrefs
from gossamer.url.redirects import redirect_target
from gossamer.worker.route_links import RouteFollower

URL = "https://example.com/"
ROUTES = "<a href=#/a>a</a><a href=#/b>b</a><a href='./#/b'>b</a><a href=#/>home</a><a href=#top>top</a>"
DOCSIFY = "<script src=/lib/docsify.min.js></script><a href='#/a?id=x'>x</a><a href='#/a?id=y'>y</a>"


def choose(
    body: str, mode: str = "auto", own: str = "", url: str = URL, rung: str = "browser", router: bool = True
) -> tuple[str, list[str], list[str]]:
    """Returns the treatment of a page's routes, the hrefs, and the log messages."""
    told: list[str] = []
    page = Page(
        url,
        200,
        [("content-type", "text/html")],
        body.encode(),
        0.0,
        0.1,
        len(body),
        rung=rung,
        router=router,
    )
    document = html.parse(page.body, "text/html", url)
    found = find_hrefs(document)
    follower = RouteFollower(mode, told.append)
    for _ in range(2):
        kind, hrefs = follower.choose(page, document, found.follow, found.routes, own)
    return kind, hrefs, told


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("routes", {}),
        ("", {"rung": "plain"}),
        ("", {"router": False}),
        ("routes", {"mode": "routes", "router": False}),
        ("routes", {"own": "routes", "router": False}),
        ("", {"mode": "routes", "own": "drop"}),
        ("routes", {"url": "https://example.com/#/c", "router": False}),
    ],
)
def test_a_site_says_or_shows_that_it_has_routes(kind: str, options: dict[str, object]) -> None:
    found, hrefs, told = choose(ROUTES, **options)  # type: ignore[arg-type]
    assert found == kind
    assert len(told) == (1 if kind and options.get("mode") != "routes" and not options.get("own") else 0)
    dropped = options.get("own") == "drop"
    assert hrefs == ([] if dropped else ["#/a", "#/b"]), "each route once, the empty route is the page itself"


def test_few_routes_among_other_links_are_not_followed() -> None:
    others = "".join(f"<a href=/{n}>{n}</a>" for n in range(5))
    assert choose(ROUTES + others)[:2] == ("", ["#/a", "#/b"])
    assert choose("<a href=#/a>a</a>")[0] == "", "one is not a router"
    abroad = "".join(f"<a href=https://example.org/{n}>{n}</a>" for n in range(5))
    assert choose(ROUTES + abroad)[0] == "routes"


def test_docsify_is_known_by_its_script() -> None:
    assert choose(DOCSIFY, router=False) == (
        "docsify",
        ["#/a?id=x"],
        [
            "example.com shows pages at #/routes (docsify): each is a page of its own; --fragments drop leaves them out"
        ],
    )


def test_nofollow_applies_to_routes() -> None:
    assert choose(f"<meta name=robots content=nofollow>{ROUTES}")[1] == []
    document = html.parse(b"<a rel=nofollow href=#/a>a</a><a href=#/b>b</a>", "text/html", URL)
    assert find_hrefs(document).routes == ["#/b"]


def test_redirects_of_routes() -> None:
    asked = "https://example.com/app#/a"
    assert redirect_target("/new", asked) == "https://example.com/new#/a", "RFC 9110 section 10.2.2"
    assert redirect_target("/new#/b", asked) == "https://example.com/new#/b"
    assert redirect_target("/new#top", asked) == "https://example.com/new"
    assert redirect_target("/new#/b", URL) == "https://example.com/new"

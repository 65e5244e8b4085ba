"""Links of result pages, with the redirects of the engines removed."""

from __future__ import annotations

import base64

import pytest

from gossamer.parsing.ranks.result_links import MAX_URL_CHARS, result_target, target

GOOGLE, BING = "https://www.google.com/search", "https://www.bing.com/search"
PAGE = "https://example.com/a?b=c&d=%C3%A4#e"
CODED = base64.urlsafe_b64encode(PAGE.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("href", "base", "goal"),
    [
        ("https://example.com/", GOOGLE, "https://example.com/"),
        ("/url?q=https://example.com/a%3Fb%3Dc&sa=U&ved=2ah", GOOGLE, "https://example.com/a?b=c"),
        ("/url?sa=t&rct=j&url=https%3A%2F%2Fexample.com%2F&usg=x", GOOGLE, "https://example.com/"),
        ("https://www.google.de/url?q=https://example.com/", GOOGLE, "https://example.com/"),
        ("/aclk?sa=L&adurl=https://shop.example/x", GOOGLE, "https://shop.example/x"),
        (f"https://www.bing.com/ck/a?!&&p=0f&ptn=3&u=a1{CODED}&ntb=1", BING, PAGE),
        (f"/ck/a?u=a1{CODED}", BING, PAGE),
        ("https://www.bing.com/ck/a?u=a1!!!not-base64", BING, "https://www.bing.com/ck/a?u=a1!!!not-base64"),
        ("//example.com/x", GOOGLE, "https://example.com/x"),
        ("#more", GOOGLE, ""),
        ("", GOOGLE, ""),
        ("javascript:void(0)", GOOGLE, ""),
        ("mailto:a@example.com", GOOGLE, ""),
        ("http://[", GOOGLE, ""),
        ("https://example.com/" + "a" * MAX_URL_CHARS, GOOGLE, ""),
    ],
)
def test_redirects_are_removed(href: str, base: str, goal: str) -> None:
    assert target(href, base) == goal


def test_a_redirect_to_itself_ends() -> None:
    loop = "/url?q=https://www.google.com/url?q=https://www.google.com/url?q=https://www.google.com/url?q=x"
    assert target(loop, GOOGLE).startswith("https://www.google.com/")


@pytest.mark.parametrize(
    ("href", "is_result"),
    [
        ("/search?q=shoes&start=10", False),
        ("https://www.google.com/search?q=shoes", False),
        ("/maps/dir//A+shop", False),
        ("https://www.google.com/account/about/", True),
        ("https://www.google.com/search/howsearchworks/", True),
        ("https://play.google.com/store", True),
        ("https://www.bing.com/search?q=shoes", True),
        ("/url?q=https://example.com/", True),
    ],
)
def test_pages_for_searching_are_no_results(href: str, is_result: bool) -> None:
    paths = frozenset(("/search", "/url"))
    assert bool(result_target(href, GOOGLE, paths)) is is_result

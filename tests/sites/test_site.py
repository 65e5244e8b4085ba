"""The Site object: what it takes, what it refuses, which function reads a page."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer import Site
from gossamer.errors import ConfigError
from gossamer.site import Pace

BAD: list[tuple[dict[str, Any], str]] = [
    ({"host": ["a.example"]}, "did you mean hosts="),
    ({"must_haves": []}, "did you mean must_have="),
    ({"zzz": 1}, "it knows hosts, seeds"),
    ({"proxies": ["x"]}, "not in this version"),
    ({"sinks": []}, "not in this version"),
    ({"hosts": ["https://a.example"]}, "give the host alone"),
    ({"hosts": ["a.example/shop"]}, "give the host alone"),
    ({"hosts": ["u@a.example"]}, "give the host alone"),
    ({"hosts": ["a b"]}, "is no host"),
    ({"hosts": [""]}, "is no host"),
    ({"seeds": ["a.example"]}, "is no http(s) URL"),
    ({"seeds": ["ftp://a.example/"]}, "is no http(s) URL"),
    ({"paths": ["("]}, "no regular expression"),
    ({"follow": ["["]}, "no regular expression"),
    ({"ladder": ["plain", "browser"]}, "one rung"),
]


@pytest.mark.parametrize(("given", "says"), BAD)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Site("shop", **given)
    assert says in str(caught.value)
    assert "site shop" in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "-x", "a/b", "../x", "x" * 81])
def test_bad_names(name: str) -> None:
    with pytest.raises(ConfigError):
        Site(name)


def test_bad_patterns_and_twice_named_functions() -> None:
    site = Site("shop")
    with pytest.raises(ConfigError, match="no regular expression"):
        site.page("(")

    @site.page("/a")
    def book(page: Any) -> None: ...

    with pytest.raises(ConfigError, match="two page functions are named book"):
        site.page("/b", name="book")(lambda page: None)


def test_defaults_and_short_forms() -> None:
    site = Site("a", hosts="a.example", seeds="https://A.example", must_have="h1", paths="/x", pace=2, retries=[1, 2])
    assert site.hosts == ("a.example",)
    assert site.seeds == ("https://a.example/",)
    assert site.must_have == ("h1",)
    assert site.pace == Pace(2.0)
    assert site.retries == (1.0, 2.0)
    bare = Site("b")
    assert (bare.hosts, bare.follow, bare.pace, bare.retries, bare.robots, bare.lane) == (
        (),
        None,
        None,
        None,
        True,
        "http",
    )


HOSTS = [
    ("a.example", "https://a.example/x", True),
    ("a.example", "https://a.example:8443/x", True),
    ("a.example", "https://www.a.example/", False),
    ("a.example:8080", "http://a.example:8080/", True),
    ("a.example:8080", "http://a.example/", False),
    ("*.a.example", "https://a.example/", True),
    ("*.a.example", "https://x.y.a.example/", True),
    ("*.a.example", "https://ba.example/", False),
    ("Bücher.example", "https://xn--bcher-kva.example/", True),
    ("[::1]:8080", "http://[::1]:8080/", True),
    ("127.0.0.1", "http://127.0.0.1:99/", True),
]


@pytest.mark.parametrize(("host", "url", "taken"), HOSTS)
def test_whose_url_it_is(host: str, url: str, taken: bool) -> None:
    assert Site("s", hosts=[host]).takes(url) is taken


def test_paths_tell_sites_of_one_host_apart() -> None:
    site = Site("s", hosts=["a.example"], paths=["/shop/", r"\?shop="])
    assert site.takes("https://a.example/shop/1")
    assert site.takes("https://a.example/?shop=1")
    assert not site.takes("https://a.example/blog/")


def test_the_first_match_in_the_file_wins_and_the_bare_one_is_last() -> None:
    site = Site("s")
    for name, pattern in (
        ("rest", None),
        ("book", r"/book/"),
        ("any_book", r"/book"),
        ("asked", r"\?q="),
        ("late", None),
    ):
        site.page(pattern, name=name)(lambda page: None)

    def chosen(path: str, use: str | None = None) -> str | None:
        found = site.function(f"https://a.example{path}", use)
        return found.name if found else None

    assert chosen("/book/1") == "book"
    assert chosen("/books") == "any_book"
    assert chosen("/?q=/x") == "asked"
    assert chosen("/") == "rest"
    assert chosen("") == "rest"
    assert chosen("/book/1", "late") == "late"  # a request names it
    assert chosen("/book/1", "none") is None
    site.functions = [one for one in site.functions if one.pattern]
    assert chosen("/") is None
    assert chosen("/a.example/") is None  # the host is no part of what is matched

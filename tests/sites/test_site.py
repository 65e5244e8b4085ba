"""The Site object: the arguments that it accepts and refuses, and the choice of the function that reads a
page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from gossamer import Site
from gossamer import url as urls
from gossamer.errors import ConfigError
from gossamer.model.site import Pace

BAD: list[tuple[dict[str, Any], str]] = [
    ({"host": ["a.example"]}, "did you mean hosts="),
    ({"must_haves": []}, "did you mean must_have="),
    ({"zzz": 1}, "it knows hosts, seeds"),
    ({"session": ["x"]}, "it must be a Login"),
    ({"region": "e u"}, "letters, digits, - and _"),
    ({"sinks": [5]}, "5 is neither"),
    ({"hosts": ["https://a.example"]}, "give the host alone"),
    ({"hosts": ["a.example/shop"]}, "give the host alone"),
    ({"hosts": ["u@a.example"]}, "give the host alone"),
    ({"hosts": ["a b"]}, "is not a host"),
    ({"hosts": [""]}, "is not a host"),
    ({"seeds": ["a.example"]}, "is not an http(s) URL"),
    ({"seeds": ["ftp://a.example/"]}, "is not an http(s) URL"),
    ({"paths": ["("]}, "not a regular expression"),
    ({"follow": ["["]}, "not a regular expression"),
    ({"follow": 5}, "follow=5"),
    ({"hosts": ["a.*.example"]}, "is not a host"),
    ({"hosts": ["*"]}, "default = Site"),
    ({"hosts": [5]}, "5 is not a text"),
    ({"paths": [b"/a"]}, "write it as text"),
    ({"ladder": ["plain", "staircase"]}, "no rung 'staircase'"),
    ({"render": {"scrolls": True}}, "the keys are wait, scroll, load"),
    ({"render": {"load": "sounds"}}, "not 'sounds'"),
    ({"render": {"scroll": "down"}}, "a mapping with the keys press, steps, seconds"),
    ({"render": {"scroll": {"click": "b"}}}, "a mapping with the keys press, steps, seconds"),
    ({"render": {"scroll": {"press": " "}}}, "press is a CSS selector"),
    ({"render": {"scroll": {"steps": 0}}}, "steps is a number above 0, at most 5000"),
    ({"render": {"scroll": {"seconds": 4000}}}, "seconds is a number above 0, at most 3600"),
    ({"lane": "a@b"}, "letters, digits, - and _"),
    ({"pace": "fast"}, "must be a time"),
    ({"pace": -1}, "must be a time"),
    ({"pace": float("nan")}, "must be a time"),
    ({"pace": True}, "one number or one text"),
    ({"pace": Pace(1.0, 0)}, "from 1"),
    ({"host_rate": 0}, "requests per second above 0"),
    ({"host_rate": "2/x"}, "such as 30/m"),
    ({"host_rate": 2, "pace": 1}, "pace= also sets the delay"),
    ({"retries": 3}, "the wait before each"),
    ({"retries": ["soon"]}, "must be a time"),
    ({"retries": [-5]}, "must be a time"),
    ({"robots": "perhaps"}, "true or false"),
    ({"headers": {"X": "a\r\nHost: b"}}, "a text of one line"),
    ({"headers": {"X Y": "a"}}, "not a header that a site may set"),
    ({"headers": {"Content-Length": "9"}}, "not a header that a site may set"),
    ({"headers": {"X": 1}}, "a text of one line"),
    ({"args": ["q"]}, "args=['q']"),
]


@pytest.mark.parametrize(("given", "says"), BAD)
def test_what_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Site("shop", **given)
    assert says in str(caught.value)
    assert "site shop" in str(caught.value)


def test_secrets_are_in_no_message() -> None:
    for given in (
        {"headers": {"Authorization": "secret", "X Y": "a"}},
        {"seeds": ["ftp://joe:secret@a.example/"]},
    ):
        with pytest.raises(ConfigError) as caught:
            Site("shop", **given)  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", [5, None, "", "a b", "-x", "a/b", "../x", "x" * 81])
def test_bad_names(name: Any) -> None:
    with pytest.raises(ConfigError):
        Site(name)


def test_bad_patterns_and_twice_named_functions() -> None:
    site = Site("shop")
    with pytest.raises(ConfigError, match="not a regular expression"):
        site.page("(")

    @site.page("/a")
    def book(page: Any) -> None: ...

    with pytest.raises(ConfigError, match="two page functions are named book"):
        site.page("/b", name="book")(lambda page: None)
    with pytest.raises(ConfigError, match="with brackets"):
        site.page(book)  # type: ignore[arg-type]

    async def later(page: Any) -> None: ...

    async def ever(page: Any) -> Any:
        yield page

    for wrong in (later, ever):
        with pytest.raises(ConfigError, match="not async def"):
            site.page()(wrong)


def test_a_loaded_site_is_frozen() -> None:
    site = Site("shop", args={"q": "x"})
    site.page(name="f")(lambda page: None)
    site.freeze({"q": "y", "other": "z"})
    assert site.args == {"q": "y"}
    for change in (
        lambda: setattr(site, "seen", {}),
        lambda: setattr(site, "args", {}),
        lambda: site.page(name="g")(lambda page: None),
    ):
        with pytest.raises(AttributeError, match="site shop is frozen"):
            change()
    for kept in (site.args, site.defaults, site.headers):
        with pytest.raises(TypeError):
            kept["q"] = "z"  # type: ignore[index]
    site.freeze({})  # a later run in the same process
    assert site.args == {"q": "x"}
    assert [function.name for function in site.functions] == ["f"]


def test_defaults_and_short_forms() -> None:
    site = Site(
        "a", hosts="a.example", seeds="https://A.example", must_have="h1", paths="/x", pace=2, retries=[1, 2]
    )
    assert site.hosts == ("a.example",)
    assert site.seeds == ("https://a.example/",)
    assert site.must_have == ("h1",)
    assert site.blocks is True
    assert [one.pattern for one in Site("a", blocks="!login").blocks] == ["!login"]  # type: ignore[union-attr]
    assert site.pace == Pace(2.0)
    assert site.retries == (1.0, 2.0)
    assert Site("a", pace=Pace(per_host=4)).pace == Pace(None, 4)
    assert Site("a", host_rate="30/m").pace == Pace(2.0)
    assert Site("a", host_rate=4, pace=Pace(per_host=2)).pace == Pace(0.25, 2)
    assert Site("a", pace="500ms").pace == Site("a", pace=0.1 + 0.4).pace == Pace(0.5)
    assert Site("a", retries=["1m", 300]).retries == (60.0, 300.0)
    assert Site("a", retries="none").retries == Site("a", retries=[]).retries == ()
    assert Site("a", robots="no").robots is False  # type: ignore[arg-type]
    # without hosts, a site has the hosts of its seeds
    assert Site("a", seeds=["https://u:p@A.example:8443/x#y", "https://b.example"]).hosts == (
        "a.example:8443",
        "b.example",
    )
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
    assert (Site("s", hosts=[host]).claims(urls.host(url)) > 0) is taken


@pytest.mark.parametrize(
    ("closer", "wider"),
    [
        ("a.example:8080", "a.example"),
        ("a.example", "*.a.example"),
        ("x.a.example", "*.a.example"),
        ("*.x.a.example", "*.a.example"),
    ],
)
def test_the_closer_host_claims_more(closer: str, wider: str) -> None:
    host = closer.removeprefix("*.")
    assert Site("s", hosts=[closer]).claims(host) > Site("s", hosts=[wider]).claims(host) > 0
    assert Site("s", hosts=[wider, closer]).claims(host) == Site("s", hosts=[closer]).claims(host)
    assert Site("s", hosts=[closer]).claims("other.example") == 0


def test_paths_tell_sites_of_one_host_apart() -> None:
    site = Site("s", hosts=["a.example"], paths=["^/shop/", r"\?shop=", re.compile("^/$")])  # type: ignore[list-item]
    for path, taken in (
        ("", True),
        ("/x/shop/", False),
        ("/shop/1", True),
        ("/?shop=1", True),
        ("/blog/", False),
    ):
        assert site.takes_path(f"https://a.example{path}") is taken


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
    assert chosen("/book/1", "late") == "late"  # the request names the function
    assert chosen("/book/1", "none") is None
    site.functions = [one for one in site.functions if one.pattern]
    assert chosen("/") is None
    assert chosen("/a.example/") is None  # patterns do not match the host


def none() -> None:
    """Takes nothing."""


def two(self: object, response: object) -> None:
    """Takes two arguments, like a method."""


@pytest.mark.parametrize("call", [none, two])
def test_a_page_function_takes_the_page_alone(call: Callable[..., Any]) -> None:
    with pytest.raises(
        ConfigError, match=rf"is called with the page alone: write def {call.__name__}\(page\)"
    ):
        Site("s").page()(call)
    Site("s").page()(lambda page, more=None: ())
    Site("s").page()(print)

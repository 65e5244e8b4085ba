"""The scope filters. A table tests each reason, and `explain` always agrees with `refuse`."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import url as urls
from gossamer.errors import UsageError
from gossamer.model.verdict import SKIPS
from gossamer.url.scope import MODES, Scope

TODAY = date(2026, 3, 15)


def refuse(scope: Scope, url: str, depth: int = 1) -> str | None:
    reason = scope.refuse(url, urls.host(url), depth)
    told = scope.explain(url, depth)
    assert next((verdict for _, verdict, _ in told if verdict != "pass"), None) == reason
    assert all(rule for _, _, rule in told)
    return reason


@pytest.mark.parametrize(
    ("mode", "seed", "inside", "outside"),
    [
        ("page", "https://e.com/a", ["https://e.com/a"], ["https://e.com/", "https://e.com/a?b"]),
        (
            "prefix",
            "https://e.com/docs/index.html?x",
            ["https://e.com/docs/", "https://e.com/docs/a/b", "http://e.com/docs/a"],
            [
                "https://e.com/",
                "https://e.com/docs",
                "https://e.com/docs2/",
                "https://f.com/docs/",
                "https://e.com:8443/docs/",
            ],
        ),
        ("prefix", "https://e.com/", ["https://e.com/a"], ["https://e.com.evil.org/"]),
        (
            "host",
            "https://e.com/a",
            ["https://e.com/", "http://e.com/b"],
            [
                "https://www.e.com/",
                "https://e.com:8443/",
                "https://e.com.evil.org/",
                "ftp://e.com/",
                "mailto:a@e.com",
            ],
        ),
        (
            "host",
            "http://127.0.0.1:8000/",
            ["http://127.0.0.1:8000/b"],
            ["http://127.0.0.1/", "http://127.0.0.2:8000/"],
        ),
        (
            "domain",
            "https://www.e.co.uk/",
            ["https://e.co.uk/", "https://a.b.e.co.uk/", "https://e.co.uk:8443/"],
            ["https://f.co.uk/", "https://co.uk/", "https://e.com/"],
        ),
        (
            "any",
            "https://e.com/",
            ["https://f.org/", "http://f.org:8080/"],
            ["ftp://e.com/", "file:///etc/passwd"],
        ),
    ],
)
def test_modes(mode: str, seed: str, inside: list[str], outside: list[str]) -> None:
    scope = Scope.of([seed], mode)
    for url in inside:
        assert refuse(scope, url) is None, url
    for url in outside:
        assert refuse(scope, url) == "scope", url


def test_patterns_decide_but_not_on_seeds() -> None:
    scope = Scope.of(["https://e.com/"], include=["/blog/", "/news/"], exclude=[r"\.pdf$", "draft"])
    assert refuse(scope, "https://e.com/", 0) is None
    assert refuse(scope, "https://e.com/blog/a") is None
    assert refuse(scope, "https://e.com/about") == "filter"
    assert refuse(scope, "https://e.com/blog/a.pdf") == "filter"
    told = {gate: (verdict, rule) for gate, verdict, rule in scope.explain("https://e.com/blog/draft.pdf", 1)}
    assert told["exclude"] == ("filter", r"--exclude \.pdf$")
    assert told["include"] == ("pass", "--include /blog/")
    told = {gate: (verdict, rule) for gate, verdict, rule in scope.explain("https://e.com/about", 1)}
    assert told["include"] == ("filter", "no --include matches: /blog/, /news/")


def test_depth() -> None:
    scope = Scope.of(["https://e.com/"], depth=2)
    assert refuse(scope, "https://e.com/a", 2) is None
    assert refuse(scope, "https://e.com/a", 3) == "depth"
    assert ("depth", "depth", "3 links from a seed, --depth is 2") in scope.explain("https://e.com/a", 3)


def test_ports() -> None:
    scope = Scope.of(["https://e.com:9000/"], "domain", ports=[7000])
    for port in (80, 443, 8080, 8443, 9000, 7000):
        assert refuse(scope, f"http://e.com:{port}/") is None
    for port in (22, 25, 6379, 65535):
        assert refuse(scope, f"http://e.com:{port}/") == "filter"
    assert ("port", "filter", "--allow-port 22 is not given") in scope.explain("http://e.com:22/", 1)
    six = Scope.of(["http://[::1]/"], "any")
    assert refuse(six, "http://[::1]/a") is None
    assert refuse(six, "http://[::1]:22/a") == "filter"
    assert refuse(Scope.of(["http://e.com/"], "any"), "http://[2606:4700::1111]/a") is None
    assert refuse(six, "http://[::2]:8080/a") is None


def test_files_of_items_may_be_anywhere_but_not_excluded() -> None:
    scope = Scope.of(["https://e.com/"], "host", exclude=["/private/"])
    assert scope.lone("https://cdn.example/a.png", "cdn.example") is None
    assert scope.lone("https://cdn.example/private/a.png", "cdn.example") == "filter"
    assert scope.lone("https://joe:pw@cdn.example/a.png", "cdn.example") == "filter"
    assert scope.lone("ftp://cdn.example/a.png", "cdn.example") == "filter"


def test_credentials_length_and_traps() -> None:
    scope = Scope.of(["https://e.com/"], today=TODAY)
    assert refuse(scope, "https://me:secret@e.com/") == "filter"
    assert refuse(scope, "https://e.com/@me") is None
    assert refuse(scope, "https://e.com/" + "a" * (2083 - 14)) is None
    assert refuse(scope, "https://e.com/" + "a" * (2084 - 14)) == "trap"
    assert refuse(scope, "https://e.com/a/a/a/") == "trap"
    assert refuse(scope, "https://e.com/calendar/2031/05/") == "trap"
    assert any(
        rule.startswith("calendar: ") for _, _, rule in scope.explain("https://e.com/calendar/2031/05/", 1)
    )


def test_explain_takes_what_a_person_types() -> None:
    scope = Scope.of(["https://e.com/"])
    assert scope.explain("no url", 1) == [("form", "filter", "is not a URL")]
    assert {verdict for _, verdict, _ in scope.explain("HTTPS://E.com:443/a#b", 1)} == {"pass"}


@pytest.mark.parametrize("mode", ["page", "prefix", "host", "domain"])
def test_a_redirected_seed_widens_the_scope(mode: str) -> None:
    scope = Scope.of(["https://e.com/"], mode, include=["/blog/"])
    wider = scope.re_anchored("https://e.com/", "https://www.f.com:9000/start/")
    assert refuse(scope, "https://www.f.com:9000/start/", 0) == "scope"
    assert refuse(wider, "https://www.f.com:9000/start/", 0) is None
    assert refuse(wider, "https://e.com/", 0) is None
    if mode != "page":
        assert refuse(wider, "https://www.f.com:9000/start/blog/a") is None
        assert refuse(wider, "https://e.com/blog/a") is None
    assert refuse(wider, "https://g.com/blog/") == "scope"
    assert wider.re_anchored("https://e.com/", "https://www.f.com:9000/start/") is wider


def test_the_order_of_redirects_does_not_matter() -> None:
    scope = Scope.of(["https://a.com/"])
    one = scope.re_anchored("https://a.com/", "https://b.com/").re_anchored(
        "https://b.com/", "https://c.com/"
    )
    two = scope.re_anchored("https://b.com/", "https://c.com/").re_anchored(
        "https://a.com/", "https://b.com/"
    )
    assert one == two


def test_mistakes_are_named() -> None:
    with pytest.raises(UsageError, match="page, prefix, host, domain, any"):
        Scope.of([], "site")
    with pytest.raises(UsageError, match=r"--exclude '\[' is not a regular expression"):
        Scope.of([], exclude=["["])


@given(
    st.sampled_from(MODES),
    st.integers(0, 4),
    st.lists(
        st.sampled_from(
            [
                "http://",
                "e.com",
                "/",
                "a",
                "?",
                "@",
                ":22",
                ":8080",
                "b/b/b/",
                ".pdf",
                "https://",
                "#",
                "[::1]",
                "x" * 2100,
            ]
        ),
        max_size=6,
    ).map("".join),
)
def test_explain_always_agrees_with_refuse(mode: str, depth: int, text: str) -> None:
    scope = Scope.of(["http://e.com/a"], mode, exclude=[r"\.pdf"], depth=3, today=TODAY)
    url = urls.HrefResolver("http://e.com/").resolve(text)
    if url is not None:
        assert refuse(scope, url, depth) in {None, *SKIPS}

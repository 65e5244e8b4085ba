"""Headers of a request: who gets which, and what of them people gave."""

from __future__ import annotations

from gossamer import url as urls
from gossamer.identity.plain import Plain
from gossamer.page import Page
from gossamer.request import Request


def plain(headers: dict[str, str], credentials: dict[str, tuple[str, str]] | None = None) -> Plain:
    return Plain(headers, credentials or {}, lambda host: host == "e.com", urls.registered_domain)


def taking(identity: Plain, *cookies: str) -> Plain:
    headers = [("set-cookie", cookie) for cookie in cookies]
    identity.took(Page("https://e.com/", 200, headers, b"", 1.0, 0.1, 0))
    return identity


def test_cookies_of_the_host_are_joined_to_the_given_ones_in_one_header() -> None:
    for name in ("Cookie", "cookie", "COOKIE"):
        identity = taking(plain({name: "a=1", "X-A": "b"}), "s=2", "t=3; Secure")
        assert identity.headers(Request("https://e.com/x")) == {name: "a=1; s=2; t=3", "X-A": "b"}
        assert identity.given(Request("https://e.com/x")) == {name: "a=1", "X-A": "b"}
        assert identity.headers(Request("http://e.com/x")) == {name: "a=1; s=2", "X-A": "b"}
        assert identity.headers(Request("https://f.com/x")) == {"X-A": "b"}, "neither given nor taken ones go elsewhere"


def test_a_request_s_own_cookie_stands_alone() -> None:
    identity = taking(plain({"Cookie": "a=1"}), "s=2")
    assert identity.headers(Request("https://e.com/", headers={"cookie": "own=1"})) == {"cookie": "own=1"}


def test_secrets_go_to_the_seeds_hosts_alone() -> None:
    identity = plain({"Authorization": "Bearer x", "X-Api-Key": "k", "Accept": "*/*"}, {"f.com": ("me", "pw")})
    assert identity.headers(Request("https://e.com/")) == {
        "Authorization": "Bearer x",
        "X-Api-Key": "k",
        "Accept": "*/*",
    }
    assert identity.headers(Request("https://f.com/")) == {"Accept": "*/*", "Authorization": "Basic bWU6cHc="}
    assert identity.headers(Request("https://www.e.com/")) == {"Accept": "*/*"}
    assert identity.headers(Request("https://e.com.evil.com/")) == {"Accept": "*/*"}

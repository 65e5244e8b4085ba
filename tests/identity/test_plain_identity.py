"""The headers of a request: which origins get which headers, and which headers the user gave."""

from __future__ import annotations

import pytest

from gossamer import url as urls
from gossamer.identity.plain_identity import PlainIdentity
from gossamer.model.page import Page
from gossamer.model.request import Request

SEED = "https://e.com/x"


def plain(
    headers: dict[str, str], credentials: dict[str, tuple[str, str]] | None = None, seed: str = SEED
) -> PlainIdentity:
    return PlainIdentity(headers, credentials or {}, [seed], urls.registered_domain)


def taking(identity: PlainIdentity, *cookies: str) -> PlainIdentity:
    headers = [("set-cookie", cookie) for cookie in cookies]
    identity.took(Page("https://e.com/", 200, headers, b"", 1.0, 0.1, 0))
    return identity


def test_cookies_of_the_host_are_joined_to_the_given_ones_in_one_header() -> None:
    for name in ("Cookie", "cookie", "COOKIE"):
        identity = taking(plain({name: "a=1", "X-A": "b"}), "s=2", "t=3; Secure")
        assert identity.headers(Request("https://e.com/x")) == {name: "a=1; s=2; t=3", "X-A": "b"}
        assert identity.given(Request("https://e.com/x")) == {name: "a=1", "X-A": "b"}
        assert identity.headers(Request("http://e.com/x")) == {"Cookie": "s=2", "X-A": "b"}
        assert identity.headers(Request("https://f.com/x")) == {"X-A": "b"}, (
            "neither given nor taken ones go elsewhere"
        )


def test_a_request_s_own_cookie_stands_alone() -> None:
    identity = taking(plain({"Cookie": "a=1"}), "s=2")
    assert identity.headers(Request("https://e.com/", headers={"cookie": "own=1"})) == {"cookie": "own=1"}


# Seed, requested URL, whether the secrets are sent. The rows vary scheme, port, subdomain and suffix.
MATRIX = [
    (SEED, "https://e.com/other?x", True),
    (SEED, "https://www.e.com/", True),
    ("https://www.e.com/", "https://e.com/", True),
    (SEED, "http://e.com/", False),
    (SEED, "https://e.com:8443/", False),
    (SEED, "https://e.com:80/", False),
    (SEED, "https://a.e.com/", False),
    (SEED, "https://www.a.e.com/", False),
    (SEED, "https://com/", False),
    (SEED, "https://e.com.evil.org/", False),
    (SEED, "https://evile.com/", False),
    (SEED, "https://e.org/", False),
    ("http://e.com/", "https://e.com/", True),
    ("http://e.com/", "http://www.e.com/", True),
    ("http://e.com:8080/", "http://e.com/", False),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/x", True),
    ("http://127.0.0.1:8000/", "http://127.0.0.1:8001/", False),
    ("http://127.0.0.1:8000/", "http://127.0.0.2:8000/", False),
    ("https://me.github.io/", "https://you.github.io/", False),
]


@pytest.mark.parametrize(("seed", "asked", "goes"), MATRIX)
def test_secrets_go_to_the_seeds_origins_alone(seed: str, asked: str, goes: bool) -> None:
    secret = {
        "Authorization": "Bearer x",
        "X-API-key": "k",
        "cookie": "a=1",
        "Proxy-Authorization": "y",
        "X-Auth-Token": "z",
    }
    identity = plain({**secret, "Accept": "*/*"}, seed=seed)
    assert identity.headers(Request(asked)) == ({**secret, "Accept": "*/*"} if goes else {"Accept": "*/*"})


@pytest.mark.parametrize(
    ("seed", "asked", "goes"), [row for row in MATRIX if "//www." not in row[0] + row[1]]
)
def test_a_seed_s_password_goes_to_its_origin_alone(seed: str, asked: str, goes: bool) -> None:
    identity = plain(
        {"authorization": "Bearer x"}, {urls.origin(seed): ("me", "pw")}, seed="https://other.example/"
    )
    assert identity.headers(Request(asked)) == ({"Authorization": "Basic bWU6cHc="} if goes else {})
    assert plain({}, {urls.origin(seed): ("me", "pw")}).headers(Request("https://www.e.com/")) == {}

"""Cookies: the test suites of browsers, and the rules for setting and sending cookies (security row 13)."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import url as urls
from gossamer.identity.cookies import MAX_COOKIES_PER_DOMAIN, MAX_DOMAINS, Jar, parse_date, parse_set_cookie

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"
# A time before the 2019 expiry dates in the test rows.
THEN = 1_500_000_000.0
NOT_OURS = {
    "0028": "the expected header is a copy of the answer's headers",
    "disabled-path0029": "asks that %6F in the request's path be decoded, which neither RFC 6265 nor browsers do",
}


def sent(row: dict[str, Any]) -> tuple[bytes, bytes]:
    """Returns the Cookie header that our jar sends for a row, and the expected header."""
    jar = Jar(lambda: THEN)
    origin = f"http://home.example.org:8888/cookie-parser?{row['id']}"
    target: str | None = f"http://home.example.org:8888/cookie-parser-result?{row['id']}"
    for line in base64.b64decode(row["response_headers"]["b64"]).split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"Set-Cookie":
            jar.take(origin, value)
        elif name == b"Location":
            target = urls.parse(value.decode(), origin)
    wanted = base64.b64decode(row["cookie"]["b64"]).strip().removeprefix(b"Cookie: ")
    assert target is not None
    return jar.header(target).encode("latin-1"), wanted


def test_http_state_tests() -> None:
    path = SHARED / "cookies.jsonl.gz"
    if not path.exists():
        pytest.skip("needs cookies of the shared data")
    with gzip.open(path) as lines:
        rows = [json.loads(line) for line in lines]
    wrong = {row["id"] for row in rows if len(set(sent(row))) > 1}
    assert len(rows) >= 222
    assert wrong == set(NOT_OURS)


def jar_with(url: str, *headers: bytes, clock: float = THEN) -> Jar:
    jar = Jar(lambda: clock)
    for header in headers:
        jar.take(url, header)
    return jar


# URL that sets the cookie, header, requested URL, whether the cookie is sent. The rows vary scheme, port,
# subdomain, suffix and path.
MATRIX = [
    ("https://e.com/", b"a=1", "https://e.com/x", True),
    ("https://e.com/", b"a=1", "http://e.com/x", True),
    ("https://e.com/", b"a=1; Secure", "http://e.com/", False),
    ("https://e.com/", b"a=1; Secure", "https://e.com:8443/", True),
    ("http://e.com/", b"a=1; Secure", "https://e.com/", False),
    ("https://e.com/", b"a=1", "https://www.e.com/", False),
    ("https://e.com/", b"a=1; Domain=e.com", "https://www.e.com/", True),
    ("https://e.com/", b"a=1; Domain=.e.com", "https://a.b.e.com/", True),
    ("https://e.com/", b"a=1; Domain=e.com", "https://evile.com/", False),
    ("https://e.com/", b"a=1; Domain=e.com", "https://e.com.evil.org/", False),
    ("https://bücher.de/", "a=1; Domain=BÜCHER.de".encode(), "https://www.xn--bcher-kva.de/", True),
    ("https://www.e.com/", b"a=1; Domain=other.com", "https://other.com/", False),
    ("https://www.e.com/", b"a=1; Domain=com", "https://other.com/", False),
    ("https://www.e.co.uk/", b"a=1; Domain=co.uk", "https://f.co.uk/", False),
    ("https://me.github.io/", b"a=1; Domain=github.io", "https://you.github.io/", False),
    ("https://github.io/", b"a=1; Domain=github.io", "https://you.github.io/", False),
    ("https://github.io/", b"a=1; Domain=github.io", "https://github.io/", True),
    ("http://localhost:1/", b"a=1; Domain=localhost", "http://localhost:2/", True),
    ("http://127.0.0.1/", b"a=1; Domain=127.0.0.1", "http://127.0.0.1:8000/", True),
    ("http://127.0.0.1/", b"a=1; Domain=0.0.1", "http://127.0.0.1/", False),
    ("http://127.0.0.1/", b"a=1", "http://127.0.0.2/", False),
    ("http://[::1]/", b"a=1", "http://[::1]:8000/", True),
    ("http://[::1]/", b"a=1", "http://[::2]/", False),
    ("https://e.com/a/b", b"a=1", "https://e.com/a/c", True),
    ("https://e.com/a/b", b"a=1", "https://e.com/ab", False),
    ("https://e.com/", b"a=1; Path=/a", "https://e.com/a?b", True),
    ("https://e.com/", b"__Secure-a=1; Secure", "https://e.com/", True),
    ("https://e.com/", b"__Secure-a=1", "https://e.com/", False),
    ("https://e.com/", b"__Host-a=1; Secure; Path=/", "https://e.com/", True),
    ("https://e.com/", b"__HOST-a=1; Secure; Path=/; Domain=e.com", "https://e.com/", False),
    ("https://e.com/", b"__Host-a=1; Secure", "https://e.com/", False),
    ("https://e.com/", b"a=1; HttpOnly; SameSite=Strict; Partitioned", "https://e.com/", True),
    ("mailto:a@e.com", b"a=1", "https://e.com/", False),
    ("https://e.com/", b"a=1", "no url", False),
]


@pytest.mark.parametrize(("setter", "header", "asked", "goes"), MATRIX)
def test_who_gets_a_cookie(setter: str, header: bytes, asked: str, goes: bool) -> None:
    assert bool(jar_with(setter, header).header(asked)) is goes


def test_http_cannot_replace_what_https_set_to_be_secure() -> None:
    jar = jar_with("https://e.com/", b"a=1; Secure; Domain=e.com")
    jar.take("http://www.e.com/", b"a=evil; Domain=e.com")
    jar.take("http://e.com/", b"a=evil")
    assert jar.header("https://e.com/") == "a=1"
    jar.take("https://e.com/", b"a=2; Secure; Domain=e.com")
    assert jar.header("https://e.com/") == "a=2"


def test_time_ends_cookies() -> None:
    now = [1000.0]
    jar = Jar(lambda: now[0])
    for header in (
        b"a=1; Max-Age=60",
        b"b=1; Expires=Thu, 01 Jan 1970 00:33:20 GMT",
        b"c=1",
        b"d=1; Max-Age=" + b"9" * 1000,
    ):
        jar.take("https://e.com/", header)
    assert jar.header("https://e.com/") == "a=1; b=1; c=1; d=1"
    now[0] = 1060.0
    assert jar.header("https://e.com/") == "b=1; c=1; d=1"
    now[0] = 2000.0
    assert jar.header("https://e.com/") == "c=1; d=1"
    now[0] = 1000.0 + 400 * 86_400
    assert jar.header("https://e.com/") == "c=1"
    jar.take("https://e.com/", b"c=; Max-Age=0")
    assert jar.header("https://e.com/") == ""
    assert jar.dump()["cookies"] == []


def test_control_characters_never_reach_a_header() -> None:
    jar = jar_with("https://e.com/", b"a=1\r\nX: y", b"b=1\x00z", b"c=1\x01", b"d\x7f=1", b"e=\tf")
    assert jar.header("https://e.com/") == "a=1; b=1; e=f"


def test_size_and_number_are_bounded() -> None:
    jar = jar_with("https://e.com/", b"a=" + b"x" * 4096, b"b=" + b"x" * 4095)
    assert jar.header("https://e.com/").startswith("b=x")
    for i in range(200):
        jar.take("https://e.com/", b"n%d=1" % i)
    assert jar.header("https://e.com/") == "; ".join(
        f"n{i}=1" for i in range(200 - MAX_COOKIES_PER_DOMAIN, 200)
    )
    for i in range(MAX_DOMAINS + 50):
        jar.take(f"https://d{i}.com/", b"a=1")
    assert len(jar.dump()["cookies"]) <= MAX_DOMAINS * MAX_COOKIES_PER_DOMAIN
    assert len(jar._domains) == MAX_DOMAINS


def test_attributes_count_however_far_behind() -> None:
    jar = jar_with("https://e.com/", b"a=1;" + b" x=y;" * 10_000 + b" Secure")
    assert (jar.header("https://e.com/"), jar.header("http://e.com/")) == ("a=1", "")


def test_secure_cookies_are_forgotten_last() -> None:
    jar = jar_with(
        "https://e.com/", b"first=1; Secure", *(b"n%d=1" % i for i in range(MAX_COOKIES_PER_DOMAIN + 5))
    )
    assert jar.header("https://e.com/").startswith("first=1; ")


def test_a_jar_survives_json() -> None:
    jar = jar_with("https://e.com/a/", b"a=\xff; Max-Age=60; Domain=e.com", b"b=2; Secure; Path=/")
    again = Jar(lambda: THEN)
    again.load(json.loads(json.dumps(jar.dump())))
    assert again.dump() == jar.dump()
    assert again.header("https://e.com/a/") == jar.header("https://e.com/a/") == "a=\xff; b=2"
    again.take("https://e.com/a/", b"c=3")
    assert again.header("https://e.com/a/") == "a=\xff; c=3; b=2"


@pytest.mark.parametrize(
    "state", [None, [], {}, {"version": 2}, {"version": 1}, {"version": 1, "cookies": [{"name": 1}]}]
)
def test_no_jar_is_made_of_something_else(state: Any) -> None:
    jar = jar_with("https://e.com/", b"a=1")
    with pytest.raises(ValueError, match="stored cookies"):
        jar.load(state)
    assert jar.header("https://e.com/") == "a=1"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Fri, 07 Aug 2019 08:04:19 GMT", 1565165059),
        ("Friday, 07-Aug-19 08:04:19 GMT", 1565165059),
        ("Wed Aug  7 08:04:19 2019", 1565165059),
        ("07 aug 2019 8:4:19", 1565165059),
        ("08:04:19 2019 august 7th", 1565165059),
        ("1 Jan 70 00:00:00", 0),
        ("1 Jan 69 00:00:00", 3124224000),
        ("1 Jan 1601 00:00:00", -11644473600),
        ("1 Jan 1600 00:00:00", None),
        ("32 Jan 2019 00:00:00", None),
        ("1 Jan 2019 24:00:00", None),
        ("1 Jan 2019", None),
        ("29 Feb 2020 00:00:00", 1582934400),
        ("29 Feb 2019 00:00:00", None),
        ("31 Apr 2019 00:00:00", None),
        ("1 Foo 2019 00:00:00", None),
        ("", None),
        ("tomorrow", None),
    ],
)
def test_dates(text: str, wanted: float | None) -> None:
    assert parse_date(text) == wanted


HEADERS = st.one_of(
    st.binary(max_size=200),
    st.lists(
        st.sampled_from(
            [
                b"a",
                b"=",
                b";",
                b" ",
                b"Domain=",
                b"e.com",
                b".",
                b"Path=",
                b"/x",
                b"Secure",
                b"Max-Age=",
                b"-",
                b"99",
                b"Expires=",
                b"1 Jan 2030 00:00:00",
                b"__Host-",
                b"\xff",
                b"\t",
                b"com",
            ]
        ),
        max_size=12,
    ).map(b"".join),
)
HOSTS = ("e.com", "www.e.com", "f.com", "co.uk", "a.co.uk", "127.0.0.1", "[::1]:80", "localhost")


@given(
    st.lists(st.tuples(st.sampled_from(HOSTS), st.booleans(), HEADERS), max_size=8), st.sampled_from(HOSTS)
)
def test_no_cookie_leaves_its_registered_domain(taken: list[tuple[str, bool, bytes]], asked: str) -> None:
    ticks = count()
    jar = Jar(lambda: float(next(ticks)))
    for host, https, header in taken:
        jar.take(f"{'https' if https else 'http'}://{host}/", header)
    others = [take for take in taken if urls.registered_domain(take[0]) == urls.registered_domain(asked)]
    header = jar.header(f"http://{asked}/")
    assert others or not header
    assert not set(header) & set("\r\n\x00")
    json.dumps(jar.dump())


@given(st.binary())
def test_any_bytes_are_a_cookie_or_none(header: bytes) -> None:
    said = parse_set_cookie(header, 0.0)
    if said is not None:
        assert said.name
        assert not {";", "\r", "\n", "\0"} & set(said.name + said.value)


@given(st.text())
def test_any_text_is_a_date_or_none(text: str) -> None:
    parse_date(text)


@given(st.text())
def test_any_text_may_stand_for_a_url(text: str) -> None:
    jar = jar_with("https://e.com/", b"a=1")
    jar.take(text, b"b=1")
    jar.header(text)

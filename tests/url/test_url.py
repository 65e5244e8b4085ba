"""URLs: conformance with the shared test data, properties for arbitrary texts, and parser differences that
attacks exploit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer import url

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def rows(name: str) -> Iterator[dict[str, Any]]:
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"needs {name} of the shared data")
    with gzip.open(path) as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize("name", ["url-wpt", "url-resolve"])
def test_parse_agrees_with_the_web_platform_tests(name: str) -> None:
    wrong = [row["id"] for row in rows(name) if url.parse(row["input"], row["base"]) != row["href"]]
    assert wrong == []


def test_resolver_agrees_with_parse_on_all_rows() -> None:
    for row in rows("url-wpt"):
        if row["base"] and url.parse(row["base"]) is None:
            continue  # without a base URL, the resolver would accept only absolute links
        whole = url.parse(row["input"], row["base"])
        wanted = whole.partition("#")[0] if whole and whole.startswith(url.WEB) else None
        assert url.HrefResolver(row["base"] or "").resolve(row["input"]) == wanted, row["id"]


def test_canonical_drops_what_clearurls_drops() -> None:
    wrong = [
        row["id"] for row in rows("tracking-clearurls") if url.canonical(row["input"]) != row["expected"]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        "utm_source",
        "UTM_Campaign",
        "utm%5Fmedium",
        "%3Futm_term",
        "ga_source",
        "fb_action_ids",
        "hmb_source",
        "itm_medium",
        "__cft__[0]",
        "pf_rd_p",
        "_trksid",
        "algo_pvid",
        "guce_referrer",
        "at_medium",
        "elqTrackId",
        "cm_mmc",
        "xtor",
        "wprov",
        "utmcsr",
        "mc_eid",
        "mc_cid",
        "otm_source",
        "gclid",
        "GCLID",
        "gbraid",
        "ttclid",
        "_hsmi",
        "mtm_campaign",
        "pk_kwd",
        "wt_zmc",
        "PHPSESSID",
        "JSESSIONID",
        "ASPSESSIONIDQQABCDEF",
        "CFTOKEN",
    ],
)
def test_tracking_parameters_are_dropped_in_any_place_and_case(name: str) -> None:
    for query in (
        f"{name}=x&a=1&b=2",
        f"a=1&{name}=x&b=2",
        f"a=1&b=2&{name}=x",
        f"a=1&b=2&{name}",
        f"a=1&&b=2&{name}=",
    ):
        assert url.canonical(f"http://example.com/?{query}") == "http://example.com/?a=1&b=2"
    assert url.canonical(f"http://example.com/?{name}=x") == "http://example.com/"


@pytest.mark.parametrize(
    "query",
    [
        "id=7",
        "at=noon",
        "medium=oil",
        "trk=3",
        "utmost2=1",
        "page=2",
        "ref=x",
        "source=rss",
        "s=windows10drivers2024",
        "mc=3",
        "utmost=1",
        "gclids=1",
        "sid=42",
        "sid=1234567",
        "session=react-conf-2024-keynote",
        "session_id=12",
        "sid=chapter1",
        "a=",
        "a",
        "q=utm_source",
        "lang=de",
        "tag=fbclid",
    ],
)
def test_parameters_that_choose_a_page_stay(query: str) -> None:
    assert url.canonical(f"http://example.com/?{query}") == f"http://example.com/?{query}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("http://e.com/p?b=2&a=1&b=1", "http://e.com/p?a=1&b=2&b=1"),
        ("http://e.com/p?b=&a", "http://e.com/p?a&b="),
        ("HTTP://E.com:80/p#x", "http://e.com/p"),
        ("https://e.com:443", "https://e.com/"),
        ("https://e.com:80/", "https://e.com:80/"),
        ("http://me:secret@e.com/a@b?c=@", "http://e.com/a@b?c=@"),
        ("http://e.com/a;jsessionid=1A2B?b=1", "http://e.com/a?b=1"),
        ("http://e.com/a;jsessionid=1A2B/b;v=1", "http://e.com/a/b;v=1"),
        ("http://e.com/a/..;jsessionid=1/b", "http://e.com/b"),
        ("http://e.com/(S(abc123))/p.aspx", "http://e.com/p.aspx"),
        ("http://e.com/a/(S(x));sid=1/(S(y))/b", "http://e.com/a/b"),
        ("http://e.com/wiki/A_(b(c))", "http://e.com/wiki/A_(b(c))"),
        ("http://e.com/p?sid=9f86d081884c7d659a2feaa0c55ad015&a=1", "http://e.com/p?a=1"),
        ("http://e.com/p?", "http://e.com/p"),
        ("mailto:a@e.com#x", "mailto:a@e.com"),
        ("no url", None),
        ("http://", None),
        ("", None),
    ],
)
def test_canonical(text: str, wanted: str | None) -> None:
    assert url.canonical(text) == wanted


def test_what_is_dropped_can_be_chosen() -> None:
    text = "http://e.com/a;jsessionid=1?utm_source=x&color=red&id=1"
    assert (
        url.canonical(text, drop=url.DroppedParameters([]))
        == "http://e.com/a;jsessionid=1?color=red&id=1&utm_source=x"
    )
    assert url.canonical(text, drop=url.DEFAULT_DROP | ["Color"]) == "http://e.com/a?id=1"
    assert (
        url.canonical(text, drop=url.DroppedParameters(["co*"]))
        == "http://e.com/a;jsessionid=1?id=1&utm_source=x"
    )


def test_dropping_remembers_a_bounded_number_of_names() -> None:
    drop = url.DroppedParameters(["gclid"])
    for i in range(10_000):
        drop.query(f"name{i}={i}&gclid=1&{'x' * 500}{i}=1")
    assert len(drop._known) <= 4096
    assert max(map(len, drop._known)) <= 64


PIECES = st.sampled_from(
    [
        "http://",
        "https://",
        "//",
        "/",
        "\\",
        "?",
        "#",
        "&",
        "=",
        ";",
        "@",
        ":",
        "..",
        ".",
        "%2e",
        "%",
        " ",
        "\t",
        "\n",
        "a",
        "b",
        "example.com",
        "EXAMPLE.com",
        "utm_source",
        "sid=deadbeef01",
        ";jsessionid=1",
        "/(S(x))/",
        "mailto:",
        "data:",
        "127.1",
        "[::1]",
        "ü",
        "\ud800",
        "\U0001f600",
        ":80",
        ":443",
        "0x7f",
        "xn--",
        "file:",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join))


@given(TEXTS, st.none() | TEXTS)
@example("data: #x", None)
@example("http://e.com/?utm_source=1?#", None)
@example("http://e.com/a;jsess;jsessionid=1ionid=2", None)
@example("http://e.com/(S(a))/(S(b))/..;sid=1/;sid=2", None)
@example("http://e.com/(S(x));sid=a/..;sid=b/(S(y))/c", None)
@example("", "HTTP:;SESSIONID=")
@example("web+x:/..//not-a-host#a", None)
def test_any_text_is_a_url_or_none_and_stays_what_it_became(text: str, base: str | None) -> None:
    parsed = url.parse(text, base)
    if parsed is not None:
        assert url.parse(parsed) == parsed
    once = url.canonical(text, base)
    assert (once is None) == (parsed is None)
    if once is not None:
        assert url.canonical(once) == once
        assert "#" not in once


@given(TEXTS, st.lists(TEXTS))
def test_resolver_gives_distinct_web_urls_without_fragment(base: str, hrefs: list[str]) -> None:
    resolver = url.HrefResolver(base)
    found = resolver.links(hrefs)
    assert len(set(found)) == len(found)
    assert set(found) == {resolver.resolve(href) for href in hrefs} - {None}
    for one in found:
        assert one.startswith(url.WEB)
        assert "#" not in one
        assert url.key(one) == url.canonical(one)
        assert url.parse(one) == one


def test_resolver_keeps_the_order_and_each_link_once() -> None:
    hrefs = [
        "b",
        "a",
        "b#x",
        "./b",
        "#y",
        "",
        "mailto:x@e.com",
        "javascript:void(0)",
        "//o.org",
        "b?utm_source=1",
        "http://[bad",
    ]
    assert url.HrefResolver("http://e.com/d/").links(hrefs) == [
        "http://e.com/d/b",
        "http://e.com/d/a",
        "http://e.com/d/",
        "http://o.org/",
        "http://e.com/d/b?utm_source=1",
    ]
    assert url.HrefResolver("no base").links(["/a", "http://e.com/a"]) == ["http://e.com/a"]


# Texts that servers, proxies and clients parse differently (security row 4), each with the one host that all
# of them must find.
DIFFERENTIAL = [
    ("http://127.0.0.1:8888\\@example.com/", "127.0.0.1:8888"),
    ("http://example.com\\.evil.org/", "example.com"),
    ("http:\\\\example.com\\a", "example.com"),
    ("http://example.com#@evil.org/", "example.com"),
    ("http://example.com?@evil.org/", "example.com"),
    ("http://a@b@example.com/", "example.com"),
    ("http://example.com:80@evil.org/", "evil.org"),
    ("http://exa%6dple.com/", "example.com"),
    ("http://exam\tple.c\nom/", "example.com"),
    ("http:///example.com/", "example.com"),
    ("http:example.com", "example.com"),
    ("http://ＥＸＡＭＰＬＥ.com/", "example.com"),
    ("http://exa\u00admple.com/", "example.com"),
    ("http://example。com/", "example.com"),
    ("http://127.1/", "127.0.0.1"),
    ("http://2130706433/", "127.0.0.1"),
    ("http://0x7f.1/", "127.0.0.1"),
    ("http://017700000001/", "127.0.0.1"),
    ("http://0/", "0.0.0.0"),
    ("http://①②⑦.⓪.⓪.①/", "127.0.0.1"),
    ("http://[::ffff:127.0.0.1]/", "[::ffff:7f00:1]"),
    ("http://[0:0::1]:80/", "[::1]"),
    ("http://example.com:00080/", "example.com"),
    ("  http://example.com/ \n", "example.com"),
    ("http://exa mple.com/", None),
    ("http://example.com%00.evil.org/", None),
    ("http://exa\0mple.com/", None),
    ("http://example.com%2f@evil.org%5c/", None),
    ("http://1.2.3.4.5/", None),
    ("http://256.0.0.1/", None),
    ("http://example.com:99999/", None),
    ("http://[::1%25eth0]/", None),
    ("http://[127.0.0.1]/", None),
    ("http://%5b::1]/", None),
]


@pytest.mark.parametrize(("text", "host"), DIFFERENTIAL)
def test_after_our_parser_no_other_can_see_another_host(text: str, host: str | None) -> None:
    parsed = url.parse(text)
    assert (parsed and url.host(parsed)) == host
    if parsed:
        safe(parsed)


def safe(parsed: str) -> None:
    """Checks that a serialized URL contains nothing that two parsers could interpret differently."""
    bare, _ = url.split_credentials(parsed)
    assert urlsplit(bare).netloc == url.host(bare) == url.host(parsed)
    assert url.parse(bare) == bare
    authority, _, path = bare.partition("://")[2].partition("/")
    assert not set(authority) & set("\\@?# \t\r\n%<>^|\x00\x7f")
    assert bare.isascii()
    assert not any(char <= " " for char in bare)
    assert "\\" not in path.partition("?")[0].partition("#")[0]


@given(st.lists(PIECES, max_size=12).map("".join))
def test_every_web_url_that_parses_is_safe(text: str) -> None:
    parsed = url.parse("http://" + text)
    if parsed is not None and parsed.startswith(url.WEB):
        safe(parsed)


@pytest.mark.parametrize(
    ("text", "bare", "secret"),
    [
        ("https://me:s%40c:x@e.com/a@b", "https://e.com/a@b", ("me", "s@c:x")),
        ("https://me@e.com/", "https://e.com/", ("me", "")),
        ("https://e.com/a@b", "https://e.com/a@b", None),
        ("https://e.com/?a@b", "https://e.com/?a@b", None),
    ],
)
def test_split_credentials(text: str, bare: str, secret: tuple[str, str] | None) -> None:
    assert url.split_credentials(text) == (bare, secret)


def test_host_and_origin() -> None:
    assert url.host("http://u:p@e.com:81/x@y") == "e.com:81"
    assert url.host("https://[::1]:8443/") == "[::1]:8443"
    assert url.host("mailto:a") == ""
    assert url.origin("https://u@e.com:8443/a?b") == "https://e.com:8443"


def test_fingerprints_depend_on_url_and_seed_and_never_change() -> None:
    assert url.fingerprint("http://e.com/", 1) != url.fingerprint("http://e.com/", 2)
    assert url.fingerprint("http://e.com/", 1) != url.fingerprint("http://e.com/a", 1)
    assert url.fingerprint("https://example.com/", 0) == 5522761390303137003

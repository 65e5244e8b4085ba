"""Registered domains: the test vectors of publicsuffix.org, IP addresses, ports, and the memory for the
loaded list."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import url
from gossamer.url import domains

# host, registered domain; derived from https://github.com/publicsuffix/list/blob/main/tests/test_psl.txt
# (public domain)
VECTORS = [
    ("example.com", "example.com"),
    ("b.example.com", "example.com"),
    ("a.b.example.com", "example.com"),
    ("WwW.Example.COM", "example.com"),
    ("uk.com", "uk.com"),
    ("b.example.uk.com", "example.uk.com"),
    ("test.ac", "test.ac"),
    ("domain.biz", "domain.biz"),
    ("a.b.domain.biz", "domain.biz"),
    ("b.c.mm", "b.c.mm"),
    ("a.b.c.mm", "b.c.mm"),
    ("www.test.ac.jp", "test.ac.jp"),
    ("test.kyoto.jp", "test.kyoto.jp"),
    ("b.ide.kyoto.jp", "b.ide.kyoto.jp"),
    ("a.b.ide.kyoto.jp", "b.ide.kyoto.jp"),
    ("c.kobe.jp", "c.kobe.jp"),
    ("b.c.kobe.jp", "b.c.kobe.jp"),
    ("a.b.c.kobe.jp", "b.c.kobe.jp"),
    ("city.kobe.jp", "city.kobe.jp"),
    ("www.city.kobe.jp", "city.kobe.jp"),
    ("b.test.ck", "b.test.ck"),
    ("a.b.test.ck", "b.test.ck"),
    ("www.ck", "www.ck"),
    ("www.www.ck", "www.ck"),
    ("test.us", "test.us"),
    ("www.test.k12.ak.us", "test.k12.ak.us"),
    ("xn--85x722f.com.cn", "xn--85x722f.com.cn"),
    ("www.xn--85x722f.xn--55qx5d.cn", "xn--85x722f.xn--55qx5d.cn"),
    ("shishi.xn--55qx5d.cn", "shishi.xn--55qx5d.cn"),
    ("a.b.xn--fiqs8s", "b.xn--fiqs8s"),
    ("食狮.公司.cn", "食狮.公司.cn"),
    ("www.食狮.公司.cn", "食狮.公司.cn"),
    ("a.b.c.example.example", "example.example"),
    ("someone.github.io", "someone.github.io"),
    ("www.someone.github.io", "someone.github.io"),
    ("deep.a.b.c.d.e.f.g.h.i.example.co.uk", "example.co.uk"),
]
OWN = [
    ("com", "com"),
    ("co.uk", "co.uk"),
    ("github.io", "github.io"),
    ("localhost", "localhost"),
    ("localhost:8000", "localhost"),
    ("127.0.0.1", "127.0.0.1"),
    ("127.0.0.1:8080", "127.0.0.1"),
    ("[::1]", "[::1]"),
    ("[2001:db8::1]:443", "[2001:db8::1]"),
    ("www.example.com:8443", "example.com"),
    ("www.example.com.", "example.com"),
    ("", ""),
    (".", ""),
    ("xn--", "xn--"),
    ("a.xn--\udcff", "a.xn--\udcff"),
]


@pytest.mark.parametrize(("host", "wanted"), VECTORS + OWN)
def test_registered_domain(host: str, wanted: str) -> None:
    assert url.registered_domain(host) == wanted
    assert url.registered_domain(wanted) == wanted


@pytest.mark.parametrize(
    "host", ["com", "co.uk", "github.io", "c.kobe.jp", "kyoto.jp", "localhost", "xn--55qx5d.cn"]
)
def test_public_suffixes(host: str) -> None:
    assert url.is_public_suffix(host)


@pytest.mark.parametrize(
    "host", ["example.com", "www.ck", "city.kobe.jp", "me.github.io", "127.0.0.1", "[::1]", "10.1"]
)
def test_what_is_no_public_suffix(host: str) -> None:
    assert not url.is_public_suffix(host)


@given(st.text(max_size=80))
def test_any_text_has_a_domain_that_is_its_own(host: str) -> None:
    found = url.registered_domain(host)
    assert url.registered_domain(found) == found


def test_long_names_are_no_work() -> None:
    began = time.process_time()
    assert url.registered_domain("a." * 100_000 + "example.com") == "example.com"
    assert time.process_time() - began < 1


def test_the_snapshot_is_whole_and_named() -> None:
    assert len(domains._rules()) > 9000
    text = domains.SNAPSHOT.read_text(encoding="utf-8")
    assert "===BEGIN ICANN DOMAINS===" in text
    assert "===END PRIVATE DOMAINS===" in text
    assert "Mozilla Public" in text
    assert max(rule.count(".") for rule in domains._rules()) < domains.MAX_LABELS - 1
    assert len(url.psl_hash()) == 16
    assert int(url.psl_hash(), 16)

"""Lines of proxy lists: the accepted forms, and lines that are refused."""

from __future__ import annotations

import pytest

from gossamer.model import proxy as words
from gossamer.model.proxy import Proxy, Wanted
from gossamer.proxies.proxy_lists import line, read

READ = [
    ("203.0.113.9:3128", "http://203.0.113.9:3128"),
    ("proxy.example:3128:joe:secret", "http://joe:secret@proxy.example:3128"),
    ("joe:secret@proxy.example:3128", "http://joe:secret@proxy.example:3128"),
    ("joe:secret:proxy.example:3128", "http://joe:secret@proxy.example:3128"),
    ("proxy.example:3128@joe:secret", "http://joe:secret@proxy.example:3128"),
    ("https://joe:secret@proxy.example:3128", "https://joe:secret@proxy.example:3128"),
    ("socks5h://proxy.example:1080", "socks5h://proxy.example:1080"),
    ("http://[2001:db8::1]:8080", "http://[2001:db8::1]:8080"),
    ("http://joe:p%40s%3As@proxy.example:1/", "http://joe:p%40s%3As@proxy.example:1"),
    ("joe:p@ss:w@proxy.example:3128", "http://joe:p%40ss%3Aw@proxy.example:3128"),
    ("1.2.3.4:8080:joe:1234", "http://joe:1234@1.2.3.4:8080"),
    ("joe:1234:1.2.3.4:8080", "http://joe:1234@1.2.3.4:8080"),
    ("squid:3128", "http://squid:3128"),
    ("proxy.example:1080 scheme=socks5", "socks5://proxy.example:1080"),
    ('{"url": "http://proxy.example:1", "country": ["de", "FR"]}', "http://proxy.example:1"),
]
REFUSED = [
    ("proxy.example", "write it as"),
    ("proxy.example:0", "write it as"),
    ("http://proxy.example:70000", "port"),
    ("ftp://proxy.example:21", "one of http"),
    ("http://proxy.example", "write it as"),
    ("2001:db8::1:8080", "write it as"),
    ("a.example:80:b.example:81", "two ways"),
    ("a.example:80@b.example:81", "two ways"),
    ("joe:1:squid:3128", "two ways"),
    ("joe:se:cret:proxy.example:3128", "write it as"),
    ("proxy.example:1 type=housing", "one of datacenter"),
    ("proxy.example:1 country=Germany", "two letters"),
    ("proxy.example:1 provder=x", "did you mean provider"),
    ("proxy.example:1 fast", "name=value"),
    ("http://u-{city}:p@proxy.example:1", "{country} and {session}"),
    ("http://u%0d:p@proxy.example:1", "control"),
    ('{"host": "x"}', "url"),
    ("http://proxy.example:1/path", "write it as"),
    ("x" * 3000, "longer"),
]


@pytest.mark.parametrize(("text", "url"), READ)
def test_a_line_is_read(text: str, url: str) -> None:
    assert line(text).url() == url


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_a_line_is_refused_with_its_reason_and_without_its_secrets(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as told:
        line(text)
    assert "cret" not in str(told.value)


def test_a_list_keeps_bad_lines_aside_and_takes_each_proxy_once() -> None:
    found, bad = read(
        [
            "\ufeff# of acme",
            "",
            "a.example:1",
            "a.example:1 ",
            "nonsense",
            "b.example:2 type=mobile provider=acme",
        ]
    )
    assert [one.id for one in found] == ["a.example:1", "acme/b.example:2"]
    assert [(one.line, one.reason[:11]) for one in bad] == [(5, "write it as")]


def test_a_proxy_prints_no_secret_and_users_of_one_address_are_told_apart() -> None:
    one, other = (
        line("gate.example:7000:joe-session-1:hunter2"),
        line("gate.example:7000:joe-session-2:hunter2"),
    )
    assert "hunter2" not in repr(one) + str(one) + one.id
    assert one.id != other.id
    assert one.id.startswith("gate.example:7000#")


def test_templates_are_filled_in() -> None:
    gate = line("http://joe-{country}-s{session}:pw@gate.example:7000 country=de,fr")
    assert (gate.has("country"), gate.has("session")) == (True, True)
    assert gate.url("fr", "a:b") == "http://joe-fr-sa%3Ab:pw@gate.example:7000"


WANTED = [
    ("residential", Proxy("http", "a", 1, kind="residential"), True),
    ("residential", Proxy("http", "a", 1), False),
    ("country=de", Proxy("http", "a", 1), False),
    ("country=de,fr", Proxy("http", "a", 1, countries=("fr",)), True),
    ("country=de", Proxy("http", "a", 1, "u-{country}"), True),
    ("", Proxy("http", "a", 1, "u-{country}"), False),
    ("", Proxy("http", "a", 1, "u-{country}", countries=("de",)), True),
    ("provider=acme", Proxy("http", "a", 1, provider="acme"), True),
    ("provider=acme", Proxy("http", "a", 1), False),
]


@pytest.mark.parametrize(("text", "proxy", "suits"), WANTED)
def test_which_proxies_suit(text: str, proxy: Proxy, suits: bool) -> None:
    assert words.parse_wanted(text).suits(proxy) is suits


def test_the_needs_of_a_request_go_before_those_of_its_site() -> None:
    site = Wanted(("datacenter",), ("de",), ("acme",), "host")
    assert site.narrowed_by("us", "mobile") == Wanted(("mobile",), ("us",), ("acme",), "host")
    assert site.narrowed_by(None, None) is site


@pytest.mark.parametrize("text", ["fast", "country=germany", "rotation=never", "providr=x", "provider=a/b"])
def test_what_no_site_may_want(text: str) -> None:
    with pytest.raises(ValueError):
        words.parse_wanted(text)

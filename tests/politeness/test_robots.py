"""Rules of robots.txt: tables of cases from RFC 9309 and from real files."""

from __future__ import annotations

import pytest

from gossamer.politeness.robots import MAX_DELAY_S, Robots


@pytest.mark.parametrize(
    ("rules", "url", "allowed"),
    [
        # without rules, everything is allowed
        ("", "/x", True),
        ("Disallow:", "/x", True),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /robots.txt", "https://example.com/robots.txt", True),
        ("Disallow: /", "/robots.txt?x", False),
        # the longest match wins, Allow wins a tie, and the order of rules does not matter
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a/b\nDisallow: /a", "/a/c", False),
        ("Disallow: /same\nAllow: /same", "/same", True),
        ("Allow: /same\nDisallow: /same", "/same", True),
        ("Allow: /a/b$\nDisallow: /a/b", "/a/b", True),
        ("Allow: /a/b$\nDisallow: /a/b", "/a/bc", False),
        ("Disallow: /a*\nAllow: /a", "/ab", False),
        ("Disallow: /*.php\nAllow: /index.php", "/index.php", True),
        # wildcards
        ("Disallow: /*/private/", "/u/1/private/x", False),
        ("Disallow: /*/private/", "/private/x", True),
        ("Disallow: /*.pdf$", "/a.pdf", False),
        ("Disallow: /*.pdf$", "/a.pdf?x", True),
        ("Disallow: /*.pdf$", "/a.pdf/b.pdf", False),
        ("Disallow: /a**b", "/axxb", False),
        ("Disallow: *", "/anything", False),
        ("Disallow: *$", "/anything", False),
        ("Disallow: /$", "/", False),
        ("Disallow: /$", "/a", True),
        ("Disallow: /aba*ba$", "/aba", True),
        ("Disallow: /ab*ba$", "/abba", False),
        ("Disallow: /a*b*c", "/acb", True),
        ("Disallow: /?*id=", "/?a=1&id=2", False),
        # percent-encoding: RFC 9309 section 2.2.2, its examples first
        ("Disallow: /foo/bar?baz=quz", "/foo/bar?baz=quz", False),
        ("Disallow: /foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", False),
        ("Disallow: /foo/bar?baz=https%3a%2f%2ffoo.bar", "/foo/bar?baz=https://foo.bar", False),
        ("Disallow: /foo/bar/ツ", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%E3%83%84", "/foo/bar/ツ", False),
        ("Disallow: /foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
        ("Disallow: /foo/bar/baz", "/foo/bar/%62%61%7A", False),
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-*.html", False),
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-b.html", True),
        ("Disallow: /path/foo-%24", "/path/foo-$", False),
        ("Disallow: /path/foo-%24", "/path/foo-", True),
        ("Disallow: /a%2fb", "/a/b", True),
        ("Disallow: /a/b", "/a%2Fb", True),
        ("Disallow: /a%2fb", "/a%2Fb", False),
        ("Disallow: /wiki/Special:", "/wiki/Special%3ASearch", False),
        ("Disallow: /*/print", "/x?back=/print", False),
        ("Disallow: /*%2Fprint", "/x?back=%2Fprint", False),
        ("Disallow: /100%", "/100%25", False),
        ("Disallow: /a b", "/a%20b", False),
        # spelling
        ("dIsAlLoW:/x", "/x", False),
        ("Disallow /x", "/x", False),
        ("Disallow\t:\t/x\t", "/x", False),
        ("Disalow: /x", "/x", False),
        ("Disallow: x", "/x", False),
        ("Disalow /x", "/x", False),
        ("Dissallow /x", "/x", False),
        ("Disallowed: /x", "/x", False),
        ("disallow-all: /x", "/x", False),
        ("Disallow /x:y", "/x:y", False),
        ("Disallow: /\nAllowed: /x", "/x", True),
        ("Disallow these: /x", "/x", True),
        ("Not-Disallow: /x", "/x", True),
        ("Disallow: /x # not this", "/x", False),
        ("Disallow: /x#y", "/x", False),
        ("Disallow nothing at all", "/nothing", True),
        ("Noindex: /x", "/x", True),
        ("Disallow: $", "/", True),
        # forms of a URL
        ("Disallow: /", "https://example.com", False),
        ("Disallow: /?q", "https://example.com?q", False),
        ("Disallow: /x", "https://user:pw@example.com:8080/x#y", False),
        ("Disallow: /y", "/x#/y", True),
        ("Disallow: /x", "/X", True),
    ],
)
def test_rules(rules: str, url: str, allowed: bool) -> None:
    assert Robots(f"User-agent: *\n{rules}\n".encode()).allows("gossamer", url) is allowed


GROUPS = b"""
Disallow: /orphan

User-agent: gossamer
User-agent: Other/2.0 (the other one)
User-agents: third; fourth
Disallow: /shared

User-agent: *
Disallow: /star

User-agent: GOSSAMER
Disallow: /more
Allow: /shared/not
"""


@pytest.mark.parametrize(
    ("agent", "closed"),
    [
        ("gossamer", {"/shared", "/more"}),
        ("Gossamer", {"/shared", "/more"}),
        ("gossamer/1.2 (+https://example.com/bot)", {"/shared", "/more"}),
        ("Mozilla/5.0 (compatible; gossamer/1.2; +https://other/2.0)", {"/shared", "/more"}),
        ("other", {"/shared", "/shared/not"}),
        ("third", {"/shared", "/shared/not"}),
        ("fourth", {"/star"}),
        ("gossamer-images", {"/star"}),
        ("goss", {"/star"}),
        ("*", {"/star"}),
        ("", {"/star"}),
    ],
)
def test_groups_of_an_agent_are_merged_and_others_obey_the_star(agent: str, closed: set[str]) -> None:
    robots = Robots(GROUPS)
    paths = {"/orphan", "/shared", "/shared/not", "/star", "/more"}
    assert {path for path in paths if not robots.allows(agent, path)} == closed


def test_a_group_without_rules_forbids_nothing() -> None:
    assert Robots(b"User-agent: *\nDisallow: /\n\nUser-agent: gossamer\n").allows("gossamer", "/x")


def test_mozilla_is_the_last_name_of_an_agent() -> None:
    body = b"User-agent: mozilla\nDisallow: /\nUser-agent: gossamer\nDisallow: /x"
    assert Robots(body).allows("Mozilla/5.0 (compatible; gossamer/1)", "/y")
    assert not Robots(body).allows("Mozilla/5.0", "/y")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef"])
def test_line_endings_and_byte_order_marks(end: str, mark: bytes) -> None:
    robots = Robots(
        mark + end.join(["User-agent: *", "", "Disallow: /x", "Sitemap: https://e.com/s.xml"]).encode()
    )
    assert not robots.allows("gossamer", "/x")
    assert robots.sitemaps == ["https://e.com/s.xml"]
    assert robots.rule("gossamer", "/x") == "line 3: Disallow: /x"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_encodings(encoding: str) -> None:
    assert not Robots("User-agent: *\nDisallow: /käse".encode(encoding)).allows("gossamer", "/k%C3%A4se")


def test_octets_that_are_no_utf8_are_percent_encoded_as_they_are() -> None:
    robots = Robots(b"User-agent: *\nDisallow: /k\xe4se")
    assert not robots.allows("gossamer", "/k%E4se")
    assert robots.rule("gossamer", "/k%E4se") == "line 2: Disallow: /k�se"


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("", None),
        ("Crawl-delay: 2", 2.0),
        ("crawl-delay: 0.5", 0.5),
        ("Crawl-delay: .5", 0.5),
        ("Crawl-delay: 0,5", 0.5),
        ("Crawl-delay: 10s # ten", 10.0),
        ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: 2\nCrawl-delay: 5\nCrawl-delay: 1", 5.0),
        ("Crawl-delay: -1", None),
        ("Crawl-delay: nan", None),
        ("Crawl-delay: inf", None),
        ("Crawl-delay: 1e999", None),
        ("Crawl-delay: soon", None),
        ("Crawl-delay: ٣", None),
        ("Crawl-delay:", None),
        ("Crawl-delay: 99999999999", MAX_DELAY_S),
        (f"Crawl-delay: {'9' * 5000}", None),
        ("Request-rate: 1/10s 1820-1940", 10.0),
        ("Request-rate: 30/1m", 2.0),
        ("Request-rate: 1 / 2", 2.0),
        ("Request-rate: 1/1h", 3600.0),
        ("Request-rate: 0/10", None),
        ("Request-rate: many", None),
        ("Request-rate: 1/10s\nCrawl-delay: 3", 10.0),
        ("Request-rate: 1/2s\nCrawl-delay: 3", 3.0),
    ],
)
def test_delay(lines: str, seconds: float | None) -> None:
    body = f"User-agent: *\n{lines}\nDisallow: /x\n".encode()
    assert Robots(body).delay("gossamer") == seconds
    assert Robots(Robots.for_agents(body, ["gossamer"])).delay("gossamer") == seconds


def test_a_delay_belongs_to_the_agents_above_it_and_ends_no_group() -> None:
    robots = Robots(b"User-agent: slow\nCrawl-delay: 60\n\nUser-agent: *\nDisallow: /x\nCrawl-delay: 2")
    assert (robots.delay("slow"), robots.delay("gossamer")) == (60.0, 2.0)
    assert not robots.allows("slow", "/x")


def test_sitemaps_belong_to_no_group_and_come_once() -> None:
    robots = Robots(
        b"Sitemap: https://e.com/1.xml\nUser-agent: x\nsite-map:/2.xml\nDisallow: /\n"
        b"SITEMAP https://e.com/3.xml\nSitemap:\nSitemap: https://e.com/1.xml # again"
    )
    assert robots.sitemaps == ["https://e.com/1.xml", "/2.xml", "https://e.com/3.xml"]


def test_rule_names_the_line_that_decided() -> None:
    body = b"# hello\n\nUser-agent: *\n  Disallow: /a*b   # why\nAllow: /a/b\n"
    for robots in (Robots(body), Robots(Robots.for_agents(body, ["gossamer"]))):
        assert robots.rule("gossamer", "https://e.com/axxb") == "line 4: Disallow: /a*b   # why"
        assert robots.rule("gossamer", "https://e.com/a/b") == "line 5: Allow: /a/b"
        assert robots.rule("gossamer", "https://e.com/c") is None
        assert robots.rule("gossamer", "https://e.com/robots.txt") is None


def test_trimmed_keeps_our_groups_the_star_and_sitemaps() -> None:
    body = GROUPS + b"\nUser-agent: spam\nDisallow: /long/list\nSitemap: https://e.com/s.xml\n"
    trimmed = Robots.for_agents(body, ["gossamer"])
    assert b"spam" not in trimmed
    assert b"Other" not in trimmed
    assert b"orphan" not in trimmed
    assert [line for line in trimmed.split(b"\n") if line] == [
        b"User-agent: gossamer",
        b"Disallow: /shared",
        b"User-agent: *",
        b"Disallow: /star",
        b"User-agent: GOSSAMER",
        b"Disallow: /more",
        b"Allow: /shared/not",
        b"Sitemap: https://e.com/s.xml",
    ]

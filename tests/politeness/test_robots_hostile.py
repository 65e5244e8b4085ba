"""Malicious and random robots.txt files cause bounded work and no exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.politeness.robots import MAX_BYTES, Robots, normalize_path, path_of


def test_500_kib_are_read_and_no_half_line() -> None:
    head = b"User-agent: *\nDisallow: /early\n"
    filler = b"#" * (MAX_BYTES - len(head) - 20) + b"\n"
    body = head + filler + b"Disallow: /late/and/cut\nDisallow: /after\n"
    robots = Robots(body)
    assert not robots.allows("gossamer", "/early")
    assert robots.allows("gossamer", "/late/and/cut")
    assert robots.allows("gossamer", "/after")


# functions, because the bodies are large
HOSTILE = {
    "100 MB on one line": lambda: b"User-agent: *\nDisallow: /" + b"a" * 100_000_000,
    "20,000 groups": lambda: b"".join(b"User-agent: b%d\nDisallow: /%d\n" % (n, n) for n in range(20_000)),
    "20,000 agents share 20,000 rules": lambda: (
        b"".join(b"User-agent: b%d\n" % n for n in range(20_000)) + b"Allow: /\n" * 20_000
    ),
    "one agent 20,000 times": lambda: b"User-agent: *\n" * 18_000 + b"Disallow: /x\n" * 18_000,
    "20,000 delays for 14,000 agents": lambda: (
        b"".join(b"User-agent: b%d\n" % n for n in range(14_000)) + b"Crawl-delay:1\n" * 20_000
    ),
    "stars": lambda: b"User-agent: *\nDisallow: /" + b"*" * 400_000 + b"b$",
    "stars and letters": lambda: b"User-agent: *\nDisallow: /" + b"*a" * 200_000 + b"b$",
    "many lines of stars": lambda: b"User-agent: *\n" + b"Disallow: /*a*a*a*a*a*ab$\n" * 15_000,
    "empty lines": lambda: b"\r" * 600_000,
    "blanks": lambda: b"Disallow " + b" \t" * 250_000 + b"x y",
    "percent signs": lambda: b"User-agent: *\nDisallow: /" + b"%" * 400_000,
    "a browser that never ends": lambda: b"User-agent: " + b"a/" * 200_000 + b"\nDisallow: /",
    "nothing": lambda: b"",
    "zeros": lambda: b"\0" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(name: str) -> None:
    """A backtracking matcher or quadratic work would not finish here."""
    body = HOSTILE[name]()
    agents = ("gossamer", "b7", "Mozilla/5.0 (compatible; b8/1.0)")
    whole, trimmed = Robots(body), Robots(Robots.for_agents(body, agents))
    for agent in agents:
        for url in (
            "https://e.com/" + "a" * 2000,
            "https://e.com/" + "a" * 2000 + "b",
            "https://e.com/?" + "/%2F" * 500,
        ):
            assert whole.allows(agent, url) == trimmed.allows(agent, url)
            assert whole.rule(agent, url) == trimmed.rule(agent, url)


LINES = st.lists(
    st.sampled_from(
        """User-agent: *|user-agent: gossamer|User-agent: b|useragent Gossamer/2|Disallow:|Disallow: /|Allow: /a|Disallow: /a*b
        Allow: /*b$|Disallow: /%61|Disallow: /ä|Crawl-delay: 3|Request-rate: 1/9|Sitemap: /s|Host: x||# x|Disallow: /b # x|what is this""".replace(
            "\n", "|"
        ).split("|")
    ),
    max_size=20,
)


@given(LINES)
def test_trimmed_answers_the_same(lines: list[str]) -> None:
    body = "\n".join(lines).encode()
    whole, trimmed = Robots(body), Robots(Robots.for_agents(body, ["gossamer"]))
    assert trimmed.sitemaps == whole.sitemaps
    for agent in ("gossamer", "stranger"):
        assert whole.delay(agent) == trimmed.delay(agent)
        for url in ("/", "/a", "/ab", "/%C3%A4", "/b", "/axb"):
            assert whole.rule(agent, url) == trimmed.rule(agent, url)


@given(st.binary(max_size=300), st.text(max_size=20), st.text(max_size=60))
def test_never_raises(body: bytes, agent: str, url: str) -> None:
    for prefix in (b"", b"User-agent: *\nDisallow: /a*"):
        robots = Robots(prefix + body)
        robots.allows(agent, url)
        robots.delay(agent)
        assert all(isinstance(sitemap, str) for sitemap in robots.sitemaps)
        assert isinstance(robots.rule(agent, url), str | None)
        Robots(Robots.for_agents(prefix + body, [agent])).allows(agent, url)


@given(st.text(max_size=40))
def test_normal_form_is_ascii_and_stays(text: str) -> None:
    once = normalize_path(text)
    assert once.isascii()
    assert normalize_path(once) == once
    assert path_of(text).startswith("/")

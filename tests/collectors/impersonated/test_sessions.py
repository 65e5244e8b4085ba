"""Tests of identities: one browser with its own cookies per domain and session, and complete header sets
that state the referrer of a link."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from collectors.impersonated.conftest import ADDRESS
from collectors.impersonated.recording_server import Recorder
from gossamer import url as urls
from gossamer.app.dry_run import try_one
from gossamer.app.job import Job
from gossamer.config.optional_deps import install_command
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.identity.browsers import BROWSERS
from gossamer.identity.headers import browser_headers, fetch_site
from gossamer.identity.sessions import Sessions
from gossamer.model.page import Page
from gossamer.model.request import Request

CHROME = BROWSERS["chrome150"]


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def sessions(clock: Clock, *names: str) -> Sessions:
    return Sessions(lambda _: names or ("any",), "7 crawl", 3600.0, urls.registered_domain, now=clock)


def test_a_domain_sees_one_browser_for_a_session_and_its_cookies_end_with_it() -> None:
    clock = Clock()
    one = sessions(clock)
    first = one.lend(Request("https://www.example.com/"))
    assert first.guise is not None
    cookie = [("set-cookie", "id=1; Domain=example.com")]
    one.took(Page("https://www.example.com/", 200, cookie, b"", 1.0, 0.1, 0), first.guise)
    again = one.lend(Request("https://shop.example.com/x"))
    assert again.guise == first.guise
    assert again.headers["Cookie"] == "id=1"
    # another worker chooses the same identity
    assert sessions(clock).lend(Request("https://www.example.com/")).guise == first.guise
    clock.now += 3600
    later = one.lend(Request("https://www.example.com/"))
    assert later.guise is not None
    assert later.guise.session != first.guise.session
    assert "Cookie" not in later.headers


def test_domains_differ_and_their_sessions_end_at_their_own_times() -> None:
    clock = Clock()
    one = sessions(clock)
    hosts = [f"https://h{n}.test/" for n in range(60)]
    before = [one.lend(Request(host)).guise for host in hosts]
    assert len({who.browser for who in before if who is not None}) == 4
    clock.now += 1800
    moved = [one.lend(Request(host)).guise != who for host, who in zip(hosts, before, strict=True)]
    assert 15 < sum(moved) < 45


@pytest.mark.parametrize(
    ("referrer", "chain", "expected"),
    [
        (None, ["https://a.example.com/"], "none"),
        ("https://a.example.com/x", ["https://a.example.com/y"], "same-origin"),
        ("https://a.example.com/x", ["https://b.example.com/y"], "same-site"),
        ("http://a.example.com/x", ["https://a.example.com/y"], "cross-site"),
        ("https://a.example.com/x", ["https://t.co/1", "https://a.example.com/y"], "cross-site"),
        ("https://a.example.com/x", ["https://b.example.com/1", "https://a.example.com/y"], "same-site"),
    ],
)
def test_where_a_request_says_it_comes_from(referrer: str | None, chain: list[str], expected: str) -> None:
    assert fetch_site(referrer, chain, urls.registered_domain) == expected
    headers = browser_headers(
        CHROME, chain[-1], referrer=referrer, passed=chain[:-1], domain=urls.registered_domain
    )
    assert headers["Sec-Fetch-Site"] == expected
    same = referrer is not None and chain[-1].startswith(referrer[:-1])
    assert headers.get("Referer") == (referrer if same else None)


def test_headers_of_people_have_their_place_and_none_mixes_the_identity() -> None:
    given = {
        "User-Agent": "me",
        "SEC-CH-UA": "x",
        "Accept-Encoding": "identity",
        "Accept-Language": "de",
        "X-Own": "1",
        "Cookie": "a=1",
    }
    headers = browser_headers(CHROME, "https://a.example/", given=given, cookies="b=2")
    assert headers["User-Agent"] == CHROME.agent
    assert (headers["sec-ch-ua"], headers["Accept-Encoding"]) == (
        dict(CHROME.hints)["sec-ch-ua"],
        CHROME.encodings,
    )
    assert list(headers)[-4:] == ["Accept-Language", "X-Own", "Cookie", "Priority"]
    assert (headers["Accept-Language"], headers["Cookie"]) == ("de", "a=1; b=2")


@pytest.mark.parametrize("name", ["chrome150", "firefox147", "safari2601"])
def test_what_a_script_asks_for_is_no_navigation(name: str) -> None:
    given = {"Accept": "application/json"}
    headers = browser_headers(
        BROWSERS[name], "https://a.example/api", referrer="https://a.example/", given=given
    )
    assert (headers["Sec-Fetch-Mode"], headers["Sec-Fetch-Dest"], headers["Sec-Fetch-Site"]) == (
        "cors",
        "empty",
        "same-origin",
    )
    assert not {"Sec-Fetch-User", "Upgrade-Insecure-Requests"} & set(headers)
    assert headers["Accept"] == "application/json"


def test_a_plain_site_is_told_less() -> None:
    for browser in BROWSERS.values():
        headers = browser_headers(browser, "http://a.example/")
        assert not [name for name in headers if name.lower().startswith("sec-") and name != "Sec-Gpc"]
        assert headers["Accept-Encoding"] == "gzip, deflate"


async def test_one_page_through_the_whole_road(trusted: Recorder, authority: tuple[Path, Path, Path]) -> None:
    settings = Settings(ladder=("impersonated",), browser=("firefox",), ca_file=str(authority[0]))
    url = trusted.url(ADDRESS, "/a")
    trusted.bodies["/robots.txt"] = (b"", {"content-type": "text/plain"})
    trial = await try_one(Job(targets=[url], settings=settings), url)
    assert trial.page is not None, trial.dead
    assert (trial.page.collector, trial.page.body) == ("impersonated", b"<title>seen</title>")
    assert [(line["rung"], line["collector"]) for line in trial.attempts] == [
        ("impersonated", "impersonated")
    ] * 2
    assert {line["session"].partition("/")[0] for line in trial.attempts} == {"firefox147"}
    record = trial.rows[0].data
    assert getattr(record, "collector", None) == "impersonated"
    agents = {dict(asked)["user-agent"] for one in trusted.seen for asked in one.requests}
    # all requests, including that for robots.txt, have the same user agent
    assert agents == {BROWSERS["firefox147"].agent}


async def test_honest_by_default(trusted: Recorder, authority: tuple[Path, Path, Path]) -> None:
    url = trusted.url(ADDRESS, "/a")
    trial = await try_one(Job(targets=[url], settings=Settings(ca_file=str(authority[0]))), url)
    assert trial.page is not None
    assert {line["rung"] for line in trial.attempts} == {"plain"}
    assert all(
        dict(asked)["user-agent"].startswith("gossamer/") for one in trusted.seen for asked in one.requests
    )


async def test_a_site_chooses_for_its_hosts(
    trusted: Recorder, authority: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "own.py"
    url = trusted.url(ADDRESS, "/a")
    file.write_text(
        "from gossamer import Site\n"
        f"own = Site('own', seeds=[{url!r}], ladder='impersonated', browser='safari', robots=False)\n"
    )
    trial = await try_one(
        Job(targets=[str(file)], settings=Settings(ca_file=str(authority[0]), scope="page")), url
    )
    assert trial.page is not None, trial.dead
    assert trial.attempts[-1]["rung"] == "impersonated"
    assert dict(trusted.seen[-1].headers())["user-agent"] == BROWSERS["safari2601"].agent


async def test_what_is_wrong_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "http://a.example/"
    settings = Settings(ladder=("impersonated",), browser=("netscape",))
    with pytest.raises(ConfigError, match="browser: there is no browser 'netscape'"):
        await try_one(Job(targets=[url], settings=settings), url)
    monkeypatch.delitem(sys.modules, "gossamer.collectors.http.curl_cffi_adapter", raising=False)
    monkeypatch.delattr("gossamer.collectors.http.curl_cffi_adapter", raising=False)
    monkeypatch.setitem(sys.modules, "curl_cffi._wrapper", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("impersonated"))):
        await try_one(Job(targets=[url], settings=Settings(ladder=("impersonated",))), url)


def test_the_oldest_jar_makes_room_for_a_new_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.identity.sessions.MAX_JARS", 2)
    one = sessions(Clock())
    hosts = ["https://a.example/", "https://b.example/", "https://c.example/"]
    for host in hosts:
        lent = one.lend(Request(host))
        one.took(Page(host, 200, [("set-cookie", "id=1")], b"", 1.0, 0.1, 0), lent.guise)
    assert ["Cookie" in one.lend(Request(host)).headers for host in hosts] == [False, True, True]

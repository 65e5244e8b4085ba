"""The meaning of a robots.txt response (RFC 9309, 2.3.1), as a table."""

from __future__ import annotations

import pytest

from gossamer.model.page import Failure, Page
from gossamer.politeness.robots_access import (
    CLOSED,
    MAX_AGE_S,
    MAX_BYTES,
    NO_NAME,
    OPEN,
    PRIVATE,
    TOO_SLOW,
    UNREACHABLE,
    Access,
    access,
    read,
    rules,
    version_of,
)


def page(status: int, body: bytes = b"") -> Page:
    return Page("https://a.example/robots.txt", status, [], body, 0.0, 0.1, len(body))


def failed(reason: str, final: bool = False) -> Failure:
    return Failure(reason, "why", 0.0, 0.1, final=final)


@pytest.mark.parametrize(
    ("result", "wait", "stale", "found"),
    [
        *(
            (page(status), 5.0, 9, Access(OPEN, MAX_AGE_S))
            for status in (301, 302, 400, 401, 403, 404, 410, 451, 304)
        ),
        (failed("content-type"), 5.0, 0, Access(OPEN, MAX_AGE_S)),
        *((page(status), 5.0, 0, Access(holds=0.0, wait=5.0)) for status in (500, 503, 429)),
        *((page(status), 5.0, 9, Access(9, holds=3600.0)) for status in (500, 503, 429)),
        (page(500), None, 0, Access(-9)),
        (page(500), None, 9, Access(9, holds=3600.0)),
        *(
            (failed(reason), 5.0, 0, Access(holds=0.0, wait=5.0))
            for reason in ("timeout", "connect", "reset", "tls", "dns", "too-large")
        ),
        (failed("timeout"), None, 0, Access(-6)),
        (failed("connect"), None, 0, Access(-5)),
        (failed("too-large"), None, 0, Access(UNREACHABLE)),
        (failed("timeout"), None, 9, Access(9, holds=3600.0)),
        (failed("dns", final=True), 5.0, 0, Access(NO_NAME)),
        (failed("private", final=True), 5.0, 0, Access(PRIVATE)),
        (failed("filter", final=True), 5.0, 0, Access(PRIVATE)),
    ],
)
def test_an_answer_opens_or_closes(
    result: Page | Failure, wait: float | None, stale: int, found: Access
) -> None:
    assert access(result, "gossamer", wait, stale) == found
    assert found.version >= 0 or found.version in CLOSED


def test_rules_are_kept_and_come_back() -> None:
    body = b"Sitemap: /s.xml\nUser-agent: other\nDisallow: /\n\nUser-agent: gossamer\nDisallow: /a\nAllow: /a/b\nCrawl-delay: 2\n"
    found = access(page(200, body), "gossamer", 5.0, 0)
    assert (found.crawl_delay, found.holds, found.sitemaps) == (2.0, MAX_AGE_S, ("/s.xml",))
    kept = rules(found.rules)
    assert [kept.allows("gossamer", f"https://a.example{path}") for path in ("/", "/a", "/a/b")] == [
        True,
        False,
        True,
    ]
    assert found.version == version_of(found.rules) > OPEN
    assert access(page(200, body + b"# a remark\n"), "gossamer", 5.0, 0).version == found.version
    assert access(page(200, body.replace(b"/a\n", b"/c\n")), "gossamer", 5.0, 0).version != found.version


def test_an_empty_body_has_rules_that_allow_all() -> None:
    found = access(page(204), "gossamer", 5.0, 0)
    assert found.version > OPEN
    assert rules(found.rules).allows("gossamer", "https://a.example/x")


def test_a_crawl_delay_beyond_five_minutes_parks_the_host() -> None:
    assert read(b"User-agent: *\nCrawl-delay: 301\n", "gossamer").version == TOO_SLOW
    assert read(b"User-agent: *\nCrawl-delay: 300\n", "gossamer").crawl_delay == 300


def test_what_lies_beyond_500_kib_is_not_read() -> None:
    body = b"User-agent: *\nDisallow: /early\n" + b"#" * (MAX_BYTES - 20) + b"\nDisallow: /late\n"
    kept = rules(read(body, "gossamer").rules)
    assert not kept.allows("gossamer", "https://a.example/early")
    assert kept.allows("gossamer", "https://a.example/late")


def test_the_text_of_an_unreachable_file_names_the_cause() -> None:
    refused = CLOSED[access(failed("connect"), "gossamer", None, 0).version]
    assert (refused.error, "the connection was refused" in refused.detail) == ("robots-unreachable", True)
    assert CLOSED[UNREACHABLE].detail == "its robots.txt could not be read, so nothing may be fetched"

"""Page records and attempts, the public results of a visit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim, Settle, Visit
from gossamer.worker.records import attempt, failed_record, format_time, is_attempt, page_record, page_row
from gossamer.worker.visitor import Visitor

URL = "https://a.example/x?token=secret"
FIELDS = [
    "url",
    "requested_url",
    "status",
    "title",
    "content_type",
    "language",
    "depth",
    "referrer",
    "fetched_at",
    "elapsed",
    "bytes",
    "collector",
    "links",
    "text_hash",
    "canonical",
    "redirects",
    "error",
]


def test_moments_are_utc_with_milliseconds() -> None:
    assert format_time(1_700_000_000.1239) == "2023-11-14T22:13:20.123Z"


def test_a_page_s_record_names_the_first_url_asked_for() -> None:
    request = Request(
        URL, depth=2, referrer="https://a.example/", hops=("http://a.example/x", "http://a.example/y")
    )
    page = Page(URL, 200, [("content-type", "text/html")], b"<p>", 0.0, 0.123456, 10)
    record = page_record(request, page)
    assert list(msgspec.to_builtins(record)) == FIELDS
    assert (record.url, record.requested_url, record.redirects) == (
        URL,
        "http://a.example/x",
        list(request.hops),
    )
    assert (record.status, record.depth, record.bytes, record.elapsed) == (200, 2, 10, 0.1235)
    assert (record.fetched_at, record.content_type, record.error) == (
        "1970-01-01T00:00:00.000Z",
        "text/html",
        None,
    )
    row = page_row(record, "key")
    assert (row.kind, row.key, row.data) == ("page", "key", record)


def test_a_failure_s_record_has_the_reason_and_no_status() -> None:
    failure = Failure("timeout", "slow", 5.0, 30.0, wire=7)
    record = failed_record(Request(URL), failure, "timeout", 99.0)
    assert (record.status, record.error, record.bytes, record.elapsed) == (None, "timeout", 7, 30.0)
    assert record.fetched_at == format_time(5.0)
    never = failed_record(Request(URL), None, "robots-unreachable", 99.0)
    assert (never.fetched_at, never.collector, never.elapsed) == (format_time(99.0), "", 0.0)


def test_an_attempt_is_counted_from_one_and_masks_secrets() -> None:
    claim = Claim(1, 0, "a.example", Request("https://u:pw@a.example/?password=geheim"), attempt=1)
    line = attempt("c", "w", claim, Page(URL, 500, [], b"abc", 0.0, 0.5, 2), "retry", "http-5xx")
    assert (line.attempt, line.status, line.outcome, line.error) == (2, 500, "retry", "http-5xx")
    assert (line.bytes_wire, line.bytes_decoded, line.seconds) == (2, 3, 0.5)
    assert "geheim" not in line.url
    assert "pw@" not in line.url
    failed = attempt("c", "w", claim, Failure("reset", "x", 0.0, 0.5, rung="impersonated"), "retry", None)
    assert (failed.status, failed.error, failed.bytes_decoded) == (None, "reset", 0)
    assert (line.rung, failed.rung) == ("plain", "impersonated")


def test_an_attempt_names_where_a_redirect_leads() -> None:
    def location(status: int, *headers: tuple[str, str]) -> str | None:
        page = Page("https://a.example/x/", status, list(headers), b"", 0.0, 0.0, 0)
        claim = Claim(1, 0, "a.example", Request("https://a.example/x/"))
        line = attempt("c", "w", claim, page, "redirected", None)
        return line.location

    assert location(301, ("location", "../y")) == "https://a.example/y"
    assert location(302, ("location", "mailto:a@b.example")) is None
    assert location(200, ("location", "/y")) is None
    assert location(301) is None


def test_answers_that_one_climbed_past_are_kept_before_the_one_that_counts() -> None:
    low = Page(URL, 403, [], b"no", 0.0, 0.1, 2, block="generic denied (status 403)")
    high = Page(URL, 200, [], b"yes", 1.0, 0.1, 3, rung="browser")
    visit, visitor = Visit(Claim(1, 0, "a.example", Request(URL)), Settle(1, "d")), SimpleNamespace(raw=True)
    kept: Any = Visitor._kept(visitor, visit, low, high)  # type: ignore[arg-type]
    told = [
        (row.data.status, row.data.exchange.body, row.data.asked.rung, row.data.asked.block)
        for row in kept.rows
    ]
    assert told == [(403, b"no", "plain", "generic denied (status 403)"), (200, b"yes", "browser", None)]


def test_who_found_no_way_to_a_host_is_an_attempt_who_was_refused_here_is_none() -> None:
    said = {
        reason: is_attempt(Failure(reason, "x", 0.0, 0.1, sent=False))
        for reason in ("dns", "connect", "tls", "timeout", "private", "filter", "proxy")
    }
    assert [reason for reason, is_one in said.items() if is_one] == ["dns", "connect", "tls", "timeout"]
    assert is_attempt(Failure("reset", "x", 0.0, 0.1))
    assert is_attempt(Failure("proxy", "x", 0.0, 0.1, sent=False, proxy="p/1"))

"""Traces of visits, as an OpenTelemetry receiver gets them."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
from gossamer.observability.traces import Traces, context_of, trace_id
from support.answers import answering
from support.spans import spans, values, visits
from support.web_receiver import receiving

SECRET = "c4nary-s3cret"


class Shop(BaseHTTPRequestHandler):
    """A start page that links to `/ok` and to `/broken`, which answers 500."""

    def do_GET(self) -> None:
        body = f'<a href="/ok?api_key={SECRET}">1</a><a href="/broken">2</a>' if self.path == "/" else "x"
        self.send_response(500 if self.path == "/broken" else 404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def crawl(room: Path, start: str, receiver: str, *more: str) -> str:
    settings = ("-s", f"traces={receiver}", "-s", "retries=none", "--delay", "0")
    code, _, err = gossamer(room, "crawl", start, "--name", "c", *settings, *more)
    assert code in (0, 6), err
    return err


def test_a_visit_is_a_span_with_its_requests_and_a_link_to_where_its_url_was_found(tmp_path: Path) -> None:
    with answering(Shop) as port, receiving() as got:
        start = f"http://127.0.0.1:{port}/"
        crawl(tmp_path, start, got.url, "-s", "trace_sample=1")
        found = spans(got)
    by_url = visits(found)
    assert len(by_url) == 4  # robots.txt, the start page, and two linked pages
    page, broken = by_url[start], by_url[f"{start}broken"]
    assert page.trace_id == trace_id("c", start)
    assert [(one.trace_id, one.span_id) for one in broken.links] == [(page.trace_id, page.span_id)]
    assert context_of("c", start).span_id == int.from_bytes(page.span_id)
    assert broken.status.code == 2
    assert values(broken)["error.type"] == "http-5xx"
    assert values(broken)["gossamer.referrer"] == start
    (request,) = [one for one in found if one.parent_span_id == page.span_id]
    assert request.name == "GET"
    assert values(request)["http.response.status_code"] == 200
    assert page.start_time_unix_nano <= request.start_time_unix_nano
    assert request.end_time_unix_nano <= page.end_time_unix_nano
    assert not any(SECRET in str(one) for one in found)


def test_failed_visits_are_always_traced(tmp_path: Path) -> None:
    with answering(Shop) as port, receiving() as got:
        start = f"http://127.0.0.1:{port}/"
        crawl(tmp_path, start, got.url, "-s", "trace_sample=0")
        assert visits(spans(got)).keys() == {f"{start}broken"}


def test_closing_waits_until_the_spans_are_sent() -> None:
    class SlowProcessor:
        sent = False

        def shutdown(self) -> None:
            time.sleep(0.2)
            self.sent = True

    traces = Traces.__new__(Traces)
    traces._processor = processor = SlowProcessor()  # type: ignore[assignment]  # only what `close` uses
    traces.close()
    assert processor.sent


@pytest.mark.parametrize("hang", [False, True])
def test_a_receiver_that_fails_neither_holds_nor_harms_a_crawl(tmp_path: Path, hang: bool) -> None:
    began = time.monotonic()
    with answering(Shop) as port, receiving([500], hang=hang) as got:
        err = crawl(tmp_path, f"http://127.0.0.1:{port}/", got.url, "-s", "trace_sample=1")
        assert got.calls
        assert time.monotonic() - began < 20, "the receiver hangs for 30 s"
    assert "Traceback" not in err


def test_a_wrong_setting_says_what_is_expected(tmp_path: Path) -> None:
    for given, words in (("traces=localhost:4318", "http://"), ("trace_sample=2", "from 0 to 1")):
        code, _, err = gossamer(tmp_path, "crawl", "http://127.0.0.1:9/", "-s", given)
        assert code == 4, err
        assert words in err

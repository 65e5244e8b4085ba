"""`rate limited until` is a state of a crawl and of a host, and its length is bounded by a setting."""

from __future__ import annotations

import http.server
import json
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin, gossamer
from cli.conftest import stop_store
from support.answers import answering


class Limited(http.server.BaseHTTPRequestHandler):
    """Answers the first page, and asks to wait two hours for all others."""

    def do_GET(self) -> None:
        body = b'<a href="/a">a</a><a href="/b">b</a>'
        self.send_response(200 if self.path in ("/", "/robots.txt") else 429)
        self.send_header("Content-Type", "text/plain" if "robots" in self.path else "text/html")
        self.send_header("Retry-After", "7200")
        body = b"" if "robots" in self.path else body
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Disable the request log."""


@pytest.fixture
def web() -> Iterator[str]:
    with answering(Limited) as port:
        yield f"http://127.0.0.1:{port}"


def status(room: Path, *words: str) -> dict[str, Any]:
    code, out, err = gossamer(room, *words, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_crawl_and_the_host_say_until_when(tmp_path: Path, web: str) -> None:
    words = (
        "crawl",
        f"{web}/",
        "--name",
        "c",
        "--delay",
        "0.01",
        "-s",
        "rate_limit_wait=3h",
        "--retries",
        "1s,1s",
    )
    process = begin(tmp_path, *words, "-o", "o.jsonl")
    try:
        deadline = time.monotonic() + 60
        idle: dict[str, str] | None = None
        while idle is None or idle["reason"] != "rate-limited":
            assert time.monotonic() < deadline, idle
            assert process.poll() is None
            code, out, _ = gossamer(tmp_path, "status", "c", "--json")
            idle = json.loads(out)["now"]["idle"] if code == 0 else None
        host = web.removeprefix("http://")
        assert f"rate limited by {host} until " in idle["text"]
        shown = status(tmp_path, "host", "show", host)
        until = datetime.fromisoformat(shown["rate_limited_until"])
        assert 7000 < (until - datetime.now(UTC)).total_seconds() <= 7200
        assert "rate limited until " in gossamer(tmp_path, "host", "show", host)[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
        stop_store(tmp_path)


def test_a_longer_wait_than_the_setting_ends_the_url(tmp_path: Path, web: str) -> None:
    words = ("crawl", f"{web}/", "--name", "c", "--delay", "0.01", "-s", "rate_limit_wait=1h", "--json")
    code, out, err = gossamer(tmp_path, *words, "-o", "o.jsonl", "--time-limit", "60s")
    assert code in (0, 9), err
    found = json.loads(out)
    assert found["errors"] == {"rate-limited": found["dead"]}
    assert found["dead"] >= 1

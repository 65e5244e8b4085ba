# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of `@site.before`, a function that is called with each request just before it is sent."""

from __future__ import annotations

import hashlib
import hmac
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer.model.page import Failure
from gossamer.model.request import Request
from gossamer.sites.before_request import preparer
from gossamer.sites.loading import load
from support.answers import answering

SITE = """
import hashlib, hmac, itertools

from gossamer import Site

KEY = b"key"
site = Site("api", seeds=["{web}/items?page=1"], pace="5ms", headers={{"X-User": "u"}}, retries=["5ms", "5ms"])
nonces = itertools.count(1)


@site.before
def sign(request):
    request.url += f"&nonce={{next(nonces)}}"
    text = request.url.partition("/items")[2] + (request.body or "") + request.headers["x-user"]
    request.headers["X-Signature"] = hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


@site.page()
def read(page):
    data = page.json()
    yield {{"page": data["page"], "url": page.url}}
    if data["next"]:
        yield page.request(f"/items?page={{data['next']}}", json={{"page": data["next"]}})
"""


def test_each_request_is_signed_just_before_it_is_sent(room: Path) -> None:
    seen: list[tuple[str, bool]] = []

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/robots.txt":
                assert self.headers["X-Signature"] is None
                return self._answer(404, b"")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            text = self.path.removeprefix("/items") + body + self.headers["X-User"]
            good = hmac.new(b"key", text.encode(), hashlib.sha256).hexdigest() == self.headers["X-Signature"]
            seen.append((self.path, good))
            if not good:
                return self._answer(403, b"")
            if len(seen) == 2:  # the next try must have a new nonce
                return self._answer(500, b"")
            page = int(self.path.partition("page=")[2].partition("&")[0])
            return self._answer(200, json.dumps({"page": page, "next": page + 1 if page < 4 else 0}).encode())

        do_POST = do_GET  # noqa: N815

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with answering(Api) as port:
        (room / "api.py").write_text(SITE.format(web=f"http://127.0.0.1:{port}"))
        code, _, err = gossamer(room, "crawl", "api.py", "-o", "items.jsonl")
    assert code == 0, err
    rows = [json.loads(line) for line in (room / "items.jsonl").read_text().splitlines()]
    assert sorted(row["page"] for row in rows) == [1, 2, 3, 4]
    assert not [row for row in rows if "nonce" in row["url"] or "nonce" in row["_url"]], (
        "rows have the URL itself"
    )
    assert [good for _, good in seen] == [True] * 5
    assert len({path for path, _ in seen}) == 5, "each request, and each retry, has a nonce of its own"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no key')", "api: @site.before: ValueError: no key"),
        ("request.url = 'http://other.example/'", "is not on http://a.example"),
        ("request.url = ':'", "is not on http://a.example"),
        ("request.headers['X'] = 'a\\nb'", "api: @site.before: "),
    ],
)
def test_an_error_of_the_function_is_a_failure(tmp_path: Path, body: str, reason: str) -> None:
    prepared = prepare(tmp_path, body, Request("http://a.example/"), {})
    assert isinstance(prepared, Failure)
    assert (prepared.final, prepared.sent, prepared.reason) == (True, False, "collector")
    assert reason in prepared.detail


def test_headers_are_added_changed_and_removed(tmp_path: Path) -> None:
    body = "request.headers['a'] = '2'; del request.headers['cookie']; request.headers['C'] = '3'; request.body = 'x'"
    request = Request("http://a.example/", method="POST")
    prepared = prepare(tmp_path, body, request, {"A": "1", "Cookie": "s=1", "D": "4"})
    assert not isinstance(prepared, Failure)
    sent, headers = prepared
    assert headers == {"A": "2", "C": "3", "D": "4"}
    assert (sent.body, sent.method, sent.url) == ("x", "POST", request.url)


def test_a_crawl_without_such_a_function_prepares_nothing(tmp_path: Path) -> None:
    (tmp_path / "api.py").write_text("from gossamer import Site\nsite = Site('api', hosts=['a.example'])\n")
    assert preparer(load(tmp_path / "api.py")) is None


def prepare(folder: Path, body: str, request: Request, headers: dict[str, str]) -> Any:
    (folder / "api.py").write_text(
        "from gossamer import Site\nsite = Site('api', hosts=['a.example'])\n"
        f"@site.before\ndef sign(request):\n    {body}\n"
    )
    call = preparer(load(folder / "api.py"))
    assert call is not None
    return call(request, headers)

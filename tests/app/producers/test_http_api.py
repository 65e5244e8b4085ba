# ruff: noqa: F811 - pytest takes fixtures by their names
"""Tests of `api:URL`: the producer reads URLs from an HTTP API that returns JSON, page by page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cli.command_line import gossamer
from cli.conftest import room  # noqa: F401 - a fixture
from gossamer.app.producers import http_api
from gossamer.app.targets import target_kind
from gossamer.errors import UsageError
from support.answers import answering


class Api(BaseHTTPRequestHandler):
    """Answers requests for `/api...` as `answers` defines, and all other requests with an HTML page."""

    answers: ClassVar[dict[str, Callable[[str], tuple[int, Any, dict[str, str]]]]] = {}
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization")))
        status, headers, data = 200, {"Content-Type": "text/html"}, f"<title>{self.path}</title>".encode()
        if self.path.startswith("/api"):
            answer = self.answers.get(self.path)
            status, body, headers = answer(self.path) if answer else (404, "", {})
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        elif self.path == "/robots.txt":
            status = 404
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def web() -> Iterator[str]:
    Api.answers.clear()
    Api.asked.clear()
    with answering(Api) as port:
        yield f"http://127.0.0.1:{port}"


def serve(path: str, body: Any, status: int = 200, **headers: str) -> None:
    Api.answers[path] = lambda _: (status, body, headers)


def crawled(room: Path, target: str, *more: str) -> tuple[int, set[str], str]:
    """Crawl a target, and return the exit code, the paths of the crawled pages, and the standard error."""
    words = ("--scope", "page", "--delay", "0.01", "-o", "out.jsonl", *more)
    code, _, err = gossamer(room, "crawl", target, *words)
    out = room / "out.jsonl"
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    assert len({row["url"] for row in rows}) == len(rows)
    return code, {"/" + row["url"].split("/", 3)[3] for row in rows}, err


def test_pages_by_a_next_link(room: Path, web: str) -> None:
    serve("/api/urls", {"urls": [f"{web}/a", f"{web}/b"], "next": "/api/urls?page=2"})
    serve("/api/urls?page=2", {"urls": [f"{web}/b", f"{web}/c", "no url", 7], "next": None})
    code, pages, _ = crawled(room, f"api:{web}/api/urls", "--name", "api")
    assert (code, pages) == (0, {"/a", "/b", "/c"})
    rejected = [json.loads(line) for line in (room / ".gossamer/api/rejected.jsonl").read_text().splitlines()]
    assert [(one["source"], one["line"], one["text"]) for one in rejected] == [
        ("api", 5, "no url"),
        ("api", 6, "7"),
    ]


def test_rows_with_fields_a_cursor_and_a_secret(
    room: Path, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (room / "token").write_text("tok-12345678\n")
    rows = [{"link": {"href": f"{web}/{n}"}, "id": n, "colour": "red", "priority": n} for n in range(4)]
    serve("/api?size=2", {"data": {"rows": rows[:2]}, "paging": {"after": "x y"}})
    serve("/api?size=2&cursor=x+y", {"data": {"rows": rows[2:]}, "paging": {"after": ""}})
    target = (
        f"api:{web}/api?size=2 rows=data.rows url=link.href next=paging.after cursor=cursor "
        "header='Authorization: Bearer ${file:token}'"
    )
    code, pages, err = crawled(room, target)
    assert (code, pages) == (0, {"/0", "/1", "/2", "/3"}), err
    secrets = {secret for path, secret in Api.asked if path.startswith("/api")}
    assert secrets == {"Bearer tok-12345678"}
    assert {secret for path, secret in Api.asked if not path.startswith("/api")} == {None}
    kept = b"".join(path.read_bytes() for path in (room / ".gossamer").rglob("*") if path.is_file())
    assert b"tok-12345678" not in kept


def test_link_headers_and_a_list_as_the_response(room: Path, web: str) -> None:
    serve("/api", [{"url": f"{web}/a"}], Link=f'<{web}/api/0>; rel="prev", </api/2>; rel="next"')
    serve("/api/2", [f"{web}/b"])
    assert crawled(room, f"api:{web}/api")[:2] == (0, {"/a", "/b"})


def test_a_failure_continues_at_its_page(room: Path, web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    serve("/api", {"urls": [f"{web}/a"], "next": "/api/2"})
    serve("/api/2", "", 403)
    code, _, err = crawled(room, f"api:{web}/api")
    assert code != 0
    assert f"{web}/api/2 answered 403: when it works again, the same command continues there" in err
    serve("/api/2", {"urls": [f"{web}/b"]})
    Api.asked.clear()
    assert crawled(room, f"api:{web}/api")[:2] == (0, {"/a", "/b"})
    assert [path for path, _ in Api.asked if path.startswith("/api")] == ["/api/2"]


async def test_retries(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_api, "RETRY_WAITS_S", (0.0, 0.0, 0.0))
    answers = iter([(503, ""), (200, b"<html>"), (429, ""), (200, {"urls": [f"{web}/a"]})])
    Api.answers["/api"] = lambda _: (*next(answers), {"Retry-After": "0"})

    from gossamer.collectors.http.collector import HttpCollector
    from gossamer.egress.resolver import Resolver

    collector = HttpCollector(Resolver(allow=["127.0.0.0/8"]), user_agent="test")
    try:
        source = http_api.ApiUrls(f"{web}/api")
        await source.open(collector)
        batches = [batch async for batch in source.batches(None)]
    finally:
        await collector.close()
    assert [request.url for batch in batches for request in batch.requests] == [f"{web}/a"]
    assert batches[-1].position == {"page": f"{web}/api"}


def test_a_response_without_rows_says_what_to_do(room: Path, web: str) -> None:
    serve("/api", {"found": {"pages": [f"{web}/a"]}})
    code, _, err = crawled(room, f"api:{web}/api")
    assert code == 4
    assert "name its place with rows=" in err
    assert crawled(room, f"api:{web}/api rows=found.pages", "--name", "two")[:2] == (0, {"/a"})


def test_watching_adds_what_is_new(room: Path, web: str) -> None:
    serve("/api", {"urls": [f"{web}/a"]})
    rounds = iter(range(100))

    def later(_: str) -> tuple[int, Any, dict[str, str]]:
        return 200, {"urls": [f"{web}/a", f"{web}/b"] if next(rounds) else [f"{web}/a"]}, {}

    Api.answers["/api"] = later
    code, pages, err = crawled(room, f"api:{web}/api", "--watch", "1", "--limit", "2")
    assert (code, pages) == (0, {"/a", "/b"}), err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("api:ftp://x.example/", "not an http"),
        ("api:", "not an http"),
        ("api:https://x.example/ row=a", "did you mean rows="),
        ("api:https://x.example/ rows", "there is no option"),
        ("api:https://x.example/ header=abc", "write header="),
        ("api:https://x.example/ header='Authorization: Bearer abcdef'", "give Authorization as a reference"),
        ("api:https://x.example/ header='Accept: x", "quot"),
    ],
)
def test_wrong_targets(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        http_api.ApiUrls(target_kind(text).text)

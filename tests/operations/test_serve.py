"""Each operation through a real `gossamer serve`: its example, bad input, pages of results, streams, and entity
tags."""

from __future__ import annotations

import json
import re
import socket
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest

from cli.command_line import PAGES, gossamer
from gossamer.operations.operation import Operation
from gossamer.operations.table import BY_NAME, OPERATIONS
from operations.service_process import IN_PATH, Answer, Serving


def call(server: Serving, operation: Operation, given: dict[str, Any], **headers: str) -> Answer:
    """Calls an operation with the fields in their places."""
    fields = dict(given)
    path = operation.path.format(
        **{name: quote(str(fields.pop(name)), safe="") for name in operation.in_path}
    )
    if operation.method == "GET":
        plain = {k: str(v).lower() if isinstance(v, bool) else v for k, v in fields.items()}
        return server.ask("GET", f"{path}?{urlencode(plain, doseq=True)}", **headers)
    return server.ask(operation.method, path, fields, **headers)


def fitted(value: Any, web: str) -> Any:
    """Replaces the hosts of an example by those of the local web."""
    text = json.dumps(value).replace("https://books.toscrape.com", web)
    return json.loads(text.replace("books.toscrape.com", web.removeprefix("http://")))


EXPECTED = {
    "crawl_accept": 422,
    "dead_undo": 409,
    "crawl_changed": 422,
    **dict.fromkeys(("worker_drain", "worker_stop", "crawl_freshness", "run_show", "run_stop"), 404),
    **dict.fromkeys(("webhook_remove", "webhook_dead", "webhook_resend"), 404),
}
"""The statuses of examples that fit nothing here: the run needs no decision, the crawl has no revisits, and there are no such
workers, runs and webhooks."""


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_the_example_runs(server: Serving, web: str, operation: Operation) -> None:
    headers = {"If_Match": "*"} if operation.needs_tag else {}
    answer = call(server, operation, fitted(operation.example, web), **headers)
    assert answer.status == EXPECTED.get(operation.name, operation.status), answer.body
    if operation.media != "application/json":
        assert answer.headers["content-type"] == operation.media
    elif answer.status < 300:
        assert msgspec.json.decode(answer.body, type=operation.result)


def test_the_state_is_that_of_the_command_line(server: Serving) -> None:
    code, out, err = gossamer(server.folder, "status", "books", "--json")
    assert code == 0, err
    ours, theirs = server.ask("GET", "/v1/crawls/books").json, json.loads(out)
    for found in (ours, theirs):
        for volatile in ("now", "weight"):
            found.pop(volatile)
        for host in found["slowest_hosts"]:
            host.pop("next")  # seconds, and other crawls visit the host
    assert ours == theirs


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "slug", "said"),
    [
        ("GET", "/v1/crawls/boooks", None, 404, "unknown-crawl", "books"),
        ("GET", "/v1/crawls/books/pages?limt=3", None, 400, "invalid-request", "did you mean limit?); the fields are:"),
        ("GET", "/v1/crawls/books/pages?limit=0", None, 400, "invalid-request", ">= 1"),
        ("GET", "/v1/crawls/books/pages?where=statsu=200", None, 400, "invalid-request", "did you mean status?"),
        ("GET", "/v1/crawls/books/pages?where=status", None, 400, "invalid-request", "matching regex"),
        ("GET", "/v1/crawls/books/pages?cursor=abc", None, 400, "wrong-cursor", "begin without a cursor"),
        ("GET", "/v1/crawls/books/dead-letters?reason=tmeout", None, 400, "invalid-request", "tmeout"),
        ("GET", "/v1/crawls/books%00", None, 400, "invalid-request", "control"),
        ("GET", "/v1/crawls/..%2f..%2fetc", None, 404, "not-found", "openapi"),
        ("GET", "/v1/nothing", None, 404, "not-found", "openapi"),
        ("GET", "/v1/hosts/no.example", None, 404, "not-found", "no crawl knows the host"),
        ("DELETE", "/v1/crawls/books", None, 405, "method-not-allowed", "GET"),
        ("POST", "/v1/crawls", {"targets": ["https://a.example/"], "ouptut": "x"}, 400, "invalid-request", "ouptut"),
        ("POST", "/v1/crawls", {"targets": ["https://a.example/"], "output": "/etc/x"}, 400, "invalid-request", "fields are"),
        ("POST", "/v1/crawls", {}, 400, "invalid-request", "no target"),
        ("POST", "/v1/crawls", {"targets": ["/etc/passwd"]}, 400, "invalid-request", "match"),
        ("POST", "/v1/crawls", {"targets": ["-"]}, 400, "invalid-request", "match"),
        ("POST", "/v1/crawls", {"targets": ["http://169.254.169.254/"]}, 403, "private-address", "169.254"),
        ("POST", "/v1/crawls", {"targets": ["sitemap:http://[::ffff:10.0.0.1]/"]}, 403, "private-address", "10.0.0.1"),
        ("POST", "/v1/crawls", {"targets": ["http://0xA9FEA9FE/"]}, 403, "private-address", "169.254"),
        ("POST", "/v1/crawls", {"sites": ["../secret"]}, 400, "invalid-request", "match"),
        ("POST", "/v1/crawls", {"sites": ["shp"]}, 400, "invalid-request", "did you mean shop?"),
        ("POST", "/v1/crawls", {"targets": ["http://a.example/"], "name": "../x"}, 400, "invalid-request", "match"),
        ("POST", "/v1/crawls", {"targets": ["http://a.example/"], "include": ["("]}, 400, "invalid-request", "include"),
        ("POST", "/v1/crawls/books/urls", {"urls": ["http://10.0.0.1/"]}, 403, "private-address", "10.0.0.0/8"),
        ("POST", "/v1/crawls/books/urls", {"urls": []}, 400, "invalid-request", ">= 1"),
        ("POST", "/v1/crawls/books/priority", {"priority": 1, "match": "("}, 400, "invalid-request", "regular expression"),
        ("POST", "/v1/scrape", {"url": "http://192.168.0.1/"}, 403, "private-address", "192.168"),
        ("POST", "/v1/scrape", {"url": "file:///etc/passwd"}, 400, "invalid-request", "match"),
        ("PUT", "/v1/hosts/a.example/rate", {"delay": 2}, 428, "no-entity-tag", "If-Match"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(
    server: Serving, method: str, path: str, body: Any, status: int, slug: str, said: str
) -> None:
    answer = server.ask(method, path, body)
    assert (answer.status, answer.json["type"]) == (status, f"/problems/{slug}"), answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.json["detail"] + answer.headers.get("allow", "")
    assert answer.json["request_id"]


def test_a_problem_points_at_the_field(server: Serving) -> None:
    answer = server.ask("POST", "/v1/crawls", {"targets": ["https://a.example/", "http://10.1.2.3/"]})
    assert answer.json["errors"][0]["pointer"] == "/targets/1"
    answer = server.ask("POST", "/v1/crawls", {"targets": ["https://a.example/", 7]})
    assert answer.json["errors"][0]["pointer"].startswith("/targets/")
    assert server.ask("GET", answer.json["type"]).json["status"] == 400


@pytest.mark.parametrize(
    ("raw", "kind", "status", "slug"),
    [
        (b"{targets", "application/json", 400, "not-json"),
        (b"\xff\xfe", "application/json", 400, "not-json"),
        (b"[1]", "application/json", 400, "invalid-request"),
        (b"{}", "text/plain", 415, "not-json-type"),
        (b"[" * 100_000, "application/json", 400, "not-json"),
        (b'{"targets":["' + b"x" * (10 << 20) + b'"]}', "application/json", 413, "too-large"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(
    server: Serving, raw: bytes, kind: str, status: int, slug: str
) -> None:
    try:
        answer = server.ask("POST", "/v1/crawls", raw=raw, Content_Type=kind)
    except (BrokenPipeError, ConnectionResetError):  # the server answered before it read all of it
        assert len(raw) > 1 << 20
        return
    assert (answer.status, answer.json["type"]) == (status, f"/problems/{slug}")


def test_floods_of_headers_and_slow_requests_end(server: Serving) -> None:
    answer = server.ask("GET", "/v1/version", **{f"X_{n}": "x" for n in range(200)})
    assert answer.status == 431
    address = (server.host, server.port)
    with socket.create_connection(address) as long:
        long.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"x" * (1 << 20) + b"\r\n\r\n")
        assert b" 400 " in long.recv(100)
    with socket.create_connection(address) as body, socket.create_connection(address) as head:
        head.sendall(b"GET /v1/version HTTP/1.1\r\nHost: ")
        body.sendall(
            b"POST /v1/crawls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 50\r\n\r\n{"
        )
        assert b" 408 " in body.recv(1000)
        assert head.recv(1000) == b""


def test_pages_of_rows_add_up_and_a_cursor_keeps_its_filters(server: Serving) -> None:
    found, path = [], "/v1/crawls/books/pages?limit=5"
    while path:
        answer = server.ask("GET", path)
        found += [row["url"] for row in answer.json["items"]]
        link = re.match(r"<(.+)>; rel=\"next\"", answer.headers.get("link", ""))
        path = link[1] if link else ""
    assert len(found) == len(set(found)) == PAGES + 1
    cursor = server.ask("GET", "/v1/crawls/books/pages?limit=5").json["next"]
    other = server.ask("GET", f"/v1/crawls/books/pages?limit=5&where=status=200&cursor={cursor}")
    assert (other.status, other.json["type"]) == (400, "/problems/wrong-cursor")
    assert server.ask("GET", f"/v1/crawls/books/pages?limit=9&cursor={cursor}").status == 200


def test_all_rows_are_streamed_as_lines_and_as_csv(server: Serving) -> None:
    lines = server.ask("GET", "/v1/crawls/books/pages?where=depth=1", Accept="application/x-ndjson")
    assert lines.headers["content-type"] == "application/x-ndjson"
    rows = [json.loads(line) for line in lines.body.splitlines()]
    assert {row["depth"] for row in rows} == {1}
    assert len(rows) == PAGES
    table = server.ask("GET", "/v1/crawls/books/pages", Accept="text/csv").body.decode()
    assert table.splitlines()[0].startswith("url,requested_url,status")
    assert len(table.splitlines()) == PAGES + 2
    wrong = server.ask("GET", "/v1/crawls/books/pages?where=nothing=1", Accept="text/csv")
    assert wrong.status == 400


def test_items_of_a_site_file_that_the_server_has(server: Serving) -> None:
    answer = server.ask("POST", "/v1/crawls", {"sites": ["shop"], "name": "shop", "wait": 60})
    assert answer.json["state"] == "finished", answer.body
    assert answer.headers["location"] == "/v1/crawls/shop"
    items = server.ask("GET", "/v1/crawls/shop/items?kind=book&where=n=7").json["items"]
    assert [(one["_key"], one["title"]) for one in items] == [("7", "t/7")]


def test_an_entity_tag_spares_an_answer_and_keeps_changes_apart(server: Serving, web: str) -> None:
    path = f"/v1/hosts/{web.removeprefix('http://')}"
    old = server.ask("GET", path).headers["etag"]
    assert server.ask("PUT", f"{path}/rate", {"delay": 0.5}, If_Match=old).status == 200
    late = server.ask("PUT", f"{path}/rate", {"delay": 9}, If_Match=old)
    assert (late.status, late.json["type"]) == (412, "/problems/changed-meanwhile")
    assert server.ask("GET", path).json["fixed_delay"] == 0.5
    assert server.ask("PUT", f"{path}/rate", {"delay": None}, If_Match="*").status == 200
    tag = server.ask("GET", "/v1/crawls/books").headers["etag"]
    same = server.ask("GET", "/v1/crawls/books", If_None_Match=tag)
    assert (same.status, same.body) in [(304, b""), (200, same.body)]


def test_the_same_request_runs_once(server: Serving, web: str) -> None:
    given = {"targets": [f"{web}/1"], "scope": "page", "wait": 30}
    first = server.ask("POST", "/v1/crawls", given, Idempotency_Key='"k1"')
    again = server.ask("POST", "/v1/crawls", given, Idempotency_Key='"k1"')
    assert again.json == first.json
    assert again.headers["idempotency-replayed"] == "true"
    other = server.ask("POST", "/v1/crawls", {**given, "limit": 1}, Idempotency_Key='"k1"')
    assert (other.status, other.json["type"]) == (422, "/problems/other-request")


def test_a_crawl_that_runs_is_not_started_twice_and_is_steered(server: Serving, web: str) -> None:
    given = {"targets": [f"{web}/"], "name": "slow", "delay": 30}
    assert server.ask("POST", "/v1/crawls", given).status == 202
    twice = server.ask("POST", "/v1/crawls", given)
    assert (twice.status, twice.json["type"]) == (409, "/problems/in-use")
    assert server.ask("POST", "/v1/crawls/slow/pause").json["state"] == "paused"
    assert server.ask("POST", "/v1/crawls/slow/resume").json["state"] == "running"
    assert server.ask("POST", "/v1/crawls/slow/cancel").json["state"] == "cancelled"


def test_methods_of_all_paths_answer(server: Serving) -> None:
    for path in dict.fromkeys(one.path for one in OPERATIONS):
        real = path.format_map(IN_PATH)
        for method in ("OPTIONS", "TRACE", "PATCH"):
            answer = server.ask(method, real)
            assert (answer.status, "allow" in answer.headers) == (405, True), (method, path)


def test_a_port_in_use_and_an_open_address_without_tokens(server: Serving) -> None:
    for words, said in (
        (["--port", str(server.port)], "Address already in use: choose another --port"),
        (["--host", "0.0.0.0"], "make a token with gossamer tokens add"),
        (["--sites", "nowhere"], "there is no such folder"),
    ):
        code, _, err = gossamer(server.folder, "serve", *words)
        assert (code in (2, 4), said in err) == (True, True), err


def test_the_document_is_served(server: Serving) -> None:
    served = server.ask("GET", "/openapi.json").json
    assert served["openapi"] == "3.1.0"
    assert {operation["operationId"] for path in served["paths"].values() for operation in path.values()} == {
        *BY_NAME,
        "events",
    }


def test_nothing_went_wrong_in_the_server(server: Serving) -> None:
    """The last test of the file: no request of the others met a bug."""
    assert server.ask("GET", "/healthz").body == b"ok\n"
    assert "a bug" not in server.said

"""Who may call what: tokens with scopes, prefixes and ends, and callers of this machine without tokens."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest

from cli.command_line import gossamer
from gossamer.operations.context import SCOPES
from gossamer.operations.operation import Operation
from gossamer.operations.table import OPERATIONS
from gossamer.web.access import MAX_FAILURES
from operations.service_process import IN_PATH, Serving, served_folder

FOREIGN = "gsm_00000000_" + "0" * 48
ROUTES = [(one.method, one.path, one.name) for one in OPERATIONS] + [
    ("GET", "/v1/events", "events"),
    ("GET", "/openapi.json", "document"),
    ("GET", "/problems/bug", "problem"),
    ("GET", "/v1/nothing", "nothing"),
    ("PATCH", "/v1/crawls", "no method"),
]


class Tokens:
    """A server with tokens, and the tokens by name."""

    def __init__(self, server: Serving, known: dict[str, str]) -> None:
        self.server, self.known = server, known

    def status(self, name: str, method: str, path: str, body: object = None) -> int:
        token = self.known.get(name, name)
        return self.server.ask(method, path, body, Authorization=f"Bearer {token}").status


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[Tokens]:
    folder = tmp_path_factory.mktemp("guarded")
    made = {scope: token(folder, "--scope", scope) for scope in SCOPES}
    made["red"] = token(folder, "--scope", "admin", "--prefix", "red-")
    made["removed"] = token(folder, "--scope", "admin")
    made["old"] = token(folder, "--scope", "admin", "--expires", "1s")
    with served_folder(folder, "--token-file", "tokens.jsonl") as server:
        for name in ("red-1", "blue-1"):
            given = {"targets": [f"{web}/1"], "scope": "page", "name": name, "wait": 60}
            answer = server.ask("POST", "/v1/crawls", given, Authorization=f"Bearer {made['admin']}")
            assert answer.status == 202, answer.body
        code, _, err = gossamer(folder, "tokens", "remove", made["removed"].split("_")[1])
        assert code == 0, err
        while time.time() < json.loads((folder / "tokens.jsonl").read_text().splitlines()[-1])["expires"]:
            time.sleep(0.05)
        yield Tokens(server, made)


def token(folder: Path, *words: str) -> str:
    code, out, err = gossamer(folder, "tokens", "add", *words)
    assert code == 0, err
    return out.strip()


@pytest.mark.parametrize(("method", "path", "name"), ROUTES, ids=[name for *_, name in ROUTES])
def test_no_route_answers_without_a_valid_token(tokens: Tokens, method: str, path: str, name: str) -> None:
    real = path.format_map({**IN_PATH, "crawl": "red-1"})
    answer = tokens.server.ask(method, real)
    assert (answer.status, answer.json["type"]) == (401, "/problems/unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert tokens.server.ask(method, real, Authorization="Basic eDp4").status in (401, 429)
    for used in ("removed", "old", FOREIGN, "x"):
        assert tokens.status(used, method, real) in (401, 429)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_weaker_scope_is_refused(tokens: Tokens, operation: Operation) -> None:
    real = operation.path.format_map({**IN_PATH, "crawl": "unknown"})
    for scope in SCOPES:
        status = tokens.status(scope, operation.method, real, None if operation.method == "GET" else {})
        enough = SCOPES.index(scope) >= SCOPES.index(operation.scope)
        assert (status != 403) is enough, scope


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_prefix_holds_in_every_operation(tokens: Tokens, operation: Operation) -> None:
    """A crawl of another prefix looks like one that does not exist, also in messages."""
    real = operation.path.format_map({**IN_PATH, "crawl": "blue-1"})
    given = {name: value for name, value in operation.example.items() if name not in operation.in_path}
    body = None if operation.method == "GET" else given
    if operation.method == "GET":
        needed = [field.name for field in msgspec.structs.fields(operation.input) if field.required]
        real += f"?{urlencode({name: given[name] for name in needed if name in given})}"
    answer = tokens.server.ask(operation.method, real, body, Authorization=f"Bearer {tokens.known['red']}")
    if operation.reach == "crawl":
        assert (answer.status, answer.json["type"]) == (404, "/problems/unknown-crawl"), answer.body
    elif operation.reach == "store":
        assert answer.status == 403
    if operation.name == "crawl_start":
        assert (answer.status, answer.json["errors"][0]["pointer"]) == (400, "/name")
    assert b"blue-1" not in answer.body.replace(b"'blue-1'", b"")


def test_lists_and_exports_of_a_prefix(tokens: Tokens) -> None:
    head = {"Authorization": f"Bearer {tokens.known['red']}"}
    assert [one["crawl"] for one in tokens.server.ask("GET", "/v1/crawls", **head).json["items"]] == ["red-1"]
    rows = tokens.server.ask("GET", "/v1/crawls/red-1/pages", Accept="application/x-ndjson", **head)
    assert json.loads(rows.body)["status"] == 200
    rows = tokens.server.ask("GET", "/v1/crawls/blue-1/pages", Accept="application/x-ndjson", **head)
    assert rows.status == 404


def test_the_file_of_tokens_contains_no_token(tokens: Tokens) -> None:
    path = tokens.server.folder / "tokens.jsonl"
    text = path.read_text()
    assert not [name for name, one in tokens.known.items() if one in text or one.split("_")[2] in text]
    assert path.stat().st_mode & 0o777 == 0o600
    code, out, _ = gossamer(tokens.server.folder, "tokens", "list", "--json")
    assert (code, {one["scope"] for one in json.loads(out)}) == (0, set(SCOPES))


def test_guessing_is_refused_and_valid_tokens_are_still_accepted(tokens: Tokens) -> None:
    head = {"Authorization": f"Bearer {FOREIGN}"}
    answers = [tokens.server.ask("GET", "/v1/version", **head) for _ in range(MAX_FAILURES + 2)]
    assert (answers[-1].status, answers[-1].headers["retry-after"].isdecimal()) == (429, True)
    assert tokens.status("read", "GET", "/v1/version") == 200


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (None, 0o600, "make it with gossamer tokens add"),
        ("{}", 0o600, "is not a file of tokens"),
        ('{"id":"a","sha256":"b","scope":"root"}', 0o600, "the scopes are read, run, admin"),
        ('{"id":"a","sha256":"b"}', 0o640, "other users may read it: chmod 600"),
    ],
)
def test_a_file_of_tokens_that_cannot_be_used(tmp_path: Path, text: str | None, mode: int, said: str) -> None:
    if text is not None:
        (tmp_path / "t.jsonl").write_text(text)
        (tmp_path / "t.jsonl").chmod(mode)
    code, _, err = gossamer(tmp_path, "serve", "--token-file", "t.jsonl", "--port", "0")
    assert (code, said in err) == (4, True), err


def test_without_tokens_web_pages_of_this_machines_browser_are_refused(tmp_path: Path) -> None:
    with served_folder(tmp_path) as server:
        rebound = server.ask("GET", "/v1/crawls", Host=f"evil.example:{server.port}")
        assert (rebound.status, rebound.json["type"]) == (400, "/problems/wrong-host")
        foreign = server.ask("POST", "/v1/crawls/x/stop", Origin="http://evil.example")
        assert (foreign.status, foreign.json["type"]) == (403, "/problems/forbidden")
        assert server.ask("GET", "/v1/crawls", Host=f"localhost:{server.port}").status == 200

"""The log of actions: who changed what by the API, the dashboard and commands, without secrets, and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import gossamer
from cli.command_line import gossamer as command
from cli.test_json import leaves
from gossamer.cli.recorded_action import CHANGING
from gossamer.operations.table import OPERATIONS
from gossamer.state.action_log import MAX_ACTIONS, MAX_ENTRIES, ActionLog, action_of
from gossamer.store.store import Store
from operations.conftest import web
from operations.service_process import Serving, served_folder
from operations.test_access import token
from operations.test_dashboard import SENT, words
from support.frontiers import any_url, cluster_url, key_checks, store, whole_cluster

__all__ = ["any_url", "cluster_url", "key_checks", "store", "web", "whole_cluster"]


class Known:
    """A server with tokens, and the tokens by name."""

    def __init__(self, server: Serving, tokens: dict[str, str]) -> None:
        self.server, self.tokens = server, tokens

    def ask(self, name: str, method: str, path: str, body: Any = None) -> Any:
        return self.server.ask(method, path, body, Authorization=f"Bearer {self.tokens[name]}")

    def actions(self, name: str = "ops", query: str = "") -> list[dict[str, Any]]:
        answer = self.ask(name, "GET", f"/v1/actions{query}")
        assert answer.status == 200, answer.body
        found: list[dict[str, Any]] = answer.json["items"]
        return found


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[Known]:
    folder = tmp_path_factory.mktemp("acted")
    tokens = {
        "ops": token(folder, "--scope", "admin", "--name", "ops"),
        "bare": token(folder, "--scope", "admin"),
        "reader": token(folder, "--name", "reader"),
        "red": token(folder, "--scope", "admin", "--prefix", "red-", "--name", "red"),
    }
    with served_folder(folder, "--token-file", "tokens.jsonl") as server:
        one = Known(server, tokens)
        for name in ("red-1", "blue-1"):
            given = {"targets": [f"{web}/1"], "scope": "page", "name": name, "wait": 60}
            assert one.ask("ops", "POST", "/v1/crawls", given).status == 202
        yield one


def test_an_action_names_the_token_the_operation_the_input_and_the_outcome(known: Known, web: str) -> None:
    answer = known.ask("ops", "POST", "/v1/crawls/red-1/urls", {"urls": [f"{web}/2"], "priority": 7})
    assert answer.status == 200, answer.body
    last = known.actions()[0]
    assert last["at"].endswith("Z")
    assert {name: last[name] for name in ("who", "by", "operation", "outcome", "crawl", "given")} == {
        "who": "ops",
        "by": "api",
        "operation": "crawl_add",
        "outcome": "done",
        "crawl": "red-1",
        "given": {"urls": [f"{web}/2"], "priority": 7},
    }
    assert last["token"] == known.tokens["ops"].split("_")[1]
    known.ask("bare", "POST", "/v1/crawls/red-1/urls", {"urls": [f"{web}/2"]})
    assert known.actions()[0]["who"] == known.tokens["bare"].split("_")[1], "without a name, its id"


def test_refused_and_failed_actions_are_recorded_and_reads_are_not(known: Known) -> None:
    assert known.ask("reader", "POST", "/v1/crawls/red-1/pause").status == 403
    assert known.ask("ops", "POST", "/v1/crawls/none/pause").status == 404
    before = known.actions()
    assert [(one["who"], one["operation"], one["outcome"], one["crawl"]) for one in before[1::-1]] == [
        ("reader", "crawl_pause", "forbidden", "red-1"),
        ("ops", "crawl_pause", "unknown-crawl", "none"),
    ]
    assert "needs the scope run" in before[1]["detail"]
    assert known.ask("reader", "GET", "/v1/crawls").status == 200
    dry = known.ask("ops", "POST", "/v1/crawls/red-1/dead-letters/drop", {"dry_run": True})
    assert dry.status == 200
    assert known.actions() == before


def test_secrets_are_hidden(known: Known) -> None:
    hook = {"url": "https://hooks.example/?api_key=hush", "secret": f"whsec_{'hush' * 8}"}
    answer = known.ask("ops", "POST", "/v1/webhooks", hook)
    last = known.actions()[0]
    assert last["operation"] == "webhook_add", answer.body
    assert "hush" not in json.dumps(last)


def test_a_prefix_sees_the_actions_on_its_crawls_only(known: Known, web: str) -> None:
    for name in ("red-1", "blue-1"):
        known.ask("ops", "POST", f"/v1/crawls/{name}/urls", {"urls": [f"{web}/3"]})
    known.ask("ops", "PUT", "/v1/rates/fleet", {"rate": 100})
    assert {one["crawl"] for one in known.actions("red")} <= {"red-1"}
    assert known.actions("red")
    assert known.ask("reader", "GET", "/v1/actions").status == 403


def test_the_list_is_filtered_and_paged(known: Known, web: str) -> None:
    for n in range(3):
        known.ask("ops", "POST", "/v1/crawls/blue-1/urls", {"urls": [f"{web}/{n}"]})
    query = "?crawl=blue-1&operation=crawl_add&who=ops"
    every = known.actions("ops", query)
    first = known.ask("ops", "GET", f"/v1/actions{query}&limit=2").json
    rest = known.ask("ops", "GET", f"/v1/actions{query}&limit=1000&cursor={first['next']}").json
    assert first["items"] + rest["items"] == every
    assert len(every) >= 3
    client = gossamer.Client(known.server.url, known.tokens["ops"])
    assert [one.given for one in client.actions(crawl="blue-1", operation="crawl_add", who="ops")] == [
        one["given"] for one in every
    ]


def test_the_dashboard_records_and_shows_them(known: Known) -> None:
    cookie = f"gossamer_token={known.tokens['ops']}"
    sent = known.server.ask("POST", "/crawls/red-1/weight", raw=b"weight=3", **SENT, Cookie=cookie)
    assert sent.status == 303, sent.body
    last = known.actions()[0]
    assert (last["by"], last["operation"], last["given"]) == ("dashboard", "crawl_weight", {"weight": 3})
    page = words(known.server.ask("GET", "/actions?operation=crawl_weight", Cookie=cookie))
    assert "crawl_weight" in page
    assert "gossamer actions --operation crawl_weight" in page


def test_commands_are_recorded_with_their_user(known: Known, web: str) -> None:
    folder = known.server.folder
    assert command(folder, "add", "red-1", f"{web}/4", "--as-seeds")[0] == 0
    assert command(folder, "priority", "red-1", "9", "--dry-run")[0] == 0
    assert command(folder, "status", "red-1")[0] == 0
    assert command(folder, "dead", "undo", "red-1")[0] == 2
    code, out, err = command(folder, "actions", "--crawl", "red-1", "--json")
    assert code == 0, err
    undone, added = (json.loads(line) for line in out.splitlines()[:2])
    assert (added["operation"], added["by"], added["given"]) == (
        "add",
        "command",
        {"urls": [f"{web}/4"], "as_seeds": True},
    )
    assert "@" in added["who"]
    assert (undone["operation"], undone["outcome"]) == ("dead undo", "failed")
    assert "no change of dead letters" in undone["detail"]
    code, out, _ = command(folder, "actions", "--who", "ops", "--limit", "1")
    assert (code, "crawl_" in out) == (0, True)
    assert "no action matches" in command(folder, "actions", "--who", "nobody")[2]


def test_a_webhook_that_a_command_adds_is_recorded(known: Known) -> None:
    code, _, err = command(known.server.folder, "webhooks", "add", "https://hooks.example/x")
    assert code == 0, err
    latest = known.actions()[0]
    assert (latest["by"], latest["operation"], latest["outcome"]) == ("command", "webhooks add", "done")


def test_the_recorded_commands_are_those_of_operations_that_change() -> None:
    changing = {one.command for one in OPERATIONS if one.changes and one.command}
    uses = {name for name in changing if name.split()[0] in ("prices", "ranks", "keywords", "audit")}
    assert changing - uses - {"crawl", "try"} == CHANGING
    assert {name for name, _ in leaves()} >= CHANGING


async def test_the_log_is_bounded_and_long_inputs_are_cut_off(store: Store) -> None:
    log = ActionLog(store)
    long = action_of(who="w", by="api", operation="o", given={"urls": ["x" * 9999] * 9999})
    assert len(long.given["urls"]) == MAX_ENTRIES + 1
    assert len(json.dumps(long.given)) < 20_000
    pipe = store.client.pipeline()
    small = action_of(who="w", by="api", operation="o", given={})
    for _ in range(3):
        await log.add(small)
    assert [one for _, one in await log.before("", 10)] == [small] * 3
    from gossamer.store import keys

    for _ in range(MAX_ACTIONS + 500):
        pipe.xadd(keys.ACTIONS, {"a": b"{}"}, maxlen=MAX_ACTIONS * 2)
    await pipe.execute()
    await log.add(small)
    assert await store.client.xlen(keys.ACTIONS) < MAX_ACTIONS + 200

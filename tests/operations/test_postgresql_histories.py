"""Histories in PostgreSQL through `gossamer serve`: the operator names them, and callers see the rows of the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from cli.command_line import gossamer as command
from operations.service_process import Serving, served_folder
from operations.stored_uses import fill_prices, fill_ranks
from support.postgres import Postgres, running_postgres


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def named(database: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    fill_prices(database.url)
    fill_ranks(database.url)
    folder = tmp_path_factory.mktemp("named")
    names(folder, {"prices-eu": database.url, "ranks-eu": database.url})
    with served_folder(folder) as server:
        yield server


def names(folder: Path, histories: dict[str, str]) -> None:
    """Writes the setting `histories`."""
    listed = [f"{name}={url}" for name, url in histories.items()]
    (folder / "gossamer.toml").write_text(f"histories = {json.dumps(listed)}\n")


def test_rows_are_those_of_the_commands(named: Serving, database: Postgres) -> None:
    for path, words in (
        ("prices/moves?history=prices-eu&days=30", ["prices", "moves", "--days", "30"]),
        ("prices/shops?history=prices-eu", ["prices", "shops"]),
        ("ranks/positions?history=ranks-eu&days=1", ["ranks", "positions", "--days", "1"]),
    ):
        code, out, err = command(named.folder, *words, "--history", database.url, "--json")
        assert code == 0, err
        answer = named.ask("GET", f"/v1/{path}")
        assert answer.status == 200, answer.body
        assert answer.json["items"] == [json.loads(line) for line in out.splitlines()]


def test_a_run_writes_to_a_named_history(named: Serving, web: str) -> None:
    client = gossamer.Client(named.url)
    before = len(list(client.price_shops(history="prices-eu")))
    started = client.price_run(urls=[f"{web}/1"], history="prices-eu", delay=0.01)
    done = client.wait_run(started.run, 120)
    assert (done.state, done.exit_code) == ("finished", 0), done
    assert len(list(client.price_shops(history="prices-eu"))) == before + 1
    assert not list(Path(named.folder).glob("*.db"))


def test_wrong_names_and_settings_are_refused(named: Serving, tmp_path: Path, database: Postgres) -> None:
    client = gossamer.Client(named.url)
    with pytest.raises(gossamer.errors.UnknownName, match="prices-eu"):
        next(client.price_moves(history="prices-ue"))
    code, _, err = command(tmp_path, "serve", "-s", "histories=prices-eu")
    assert (code, "must be NAME=postgresql://" in err) == (4, True), err
    port = database.url.rpartition(":")[2]
    away = database.url.replace(port, "1/none")
    names(tmp_path, {"a": away, "b": "postgresql://u:${env:NONE_SUCH}@h/d"})
    with served_folder(tmp_path) as server:
        for name, said in (("a", "PostgreSQL"), ("b", "the environment has no NONE_SUCH")):
            answer = server.ask("GET", f"/v1/prices/moves?history={name}")
            assert (answer.status, said in answer.json["detail"]) == (422, True), answer.body


def test_a_token_with_a_prefix_sees_only_its_histories(database: Postgres, tmp_path: Path) -> None:
    tokens = {}
    for prefix in ("prices-", "other-"):
        code, out, err = command(tmp_path, "tokens", "add", "--prefix", prefix)
        assert code == 0, err
        tokens[prefix] = {"Authorization": f"Bearer {out.strip()}"}
    words = ["--token-file", "tokens.jsonl", "-s", f"histories=prices-eu={database.url}"]
    with served_folder(tmp_path, *words) as server:
        path = "/v1/prices/shops?history=prices-eu"
        assert server.ask("GET", path, **tokens["prices-"]).status == 200
        answer = server.ask("GET", path, **tokens["other-"])
        assert (answer.status, "prices-eu" in answer.json["detail"].partition("there")[2]) == (404, False)

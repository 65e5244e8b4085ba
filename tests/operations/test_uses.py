"""Prices, ranks, keywords, audits and texts through `gossamer serve`: the rows are those of the commands, lists have
cursors, and runs are processes of their own."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

import gossamer
from cli.command_line import gossamer as command
from operations.service_process import Serving, served_folder
from operations.stored_uses import fill_prices


def rows_of(server: Serving, path: str) -> list[Any]:
    """Returns all rows of a list, page by page."""
    found: list[Any] = []
    after = ""
    while True:
        answer = server.ask("GET", path + (f"&cursor={after}" if after else ""))
        assert answer.status == 200, answer.body
        found += answer.json["items"]
        if (after := answer.json["next"]) is None:
            return found


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("prices/moves?days=30", ["prices", "moves"]),
        ("prices/market?x", ["prices", "market"]),
        ("prices/market?product=k", ["prices", "market", "k"]),
        ("prices/stale?days=2", ["prices", "stale"]),
        ("prices/failing?runs=2", ["prices", "failing", "--runs", "2"]),
        ("prices/shops?x", ["prices", "shops"]),
        ("ranks/positions?days=1", ["ranks", "positions", "--days", "1"]),
        ("ranks/positions?moves=true&tag=kitchen", ["ranks", "positions", "--moves", "--tag", "kitchen"]),
        ("ranks/history?keyword=kettle", ["ranks", "history", "kettle"]),
        ("ranks/competitors?x", ["ranks", "competitors"]),
        ("ranks/competitors?side_by_side=true", ["ranks", "competitors", "--side-by-side"]),
        ("ranks/features?x", ["ranks", "features"]),
        ("ranks/volatility?x", ["ranks", "volatility"]),
        ("ranks/competing?x", ["ranks", "competing"]),
        ("ranks/failing?x", ["ranks", "failing"]),
        ("keywords/terms?site=a.example", ["keywords", "discover", "--site", "a.example"]),
        ("keywords/pages?keyword=kettle", ["keywords", "pages", "kettle"]),
        ("keywords/gaps?mine=a.example&theirs=b.example", ["keywords", "gaps", "a.example", "b.example"]),
        ("keywords/overlap?x", ["keywords", "overlap"]),
        ("keywords/cannibals?x", ["keywords", "cannibals"]),
        ("keywords/trend?keyword=pot", ["keywords", "trend", "pot"]),
        ("keywords?x", ["keywords", "runs"]),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_rows_are_those_of_the_command(server: Serving, path: str, words: list[str]) -> None:
    code, out, err = command(server.folder, *words, "--json")
    assert code == 0, err
    expected = [json.loads(line) for line in out.splitlines()]
    path = path.replace("?x", "?limit=1") if "?x" in path else f"{path}&limit=1"
    found = rows_of(server, f"/v1/{path}")
    assert found == expected
    assert found or path.startswith(
        ("prices/stale", "ranks/features", "ranks/competing", "keywords/cannibals")
    )


def test_the_history_of_one_target_and_its_changes(server: Serving) -> None:
    series = rows_of(server, "/v1/prices/series?target=kettle")
    assert [(one["price"], one["state"]) for one in series] == [("100", "priced"), ("80", "priced")]
    events = rows_of(server, "/v1/prices/events?kind=price&target=kettle&limit=1")
    assert [(one["before"], one["after"], one["currency"]) for one in events] == [("100", "80", "EUR")]
    assert rows_of(server, "/v1/prices/events?kind=price&since=1s") == []
    current = rows_of(server, "/v1/prices/current?tag=kitchen")
    assert [(one["target"], one["price"]) for one in current] == [("kettle", "80")]
    ranks = rows_of(server, "/v1/ranks/events?kind=rank")
    assert [(one["before"], one["after"]) for one in ranks] == [("5", "4"), ("4", "2")]
    totals = rows_of(server, "/v1/keywords/totals?limit=1")
    assert [(one["keyword"], one["count"]) for one in totals] == [("pot", 3), ("kettle", 3)]


def test_the_last_audit_and_its_findings(server: Serving) -> None:
    code, out, err = command(server.folder, "audit", ".gossamer/audits/a.example.db", "--json")
    assert code == 0, err
    theirs, ours = json.loads(out), server.ask("GET", "/v1/audits/a.example").json
    assert {name: ours[name] for name in ("url", "pages", "errors", "checks")} == {
        name: theirs[name] for name in ("url", "pages", "errors", "checks")
    }
    findings = rows_of(server, "/v1/audits/a.example/findings?limit=7")
    assert len(findings) == sum(one["count"] for one in theirs["checks"])
    worst = rows_of(server, "/v1/audits/a.example/findings?severity=notice")
    assert {one["severity"] for one in worst} == {"notice"}
    (listed,) = [one for one in server.ask("GET", "/v1/audits").json["items"] if one["audit"] == "a.example"]
    assert (listed["audits"], listed["errors"]) == (1, theirs["errors"])
    assert len(server.ask("GET", "/v1/audit-checks").json["items"]) > 50


def test_texts_are_found_and_the_answer_is_that_of_the_command(server: Serving) -> None:
    ours = server.ask("GET", "/v1/find?query=title:t&crawl=books&limit=3").json
    code, out, err = command(server.folder, "find", "title:t", "--crawl", "books", "--limit", "3", "--json")
    assert code == 0, err
    theirs = json.loads(out)
    assert ours["total"] == theirs["total"] > 3
    assert ours["results"] == theirs["results"]
    second = server.ask("GET", "/v1/find?query=title:t&crawl=books&limit=3&page=2").json
    assert second["results"][0] not in ours["results"]


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/prices/moves?history=prces", 404, "did you mean prices?"),
        ("/v1/prices/moves?history=ranks", 404, "no price history is named 'ranks'"),
        ("/v1/prices/moves?history=..%2fprices", 400, "matching regex"),
        ("/v1/prices/moves?shop=shop.exmple", 404, "did you mean shop.example?"),
        ("/v1/prices/series?target=kettel", 404, "did you mean kettle?"),
        ("/v1/prices/market?product=kk", 404, "no product is named"),
        ("/v1/prices/events?kind=prise", 404, "did you mean price?"),
        ("/v1/prices/failing?state=lost", 400, "lost"),
        ("/v1/ranks/history?keyword=ketle", 404, "did you mean kettle?"),
        ("/v1/ranks/positions?domain=own.exampel", 404, "did you mean own.example?"),
        ("/v1/ranks/positions?domain=%2f%2f", 400, "not a domain"),
        ("/v1/keywords/totals?folder=keyword", 404, "did you mean keywords?"),
        ("/v1/keywords/totals?run=20260103-000000", 404, "did you mean 20260102-000000?"),
        ("/v1/keywords/pages?keyword=ketle", 404, "was not counted"),
        ("/v1/keywords/terms?site=c.example", 404, "there are a.example"),
        ("/v1/audits/a.exampel", 404, "did you mean a.example?"),
        ("/v1/audits/a.example/findings?check=titel-missing", 404, "did you mean"),
        ("/v1/runs/prices-1", 404, "no run is named"),
        ("/v1/find?query=x&crawl=boooks", 404, "did you mean books?"),
        ("/v1/schedules/nigtly/runs", 404, "no schedule is named"),
        ("/v1/explain?url=http://x.example/&crawl=boks", 404, "did you mean books?"),
        ("/v1/explain?url=%20", 400, "is not a URL"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(
    server: Serving, path: str, status: int, said: str
) -> None:
    answer = server.ask("GET", path)
    assert (answer.status, said in answer.json["detail"]) == (status, True), answer.body


def test_a_cursor_belongs_to_its_filters(server: Serving) -> None:
    cursor = server.ask("GET", "/v1/keywords/totals?limit=1").json["next"]
    other = server.ask("GET", f"/v1/keywords/totals?limit=1&site=a.example&cursor={cursor}")
    assert (other.status, other.json["type"]) == (400, "/problems/wrong-cursor")


def test_no_file_is_made_or_changed_by_reading(server: Serving) -> None:
    (server.folder / "other.db").write_bytes(b"")
    assert server.ask("GET", "/v1/prices/moves?history=other").status == 404
    assert server.ask("GET", "/v1/prices/moves?history=missing").status == 404
    assert (server.folder / "other.db").read_bytes() == b""
    assert not (server.folder / "missing.db").exists()


def test_a_price_run_through_the_client(server: Serving) -> None:
    client = gossamer.Client(server.url)
    started = client.price_run(lists=["targets.csv"], history="fresh", delay=0.1)
    done = client.wait_run(started.run, timeout=120)
    assert (done.state, done.exit_code, done.use) == ("finished", 0, "prices"), done
    assert done.summary is not None
    assert done.summary["pages"] == 1
    assert "events" not in done.summary
    assert [one.run for one in client.runs(use="prices") if one.run == done.run] == [done.run]
    assert [one["target"] for one in client.price_failing(history="fresh")] == ["one"]
    (stored,) = client.price_shops(history="fresh")
    assert stored["shop"] == server.ask("GET", "/v1/prices/shops?history=fresh").json["items"][0]["shop"]


@pytest.mark.parametrize(
    ("path", "body", "pointer", "said"),
    [
        ("prices/runs", {}, "/lists", "no target"),
        ("prices/runs", {"lists": ["target.csv"]}, "/lists/0", "did you mean targets.csv?"),
        ("prices/runs", {"lists": ["../targets.csv"]}, "/lists/0", "matching regex"),
        ("prices/runs", {"urls": ["http://10.0.0.1/"]}, "/urls/0", "10.0.0.0/8"),
        ("ranks/runs", {"lists": []}, "/lists", ">= 1"),
        ("keywords/runs", {"keywords": ["targets.csv"]}, "/keywords/0", "names a file"),
        ("keywords/runs", {"urls": ["http://192.168.1.1/"]}, "/urls/0", "192.168"),
        ("audits", {"url": "http://169.254.169.254/"}, "/url", "169.254"),
        ("audits", {"url": "http://a.example/", "audit": "../x"}, "/audit", "matching regex"),
        ("map", {"url": "http://127.1.2.3:1/", "scope": "any"}, "/scope", "any"),
        ("map", {"url": "http://10.1.2.3/"}, "/url", "10.0.0.0/8"),
    ],
)
def test_a_run_that_names_what_it_may_not_is_refused(
    server: Serving, path: str, body: Any, pointer: str, said: str
) -> None:
    answer = server.ask("POST", f"/v1/{path}", body)
    assert answer.status in (400, 403), answer.body
    assert (answer.json["errors"][0]["pointer"], said in answer.json["detail"]) == (pointer, True), (
        answer.body
    )


def test_the_same_request_starts_one_run_and_a_run_is_stopped(server: Serving, web: str) -> None:
    given = {"url": f"{web}/", "audit": "slow", "delay": 5, "external": 0}
    first = server.ask("POST", "/v1/audits", given, Idempotency_Key='"a1"').json
    again = server.ask("POST", "/v1/audits", given, Idempotency_Key='"a1"').json
    assert (first["run"], first["state"]) == (again["run"], "running")
    time.sleep(2)  # the command has begun
    server.ask("POST", f"/v1/runs/{first['run']}/stop")
    done = server.ask("GET", f"/v1/runs/{first['run']}?wait=30").json
    assert (done["state"], done["exit_code"]) == ("stopped", 11), done
    assert server.ask("POST", f"/v1/runs/{first['run']}/stop").json["state"] == "stopped"


def test_a_run_survives_the_server_and_a_killed_run_says_so(tmp_path: Path, web: str) -> None:
    fill_prices(tmp_path / "prices.db")
    given = {"url": f"{web}/", "audit": "slow", "delay": 3, "external": 0}
    with served_folder(tmp_path) as server:
        run = server.ask("POST", "/v1/audits", given).json["run"]
        server.kill()
        record = json.loads((tmp_path / ".gossamer/.serve/runs" / run / "run.json").read_text())
        with served_folder(tmp_path) as other:
            alive = other.ask("GET", f"/v1/runs/{run}").json
            assert alive["state"] == "running", alive
            os.kill(record["pid"], signal.SIGKILL)
            done = other.ask("GET", f"/v1/runs/{run}?wait=10").json
            assert (done["state"], done["exit_code"], done["meaning"]) == ("failed", None, "it was killed")


def test_the_uses_found_no_bug(server: Serving) -> None:
    """The last test of the file: no request of the others met a bug."""
    assert "a bug" not in server.said


def test_the_folders_of_old_runs_are_removed(tmp_path: Path, web: str) -> None:
    """Those of the last 24 hours stay, because a repeated request must find its run."""
    with served_folder(tmp_path, "-s", "keep_runs=2") as server:
        client = gossamer.Client(server.url)
        runs = tmp_path / ".gossamer" / ".serve" / "runs"

        def run() -> str:
            started = client.price_run(urls=[f"{web}/1"], delay=0.01)
            return client.wait_run(started.run, 120).run

        names = [run() for _ in range(4)]
        assert {path.name for path in runs.iterdir()} == set(names)
        for days, name in enumerate(names[::-1], 2):
            then = time.time() - days * 86_400
            os.utime(runs / name, (then, then))
        last = run()
        assert {path.name for path in runs.iterdir()} == {*names[2:], last}
        assert {one.run for one in client.runs()} == {*names[2:], last}

"""Whole rank runs through the command line, against local servers that answer as each provider documents:
positions, budgets, keys, interruptions, and empty responses that are billed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin, gossamer
from support.search_providers import KEY, LOGIN, SearchProvider, serving

pytestmark = pytest.mark.timeout(120)
LIST = """keyword,domain,competitors,country,language,volume
espresso machine,site-3.example,site-1.example,us,en,1000
"quoted ""burr grinder"" -site:x.example",www.site-14.example,,us,en,
tea + milk 100%,site-25.example,,us,en,200
nobody ranks,site-99.example,,de,de,
"""
PROVIDERS = ("serpapi", "searchapi", "serper", "dataforseo", "zyte")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_KEY", KEY)
    monkeypatch.setenv("SEARCH_LOGIN", LOGIN)


def words(provider: SearchProvider, *more: str, verb: str = "run") -> list[str]:
    """Returns the arguments of a run with a local provider."""
    options = f"endpoint={provider.url}&timeout=5"
    name = "SEARCH_LOGIN" if provider.name == "dataforseo" else "SEARCH_KEY"
    shared = ["-s", f"unlocker_key=${{env:{name}}}", "-s", "allow_private=127.0.0.0/8"]
    return ["ranks", verb, "k.csv", "--provider", f"{provider.name}?{options}", *shared, *more]


def run(folder: Path, provider: SearchProvider, *more: str) -> dict[str, Any]:
    code, out, err = gossamer(folder, *words(provider, "--json", "-q", *more))
    assert code == 0, err
    return json.loads(out)


def positions(folder: Path) -> dict[str, Any]:
    rows = sqlite3.connect(folder / "ranks.db").execute(
        "SELECT s.keyword, p.position, p.depth FROM rank_positions p JOIN rank_searches s ON s.id = p.search JOIN "
        "rank_domains d ON d.search = p.search AND d.domain = p.domain AND d.own = 1 ORDER BY p.run"
    )
    return {keyword: place if place is not None else f">{depth}" for keyword, place, depth in rows}


DUE = {
    "espresso machine": 3,
    'quoted "burr grinder" -site:x.example': 14,
    "tea + milk 100%": 25,
    "nobody ranks": ">30",
}


@pytest.mark.parametrize("name", PROVIDERS)
def test_positions_are_those_of_the_provider(tmp_path: Path, name: str) -> None:
    (tmp_path / "k.csv").write_text(LIST)
    with serving(SearchProvider(name)) as provider:
        done = run(tmp_path, provider, "--first", "30")
        assert positions(tmp_path) == DUE
        asked = {one for one, _ in provider.calls}
        again = run(tmp_path, provider, "--first", "30")
    assert asked == set(DUE)  # quotes, operators, + and % arrive unchanged
    assert (done["done"], done["failed"], done["paid_empty"]) == (4, 0, 0)
    assert again["changes"] == []
    if name == "dataforseo":  # it bills all pages up to the requested one
        assert done["credits"] == sum(page for _, page in provider.calls[: done["pages"]])
    else:
        assert (done["pages"], done["credits"]) == (9, 9)
        assert again["pages"] == 6  # starting with the page of the last position


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_key_is_shown_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "k.csv").write_text(LIST)
    with serving(SearchProvider(name)) as provider:
        code, out, err = gossamer(tmp_path, *words(provider))
        assert code == 0, err
        provider.errors = [(401, {"error": f"Invalid API key {KEY}"})]
        refused, more_out, more_err = gossamer(tmp_path, *words(provider))
    assert refused == 4
    assert "see the settings unlocker and unlocker_key" in more_err
    assert KEY not in out + err + more_out + more_err
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 3
    assert [str(file) for file in files if KEY.encode() in file.read_bytes()] == []


def test_searches_that_were_checked_within_the_time_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(LIST)
    age = ("--first", "30", "--if-older", "24h")
    with serving(SearchProvider("serper")) as provider:
        first = run(tmp_path, provider, *age)
        assert (first["done"], first["recent"]) == (4, 0)
        provider.calls.clear()
        second = run(tmp_path, provider, *age)
        assert (second["state"], second["recent"], second["searches"], second["changes"]) == (
            "finished",
            4,
            0,
            [],
        )
        assert (provider.calls, _rows(tmp_path, "rank_checks")) == ([], 4)
        with sqlite3.connect(tmp_path / "ranks.db") as base:
            base.execute(
                "UPDATE rank_checks SET time = time - 90000 WHERE search = (SELECT id FROM rank_searches "
                "WHERE keyword = 'espresso machine')"
            )
            base.execute(
                "UPDATE rank_checks SET state = 'failed' WHERE search = (SELECT id FROM rank_searches "
                "WHERE keyword = 'nobody ranks')"
            )
        (tmp_path / "k.csv").write_text(
            f"{LIST}a new one,site-5.example,,us,en,\ntea + milk 100%,other.example,,us,en,\n"
        )
        third = run(tmp_path, provider, *age)
        asked = {keyword for keyword, _ in provider.calls}
        assert asked == {"espresso machine", "nobody ranks", "a new one", "tea + milk 100%"}
        assert (third["recent"], third["searches"], third["done"]) == (1, 4, 4)
        provider.calls.clear()
        deeper = run(tmp_path, provider, "--first", "40", "--if-older", "24h")
        assert (deeper["recent"], deeper["searches"]) == (0, 5)


def test_a_budget_is_never_passed_also_across_restarts(tmp_path: Path) -> None:
    lines = "".join(f"keyword {n},site-99.example\n" for n in range(12))
    (tmp_path / "k.csv").write_text(f"keyword,domain\n{lines}")
    with serving(SearchProvider("serper")) as provider:
        first = run(tmp_path, provider, "--budget", "15")
        assert (first["state"], first["credits"], len(provider.calls)) == ("limited", 15, 15)
        second = run(tmp_path, provider, "--budget", "15")
        assert (second["credits"], second["skipped"], len(provider.calls)) == (0, 12, 15)
        third = run(tmp_path, provider, "--budget", "20")
        assert len(provider.calls) == 20
        assert third["credits"] == 5
        code, out, _ = gossamer(tmp_path, *words(provider, "--json", "--budget", "20", verb="plan"))
    assert code == 3  # no budget is left
    assert json.loads(out)["left"] == 0


def test_a_killed_run_resumes_and_pays_for_no_recorded_page_twice(tmp_path: Path) -> None:
    lines = "".join(f"keyword {n},site-12.example\n" for n in range(40))
    (tmp_path / "k.csv").write_text(f"keyword,domain\n{lines}")

    class Slow(SearchProvider):
        def reply(self, path: str, headers: dict[str, str], body: bytes) -> Any:
            time.sleep(0.1)
            return super().reply(path, headers, body)

    with serving(Slow("serper")) as provider:
        process = begin(tmp_path, *words(provider), start_new_session=True)
        deadline = time.monotonic() + 60
        while _rows(tmp_path, "rank_positions") < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        recorded, paid = _rows(tmp_path), len(provider.calls)
        assert 43 <= recorded < 80  # the positions were there before the last pages
        assert positions(tmp_path).items() <= {f"keyword {n}": 12 for n in range(40)}.items()
        time.sleep(0.3)  # responses in flight are billed, too
        paid = len(provider.calls)
        done = run(tmp_path, provider)
    assert (done["run"], done["done"], done["pages"]) == (1, 40, 80)
    assert _rows(tmp_path, "rank_positions") == _rows(tmp_path, "rank_checks") == 40
    with_late = 8
    assert len(provider.calls) <= 80 + (paid - recorded)
    assert paid - recorded <= with_late


def _rows(folder: Path, table: str = "rank_pages") -> int:
    try:
        with sqlite3.connect(f"file:{folder / 'ranks.db'}?mode=ro", uri=True) as base:
            return int(base.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - a table of these tests
    except sqlite3.OperationalError:
        return 0


def test_an_interrupted_run_says_how_to_continue(tmp_path: Path) -> None:
    lines = "".join(f"keyword {n},site-12.example\n" for n in range(40))
    (tmp_path / "k.csv").write_text(f"keyword,domain\n{lines}")

    class Slow(SearchProvider):
        def reply(self, path: str, headers: dict[str, str], body: bytes) -> Any:
            time.sleep(0.1)
            return super().reply(path, headers, body)

    with serving(Slow("serpapi")) as provider:
        process = begin(tmp_path, *words(provider))
        deadline = time.monotonic() + 60
        while len(provider.calls) < 10 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 11
        assert "the same command continues the run" in err
        done = run(tmp_path, provider)
        assert (done["done"], done["pages"]) == (40, 80)
        assert len(provider.calls) == 80  # Ctrl-C waits for the responses in flight


@pytest.mark.parametrize("name", ["serper", "serpapi", "dataforseo"])
def test_a_provider_that_bills_and_answers_nothing_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "k.csv").write_text("keyword,domain\na,b.example\n")
    empty: dict[str, dict[str, Any]] = {
        "serper": {"searchParameters": {"q": "a"}, "organic": [], "credits": 1},
        "serpapi": {"search_metadata": {"status": "Success"}, "search_parameters": {"q": "a"}},
        "dataforseo": {
            "tasks": [{"status_code": 20000, "cost": 0.002, "result": [{"keyword": "a", "items": None}]}]
        },
    }
    with serving(SearchProvider(name)) as provider:
        provider.errors = [(200, empty[name])]
        code, out, err = gossamer(tmp_path, *words(provider))
        assert code == 9
        assert "1 failed" in out
        assert "1 pages were paid for and have no results" in err
        assert positions(tmp_path) == {}
        code, out, _ = gossamer(tmp_path, "ranks", "failing")
        assert "soft block: the provider answered without results" in out
        done = run(tmp_path, provider, "--failed")
    assert done["done"] == 1


def test_no_results_is_not_a_failure(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("keyword,domain\na,b.example\n")
    with serving(SearchProvider("serpapi", lambda _: [])) as provider:
        done = run(tmp_path, provider)
    assert (done["no_results"], done["failed"], done["positions"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("name", "status", "reply", "code", "says"),
    [
        ("serpapi", 429, {"error": "Your account has run out of searches."}, 9, "no credit left"),
        ("serper", 400, {"message": "Not enough credits", "statusCode": 400}, 9, "no credit left"),
        (
            "dataforseo",
            402,
            {"status_code": 40200, "status_message": "Payment Required."},
            9,
            "no credit left",
        ),
        ("zyte", 403, {"title": "Authentication Key Not Found"}, 4, "unlocker_key"),
        ("searchapi", 401, {"error": "Invalid api_key"}, 4, "unlocker_key"),
    ],
)
def test_accounts_that_are_refused_or_empty(
    tmp_path: Path, name: str, status: int, reply: dict[str, Any], code: int, says: str
) -> None:
    (tmp_path / "k.csv").write_text("keyword,domain\na,b.example\n")
    with serving(SearchProvider(name)) as provider:
        provider.errors = [(status, reply)]
        found, out, err = gossamer(tmp_path, *words(provider))
    assert found == code, err
    assert says in err
    assert code == 4 or "skipped" in out
    assert positions(tmp_path) == {}


def test_a_failing_provider_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("keyword,domain\na,site-2.example\n")
    with serving(SearchProvider("serpapi")) as provider:
        provider.errors = [
            (503, {"error": "We couldn't get valid results for this search. Please try again later."})
        ]
        done = run(tmp_path, provider, "-s", "retries=100ms,100ms")
    assert (done["done"], done["credits"]) == (1, 1)


def test_tomorrows_answer_is_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("keyword,domain\na,site-2.example\n")
    with serving(SearchProvider("serper")) as provider:
        provider.errors = [
            (200, {"version": 9, "blocks": [{"kind": "web", "href": "https://site-2.example/"}]})
        ]
        code, _, _ = gossamer(tmp_path, *words(provider))
    assert code == 9
    assert positions(tmp_path) == {}
    ((verdict,),) = sqlite3.connect(tmp_path / "ranks.db").execute("SELECT verdict FROM rank_pages")
    assert verdict == "layout_unknown"


def test_a_search_that_a_provider_cannot_make_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(
        "keyword,domain,engine,device\na,site-2.example,google bing,desktop mobile\n"
    )
    with serving(SearchProvider("serper")) as provider:
        code, out, err = gossamer(tmp_path, *words(provider))
        assert code == 0, err
        assert "3 searches are skipped: serper " in err
        assert "1 of 4 searches checked, 3 skipped" in out
    with serving(SearchProvider("serpapi")) as other:
        done = run(tmp_path, other)
    assert done["done"] == 4
    asked = sorted((one["engine"], one["device"]) for one in other.asked)
    assert asked == [("bing", "desktop"), ("bing", "mobile"), ("google", "desktop"), ("google", "mobile")]


def test_bad_lines_are_kept_with_their_reasons(tmp_path: Path) -> None:
    bad = "keyword,domain,country,volume,rules\n,a.example,,,\nb,not a domain,,,\nc,c.example,usa,,\n"
    bad += (
        'd,d.example,,many,\ne,e.example,,,jumps 3\nf,münchen.de,us,"1,000",falls 3; below 10\ng,a,b,c,d,e\n'
    )
    (tmp_path / "k.csv").write_text(bad)
    with serving(SearchProvider("serper")) as provider:
        code, _, err = gossamer(tmp_path, *words(provider))
    assert code == 0, err
    lines = [json.loads(line) for line in (tmp_path / "k.csv.rejected.jsonl").read_text().splitlines()]
    assert [line["line"] for line in lines] == [2, 3, 4, 5, 6, 8]
    rows = sqlite3.connect(tmp_path / "ranks.db").execute("SELECT domain FROM rank_domains").fetchall()
    assert rows == [("xn--mnchen-3ya.de",)]

"""Tests of `gossamer ranks`: the tables of a small history as text, CSV and JSON, and invalid arguments."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from cli.command_line import gossamer
from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.ranks.history import DAY_S, RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth

OWN, RIVAL = "own.example", "xn--mnchen-3ya.example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a history of two days: one keyword's position falls from 2 to 5, and the checks
    of another keyword fail."""
    room = tmp_path_factory.mktemp("ranks")
    now = [time.time() - DAY_S]
    with RankHistory(str(room / "ranks.db"), lambda: now[0]) as history:
        searches = [Search(keyword='"tea" pot', country="us"), Search(keyword="never works")]
        history.list_keywords(
            [Keyword(search=one, domain=OWN, competitors=(RIVAL,), tags=("t",)) for one in searches]
        )
        for place in (2, 5):
            history.begin_run()
            hosts = {place: OWN, 3: RIVAL}
            results = [
                Result("organic", n, n, "t", f"https://{hosts.get(n, f'site-{n}.example')}/")
                for n in range(1, 11)
            ]
            page = ResultPage(
                "google", "ok", "", (*results, Result("ai_overview", None, 1, "", f"https://{OWN}/", sub=0))
            )
            history.record(
                [
                    FetchedResultPage(search=searches[0].id, page=1, time=now[0], parsed=page),
                    FetchedResultPage(search=searches[1].id, page=1, time=now[0], error="timeout: no answer"),
                ]
            )
            history.end_run(Depth("basic"))
            now[0] += DAY_S
    return room


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("positions", '"tea" pot'),
        ("positions --moves --days 30 --domain www.own.example", "-3"),
        ("positions --tag t --csv", "google us,own.example,5,-3,2,5"),
        ("competitors --domain own.example", "münchen.example"),
        ("competitors --side-by-side", "münchen.example"),
        ("features", "ai_overview"),
        ("volatility", "1    0.182  0.170"),
        ("failing", "failed: timeout: no answer"),
        ("rules", "layout drift"),
        ("export out.csv --what events", "out.csv: "),
        ("report -o r.html --show never", "--show 'never': no page 1"),
        ("reparse", "0 pages parsed again"),
        ("send -o r.csv", "rank  "),
        ("send -o s.sqlite --what results --what checks --json", '"kind":"rank_result","records":22'),
        ("alert --rules rank-rules.toml", "2 -> 5 (-3)"),
    ],
)
def test_tables(folder: Path, words: str, says: str) -> None:
    (folder / "rank-rules.toml").write_text('[rules.a]\nwhen = "falls 3"\n[rules.b]\nwhen = "layout drift"\n')
    code, out, err = gossamer(folder, "ranks", *words.split())
    assert code == (2 if says.startswith("--show") else 0), err
    assert says in out + err


def test_a_keyword_is_named_as_in_the_list(folder: Path) -> None:
    code, out, err = gossamer(folder, "ranks", "history", '"tea" pot', "--json", "--domain", OWN)
    assert code == 0, err
    assert [json.loads(line)["position"] for line in out.splitlines()] == [2, 5]
    code, out, _ = gossamer(folder, "ranks", "history", "never works")
    assert out.count("not checked") == 2
    code, _, err = gossamer(folder, "ranks", "history", "tea pot")
    assert code == 2
    assert "gossamer ranks positions lists all keywords" in err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("positions --history other.db", 2, "there is no rank history other.db"),
        ("run none.csv --own", 2, "there is no such file"),
        ("plan k.csv --provider serpr", 4, "did you mean serper"),
        ("plan k.csv --provider serper --strategy deep", 2, "basic, custom, smart"),
        ("plan k.csv --provider serper --first 300", 2, "at most 200"),
        ("plan k.csv --provider serper --engine bing", 2, "serper does not search bing"),
        ("plan k.csv --provider serper --price much", 2, "write an amount"),
        ("plan k.csv --provider serper", 0, "1 searches by serper"),
        ("plan k.csv --own", 0, "1 searches by own"),
        ("rules none.toml", 4, "there is no such file"),
        ("export a.doc", 2, "the file ends in"),
        ("send", 2, "no output given"),
        ("send -o r.jsonl --what ranks", 2, "choose positions, results, checks, events"),
        ("import nowhere --keywords k.csv", 2, "no such file or folder"),
        ("import k.csv", 2, "no --keywords given"),
    ],
)
def test_wrong_words_say_what_to_do(folder: Path, words: str, code: int, says: str) -> None:
    (folder / "k.csv").write_text("keyword,domain\na,b.example\n")
    found, out, err = gossamer(folder, "ranks", *words.split())
    assert says in out + err
    assert found == code


def test_a_plan_of_own_searches_counts_the_exits(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("keyword,domain\n" + "".join(f"word {n},a.example\n" for n in range(60)))
    (tmp_path / "p.txt").write_text("\n".join(f"http://10.0.0.{n}:80" for n in range(1, 5)))

    def hours(*words: str) -> float:
        code, out, err = gossamer(tmp_path, "ranks", "plan", "k.csv", "--own", "--json", *words)
        assert code == 0, err
        found: float = json.loads(out)["hours"]
        return found

    alone = hours()
    assert hours("--proxies", "p.txt") == pytest.approx(alone / 4)
    shared = "valkey://127.0.0.1/0"  # with a shared store, all proxies together have one request rate
    assert hours("--proxies", "p.txt", "--store", shared) == alone
    assert hours("--proxies", "p.txt", "-s", f"store={shared}") == alone
    code, _, err = gossamer(tmp_path, "ranks", "plan", "k.csv", "--provider", "serper", "--proxies", "p.txt")
    assert code == 2
    assert "--proxies belongs to --own" in err

"""Tests of `gossamer prices match` and `review` on a small history."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.match_offers import list_open, match_offers
from support import fork_server
from uses.prices.test_match_offers import CAMERA, PENS, fill, offer

WORDS = (sys.executable, "-m", "gossamer", "prices")


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return fork_server.run(
        [*WORDS, *words], cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with History(str(tmp_path / "prices.db")) as history:
        fill(
            history,
            offer("a1", CAMERA),
            offer("b1", "Sony silver cybershot camera dscw170"),
            offer("a2", "Pens", gtin=PENS),
            offer("b2", "Stifte", gtin=PENS),
            offer("a3", "Nikon Coolpix S210 compact camera plum\x1b[2J"),
            offer("b3", "Nikon Coolpix S210 plum"),
        )
    return tmp_path


def test_match_prints_what_it_found(folder: Path) -> None:
    assert "6 offers: 1 pairs matched by GTIN, 0 by brand and model number" in called(folder, "match").stdout
    assert json.loads(called(folder, "match", "--json", "-q").stdout) == {
        "offers": 6,
        "gtin": 1,
        "mpn": 0,
        "open": 2,
        "decided": 0,
    }
    rows = [json.loads(line) for line in called(folder, "market", "--json").stdout.splitlines()]
    assert [(row["product"], row["target"]) for row in rows] == [("a2", "a2"), ("a2", "b2")]


def test_the_open_pairs_are_listed_best_first(folder: Path) -> None:
    called(folder, "match")
    rows = [json.loads(line) for line in called(folder, "review", "--json").stdout.splitlines()]
    assert {(row["one"], row["other"]) for row in rows} == {("a1", "b1"), ("a3", "b3")}
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert CAMERA in called(folder, "review", "--list").stdout


def test_decisions_are_read_from_a_csv_file(folder: Path) -> None:
    called(folder, "match")
    rows = list(csv.DictReader(io.StringIO(called(folder, "review", "--csv").stdout)))
    rows[0]["decision"] = "y"
    with (folder / "decided.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows(rows)
    assert called(folder, "review", "--accept", "decided.csv").stdout == "1 decisions stored\n"
    assert json.loads(called(folder, "match", "--json", "-q").stdout)["open"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("one,other\na1,b1\n", "no column decision"),
        ("one,other,decision\na1,b1,y\na3,b3,perhaps\n", "line 3: perhaps"),
        ("one,other,decision\na1,zz,y\n", "line 2: a1 and zz are not two targets"),
        ("one,other,decision\na1,a1,y\n", "not two targets"),
    ],
)
def test_a_wrong_csv_file_stores_nothing(folder: Path, text: str, reason: str) -> None:
    called(folder, "match")
    (folder / "decided.csv").write_text(text)
    done = called(folder, "review", "--accept", "decided.csv")
    assert done.returncode == 2
    assert reason in done.stderr
    assert json.loads(called(folder, "match", "--json", "-q").stdout)["decided"] == 0


def test_review_needs_a_terminal_and_a_history(folder: Path) -> None:
    called(folder, "match")
    done = called(folder, "review")
    assert (done.returncode, "--accept" in done.stderr) == (2, True)
    assert called(folder, "review", "--accept", "absent.csv").returncode == 2
    assert called(folder, "match", "--history", "absent.db").returncode == 2


def test_keys_decide_undo_and_quit(folder: Path) -> None:
    with History(str(folder / "prices.db")) as history:
        match_offers(history, 1.0)
        first, second = list_open(history)
    leader, follower = pty.openpty()
    with subprocess.Popen([*WORDS, "review"], cwd=folder, stdin=follower, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            while b" of 2" not in process.stdout.readline():  # after this line, the command reads keys
                pass
            os.write(leader, b"xyuns")
            told = process.stdout.read().decode()
        finally:
            process.kill()
    os.close(leader)
    os.close(follower)
    assert "2 decided, 0 left" in told
    assert "\x1b" not in told
    with History(str(folder / "prices.db")) as history:
        rows = history.database.rows("SELECT one, decision FROM price_matches WHERE reason = 'review'")
        assert sorted(rows) == sorted([(first.one, "different"), (second.one, "later")])
        assert [pair.one for pair in list_open(history, later=True)] == [second.one]

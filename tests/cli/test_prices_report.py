"""`gossamer prices moves`, `market`, `stale` and `report` on a small history."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget

DAY = 86_400.0
VISITS = 14
"""Enough visits to confirm a change in a new shop."""


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gossamer", "prices", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a history: the kettle of shop `a` got cheaper four days ago, nothing was found since."""
    now = time.time()
    with History(str(tmp_path / "prices.db")) as history:
        history.list_targets(
            [
                PriceTarget(key=key, url=f"https://{key}.example/", shop=f"{key}.example", product="kettle")
                for key in ("a", "b")
            ]
        )
        for age, price in ((8, "40"), (4, "30")):
            history.begin_run()
            for number in range(VISITS):
                history.record(
                    [
                        Observation(
                            target=key,
                            time=now - age * DAY + number,
                            state=OfferState.PRICED,
                            url=f"https://{key}.example/",
                            price=Decimal(price if key == "a" else "36"),
                            currency="EUR",
                            availability="InStock",
                            name='=HYPERLINK("https://x.example")',
                            confirming=number > 0,
                        )
                        for key in ("a", "b")
                    ]
                )
            history.end_run()
    return tmp_path


def test_moves_are_shown_as_table_csv_and_json(folder: Path) -> None:
    assert "-25.0" in called(folder, "moves").stdout
    (row,) = csv.DictReader(io.StringIO(called(folder, "moves", "--csv").stdout))
    assert row["name"] == '\'=HYPERLINK("https://x.example")', "a spreadsheet does not run it"
    assert (row["target"], row["before"], row["after"], row["percent"]) == ("a", "40", "30", "-25.0")
    assert json.loads(called(folder, "moves", "--json").stdout)["shop"] == "a.example"
    assert called(folder, "moves", "--days", "1", "--json").stdout == ""


def test_the_market_ranks_offers(folder: Path) -> None:
    rows = [json.loads(line) for line in called(folder, "market", "--json").stdout.splitlines()]
    assert [(row["target"], row["rank"], row["price"]) for row in rows] == [
        ("a", "1", "30"),
        ("b", "2", "36"),
    ]
    missing = called(folder, "market", "toaster")
    assert (missing.returncode, "toaster" in missing.stderr) == (2, True)


def test_stale_targets_are_listed(folder: Path) -> None:
    assert called(folder, "stale", "--csv").stdout.count("\n") == 3
    assert called(folder, "stale", "--days", "5", "--json").stdout == ""


def test_a_report_is_written(folder: Path) -> None:
    done = called(folder, "report", "-o", "week.html", "--days", "7")
    assert done.stdout == "week.html: 1 moves, 1 products, 1 charts\n"
    assert "Biggest moves" in (folder / "week.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--shop", "z.example"),
        ("report", "-o", "no/such/folder.html"),
        ("moves", "--days", "nan"),
        ("moves", "--limit", "0"),
        ("stale", "--history", "none.db"),
    ],
)
def test_bad_words_are_refused_in_one_line(folder: Path, words: tuple[str, ...]) -> None:
    done = called(folder, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr

"""Tests of `gossamer prices moves`, `market`, `stale` and `report` on a small history."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet
import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget
from support import fork_server

DAY = 86_400.0
VISITS = 14
"""Enough visits to confirm a price change in a new shop."""


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return fork_server.run(
        [sys.executable, "-m", "gossamer", "prices", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a price history: the kettle of shop `a` became cheaper four days ago, and no
    price was found since."""
    now = time.time()
    with History(str(tmp_path / "prices.db")) as history:
        history.list_targets(
            [
                PriceTarget(
                    key=key,
                    url=f"https://{key}.example/",
                    shop=f"{key}.example",
                    product="kettle",
                    tags=("blue", f"of {key}"),
                )
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


def test_tables_are_written_to_excel_parquet_and_csv(folder: Path) -> None:
    import openpyxl

    assert called(folder, "moves", "-o", "m.xlsx").stdout == f"{folder}/m.xlsx: 1 rows\n"
    sheet = openpyxl.load_workbook(folder / "m.xlsx")["moves"]
    heads, row = ([cell.value for cell in line] for line in sheet.iter_rows())
    found = dict(zip(heads, row, strict=True))
    assert (found["before"], found["after"], found["percent"]) == (40, 30, -25)
    assert found["time"].startswith("20") if isinstance(found["time"], str) else found["time"].year >= 2020
    assert called(folder, "market", "-o", "m.parquet").returncode == 0
    table = pyarrow.parquet.read_table(folder / "m.parquet").to_pylist()
    assert [(one["target"], one["rank"], one["price"]) for one in table] == [
        ("a", 1, Decimal(30)),
        ("b", 2, Decimal(36)),
    ]
    assert called(folder, "stale", "-o", "s.csv").returncode == 0
    assert [one["target"] for one in csv.DictReader((folder / "s.csv").read_text().splitlines())] == [
        "a",
        "b",
    ]
    assert called(folder, "failing", "-o", "f.jsonl").returncode == 0
    again = called(folder, "moves", "-o", "m.xlsx", "--json")
    assert json.loads(again.stdout) == {"file": "m.xlsx", "files": [f"{folder}/m.xlsx"], "rows": 1}


def test_a_report_as_a_workbook_has_a_sheet_for_each_table(folder: Path) -> None:
    import openpyxl

    assert called(folder, "report", "-o", "week.xlsx").returncode == 0
    book = openpyxl.load_workbook(folder / "week.xlsx")
    assert {"moves", "market", "failing", "stale"} <= set(book.sheetnames)
    assert [row[2].value for row in book["market"].iter_rows(min_row=2)] == ["a", "b"]


def test_tables_of_a_tag_or_a_product(folder: Path) -> None:
    assert len(called(folder, "moves", "--tag", "blue", "--json").stdout.splitlines()) == 1
    assert called(folder, "moves", "--tag", "of b", "--json").stdout == ""
    assert json.loads(called(folder, "moves", "--product", "kettle", "--json").stdout)["target"] == "a"
    assert json.loads(called(folder, "stale", "--tag", "of b", "--json").stdout)["target"] == "b"
    done = json.loads(called(folder, "report", "--tag", "of b", "--json").stdout)
    assert (done["moves"], done["products"]) == (0, 1)
    assert "Prices of tag of b" in (folder / "report.html").read_text(encoding="utf-8")
    done = json.loads(called(folder, "report", "--product", "kettle", "--json").stdout)
    assert (done["moves"], done["products"]) == (1, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--shop", "z.example"),
        ("report", "--tag", "red"),
        ("moves", "--product", "toaster"),
        ("moves", "-o", "kafka://h/topic"),
        ("moves", "-o", "m.warc.gz"),
        ("moves", "-o", "no/such/folder.xlsx"),
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

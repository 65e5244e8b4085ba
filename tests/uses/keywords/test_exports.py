"""Exports of the tables to SQLite, PostgreSQL, CSV, Excel and Parquet."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import SinkError, UsageError
from gossamer.uses.keywords.exports import check_output, export
from gossamer.uses.keywords.views import RunTables
from support.postgres import Postgres
from uses.keywords.stored import count, page

PAGES = [
    page("https://a.example/1", "tea and =tea pots\0", title="=1+2"),
    page("https://a.example/2", "a pot of tea " + "leaf " * 30, title="x"),
    page("https://a.example/3", "a pot of tea " + "leaf " * 30, title="x"),
]
TOTALS = [("tea", "", 3, 2), ("pot", "", 1, 1), ("tea", "a.example", 3, 2), ("pot", "a.example", 1, 1)]


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[RunTables]:
    with count(tmp_path, PAGES, ["tea", "pot"])[1] as found:
        yield found


def test_sqlite_keeps_all_runs_and_replaces_one_that_is_exported_again(
    tmp_path: Path, tables: RunTables
) -> None:
    path = str(tmp_path / "k.sqlite")
    for run in ("one", "two", "two"):
        export(tables, run, path)
    base = sqlite3.connect(path)
    rows = base.execute(
        "SELECT keyword, site, count, pages FROM keyword_totals WHERE run = 'two' ORDER BY site, count DESC"
    )
    assert rows.fetchall() == TOTALS
    assert base.execute("SELECT count(*) FROM keyword_totals").fetchone() == (8,)
    assert base.execute(
        "SELECT url, copy_of FROM counted_pages WHERE run = 'one' AND copy_of IS NOT NULL"
    ).fetchall() == [("https://a.example/3", "https://a.example/2")]
    base.close()


def test_postgresql(tables: RunTables, postgres: Postgres) -> None:
    for run in ("one", "two", "two"):
        export(tables, run, postgres.url)
    ask = "SELECT keyword, site, count, pages FROM keyword_totals WHERE run = 'two' ORDER BY site, count DESC"
    assert postgres.ask(ask) == TOTALS
    assert postgres.ask("SELECT count(*) FROM keyword_pages WHERE run = 'one'") == [(3,)]
    assert postgres.ask("SELECT pg_typeof(density)::text FROM keyword_totals LIMIT 1") == [
        ("double precision",)
    ]


def test_postgresql_that_is_away(tables: RunTables) -> None:
    with pytest.raises(SinkError, match="PostgreSQL"):
        export(tables, "one", "postgresql://u@127.0.0.1:1/none")


def test_csv_is_safe_for_spreadsheets(tmp_path: Path, tables: RunTables) -> None:
    export(tables, "one", str(tmp_path / "k.csv"))
    rows = list(csv.DictReader((tmp_path / "k.csv").read_text().splitlines()))
    assert [(one["keyword"], one["site"], int(one["count"]), int(one["pages"])) for one in rows] == TOTALS
    assert {path.name for path in tmp_path.glob("k*.csv")} == {"k.csv", "k.pages.csv", "k.terms.csv"}


def test_excel(tmp_path: Path, tables: RunTables) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    assert export(tables, "one", str(tmp_path / "k.xlsx")) == []
    book = openpyxl.load_workbook(tmp_path / "k.xlsx")
    assert book.sheetnames == ["keywords", "pages", "terms"]
    assert [one.value for one in book["keywords"][2]][:4] == ["tea", None, 3, 2] or book["keywords"][2][
        0
    ].value == "tea"


def test_parquet_folder(tmp_path: Path, tables: RunTables) -> None:
    import pyarrow.parquet as pq

    export(tables, "one", f"{tmp_path}/tables/")
    assert pq.read_table(tmp_path / "tables" / "keyword_totals.parquet").num_rows == 4


def test_outputs_that_cannot_be(tmp_path: Path) -> None:
    for name in ("k.txt", "mysql://x/y", "k"):
        with pytest.raises(UsageError, match="give FILE"):
            check_output(str(tmp_path / name) if "://" not in name else name)

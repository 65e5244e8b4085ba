"""Exports of the tables to SQLite, PostgreSQL, CSV, Excel and Parquet."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import SinkError, UsageError
from gossamer.uses.keywords.exports import check_output, check_what, export
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


WHEN = [
    page("https://www.a.example/1", "hot tea here", _seen_at="2026-11-25T10:00:00.5Z"),
    page("https://b.example/2", "more tea now, tea", time=1795600000.0),
    page("https://b.example/3", "a cup", title="tea"),
]
RECORDS = [
    ("tea", 1, "https://www.a.example/1", "a.example", "2026-11-25T10:00:00Z", "hot tea here"),
    (
        "tea",
        2,
        "https://b.example/2",
        "b.example",
        "2026-11-25T09:46:40Z",
        "more tea now, tea | more tea now, tea",
    ),
    ("tea", 0, "https://b.example/3", "b.example", None, ""),
]
RECORD = "SELECT keyword, count, url, domain, time, contexts FROM keyword_pages ORDER BY url DESC"


def test_the_record_of_a_page_has_contexts_domain_and_time(tmp_path: Path, postgres: Postgres) -> None:
    import pyarrow.parquet as pq

    postgres.ask("DROP TABLE IF EXISTS keyword_pages")
    expected = sorted(RECORDS, key=lambda one: one[2], reverse=True)
    with count(tmp_path, WHEN, ["tea"])[1] as tables:
        for output in (
            str(tmp_path / "k.sqlite"),
            postgres.url,
            f"{tmp_path}/tables/",
            str(tmp_path / "k.csv"),
        ):
            export(tables, "one", output)
        assert tables.pages_of("tea")[0].time == "2026-11-25T09:46:40Z"
    base = sqlite3.connect(tmp_path / "k.sqlite")
    assert base.execute(RECORD).fetchall() == expected
    assert base.execute("SELECT DISTINCT time FROM keyword_totals").fetchall() == [("2026-11-25T10:00:00Z",)]
    base.close()
    found = postgres.ask(RECORD)
    times = [one[4] and one[4].strftime("%Y-%m-%dT%H:%M:%SZ") for one in found]
    assert [(*one[:4], at, one[5]) for one, at in zip(found, times, strict=True)] == expected
    rows = pq.read_table(tmp_path / "tables" / "keyword_pages.parquet").to_pylist()
    names = ("keyword", "count", "url", "domain", "time", "contexts")
    assert sorted(tuple(row[name] for name in names) for row in rows)[0] == RECORDS[2]
    lines = list(csv.DictReader((tmp_path / "k.pages.csv").read_text().splitlines()))
    assert {(one["url"], one["domain"], one["time"], one["contexts"]) for one in lines} == {
        (url, domain, at or "", contexts) for _, _, url, domain, at, contexts in RECORDS
    }


def test_an_export_again_after_another_count_has_the_new_contexts(tmp_path: Path) -> None:
    for size, expected in ((100, "more tea now, tea | more tea now, tea"), (8, "more tea now, | now, tea")):
        with count(tmp_path, WHEN, ["tea"], context=size)[1] as tables:
            export(tables, "one", str(tmp_path / "k.sqlite"))
        base = sqlite3.connect(tmp_path / "k.sqlite")
        assert base.execute("SELECT contexts FROM keyword_pages WHERE count = 2").fetchall() == [(expected,)]
        base.close()


def test_tables_that_lack_columns_get_them(tmp_path: Path, postgres: Postgres) -> None:
    old = "CREATE TABLE keyword_pages (run TEXT NOT NULL, keyword TEXT, url TEXT, site TEXT, count {}, words {}, "
    old += "density {}, in_title {}, in_headings {}, anchors {}, alt {}, meta {}, prominence {}, tfidf {})"
    base = sqlite3.connect(tmp_path / "k.sqlite")
    base.execute(old.replace("{}", "REAL"))
    base.close()
    postgres.ask("DROP TABLE IF EXISTS keyword_pages")
    postgres.ask(old.replace("{}", "DOUBLE PRECISION"))
    with count(tmp_path, WHEN, ["tea"])[1] as tables:
        export(tables, "one", str(tmp_path / "k.sqlite"))
        export(tables, "one", postgres.url)
    base = sqlite3.connect(tmp_path / "k.sqlite")
    assert base.execute(RECORD).fetchone()[1:] == RECORDS[0][1:]
    base.close()
    assert postgres.ask(RECORD)[0][5] == RECORDS[0][5]


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
    for name in ("k.txt", "k"):
        with pytest.raises(UsageError, match="give FILE"):
            check_output(str(tmp_path / name))
    with pytest.raises(UsageError, match="no store mysql://"):
        check_output("mysql://x/y")
    with pytest.raises(UsageError, match="rows are appended"):
        check_output("s3://bucket/words")
    with pytest.raises(UsageError, match="choose totals, pages, terms, counted"):
        check_what(["page"])


def test_only_the_chosen_tables_are_written(tmp_path: Path, tables: RunTables) -> None:
    for name in ("k.csv", "k.sqlite", "t/"):
        export(tables, "one", f"{tmp_path}/{name}", ["pages"])
    assert {path.name for path in tmp_path.glob("k*.csv")} == {"k.pages.csv"}
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["keyword_pages.parquet"]
    with sqlite3.connect(tmp_path / "k.sqlite") as base:
        assert base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [
            ("keyword_pages",)
        ]

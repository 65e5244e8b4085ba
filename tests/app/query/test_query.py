"""Tests of queries over stored crawls: rows are filtered, summarized and exported, and DuckDB reads the
files directly."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.app.query.reports import report
from gossamer.app.query.sources import rows_of
from gossamer.app.query.writing import write
from gossamer.cli.commands import run
from gossamer.errors import ConfigError
from web import preset, serve

SITE = """
from decimal import Decimal

from gossamer import Item, Site

site = Site("leaves", seeds=SEEDS, follow=True)


class Leaf(Item, key="url"):
    url: str
    price: Decimal
    odd: bool


@site.page()
def leaf(page):
    size = len(page.css("title::text").get())
    yield Leaf(url=page.url, price=Decimal(size) / 4, odd=size % 2 == 1)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which a site was crawled into outputs of every kind."""
    folder = tmp_path_factory.mktemp("query")
    with serve(preset("tiny", hosts=2, pages=20, latency=0)) as web:
        (folder / "leaves.py").write_text(SITE.replace("SEEDS", repr(web.plan.seeds())))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            words = [
                "crawl",
                "leaves.py",
                "-o",
                "out.sqlite",
                "-o",
                "out.jsonl",
                "--pages",
                "pages.parquet",
                "--attempts",
                "tries.parquet",
            ]
            assert run([*words, "--delay", "0", "--quiet", "--json"]) == 0
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_items_with_filters(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    everything = said(capsys, "items")
    assert len(everything) == 40
    host = everything[0]["_url"].split("/")[2]
    some = said(
        capsys,
        "items",
        "leaves",
        "--host",
        host,
        "--where",
        "price>7",
        "--where",
        "odd=true",
        "--kind",
        "leaf",
    )
    assert some == [
        row for row in everything if host in row["url"] and float(row["price"]) > 7 and row["odd"]
    ]
    assert said(capsys, "items", "--since", "1h") == everything
    assert said(capsys, "items", "--since", "2999-01-01") == []
    assert run(["items", "--limit", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["items", "--limit", "-1"], "'--limit'"),
        (["attempts", "--limit", "-5"], "'--limit'"),
        (["dead", "list", "--limit", "-1"], "'--limit'"),
        (["explain", "http://a.test/", "--depth", "-1"], "'--depth'"),
        (["items", "--where", "price==7"], "no operator =="),
        (["items", "--where", "price=>7"], "no operator =>"),
        (["items", "--where", "price<<7"], "no operator <<"),
        (["items", "--where", "price<"], "needs a value"),
        (["items", "--where", "url~"], "needs a value"),
        (["items", "--where", "price<null"], "needs a value"),
        (["items", "--where", "price 7"], "write it as"),
        (["items", "--where", "prise<7"], "no row of items has a field prise (did you mean price?)"),
        (["items", "--where", "price<abc"], "price contains numbers, and abc is not one of them"),
        (["items", "--where", "odd=yes"], "odd contains"),
        (["attempts", "--where", "status=abc"], "status contains numbers"),
        (["attempts", "--where", "ts>noon", "--by", "host"], "ts contains times"),
        (["export", "leaves", "no.csv", "--what", "pages", "--where", "bytes>1K"], "bytes contains numbers"),
        (["attempts", "--where", "stauts=200"], "did you mean status?"),
        (["export", "leaves", "no.csv", "--where", "prise<7"], "did you mean price?"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    place: Path,
    words: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(place)
    assert run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert says in err
    assert not Path("no.csv").exists()


def test_limits_are_kept_with_json_too(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    everything = said(capsys, "attempts")
    assert len(everything) == 42
    assert said(capsys, "attempts", "--limit", "41") == everything[:41]
    monkeypatch.setattr("gossamer.cli.query.DEFAULT_LIMIT", 10)
    assert said(capsys, "attempts", "--limit", "10") == everything[:10]
    assert said(capsys, "attempts", "--limit", "0") == said(capsys, "attempts") == everything
    assert said(capsys, "items", "--kind", "Leaf", "--limit", "1") == said(capsys, "items", "--limit", "1")


@pytest.mark.parametrize("by", ["provider", "hour", "host", "reason", "rung"])
def test_attempts_by_what_they_have_in_common(
    place: Path, by: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    (lines,) = said(capsys, "attempts", "--by", by)
    assert sum(line["requests"] for line in lines) == 42
    assert len(said(capsys, "attempts", "--status", "2xx")) == 40
    assert {row["status"] for row in said(capsys, "attempts", "--status", "4xx", "--outcome", "done")} == {
        404
    }


def test_a_report_counts_what_went_wrong() -> None:
    rows = [
        {
            "proxy": "acme/h:1#0",
            "ts": "2026-01-01T05:00:00Z",
            "outcome": "done",
            "seconds": 1.0,
            "bytes_wire": 10,
            "credits": 2,
        },
        {
            "proxy": "acme/h:2#0",
            "ts": "2026-01-01T05:59:00Z",
            "outcome": "retry",
            "error": "timeout",
            "seconds": 3.0,
            "block": "x",
        },
        {"proxy": None, "ts": "2026-01-01T06:00:00Z", "outcome": "redirected", "seconds": 0.5},
    ]
    acme, none = report(rows, "provider")
    assert (acme.group, acme.requests, acme.good, acme.blocked, acme.errors) == (
        "acme",
        2,
        0.5,
        1,
        {"timeout": 1},
    )
    assert (acme.seconds, acme.bytes, acme.credits, none.group) == ((2.0, 3.0, 3.0), 10, 2, "none")
    assert [line.group for line in report(rows, "hour")] == ["05", "06"]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "sqlite"])
def test_what_is_exported_is_all_there(
    place: Path,
    ending: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(place)
    for what, count in (("items", 40), ("attempts", 42), ("pages", 40)):
        file = tmp_path / f"{what}.{ending}"
        for _ in range(2):  # the second export replaces the file
            told = said(capsys, "export", "leaves", str(file), "--what", what)[0]
            assert told["rows"] == count
            assert all(Path(one).exists() for one in told["files"])
        found = list(rows_of(str(file)))
        assert len(found) == count
    few = tmp_path / f"few.{ending}"
    told = said(capsys, "export", "leaves", str(few), "--where", "price>7")[0]["rows"]
    assert 0 < told < 40
    assert all(float(row["price"]) > 7 for row in rows_of(str(few)))


def test_duckdb_reads_the_files_as_they_are(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    monkeypatch.chdir(place)

    def one(query: str) -> Any:
        return duckdb.sql(query).fetchall()[0]

    assert one("SELECT count(*), count(DISTINCT host) FROM '.gossamer/leaves/attempts.jsonl'") == (42, 2)
    assert one("SELECT count(*), count(*) FILTER (status = 404) FROM 'tries.parquet/*.parquet'") == (42, 2)
    assert one("SELECT count(*), max(links) > 1 FROM 'pages.parquet/*.parquet' WHERE error IS NULL") == (
        40,
        True,
    )
    assert one("SELECT count(*) FROM 'out.jsonl' JOIN 'pages.parquet/*.parquet' USING (url)") == (40,)


def test_a_table_of_attempts_has_each_once(place: Path) -> None:
    rows = list(rows_of(str(place / "tries.parquet")))
    log = list(rows_of(f"{place / '.gossamer/leaves/attempts.jsonl'}:jsonl"))
    assert sorted((row["url"], row["status"]) for row in rows) == sorted(
        (row["url"], row["status"]) for row in log
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["items", "nobody"], "no crawl nobody"),
        (["items", "--where", "price"], "FIELD=VALUE"),
        (["items", "--since", "soon"], "an age"),
        (["attempts", "--status", "9"], "404, or 4xx"),
        (["attempts", "--by", "hosts"], "did you mean host"),
        (["export", "leaves", "out.jsonl"], "the crawl itself writes"),
        (["export", "leaves", "x.warc.gz"], "whole pages"),
        (["export", "leaves", "x.csv", "--what", "all"], "items, attempts, pages or skipped"),
        (["export", "leaves", "none/x.csv"], "create it first"),
    ],
)
def test_what_is_off_is_told_in_one_line(
    place: Path,
    words: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(place)
    assert run(words) in (2, 4)
    told = capsys.readouterr().err
    assert says in told
    assert told.count("\n") == 1


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [
        '{"_kind":"item","_key":"1","v":1E+5000,"_extra":"mine"}',
        '{"_kind":"item","_key":"2","v":0.12345678901234567890}',
        "[1]",
        '{"_kind":"item","_key":"3","v":1.5}',
        '{"_kind":"item","_k',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    found = list(rows_of(str(tmp_path / "a.jsonl")))
    assert [row["v"] for row in found] == [Decimal("1E+5000"), Decimal("0.12345678901234567890"), 1.5]
    assert found[0]["_extra"] == "mine"
    assert write(str(tmp_path / "b.jsonl"), "items", found) == (3, [str(tmp_path / "b.jsonl")])
    assert (tmp_path / "b.jsonl").read_text().splitlines() == [rows[0], rows[1], rows[3]]


def test_words_that_are_no_text_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crawl", "http://a.test/", "-o", "b\udcff.jsonl"]) == 2
    assert "is not text" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["jsonl", "csv", "sqlite"])
def test_what_is_no_plain_file_is_not_read(tmp_path: Path, form: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    os.write(end, b'{"_key": "a"}\n' * 9000 if form == "jsonl" else b"_key,b\n1,2\n" * 5000)
    try:
        with pytest.raises(ConfigError, match="is not a regular file"):
            next(rows_of(f"{tmp_path / 'pipe'}:{form}"))
    finally:
        os.close(end)

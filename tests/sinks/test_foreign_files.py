"""Existing files of other programs, or with other content, are reported before the first row. A row that such
a file refuses is stored as rejected."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import SinkError, UsageError
from gossamer.sinks.columns import Column, item_columns
from gossamer.sinks.jsonl import decode, exact_number, text
from gossamer.sinks.output_spec import open_output
from gossamer.sinks.parquet import Parquet
from gossamer.sinks.sqlite import Sqlite
from gossamer.sinks.warc import Warc, gzip_member
from sinks.rows_and_commits import Book, book, loose
from sinks.test_warc import raw

BOOKS = item_columns([Book])


def base(path: Path, *questions: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        return [row for one in questions for row in opened.execute(one).fetchall()]


@pytest.mark.parametrize(
    ("made", "error", "says"),
    [
        ("CREATE TABLE book (_key TEXT, own INT)", UsageError, "table book that is not gossamer's"),
        ("CREATE TABLE book (id INT)", UsageError, "table book that is not gossamer's"),
        ("CREATE TABLE _history (x)", UsageError, "table _history that is not gossamer's"),
        (
            "CREATE TABLE book (_key TEXT PRIMARY KEY, title INT)",
            SinkError,
            "book: column title is INT, the items' is TEXT",
        ),
        (
            "CREATE TABLE book (_key TEXT PRIMARY KEY, title DECIMAL)",
            SinkError,
            "book: column title is DECIMAL",
        ),
        ("CREATE VIEW book AS SELECT 1 AS _key", SinkError, "view"),
    ],
)
def test_a_database_of_somebody_else_is_told_at_once(
    tmp_path: Path, made: str, error: type[Exception], says: str
) -> None:
    base(tmp_path / "a.sqlite", made)
    sink = Sqlite(str(tmp_path / "a.sqlite"), BOOKS)
    with pytest.raises(error, match=says):
        sink.prepare()
    sink.close()


def test_columns_that_keep_what_comes_are_taken(tmp_path: Path) -> None:
    base(
        tmp_path / "a.sqlite",
        "CREATE TABLE book (_key VARCHAR(9) PRIMARY KEY, title CHARACTER(3), price TEXT, stock)",
    )
    sink = Sqlite(str(tmp_path / "a.sqlite"), BOOKS)
    sink.prepare()
    sink.upsert([book(1, title="007")])
    sink.close()
    assert base(tmp_path / "a.sqlite", "SELECT title, price FROM book") == [("007", "19.90")]


def test_a_row_that_a_rule_of_the_table_refuses_leaves_its_batch_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    base(path, "CREATE TABLE book (_key TEXT PRIMARY KEY, title TEXT CHECK (length(title) < 10))")
    sink: Any = open_output(str(path), BOOKS, folder=str(tmp_path))
    sink.prepare()
    sink.upsert(
        [
            *[book(n) for n in range(90)],
            book(7, title="much too long"),
            book(90, title="x" * 11),
            loose(1, a=1),
        ]
    )
    sink.close()
    assert base(path, "SELECT count(*) FROM book", "SELECT count(*) FROM note") == [(90,), (1,)]
    assert base(path, "SELECT title FROM book WHERE _key = '7'", "SELECT count(*) FROM _history") == [
        ("Book 7",),
        (0,),
    ]
    aside = [json.loads(line) for line in (tmp_path / "refused.jsonl").read_text().splitlines()]
    assert [(one["key"], one["row"]["title"]) for one in aside] == [("7", "much too long"), ("90", "x" * 11)]
    assert all(one["reason"].startswith("CHECK constraint failed") for one in aside)


def test_a_decimal_of_an_untyped_dict_is_a_number_in_sqlite(tmp_path: Path) -> None:
    path, long = tmp_path / "a.sqlite", Decimal("0.12345678901234567890")
    sink = Sqlite(str(path), {})
    sink.prepare()
    sink.upsert(
        [loose(n, v=v) for n, v in enumerate([Decimal("9.90"), long, Decimal("1E+999"), Decimal("NaN")])]
    )
    sink.upsert([loose(9, wide=2**70, _extra={"far": Decimal("1E+999")})])
    sink.close()
    assert base(path, "SELECT v, typeof(v) FROM note WHERE _key < '4' ORDER BY _key") == [
        (9.9, "real"),
        (str(long), "text"),
        ("1E+999", "text"),
        (None, "null"),
    ]
    ((extra,),) = base(path, "SELECT _extra FROM note WHERE _key = '9'")
    assert decode(extra) == {"wide": 2**70, "_extra": {"far": Decimal("1E+999")}}


def test_half_a_surrogate_pair_is_the_same_in_all_stores(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    sink = Sqlite(str(path), {})
    sink.prepare()
    for content in ("a", "b"):
        row = loose(1, v="\ud800", w=content)
        row.key = row.data["_key"] = "k\ud800"  # type: ignore[index] # a dict
        sink.upsert([row])
    sink.close()
    assert base(path, "SELECT _key, v, w FROM note") == [("k�", "�", "b")]
    # two rows with the same time make no history
    assert base(path, "SELECT _key FROM _history") in ([("k�",)], [])


def test_numbers_read_back_as_they_were() -> None:
    values = [1.5, -0.0, 1e308, 2**70, Decimal("0.12345678901234567890"), Decimal("1E+999")]
    assert decode(text(values)) == values
    assert type(exact_number(Decimal("19.90"))) is float


def test_parts_of_another_type_are_told_at_once(tmp_path: Path) -> None:
    length = 0
    for kind, fine in (("int", True), ("str", False), ("int", True)):
        sink = Parquet(str(tmp_path / "a.parquet"), (Column("v", kind), Column("more")))
        if fine:
            sink.close(length := sink.append(sink.prepare(), [loose(1, v=1)]))
        else:
            # by a new crawl, and by a resumed one
            for again in (sink.prepare, lambda sink=sink: sink.append(length, ())):
                with pytest.raises(SinkError, match="column v is int64, the items' is string"):
                    again()
    (tmp_path / "b.parquet").mkdir()
    (tmp_path / f"b.parquet/part-{0:015d}-{9:015d}.parquet").write_text("hi")
    with pytest.raises(SinkError, match="cannot be read"):
        Parquet(str(tmp_path / "b.parquet"), BOOKS["book"]).prepare()


@pytest.mark.parametrize(
    "there", [b"hi\n", gzip_member(b"WARC/1.1\r\n", b"", b"")[:-9], gzip_member(b"no WARC", b"", b"")]
)
def test_a_file_that_is_no_whole_warc_is_told_at_once(tmp_path: Path, there: bytes) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(there)
    with pytest.raises(SinkError, match="not a WARC file of whole gzip members"):
        Warc(str(path)).prepare()
    assert path.read_bytes() == there
    sink = Warc(str(path), overwrite=True)
    sink.close(sink.append(sink.prepare(), [raw(1)]))
    again = Warc(str(path))
    (tmp_path / "a.cdxj").unlink()  # the WARC file may have been copied from elsewhere
    again.close(again.append(again.prepare(), [raw(2)]))
    assert len((tmp_path / "a.cdxj").read_text().splitlines()) == 2

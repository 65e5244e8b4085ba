"""CSV output: RFC 4180, one header, no formulas, stable columns."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.app.query.sources import rows_of
from gossamer.errors import SinkError, UsageError
from gossamer.sinks.columns import MAX_COLUMNS, item_columns, page_columns
from gossamer.sinks.csv import FORMULA, Csv, guarded_field, records, unguarded
from gossamer.sinks.output_spec import open_output
from sinks.rows_and_commits import Book, book, loose, page

BOOK = item_columns([Book])["book"]


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True))


def written(path: Path, rows: list[Any], columns: Any = BOOK) -> list[dict[str, str]]:
    sink = Csv(str(path), columns)
    sink.close(sink.append(sink.prepare(), rows))
    return read(path)


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2), max_size=5))
def test_any_text_reads_back_and_is_no_formula(rows: list[list[str]]) -> None:
    data = records([[guarded_field(value) for value in row] for row in rows])
    assert data == b"" or data.endswith(b"\r\n")
    found = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    assert [[unguarded(value) for value in row] for row in found] == rows
    assert not any(
        value[:1] in tuple(FORMULA) and any(map(str.isalpha, value)) for row in found for value in row
    )


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+A1",
        "-1+cmd|x",
        "+",
        "--",
        "+1*2",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\0=1",
        '=HYPERLINK("x")',
        "＝1",
    ],
)
def test_formulas_are_text(text: str, tmp_path: Path) -> None:
    row = written(tmp_path / "out.csv", [book(1, title=text)])[0]
    assert row["title"] == "'" + text


@pytest.mark.parametrize(
    "text",
    [
        "+49 30 1234",
        "-5",
        "+1 (555) 123-45.67",
        "-1.5",
        "+2E10",
        "-1e-5",
        "+49/30",
        "-5%",
        "+02:00",
        "-1,234.50",
    ],
)
def test_numbers_and_telephone_numbers_are_left_alone(text: str, tmp_path: Path) -> None:
    """Before the fix, each value got a leading quote."""
    row = written(tmp_path / "out.csv", [book(1, title=text, upc=text)])[0]
    assert (row["title"], row["upc"]) == (text, text)
    assert unguarded(text) == text


def test_guard_no_writes_all_text_as_it_is(tmp_path: Path) -> None:
    spec = f"{tmp_path}/out.csv?guard=no"
    (sink, part), *_ = open_output(spec, {"book": BOOK}).route([book(1, title="=1+1", tags=["-x"])])  # type: ignore[union-attr]
    sink.close(sink.append(sink.prepare(), part))
    assert read(tmp_path / "out.book.csv")[0]["title"] == "=1+1"
    assert [one["title"] for one in rows_of(spec)] == ["=1+1"]
    with pytest.raises(UsageError, match="guard=no"):
        open_output(f"{tmp_path}/out.csv?gard=no", {})


def test_a_byte_order_mark_by_choice(tmp_path: Path) -> None:
    spec = f"{tmp_path}/out.csv?bom=yes&columns=title"
    (sink, part), *_ = open_output(spec, {"book": BOOK}).route([book(1, title="café")])  # type: ignore[union-attr]
    length = sink.append(sink.prepare(), part)
    sink.close(sink.append(length, part))
    assert (tmp_path / "out.book.csv").read_bytes() == "\ufefftitle\r\ncafé\r\ncafé\r\n".encode()
    assert [one["title"] for one in rows_of(spec)] == ["café", "café"]


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    row = written(
        tmp_path / "out.csv", [book(1, price=Decimal("-19.90"), stock=-3, tags=["a", "=b"], more={"x": 1})]
    )[0]
    assert (row["price"], row["stock"], row["tags"], row["more"]) == ("-19.90", "-3", '["a","=b"]', '{"x":1}')
    assert (guarded_field(True), guarded_field(None), guarded_field(1.5), guarded_field(Decimal("NaN"))) == (
        "true",
        None,
        1.5,
        None,
    )
    assert (guarded_field(float("nan")), guarded_field(float("-inf"))) == (None, None)  # null in JSON


def test_pages_have_the_columns_of_the_contract(tmp_path: Path) -> None:
    rows = written(
        tmp_path / "out.csv", [page(1), page(2, status=None, title=None, error="dns")], page_columns()
    )
    assert list(rows[0]) == [column.name for column in page_columns()]
    assert (rows[0]["status"], rows[0]["redirects"], rows[1]["status"], rows[1]["error"]) == (
        "200",
        "[]",
        "",
        "dns",
    )
    full = written(
        tmp_path / "full.csv", [page(1, text="a\nb", out_links=["u"]), page(2)], page_columns(True, True)
    )
    assert (full[0]["text"], full[0]["out_links"], full[1]["text"]) == ("a\nb", '["u"]', "")


def test_one_header_in_all(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    sink = Csv(str(path), BOOK)
    length = sink.append(sink.prepare(), ())
    assert length == 0
    length = sink.append(length, [book(1)])
    sink.append(0, [book(2)])  # writes the first batch again, without stale rows
    length = path.stat().st_size
    sink.close(sink.append(length, [book(3)]))
    later = Csv(str(path), BOOK)
    later.close(later.append(later.prepare(), [book(4)]))
    assert [row["upc"] for row in read(path)] == ["2", "3", "4"]
    assert path.read_bytes().count(b"upc") == 1


def test_a_file_with_another_order_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    names = [column.name for column in reversed(BOOK)]
    path.write_text("﻿" + ",".join([*names, "own"]) + "\r\n", "utf-8", newline="")
    sink = Csv(str(path), BOOK)
    sink.close(sink.append(sink.prepare(), [book(1)]))
    row = next(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
    assert (row["upc"], row["title"], row["own"]) == ("1", "Book 1", "")


def test_a_new_column_is_refused_before_the_crawl(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("upc,title\r\n1,a\r\n", newline="")
    with pytest.raises(SinkError, match=r"out\.csv has no column price, stock"):
        Csv(str(path), BOOK).prepare()
    with pytest.raises(SinkError, match="no column"):
        Csv(str(path), BOOK).append(path.stat().st_size, [book(1)])
    assert path.read_bytes() == b"upc,title\r\n1,a\r\n"


def test_untyped_items_have_the_columns_of_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    rows = written(path, [loose(1, a="=1", b=[1]), loose(2, B=2, c=None)], None)
    assert list(rows[0]) == [
        "a",
        "b",
        "c",
        "_url",
        "_site",
        "_kind",
        "_key",
        "_seen_at",
        "_version",
        "_hash",
        "_extra",
    ]
    assert [(row["a"], row["b"], row["_extra"]) for row in rows] == [("'=1", "[1]", ""), ("", "", '{"B":2}')]
    later = Csv(str(path), None)  # a later run cannot add columns
    later.close(later.append(later.prepare(), [loose(3, a=3, d="x")]))
    with path.open(newline="") as file:
        row = list(csv.DictReader(file))[-1]
    assert (row["a"], row["_key"], row["_extra"]) == ("3", "3", '{"d":"x"}')


def test_odd_names_of_untyped_items_are_no_columns(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"=x": 1, "": 2, "_key2": 3, "a,b": 4, "x" * 61: 5, "1": 6}
    (row,) = written(tmp_path / "out.csv", [loose(1, **odd, Größe=7, **{"in stock": 8})], None)
    assert list(row)[:3] == ["Größe", "in stock", "_url"]
    assert json.loads(row["_extra"]) == odd
    many = loose(1, **{f"n{n}": n for n in range(MAX_COLUMNS + 5)})
    (row,) = written(tmp_path / "many.csv", [many], None)
    assert len(row) == MAX_COLUMNS + 8
    assert len(json.loads(row["_extra"])) == 5


def test_a_header_that_did_not_stay_is_not_believed(tmp_path: Path) -> None:
    path = str(tmp_path / "out.csv")
    one, other = Csv(path, None), Csv(path, None)
    one.prepare()
    one.append(0, [loose(1, a=1)])  # not committed before another process wrote
    length = other.append(0, [loose(2, b="twenty-two")])
    one.close(one.append(length, [loose(1, a=1)]))
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["b"], row["_extra"]) for row in rows] == [("twenty-two", ""), ("", '{"a":1}')]


def test_a_field_that_was_not_declared_is_not_dropped(tmp_path: Path) -> None:
    row = book(1)
    row.data["colour"] = "red"  # as a step may do
    (found,) = written(tmp_path / "out.csv", [row])
    assert found["_extra"] == '{"colour":"red"}'
    old = tmp_path / "old.csv"
    # written by a gossamer whose items had no such column
    old.write_text(",".join(column.name for column in BOOK) + "\r\n")
    assert len(written(old, [book(1)])) == 1
    with pytest.raises(SinkError, match="no column colour"):
        written(old, [row])

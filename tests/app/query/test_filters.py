"""Tests of filters: comparisons of fields with numbers, times, booleans and strings, in rows of every
format."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.app.query.filters import all_of, parse_where, why_senseless
from gossamer.app.query.sources import rows_of
from gossamer.errors import UsageError
from gossamer.sinks.columns import OURS, Column
from gossamer.sinks.output_spec import open_output
from sinks.rows_and_commits import loose


@pytest.mark.parametrize(
    ("test", "keys"),
    [
        ('sku="007"', "a"),
        ("sku=007", "ab"),
        ('name="<b>"', "b"),
        ("name~<b", "b"),
        ("name=", "c"),
        ('name="null"', ""),
        ("name=null", "a"),
        ("name!=null", "bc"),
        ('name=""', "c"),
        ('sku<"1"', "a"),
        ('price<"3"', "ab"),
        ("price<x", ""),
        ("price>x", ""),
        ("price!=x", "abc"),
        ("name~null", ""),
    ],
)
def test_quotes_nulls_and_numbers(test: str, keys: str) -> None:
    rows = [
        {"k": "a", "sku": "007", "name": None, "price": 1},
        {"k": "b", "sku": "7", "name": "<b>", "price": 2.5},
        {"k": "c", "sku": "x", "name": "", "price": Decimal("3")},
    ]
    assert "".join(row["k"] for row in rows if parse_where(test)(row)) == keys


@pytest.mark.parametrize(
    ("text", "row", "holds"),
    [
        ("a=1", {"a": 1.0}, True),
        ("a=1", {"a": "1"}, True),
        ("a!=1", {}, True),
        ("a<2", {}, False),
        ("a=null", {"a": None}, True),
        ("a!=null", {"a": 0}, True),
        ("a~X y", {"a": "ax Yz"}, True),
        ("a>=2026-01", {"a": "2026-02-01"}, True),
        ("a=true", {"a": True}, True),
        ("a<=10", {"a": "9"}, True),
        ("a=", {"a": ""}, True),
        ("a=1", {"a": True}, True),
        ("a=true", {"a": 1}, True),
        ("a=true", {"a": "true"}, True),
        ("a=1", {"a": "true"}, True),
        ("a>false", {"a": True}, True),
        ("a=true", {"a": 7}, False),
        ("a=yes", {"a": True}, False),
        ("a>2026-01-31 12:00", {"a": "2026-01-31T11:00:00.000Z"}, False),
        ("a=2026-01-31T12:00:00Z", {"a": "2026-01-31T12:00:00.000Z"}, True),
        ("a<2026-01-31T12:00+02:00", {"a": "2026-01-31T10:30:00Z"}, False),
        ("a>2025", {"a": "2026-01-31"}, True),
        ("a=2026", {"a": "2026-01-01"}, False),
        ("a>=2026-13-01", {"a": "2026-02-01"}, False),
        ("a<2026-02", {"a": date(2026, 1, 31)}, True),
        ('a=["x"]', {"a": ["x"]}, True),
        ('a=["x"]', {"a": '["x"]'}, True),
        ('a~"y":', {"a": {"y": 1}}, True),
    ],
)
def test_comparisons(text: str, row: dict[str, Any], holds: bool) -> None:
    assert parse_where(text)(row) is holds


KINDS = [{"price": 9.5, "odd": True, "at": "2026-01-31T12:00:00.000Z", "sku": "007", "some": 1}]
KINDS += [{"price": None, "odd": False, "at": "2026-02-01T12:00:00.000Z", "sku": "7", "some": "x"}]


@pytest.mark.parametrize("form", ["jsonl", "csv", "sqlite", "parquet"])
@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("price<abc", "numbers"),
        ("price>=2026-01-31", "numbers"),
        ("price>true", "numbers"),
        ("price<inf", "numbers"),
        ("odd>maybe", "true or false"),
        ("at>yesterday", "times"),
        ("at<9.5", "times"),
        ("at<=2026", ""),
        ("sku<abc", "numbers"),
        ("sku=abc", ""),
        ('price<"abc"', ""),
        ("price~abc", ""),
        ("price<null ", "needs"),
        ("some<abc", ""),
        ("none<abc", ""),
        ("odd=1", ""),
        ("odd=true", ""),
        ("price<10", ""),
    ],
)
def test_a_comparison_with_what_the_field_cannot_be(text: str, has: str, form: str, tmp_path: Path) -> None:
    columns = {
        "pot": (
            Column("price", "float"),
            Column("odd", "bool"),
            Column("at", "time"),
            Column("sku"),
            Column("some"),
            *OURS,
        )
    }
    sink: Any = open_output(str(tmp_path / f"a.{form}"), columns)
    rows = [loose(n, kind="pot", **row) for n, row in enumerate(KINDS)]
    if form == "sqlite":
        sink.prepare()
        sink.upsert(rows)
    else:
        one = sink.sink("pot")
        one.close(one.append(one.prepare(), rows))
    if has == "needs":
        with pytest.raises(UsageError, match=has):
            why_senseless(text, [])
        return
    told = why_senseless(text, rows_of(str(tmp_path / f"a.{form}")))
    assert (f"contains {has}," in told) if has else not told
    if sqlite := getattr(sink, "close", None):
        sqlite()


@pytest.mark.parametrize(
    ("text", "told"), [("price=abc", True), ("odd=yes", True), ("odd!=yes", True), ("sku=abc", False)]
)
def test_values_that_are_no_texts_equal_none(text: str, told: bool) -> None:
    assert bool(why_senseless(text, KINDS)) is told


@given(st.text())
def test_any_comparison_is_read_or_refused(text: str) -> None:
    try:
        all_of(wheres=[text])({"a": 1})
        why_senseless(text, [{"a": 1}, {"a": "x"}])
    except UsageError:
        pass

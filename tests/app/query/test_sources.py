"""Rows read back from outputs of any format have their current state and the original values."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.app.query.filters import all_of
from gossamer.app.query.sources import rows_of
from gossamer.app.query.writing import write
from gossamer.cli.printing import put_json
from gossamer.sinks.columns import OURS, Column, page_columns
from gossamer.sinks.jsonl import encodable
from gossamer.sinks.output_spec import open_output
from gossamer.sinks.sqlite import Sqlite
from sinks.rows_and_commits import loose, page


def test_what_items_were_is_no_item(tmp_path: Path) -> None:
    sink = Sqlite(str(tmp_path / "a.sqlite"), {})
    sink.prepare()
    was, now = loose(1, kind="pot", a=1), loose(1, kind="pot", a=2)
    now.data["_seen_at"], was.run = "2025-01-01T00:00:00.000Z", "r"
    sink.upsert([was])
    sink.upsert([now])
    sink.close()
    assert [(row["_key"], row["a"]) for row in rows_of(str(tmp_path / "a.sqlite"))] == [("1", 2)]


def test_long_texts_of_csv_are_read(tmp_path: Path) -> None:
    rows = [{"_kind": "pot", "_key": str(n), "text": "x" * 300_000} for n in range(2)]
    assert write(str(tmp_path / "a.csv"), "items", iter(rows))[0] == 2
    assert [len(row["text"]) for row in rows_of(str(tmp_path / "a.csv"))] == [300_000] * 2


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "sqlite"])
@pytest.mark.parametrize("kept", ["jsonl", "csv", "parquet", "sqlite"])
def test_pages_of_every_form_go_to_every_form(kept: str, form: str, tmp_path: Path) -> None:
    sink: Any = open_output(str(tmp_path / f"a.{kept}"), {"page": page_columns(True, True, True)})
    rows = [page(n, text=f"text {n}", out_links=["u"], group_id="g") for n in range(3)]
    if kept == "sqlite":
        sink.prepare()
        sink.upsert(rows)
        sink.close()
    else:
        sink = sink.sink("page")
        sink.close(sink.append(sink.prepare(), rows))
    assert write(str(tmp_path / f"b.{form}"), "pages", rows_of(str(tmp_path / f"a.{kept}")))[0] == 3
    found = sorted((row["url"], row["text"], row["group_id"]) for row in rows_of(str(tmp_path / f"b.{form}")))
    assert found == [(f"http://a.test/{n}", f"text {n}", "g") for n in range(3)]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "sqlite"])
def test_moments_and_decimals_read_back_the_same_from_every_form(form: str, tmp_path: Path) -> None:
    columns = {"pot": (Column("price", "decimal"), Column("at", "time"), *OURS)}
    rows = [
        loose(n, kind="pot", price=Decimal(price), at=at)
        for n, (price, at) in enumerate(
            [("19.90", "2026-01-01T12:00:00.250Z"), ("20", "2026-01-01T12:00:00.250001Z")]
        )
    ]
    for row in rows:
        row.data["_seen_at"] = "2026-01-01T12:00:00.250Z"
    sink: Any = open_output(str(tmp_path / f"a.{form}"), columns)
    if form == "sqlite":
        sink.prepare()
        sink.upsert(rows)
        sink.close()
    else:
        for one, part in sink.route(rows):
            one.close(one.append(one.prepare(), part))
    found = list(rows_of(str(tmp_path / f"a.{form}")))
    assert [(row["price"], row["at"], row["_seen_at"]) for row in found] == [
        (19.9, "2026-01-01T12:00:00.250Z", "2026-01-01T12:00:00.250Z"),
        (20, "2026-01-01T12:00:00.250001Z", "2026-01-01T12:00:00.250Z"),
    ]
    assert len(list(filter(all_of(since="2026-01-01T12:00:00Z"), found))) == 2
    assert not list(filter(all_of(since="2026-01-01T12:00:01Z"), found))


def test_decimals_are_numbers_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    put_json({"d": Decimal("0.1234567890123456789")})
    assert capsys.readouterr().out == '{"d":0.1234567890123456789}\n'


@given(
    st.lists(st.text(), min_size=1, max_size=5)
    | st.lists(st.from_regex(r"\A'*[=+-]?x?\Z"), min_size=1, max_size=5)
)
def test_texts_that_csv_guards_are_read_as_they_were(texts: list[str]) -> None:
    texts = [encodable(text).replace("\0", "") for text in texts]
    with TemporaryDirectory() as folder:
        rows = [{"_kind": "pot", "_key": str(n), "text": text} for n, text in enumerate(texts)]
        write(f"{folder}/a.csv", "items", iter(rows))
        assert [row["text"] or "" for row in rows_of(f"{folder}/a.csv")] == texts

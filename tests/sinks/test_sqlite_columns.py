"""The columns that SQLite overwrites when a row is written again, and the foreign columns that it leaves
alone."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gossamer.sinks.columns import Column
from sinks.rows_and_commits import book, loose, page
from sinks.test_sqlite import COLUMNS, ask, opened


def test_a_row_that_is_written_again_is_as_its_item_is_now(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    with opened(path, {"book": (*COLUMNS["book"], Column("Old"))}) as sink:
        rows = [book(n) for n in (1, 2)]
        for row in rows:
            row.data["Old"] = "x"
        sink.upsert([*rows, page(1)])
    with closing(sqlite3.connect(path)) as base:
        base.execute("ALTER TABLE book ADD COLUMN mine DEFAULT 'no'")
        base.execute("ALTER TABLE book ADD COLUMN Note TEXT")
        base.execute("ALTER TABLE book ADD COLUMN twice GENERATED ALWAYS AS (stock * 2)")
        base.execute("UPDATE book SET mine = 'yes', note = 'good'")
        base.commit()
    with opened(path) as sink:
        later = book(1, stock=4)
        later.data["_seen_at"] = "2024-05-02T12:00:00.000Z"
        sink.upsert([later, book(2), book(3)])  # the second row did not change
    assert ask(path, "SELECT upc, old, mine, note, twice FROM book ORDER BY 1") == [
        ("1", None, "yes", "good", 8),
        ("2", "x", "yes", "good", 0),
        ("3", None, "no", None, 0),
    ]
    ((past,),) = ask(path, "SELECT _data FROM _history")
    assert json.loads(past)["Old"] == "x"


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "of an older gossamer"])
def test_columns_that_others_added_stay_as_they_are(listed: bool, tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"

    def later(row: Any) -> Any:
        row.data |= {"_seen_at": "2024-05-02T12:00:00.000Z", "_hash": "other"}
        return row

    with opened(path) as sink:
        sink.upsert([book(1), loose(1, a=1, b=2), page(1)])
    with closing(sqlite3.connect(path)) as base:
        for table in ("book", "note", "page"):
            base.execute(f"ALTER TABLE {table} ADD COLUMN own TEXT")
            base.execute(f"UPDATE {table} SET own = 'mine'")  # noqa: S608
        if not listed:
            base.execute("DROP TABLE _columns")
        base.commit()
    for _ in range(2):
        with opened(path) as sink:
            sink.upsert([later(book(1, title="new")), later(loose(1, a=3)), page(1, title="new")])
            sink.upsert([later(loose(2, b=4))])
    assert (
        ask(path, "SELECT title, own FROM book")
        == ask(path, "SELECT title, own FROM page")
        == [("new", "mine")]
    )
    assert ask(path, "SELECT a, b, own FROM note ORDER BY _key") == [(3, None, "mine"), (None, 4, None)]

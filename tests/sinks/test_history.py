"""Upserts and history: the table of `sinks.history`, and SQLite's conformance to it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.interfaces import HistorySink
from gossamer.model.visit import Row
from gossamer.sinks.columns import item_columns
from gossamer.sinks.history import ItemState, fold_writes, state_after_gone, state_after_seen
from gossamer.sinks.sqlite import Sqlite
from sinks.rows_and_commits import Book, book

DAYS = [f"2026-01-0{day}T00:00:00.000Z" for day in range(1, 8)]
ONE = ItemState("a", DAYS[1], DAYS[1], DAYS[1])


@pytest.mark.parametrize(
    ("was", "content", "day", "state"),
    [
        (None, "a", 1, ONE),
        (ONE, "a", 2, ONE),
        (ONE, "b", 2, ItemState("b", DAYS[1], DAYS[2], DAYS[2])),
        (ONE, "b", 0, ONE),  # older than the stored state
        (ONE._replace(deleted_at=DAYS[3]), "a", 2, ONE._replace(deleted_at=DAYS[3])),
        (ONE._replace(deleted_at=DAYS[3]), "a", 4, ItemState("a", DAYS[1], DAYS[4], DAYS[1])),
        (ONE._replace(deleted_at=DAYS[3]), "b", 4, ItemState("b", DAYS[1], DAYS[4], DAYS[4])),
    ],
)
def test_what_seeing_an_item_makes_of_its_state(
    was: ItemState | None, content: str, day: int, state: ItemState
) -> None:
    found = state_after_seen(was, content, DAYS[day])
    assert found == state
    assert (found is was) == (state == was)  # nothing to write


def test_what_is_gone_is_so_once_and_not_before_it_was_seen() -> None:
    deleted = state_after_gone(ONE, DAYS[2])
    assert deleted == ONE._replace(deleted_at=DAYS[2])
    assert state_after_gone(deleted, DAYS[3]) is deleted
    assert state_after_gone(ONE, DAYS[0]) is ONE


def at(day: int, n: int = 1, run: str = "", **changes: Any) -> Row:
    row = book(n, **changes)
    row.data["_seen_at"], row.data["_url"], row.run = DAYS[day], f"http://a.test/{n}", run
    return row


def test_a_batch_is_taken_in_its_order_and_repeating_it_changes_nothing() -> None:
    rows = [at(1, title="a"), at(1, title="a"), at(2, title="b"), at(3, title="c"), at(3, title="d")]
    folded = fold_writes(rows, {})
    ((row, state),) = folded.rows.values()
    assert (row.data["title"], state.first_seen_at, state.changed_at) == ("d", DAYS[1], DAYS[3])
    assert [
        (past.row and past.row.data["title"], past.state.seen_at, past.until) for past in folded.past
    ] == [
        ("a", DAYS[1], DAYS[2]),
        ("b", DAYS[2], DAYS[3]),
    ]
    again = fold_writes([at(3, title="d")], {name: state for name, (_, state) in folded.rows.items()})
    assert again[:2] == ({}, [])


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as base:
        return base.execute(question).fetchall()


def test_sqlite_writes_nothing_for_what_did_not_change_and_keeps_what_did(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    sink = Sqlite(str(path), item_columns([Book]))
    assert isinstance(sink, HistorySink)
    sink.prepare()
    sink.upsert([at(1, 1), at(1, 2)])
    before = sink._connect().total_changes
    sink.upsert([at(2, 1), at(2, 2)])
    assert sink._connect().total_changes == before
    sink.upsert([at(3, 1, title="new", price=None)])
    sink.upsert([at(3, 1, title="new", price=None), at(2, 1)])  # repeats a row and adds an older one
    assert ask(
        path, "SELECT title, _first_seen_at, _seen_at, _changed_at, _deleted_at FROM book ORDER BY _key"
    ) == [
        ("new", DAYS[1], DAYS[3], DAYS[3], None),
        ("Book 2", DAYS[1], DAYS[1], DAYS[1], None),
    ]
    ((kind, key, began, until, data),) = ask(path, "SELECT _kind, _key, _from, _until, _data FROM _history")
    assert (kind, key, began, until) == ("book", "1", DAYS[1], DAYS[3])
    assert (json.loads(data)["title"], json.loads(data)["price"]) == ("Book 1", 19.9)
    sink.gone([("http://a.test/1", DAYS[4]), ("http://a.test/other", DAYS[4])])
    sink.gone([("http://a.test/1", DAYS[5])])
    assert ask(path, "SELECT _key, _deleted_at FROM book ORDER BY 1") == [("1", DAYS[4]), ("2", None)]
    sink.upsert([at(6, 1, title="new", price=None)])  # the item is back, unchanged
    assert ask(path, "SELECT _seen_at, _changed_at, _deleted_at FROM book WHERE _key = '1'") == [
        (DAYS[6], DAYS[3], None)
    ]
    assert ask(path, "SELECT _from, _until FROM _history ORDER BY 1") == [
        (DAYS[1], DAYS[3]),
        (DAYS[3], DAYS[4]),
    ]
    sink.close()


def test_what_a_whole_run_did_not_see_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "out.sqlite"
    sink = Sqlite(str(path), item_columns([Book]))
    sink.prepare()
    sink.upsert([at(1, n, run="r1") for n in range(3)])
    sink.upsert([at(2, 0, run="r2"), at(2, 1, run="r2", title="x")])
    assert sink.unseen("other", "r2", DAYS[3]) == 0
    assert sink.unseen("a", "r2", DAYS[3]) == 1
    assert sink.unseen("a", "r2", DAYS[3]) == 0
    assert ask(path, "SELECT _key FROM book WHERE _deleted_at IS NOT NULL") == [("2",)]
    sink.close()

"""The outputs of a crawl together: page records and items are separate, and no two outputs share a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.model.interfaces import FileOutput
from gossamer.model.visit import Row
from gossamer.sinks.columns import item_columns, page_columns
from gossamer.sinks.open_outputs import SiteOutput, open_all
from sinks.rows_and_commits import Book, page

PAGES = page_columns()
ITEM = Row(
    "book",
    "1",
    {
        "upc": "1",
        "title": "t",
        "_url": "u",
        "_site": "s",
        "_kind": "book",
        "_key": "1",
        "_seen_at": "2026-01-01T00:00:00Z",
        "_hash": "h",
    },
)
ROWS = [page(1), ITEM]


def written(files: Sequence[FileOutput]) -> dict[str, list[str]]:
    """Returns the kinds of the rows that go to each file."""
    found: dict[str, list[str]] = {}
    for output in files:
        for sink, rows in output.route(ROWS):
            found.setdefault(Path(sink.target()).name, []).extend(row.kind for row in rows)
    return found


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_page_records_of_a_site_go_to_their_own_file_alone(tmp_path: Path, ending: str) -> None:
    columns = dict(item_columns([Book]))
    files, _ = open_all(
        [(f"{tmp_path}/i.{ending}", False)], columns, f"{tmp_path}/p.{ending}", {"page": PAGES}, "o"
    )
    items = f"i.{'book.' if ending == 'csv' else ''}{ending}"
    assert written(files) == {items: ["book"], f"p.{ending}": ["page"]}


def test_tables_are_kept_apart_too(tmp_path: Path) -> None:
    columns = dict(item_columns([Book]))
    _, tables = open_all(
        [(f"{tmp_path}/i.sqlite", False)], columns, f"{tmp_path}/p.sqlite", {"page": PAGES}, "o"
    )
    for table in tables:
        table.prepare()
        table.upsert(ROWS)
        table.close()
    for name, has, lacks in (("i", "book", "page"), ("p", "page", "book")):
        with sqlite3.connect(tmp_path / f"{name}.sqlite") as base:
            tables_there = {
                row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            assert base.execute(f"SELECT count(*) FROM {has}").fetchone() == (1,)  # noqa: S608 - a word of ours
            assert lacks not in tables_there
        base.close()


def test_a_plain_crawl_has_page_records_in_all_outputs(tmp_path: Path) -> None:
    files, _ = open_all(
        [(f"{tmp_path}/a.jsonl", False)], {"page": PAGES}, f"{tmp_path}/p.jsonl", {"page": PAGES}, "o"
    )
    assert all("page" in kinds for kinds in written(files).values())


@pytest.mark.parametrize(("one", "other"), [("a.jsonl", "a.jsonl"), ("a.csv", "./a.csv")])
def test_two_outputs_to_one_file_are_refused(
    tmp_path: Path, one: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="2 outputs write to"):
        open_all([(one, False), (other, False)], {"page": PAGES}, None, {"page": PAGES}, "o")
    with pytest.raises(UsageError, match="2 outputs write to"):
        open_all([(one, False)], {"page": PAGES}, other, {"page": PAGES}, "o")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_two_names_of_one_file_are_one(tmp_path: Path, link: str) -> None:
    (tmp_path / "a.jsonl").touch()
    getattr(tmp_path / "b.jsonl", link)(tmp_path / "a.jsonl")
    for one, other in (("a", "b"), ("a", "folder/a")):
        (tmp_path / "folder").exists() or (tmp_path / "folder").symlink_to(tmp_path)
        with pytest.raises(UsageError, match="2 outputs write to"):
            open_all([(f"{tmp_path}/{name}.jsonl", False) for name in (one, other)], {}, None, {}, "o")


def test_items_of_some_sites_go_to_their_own_file(tmp_path: Path) -> None:
    other = Row("book", "2", {**ITEM.data, "_site": "t", "_key": "2"})
    own = [
        SiteOutput(f"{tmp_path}/own.csv", frozenset({"s"}), item_columns([Book])),
        SiteOutput(f"{tmp_path}/t.sqlite", frozenset({"t"}), {}),
    ]
    files, (table,) = open_all(
        [(f"{tmp_path}/all.jsonl", False)], item_columns([Book]), None, {"page": PAGES}, "o", own
    )
    found = {
        Path(sink.target()).name: [row.key for row in rows]
        for output in files
        for sink, rows in output.route([*ROWS, other])
    }
    assert found == {"all.jsonl": ["1", "2"], "own.book.csv": ["1"]}  # page records require --pages
    table.prepare()
    table.upsert([*ROWS, other])
    table.close()
    with sqlite3.connect(tmp_path / "t.sqlite") as base:
        assert base.execute("SELECT _key FROM book").fetchall() == [("2",)]
    base.close()
    with pytest.raises(UsageError, match="2 outputs write to"):
        open_all(
            [(f"{tmp_path}/own.jsonl", False)],
            {},
            None,
            {},
            "o",
            [SiteOutput(f"{tmp_path}/own.jsonl", frozenset({"s"}), {})],
        )

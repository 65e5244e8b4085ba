"""The journal of a Parquet folder. It contains lines after small batches of rows and Arrow batches after
large ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

from gossamer.errors import SinkError
from gossamer.model.visit import Row
from gossamer.sinks.columns import item_columns, page_columns
from gossamer.sinks.parquet import Parquet
from sinks.rows_and_commits import Book, book, page
from support import fork_server

MANY = 200


def pages(start: int, count: int, **fields: Any) -> list[Row]:
    return [page(n, **fields) for n in range(start, start + count)]


def sink(path: Path, columns: Any = None, owner: str = "crawl@1") -> Parquet:
    return Parquet(str(path), columns or page_columns(), owner=owner)


def read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pyarrow.dataset.dataset(path, format="parquet").to_table().to_pylist()
    return found


def without(rows: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [{**row, name: None} for row in rows]


def journal(path: Path) -> Path:
    (found,) = path.glob("_journal*")
    return found


def put(path: Path, batches: Sequence[list[Row]], columns: Any = None) -> list[dict[str, Any]]:
    out = sink(path, columns)
    length = out.prepare()
    for batch in batches:
        length = out.append(length, batch)
    out.close(length)
    return read(path)


def test_rows_are_the_same_in_the_same_order_however_they_came(tmp_path: Path) -> None:
    options: list[dict[str, Any]] = [
        {},
        {"status": None, "title": None},
        {"redirects": ["a", "b"], "language": "日本"},
    ]
    rows = [page(n, **options[n % 3]) for n in range(3 * MANY)]
    found = put(tmp_path / "mixed", [rows[:5], rows[5:MANY], rows[MANY : MANY + 1], rows[MANY + 1 :]])
    assert [row["url"] for row in found] == [row.data.url for row in rows]
    assert found == put(tmp_path / "lines", [[row] for row in rows])


def test_many_records_are_a_batch_and_items_lines(tmp_path: Path) -> None:
    out = sink(tmp_path / "pages")
    length = out.append(out.prepare(), pages(0, MANY))
    said = journal(tmp_path / "pages").read_bytes()
    assert said.startswith(b"[")
    assert len(said) == length
    assert said.count(b'{"url"') == 0
    items = sink(tmp_path / "books", item_columns([Book])["book"])
    items.append(items.prepare(), [book(n) for n in range(MANY)])
    assert journal(tmp_path / "books").read_bytes().count(b"\n{") == MANY - 1


def test_fields_that_some_pages_lack(tmp_path: Path) -> None:
    rows = [page(n, text="long") if n % 2 else page(n) for n in range(MANY)]
    assert [row["text"] for row in put(tmp_path / "out", [rows], page_columns(text=True))] == [
        None,
        "long",
    ] * (MANY // 2)


@pytest.mark.parametrize(
    "odd", [{"fetched_at": "yesterday"}, {"bytes": 2**80}, {"status": "fine"}, {"title": "\ud800"}]
)
def test_a_value_that_does_not_fit_is_kept_with_its_neighbours(odd: dict[str, Any], tmp_path: Path) -> None:
    rows = pages(0, MANY)
    rows[7] = page(7, **odd)
    found = put(tmp_path / "out", [rows])
    assert len(found) == MANY
    (name,) = odd
    if name == "title":
        assert found[7]["title"] == "\ufffd"
    else:
        assert found[7][name] is None
        assert name in found[7]["_extra"]
    assert found[:7] + found[8:] == put(tmp_path / "others", [rows[:7] + rows[8:]])


@pytest.mark.parametrize("less", [1, 1000, -1])
def test_a_batch_that_is_not_whole_is_left_out_by_the_next_crawl(less: int, tmp_path: Path) -> None:
    path = tmp_path / "out"
    out = sink(path)
    first = out.append(out.prepare(), [*pages(0, 3)])
    second = out.append(first, pages(3, MANY))
    # -1: within the line that contains the batch's length
    os.truncate(journal(path), second - less if less > 0 else first + 3)
    later = sink(path, owner="crawl@2")
    later.close(later.prepare())
    assert [row["url"] for row in read(path)] == [f"http://a.test/{n}" for n in range(3)]


def test_a_batch_made_with_other_columns_is_taken_over_by_the_next_crawl(tmp_path: Path) -> None:
    path = tmp_path / "out"
    out = sink(path, page_columns(text=True))
    out.append(out.prepare(), pages(0, MANY, text="kept", elapsed=1.5))
    later = sink(path, owner="crawl@2")
    later.close(later.prepare())
    found = read(path)
    assert {row["_extra"] for row in found} == {'{"text":"kept"}'}
    assert without(found, "_extra") == without(
        put(tmp_path / "plain", [pages(0, MANY, elapsed=1.5)]), "_extra"
    )


@pytest.mark.parametrize("at", [20, -3000])
def test_a_journal_that_lost_bytes_is_said_so(at: int, tmp_path: Path) -> None:
    path = tmp_path / "out"
    out = sink(path)
    length = out.append(out.prepare(), pages(0, MANY))
    with journal(path).open("r+b") as file:
        file.seek(at, os.SEEK_SET if at > 0 else os.SEEK_END)
        file.write(b"\xff" * 200)
    with pytest.raises(SinkError, match="damaged"):
        out.close(length)


@pytest.mark.parametrize("count", [3, MANY])
def test_what_was_written_before_with_other_columns_is_kept_when_a_crawl_goes_on(
    count: int, tmp_path: Path
) -> None:
    out = sink(tmp_path / "out", page_columns(text=True))
    length = out.append(out.prepare(), [*pages(0, count - 1, text="kept"), page(count - 1, text=None)])
    later = sink(tmp_path / "out", page_columns(links=True))
    later.close(later.append(length, [page(count, out_links=["a"])]))
    found = read(tmp_path / "out")
    assert [row["_extra"] for row in found] == ['{"text":"kept"}'] * (count - 1) + [None] * 2
    assert found[-1]["out_links"] == ["a"]


def test_numpy_is_not_needed(tmp_path: Path) -> None:
    """Users may have pyarrow without numpy. In the tests another package installs numpy."""
    code = """
import sys
sys.modules["numpy"] = None
from pathlib import Path
from sinks.test_parquet_journal import pages, put
assert len(put(Path(sys.argv[1]) / "out", [pages(0, 5), pages(5, 200)])) == 205
"""
    tests = str(Path(__file__).parents[1])
    given = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    fork_server.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=given)

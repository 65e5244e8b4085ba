"""Parquet output: a folder of closed parts, exact after a kill at any step."""

from __future__ import annotations

import importlib.util
import os
import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, DiskFull, SinkError, UsageError
from gossamer.sinks import parquet
from gossamer.sinks.columns import item_columns, page_columns
from gossamer.sinks.crash_safe_file import read_mark
from gossamer.sinks.parquet import Parquet
from sinks.rows_and_commits import Book, Died, Store, book, crawl, dying, loose, page

BOOK = item_columns([Book])["book"]
ROWS = [page(n) for n in range(9)]
URLS = [row.data.url for row in ROWS]


@pytest.fixture(autouse=True, params=["lines", "batches"])
def held(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(parquet, "_MIN_BATCH_RECORDS", 1 if request.param == "batches" else 1000)
    return str(request.param)


def folder(path: Path, columns: Any = None, **options: Any) -> Parquet:
    return Parquet(str(path), columns or page_columns(), **{"owner": "crawl@1", "part_bytes": 900, **options})


def read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pa.dataset.dataset(path, format="parquet").to_table().to_pylist()
    return found


def urls(path: Path) -> list[str]:
    return sorted(row["url"] for row in read(path))


def written(path: Path, rows: list[Any], columns: Any) -> list[dict[str, Any]]:
    sink = Parquet(str(path), columns)
    sink.close(sink.append(sink.prepare(), rows))
    return read(path)


def names(path: Path) -> list[str]:
    return sorted(os.listdir(path))


def test_a_crawl_leaves_closed_parts_and_nothing_else(tmp_path: Path) -> None:
    path, store = tmp_path / "out.parquet", Store()
    crawl(folder(path), store, ROWS)
    assert len(names(path)) > 2
    assert all(name.startswith("part-") and name.endswith(".parquet") for name in names(path))
    assert urls(path) == URLS


@pytest.mark.parametrize("keep", [0.0, 60.0])
def test_killed_at_every_step_nothing_is_lost_or_twice(
    keep: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = 0
    for at in range(1, 200):
        path, store = tmp_path / f"out{at}", Store()
        with dying(at, monkeypatch):
            try:
                crawl(folder(path, keep=keep), store, ROWS)
            except Died:
                died += 1
                if path.exists() and any(name.endswith(".parquet") for name in names(path)):
                    assert set(urls(path)) <= set(URLS)  # a reader sees only whole parts at any time
            else:
                break
        crawl(folder(path, keep=keep), store, ROWS)
        assert urls(path) == URLS, at
        assert not [name for name in names(path) if name.startswith("_journal")]
    assert died > 25


@pytest.mark.parametrize("lost", [1, 2, 3, 5])
def test_a_store_that_lost_its_last_commits_is_followed_back(
    lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(12, 40):
        path, store = tmp_path / f"out{at}", Store()
        with dying(at, monkeypatch), pytest.raises(Died):
            crawl(folder(path), store, ROWS, size=1)
        store.lose(lost)
        crawl(folder(path), store, ROWS)
        assert urls(path) == URLS, at


def test_stale_rows_are_cut_also_at_the_turn_of_a_part(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = folder(path, part_bytes=1)
    first = sink.append(sink.prepare(), ROWS[:2])
    sink.append(first, ROWS[2:5])
    last = sink.append(first, [ROWS[2], ROWS[4]])
    sink.close(last)
    assert urls(path) == [*URLS[:3], URLS[4]]


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "out"
    one, two = folder(path), folder(path)
    length = one.prepare()
    for n, row in enumerate(ROWS):
        length = (one, two)[n % 2].append(length, [row])
    one.close(length)
    length = two.append(length, [page(99)])
    two.close(length)
    assert urls(path) == sorted([*URLS, "http://a.test/99"])


def test_a_killed_process_that_turned_the_part(tmp_path: Path) -> None:
    path = tmp_path / "out"
    one, two = folder(path, part_bytes=1), folder(path, part_bytes=1)
    length = two.append(one.prepare(), ROWS[:2])
    two.append(length, ROWS[2:4])  # closes the part, writes, and is killed before the commit
    length = one.append(length, ROWS[2:3])
    one.close(length)
    assert urls(path) == URLS[:3]


def test_append_adds_parts_and_overwrite_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "out"
    crawl(folder(path), Store(), ROWS)
    later = folder(path, owner="crawl@2")
    assert later.prepare() > 0
    crawl(later, Store(), [page(10)])
    assert urls(path) == sorted([*URLS, "http://a.test/10"])
    (path / "foreign.parquet").write_bytes((path / names(path)[0]).read_bytes())
    crawl(folder(path, owner="crawl@3", overwrite=True), Store(), [page(11)])
    assert urls(path) == ["http://a.test/11"]


def test_an_abandoned_journal_is_closed_by_the_next_crawl(held: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = folder(path)
    sink.append(sink.prepare(), [page(1), page(2, text="kept")])
    (journal,) = path.glob("_journal*")
    with journal.open("ab") as file:
        file.write(b'no json\n{"url":"broken')
    other = folder(path, owner="crawl@2")
    other.close(other.prepare())
    found = read(path)
    assert [row["url"] for row in found] == ["http://a.test/1", "http://a.test/2", None]
    assert [row["_extra"] for row in found] == [
        None,
        '{"text":"kept"}' if held == "lines" else None,
        "no json",
    ]


def test_missing_parts_and_foreign_crawls_are_exit_20(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = folder(path)
    length = sink.append(sink.prepare(), ROWS[:3])
    (journal,) = path.glob("_journal*")
    os.truncate(journal, journal.stat().st_size - 1)
    with pytest.raises(SinkError, match="missing"):
        sink.append(length, ROWS[3:])
    journal.unlink()
    with pytest.raises(SinkError, match="missing"):
        folder(path).append(length, ())
    path.rmdir()
    with pytest.raises(SinkError, match="is gone"):
        sink.append(length, ())


def test_a_missing_part_is_named_and_only_parts_of_the_crawl_are_discarded(tmp_path: Path) -> None:
    path = tmp_path / "out"
    other = folder(path, owner="other@1")
    other.close(other.append(other.prepare(), ROWS[:1]))
    sink = folder(path, part_bytes=1)
    length = sink.prepare()
    for row in ROWS[1:5]:
        length = sink.append(length, [row])
    sink.close(length)
    earlier, first, lost, *_ = sorted(path.glob("part-*"))
    assert parquet.missing_part(str(path), length) == ""
    lost.unlink()
    with pytest.raises(SinkError, match=f"{lost.name} is missing"):
        folder(path).append(length, ())
    first.unlink()
    assert parquet.missing_part(str(path), length).startswith(first.name[:20])
    parquet.discard_parts(str(path), lost.name)
    assert [*path.iterdir()] == [earlier]


def test_parts_of_another_crawl_are_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = folder(path)
    length = sink.append(sink.prepare(), ROWS[:3])
    fd = os.open(path, os.O_RDONLY)
    marks = read_mark(fd) is not None
    os.close(fd)
    if not marks:
        return
    other = folder(path, owner="other@1")
    other.close(other.append(other.prepare(), ROWS[3:]))
    with pytest.raises(SinkError, match="another crawl"):
        sink.append(length, ())
    assert urls(path) == URLS
    with pytest.raises(SinkError, match="before this crawl"):
        folder(path, owner="other@1").append(0, ROWS)


def test_a_full_disk_while_closing_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    sink = folder(path, part_bytes=1)
    length = sink.append(sink.prepare(), ROWS[:2])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full)
        with pytest.raises(DiskFull):
            sink.append(length, ROWS[2:])
    sink.close(sink.append(length, ROWS[2:]))
    assert urls(path) == URLS
    assert all(name.startswith("part-") for name in names(path))


def test_page_types(tmp_path: Path) -> None:
    rows = [
        page(1, redirects=["u"]),
        page(2, status=None, elapsed=1.0, fetched_at="2024-05-01T14:00:00+02:00"),
    ]
    found = written(tmp_path / "out", rows, page_columns(True, True))
    moment = datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert [row["fetched_at"] for row in found] == [moment.replace(microsecond=250000), moment]
    assert [(row["status"], row["redirects"], row["text"], row["out_links"]) for row in found] == [
        (200, ["u"], None, None),
        (None, [], None, None),
    ]
    (part,) = (tmp_path / "out").iterdir()
    schema = pa.parquet.read_schema(part)
    assert (schema.field("status").type, schema.field("elapsed").type) == (pa.int64(), pa.float64())
    assert schema.field("redirects").type.value_type == pa.string()


def test_item_types(tmp_path: Path) -> None:
    found = written(
        tmp_path / "out", [book(1, price=Decimal("19.90"), tags=["a"], more={"x": [1]}, stock=2)], BOOK
    )
    row = found[0]
    assert (row["price"], row["tags"], row["more"], row["stock"]) == (Decimal("19.9"), ["a"], '{"x":[1]}', 2)
    assert row["_seen_at"] == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert row["_extra"] is None


def test_what_does_not_fit_is_kept_in_extra(tmp_path: Path) -> None:
    rows = [
        book(1, price="dear", stock=2**70),
        book(2, price=Decimal("0.12345678901"), tags=[1]),
        book(3, title=5),
        book(4, price=Decimal("NaN")),
        book(5, title="a\ud800"),
        book(6, price=Decimal("1e40")),
    ]
    rows[2].data["colour"] = "red"
    found = written(tmp_path / "out", rows, BOOK)
    assert [row["_extra"] for row in found] == [
        '{"price":"dear","stock":1180591620717411303424}',
        '{"price":0.12345678901,"tags":[1]}',
        '{"title":5,"colour":"red"}',
        None,
        None,
        '{"price":1E+40}',
    ]
    assert [row["price"] for row in found][:2] == [None, None]


@pytest.mark.parametrize(
    "told", ["12345678901234567890.123456789", "-99999999999999999999999999999.999999999"]
)
def test_a_decimal_that_fits_its_column_is_there_with_all_its_digits(told: str, tmp_path: Path) -> None:
    (row,) = written(tmp_path / "out", [book(1, price=Decimal(told))], BOOK)
    assert (row["price"], row["_extra"]) == (Decimal(told), None)


def test_a_page_value_that_arrow_refuses_does_not_stop_the_part(tmp_path: Path) -> None:
    found = written(
        tmp_path / "out", [page(1), page(2, fetched_at="yesterday"), page(3, bytes=2**80)], page_columns()
    )
    assert [row["url"] for row in found] == ["http://a.test/1", "http://a.test/2", "http://a.test/3"]
    assert [row["_extra"] for row in found] == [None, '{"fetched_at":"yesterday"}', f'{{"bytes":{2**80}}}']


def test_untyped_items(tmp_path: Path) -> None:
    sink = Parquet(str(tmp_path / "out"), None)
    sink.close(sink.append(sink.prepare(), [loose(1, a=1), loose(2)]))
    assert [(row["_key"], row["_extra"]) for row in read(tmp_path / "out")] == [("1", '{"a":1}'), ("2", None)]


def test_rows_longer_than_a_chunk(tmp_path: Path) -> None:
    long = "x" * (5 << 20)
    found = written(tmp_path / "out", [page(1, title=long), page(2)], page_columns())
    assert [len(row["title"]) for row in found] == [5 << 20, 6]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        folder(tmp_path / "none" / "out").prepare()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        folder(tmp_path / "file").prepare()


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyarrow" else real(name, *rest)
    )
    with pytest.raises(ConfigError, match=re.escape(install_command("parquet"))):
        folder(tmp_path / "out")


def test_an_empty_crawl_leaves_an_empty_folder(tmp_path: Path) -> None:
    crawl(folder(tmp_path / "out"), Store(), [])
    assert names(tmp_path / "out") == []


def test_the_journal_is_cut_too(tmp_path: Path) -> None:
    path = tmp_path / "out"
    sink = folder(path, part_bytes=1 << 20)
    first = sink.append(sink.prepare(), ROWS[:2])
    sink.append(first, ROWS[2:5])
    assert sink.append(first, ()) == first
    assert [journal.stat().st_size for journal in path.glob("_journal*")] == [first]

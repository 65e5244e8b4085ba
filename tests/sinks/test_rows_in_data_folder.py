"""Rows in the data folder: a file of frames that returns every row exactly, even if the writing process
died."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from gossamer.errors import SinkError
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks import rows_in_data_folder
from gossamer.sinks.rows_in_data_folder import KeptRows, iterate_kept, read_kept, whole_length


def page(n: int) -> Row:
    url = f"https://a.example/{n}"
    record = PageRecord(
        url,
        url,
        200,
        "T",
        "text/html",
        "en",
        1,
        None,
        "2026-01-01T00:00:00.000Z",
        0.1,
        9,
        "http",
        3,
        None,
        None,
        [],
        None,
    )
    return Row("page", url, record)


def item(n: int) -> Row:
    data = {
        "n": n,
        "price": Decimal("1.10"),
        "big": 1 << 90,
        "tags": ["a", "\ud800"],
        "none": None,
        "deep": {"x": [1.5]},
    }
    return Row("thing", str(n), data | {"_kind": "thing"}, run="r", once=True, lacks=("price",))


def test_every_row_comes_back_as_it_was(tmp_path: Path) -> None:
    sink = KeptRows(tmp_path)
    length = sink.prepare()
    wanted = [row for n in range(20) for row in (page(n), item(n))]
    for row in wanted:
        length = sink.append(length, [row])
    sink.close(length)
    ((rows, end),) = read_kept(sink.path)
    assert (rows, end) == (wanted, length)


def test_a_group_ends_at_the_offset_that_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_in_data_folder, "MIN_GROUP_ROWS", 3)
    sink = KeptRows(tmp_path)
    length = sink.prepare()
    for n in range(5):
        length = sink.append(length, [item(n), page(n)])
    whole = list(sink.read(0, length))
    assert [len(rows) for rows, _ in whole] == [4, 4, 2]
    assert list(sink.read(whole[0][1], length)) == whole[1:]


def test_a_long_commit_is_several_frames_of_which_a_reader_holds_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_in_data_folder, "MAX_FRAME_ROWS", 3)
    sink, unpacked = KeptRows(tmp_path), list[object]()
    wanted = [item(n) for n in range(7)]
    length = sink.append(sink.prepare(), wanted)
    monkeypatch.setattr(rows_in_data_folder, "unpack_row", lambda one: unpacked.append(one) or one)
    rows = iterate_kept(sink.path)
    next(rows)
    assert len(unpacked) == 1
    assert len([*rows]) == 6
    monkeypatch.undo()
    assert [*iterate_kept(sink.path)] == wanted
    with sink.path.open("r+b") as file:
        file.truncate(length - 1)
    assert [*iterate_kept(sink.path)] == wanted[:6]


@pytest.mark.parametrize("cut", [1, 4, 30])
def test_a_torn_frame_is_cut(tmp_path: Path, cut: int) -> None:
    sink = KeptRows(tmp_path)
    first = sink.append(sink.prepare(), [item(1)])
    second = sink.append(first, [item(2)])
    with sink.path.open("r+b") as file:
        file.truncate(second - cut)
    assert [row.key for rows, _ in read_kept(sink.path) for row in rows] == ["1"]
    assert whole_length(sink.path) == first
    assert KeptRows(tmp_path).prepare() == first == sink.path.stat().st_size


def test_damage_and_a_newer_version_are_told(tmp_path: Path) -> None:
    sink = KeptRows(tmp_path)
    length = sink.append(sink.prepare(), [item(1)])
    data = bytearray(sink.path.read_bytes())
    data[length // 2] ^= 0xFF
    sink.path.write_bytes(data)
    with pytest.raises(SinkError, match="damaged"):
        list(read_kept(sink.path))
    data[0] = 9
    sink.path.write_bytes(data)
    with pytest.raises(SinkError, match="version 9"):
        list(read_kept(sink.path))


def test_a_crawl_that_begins_again_drops_its_rows_and_one_that_visits_again_keeps_them(
    tmp_path: Path,
) -> None:
    sink = KeptRows(tmp_path)
    length = sink.append(sink.prepare(), [item(1)])
    assert KeptRows(tmp_path).prepare() == length
    rows_in_data_folder.mark_incomplete(tmp_path, "why")
    assert rows_in_data_folder.why_incomplete(tmp_path) == "why"
    assert KeptRows(tmp_path, overwrite=True).prepare() == 0
    assert rows_in_data_folder.why_incomplete(tmp_path) == ""

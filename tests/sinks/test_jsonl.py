"""JSON lines: rows read back as they were written, and no unusual value blocks a batch."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import DiskFull
from gossamer.sinks.jsonl import JsonLines, Stdout, encode, encode_lines
from sinks.rows_and_commits import book, loose, page

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def expected(value: Any) -> Any:
    if isinstance(value, float | Decimal):
        return value if Decimal(value).is_finite() else None
    if isinstance(value, list):
        return [expected(part) for part in value]
    if isinstance(value, dict):
        return {expected(name): expected(part) for name, part in value.items()}
    return value


@given(st.lists(st.dictionaries(st.text(), values, max_size=5), max_size=4))
def test_any_items_read_back_one_a_line(datas: list[dict[str, Any]]) -> None:
    rows = [loose(n, value=data) for n, data in enumerate(datas)]
    data = encode_lines(rows)
    assert data.count(b"\n") == len(rows)
    for row, line in zip(datas, data.split(b"\n"), strict=False):

        def refuse(word: str) -> None:
            raise AssertionError(f"{word} is not JSON")

        read = json.loads(line, parse_float=Decimal, parse_constant=refuse)["value"]
        assert same(read, expected(row))


def same(read: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return read.keys() == value.keys() and all(same(read[name], part) for name, part in value.items())
    if isinstance(value, list):
        return len(read) == len(value) and all(map(same, read, value))
    if isinstance(value, float):
        return float(read) == value
    return bool(read == value)


def test_a_page_record_has_the_fields_of_the_contract_in_order() -> None:
    read = json.loads(encode_lines([page(1)]))
    assert list(read) == [
        "url",
        "requested_url",
        "status",
        "title",
        "content_type",
        "language",
        "depth",
        "referrer",
        "fetched_at",
        "elapsed",
        "bytes",
        "collector",
        "links",
        "text_hash",
        "canonical",
        "redirects",
        "error",
    ]
    assert list(json.loads(encode_lines([page(1, text="t", out_links=["u"])])))[-2:] == ["text", "out_links"]


def test_decimals_are_numbers_and_text_is_as_it_is() -> None:
    line = encode_lines([book(1, title='Ünïcode ✓\u2028 "q"\n', price=Decimal("19.90"))])
    assert b'"price":19.90,' in line
    assert "Ünïcode ✓\u2028".encode() in line
    assert line.count(b"\n") == 1


@pytest.mark.parametrize(
    ("odd", "read"),
    [
        (Decimal("NaN"), None),
        (Decimal("-Infinity"), None),
        (Decimal("sNaN"), None),
        (float("inf"), None),
        ("\ud800x", "\ufffdx"),
        (10**40, 10**40),
        ({1, 2}, [1, 2]),
        (b"\xff", "/w=="),
        ({(1, 2): 3}, {"(1, 2)": 3}),
        ("NaN, [Infinity", "NaN, [Infinity"),
    ],
    ids=repr,
)
def test_odd_values_keep_the_batch_going(odd: Any, read: Any) -> None:
    found = [
        json.loads(line) for line in encode_lines([page(1), loose(2, odd=odd, ok=1), page(3)]).splitlines()
    ]
    assert found[1]["odd"] == read
    assert found[1]["ok"] == 1
    assert [found[0]["url"], found[2]["url"]] == ["http://a.test/1", "http://a.test/3"]


def test_endless_nesting_ends() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert json.loads(encode_lines([loose(1, ring=ring, ok=1)]))["ok"] == 1


def test_a_page_with_half_a_surrogate_pair() -> None:
    assert json.loads(encode_lines([page(1, title="a\udc00")]))["title"] == "a\ufffd"


def test_pages_and_items_share_one_file(tmp_path: Path) -> None:
    sink = JsonLines(str(tmp_path / "out.jsonl"))
    sink.close(sink.append(sink.prepare(), [page(1), book(2)]))
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_bytes().splitlines())
    assert (first["url"], second["_kind"], second["_key"]) == ("http://a.test/1", "book", "2")


def test_stdout_writes_at_once_and_whole() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # as some shells leave the pipe
    sink = Stdout(writer)
    sink.prepare()
    sink.upsert([page(1), page(2)])
    assert [json.loads(line)["status"] for line in os.read(reader, 65536).splitlines()] == [200, 200]
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        sink.upsert([page(3)])
    os.close(writer)


def test_stdout_on_a_full_disk() -> None:
    full = os.open("/dev/full", os.O_WRONLY) if os.path.exists("/dev/full") else -1
    if full >= 0:
        with pytest.raises(DiskFull, match="standard output"):
            Stdout(full).upsert([page(1)])
        os.close(full)


class Size(Enum):
    """A value that an item of a user may contain."""

    SMALL = "s"


def test_a_value_is_written_alike_whatever_stands_beside_it() -> None:
    value = {"e": Size.SMALL, "t": timedelta(seconds=5), "b": b"ab", "d": Decimal("1.50"), "s": {1}}
    alone = encode([value])
    odd = [{"x": "\ud800"}, {"x": Decimal("NaN")}, {"x": float("nan"), "y": object}]
    assert encode([value, *odd]).splitlines()[0] == alone[:-1]
    assert json.loads(encode([value | {"x": "\ud800"}])) == json.loads(alone) | {"x": "\ufffd"}

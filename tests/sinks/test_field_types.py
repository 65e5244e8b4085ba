"""Outputs keep the types of the item class, and an equal value never counts as a change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow.parquet
import pytest

from gossamer import Digits, Item
from gossamer.app.query.sources import natural_rows_of, rows_of
from gossamer.app.query.writing import infer_columns, write
from gossamer.app.reparse.comparison import differing
from gossamer.items.item_times import naive_times, time_fields, with_zone
from gossamer.model.item import plain_fields
from gossamer.model.visit import Row
from gossamer.sinks.columns import OURS, Column, item_columns
from gossamer.sinks.parquet import Parquet
from gossamer.sinks.sqlite import Sqlite
from sinks.rows_and_commits import loose, ours


class Pot(Item, key="sku"):
    sku: str
    day: date
    sizes: list[int]
    price: Annotated[Decimal, Digits(12, 2)]
    at: datetime | None = None


COLUMNS = item_columns([Pot])["pot"]


def pot(n: int) -> Row:
    data = plain_fields(Pot(sku=str(n), day=date(2026, 1, n), sizes=[n], price=Decimal("1.25")))
    return Row("pot", str(n), {**data, **ours("pot", str(n), data)})


def parquet(path: Path, columns: Any, *rows: Row, close: bool = True) -> None:
    sink = Parquet(str(path), columns)
    length = sink.append(sink.prepare(), rows)
    if close:
        sink.close(length)


def test_types_of_parquet_are_those_of_the_class(tmp_path: Path) -> None:
    """Before the fix, the types were string, string, decimal128(38, 9)."""
    parquet(tmp_path / "a", COLUMNS, pot(1))
    schema = pyarrow.parquet.read_table(tmp_path / "a").schema
    assert [str(schema.field(name).type) for name in ("day", "sizes", "price", "at")] == [
        "date32[day]",
        "list<element: int64>",
        "decimal128(12, 2)",
        "timestamp[us, tz=UTC]",
    ]


class When(Item, key="sku"):
    sku: str
    at: datetime
    more: list[datetime] = msgspec.field(default_factory=list)


def test_a_moment_without_a_zone_is_utc_and_its_item_did_not_change(tmp_path: Path) -> None:
    was = {"sku": "1", "at": "2026-01-31T12:30:00"}
    now = with_zone(
        plain_fields(When(sku="1", at=datetime(2026, 1, 31, 12, 30), more=[datetime(2026, 1, 1)])),
        time_fields(When),
    )
    assert (now["at"], now["more"]) == ("2026-01-31T12:30:00Z", ["2026-01-01T00:00:00Z"])
    aware = with_zone(
        plain_fields(When(sku="1", at=datetime(2026, 1, 31, 12, 30, tzinfo=UTC))), time_fields(When)
    )
    assert aware["at"] == now["at"]
    free = {
        "at": datetime(2026, 1, 31),
        "deep": [{"at": datetime(2026, 1, 31, tzinfo=UTC)}, {"at": datetime(2026, 2, 1)}],
        "text": "2026-01-31T00:00:00",
    }
    told = with_zone(plain_fields(free), naive_times(free))
    assert told == {
        "at": "2026-01-31T00:00:00Z",
        "deep": [{"at": "2026-01-31T00:00:00Z"}, {"at": "2026-02-01T00:00:00Z"}],
        "text": "2026-01-31T00:00:00",
    }
    assert differing(was, {"sku": "1", "at": now["at"]}) == {}


def test_a_sqlite_decimal_is_never_rounded_in_silence(tmp_path: Path) -> None:
    """Before the fix, the column contained 0.123456789012346 and nothing was reported."""
    price, told = Decimal("0.12345678901234567890"), []
    sink = Sqlite(
        str(tmp_path / "a.sqlite"),
        {"pot": (Column("price", "decimal"), *OURS)},
        refuse=lambda *one: told.append(one),
    )
    sink.prepare()
    sink.upsert(
        [
            loose(1, kind="pot", price=price),
            loose(2, kind="pot", price=Decimal("19.90")),
            loose(3, kind="pot", price=Decimal(2**62)),
        ]
    )
    sink.close()
    assert [(row["_key"], row["price"]) for row in rows_of(str(tmp_path / "a.sqlite"))] == [
        ("1", price),
        ("2", 19.9),
        ("3", 2**62),
    ]
    assert [(row.key, "15 digits" in why) for _, row, why in told] == [("1", True)]


@pytest.mark.parametrize("form", ["parquet", "sqlite"])
def test_export_keeps_types(form: str, tmp_path: Path) -> None:
    """Before the fix, `_extra` of Parquet contained every field."""
    spec = str(tmp_path / "a.parquet")
    (tmp_path / "a.pot.parquet").mkdir()
    parquet(tmp_path / "a.pot.parquet", COLUMNS, pot(1), pot(2))
    count, _ = write(
        f"{tmp_path}/b.{form}",
        "items",
        rows_of(spec),
        items=infer_columns(natural_rows_of(spec)),
        folder=str(tmp_path),
    )
    assert count == 2
    if form == "parquet":
        found = pyarrow.parquet.read_table(tmp_path / "b.pot.parquet")
        assert found.column("day").to_pylist() == [date(2026, 1, 1), date(2026, 1, 2)]
        assert found.column("sizes").to_pylist() == [[1], [2]]
        assert found.column("price").to_pylist() == [Decimal("1.25")] * 2
    assert not (tmp_path / "refused.jsonl").exists()
    assert [row["sku"] for row in rows_of(f"{tmp_path}/b.{form}")] == ["1", "2"]

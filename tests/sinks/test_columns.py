"""The columns of an output are known before its first row."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, Optional

import msgspec
import pytest

from gossamer.model.item import Item
from gossamer.model.visit import PageRecord
from gossamer.sinks.columns import OURS, Column, cell_value, column_type, item_columns, page_columns


class Colour(StrEnum):
    RED = "red"


class Size(Enum):
    BIG = 3


@pytest.mark.parametrize(
    ("annotation", "word"),
    [
        (int, "int"),
        (float, "float"),
        (str, "str"),
        (bool, "bool"),
        (Decimal, "decimal"),
        (datetime, "time"),
        (Optional[int], "int"),  # noqa: UP045
        (Decimal | None, "decimal"),
        (int | float, "float"),
        (int | str, "json"),
        (list[str], "strings"),
        (tuple[str, ...], "strings"),
        (set[str], "strings"),
        (list[int], "json"),
        (dict[str, int], "json"),
        (Any, "json"),
        (Literal["a", "b"], "str"),
        (Literal[1], "json"),
        (Colour, "str"),
        (Size, "json"),
        (Annotated[int, msgspec.Meta(ge=0)], "int"),
        (list, "json"),
        (None, "json"),
        ("Lost", "json"),
        (str | msgspec.UnsetType, "str"),
    ],
    ids=str,
)
def test_types_of_columns(annotation: Any, word: str) -> None:
    assert column_type(annotation) == word


def test_classes_of_one_kind_share_the_union_of_their_fields() -> None:
    one = type(Item)("Thing", (Item,), {"__annotations__": {"a": int, "b": str}})
    two = type(Item)("Thing", (Item,), {"__annotations__": {"b": int, "c": float}})
    assert item_columns([one, two]) == {
        "thing": (Column("a", "int"), Column("b", "json"), Column("c", "float"), *OURS)
    }


def test_annotations_that_cannot_be_read_are_json() -> None:
    lost = type(Item)("Lost", (Item,), {"__annotations__": {"a": "Nowhere"}})
    assert item_columns([lost])["lost"][0] == Column("a", "json")


def test_page_columns_are_the_record() -> None:
    assert (
        tuple(column.name for column in page_columns(True, True, True, True)) == PageRecord.__struct_fields__
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (1, 1),
        ("a", "a"),
        (None, None),
        (True, True),
        (Decimal("1.50"), "1.50"),
        (Decimal("NaN"), None),
        ([], "[]"),
        ([1, "ü"], '[1,"ü"]'),
        ({"a": None}, '{"a":null}'),
        (date(2024, 5, 1), "2024-05-01"),
        (Colour.RED, "red"),
        (Size.BIG, "3"),
        (b"\xff", "/w=="),
        (msgspec.UNSET, None),
    ],
    ids=repr,
)
def test_cells(value: Any, found: Any) -> None:
    assert cell_value(value) == found

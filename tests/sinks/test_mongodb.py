"""The update of an existing MongoDB document, without a server."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gossamer.sinks.mongodb import (
    UnrepresentableValue,
    extra_projection,
    to_decimal128,
    to_document,
    write_operation,
)
from sinks.rows_and_commits import loose

pymongo = pytest.importorskip("pymongo")
THERE = {"_id": "1", "note": "mine", "old": 1, "odd.name": 2}


@pytest.mark.parametrize(
    ("one", "there", "ours", "write"),
    [
        ({"_id": "1", "a": 1}, None, (), pymongo.InsertOne({"_id": "1", "a": 1})),
        (
            {"_id": "1", "a": 1},
            {"_id": "1"},
            (),
            pymongo.UpdateOne({"_id": "1"}, {"$set": {"a": 1}}, upsert=True),
        ),
        (
            {"_id": "1", "a": 1},
            THERE,
            ("old", "a"),
            pymongo.UpdateOne({"_id": "1"}, {"$set": {"a": 1}, "$unset": {"old": ""}}, upsert=True),
        ),
        (
            {"_id": "1", "a": 1},
            THERE,
            ("old", "odd.name"),
            pymongo.ReplaceOne({"_id": "1"}, {"_id": "1", "note": "mine", "a": 1}, upsert=True),
        ),
        (
            {"_id": "1", "$a": 1},
            {"_id": "1", "note": "mine"},
            (),
            pymongo.ReplaceOne({"_id": "1"}, {"_id": "1", "note": "mine", "$a": 1}, upsert=True),
        ),
    ],
    ids=["new", "again", "lost a field", "lost an odd one", "has an odd one"],
)
def test_what_is_not_ours_stays(
    one: dict[str, Any], there: dict[str, Any] | None, ours: tuple[str, ...], write: Any
) -> None:
    assert write_operation(one, there, ours) == write


def test_only_what_all_rows_write_over_is_not_asked_for() -> None:
    assert extra_projection([{"_id": 1, "a": 1, "b.c": 1, "d": 1}, {"_id": 2, "a": 1, "b.c": 1}]) == {"a": 0}


def test_a_document_begins_with_its_id_whatever_its_item_begins_with() -> None:
    """The driver treats a document whose first name begins with $ as an update."""
    assert [*to_document(to_decimal128, loose(1, **{"$set": 1}), None, shapes={})][:2] == ["_id", "$set"]


def test_decimals_are_decimal128_and_34_digits_at_most() -> None:
    """For servers with decimals, because FerretDB 1, which the other tests use, has none."""
    from bson import BSON, Decimal128

    value = Decimal("1234567890.012345678901234567890123")
    found = to_document(to_decimal128, loose(1, price=value), None, shapes={})["price"]
    assert (found, found.to_decimal()) == (Decimal128(str(value)), value)
    assert BSON.encode({"price": found}).decode() == {"price": Decimal128(str(value))}
    with pytest.raises(UnrepresentableValue, match="34 digits"):
        to_decimal128(Decimal("1." + "1" * 40))

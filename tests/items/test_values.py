"""Values that users put into items. Values that can be written are written, whatever their class. An item
with any other value is rejected, and the rejected record contains the field and the rest of the item."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from gossamer import Item, Site
from gossamer.errors import ConfigError
from gossamer.items import deduplicate
from gossamer.model.item import display_value, exception_message, plain_fields
from gossamer.model.visit import Row
from gossamer.sinks.jsonl import encode_lines
from gossamer.sites.item_builder import rejected_record
from items.test_steps import making


class Text(str):
    """A subclass of `str`, such as parsers return."""


class Moment(datetime):
    """A subclass of `datetime`, such as libraries for tables return."""


class Mute:
    """A class whose `repr` raises an error."""

    def __repr__(self) -> str:
        raise ValueError("no")


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("no")


class Maybe(Item, key="sku"):
    sku: str
    more: int | msgspec.UnsetType = msgspec.UNSET
    by_number: dict[int, str] = msgspec.field(default_factory=dict)


@pytest.mark.parametrize(
    ("value", "is_then"),
    [
        (Text("a"), "a"),
        ([Text("a")], ["a"]),
        (type("I", (int,), {})(3), 3),
        (type("F", (float,), {})(1.5), 1.5),
        (type("D", (Decimal,), {})("1.10"), Decimal("1.10")),
        (Fraction(1, 4), 0.25),
        (deque([1]), [1]),
        (Moment(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
        (MappingProxyType({"a": 1}), {"a": 1}),
        ({"a": 1}.keys(), ["a"]),
        (OrderedDict(a=1), {"a": 1}),
        (PurePosixPath("/x"), "/x"),
        ({1: {2: 3}}, {"1": {"2": 3}}),
    ],
)
def test_a_value_of_a_class_made_from_a_plain_one_is_that(value: Any, is_then: Any) -> None:
    assert plain_fields({"v": value}) == {"v": is_then}
    (made,) = making(give={"v": value})()
    assert (made.fields, made.faults) == ({"v": is_then}, ())


def test_names_that_are_numbers_and_fields_that_are_not_set() -> None:
    first, second, third = making(
        give=[
            Maybe(sku="1"),
            Maybe(sku="2", more=2, by_number={1: "x"}),
            Maybe(sku="3", by_number={"q": "x"}),
        ]  # type: ignore[dict-item]
    )()
    assert first.fields == {"sku": "1", "by_number": {}}
    assert second.fields == {"sku": "2", "more": 2, "by_number": {"1": "x"}}
    assert not second.faults
    assert [fault.field for fault in third.faults] == ["by_number"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1j, "1j"),
        (Mute(), "<Mute>"),
        (int, "<class 'int'>"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (range(3), "range(0, 3)"),
    ],
)
def test_what_cannot_be_written_is_rejected_with_its_field_and_the_rest(value: Any, told: str) -> None:
    (made,) = making(give={"sku": "1", "v": value})()
    kept = rejected_record(made)
    assert (kept["field"], kept["value"], kept["item"]) == ("v", told, {"sku": "1", "v": told})
    assert kept["reason"].startswith("it cannot be written: ")


def test_a_list_in_itself_is_rejected() -> None:
    ring: list[Any] = []
    ring.append(ring)
    (made,) = making(give={"v": ring})()
    assert rejected_record(made)["value"] == "[[...]]"


def test_what_a_step_puts_there_is_made_plain_or_rejected() -> None:
    (good,) = making(lambda item, page: item.update(at=Moment(2026, 1, 2), tags={"a"}), give={"sku": "1"})()
    assert good.fields == {"sku": "1", "at": "2026-01-02T00:00:00", "tags": ["a"]}
    for change, field, told in (({"v": Mute()}, "v", "<Mute>"), ({5: 7}, None, None)):
        (made,) = making(lambda item, page, change=change: item.update(change), give={"sku": "1"})()
        kept = rejected_record(made)
        assert (kept["field"], kept["value"], kept["item"]["sku"]) == (field, told, "1")
        assert all(type(name) is str for name in made.fields)
        assert encode_lines([Row("aside", "", kept)])


def test_a_step_that_fails_leaves_what_can_be_told() -> None:
    def odd(item: Any, page: Any) -> None:
        item["v"] = Mute()
        raise Silent

    (made,) = making(odd, give={"sku": "1"})()
    assert rejected_record(made)["item"] == {"sku": "1", "v": "<Mute>"}
    assert made.faults[0].reason == "step odd: Silent: it gives no reason"
    assert encode_lines([Row("aside", "", rejected_record(made))])


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError, GeneratorExit, SystemExit, type("Panic", (BaseException,), {})]
)
def test_no_error_of_a_step_or_a_page_function_gets_out(error: type[BaseException]) -> None:
    def breaks(*_: Any) -> None:
        raise error("x")

    (made,) = making(breaks, give={"sku": "1"})()
    assert made.faults[0].reason == f"step breaks: {error.__name__}: x"


def test_a_step_is_not_waited_for() -> None:
    async def late(item: Any, page: Any) -> None:
        raise AssertionError

    class Late:
        async def __call__(self, item: Any, page: Any) -> None:
            raise AssertionError

    for step in (late, Late()):
        with pytest.raises(ConfigError, match="with def, not async def"):
            Site("s", steps=(step,))
    (made,) = making(
        lambda item, page: late(item, page), give={"sku": "1"}
    )()  # an unawaited coroutine would raise a warning, which is an error here
    assert "returned coroutine" in made.faults[0].reason


def test_half_a_surrogate_pair_is_no_reason_to_drop_an_item() -> None:
    (made,) = making(deduplicate, give={"v": "\ud800"})()
    assert not made.faults
    assert exception_message(ValueError("\ud800")) == "?"
    assert display_value("\ud800") == "\ud800"

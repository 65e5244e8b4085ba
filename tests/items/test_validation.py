"""The annotations of a field validate its values in any class of items, and each fault is named."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from datetime import date, datetime
from decimal import Decimal
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal

import annotated_types
import msgspec
import pydantic
import pytest
from msgspec import Meta

from gossamer.items.validation import schema_of
from gossamer.model.item import Fresh, Item, kind_of, plain_fields

NOW = datetime(2026, 1, 31).timestamp()


class Strange:
    """A class that no validator supports."""


class Tea(Item, key="sku"):
    sku: Annotated[str, Meta(pattern=r"^T-\d+$")]
    name: Annotated[str, Meta(min_length=1)]
    price: Annotated[Decimal, Meta(gt=0, le=1000)] | None
    grams: Annotated[int, Meta(ge=1)] = 100
    sort: Literal["green", "black"] = "green"
    picked: Annotated[date | None, Fresh("30d")] = None
    notes: list[str] = msgspec.field(default_factory=list)
    odd: Strange | None = None


class Plain(msgspec.Struct, rename="camel", tag=True):
    sku: str
    price: Annotated[Decimal, Meta(gt=0)]
    picked_on: Annotated[str | None, Fresh("30d")] = None


@dataclasses.dataclass
class Data:
    item_key: ClassVar[str] = "sku"
    sku: str
    price: Annotated[Decimal, Meta(gt=0)]
    more: dict[str, int] = dataclasses.field(default_factory=dict)


class Model(pydantic.BaseModel):
    item_key: ClassVar[str] = "sku"
    sku: str = pydantic.Field(pattern="^T")
    price: Annotated[Decimal, pydantic.Field(gt=0)]


class Marked(Item):
    n: Annotated[int, annotated_types.Gt(3)]


GOOD = {"sku": "T-1", "name": "Assam", "price": Decimal("9.50"), "picked": "2026-01-20"}
WRONG = [
    ({"sku": "X"}, "sku", "X", "matching regex"),
    ({"sku": None}, "sku", None, "Expected `str`, got `null`"),
    ({"name": ""}, "name", "", "length >= 1"),
    ({"price": Decimal(0)}, "price", Decimal(0), "it is not > 0"),
    ({"price": "1000.01"}, "price", Decimal("1000.01"), "it is not <= 1000"),
    ({"price": "free"}, "price", "free", "Invalid decimal"),
    ({"price": Decimal("NaN")}, "price", None, "cannot be compared"),
    ({"grams": "100"}, "grams", "100", "Expected `int`, got `str`"),
    ({"grams": 0}, "grams", 0, ">= 1"),
    ({"sort": "red"}, "sort", "red", "Invalid enum"),
    ({"picked": "2025-12-20"}, "picked", "2025-12-20", "it is older than 30d"),
    ({"picked": "2026-03-01"}, "picked", "2026-03-01", "it lies in the future"),
    ({"picked": "soon"}, "picked", "soon", "Invalid"),
    ({"notes": ["a", 1]}, "notes", ["a", 1], "Expected `str`, got `int`"),
]


@pytest.mark.parametrize(("change", "field", "value", "reason"), WRONG)
def test_what_is_wrong_is_named(change: dict[str, Any], field: str, value: Any, reason: str) -> None:
    assert schema_of(Tea).faults(dict(GOOD), NOW) == []
    (fault,) = schema_of(Tea).faults({**GOOD, **change}, NOW)
    assert (fault.field, reason in fault.reason) == (field, True), fault
    if value is not None:
        assert fault.value == value


def test_all_faults_are_named_and_what_is_missing_too() -> None:
    faults = schema_of(Tea).faults({"sku": "X", "price": Decimal(-1), "odd": Strange()}, NOW)
    assert [(fault.field, fault.value) for fault in faults] == [
        ("sku", "X"),
        ("name", None),
        ("price", Decimal(-1)),
    ]
    assert faults[1].reason == "it is missing"


def test_numbers_given_as_text_become_numbers_and_dates_without_a_clock_are_not_judged() -> None:
    fields = {**GOOD, "price": "9.50", "picked": "1999-01-01"}
    assert schema_of(Tea).faults(fields, 0.0) == []
    assert fields["price"] == Decimal("9.50")


@pytest.mark.parametrize("cls", [Plain, Data, Model])
def test_any_class_of_items_is_judged(cls: Any) -> None:
    item = cls(sku="T-1", price=Decimal("1.5"))
    assert kind_of(item) == cls.__name__.lower()
    fields = plain_fields(item)
    assert (fields["sku"], fields["price"]) == ("T-1", Decimal("1.5"))
    assert schema_of(cls).faults(fields, NOW) == []
    (fault,) = schema_of(cls).faults({**fields, "price": Decimal(-1)}, NOW)
    assert (fault.field, fault.value) == ("price", Decimal(-1))
    (fault,) = schema_of(cls).faults({name: value for name, value in fields.items() if name != "sku"}, NOW)
    assert fault.field == "sku"


@dataclasses.dataclass
class Bounded:
    tags: Annotated[list[str], annotated_types.Len(1, 2)] = dataclasses.field(default_factory=lambda: ["a"])
    name: Annotated[str, annotated_types.MinLen(2)] | None = None
    size: Annotated[int, annotated_types.Interval(gt=0, lt=9), annotated_types.MultipleOf(2)] = 2
    step: Annotated[Decimal, Meta(multiple_of=0.05)] = Decimal(1)
    word: Annotated[str, annotated_types.Predicate(str.islower)] = "a"
    code: Annotated[str, pydantic.Field(pattern="^C", max_length=3)] = "C"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {
                "tags": ["a", "b"],
                "name": "ab",
                "size": 8,
                "step": Decimal("0.15"),
                "word": "x",
                "code": "C12",
            },
            None,
        ),
        ({"tags": []}, "it is not of length >= 1"),
        ({"tags": ["a"] * 3}, "it is not of length <= 2"),
        ({"name": None}, None),
        ({"name": "a"}, "it is not of length >= 2"),
        ({"size": 9}, "it is not < 9"),
        ({"size": 7}, "it is not a multiple of 2"),
        ({"step": Decimal("0.16")}, "it is not a multiple of 0.05"),
        ({"word": "X"}, "it is not what it has to be: islower"),
        ({"code": "D"}, "it is not matched by ^C"),
        ({"code": "C123"}, "it is not of length <= 3"),
    ],
)
def test_marks_that_stand_for_several_and_those_of_length_count_and_form(
    fields: dict[str, Any], why: str | None
) -> None:
    assert [fault.reason for fault in schema_of(Bounded).faults(fields, NOW)] == (
        [] if why is None else [why]
    )


def test_marks_of_annotated_types_are_understood() -> None:
    assert schema_of(Marked).faults({"n": 4}, NOW) == []
    assert [fault.reason for fault in schema_of(Marked).faults({"n": 3}, NOW)] == ["it is not > 3"]


def test_a_key_or_ignored_field_that_is_none_is_said() -> None:
    with pytest.raises(TypeError, match="ignore 'views' is not a field"):

        class Odd(Item, ignore="views"):
            a: int


def test_a_decimal_given_as_text_is_a_number_in_a_pydantic_model_too() -> None:
    fields = {"price": "19.50", "name": "7"}

    class Pot(pydantic.BaseModel):
        price: Decimal
        name: str

    assert schema_of(Pot).faults(fields, 0.0) == []
    assert fields == {"price": Decimal("19.50"), "name": "7"}


def test_marks_that_pydantic_does_not_know_are_judged_in_a_model_too() -> None:
    class Sold(pydantic.BaseModel):
        sku: Annotated[str, Meta(pattern="^T")] = "T"
        price: Annotated[Decimal | None, Meta(gt=0)] = None
        grams: Annotated[int, Meta(le=500), pydantic.AfterValidator(lambda value: value * 10)] = 0
        bound: Annotated[int, annotated_types.Gt(0), pydantic.AfterValidator(lambda value: -value)] = 1
        picked: Annotated[date | None, Fresh("30d")] = None

    good = {"sku": "T-1", "price": "1", "grams": "50", "bound": 3, "picked": "2026-01-20"}
    assert schema_of(Sold).faults(dict(good), NOW) == []
    assert schema_of(Sold).faults({}, NOW) == []
    for bad in (
        {"sku": "X"},
        {"price": "0"},
        {"grams": 51},
        {"picked": "2020-01-20"},
        {"picked": date(2036, 1, 1)},
    ):
        ((field, value),) = bad.items()
        assert [fault[:2] for fault in schema_of(Sold).faults({**good, **bad}, NOW)] == [(field, value)]


class Word(str):
    __slots__ = ()


@dataclasses.dataclass
class Inner:
    at: PurePath
    again: list[Inner] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Odd:
    word: Word
    path: PurePath | None
    many: list[OrderedDict[str, int]]
    inner: Inner
    n: int


def test_a_field_of_a_users_own_class_is_not_judged_by_what_it_is_written_as() -> None:
    fields = plain_fields(Odd(Word("a"), PurePath("b"), [OrderedDict(a=1)], Inner(PurePath("c")), 1))
    assert schema_of(Odd).faults(fields, NOW) == []
    assert [fault.field for fault in schema_of(Odd).faults({**fields, "n": "x"}, NOW)] == ["n"]

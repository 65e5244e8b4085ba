"""Pydantic models as items, created by the page function or from its dicts."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, ClassVar

import msgspec
import pydantic
import pytest
from pydantic import BaseModel, Field, HttpUrl, field_validator, model_validator

from gossamer.items.steps import Fields, clean, run_steps, validate
from gossamer.items.validation import schema_of
from gossamer.model.item import plain_fields


class Part(BaseModel):
    n: int = Field(alias="N", gt=0)


class Pot(BaseModel):
    """A model whose validators accept the page's raw values. Each validator fails, or returns another value,
    when it gets its own result."""

    item_key: ClassVar[str] = "sku"
    sku: str = Field(alias="SKU")
    price: Annotated[Decimal, msgspec.Meta(gt=1), Field(lt=100)]
    cents: int = 0
    tags: list[str] = []
    part: Part | None = None
    link: HttpUrl | None = None
    size: int = Field(default=1, validation_alias=pydantic.AliasChoices("Size", "size"))

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        return {**data, "SKU": data["SKU"].lower()}

    @field_validator("price", mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        return value.removesuffix(" EUR")

    @field_validator("tags", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return value.split(",")

    @field_validator("cents")
    @classmethod
    def _whole(cls, value: int) -> int:
        return value * 100


SAID: dict[str, Any] = {
    "SKU": "A",
    "price": "2.50 EUR",
    "cents": "3",
    "tags": "x,y",
    "part": {"N": 1},
    "link": "http://a.example",
    "Size": "4",
}
IS = {
    "sku": "a",
    "price": Decimal("2.50"),
    "cents": 300,
    "tags": ["x", "y"],
    "part": {"n": 1},
    "link": "http://a.example/",
    "size": 4,
}


def run(given: Any, *steps: Any) -> tuple[dict[str, Any], list[tuple[str | None, Any, str]]]:
    """Returns the fields and the faults of an item after the given steps."""
    made = None if isinstance(given, dict) else given
    end = run_steps(
        (clean, *steps, validate), Fields(plain_fields(given), "pot", schema_of(Pot), made=made), None
    )
    return dict(end.item), [tuple(fault) for fault in end.faults]  # type: ignore[misc]


@pytest.mark.parametrize("given", [SAID, Pot(**SAID)])
def test_a_dict_and_a_model_are_the_same_item_and_validators_run_once(given: Any) -> None:
    assert run(given) == (IS, [])


def test_what_a_step_changed_is_judged_by_type_and_bounds_and_what_it_added_stays() -> None:
    model = Pot(**SAID)
    changed, faults = run(
        model, lambda item, _: item.update(price="7", cents=1, link="http://b.example", host="h")
    )
    assert (changed, faults) == (
        {**IS, "price": Decimal(7), "cents": 1, "link": "http://b.example/", "host": "h"},
        [],
    )
    assert run(SAID, lambda item, _: {**item, "host": "h"}) == ({**IS, "host": "h"}, [])
    for change, field, why in (
        ({"price": "200"}, "price", "Input should be less than 100"),
        ({"price": "1"}, "price", "it is not > 1"),
        ({"cents": "many"}, "cents", "Input should be a valid integer, unable to parse string as an integer"),
        ({"tags": [1]}, "tags", "Input should be a valid string"),
    ):
        assert [
            (fault[0], fault[2]) for fault in run(model, lambda item, _, by=change: item.update(by))[1]
        ] == [(field, why)], change


def test_what_is_missing_is_named() -> None:
    assert run({**SAID, "part": {}})[1] == [("part.N", None, "Field required")]
    assert run(Pot(**SAID), lambda item, _: item.pop("sku") and None)[1] == [("sku", None, "Field required")]


def test_a_field_of_a_model_that_cannot_be_written_is_named() -> None:
    class Secret(BaseModel):
        word: pydantic.SecretStr

    (fault,) = schema_of(Secret).faults({"word": "a"}, 0.0)
    assert (fault.field, "has no form in JSON" in fault.reason) == ("word", True)

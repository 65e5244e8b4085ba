"""Item steps: the shipped steps, steps of a user, and the handling of items that a step rejects."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from pathlib import Path
from typing import Any

import pydantic
import pytest

from gossamer import Item, Site
from gossamer.errors import ConfigError
from gossamer.items import Unwanted, clean, deduplicate, validate
from gossamer.items.steps import Fields, prepare_steps
from gossamer.items.validation import schema_of
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites.item_builder import BuiltItem, ItemBuilder, rejected_record
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.page_functions import run


class Pot(Item, key="sku", ignore="views"):
    sku: str
    price: Decimal | None = None
    views: int = 0


def view(url: str = "https://a.example/1") -> PageView:
    return PageView(Page(url, 200, [("content-type", "text/html")], b"<h1>T</h1>", 1e9, 0.0, 0))


def making(*steps: Any, item: type | None = None, give: Any = None) -> Any:
    site = Site("s", steps=steps)
    site.page(item=item, name="f")(lambda page: give)
    loaded = LoadedSite(site, Path(__file__), "v", {}, False)
    maker = ItemBuilder(loaded)

    def make(url: str = "https://a.example/1") -> list[BuiltItem]:
        page = view(url)
        parsed = run(loaded, page)
        assert parsed.error is None, parsed.detail
        return maker.make(parsed, page)

    return make


def test_a_user_adds_a_step_in_a_line_and_may_return_another_item() -> None:
    steps = (
        clean,
        lambda item, page: item.update(host=page.url),
        lambda item, page: {**item, "n": len(item)},
    )
    (made,) = making(*steps, give={"name": "  A \t b ", "none": " ", "tags": ["x ", 5]})()
    assert made.fields == {
        "name": "A b",
        "none": None,
        "tags": ["x", 5],
        "host": "https://a.example/1",
        "n": 4,
    }
    assert (made.kind, made.key, made.faults) == ("item", made.content, ())


def test_an_error_in_a_step_keeps_the_item_aside_and_the_others_go_on() -> None:
    def half(item: Any, page: Any) -> None:
        item["half"] = 10 / item["n"]

    first, second = making(half, give=[{"n": 0}, {"n": 5}])()
    assert [(fault.field, fault.reason) for fault in first.faults] == [
        (None, "step half: ZeroDivisionError: division by zero")
    ]
    assert rejected_record(first)["item"] == {"n": 0}
    assert second.fields == {"n": 5, "half": 2}
    (made,) = making(lambda item, page: 7, give={"n": 1})()
    assert "returned int: return the item, or None" in made.faults[0].reason
    (made,) = making(lambda item, page: item.update(bad=object()), give={"n": 1})()
    assert "cannot be written" in made.faults[0].reason


def test_what_is_unwanted_is_dropped() -> None:
    def wanted(item: Any, page: Any) -> None:
        if item["n"] > 1:
            raise Unwanted("too many")

    made = making(wanted, give=[{"n": 1}, {"n": 2}])()
    assert [one.dropped for one in made] == ["", "too many"]


def test_validation_comes_last_or_where_it_is_named() -> None:
    def mend(item: Any, page: Any) -> None:
        item["sku"] = item["sku"] or "none"

    bad: Any = {"sku": None}
    assert [one.fields["sku"] for one in making(mend, item=Pot, give=bad)()] == ["none"]
    (made,) = making(validate, mend, item=Pot, give=bad)()
    assert [fault.field for fault in made.faults] == ["sku"]
    assert prepare_steps((clean,)) == (clean, validate)


def test_dicts_of_a_class_are_of_its_kind_and_have_its_defaults() -> None:
    first, second = making(item=Pot, give=[{"sku": "1", "price": "2.50", "more": 1}, {"price": 1}])()
    assert (first.kind, first.key, first.fields) == (
        "pot",
        "1",
        {"sku": "1", "price": Decimal("2.50"), "more": 1, "views": 0},
    )
    assert [fault.reason for fault in second.faults] == ["it is missing"]


def test_keys_and_contents() -> None:
    one, other, third = making(
        give=[Pot(sku="1", views=1), Pot(sku="1", views=2), Pot(sku="1", price=Decimal(1))]
    )()
    assert one.key == other.key == third.key == "1"
    assert one.content == other.content != third.content
    (loose,) = making(give={"_key": 7, "a": 1})()
    assert (loose.key, loose.fields) == ("7", {"a": 1})
    # with an empty key, many items would be one
    for empty in ({"_key": ""}, {"_key": " \n"}, {"_key": None}):
        one, other = making(give=[{**empty, "a": 1}, {**empty, "a": 2}])()
        assert (one.key, other.key) == (one.content, other.content)


def test_duplicates_of_other_pages_are_dropped_but_not_those_of_a_second_visit() -> None:
    make = making(deduplicate, give={"a": 1})
    assert [make(f"https://a.example/{n}")[0].dropped for n in (1, 2, 1)] == ["", "duplicate", ""]
    assert making(deduplicate, give={"a": 1})("https://a.example/2")[0].dropped == ""  # another crawl


def test_a_step_is_a_callable_and_item_a_class() -> None:
    with pytest.raises(ConfigError, match="a step must be a function"):
        Site("s", steps=(1,))
    with pytest.raises(ConfigError, match="'clean' is not installed"):
        Site("s", steps=("clean",))
    with pytest.raises(ConfigError, match="not a class of items"):
        Site("s").page(item="Pot")


class Noted(Item):
    name: str
    note: str = ""
    more: str | None = None


@dataclasses.dataclass
class Data:
    name: str
    note: str = ""
    more: str | None = None


class Model(pydantic.BaseModel):
    name: str
    note: str = ""
    more: str | None = None


@pytest.mark.parametrize("cls", [Noted, Data, Model])
def test_an_empty_text_stays_where_it_is_the_default_of_its_field(cls: type) -> None:
    item = Fields({"name": " ", "note": "\t", "more": ""}, "a", schema_of(cls))
    clean(item)
    assert item == {"name": None, "note": "", "more": None}

"""A table of the health of a shop, which decides whether the shop counts as broken."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.uses.prices.model import OfferState
from gossamer.uses.prices.shop_health import (
    FieldVisits,
    SecondVisits,
    ShopHealth,
    begin,
    count_second_visit,
    doubtful_visits,
    end,
    is_lost,
    judge,
    may_release,
    sample_agrees,
    second_visits,
)
from uses.prices.visits import failed, seen


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"known": 100, "lost": 10, "causes": {"failed": 10}}, "ok"),
        ({"known": 100, "lost": 45, "causes": {"blocked": 45}}, "away"),
        ({"known": 100, "lost": 45, "causes": {"no-price": 30, "empty": 15}}, "redesigned"),
        ({"known": 100, "lost": 45, "causes": {"moved": 45}, "hosts": {"new.example": 45}}, "moved"),
        ({"known": 100, "lost": 45, "causes": {"blocked": 45}, "usual": 0.6}, "ok"),
        ({"known": 2, "lost": 2, "causes": {"blocked": 2}}, "ok"),
        ({"known": 100, "new_source": 90, "new_source_agrees": 10}, "redesigned"),
        ({"known": 100, "new_source": 90, "new_source_agrees": 88}, "ok"),
        ({"known": 100, "amounts": {"EUR 49": 60, "EUR 5": 1}}, "redesigned"),
        ({"known": 100, "amounts": {"EUR 49": 9}}, "ok"),
        ({}, "ok"),
    ],
)
def test_verdicts(values: dict[str, Any], state: str) -> None:
    assert judge(ShopHealth(**values)).state == state


def test_a_sold_out_page_is_not_lost() -> None:
    assert not is_lost([seen()], 1)
    assert not is_lost([seen(price=None, availability="OutOfStock")], 1)
    assert is_lost([seen(price=None, availability=None)], 1)
    assert is_lost([failed(state=OfferState.UNDECIDED)], 1)
    assert is_lost([seen()], 3)


def shop(agreed: int = 0, contradicted: int = 0, past: float = 0.0) -> ShopHealth:
    return ShopHealth(fields={"price": FieldVisits(agreed, contradicted, past_agreed=past)})


NOTHING, GOOD, BAD = SecondVisits(), SecondVisits(300.0, 2.0), SecondVisits(300.0, 30.0)


@pytest.mark.parametrize(
    ("health", "everywhere", "visits"),
    [
        (shop(), NOTHING, 6),
        (shop(agreed=10), NOTHING, 6),
        (shop(), GOOD, 4),
        (shop(agreed=10), GOOD, 4),
        (shop(), BAD, 14),
        (shop(agreed=20), BAD, 0),
        (shop(past=30.0), BAD, 0),
        (shop(agreed=3, contradicted=1), GOOD, 14),
        (shop(agreed=100, contradicted=10), GOOD, 14),
        (shop(agreed=100, contradicted=1), NOTHING, 0),
    ],
)
def test_a_new_shop_is_as_doubtful_as_all_shops(
    health: ShopHealth, everywhere: SecondVisits, visits: int
) -> None:
    assert doubtful_visits(health, {"price": everywhere}, "price") == visits
    assert doubtful_visits(health, {"price": everywhere}, "page") == 0


def test_second_visits_are_counted_by_kind_of_field() -> None:
    one, other = ShopHealth(run=1), ShopHealth(run=1)
    count_second_visit(one, ["price", "regular_price", "page"], [])
    count_second_visit(other, ["availability"], ["seller"])
    assert second_visits([one, other]) == {
        "price": (2.0, 0.0),
        "availability": (1.0, 0.0),
        "seller": (0.0, 1.0),
    }
    assert (one.agreed, other.contradicted) == (3, 1)
    assert second_visits([begin(one, 2)])["price"] == (2 * 0.97, 0.0)


def test_changes_are_released_early_only_after_many_pages() -> None:
    assert not may_release(ShopHealth(known=19), 19)
    assert may_release(ShopHealth(known=20), 50)
    assert not may_release(ShopHealth(known=20), 100)
    assert not may_release(ShopHealth(known=30, lost=20, causes={"empty": 20}), 50)


def test_a_run_teaches_the_usual_values() -> None:
    health = ShopHealth(run=1, known=100, lost=50, agreed=10, contradicted=2)
    end(health, judge(ShopHealth()))
    assert health.usual == pytest.approx(0.9)
    later = begin(health, 2)
    assert (later.known, later.usual) == (0, health.usual)
    assert later.past_agreed == pytest.approx(9.7)
    assert begin(later, 2) is later


def test_a_sample_speaks_for_a_shop() -> None:
    assert sample_agrees(ShopHealth(agreed=200))
    assert not sample_agrees(ShopHealth(agreed=150))
    assert not sample_agrees(ShopHealth(agreed=195, contradicted=5))

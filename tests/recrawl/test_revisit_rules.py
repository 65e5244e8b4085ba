"""The rules of `--revisit` in the form that users write."""

from __future__ import annotations

import pytest

from gossamer.config import value_parsers
from gossamer.recrawl.revisit_rules import rules_of


def test_a_budget_is_a_share_or_visits_in_a_time() -> None:
    rules = rules_of("auto", "10%", None, None, ())
    assert rules is not None
    assert rules.visits_per_day(5000) == 500
    rules = rules_of("auto", "2/m", None, None, ())
    assert rules is not None
    assert rules.visits_per_day(5000) == 2880


def test_the_first_pattern_gives_the_weight() -> None:
    rules = rules_of("auto", None, None, None, ("/product/=5", "/p=2"))
    assert rules is not None
    assert [rules.weight(f"https://a.example{path}") for path in ("/product/1", "/page", "/x")] == [5, 2, 1]


def test_inlinks_and_patterns_are_multiplied() -> None:
    rules = rules_of("auto", None, None, None, ("inlinks", "/product/=5"))
    assert rules is not None
    found = [rules.weight("https://a.example/product/1", n) / 5 for n in (0, 1, 100, 10**9)]
    assert found == [rules.weight("https://a.example/x", n) for n in (0, 1, 100, 10**9)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (1, 10)
    without = rules_of("auto", None, None, None, ("/product/=5",))
    assert without is not None
    assert without.weight("https://a.example/x", 100) == 1


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((None, "10%", None, None, ()), "budget needs revisit"),
        (("24h", None, 3600.0, None, ()), "shorter than the window"),
        (("auto", None, 60.0, 120.0, ()), "min_age is longer"),
    ],
)
def test_rules_that_contradict_one_another_are_refused(given: tuple, told: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=told):
        rules_of(*given)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (value_parsers.budget, "lots"),
        (value_parsers.budget, "0%"),
        (value_parsers.budget, "120%"),
        (value_parsers.revisit, "often"),
        (value_parsers.importance, "/a"),
        (value_parsers.importance, "/a=0"),
        (value_parsers.importance, "(=2"),
    ],
)
def test_values_that_make_no_sense_are_refused(read: object, text: str) -> None:
    with pytest.raises(ValueError, match=r"must be|write|is not a regular"):
        read(text)  # type: ignore[operator]


def test_a_page_is_visited_at_most_once_an_hour_unless_a_person_says_otherwise() -> None:
    rules = rules_of("auto", None, None, None, ())
    assert rules is not None
    assert rules.min_age == 3600.0

"""Simulated months of nights: no good night is stopped, and every planted bad night is caught."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from math import log10

import pytest

from gossamer.model.quality import COMPARED_RUNS, RunRecord
from gossamer.model.run_guard import Unlike, compare, line

NIGHTS = 150
COVERAGE = {"sku": 1.0, "title": 0.999, "price": 0.97, "brand": 0.6, "rating": 0.3, "old_price": 0.04}


@dataclass
class Night:
    """What the site shows in one night. `lost`: the share of the pages that could not be fetched."""

    listed: int
    coverage: dict[str, float] = field(default_factory=lambda: dict(COVERAGE))
    lost: float = 0.0
    blocked: float = 0.0
    """The share of the pages that are block pages with status 200."""
    changed: float = 0.03
    new: float = 0.01
    gone: float = 0.01
    price: float = 30.0
    products: bool = True
    """Whether the product pages match their page function."""


def run_of(night: Night, chance: random.Random, at: datetime, mode: str = "empty") -> RunRecord:
    """The counts of a run over the site. `mode`: whether a block page gives no item, or an item that has only
    its key."""

    def of(n: int, share: float) -> int:
        if n > 100:
            return max(0, min(n, round(chance.gauss(n * share, (n * share * (1 - share)) ** 0.5))))
        return sum(chance.random() < share for _ in range(n))

    fetched = of(night.listed, 1 - night.lost)
    listings = night.listed // 20 + 1
    shut = of(fetched, night.blocked)
    good = fetched - shut if night.products else 0
    items = good + (shut if mode == "keys" and night.products else 0)
    counts = {
        "pages": fetched + listings,
        "succeeded": fetched + listings,
        "q|shop|p|listing": listings,
        "q|shop|p|product": fetched if night.products else 0,
        "q|shop|i|product": items,
        "fate:new": of(items, night.new),
        "fate:changed": of(items, night.changed),
        "fate:gone": of(items, night.gone),
    }
    for name, share in night.coverage.items():
        counts[f"q|shop|f|product|{name}"] = items if name == "sku" else of(good, share)
    prices = counts["q|shop|f|product|price"]
    counts["q|shop|v|product|price"] = round(
        sum(100 * log10(1 + night.price * chance.lognormvariate(0, 1)) for _ in range(min(prices, 50)))
        * prices
        / max(1, min(prices, 50))
    )
    samples = {"q|shop|p|product": "https://shop.example/p/1", "q|shop|e": "https://shop.example/p/2"}
    return RunRecord("c", at.isoformat(), counts, samples if listings else {})


def quiet(size: int, chance: random.Random) -> list[Night]:
    return [Night(size) for _ in range(NIGHTS)]


def growing(size: int, chance: random.Random) -> list[Night]:
    return [Night(round(size * 1.01**n), new=0.02) for n in range(NIGHTS)]


def shrinking(size: int, chance: random.Random) -> list[Night]:
    return [Night(max(1, round(size * 0.985**n)), gone=0.02) for n in range(NIGHTS)]


def sales(size: int, chance: random.Random) -> list[Night]:
    """Two weeks of sale in every six: most products have an old price, and another price in the first and in
    the last night."""
    nights = []
    for n in range(NIGHTS):
        on, edge = n % 42 >= 28, n % 42 in (28, 0)
        coverage = COVERAGE | ({"old_price": 0.7} if on else {})
        nights.append(Night(size, coverage, changed=0.8 if edge else 0.03, price=20.0 if on else 30.0))
    return nights


def seasons(size: int, chance: random.Random) -> list[Night]:
    """A third of the products is replaced every 30 nights, and the new ones are dearer and lack ratings."""
    return [
        Night(
            round(size * (1.2 if n % 60 < 30 else 1.0)),
            COVERAGE | {"rating": 0.2 if n % 60 < 30 else 0.3},
            new=0.35 if n % 30 == 0 else 0.01,
            gone=0.25 if n % 30 == 0 else 0.01,
            price=45.0 if n % 60 < 30 else 30.0,
        )
        for n in range(NIGHTS)
    ]


def weekends(size: int, chance: random.Random) -> list[Night]:
    """Content: at weekends, only 60 % as many articles are listed."""
    return [Night(round(size * (0.6 if n % 7 in (5, 6) else 1)), new=0.4, changed=0.1) for n in range(NIGHTS)]


def flaky(size: int, chance: random.Random) -> list[Night]:
    return [Night(size, lost=chance.choice((0, 0, 0.01, 0.03, 0.08, 0.15))) for _ in range(NIGHTS)]


def restless(size: int, chance: random.Random) -> list[Night]:
    """Optional fields come and go."""
    return [
        Night(
            round(size * chance.uniform(0.9, 1.1)),
            COVERAGE | {"brand": chance.uniform(0.4, 0.8), "rating": chance.uniform(0.15, 0.45)},
            changed=chance.uniform(0, 0.5),
        )
        for _ in range(NIGHTS)
    ]


GOOD = [quiet, growing, shrinking, sales, seasons, weekends, flaky, restless]
SIZES = [1, 12, 40, 200, 20_000]
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def history(
    months: Callable[[int, random.Random], list[Night]], size: int, seed: int = 0
) -> tuple[list[Night], list[RunRecord]]:
    chance = random.Random(f"{months.__name__} {size} {seed}")
    nights = months(size, chance)
    runs = [run_of(night, chance, FIRST + timedelta(days=n)) for n, night in enumerate(nights)]
    runs[0].counts["fate:new"] = runs[0].counts["q|shop|i|product"]  # an empty database
    return nights, runs


def before(runs: list[RunRecord], n: int) -> list[RunRecord]:
    """The good runs before night `n`, newest first."""
    return runs[max(0, n - COMPARED_RUNS) : n][::-1]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("months", GOOD)
def test_no_good_night_is_stopped(months: Callable[[int, random.Random], list[Night]], size: int) -> None:
    _, runs = history(months, size)
    assert [(n, found) for n in range(len(runs)) if (found := compare(runs[n], before(runs, n)))] == []


def without(name: str) -> Callable[[Night], Night]:
    def broken(night: Night) -> Night:
        night.coverage[name] = 0.0
        return night

    return broken


def changed(**facts: object) -> Callable[[Night], Night]:
    def planted(night: Night) -> Night:
        for name, value in facts.items():
            setattr(night, name, value)
        return night

    return planted


def half_listed(night: Night) -> Night:
    night.listed //= 2
    return night


def times(factor: float) -> Callable[[Night], Night]:
    def planted(night: Night) -> Night:
        night.price *= factor
        return night

    return planted


BAD = [
    ("the selector of the price broke", without("price"), "empty", "product.price"),
    ("the selector of a rare field broke", without("brand"), "empty", "product.brand"),
    ("half of the pages are blocked and give nothing", changed(blocked=0.5), "empty", "product"),
    ("half of the pages are blocked and give bare items", changed(blocked=0.5), "keys", "product.title"),
    ("the template changed", changed(products=False), "empty", "product"),
    ("half of the listing pages are lost", half_listed, "empty", "pages"),
    ("prices are 100 times as high", times(100), "empty", "product.price"),
    ("prices are a hundredth", times(0.01), "empty", "product.price"),
    ("all keys changed", changed(new=1.0), "empty", "new"),
    ("all items changed", changed(changed=1.0), "empty", "changed"),
]


@pytest.mark.parametrize("size", [200, 1000])
@pytest.mark.parametrize("months", [quiet, growing, sales, flaky, restless, seasons])
@pytest.mark.parametrize(("what", "plant", "mode", "named"), BAD, ids=[one[0] for one in BAD])
def test_every_planted_bad_night_is_caught(
    what: str,
    plant: Callable[[Night], Night],
    mode: str,
    named: str,
    months: Callable[[int, random.Random], list[Night]],
    size: int,
) -> None:
    nights, runs = history(months, size)
    for n in (10, 61, 120):
        chance = random.Random(f"{what} {n}")
        bad = run_of(plant(deepcopy(nights[n])), chance, FIRST + timedelta(days=n), mode)
        found = compare(bad, before(runs, n))
        assert named in [one.name for one in found], (n, found)


@pytest.mark.parametrize("size", SIZES)
def test_a_night_without_pages_is_told_at_once_and_every_night_after_it(size: int) -> None:
    _, runs = history(quiet, size)
    nothing = RunRecord("c", "2026-02-01T00:00:00Z", {"pages": 0, "succeeded": 0})
    for first in (3, 10, 40):
        for _night in range(28):  # bad nights are not stored, so each is compared with the same good ones
            assert compare(nothing, before(runs, first))[0].name == "pages"


def test_content_that_lost_its_text_at_a_weekend_is_caught() -> None:
    (nights, runs), chance = history(weekends, 200), random.Random(1)
    for n in (12, 13, 14, 47):
        bad = run_of(without("title")(deepcopy(nights[n])), chance, FIRST + timedelta(days=n))
        assert "product.title" in [one.name for one in compare(bad, before(runs, n))]


def test_a_field_that_one_good_run_lacked_is_not_missed() -> None:
    nights, runs = deepcopy(history(quiet, 200))
    del runs[29].counts["q|shop|f|product|price"]
    bad = run_of(without("price")(deepcopy(nights[30])), random.Random(1), FIRST + timedelta(days=30))
    assert compare(bad, before(runs, 30)) == []


def test_a_refresh_is_judged_by_fields_and_pages_alone() -> None:
    (nights, runs), chance = history(quiet, 200), random.Random(1)
    few = run_of(changed(listed=40)(deepcopy(nights[30])), chance, FIRST + timedelta(days=30))
    few.counts["succeeded"] = runs[29].counts["succeeded"]
    assert compare(few, before(runs, 30)) != []
    assert compare(few, before(runs, 30), partial=True) == []


def test_the_line_names_the_field_and_a_page() -> None:
    (nights, runs), chance = history(quiet, 200), random.Random(1)
    bad = run_of(without("price")(deepcopy(nights[30])), chance, FIRST)
    bad.samples = {"q|shop|f|product|price": "https://shop.example/p/7", "q|shop|t|product": "product"}
    found = compare(bad, before(runs, 30))
    assert line(found, bad, before(runs, 30)) == (
        "not like the last 30 good runs: shop: field product.price in 0% of 200 items, 97% usually, "
        "template product, for example https://shop.example/p/7"
    )
    assert (
        line([Unlike("", "new", "80% are new")], bad, runs[:1]) == "not like the last good run: 80% are new"
    )

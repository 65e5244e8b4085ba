"""The verdict of the guard on instructions (benchmarks/instructions.py), which is a step of ./test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from house.tree import ROOT
from support.scripts import script

instructions: Any = script("benchmarks/instructions.py")

THIS, OTHER = {"python": "3.11", "pages: shop": "a1"}, {"python": "3.12", "pages: shop": "a1"}
RECORD: dict[str, Any] = {
    "versions": THIS,
    "best": {
        "start": {"instructions": 1000, "tree": "t1", "date": "2026-11-01"},
        "shop": {"instructions": 100, "tree": "t2", "date": "2026-11-02"},
    },
}
MADE = {"tree": "t3", "date": "2026-11-03"}


@pytest.mark.parametrize(
    ("start", "shop", "faulty", "better"),
    [
        (1000, 100, [], []),
        (1030, 103, [], []),
        (1031, 100, ["start"], []),
        (1000, 104, ["shop"], []),
        (1500, 160, ["start", "shop"], []),
        (991, 99, [], []),
        (989, 100, [], ["start"]),
        (1000, 98, [], ["shop"]),
        (900, 90, [], ["start", "shop"]),
        (1031, 90, ["start"], ["shop"]),
    ],
)
def test_verdict(start: float, shop: float, faulty: list[str], better: list[str]) -> None:
    figures, bounds = {"start": start, "shop": shop}, {"start": 1000.0, "shop": 100.0}
    assert [line.partition(":")[0] for line in instructions.too_dear(figures, bounds)] == faulty
    record = instructions.improved(RECORD, THIS, bounds, figures, MADE)
    assert [kind for kind, one in (record or RECORD)["best"].items() if one["tree"] == "t3"] == better
    assert (record is None) == (not better)


def test_a_fault_names_kind_figure_best_and_ratio() -> None:
    assert instructions.too_dear({"shop": 16_000_000.0}, {"shop": 10_000_000.0}) == [
        "shop: 16,000,000 instructions a page, the best is 10,000,000, ratio 1.600 (at most 1.03)"
    ]


def test_other_versions_measure_the_recorded_trees_first() -> None:
    asked: list[str] = []

    def remeasured(tree: str) -> Mapping[str, float]:
        asked.append(tree)
        return {"start": 1200.0, "shop": 120.0} if tree == "t1" else {"start": 1100.0, "shop": 110.0}

    assert instructions.bounds_of(RECORD, THIS, remeasured) == {"start": 1000, "shop": 100}
    assert asked == []
    bounds = instructions.bounds_of(RECORD, OTHER, remeasured)
    assert (bounds, asked) == ({"start": 1200.0, "shop": 110.0}, ["t1", "t2"])
    # an improvement under other versions replaces all figures, because they belong to the same versions
    assert instructions.improved(RECORD, OTHER, bounds, {"start": 1200.0, "shop": 105.0}, MADE) == {
        "versions": OTHER,
        "best": {
            "start": {"instructions": 1200, "tree": "t1", "date": "2026-11-01"},
            "shop": {"instructions": 105, **MADE},
        },
    }


def test_the_recorded_figure_is_the_bound_of_a_clone_without_the_tree() -> None:
    def remeasured(tree: str) -> Mapping[str, float]:
        if tree == "t2":
            raise LookupError("this clone lacks t2")
        return {"start": 1200.0, "shop": 120.0}

    assert instructions.bounds_of(RECORD, OTHER, remeasured) == {"start": 1200.0, "shop": 100.0}


class Runs:
    """A measurement that returns given totals of the shop, one after the other."""

    def __init__(self, *totals: int) -> None:
        self.totals = list(totals)

    def run(self, *_: Any, **__: Any) -> int:
        return 0

    def runs(self, _source: Path, kinds: list[str], _options: object) -> dict[str, int]:
        made = {"start": 1000, "documentation": 7000, "small": 51_000}
        return {kind: made[kind] if kind in made else self.totals.pop(0) for kind in kinds}


@pytest.mark.parametrize(
    ("totals", "shop"),
    [
        ([7000], 100.0),  # within the bound at once
        ([7300, 7000], 100.0),  # the second try is within the bound
        ([7300, 7250, 7000], 100.0),
        ([7300, 7250, 7270], 6250 / 60),  # three tries
        ([9000], 8000 / 60),  # too dear without a doubt
        ([6400, 6700], 95.0),  # better: the higher of two
    ],
)
def test_only_what_is_not_clear_is_measured_again(totals: list[int], shop: float) -> None:
    runs: Any = Runs(*totals)
    bounds = {"start": 1000.0, "documentation": 100.0, "shop": 100.0, "small": 100.0}
    assert instructions.measure(runs, ROOT / "src", bounds)["shop"] == pytest.approx(shop)
    assert runs.totals == []


def test_a_clone_without_the_tree_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="git fetch --unshallow"):
        instructions.archived("0" * 40, tmp_path / "old")


def test_record_has_all_kinds() -> None:
    assert json.loads(instructions.BEST.read_text())["best"].keys() == instructions.PAGES.keys()

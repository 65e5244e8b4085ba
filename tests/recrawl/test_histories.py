"""The revisit policy on histories of real changes, if these are available."""

from __future__ import annotations

import pytest

from support.repetitions import first_case, repetitions
from support.scripts import ROOT, script

HISTORIES = ROOT.parent / "shared" / "data" / "change-histories.jsonl.gz"


@pytest.mark.skipif(not HISTORIES.exists(), reason="no change histories here")
@pytest.mark.parametrize(("period", "uniform", "nutch"), first_case([(30.0, 0.84, 1.0), (7.0, 0.75, 0.82)]))
def test_pages_are_fresher_than_with_equal_intervals(period: float, uniform: float, nutch: float) -> None:
    module = script("benchmarks/recrawl.py")
    module.SAMPLE = repetitions(
        module.SAMPLE, 4
    )  # the pages from which the price of a visit is estimated, daily
    world = module.world_of(module.read(HISTORIES)["terms"], period)
    found = {name: module.simulate(world, make(world)) for name, make in module.POLICIES.items()}
    ours = found["adaptive"].stale
    assert ours <= uniform * found["uniform"].stale
    assert ours <= nutch * found["nutch"].stale
    assert ours <= 1.05 * found["oracle"].stale
    assert found["adaptive"].used >= 0.97

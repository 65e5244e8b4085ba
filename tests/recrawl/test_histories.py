"""The revisit policy on histories of real changes, if these are available."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
HISTORIES = ROOT.parent / "shared" / "data" / "change-histories.jsonl.gz"


def simulation() -> ModuleType:
    """Returns the benchmark module whose simulation this test runs."""
    spec = util.spec_from_file_location("loaded_recrawl", ROOT / "benchmarks" / "recrawl.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules["loaded_recrawl"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not HISTORIES.exists(), reason="no change histories here")
@pytest.mark.parametrize(("period", "uniform", "nutch"), [(7.0, 0.75, 0.82), (30.0, 0.84, 1.0)])
def test_pages_are_fresher_than_with_equal_intervals(period: float, uniform: float, nutch: float) -> None:
    module = simulation()
    world = module.world_of(module.read(HISTORIES)["terms"], period)
    found = {name: module.simulate(world, make(world)) for name, make in module.POLICIES.items()}
    ours = found["adaptive"].stale
    assert ours <= uniform * found["uniform"].stale
    assert ours <= nutch * found["nutch"].stale
    assert ours <= 1.05 * found["oracle"].stale
    assert found["adaptive"].used >= 0.97

"""Short runs of a fleet under injected faults. `benchmarks/chaos.py` is the long version."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.chaos import field, machines, planned
from fleet.strikes import KINDS
from fleet.verdict import wrong
from support.machines_apart import Together, apart, refused
from web import preset

DELAY = 0.05
KILLS = ("child", "main", "all", "broker", "master", "scheduler", "clock")


def test_kills_and_wrong_clocks_lose_nothing(tmp_path: Path) -> None:
    plan = preset("tiny", hosts=20, pages=30, latency=0.01)
    with field(tmp_path, Together(), plan, 3) as (chaos, web):
        summary = chaos.crawl(web, KINDS, planned(KILLS, len(KILLS), 600, seed=3), DELAY)
        assert wrong(chaos, web, summary, DELAY) == [], chaos.told


def test_machines_apart_lose_nothing(tmp_path: Path) -> None:
    """The latency between a worker and the other machines is 2 to 50 ms, and 1 % of the packets are lost. One
    worker is cut off from the store, and one is frozen for longer than its lease."""
    if why := refused():
        pytest.skip(f"network namespaces are not allowed here: {why}")
    plan = preset("tiny", hosts=20, pages=25, latency=0.01, first=10)
    with (
        apart(machines(2, 0.002, 0.05), loss=0.01) as places,
        places.at("desk"),
        field(tmp_path, places, plan, 2) as (chaos, web),
    ):
        summary = chaos.crawl(web, KINDS, planned(("cut", "freeze"), 2, 500, seed=5), DELAY)
        assert wrong(chaos, web, summary, DELAY) == [], chaos.told

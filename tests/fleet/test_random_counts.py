"""What the crawls of a fleet count as new, changed, unchanged, gone and refused equals what the contents of
their outputs show. All runs share one fleet."""

from __future__ import annotations

from pathlib import Path

from e2e.changing_items import Places
from e2e.random_counts import FLEET_OUTPUTS, OnFleet, serving, try_runs
from support.fleet_workers import Fleet
from support.repetitions import first_case, repetitions


async def test_the_counts_of_a_fleet_are_those_of_the_contents(fleet: Fleet, tmp_path: Path) -> None:
    with Places(tmp_path / "servers") as places, serving() as web:
        runner = OnFleet(fleet, web)
        for seed in range(repetitions(20, 20)):
            for output in first_case(FLEET_OUTPUTS, 6):
                folder = tmp_path / f"{output}-{seed}"
                folder.mkdir()
                await try_runs(seed, output, folder, web, runner, places, runs=2)

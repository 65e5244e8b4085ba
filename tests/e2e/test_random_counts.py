"""What whole crawls count as new, changed, unchanged, gone and refused equals what the contents of their
outputs show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.changing_items import Places
from e2e.random_counts import OUTPUTS, Machine, serving, try_runs
from support.repetitions import first_case, repetitions


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    with Places(tmp_path_factory.mktemp("servers")) as made:
        yield made


@pytest.mark.parametrize("output", first_case(OUTPUTS, 7))
async def test_the_counts_of_a_machine_are_those_of_the_contents(
    output: str, tmp_path: Path, places: Places
) -> None:
    with serving() as web:
        for seed in range(repetitions(20, 20)):
            folder = tmp_path / str(seed) / "c"
            folder.mkdir(parents=True)
            await try_runs(seed, output, folder, web, Machine(web), places)

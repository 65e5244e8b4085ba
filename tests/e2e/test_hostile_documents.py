"""20,000 generated documents: what they cost this process, whatever their markup (benchmarks/hostile_pages.py reads a million)."""

from __future__ import annotations

import sys

import pytest

from e2e.hostile_documents import FAMILIES, Feeder, document

COUNT, PARTS = 20_000, 4
HELD = 2.0
"""CPU seconds: work that grows with the square takes longer, a busy machine does not. (The benchmark asks for 0.15.)"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process takes")
@pytest.mark.parametrize("part", range(PARTS))
async def test_documents(part: int) -> None:
    feeder = Feeder()
    try:
        await feeder.feed(range(part, COUNT, PARTS))
    finally:
        await feeder.close()
    assert feeder.errors["crash"] == 0
    assert feeder.held[0] < HELD, feeder.held
    assert feeder.growth <= feeder.allowed


def test_documents_are_the_same_everywhere_and_of_all_families() -> None:
    assert document(5) == document(5)
    assert {document(n)[0] for n in range(200)} == set(FAMILIES)

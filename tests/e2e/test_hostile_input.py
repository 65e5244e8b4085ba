"""10,000 mutated pages, robots.txt files, sitemaps, heads and coded bodies: none is too much for what reads
them.

benchmarks/hostile.py feeds ten times as many, and looks at time and memory, too.
"""

from __future__ import annotations

import pytest

from e2e.mutants import KINDS, Eater, mutant

COUNT = 2000
PARTS = 4
LONGEST = 10.0
"""CPU seconds for one: work that grows with the square takes longer, a busy machine does not."""


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_mutants(kind: str, part: int) -> None:
    eater = Eater()
    for n in range(part, COUNT, PARTS):
        try:
            took = eater.eat(kind, n)
        except Exception as error:
            raise AssertionError(f"mutant {n} of {kind}: {error!r}") from error
        assert took < LONGEST, f"mutant {n} of {kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_mutants_are_the_same_everywhere_and_different(kind: str) -> None:
    assert mutant(kind, 5) == mutant(kind, 5)
    assert len({mutant(kind, n) for n in range(50)}) > 40

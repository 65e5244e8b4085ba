"""Feeds thousands of mutated pages, robots.txt files, sitemaps, response heads and encoded bodies to the
parsers. No mutant may raise an unexpected error or exceed the time limit.

benchmarks/hostile.py feeds ten times as many, and also measures time and memory."""

from __future__ import annotations

import pytest

from e2e.mutants import KINDS, Eater, mutant
from support.repetitions import repetitions

COUNT = repetitions(2000)
PARTS = 4
LONGEST = 10.0
"""The maximum CPU seconds per mutant. Quadratic work takes longer, but other load on the machine does not
count."""


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

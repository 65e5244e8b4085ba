"""The share of long tests that runs in `./test`. `./test --all` runs all of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")
ALL = bool(os.environ.get("TEST_ALL"))


def repetitions(number: int, share: int = 5) -> int:
    """Returns the number of repetitions of a fuzzing or chaos test: `number` if `./test --all` runs, and a
    fifth (or another share) of it otherwise."""
    return number if ALL else max(1, number // share)


def first_case(cases: Sequence[Case], number: int = 1) -> Sequence[Case]:
    """Returns all cases of a costly test if `./test --all` runs, and only the first `number` otherwise. The
    others differ in their data, and not in the code that they reach."""
    return cases if ALL else cases[:number]

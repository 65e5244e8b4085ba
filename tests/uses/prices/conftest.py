"""Fixtures of the price tests: a price history on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gossamer.uses.prices.history import History


@pytest.fixture
def start() -> float:
    return 1_000_000.0


@pytest.fixture
def history(url: str, clock: Callable[[], float]) -> Iterator[History]:
    with History(url, clock) as found:
        yield found

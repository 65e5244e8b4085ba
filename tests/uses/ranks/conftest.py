"""Fixtures of the rank tests: a rank history on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gossamer.uses.ranks.history import RankHistory


@pytest.fixture
def history(url: str, clock: Callable[[], float]) -> Iterator[RankHistory]:
    with RankHistory(url, clock) as found:
        yield found

"""Fixtures of the item tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.runs import end_all
from items.changing_shop import Shop, serving


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A shop for one test. All crawls of the test are removed afterwards."""
    with serving() as made:
        yield made
    end_all(tmp_path / "data")

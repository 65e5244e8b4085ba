"""A shop for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.shop import Shop, serving


@pytest.fixture
def shop() -> Iterator[Shop]:
    with serving() as made:
        yield made

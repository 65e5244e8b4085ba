"""Fixtures: one server of each store for all tests of a process, where each test has names of its own, and
the table of stores for the run's report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sinks.databases.database_servers import PLACES, Place, running


@pytest.fixture(scope="session", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each of the stores in turn."""
    with running(request.param) as place:
        yield place

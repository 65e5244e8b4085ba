"""One server of each store for all tests of a process, each test with names of its own; and the run's table
of stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sinks.databases.database_servers import PLACES, Place, running


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each store in its turn."""
    with running(request.param) as place:
        yield place

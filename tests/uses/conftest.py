"""Fixtures for the tests of all histories: a clock, and an empty database of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.postgres import Postgres, running_postgres


class Clock:
    """A clock that tests can set."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def start() -> float:
    """The start time of the clock, in seconds since the epoch."""
    return Clock().now


@pytest.fixture
def clock(start: float) -> Clock:
    return Clock(start)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    server: Postgres = request.getfixturevalue("postgres")
    server.ask("DROP SCHEMA public CASCADE")
    server.ask("CREATE SCHEMA public")
    return server.url

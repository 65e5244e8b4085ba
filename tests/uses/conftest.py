"""What the tests of all histories share: a clock, and an empty database of each kind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.postgres import BIN, Postgres


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def start() -> float:
    """The time at which the clock begins, in seconds since the epoch."""
    return Clock().now


@pytest.fixture
def clock(start: float) -> Clock:
    return Clock(start)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if not (BIN / "initdb").exists():
        pytest.skip("PostgreSQL is not here")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - the server runs as another user
        server = Postgres(Path(folder))
        yield server
        server.kill()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    server: Postgres = request.getfixturevalue("postgres")
    server.ask("DROP SCHEMA public CASCADE")
    server.ask("CREATE SCHEMA public")
    return server.url

"""A rank history on each database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.uses.ranks.history import RankHistory
from support.postgres import BIN, Postgres


class Clock:
    """A clock that tests set."""

    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


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
        return str(tmp_path / "ranks.db")
    server: Postgres = request.getfixturevalue("postgres")
    server.ask("DROP SCHEMA public CASCADE")
    server.ask("CREATE SCHEMA public")
    return server.url


@pytest.fixture
def history(url: str, clock: Clock) -> Iterator[RankHistory]:
    with RankHistory(url, clock) as found:
        yield found

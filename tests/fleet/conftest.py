"""Fixtures of a small fleet: its own server, worker processes, and Celery between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fleet_workers import Fleet, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Valkey on a loopback port. Database 0 is the store and database 1 is the broker."""
    with Server(tmp_path / "server") as server:
        yield server


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet in a folder of its own, with no workers yet."""
    with Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet:
        yield fleet

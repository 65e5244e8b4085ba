"""A fleet in miniature: a server of its own, workers that are real processes, Celery between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fleet_workers import Fleet, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Valkey on a loopback port: database 0 is the store, 1 the broker."""
    with Server(tmp_path / "server") as server:
        yield server


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet without workers yet, in a folder of its own."""
    with Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet:
        yield fleet

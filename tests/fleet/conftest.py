"""Fixtures of a small fleet: its own server, worker processes, and Celery between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.store.rights import RIGHTS
from support.fleet_workers import Fleet, Server

SECRET = "pa55w0rd"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Valkey on a loopback port. Database 0 is the store and database 1 is the broker. Its user gossamer has
    the documented rights."""
    user = ("--user", "gossamer", "on", f">{SECRET}", *RIGHTS.split())
    with Server(tmp_path / "server", more=user) as server:
        yield server


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet in a folder of its own, with no workers yet. It uses the store as the user gossamer."""
    store = server.url(0).replace("://", f"://gossamer:{SECRET}@")
    with Fleet(tmp_path, store, [server.url(1)]) as fleet:
        yield fleet

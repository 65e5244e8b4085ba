"""Fixtures of the end-to-end tests, including a store on TCP, which has 64 buckets."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from conftest import valkey_binary
from e2e.runs import end_all


@pytest.fixture(autouse=True)
def nobody_is_left(tmp_path: Path) -> Iterator[None]:
    """End the processes that a failed test left running."""
    yield
    end_all(tmp_path / "data")


@pytest.fixture
def shared_store(tmp_path: Path) -> Iterator[str]:
    """Start a Valkey for one test, as several machines would share it, and yield its `redis://...` URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(tmp_path),
        "--save",
        "",
        "--appendonly",
        "yes",
    ]
    server = subprocess.Popen([valkey_binary(), *words], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        with redis.Redis(port=port, retry=None) as client:
            while True:
                try:
                    client.ping()
                    break
                except redis.ConnectionError:
                    assert time.monotonic() < deadline, "the shared store does not answer"
                    time.sleep(0.01)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()

"""Fixtures: the parts of a worker over the test's own store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from gossamer.store.store import Store, connect
from support.frontiers import any_url, cluster_url, whole_cluster  # noqa: F401 - fixtures
from worker.worker_parts import Make, Road


@pytest.fixture
async def store(valkey_url: str) -> AsyncIterator[Store]:
    store = connect(valkey_url)
    await store.open(1, "test")
    yield store
    await store.close()


@pytest.fixture
def road(store: Store, tmp_path: Path) -> Make:
    """A function that creates a worker's parts: `road(net, ...)`."""
    return partial(Road, store, tmp_path)

"""Fixtures for the cleanup tests: a real store with a movable clock, and a `Bed` that crawls saved pages
and runs `clean` on that store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.cleanup.crawls_in_every_state import Bed
from gossamer.app.open_store import open_url
from support.moving_clock import Moved, moved_store


@pytest.fixture
def moved() -> Iterator[Moved]:
    with moved_store() as found:
        yield found


@pytest.fixture
async def bed(moved: Moved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bed]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    store = await open_url(moved.url, embedded=False)
    yield Bed(moved, store, tmp_path)
    await store.close()

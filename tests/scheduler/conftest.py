"""Fixtures of the scheduler tests: a real store whose clock the test moves, with schedules in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gossamer.app.open_store import open_url
from gossamer.scheduler import loop
from scheduler.scheduler_bed import Bed
from support.moving_clock import Moved, moved_store


@pytest.fixture
def moved() -> Iterator[Moved]:
    with moved_store() as found:
        yield found


@pytest.fixture
async def bed(moved: Moved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bed]:
    monkeypatch.setattr(loop, "BEAT_INTERVAL_S", 0.05)
    store = await open_url(moved.url, embedded=False)
    yield Bed(moved, store, tmp_path)
    await store.close()

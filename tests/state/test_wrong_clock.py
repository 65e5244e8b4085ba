"""The rows of a worker whose machine has a wrong clock carry the store's time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import gossamer
from gossamer.frontier.crawls import store_time
from gossamer.model.request import Request
from gossamer.model.wall_clock import CLOCK
from gossamer.store.store import Store
from support.byte_servers import answer, collecting, good, saying, serving

SOURCE = Path(gossamer.__file__).parent


@pytest.mark.parametrize("hours", [2, -2, 0])
async def test_rows_carry_the_time_of_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    right = time.time
    monkeypatch.setattr(CLOCK, "ahead", 0.0)
    monkeypatch.setattr("time.time", lambda: right() + 3600 * hours)
    await CLOCK.measure(lambda: store_time(store))
    assert (CLOCK.ahead != 0.0) == (hours != 0)  # a right clock is left as it is
    async with serving(saying(answer(b"ok"))) as server, collecting() as collector:
        page = good(await collector.collect(Request(server.url("/")), {}))
    assert abs(page.fetched_at - right()) < 60


def test_no_row_is_stamped_with_the_clock_of_the_machine() -> None:
    folders = [SOURCE / name for name in ("collectors", "items", "parsing")]
    stamped = [
        SOURCE / "worker" / f"{name}.py" for name in ("reader", "fetching", "records", "asset_download")
    ]
    files = [*stamped, *(path for folder in folders for path in folder.rglob("*.py"))]
    assert [str(path) for path in files if "time.time()" in path.read_text()] == []

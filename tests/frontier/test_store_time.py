"""The store's clock dates a crawl, whatever the clock of its process shows. The cleanup relies on these
dates."""

from __future__ import annotations

from gossamer.frontier.crawls import Crawls, Spec
from gossamer.store.store import connect
from support.moving_clock import moved_store


async def test_begin_and_end_are_by_the_clock_of_the_store() -> None:
    with moved_store() as moved:
        moved.set("2031-01-01T00:00:00Z")
        store = connect(moved.url)
        await store.open(1, "test")
        crawls = Crawls(store)
        record = await crawls.begin("c", Spec(targets=[]), [])
        assert abs(record.started_at - moved.now()) < 5
        moved.set("2031-02-01T00:00:00Z")
        await crawls.set("c", "finished")
        ended = (await crawls.need("c")).ended_at
        assert ended is not None
        assert abs(ended - moved.now()) < 5
        await store.close()

"""The end of a fleet's crawl when URLs are added at the last moment."""

from __future__ import annotations

from cli.test_control_commands import Desk, desk, fill
from gossamer.app.job import Setup
from gossamer.fleet.finalize import CrawlEnding
from gossamer.frontier.crawls import Crawls
from gossamer.state.fleet_crawls import FleetCrawl, FleetCrawls
from gossamer.store.store import Store

__all__ = ["desk"]


def test_a_crawl_with_new_urls_is_not_ended_as_finished(desk: Desk) -> None:
    async def unused(task: FleetCrawl, segment: str) -> Setup:
        raise AssertionError("nothing is to be closed")

    async def late(store: Store) -> tuple[str, int]:
        await fill(store, "one")
        tasks = FleetCrawls(store)
        await tasks.submit("one", b"{}")
        await tasks.turn("one", "running", "ending", ends_as="finished")
        (task,) = await tasks.tasks()
        await CrawlEnding(store).look(task, unused)
        (now,) = await tasks.tasks()
        # with a new revision, workers forget that they found the crawl finished
        assert now.revision > task.revision
        return now.state, (await Crawls(store).need("one")).ended_at is None

    assert desk.do(late) == ("running", True)

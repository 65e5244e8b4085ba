"""If a crawl ends while a command adds URLs to it, the command ends too."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.runs import job
from gossamer.app import producer_runner, seeding
from gossamer.app.open_store import open_store, open_url
from gossamer.app.producers.source import UrlBatch, UrlProducer
from gossamer.app.runner import begin
from gossamer.errors import CrawlEnded
from gossamer.frontier.producer_positions import leases_key
from gossamer.state.fleet_crawls import FleetCrawls


class Endless(UrlProducer):
    """A producer that yields empty batches forever."""

    name, beside = "endless", "*"

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        while True:
            await asyncio.sleep(0.01)
            yield UrlBatch([], [], None)


@pytest.mark.parametrize(
    ("ends_as", "code"), [("stopped", 11), ("cancelled", 11), ("failed", 9), ("limited", 0), ("finished", 0)]
)
async def test_a_crawl_that_is_ending_counts_as_what_it_ends_as(
    tmp_path: Path, valkey_url: str, monkeypatch: pytest.MonkeyPatch, ends_as: str, code: int
) -> None:
    """The `ending` state of a fleet crawl, in which the fleet closes the outputs, may last for minutes, or
    may pass before the state is read again."""
    monkeypatch.setattr(producer_runner, "CROWDED_INTERVAL_S", 0.01)
    one = job(["https://a.example/"], tmp_path, store=valkey_url)
    setup, _ = seeding.prepare(one)
    store, _ = await open_store(one.settings)
    setup.store = store.url
    try:
        await begin(setup, store, one)

        async def end() -> None:
            assert await FleetCrawls(store).turn("c", "running", "ending", "why", ends_as=ends_as)

        with pytest.raises(CrawlEnded, match=rf"^crawl c is {ends_as} \(why\) while its lists") as ended:
            await asyncio.wait_for(producer_runner.feed(setup, store, [Endless()], begun=end), 30)
        assert ended.value.exit_code == code
    finally:
        await store.close()


async def test_a_crawl_stays_open_until_the_last_url_is_added(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is renewed, however long the adding takes."""
    monkeypatch.setattr(producer_runner, "RENEW_INTERVAL_S", 0.01)
    async with contextlib.AsyncExitStack() as last:
        store = await open_url(valkey_url, embedded=False)
        last.push_async_callback(store.close)

        async def end_of_lease() -> float:
            ((_, until),) = await store.client.zrange(leases_key("c"), 0, -1, withscores=True)
            return float(until)

        async with producer_runner.keep_open(store, "c"):
            began = await end_of_lease()
            async with asyncio.timeout(30):
                while await end_of_lease() == began:  # noqa: ASYNC110 - no event tells of it
                    await asyncio.sleep(0.01)
        assert await store.client.zcard(leases_key("c")) == 0

"""Runs the workers of a fleet in the test's own process. They work like those of an embedded run, except that
they wait during an outage of the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.app.crawl_worker import CrawlWorker
from gossamer.app.job import Job
from gossamer.app.open_store import open_url
from gossamer.app.runner import begin, end
from gossamer.app.seeding import prepare, seed
from gossamer.frontier.summary import summary
from gossamer.model.summary import Summary
from gossamer.store.store import FOR_EVER
from web import Web


class Workers:
    """Runs `n` workers of one crawl on a shared store, each with its own files. `stop` is their stop
    signal."""

    def __init__(self, job: Job, url: str, n: int = 1) -> None:
        self.job, self.url, self.n = job, url, n
        self.stop = asyncio.Event()
        self.outcomes: list[str] = []
        self.ended_after = 0.0

    async def run(self) -> Summary:
        """Add the seeds, work, and end the crawl. Returns the summary of the crawl."""
        setup, given = prepare(self.job)
        store = await open_url(self.url, embedded=False, patience=FOR_EVER)
        try:
            (Path(self.job.settings.data) / setup.crawl).mkdir(parents=True, exist_ok=True)
            setup.store = self.url
            record, _ = await begin(setup, store, self.job)
            await seed(setup, store, given, record)
            self.outcomes = await asyncio.gather(*(self._one(n, setup) for n in range(self.n)))
            if self.outcomes[0] == "stopped":
                return await summary(store, setup.crawl)
            return await end(setup, store, self.outcomes[0])
        finally:
            await store.close()

    async def _one(self, n: int, setup: object) -> str:
        mine = msgspec.json.decode(msgspec.json.encode(setup), type=type(setup))
        mine.job.settings = msgspec.structs.replace(mine.job.settings, data=f"{mine.job.settings.data}-{n}")
        for j, output in enumerate(mine.job.outputs):
            mine.job.outputs[j] = msgspec.structs.replace(output, spec=f"{output.spec}.{n}.jsonl")
        (Path(mine.job.settings.data) / mine.crawl).mkdir(parents=True, exist_ok=True)
        store = await open_url(self.url, embedded=False, patience=FOR_EVER)
        crawl_worker = CrawlWorker(mine, store, f"w{n}", self.stop)
        try:
            outcome = await crawl_worker.run()
            if outcome != "stopped":
                await crawl_worker.outputs.finish()
            return outcome
        finally:
            await crawl_worker.close()
            await store.close()


async def at(web: Web, requests: int, act: Callable[[], None]) -> float:
    """Call `act` when the web has received the given number of requests. Returns the time (monotonic)."""
    while web.stats()["requests"] < requests:  # noqa: ASYNC110 - it is another process's
        await asyncio.sleep(0.01)
    await asyncio.to_thread(act)
    return time.monotonic()

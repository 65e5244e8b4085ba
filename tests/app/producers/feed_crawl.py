"""Helpers that feed a crawl's producers into the store while no worker runs."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.app import producer_runner, seeding
from gossamer.app.job import Job
from gossamer.app.open_store import open_store
from gossamer.app.producers import registry
from gossamer.app.runner import begin
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import unpack
from gossamer.store.store import Store


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat lists as long from 100 bytes on, read them in small chunks, and do not wait after the last one."""
    monkeypatch.setattr(registry, "SHORT_LIST_BYTES", 100)
    monkeypatch.setattr("gossamer.app.producers.lines.CHUNK_BYTES", 200)
    monkeypatch.setattr("gossamer.app.producers.lines.SHORT_LIST_BYTES", 100)
    monkeypatch.setattr(producer_runner, "DURABLE_S", 0.0)


async def fed(one: Job) -> dict[str, int]:
    """Run the producers of a job to their ends, and return the counters of the crawl."""
    setup, given = seeding.prepare(one)
    (Path(one.settings.data) / setup.crawl).mkdir(parents=True, exist_ok=True)
    store, embedded = await open_store(one.settings)
    try:
        setup.store = store.url
        record, _ = await begin(setup, store, one)
        await seeding.seed(setup, store, given, record)
        await producer_runner.feed(setup, store, given.sources)
        return dict(await crawl_counts(store, setup.crawl))
    finally:
        await store.close()
        if embedded is not None:
            embedded.leave()


@contextlib.asynccontextmanager
async def fed_until(
    one: Job, added: int, warn: producer_runner.Say = producer_runner.say_nothing
) -> AsyncIterator[tuple[Store, asyncio.Task[None]]]:
    """Feed a crawl without workers until it has added `added` URLs. `warn`: gets the warnings of the producers."""
    setup, given = seeding.prepare(one)
    (Path(one.settings.data) / setup.crawl).mkdir(parents=True, exist_ok=True)
    store, embedded = await open_store(one.settings)
    try:
        setup.store = store.url
        record, _ = await begin(setup, store, one)
        await seeding.seed(setup, store, given, record)
        task = asyncio.create_task(producer_runner.feed(setup, store, given.sources, warn=warn))
        async with asyncio.timeout(60):
            while (await crawl_counts(store, "c"))["added"] < added:
                await asyncio.sleep(0.05)
                assert not task.done() or task.result()
        yield store, task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    finally:
        await store.close()
        if embedded is not None:
            embedded.leave()


async def queued(store: Store) -> set[str]:
    """Return the URLs that wait in the store."""
    found = set()
    for key in await store.client.keys("{b:000}c:q:*"):
        host = key.decode().split(":")[-2]
        found |= {unpack(host, entry).url for entry in await store.client.lrange(key, 0, -1)}
    return found


def listed(path: Path, urls: list[str]) -> Path:
    text = "".join(f"{url}\n" for url in urls).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


DRIVER = """
import sys
from gossamer.app.producers import lines, registry
registry.SHORT_LIST_BYTES = lines.SHORT_LIST_BYTES = 100
lines.CHUNK_BYTES = 2000
from gossamer.cli import main
main()
"""


def pending(data: Path) -> int:
    import redis

    try:
        path = json.loads((data / "store" / "run.json").read_text())["socket"]
        with redis.Redis(unix_socket_path=path, retry=None) as client:
            return int(client.hget("{b:000}c:n", "added") or 0)
    except (OSError, ValueError, redis.RedisError):
        return 0

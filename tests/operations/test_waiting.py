"""Requests that wait for the end of a crawl share one reader of the store."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import gossamer
from gossamer.app.open_store import open_existing_store
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Crawls
from operations.conftest import server, web
from operations.service_process import Serving

__all__ = ["server", "web"]


@contextmanager
def waiting(server: Serving, crawl: str, clients: int) -> Iterator[list[str]]:
    """Lets clients wait for the end of a crawl. Yields the states that they got so far."""
    states: list[str] = []

    def wait() -> None:
        states.append(gossamer.Client(server.url).wait(crawl).state)

    threads = [threading.Thread(target=wait) for _ in range(clients)]
    for one in threads:
        one.start()
    try:
        yield states
    finally:
        for one in threads:
            one.join(60)


async def calls(server: Serving) -> int:
    """Returns how many commands the store has run."""
    async with open_existing_store(Settings(data=str(server.folder / ".gossamer"))) as store:
        found = await store.client.info("commandstats")
    return sum(int(one["calls"]) for one in found.values())


async def process_of(server: Serving, crawl: str) -> int:
    """Returns the pid of the process that runs a crawl."""
    async with open_existing_store(Settings(data=str(server.folder / ".gossamer"))) as store:
        return int((await Crawls(store).need(crawl)).door["pid"])


def rate(server: Serving, seconds: float = 5.0) -> float:
    """Returns the commands per second that the store runs."""
    before, began = asyncio.run(calls(server)), time.monotonic()
    time.sleep(seconds)
    return (asyncio.run(calls(server)) - before) / (time.monotonic() - began)


def test_forty_clients_that_wait_cost_the_store_as_much_as_one(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    crawl = client.start(f"{web}/", name="waited", delay=60).crawl
    with waiting(server, crawl, 1):
        time.sleep(2)
        one = rate(server)
        with waiting(server, crawl, 39) as states:
            time.sleep(3)
            many = rate(server)
            assert not states
            began = time.monotonic()
            client.cancel(crawl)
        assert time.monotonic() - began < 15
        assert states == ["cancelled"] * 39
    assert many < one + 10, (one, many)


def test_a_wait_for_a_crawl_whose_process_was_killed_ends(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    crawl = client.start(f"{web}/", name="dead", delay=60).crawl
    with waiting(server, crawl, 2) as states:
        time.sleep(2)
        os.kill(asyncio.run(process_of(server, crawl)), signal.SIGKILL)
    assert states == ["stopped"] * 2

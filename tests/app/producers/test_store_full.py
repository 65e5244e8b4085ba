"""Producers report a full store and wait until it has room, whichever server of a cluster is full. If the
store user may not read the memory use, producers add URLs without this check."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.producers.feed_crawl import fed, listed
from e2e.runs import job
from gossamer.app import producer_runner, seeding
from gossamer.app.open_store import open_store, open_url
from gossamer.app.producers import registry
from gossamer.app.runner import begin
from gossamer.frontier.summary import crawl_counts
from gossamer.store.rights import RIGHTS
from gossamer.store.store_check import fullest_share
from support.cluster import cluster
from support.processes import Process


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    with_data = Process(tmp_path, "--save", "", "--enable-debug-command", "yes")
    yield with_data.ready()
    with_data.kill()


def bound(server: Process, share: float) -> None:
    """Set `maxmemory` so that the current data are the given share of the limit (0: no limit). The data
    are made large, so that a single batch hardly changes the share."""
    with server.client() as client:
        client.execute_command("DEBUG", "POPULATE", 300_000, "filler", 100)
        most = round(client.info("memory")["used_memory"] / share) if share else 0
        client.config_set("maxmemory", most)


async def test_a_wait_is_told_and_ends_when_there_is_room(
    tmp_path: Path, server: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SHORT_LIST_BYTES", 100)
    for name, value in (
        ("CHECK_INTERVAL_S", 0.0),
        ("CROWDED_INTERVAL_S", 0.01),
        ("PROGRESS_INTERVAL_S", 0.1),
    ):
        monkeypatch.setattr(producer_runner, name, value)
    path = listed(tmp_path / "list.txt", [f"https://h{n % 9}.example/{n}" for n in range(30_000)])
    one = job([str(path)], tmp_path, store=f"redis://127.0.0.1:{server.port}")
    setup, given = seeding.prepare(one)
    store, _ = await open_store(one.settings)
    setup.store = store.url
    record, _ = await begin(setup, store, one)
    await seeding.seed(setup, store, given, record)
    bound(server, 0.85)
    heard: list[str] = []
    work = asyncio.create_task(producer_runner.feed(setup, store, given.sources, heard.append))
    while not any("waits for room" in line for line in heard):
        assert not work.done(), work.result()
        await asyncio.sleep(0.01)
    assert "it waits for room: the store uses 8" in next(line for line in heard if "waits" in line)
    before = (await crawl_counts(store, "c"))["added"]
    assert 0 < before < 30_000
    bound(server, 0)
    await work
    assert (await crawl_counts(store, "c"))["added"] == 30_000
    await store.close()


async def test_a_user_who_may_not_ask_adds_all_the_same(
    tmp_path: Path, server: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "SHORT_LIST_BYTES", 100)
    monkeypatch.setattr(producer_runner, "CHECK_INTERVAL_S", 0.0)
    with server.client() as client:
        client.execute_command(f"ACL SETUSER crawler on >word {RIGHTS} -info")
    path = listed(tmp_path / "list.txt", [f"https://h.example/{n}" for n in range(100)])
    url = f"redis://crawler:word@127.0.0.1:{server.port}"
    assert (await fed(job([str(path)], tmp_path, store=url)))["added"] == 100


async def test_any_server_of_a_cluster_may_be_the_full_one() -> None:
    with cluster(3) as nodes:
        store = await open_url(nodes.url, embedded=False)
        for node in nodes.nodes:
            assert await fullest_share(store) == 0
            with node.client() as client:
                client.config_set("maxmemory", client.info("memory")["used_memory"])
                assert 0.7 < await fullest_share(store) < 1.3
                client.config_set("maxmemory", 0)
        await store.close()

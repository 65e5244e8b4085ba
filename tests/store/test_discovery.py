"""A master that comes back from an older copy after its replica took over. The Sentinels turn it into a replica
about ten seconds later. Until then it accepts writes, which are lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import Away
from gossamer.store import discovery
from gossamer.store.store import connect
from support.older_copy import OlderCopy
from support.processes import Process, free_port
from support.sentinel import SERVICE, Watched, watched


@pytest.fixture
def pair() -> Iterator[Watched]:
    with watched() as one:
        yield one


async def failed_over(pair: Watched, folder: Path) -> None:
    older = OlderCopy(folder, pair.servers[0])
    await older.copy()
    pair.fail_over(older)
    with pair.servers[0].client() as client:
        assert client.info("replication")["role"] == "master"


async def test_the_newest_answer_of_the_sentinels_counts(pair: Watched, tmp_path: Path) -> None:
    """The Sentinel that is asked first has not heard of the failover."""
    port = free_port()
    await failed_over(pair, tmp_path)
    config = f"sentinel monitor {SERVICE} 127.0.0.1 {pair.servers[0].port} 2\n"
    pair.sentinels.append(Process(pair.folder, "--sentinel", config=config, port=port).ready())
    with pair.sentinels[-1].client() as client:
        assert client.sentinel_master(SERVICE)["port"] == pair.servers[0].port
    store = connect(pair.url.replace("://", f"://127.0.0.1:{port},"))
    await store.open(64, "test")
    assert (await store.client.servers.serving()).place.port == pair.servers[1].port
    await store.close()


async def test_a_master_that_just_started_needs_the_answers_of_all_sentinels(
    pair: Watched, tmp_path: Path
) -> None:
    await failed_over(pair, tmp_path)
    pair.forget_failover()
    store = connect(pair.url)
    with pytest.raises(Away, match="2 of the Sentinels do not answer, so another server may have taken over"):
        await store.open(64, "test")
    pair.thaw()
    await store.open(64, "test")
    assert (await store.client.servers.serving()).place.port == pair.servers[1].port
    await store.close()


async def test_a_sentinel_that_cannot_be_used_does_not_hide_the_others(
    pair: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "SETTLED_S", -1)  # the master has just started
    at = f"redis+sentinel://127.0.0.1:{pair.servers[1].port},"  # a server, which is no Sentinel
    store = connect(pair.url.replace("redis+sentinel://", at))
    await store.open(64, "test")
    assert (await store.client.servers.serving()).place.port == pair.servers[0].port
    await store.close()


@pytest.mark.parametrize("patience", [60.0, 0.0])
async def test_a_master_that_restarted_is_looked_for_before_it_gets_a_command(
    pair: Watched, tmp_path: Path, patience: float
) -> None:
    """The client makes no call between the death of the master and its return."""
    store = connect(pair.url, patience=patience)
    await store.open(64, "test")
    assert (await store.client.servers.serving()).place.port == pair.servers[0].port
    await failed_over(pair, tmp_path)  # the event loop stands still
    await asyncio.sleep(0.1)  # the client notices that its connections were closed
    try:
        await store.guard(store.client.set("gossamer:here", "1"))
    except Away:
        assert not patience
        await store.guard(store.client.set("gossamer:here", "1"))
    assert (await store.client.servers.serving()).place.port == pair.servers[1].port
    with pair.servers[0].client() as old:
        assert old.get("gossamer:here") is None
    await store.close()

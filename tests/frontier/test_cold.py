"""Long queues: what is beyond the bound waits in a cold store, and comes back in order, once, whatever happens in between."""

from __future__ import annotations

import asyncio
import random
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import valkey_binary, wait_for
from frontier.made import A, Beds, paths
from gossamer.errors import ConfigError
from gossamer.frontier.cold import Cold, Files, Server
from gossamer.frontier.spiller import Spiller, bound
from gossamer.frontier.store import Store, connect

HOT = 4


@pytest.fixture(scope="session")
def other_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A second Valkey, which stands for a disk store that speaks its protocol."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        path = f"{folder}/v.sock"
        words = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"]
        server = subprocess.Popen([valkey_binary(), *words], stdout=subprocess.DEVNULL)
        try:
            wait_for(path, server)
            yield f"unix://{path}"
        finally:
            server.kill()
            server.wait()


@pytest.fixture(params=["files", "server"])
async def cold(request: pytest.FixtureRequest, tmp_path: Path, other_server: str) -> AsyncIterator[Cold]:
    made: Cold = Files(tmp_path / "cold.sqlite")
    if request.param == "server":
        made = Server(connect(other_server), "c")
        await made.drop()
    yield made
    await made.close()


@pytest.fixture
async def spiller(store: Store, cold: Cold) -> Spiller:
    await bound(store, "c", HOT)
    return Spiller(store, "c", cold, HOT)


async def hot(store: Store, host: str, level: int = 0) -> int:
    return int(await store.client.llen(f"{{b:000}}c:q:{host}:{level}"))


async def all_claimed(one: Any, spiller: Spiller, k: int = 1) -> list[str]:
    """The paths in the order of their claims, with the spiller's help."""
    found: list[str] = []
    for _ in range(1000):
        await spiller.round()
        got = await one.claim(k)
        for claim in got:
            found += paths([claim])
            await one.end(claim)
        if not got and not (await one.counts())["open"]:
            return found
    raise AssertionError("it does not end")


async def test_a_queue_is_bound_and_its_order_stays(bed: Beds, store: Store, spiller: Spiller) -> None:
    one = bed(per_host=1)
    for n in range(50):
        await one.add(f"{A}/{n}")
        assert await hot(store, "a.example") <= HOT
        if n % 7 == 0:
            await spiller.round()
    await one.add(*(f"{A}/{n}" for n in range(50, 60)))
    assert (await one.counts())["open"] == 60
    assert await all_claimed(one, spiller) == [f"/{n}" for n in range(60)]
    assert await one.adds_up()
    left = {key.decode() for key in await store.client.keys("{b:000}c:*")}
    assert not left & {"{b:000}c:o", "{b:000}c:rf", "{b:000}c:k:a.example"}

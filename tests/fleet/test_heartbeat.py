"""A process that was suspended for too long writes nothing into parts that other processes have closed
meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.errors import InUse
from gossamer.fleet import heartbeat as signs
from gossamer.fleet import slice_process
from gossamer.fleet.heartbeat import Heartbeat
from gossamer.fleet.slice_process import SliceProcess
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.state.workers import DEAD_AFTER_S, WorkerRecords
from gossamer.store.store import connect
from support.fleet_workers import Server


async def test_a_part_is_ours_while_signs_are_given(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(signs.time, "monotonic", lambda: now)
    store = connect(server.url(0))
    try:
        await store.open(64, "test")
        await Crawls(store).begin("c", Spec([]), [])
        crew, sign = WorkerRecords(store), Heartbeat(store, "c", "part")
        assert await sign.give()
        assert not await crew.name("c/part", "seal"), "nobody closes it while it lives"
        await Crawls(store).set("c", "ending")
        await sign.ours()  # the rows of visits in progress are still written
        now += DEAD_AFTER_S
        with pytest.raises(InUse, match="held up for 15 s"):
            await sign.ours()
        await Crawls(store).set("c", "running")
        await sign.ours()
        now += DEAD_AFTER_S
        await crew.release_name("c/part", "part")  # as if the name's lease had expired
        assert await crew.name("c/part", "seal")
        with pytest.raises(InUse):
            await sign.ours()
        await crew.release_name("c/part", "seal")
        await sign.ours()
        await sign.end()
        assert await crew.name("c/part", "seal")
    finally:
        await store.close()


async def test_a_slice_gives_signs_while_it_commits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow hosts may keep a process from committing for longer than the signs last."""
    monkeypatch.setattr(slice_process, "RENEW_INTERVAL_S", 0.001)
    signs_given = asyncio.Event()

    class Slots:
        async def keep(self, *slot: object) -> bool:
            return True

    class Works:
        async def beat(self) -> None:
            signs_given.set()

    process = SliceProcess.__new__(SliceProcess)
    process._works = Works()  # type: ignore[assignment] # only what `_beat` uses
    beating = asyncio.create_task(process._beat(Slots(), "http", 0, "t"))  # type: ignore[arg-type]
    try:
        await asyncio.wait_for(signs_given.wait(), 30)
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)

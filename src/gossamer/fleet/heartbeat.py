"""The heartbeat of a process for one crawl. While a process renews its heartbeat, no other process closes the
output parts that this process writes."""

from __future__ import annotations

import time

from gossamer.errors import InUse
from gossamer.frontier.crawls import ENDED, Crawls
from gossamer.state.workers import DEAD_AFTER_S, WorkerRecords
from gossamer.store.store import Store


class Heartbeat:
    """The heartbeat of one process for one crawl. `segment` is the name of the output parts that this process
    writes."""

    def __init__(self, store: Store, crawl: str, segment: str) -> None:
        self._worker_records, self._crawls = WorkerRecords(store), Crawls(store)
        self._crawl, self._segment = crawl, segment
        self._name, self._given = f"{crawl}/{segment}", 0.0

    async def give(self) -> bool:
        """Starts or renews the heartbeat. Returns False if another process is closing this process's part of
        the outputs."""
        began = time.monotonic()
        mine = await self._worker_records.name(self._name, self._segment)
        if mine:
            self._given = began
        return mine

    async def ours(self) -> None:
        """Raises InUse if another process may have closed this process's part of the outputs. Another process
        closes the part if the heartbeat of this process has expired, for example because this process was
        paused for a long time."""
        silent = time.monotonic() - self._given
        if silent < DEAD_AFTER_S / 2:
            return
        state, _ = await self._crawls.state(self._crawl)
        if state in (*ENDED, "ending") or not await self.give():
            raise InUse(
                f"it was held up for {silent:.0f} s, and its part of the outputs was closed meanwhile"
            )

    async def end(self) -> None:
        """Ends the heartbeat, so that another process may close the output parts of this process."""
        await self._worker_records.release_name(self._name, self._segment)

"""The sign of life of a process for one crawl: while it is given, nobody else closes the process's part of
the outputs."""

from __future__ import annotations

import time

from gossamer.errors import InUse
from gossamer.frontier.crawls import ENDED, Crawls
from gossamer.state.workers import GONE, Crew
from gossamer.store.store import Store


class Sign:
    """Of one process, called `segment`, for one crawl."""

    def __init__(self, store: Store, crawl: str, segment: str) -> None:
        self._crew, self._crawls = Crew(store), Crawls(store)
        self._crawl, self._segment = crawl, segment
        self._name, self._given = f"{crawl}/{segment}", 0.0

    async def give(self) -> bool:
        """Give it, or go on giving it; False when somebody closes the part just now."""
        began = time.monotonic()
        mine = await self._crew.name(self._name, self._segment)
        if mine:
            self._given = began
        return mine

    async def ours(self) -> None:
        """Raise InUse when the part may be closed by others: this process was held up for longer than its
        sign lasts."""
        silent = time.monotonic() - self._given
        if silent < GONE / 2:
            return
        state, _ = await self._crawls.state(self._crawl)
        if state in (*ENDED, "ending") or not await self.give():
            raise InUse(
                f"it was held up for {silent:.0f} s, and its part of the outputs was closed meanwhile"
            )

    async def end(self) -> None:
        """Give it no more."""
        await self._crew.unname(self._name, self._segment)

"""One process of a fleet decides when the known pages of a crawl are visited again (`--revisit`).

A crawl with `--revisit` has a lead, which only one process holds. Every process that works on the crawl tries
to take the lead. The process that holds the lead runs the loop (`app.revisit_loop`), which works on the table
in the store. The loop also runs between slices. If this process dies, its lead expires after 6 s, and another
process takes over. If two processes both believe that they have the lead, only one of them can write the
table (`recrawl.stored_table`).
"""

from __future__ import annotations

import asyncio
import logging
import time

from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.app.page_table_storage import SharedTableStorage
from gossamer.app.producer_runner import keep_open
from gossamer.app.revisit_loop import RevisitLoop
from gossamer.app.revisit_setup import rules_of_job
from gossamer.errors import GossamerError, InUse
from gossamer.frontier.crawls import store_time
from gossamer.state.slots import Slots
from gossamer.store.store import Store

log = logging.getLogger("gossamer.worker")

END_TIMEOUT_S = 2.0
"""Maximum number of seconds for which a process waits for the store when the process ends its revisit loop
for a crawl. If the store does not answer, this process's lead expires by itself."""
RETRY_INTERVAL_S = 10.0
"""After an error in the loop of a crawl, a process waits this many seconds before it starts the loop
again."""


class RevisitDeciders:
    """Runs the revisit loops of this process. For each crawl with `--revisit`, this process holds the lead or
    tries to take it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._shy: dict[str, float] = {}

    async def keep(self, setup: Setup) -> None:
        """Makes this process run the loop of a crawl with `--revisit`, unless another process holds the lead.
        While the crawl runs, the caller must call this method regularly. A call takes little time."""
        if setup.job.settings.revisit is None:
            return
        if (task := self._tasks.get(setup.crawl)) is not None:
            if not task.done():
                return
            await self.end(setup.crawl)
        if self._shy.get(setup.crawl, 0.0) <= time.monotonic():
            self._tasks[setup.crawl] = asyncio.create_task(self._lead(setup))

    async def end(self, crawl: str) -> None:
        """Ends the loop of a crawl. Another process may take the lead at once."""
        if (task := self._tasks.pop(crawl, None)) is None:
            return
        task.cancel()
        if not (await asyncio.wait((task,), timeout=END_TIMEOUT_S))[0]:  # the store does not answer
            return
        error = None if task.cancelled() else task.exception()
        if error is None or isinstance(error, InUse):
            return
        self._shy[crawl] = time.monotonic() + RETRY_INTERVAL_S
        if isinstance(error, GossamerError):
            log.warning("crawl %s: known pages are not visited again by this process: %s", crawl, error)
        else:
            log.error("crawl %s: a bug in the revisit loop", crawl, exc_info=error)

    async def _lead(self, setup: Setup) -> None:
        """Takes the lead of a crawl if no other process holds the lead. Then runs the crawl's loop until an
        error occurs or `end` is called."""
        async with Slots(self._store).lead(f"revisit {setup.crawl}") as mine:
            if mine:
                await decide(setup, self._store)


async def decide(setup: Setup, store: Store) -> None:
    """Runs the loop of a crawl until it is cancelled. Raises StoreError, and errors of the crawl's settings.
    Raises InUse if another process holds the lead."""
    rules = rules_of_job(setup.job)
    assert rules is not None, "the crawl visits its pages again"
    ahead = await store_time(store) - time.time()

    def now() -> float:
        """The store's time, which is the same for all machines."""
        return time.time() + ahead

    def warn(line: str) -> None:
        log.warning("crawl %s: %s", setup.crawl, line)

    loop = RevisitLoop(setup, store, rules, warn, now, home=SharedTableStorage(store, setup.crawl))
    try:
        await loop.open(Enqueuer(setup, store, "revisit"))
        async with keep_open(store, setup.crawl):
            log.info("crawl %s: this process decides when its pages are visited again", setup.crawl)
            await loop.run()
    finally:
        await loop.close()

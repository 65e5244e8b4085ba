"""Notices that the store may have lost its last writes, so that the worker forgets what the store forgot.

A server that restarts with an append-only file, or a replica that takes over, may lack the last seconds of
writes. The store is then whole, but at an earlier state: pages that were visited since are queued or leased
again, and the URLs that only these pages link to are unknown. The pages are therefore fetched again. A worker
must then add all of their links, although it added them before. So a worker clears its caches of added links
before it visits the first URL that it claimed from the changed store.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable

from gossamer.errors import GossamerError
from gossamer.model.interfaces import FrontierVerbs

_log = logging.getLogger("gossamer.store")


class StoreWatch:
    """Watches the store of one crawl for a worker. `forget` clears the caches of what the store contains, and
    writes again what the store must contain. `where` is the store's URL with masked passwords."""

    def __init__(
        self, frontier: FrontierVerbs, forget: Callable[[], Awaitable[None]], where: str = ""
    ) -> None:
        self._frontier, self._forget, self._where = frontier, forget, where
        self._changes = frontier.all_buckets.store_changes
        self.settled: dict[int, int] = {}
        """The token of the last claim that was settled in each bucket."""

    @property
    def is_changed(self) -> bool:
        """Whether the store may have lost writes since the last call of `follow`."""
        return self._changes != self._frontier.all_buckets.store_changes

    async def follow(self) -> None:
        """Forgets what the store may have lost. If the store did lose writes of this worker, logs that once.
        Raises StoreChanged if the store is another one. During an outage, raises Away if the caller does not
        wait."""
        changes = self._frontier.all_buckets.store_changes
        await self._frontier.check_same()
        await self._forget()
        self._changes = changes
        settled, self.settled = self.settled, {}
        try:
            lost = bool(settled) and await self._frontier.all_buckets.lacks(settled)
        except GossamerError as error:
            self._frontier.patience.note(error)
            return
        if lost:
            with contextlib.suppress(GossamerError):
                await self._frontier.all_buckets.count_loss()
            _log.warning(
                "the store%s went back to an earlier state: what it lost is fetched again",
                self._where and f" at {self._where}",
                extra={"event": "store_went_back"},
            )

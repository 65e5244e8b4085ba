"""Applies limits that were changed while a crawl runs to the workers of this process."""

from __future__ import annotations

import time

from gossamer.app.job import Setup
from gossamer.frontier.crawls import LiveChanges, store_time
from gossamer.frontier.frontier_client import Frontier


async def follow_limits(setup: Setup, frontier: Frontier, live: LiveChanges) -> None:
    """Changes the limits of the next claims, and the time at which the run ends."""
    if live.limit is not None:
        frontier.change_policy(limit=live.limit or -1)
    if live.size_limit is not None:
        frontier.change_policy(size_limit=live.size_limit or -1)
    if live.time_limit is not None:
        left = live.ends_at - await store_time(frontier.store)
        setup.deadline = time.monotonic() + left if live.time_limit else None

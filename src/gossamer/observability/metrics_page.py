"""The page of metrics that `gossamer metrics` and the API serve to Prometheus."""

from __future__ import annotations

import asyncio

from gossamer.errors import GossamerError
from gossamer.observability.metrics import text_of
from gossamer.observability.snapshot import Observer
from gossamer.store.store import Store
from gossamer.store.store_errors import store_trouble

READ_TIMEOUT_S = 9.0
"""Seconds within which the store must answer. This timeout is shorter than the ten seconds for which
Prometheus waits for the metrics page."""


class MetricsPage:
    """Produces the page of metrics. If several clients request the page at the same time, the store is read
    for one client after the other."""

    def __init__(self, store: Store, credits_daily: int | None) -> None:
        self._observer, self._lock = Observer(store, credits_daily), asyncio.Lock()

    async def read(self) -> str:
        """Reads the metrics and returns the page. Raises StoreError."""
        async with self._lock:
            return text_of(await self._observer.look())

    async def or_down(self) -> str:
        """Returns the page of metrics, or a page that reports that the store does not answer or refuses the
        calls."""
        try:
            return await asyncio.wait_for(self.read(), READ_TIMEOUT_S)
        except TimeoutError:
            return text_of(None)
        except GossamerError as error:
            return text_of(None, refuses=store_trouble(error) == "refuses")

"""What the fleet learned of hosts: a text of each host, read now and then, changed by whoever learns."""

from __future__ import annotations

import time
from collections.abc import Callable

from gossamer.store.keys import bucket_of
from gossamer.store.store import Store

FRESH = 10.0
"""Seconds for which a host's text is believed before it is read again."""
MOST = 10_000
"""Hosts whose text is remembered."""


class Learning:
    """The texts of hosts, shared by all crawls and workers of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[float, str]] = {}

    async def known(self, host: str) -> str:
        """What is known of a host, at most `FRESH` seconds old; '' for nothing."""
        at, text = self._known.get(host, (0.0, ""))
        if not at or time.monotonic() - at > FRESH:
            _, text = await self._run(host)
        return text

    async def learn(self, host: str, change: Callable[[str], str]) -> str:
        """Make a change on what is known now; what is known then. `change` may be called more than once."""
        was = await self.known(host)
        while (wanted := change(was)) != was:
            done, was = await self._run(host, was, wanted)
            if done:
                break  # else somebody else learned something meanwhile
        return wanted

    async def _run(self, host: str, *words: str) -> tuple[bool, str]:
        bucket = bucket_of(host, self._store.buckets)
        done, raw = await self._store.run("learn", bucket, "", host, *words)
        text = raw.decode()
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[host] = time.monotonic(), text
        return bool(done), text

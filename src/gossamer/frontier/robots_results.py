"""Sends the results of fetches of robots.txt to the store. Results that arrive at about the same time share
one call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from gossamer.errors import GossamerError
from gossamer.store.store import Store

GATHER_S = 0.003
"""Before each call, the client waits this many seconds for more results, so that one call stores several
results. The client does not wait if the previous call ended at least 2 * GATHER_S seconds ago."""


class _Result(NamedTuple):
    bucket: int
    args: Sequence[Any]
    reply: asyncio.Future[int]


class RobotsResults:
    """Collects the results of one frontier, and sends them to the store."""

    def __init__(self, store: Store) -> None:
        self._store, self._sent_at = store, 0.0
        self._waiting: list[_Result] = []
        self._sending: asyncio.Task[None] | None = None

    async def put(self, bucket: int, args: Sequence[Any]) -> bool:
        """Stores a result. `args`: the arguments of `store_robots.lua`. Returns False if the lease was
        already lost. Raises the errors of the store."""
        one = _Result(bucket, args, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())
        return bool(await one.reply)

    async def _send(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER_S if time.monotonic() - self._sent_at < 2 * GATHER_S else 0)
            batch, self._waiting = self._waiting, []
            try:
                replies = await self._store.run_all("store_robots", [(one.bucket, one.args) for one in batch])
            except GossamerError as error:
                replies = [error] * len(batch)
            self._sent_at = time.monotonic()
            for one, reply in zip(batch, replies, strict=True):
                await self._give(one, reply)

    async def _give(self, one: _Result, reply: Any) -> None:
        """Passes the reply to the caller. If the reply is an error, repeats the call after the outage. A
        repeated call changes nothing if the first call succeeded."""
        try:
            if isinstance(reply, GossamerError):
                reply = await self._store.run("store_robots", one.bucket, *one.args)
        except GossamerError as error:
            if not one.reply.done():
                one.reply.set_exception(error)
            return
        if not one.reply.done():
            one.reply.set_result(int(reply))

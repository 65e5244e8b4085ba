"""Sends the changes of crawls as server-sent events. Everybody who waits at a server shares one reader of the store:
viewers of events, requests that wait for the end of a crawl, and the sender of webhooks."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from gossamer.config.settings import Settings
from gossamer.errors import GossamerError
from gossamer.frontier.crawls import ENDED
from gossamer.operations.context import Caller
from gossamer.operations.crawl_changes import report_changes
from gossamer.operations.results import CrawlEvent
from gossamer.state.crawl_events import CrawlEvents, StoredEvent
from gossamer.state.webhooks import event_order
from gossamer.store.store import Store

INTERVAL_S = 1.0
HEARTBEAT_S = 15.0
MAX_RECENT = 1000


class EventHub:
    """Compares the crawls every second while somebody waits, and passes the events of the store on."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._events = CrawlEvents(store)
        self._recent: deque[StoredEvent] = deque(maxlen=MAX_RECENT)
        self._newest = ""
        self._states: dict[str, str] = {}
        self.has_webhooks: bool | None = None
        """Whether there are webhooks, while somebody waits. None if nobody has waited yet."""
        self._read_at = 0.0
        """The monotonic time at which the last comparison began."""
        self._waiting = 0
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self.closing = asyncio.Event()

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Keeps the comparison running for the duration of the block."""
        self._waiting += 1
        try:
            if self._task is None:
                self._task = asyncio.create_task(self._run())
            yield
        finally:
            self._waiting -= 1
            if not self._waiting and self._task is not None:
                self._task.cancel()
                self._task = self.has_webhooks = None

    async def until_ended(self, crawl: str, seconds: float) -> None:
        """Waits until a crawl has ended or is removed, at most `seconds`."""
        asked = time.monotonic()
        with contextlib.suppress(TimeoutError):
            async with self.reading(), asyncio.timeout(seconds), self._news:
                await self._news.wait_for(
                    lambda: (
                        self.closing.is_set()
                        or (self._read_at >= asked and self._states.get(crawl, "failed") in ENDED)
                    )
                )

    async def watch(self, caller: Caller, crawl: str | None, after: str) -> AsyncIterator[bytes]:
        """Yields the lines of the stream of events. `after`: the number of the last event that the viewer has seen,
        or '' for new events alone."""
        at = after or await self._events.newest()
        async with self.reading():
            yield b": events of gossamer\nretry: 1000\n\n"
            if after and event_order(await self._events.oldest()) > event_order(after) > (0, 0):
                yield b'event: gap\ndata: {"detail":"older events are no longer kept"}\n\n'
            while not self.closing.is_set():
                for one in await self._after(at):
                    at = one.number
                    if line := _line(one, caller, crawl):
                        yield line
                if not await self._wait(at):
                    yield b": nothing new\n\n"

    async def _after(self, at: str) -> list[StoredEvent]:
        """Returns the events after the event `at`: those in memory, or those of the store if older ones are missing."""
        if at == self._newest:
            return []
        if self._recent and event_order(self._recent[0].number) <= event_order(at):
            return [one for one in self._recent if event_order(one.number) > event_order(at)]
        return await self._events.after(at)

    async def _wait(self, at: str) -> bool:
        """Waits for an event after `at`. Returns False after HEARTBEAT_S without one."""
        try:
            async with asyncio.timeout(HEARTBEAT_S), self._news:
                await self._news.wait_for(
                    lambda: event_order(self._newest) > event_order(at) or self.closing.is_set()
                )
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Ends all streams and waits."""
        self.closing.set()
        async with self._news:
            self._news.notify_all()

    async def _run(self) -> None:
        self._newest = ""
        self._recent.clear()
        while True:
            with contextlib.suppress(GossamerError):  # an outage ends, and nothing is lost meanwhile
                began = time.monotonic()
                self._newest = self._newest or await self._events.newest()
                now = await report_changes(self._store, self._settings, self._states, self._newest)
                self._states, found, self.has_webhooks = now
                self._recent.extend(found)
                async with self._news:
                    self._newest, self._read_at = found[-1].number if found else self._newest, began
                    self._news.notify_all()
            await asyncio.sleep(INTERVAL_S)


def _line(one: StoredEvent, caller: Caller, crawl: str | None) -> bytes:
    """Returns the lines of an event, or b'' if the viewer does not see it."""
    event = msgspec.json.decode(one.event, type=CrawlEvent)
    if not caller.sees(event.crawl) or crawl not in (None, event.crawl):
        return b""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (one.number.encode(), event.type.encode(), one.event)
